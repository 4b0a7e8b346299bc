# SPDX-License-Identifier: Apache-2.0
# Prints what is wrong with a value by its schema in an OpenAPI document; nothing if all is well.
#
#     jq -r --slurpfile api docs/openapi.json --arg path /v1/jobs --arg method get \
#         --arg status 200 --arg type application/json -f tests/cli/openapi.jq answer.json
#
# Knows the words of JSON Schema that docs/openapi.json uses, and refuses others.

def resolve($root):
    if has("$ref") then . as $s | $root | getpath($s["$ref"] | ltrimstr("#/") | split("/")) | resolve($root)
    else . end;

def is_a($wanted):
    if $wanted == "integer" then type == "number" and . == floor
    else type == $wanted end;

def words: ["type", "description", "properties", "required", "additionalProperties", "items", "enum",
    "const", "anyOf", "minimum", "maximum", "exclusiveMinimum", "default", "pattern", "minLength", "minItems",
    "maxItems"];

def problems($root; $schema; $at):
    . as $value
    | ($schema | resolve($root)) as $s
    | (($s | keys) - words | .[] | "\($at): the schema says \(.), which this test does not know"),
      (if $s | has("type") then
           ($s.type | if type == "array" then . else [.] end) as $types
           | if any($types[]; . as $t | $value | is_a($t)) then empty
             else "\($at): expected \($types | join(" or ")), got \($value | tojson | .[:60])" end
       else empty end),
      (if ($s | has("enum")) and ($s.enum | index([$value]) | not) then
           "\($at): expected one of \($s.enum | tojson), got \($value | tojson | .[:60])" else empty end),
      (if ($s | has("const")) and $s.const != $value then
           "\($at): expected \($s.const | tojson), got \($value | tojson | .[:60])" else empty end),
      (if $s | has("anyOf") then
           if any($s.anyOf[]; . as $one | [$value | problems($root; $one; $at)] | length == 0) then empty
           else "\($at): nothing of anyOf fits \($value | tojson | .[:60])" end
       else empty end),
      (if ($value | type) == "number" then
           (if $s.minimum != null and $value < $s.minimum then "\($at): \($value) is below \($s.minimum)" else empty end),
           (if $s.maximum != null and $value > $s.maximum then "\($at): \($value) is above \($s.maximum)" else empty end),
           (if $s.exclusiveMinimum != null and $value <= $s.exclusiveMinimum then
                "\($at): \($value) is not above \($s.exclusiveMinimum)" else empty end)
       else empty end),
      (if ($value | type) == "string" then
           (if $s.pattern != null and ($value | test($s.pattern) | not) then "\($at): \($value) does not match \($s.pattern)"
            else empty end),
           (if $s.minLength != null and ($value | length) < $s.minLength then "\($at): too short" else empty end)
       else empty end),
      (if ($value | type) == "array" then
           (if $s.minItems != null and ($value | length) < $s.minItems then "\($at): too few" else empty end),
           (if $s.maxItems != null and ($value | length) > $s.maxItems then "\($at): too many" else empty end)
       else empty end),
      (if ($value | type) == "array" and ($s | has("items")) then
           range($value | length) as $i | $value[$i] | problems($root; $s.items; "\($at)[\($i)]")
       else empty end),
      (if ($value | type) == "object" then
           (($s.required // []) - ($value | keys) | .[] | "\($at).\(.): missing"),
           ($value | to_entries[] | . as $field
            | if $s.properties // {} | has($field.key) then
                  $field.value | problems($root; $s.properties[$field.key]; "\($at).\($field.key)")
              elif $s.additionalProperties == false then "\($at).\($field.key): not documented"
              elif ($s.additionalProperties | type) == "object" then
                  $field.value | problems($root; $s.additionalProperties; "\($at).\($field.key)")
              else empty end)
       else empty end);

$api[0] as $root
| . as $answer
| $root.paths[$path][$method].responses[$status] as $response
| if $response == null then "\($method) \($path): the status \($status) is not documented"
  else ($response | resolve($root) | .content[$type]) as $content
  | if $content == null then "\($method) \($path): \($status) as \($type) is not documented"
    else $answer | problems($root; $content.schema; "$") end
  end
