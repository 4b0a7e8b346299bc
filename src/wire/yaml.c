/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parse YAML into JSON values, so that the same getters read both.  The position of each value is
 * stored: only libyaml knows where a plain scalar ends.  The parser uses libyaml's events, not its
 * documents: aliases are refused before they are expanded, and nesting is limited.
 *
 *     open[0]  { root mapping }        one open collection per level; the next value is added to
 *     open[1]    [ list in it ]        the last one
 */
#include "wire/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "base/utf8.h"

/* A node while parsing: siblings are a linked list, because their number is not known yet. */
struct link {
    struct wire_yaml_node node;
    uint32_t next;
};

struct open {
    json_t *value; /* borrowed: its parent owns it */
    uint32_t node, last;
    char *key; /* of the next value, in a mapping; NULL: a key comes next */
    size_t key_start;
};

struct builder {
    const char *text;
    size_t length;
    /* The start of the last event, in characters as libyaml counts, and in bytes. */
    size_t at_character, at_byte;
    json_t *root;
    struct link *links;
    size_t count, capacity;
    struct open open[WIRE_YAML_DEPTH];
    int depth;
    bool ended;
    size_t where; /* offset of the error */
    struct pollux_error *err;
};

/* The offset of the character `count` characters before an offset. */
static size_t step_back (const char *text, size_t offset, size_t count)
{
    while (count > 0 && offset > 0)
        count -= ((unsigned char)text[--offset] & 0xc0) != 0x80;
    return offset;
}

/* The byte offset of a character, counted from the last one: all calls scan the text about once. */
static size_t byte_offset (struct builder *builder, size_t character)
{
    const char *text = builder->text;
    size_t at = builder->at_byte, was = builder->at_character;
    builder->at_byte = character < was
                           ? step_back (text, at, was - character)
                           : at + utf8_skip (text + at, builder->length - at, character - was);
    builder->at_character = character;
    return builder->at_byte;
}

#define refuse(builder, offset, ...)                                                               \
    ((builder)->where = (offset), fail ((builder)->err, -EINVAL, __VA_ARGS__))
#define no_memory(builder) fail ((builder)->err, -ENOMEM, "not enough memory")

/* ---- Scalars ------------------------------------------------------------------------------ */

static bool is_one_of (const char *text, const char *const *words)
{
    while (*words && strcmp (text, *words) != 0)
        words++;
    return *words != NULL;
}

/* 0x1F and 0o17; -EINVAL for anything else. */
static int based_integer (const char *text, int64_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    if (text[0] != '0' || (text[1] != 'x' && text[1] != 'o') || !text[2])
        return -EINVAL;
    int64_t base = text[1] == 'x' ? 16 : 8, value = 0;
    for (const char *at = text + 2; *at; at++) {
        char lower = *at >= 'A' && *at <= 'F' ? (char)(*at - 'A' + 'a') : *at;
        const char *digit = strchr (digits, lower);
        if (!digit || digit - digits >= base)
            return -EINVAL;
        if (__builtin_mul_overflow (value, base, &value) ||
            __builtin_add_overflow (value, digit - digits, &value))
            return -ERANGE;
    }
    *ret = value;
    return 0;
}

/* The value of a plain scalar by the core schema.  NULL with *why: it has no value in JSON; NULL
 * without: no memory. */
static json_t *resolve (const char *text, const char **why)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    int64_t integer;
    double real;
    if (is_one_of (text, nulls))
        return json_null ();
    if (is_one_of (text, trues))
        return json_true ();
    if (is_one_of (text, falses))
        return json_false ();
    if (is_one_of (text + (*text == '-' || *text == '+'), infinities))
        return json_string (*text == '-' ? "-inf" : "inf");
    if (is_one_of (text, nans)) {
        *why = "expected a number; .nan is not allowed";
        return NULL;
    }
    int based = based_integer (text, &integer);
    if (based == 0 || number_int64 (text, &integer) == 0)
        return json_integer (integer);
    int decimal = number_double (text, &real);
    if (decimal == 0)
        return json_real (real);
    if (based == -ERANGE || decimal == -ERANGE) {
        *why = "expected a smaller number";
        return NULL;
    }
    return json_string (text);
}

/* Refuse a key or a value that contains a NUL. */
static int check_text (struct builder *builder, const yaml_event_t *event, size_t start)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (strlen (text) != length || utf8_valid (text, length) != length)
        return refuse (builder, start, "expected text without NUL characters");
    return 0;
}

static int scalar (struct builder *builder, const yaml_event_t *event, size_t start, json_t **ret)
{
    const char *text = (const char *)event->data.scalar.value, *why = NULL;
    int code = check_text (builder, event, start);
    if (code < 0)
        return code;
    *ret = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? resolve (text, &why)
                                                               : json_string (text);
    if (*ret)
        return 0;
    return why ? refuse (builder, start, "%s, got %s", why, quote (text).text)
               : no_memory (builder);
}

/* ---- Collections -------------------------------------------------------------------------- */

static struct open *innermost (struct builder *builder)
{
    return builder->depth > 0 ? &builder->open[builder->depth - 1] : NULL;
}

static int add_node (struct builder *builder, size_t start, size_t end)
{
    if (builder->count == WIRE_YAML_NODES)
        return refuse (builder, start, "expected at most %d values", WIRE_YAML_NODES);
    if (builder->count == builder->capacity) {
        size_t capacity = builder->capacity ? 2 * builder->capacity : 64;
        void *bigger = realloc (builder->links, capacity * sizeof (builder->links[0]));
        if (!bigger)
            return no_memory (builder);
        builder->links = bigger;
        builder->capacity = capacity;
    }
    struct open *open = innermost (builder);
    uint32_t index = (uint32_t)builder->count++;
    builder->links[index] =
        (struct link){.node = {.start = start, .end = end, .key = open ? open->key_start : start}};
    if (!open)
        return 0;
    if (open->last)
        builder->links[open->last].next = index;
    else
        builder->links[open->node].node.child = index;
    open->last = index;
    return 0;
}

/* Copy all nodes into an array, level by level, so that siblings are adjacent.  NULL: no memory. */
static struct wire_yaml_node *lay_out (const struct link *links, size_t count)
{
    struct wire_yaml_node *nodes = malloc (count * sizeof (nodes[0]));
    if (!nodes)
        return NULL;
    size_t filled = 1;
    nodes[0] = links[0].node;
    for (size_t i = 0; i < filled; i++) {
        uint32_t link = nodes[i].child;
        nodes[i].child = link ? (uint32_t)filled : 0;
        for (; link; link = links[link].next)
            nodes[filled++] = links[link].node;
    }
    return nodes;
}

/* Add a value to the innermost open collection; its reference is given up. */
static int add (struct builder *builder, json_t *value, size_t start, size_t end)
{
    struct open *open = innermost (builder);
    int code = add_node (builder, start, end);
    if (code < 0) {
        json_decref (value);
        return code;
    }
    if (!open) {
        builder->root = value;
        return 0;
    }
    int failed = open->key ? json_object_set_new (open->value, open->key, value)
                           : json_array_append_new (open->value, value);
    free (open->key);
    open->key = NULL;
    return failed ? no_memory (builder) : 0;
}

static int take_key (struct builder *builder, const yaml_event_t *event, size_t start)
{
    struct open *open = innermost (builder);
    if (event->type != YAML_SCALAR_EVENT)
        return refuse (builder, start, "expected a key that is a word, got a list or a mapping");
    const char *text = (const char *)event->data.scalar.value;
    int code = check_text (builder, event, start);
    if (code < 0)
        return code;
    if (json_object_get (open->value, text))
        return refuse (builder, start, "expected every key once, got %s again", quote (text).text);
    open->key = strdup (text);
    open->key_start = start;
    return open->key ? 0 : no_memory (builder);
}

static int begin (struct builder *builder, json_t *value, size_t start, size_t end)
{
    if (!value)
        return no_memory (builder);
    if (builder->depth == WIRE_YAML_DEPTH) {
        json_decref (value);
        return refuse (builder, start, "expected at most %d levels of nesting", WIRE_YAML_DEPTH);
    }
    int code = add (builder, value, start, end);
    if (code == 0)
        builder->open[builder->depth++] =
            (struct open){.value = value, .node = (uint32_t)builder->count - 1};
    return code;
}

/* ---- Events ------------------------------------------------------------------------------- */

/* The reason to refuse an event (alias, anchor, tag), or NULL. */
static const char *forbidden (const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return "expected a value: aliases (*name) are not supported";
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor)
        return "expected a value: anchors (&name) are not supported";
    return tag ? "expected a value without a tag (!name); text goes in quotes" : NULL;
}

static bool is_node (const yaml_event_t *event)
{
    return event->type == YAML_ALIAS_EVENT || event->type == YAML_SCALAR_EVENT ||
           event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
}

static int take_node (struct builder *builder, const yaml_event_t *event, size_t start)
{
    const char *why = forbidden (event);
    if (why)
        return refuse (builder, start, "%s", why);
    struct open *open = innermost (builder);
    if (open && json_is_object (open->value) && !open->key)
        return take_key (builder, event, start);
    size_t end = byte_offset (builder, event->end_mark.index);
    if (event->type == YAML_MAPPING_START_EVENT)
        return begin (builder, json_object (), start, end);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return begin (builder, json_array (), start, end);
    json_t *value = NULL;
    int code = scalar (builder, event, start, &value);
    return code < 0 ? code : add (builder, value, start, end);
}

static int take (struct builder *builder, const yaml_event_t *event)
{
    size_t start = byte_offset (builder, event->start_mark.index);
    if (is_node (event))
        return take_node (builder, event, start);
    if (event->type == YAML_DOCUMENT_START_EVENT && builder->root)
        return refuse (builder, start, "expected one document, got a second one");
    if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
        builder->depth--;
    builder->ended = event->type == YAML_STREAM_END_EVENT;
    return 0;
}

/* The error of the parser as a message. */
static int malformed (struct builder *builder, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return no_memory (builder);
    if (parser->error == YAML_READER_ERROR)
        return refuse (builder, parser->problem_offset, "not well-formed YAML: %s",
                       parser->problem);
    size_t at = byte_offset (builder, parser->problem_mark.index);
    if (builder->text[at] == '\t')
        return refuse (builder, at, "not well-formed YAML: expected blanks, got a tab");
    return refuse (builder, at, "not well-formed YAML: %s%s%s", parser->problem,
                   parser->context ? " " : "", parser->context ? parser->context : "");
}

static int build (struct builder *builder)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize (&parser))
        return no_memory (builder);
    yaml_parser_set_encoding (&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string (&parser, (const unsigned char *)builder->text, builder->length);
    int code = 0;
    while (code == 0 && !builder->ended) {
        yaml_event_t event;
        if (!yaml_parser_parse (&parser, &event)) {
            code = malformed (builder, &parser);
            break;
        }
        code = take (builder, &event);
        yaml_event_delete (&event);
    }
    yaml_parser_delete (&parser);
    if (code == 0 && !builder->root)
        code = refuse (builder, 0, "empty file: expected fields such as `name: value`");
    return code;
}

int wire_yaml_parse (const char *text, size_t length, json_t **ret,
                     struct wire_yaml_node **ret_nodes, size_t *ret_where, struct pollux_error *err)
{
    struct builder builder = {.text = text, .length = length, .err = err};
    int code = build (&builder);
    for (int i = 0; i < builder.depth; i++)
        free (builder.open[i].key);
    struct wire_yaml_node *nodes = NULL;
    if (code == 0 && !(nodes = lay_out (builder.links, builder.count)))
        code = no_memory (&builder);
    free (builder.links);
    if (code == 0) {
        *ret = builder.root;
        *ret_nodes = nodes;
        return 0;
    }
    json_decref (builder.root);
    *ret_where = builder.where;
    return code;
}
