/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML documents: values by the core schema, refusals with the same places as in JSON, refusal of
 * documents that expand themselves, and diagnostics in the order of the document.
 */
#include "unit.h"

#include <errno.h>

#include "base/rng.h"
#include "wire/json.h"
#include "wire/yaml.h"

#define LIMIT ((size_t)1 << 20)
#define TEXT(text) text, sizeof (text) - 1

static int open_text (const char *text, size_t length, struct wire_diagnostics *diagnostics,
                      struct wire_document **ret, struct pollux_error *err)
{
    return wire_document_open_text ("a.yaml", text, length, LIMIT, WIRE_YAML, diagnostics, ret,
                                    err);
}

/* ---- Values ------------------------------------------------------------------------------- */

static void test_values (void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *json;
    } cases[] = {
        {"a: 1", "{\"a\":1}"},
        {"{\"a\": [1, \"2\", true, null, 1.5], \"b\": {}}",
         "{\"a\":[1,\"2\",true,null,1.5],\"b\":{}}"},
        {"---\na:\n- x\n- - y\n  - z\nb: {c: d}\n...\n",
         "{\"a\":[\"x\",[\"y\",\"z\"]],\"b\":{\"c\":\"d\"}}"},
        {"[~, null, Null, NULL, '']", "[null,null,null,null,\"\"]"},
        {"a:", "{\"a\":null}"},
        {"[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]"},
        /* Words that have another meaning in older versions of YAML. */
        {"[yes, No, on, OFF, y, 12:30, 1_000, 2026-11-15, nUll, tRue, .x, 0b1, 0X1, 08:00]",
         "[\"yes\",\"No\",\"on\",\"OFF\",\"y\",\"12:30\",\"1_000\",\"2026-11-15\",\"nUll\","
         "\"tRue\",\".x\",\"0b1\",\"0X1\",\"08:00\"]"},
        {"[0, -1, +12, 010, 0x1F, 0xfF, 0o17, 9223372036854775807, -9223372036854775808]",
         "[0,-1,12,10,31,255,15,9223372036854775807,-9223372036854775808]"},
        {"[0x, 0o, 0o8, 0xg, -0x1, '-', +, ., e3, 1e]",
         "[\"0x\",\"0o\",\"0o8\",\"0xg\",\"-0x1\",\"-\",\"+\",\".\",\"e3\",\"1e\"]"},
        {"[1.5, .5, 5., -2e3, 1E+2, 0.25e-1, 9223372036854775808]",
         "[1.5,0.5,5.0,-2000.0,100.0,0.025000000000000001,9.2233720368547758e18]"},
        {"[.inf, -.Inf, +.INF]", "[\"inf\",\"-inf\",\"inf\"]"},
        {"['1', \"true\", 'null', '~']", "[\"1\",\"true\",\"null\",\"~\"]"},
        {"a: |\n  x\n   y\n\nb: >-\n  x\n  y\n", "{\"a\":\"x\\n y\\n\",\"b\":\"x y\"}"},
        {"# nothing\n1: a # a comment\ntrue: 'it''s'\n\"\\x41\\u00e4\": \"\\t\"\n",
         "{\"1\":\"a\",\"true\":\"it's\",\"A\\u00e4\":\"\\t\"}"},
        {"\xef\xbb\xbf"
         "a: \xc3\xa4\r\nb: 2\r\n",
         "{\"a\":\"\\u00e4\",\"b\":2}"},
        {"%YAML 1.1\n---\n? a\n: b\n", "{\"a\":\"b\"}"},
        {"<<: {a: 1}", "{\"<<\":{\"a\":1}}"},
        {"7", "7"},
        {"plain text", "\"plain text\""},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_document *document;
        struct pollux_error err;
        if (open_text (cases[i].yaml, strlen (cases[i].yaml), NULL, &document, &err) < 0)
            fail_msg ("%s: %s", cases[i].yaml, err.text);
        char *json = json_dumps (wire_root (document).value,
                                 JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        char lower[512]; /* jansson's hexadecimal digits differ between versions */
        snprintf (lower, sizeof (lower), "%s", json);
        for (char *at = lower; (at = strstr (at, "\\u00E4"));)
            memcpy (at, "\\u00e4", 6);
        assert_string_equal (lower, cases[i].json);
        free (json);
        wire_document_free (document);
    }
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void test_refused (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *sentence; /* the whole message, or its start if libyaml writes the rest */
    } cases[] = {
        {TEXT (""), "a.yaml:1:1: empty file: expected fields such as `name: value`"},
        {TEXT ("# nothing\n"), "a.yaml:1:1: empty file: expected fields such as `name: value`"},
        {TEXT ("a: 1\nb: &x 2\n"),
         "a.yaml:2:4: expected a value: anchors (&name) are not supported"},
        {TEXT ("a: &x {}\n"), "a.yaml:1:4: expected a value: anchors (&name) are not supported"},
        {TEXT ("a: *x\n"), "a.yaml:1:4: expected a value: aliases (*name) are not supported"},
        {TEXT ("*x : 1\n"), "a.yaml:1:1: expected a value: aliases (*name) are not supported"},
        {TEXT ("a: !!int 3\n"),
         "a.yaml:1:4: expected a value without a tag (!name); text goes in quotes"},
        {TEXT ("a: !x [3]\n"),
         "a.yaml:1:4: expected a value without a tag (!name); text goes in quotes"},
        {TEXT ("a: 1\n\xc3\xa4: 2\na: 3\n"), "a.yaml:3:1: expected every key once, got 'a' again"},
        {TEXT ("{a: 1, 'a': 2}"), "a.yaml:1:8: expected every key once, got 'a' again"},
        {TEXT ("? [a]\n: b\n"),
         "a.yaml:1:3: expected a key that is a word, got a list or a mapping"},
        {TEXT ("a: 1\n---\nb: 2\n"), "a.yaml:2:1: expected one document, got a second one"},
        {TEXT ("a: .nan\n"), "a.yaml:1:4: expected a number; .nan is not allowed, got '.nan'"},
        {TEXT ("a: 1e999\n"), "a.yaml:1:4: expected a smaller number, got '1e999'"},
        {TEXT ("a: 0xffffffffffffffff\n"),
         "a.yaml:1:4: expected a smaller number, got '0xffffffffffffffff'"},
        {TEXT ("a: \"\\0\"\n"), "a.yaml:1:4: expected text without NUL characters"},
        {TEXT ("\"a\\0\": 1\n"), "a.yaml:1:1: expected text without NUL characters"},
        {TEXT ("a: 1\nb\0: 2\n"), "a.yaml:2:2: not well-formed YAML: "},
        {TEXT ("a: 1\nb: \xff\n"), "a.yaml:2:4: not well-formed YAML: expected UTF-8"},
        {TEXT ("\xff\xfe"
               "a\0"),
         "a.yaml:1:1: not well-formed YAML: expected UTF-8"},
        {TEXT ("a:\n\t- b\n"), "a.yaml:2:1: not well-formed YAML: expected blanks, got a tab"},
        {TEXT ("a: [1, 2\nb: 3\n"), "a.yaml:2:2: not well-formed YAML: "},
        {TEXT ("a: 1\n b: 2\n"), "a.yaml:2:3: not well-formed YAML: "},
        {TEXT ("\xc3\xa4\xc3\xa4: 'x\n"), "a.yaml:2:1: not well-formed YAML: "},
        {TEXT ("a: b: c"), "a.yaml:1:5: not well-formed YAML: "},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_document *document = NULL;
        struct wire_diagnostics diagnostics = {0};
        struct pollux_error err = {""};
        int code = open_text (cases[i].text, cases[i].length, &diagnostics, &document, &err);
        size_t length = strlen (cases[i].sentence);
        if (cases[i].sentence[length - 1] == ' ')
            err.text[strlen (err.text) < length ? strlen (err.text) : length] = '\0';
        assert_string_equal (err.text, cases[i].sentence);
        assert_int_equal (code, -EINVAL);
        assert_null (document);
        assert_int_equal (diagnostics.count, 1);
    }
}

/* Deep nesting, many values and recursive aliases are refused quickly. */
static void test_bombs (void **state)
{
    (void)state;
    struct wire_document *document;
    struct pollux_error err;
    char *text = malloc (LIMIT + 1);
    assert_non_null (text);
    static const struct {
        char fill;
        size_t length;
        const char *part;
    } cases[] = {
        {'[', LIMIT, "a.yaml:1:33: expected at most 32 levels of nesting"},
        {'{', LIMIT, "a.yaml:1:"},
        {'[', LIMIT + 1, "a.yaml: too large: expected at most 1048576 bytes"},
        {'-', LIMIT, NULL}, /* one long word */
        {'?', LIMIT, NULL},
        {'&', LIMIT, "a.yaml:1:2: not well-formed YAML"},
        {'\n', LIMIT, "empty file"},
        {'%', LIMIT, "not well-formed"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        memset (text, cases[i].fill, LIMIT + 1);
        document = NULL;
        int code = open_text (text, cases[i].length, NULL, &document, &err);
        wire_document_free (document);
        assert_int_equal (code == 0, cases[i].part == NULL);
        if (cases[i].part && !strstr (err.text, cases[i].part))
            fail_msg ("%c: %s", cases[i].fill, err.text);
    }
    for (size_t i = 0; i < LIMIT; i += 2)
        memcpy (text + i, i == 0 ? "[x" : ",x", 2);
    assert_int_equal (open_text (text, LIMIT, NULL, &document, &err), -EINVAL);
    assert_non_null (strstr (err.text, "expected at most 262144 values"));
    for (size_t i = 0; i < LIMIT; i += 2)
        memcpy (text + i, "- ", 2);
    assert_int_equal (open_text (text, LIMIT, NULL, &document, &err), -EINVAL);
    free (text);

    static const char laughs[] = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
    assert_int_equal (open_text (TEXT (laughs), NULL, &document, &err), -EINVAL);
    assert_string_equal (err.text,
                         "a.yaml:1:4: expected a value: anchors (&name) are not supported");
}

/* ---- Places ------------------------------------------------------------------------------- */

static const char places[] = "\xef\xbb\xbf# \xc3\xa4\n"
                             "jobs:\n"
                             "  - name: a\r\n"
                             "  - name: b\n"
                             "    model: {\"\xc3\xa4\": 1, gamma: 0.5, list: [1, [2, 3.25]]}\n"
                             "    empty:\n"
                             "text: |\n"
                             "  long\n"
                             "  text\n"
                             "yes: 'quoted'\n";

static void test_places (void **state)
{
    (void)state;
    struct wire_document *document;
    struct pollux_error err;
    if (open_text (TEXT (places), NULL, &document, &err) < 0)
        fail_msg ("%s", err.text);
    struct wire_place root = wire_root (document), jobs = wire_field (&root, "jobs");
    struct wire_place job = wire_element (&jobs, 1), model = wire_field (&job, "model");
    struct wire_place list = wire_field (&model, "list"), inner = wire_element (&list, 1);
    struct wire_place last = wire_element (&inner, 1), gamma = wire_field (&model, "gamma");
    double real;
    bool truth;
    const char *text;
    int64_t integer;
#define SAYS(call, sentence)                                                                       \
    do {                                                                                           \
        assert_int_equal (call, -EINVAL);                                                          \
        assert_string_equal (err.text, sentence);                                                  \
    } while (0)
    SAYS (wire_double (&model, "gamma", 1, 1000, &real, &err),
          "a.yaml:5:28: jobs[1].model.gamma: expected a number from 1 to 1000, got '0.5'");
    SAYS (wire_double (&model, "beta", 1, 1000, &real, &err),
          "a.yaml:5:12: jobs[1].model.beta: expected a number from 1 to 1000, got nothing");
    SAYS (wire_fail (&last, &err, "expected %d", 7),
          "a.yaml:5:47: jobs[1].model.list[1][1]: expected 7, got '3.25'");
    SAYS (wire_fail_key (&gamma, &err, "unknown"), "a.yaml:5:21: jobs[1].model.gamma: unknown");
    SAYS (wire_text (&job, "empty", &text, &err),
          "a.yaml:6:11: jobs[1].empty: expected a string, got nothing");
    SAYS (wire_expect_array (&job, &err), "a.yaml:4:5: jobs[1]: expected an array, got an object");
    SAYS (wire_expect_object (&jobs, &err), "a.yaml:3:3: jobs: expected an object, got an array");
    SAYS (wire_bool (&root, "yes", &truth, &err),
          "a.yaml:10:6: yes: expected true or false, got ''quoted''");
    SAYS (wire_int64 (&root, "text", 0, 9, &integer, &err),
          "a.yaml:7:7: text: expected an integer from 0 to 9, got '|?  long?  text?'");
    SAYS (wire_fail (&root, &err, "expected more"), "a.yaml:2:1: expected more, got an object");
    wire_document_free (document);
}

/* The same messages for the same document as JSON. */
static void test_json_places (void **state)
{
    (void)state;
    static const char text[] = "{\"a\": {\"b\": 1,\n \"key\": [1, 2.50, true]}}";
    struct wire_document *document;
    struct pollux_error err;
    assert_int_equal (wire_document_parse ("a.json", TEXT (text), LIMIT, &document, &err), 0);
    struct wire_place root = wire_root (document), a = wire_field (&root, "a");
    struct wire_place key = wire_field (&a, "key"), item = wire_element (&key, 1);
    SAYS (wire_fail_key (&key, &err, "unknown"), "a.json:2:2: a.key: unknown");
    char *copy;
    SAYS (wire_scalar (&item, &copy, &err), "a.json:2:13: a.key[1]: expected a text, got '2.50'");
    SAYS (wire_scalar (&key, &copy, &err), "a.json:2:9: a.key: expected a text, got an array");
    wire_document_free (document);
}

/* JSON is YAML too: for random documents, both ways to find a value's place must agree. */
struct text {
    char bytes[1 << 16];
    size_t length;
};

static void add (struct text *text, const char *more)
{
    size_t length = strlen (more);
    assert_true (text->length + length < sizeof (text->bytes));
    memcpy (text->bytes + text->length, more, length + 1);
    text->length += length;
}

static void add_blanks (struct rng *rng, struct text *text)
{
    static const char *const blanks[] = {"", " ", "\n", "  ", " \n\n ", "\r\n "};
    add (text, blanks[rng_below (rng, COUNT (blanks))]);
}

static void add_value (struct rng *rng, struct text *text, int depth)
{
    static const char *const scalars[] = {
        "1", "-2.5", "\"a\"", "true", "null", "\"\"", "\"\xc3\xa4 {[,\"", "\"\\\"x\\\\\""};
    uint32_t kind = depth > 0 && text->length < 30000 ? (uint32_t)rng_below (rng, 3) : 0;
    char key[32];
    if (kind == 0) {
        add (text, scalars[rng_below (rng, COUNT (scalars))]);
        return;
    }
    int count = (int)rng_below (rng, 6);
    add (text, kind == 1 ? "[" : "{");
    for (int i = 0; i < count; i++) {
        add (text, i ? "," : "");
        add_blanks (rng, text);
        snprintf (key, sizeof (key), "\"%s%d\": ", rng_below (rng, 2) ? "k" : "\xc3\xa4", i);
        add (text, kind == 2 ? key : "");
        add_value (rng, text, depth - 1);
        add_blanks (rng, text);
    }
    add (text, kind == 1 ? "]" : "}");
}

static void compare_places (const struct wire_place *json, const struct wire_place *yaml)
{
    struct pollux_error a, b;
    wire_fail (json, &a, "expected");
    wire_fail (yaml, &b, "expected");
    assert_string_equal (a.text, b.text);
    if (json->key) {
        wire_fail_key (json, &a, "expected");
        wire_fail_key (yaml, &b, "expected");
        assert_string_equal (a.text, b.text);
    }
    for (size_t i = 0; i < json_array_size (json->value); i++) {
        struct wire_place in_json = wire_element (json, i), in_yaml = wire_element (yaml, i);
        compare_places (&in_json, &in_yaml);
    }
    struct wire_place in_json;
    for (void *at = NULL; wire_each (json, &at, &in_json);) {
        struct wire_place in_yaml = wire_field (yaml, in_json.key);
        compare_places (&in_json, &in_yaml);
    }
    struct wire_place each;
    for (void *at = NULL; wire_each (yaml, &at, &each);) {
        struct wire_place field = wire_field (yaml, each.key);
        wire_fail (&each, &a, "expected");
        wire_fail (&field, &b, "expected");
        assert_string_equal (a.text, b.text);
    }
}

static void test_random_places (void **state)
{
    (void)state;
    struct rng rng = rng_seed (11);
    for (int i = 0; i < soak_count (3000); i++) {
        static struct text text;
        text.length = 0;
        add (&text, i % 2 ? "\xef\xbb\xbf[" : "[");
        add_value (&rng, &text, 1 + (int)rng_below (&rng, 5));
        add (&text, "]\n");
        struct wire_document *json = NULL, *yaml = NULL;
        struct pollux_error err;
        if (wire_document_open_text ("a", text.bytes, text.length, LIMIT, WIRE_JSON, NULL, &json,
                                     &err) < 0 ||
            wire_document_open_text ("a", text.bytes, text.length, LIMIT, WIRE_YAML, NULL, &yaml,
                                     &err) < 0)
            fail_msg ("%s in %s", err.text, text.bytes);
        struct wire_place in_json = wire_root (json), in_yaml = wire_root (yaml);
        assert_true (json_equal (in_json.value, in_yaml.value));
        compare_places (&in_json, &in_yaml);
        wire_document_free (json);
        wire_document_free (yaml);
    }
}

static void test_scalars (void **state)
{
    (void)state;
    static const char text[] = "[+1, 0x1F, 1.50, true, no, '7', ~, {}, \"\\x41\"]";
    static const char *const expected[] = {"+1", "0x1F", "1.50", "true", "no",
                                           "7",  NULL,   NULL,   "A"};
    struct wire_document *document;
    assert_int_equal (open_text (TEXT (text), NULL, &document, NULL), 0);
    struct wire_place root = wire_root (document);
    for (size_t i = 0; i < COUNT (expected); i++) {
        struct wire_place item = wire_element (&root, i);
        char *copy = NULL;
        assert_int_equal (wire_scalar (&item, &copy, NULL), expected[i] ? 0 : -EINVAL);
        if (expected[i])
            assert_string_equal (copy, expected[i]);
        free (copy);
    }
    wire_document_free (document);
}

/* ---- Problems ----------------------------------------------------------------------------- */

static void test_diagnostics (void **state)
{
    (void)state;
    static const char text[] = "b: x\na: y\nc:\n  d: z\n";
    struct wire_document *document;
    struct wire_diagnostics diagnostics = {0};
    struct pollux_error err;
    assert_int_equal (open_text (TEXT (text), &diagnostics, &document, &err), 0);
    struct wire_place root = wire_root (document), c = wire_field (&root, "c");
    int64_t integer;
    assert_int_equal (wire_int64 (&c, "d", 0, 9, &integer, NULL), -EINVAL);
    assert_int_equal (wire_int64 (&root, "a", 0, 9, &integer, NULL), -EINVAL);
    assert_int_equal (wire_int64 (&root, "b", 0, 9, &integer, NULL), -EINVAL);
    assert_true (wire_stops (&root, -ENOMEM));
    assert_false (wire_stops (&root, -EINVAL));
    assert_false (wire_stops (&root, 0));
    assert_int_equal (diagnostics.count, 3);
    assert_int_equal (wire_diagnostics_fail (&diagnostics, "a.yaml", &err), -EINVAL);
    assert_string_equal (err.text,
                         "a.yaml:1:4: b: expected an integer from 0 to 9, got 'x' (and 2 more)");
    json_t *array = wire_diagnostics_encode (&diagnostics);
    char *json = json_dumps (json_array_get (array, 2), JSON_COMPACT);
    assert_string_equal (json,
                         "{\"line\":4,\"column\":6,\"path\":\"c.d\",\"message\":\"expected an "
                         "integer from 0 to 9, got 'z'\"}");
    free (json);
    json_decref (array);
    wire_document_free (document);
}

/* Added in any order, the first ones of the document are kept. */
static void test_many_diagnostics (void **state)
{
    (void)state;
    struct rng rng = rng_seed (5);
    for (int round = 0; round < 50; round++) {
        int lines[60] = {0};
        struct wire_diagnostics diagnostics = {0};
        for (int i = 0; i < 60; i++) {
            int at = (int)rng_below (&rng, (uint32_t)i + 1);
            lines[i] = lines[at];
            lines[at] = i + 1;
        }
        for (int i = 0; i < 60; i++)
            wire_diagnostics_add (&diagnostics,
                                  &(struct wire_diagnostic){.line = lines[i], .column = 1});
        assert_int_equal (diagnostics.count, WIRE_DIAGNOSTICS_LIMIT);
        assert_true (diagnostics.more);
        for (int i = 0; i < diagnostics.count; i++)
            assert_int_equal (diagnostics.items[i].line, i + 1);
    }
}

static void test_syntax (void **state)
{
    (void)state;
    assert_int_equal (wire_syntax_of_path ("a/job.json"), WIRE_JSON);
    assert_int_equal (wire_syntax_of_path ("job.JSON"), WIRE_JSON);
    assert_int_equal (wire_syntax_of_path ("json"), WIRE_YAML);
    assert_int_equal (wire_syntax_of_path ("job.yml"), WIRE_YAML);
    assert_int_equal (wire_syntax_of_path ("-"), WIRE_YAML);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_values),      cmocka_unit_test (test_refused),
        cmocka_unit_test (test_bombs),       cmocka_unit_test (test_places),
        cmocka_unit_test (test_json_places), cmocka_unit_test (test_scalars),
        cmocka_unit_test (test_diagnostics), cmocka_unit_test (test_many_diagnostics),
        cmocka_unit_test (test_syntax),      cmocka_unit_test (test_random_places),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
