/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents and places in them.  Both syntaxes are parsed into jansson's values.  A place is a
 * linked list on the stack, one element per level of the document,
 *
 *     root  <-  .jobs  <-  [3]  <-  .model  <-  .gamma
 *
 * which is used only for messages: for the path, and for line and column in the text.  The position
 * of a value in JSON is found by scanning the text again (wire/json_seek.h); positions in YAML are
 * stored when parsing.
 */
#include "wire/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/utf8.h"
#include "wire/json.h"
#include "wire/json_seek.h"
#include "wire/yaml.h"

struct wire_document {
    struct file_name name;
    char *text;   /* NUL-terminated */
    size_t start; /* after the byte-order mark */
    json_t *root;
    struct wire_yaml_node *nodes; /* NULL: JSON */
    struct wire_diagnostics *diagnostics;
};

/* ---- Refusals ----------------------------------------------------------------------------- */

/* A diagnostic with the line and column of an offset. */
static struct wire_diagnostic diagnostic_at (const struct wire_document *document, size_t offset,
                                             const char *message)
{
    int line = 1;
    size_t start = document->start;
    for (size_t i = start; i < offset; i++) {
        if (document->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    struct wire_diagnostic diagnostic = {
        .line = line, .column = (int)utf8_count (document->text + start, offset - start) + 1};
    snprintf (diagnostic.message, sizeof (diagnostic.message), "%s", message);
    return diagnostic;
}

/* Add a diagnostic and return it as the error. */
static int refuse (const struct wire_document *document, struct wire_diagnostic diagnostic,
                   struct pollux_error *err)
{
    utf8_disarm (diagnostic.path);
    utf8_disarm (diagnostic.message);
    wire_diagnostics_add (document->diagnostics, &diagnostic);
    return wire_diagnostic_fail (&diagnostic, document->name.text, err);
}

/* ---- Documents ---------------------------------------------------------------------------- */

/* The column of the first character of the wrong token.  jansson gives the column of its last
 * character, and quotes a short token at the end of its message. */
static int token_column (const json_error_t *why)
{
    static const char before[] = " near '";
    const char *token = strstr (why->text, before);
    int column = why->column > 0 ? why->column : 1;
    if (!token)
        return column;
    token += strlen (before);
    int length = (int)utf8_count (token, strlen (token)) - 1; /* without the closing quote */
    return length > 0 && length <= column ? column - length + 1 : column;
}

static int parse_json (struct wire_document *document, size_t length, struct pollux_error *err)
{
    if (wire_seek_value (document->text, document->start) == length) {
        struct wire_diagnostic empty = {1, 1, "", "empty file: expected a JSON object"};
        return refuse (document, empty, err);
    }
    json_error_t why;
    document->root = json_loadb (document->text + document->start, length - document->start,
                                 JSON_REJECT_DUPLICATES, &why);
    if (document->root)
        return 0;
    if (json_error_code (&why) == json_error_out_of_memory)
        return fail (err, -ENOMEM, "%s: not enough memory", document->name.text);
    struct wire_diagnostic diagnostic = {.line = why.line > 0 ? why.line : 1,
                                         .column = token_column (&why)};
    snprintf (diagnostic.message, sizeof (diagnostic.message), "not well-formed JSON: %s",
              why.text);
    return refuse (document, diagnostic, err);
}

static int parse_yaml (struct wire_document *document, size_t length, struct pollux_error *err)
{
    const char *text = document->text + document->start;
    struct pollux_error why;
    size_t where;
    length -= document->start;
    size_t valid = utf8_valid (text, length);
    if (valid < length)
        return refuse (document,
                       diagnostic_at (document, document->start + valid,
                                      "not well-formed YAML: expected UTF-8"),
                       err);
    int code = wire_yaml_parse (text, length, &document->root, &document->nodes, &where, &why);
    if (code == -EINVAL)
        return refuse (document, diagnostic_at (document, document->start + where, why.text), err);
    return code < 0 ? fail (err, code, "%s: %.160s", document->name.text, why.text) : 0;
}

/* Make a document.  It owns text from now on; on failure text is freed. */
static int document_new (const char *name, char *text, size_t length, enum wire_syntax syntax,
                         struct wire_diagnostics *diagnostics, struct wire_document **ret,
                         struct pollux_error *err)
{
    struct wire_document *document = calloc (1, sizeof (*document));
    if (!document) {
        free (text);
        return fail (err, -ENOMEM, "%s: not enough memory", file_name (name).text);
    }
    document->name = file_name (name);
    document->text = text;
    document->start = strncmp (text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    document->diagnostics = diagnostics;
    int code = syntax == WIRE_YAML ? parse_yaml (document, length, err)
                                   : parse_json (document, length, err);
    if (code < 0)
        wire_document_free (document);
    else
        *ret = document;
    return code;
}

int wire_document_open (const char *path, size_t limit, enum wire_syntax syntax,
                        struct wire_diagnostics *diagnostics, struct wire_document **ret,
                        struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = file_read (path, limit, &text, &length, err);
    return code < 0 ? code : document_new (path, text, length, syntax, diagnostics, ret, err);
}

int wire_document_open_text (const char *name, const char *text, size_t length, size_t limit,
                             enum wire_syntax syntax, struct wire_diagnostics *diagnostics,
                             struct wire_document **ret, struct pollux_error *err)
{
    char *copy;
    int code = file_copy_text (name, text, length, limit, &copy, err);
    return code < 0 ? code : document_new (name, copy, length, syntax, diagnostics, ret, err);
}

int wire_document_read (const char *path, size_t limit, struct wire_document **ret,
                        struct pollux_error *err)
{
    return wire_document_open (path, limit, WIRE_JSON, NULL, ret, err);
}

int wire_document_parse (const char *name, const char *text, size_t length, size_t limit,
                         struct wire_document **ret, struct pollux_error *err)
{
    return wire_document_open_text (name, text, length, limit, WIRE_JSON, NULL, ret, err);
}

int wire_document_decode (const char *name, const char *text, size_t length, size_t limit,
                          int (*decode) (const struct wire_place *root, void *ret,
                                         struct pollux_error *err),
                          void *ret, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_parse (name, text, length, limit, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = decode (&root, ret, err);
    wire_document_free (document);
    return code;
}

void wire_document_free (struct wire_document *document)
{
    if (!document)
        return;
    json_decref (document->root);
    free (document->nodes);
    free (document->text);
    free (document);
}

/* ---- Syntaxes ----------------------------------------------------------------------------- */

enum wire_syntax wire_syntax_of_path (const char *path)
{
    size_t length = strlen (path);
    return length >= 5 && strcasecmp (path + length - 5, ".json") == 0 ? WIRE_JSON : WIRE_YAML;
}

/* ---- Places ------------------------------------------------------------------------------- */

struct wire_place wire_root (const struct wire_document *document)
{
    return (struct wire_place){.document = document, .value = document->root};
}

struct wire_place wire_field (const struct wire_place *object, const char *key)
{
    return (struct wire_place){.document = object->document,
                               .parent = object,
                               .key = key,
                               .index = SIZE_MAX,
                               .value = json_object_get (object->value, key)};
}

struct wire_place wire_element (const struct wire_place *array, size_t index)
{
    return (struct wire_place){.document = array->document,
                               .parent = array,
                               .index = index,
                               .value = json_array_get (array->value, index)};
}

bool wire_each (const struct wire_place *object, void **at, struct wire_place *ret)
{
    json_t *fields = (json_t *)object->value; /* iterating does not change it */
    size_t index = *at ? ret->index + 1 : 0;
    *at = *at ? json_object_iter_next (fields, *at) : json_object_iter (fields);
    if (!*at)
        return false;
    *ret = (struct wire_place){.document = object->document,
                               .parent = object,
                               .key = json_object_iter_key (*at),
                               .index = index,
                               .value = json_object_iter_value (*at)};
    return true;
}

bool wire_has (const struct wire_place *object, const char *key)
{
    const json_t *value = json_object_get (object->value, key);
    return value && !json_is_null (value);
}

/* The position of an existing field in its object. */
static size_t field_index (const struct wire_place *place)
{
    json_t *fields = (json_t *)place->parent->value; /* iterating does not change it */
    void *at = json_object_iter (fields);
    size_t index = 0;
    for (; at && strcmp (json_object_iter_key (at), place->key) != 0; index++)
        at = json_object_iter_next (fields, at);
    return index;
}

/* The YAML node of a value; if the value is missing, the node of its object or array. */
static const struct wire_yaml_node *find_node (const struct wire_place *place)
{
    const struct wire_yaml_node *nodes = place->document->nodes;
    if (!place->parent)
        return nodes;
    const struct wire_yaml_node *parent = find_node (place->parent);
    if (!place->value || !parent->child)
        return parent;
    return &nodes[parent->child + (place->index == SIZE_MAX ? field_index (place) : place->index)];
}

/* The offset of a value, or of its key; if the value is missing, of its object or array. */
static size_t place_offset (const struct wire_place *place, bool of_key)
{
    const char *text = place->document->text;
    if (place->document->nodes) {
        const struct wire_yaml_node *node = find_node (place);
        return place->document->start + (of_key ? node->key : node->start);
    }
    if (!place->parent)
        return wire_seek_value (text, place->document->start);
    size_t parent = place_offset (place->parent, false);
    if (!place->key)
        return wire_seek_element (text, parent, place->index);
    return of_key ? wire_seek_key (text, parent, place->key)
                  : wire_seek_field (text, parent, place->key);
}

/* The offset after the value that starts at `offset`. */
static size_t place_end (const struct wire_place *place, size_t offset)
{
    return place->document->nodes ? place->document->start + find_node (place)->end
                                  : wire_seek_end (place->document->text, offset);
}

/* Write the path, for example jobs[3].model.gamma; returns its length.  Unknown keys are cut after
 * 24 characters; known ones are shorter. */
static size_t write_path (const struct wire_place *place, char *buffer, size_t size)
{
    if (!place->parent)
        return 0;
    size_t used = write_path (place->parent, buffer, size);
    char *start = buffer + used;
    int more;
    if (place->key)
        more = snprintf (start, size - used, "%s%.*s", used ? "." : "",
                         (int)utf8_skip (place->key, strlen (place->key), 24), place->key);
    else
        more = snprintf (start, size - used, "[%zu]", place->index);
    return used + (size_t)more < size ? used + (size_t)more : size - 1;
}

/* The value at an offset for a message: scalars as written, others by their kind. */
static struct excerpt found (const struct wire_place *place, size_t offset)
{
    if (json_is_object (place->value))
        return (struct excerpt){.text = "an object"};
    if (json_is_array (place->value))
        return (struct excerpt){.text = "an array"};
    size_t end = place_end (place, offset);
    if (!place->value || end == offset) /* `key:` without a value, in YAML */
        return (struct excerpt){.text = "nothing"};
    const char *text = place->document->text + offset;
    bool quoted = end - offset >= 2 && text[0] == '"' && text[end - offset - 1] == '"';
    struct excerpt ret = excerpt (text + quoted, end - offset - 2 * quoted);
    if (quoted) /* one pair of quotes, which distinguishes "1" from 1 */
        ret.text[0] = ret.text[strlen (ret.text) - 1] = '"';
    return ret;
}

/* The body of wire_fail and wire_fail_key. */
static int refuse_place (const struct wire_place *place, bool of_key, struct pollux_error *err,
                         const char *format, va_list args)
{
    char message[sizeof (((struct wire_diagnostic *)NULL)->message)];
    int length = vsnprintf (message, sizeof (message), format, args);
    size_t offset = place_offset (place, of_key);
    if (!of_key && length > 0 && (size_t)length < sizeof (message))
        snprintf (message + length, sizeof (message) - (size_t)length, ", got %s",
                  found (place, offset).text);
    struct wire_diagnostic diagnostic = diagnostic_at (place->document, offset, message);
    write_path (place, diagnostic.path, sizeof (diagnostic.path));
    return refuse (place->document, diagnostic, err);
}

int wire_fail (const struct wire_place *place, struct pollux_error *err, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    int code = refuse_place (place, false, err, format, args);
    va_end (args);
    return code;
}

int wire_fail_key (const struct wire_place *field, struct pollux_error *err, const char *format,
                   ...)
{
    va_list args;
    va_start (args, format);
    int code = refuse_place (field, true, err, format, args);
    va_end (args);
    return code;
}

bool wire_stops (const struct wire_place *place, int code)
{
    const struct wire_diagnostics *diagnostics = place->document->diagnostics;
    return code < 0 && (code != -EINVAL || !diagnostics || diagnostics->more);
}

int wire_scalar (const struct wire_place *place, char **ret, struct pollux_error *err)
{
    const char *text = json_string_value (place->value);
    size_t length = text ? strlen (text) : 0;
    if (!text && place->document->nodes &&
        (json_is_number (place->value) || json_is_boolean (place->value))) {
        const struct wire_yaml_node *node = find_node (place);
        text = place->document->text + place->document->start + node->start;
        length = node->end - node->start;
    }
    if (!text)
        return wire_fail (place, err, "expected a text");
    /* Not strndup: with a sanitizer it reads the document to its end for every word. */
    char *copy = malloc (length + 1);
    if (!copy)
        return fail (err, -ENOMEM, "%s: not enough memory", place->document->name.text);
    memcpy (copy, text, length);
    copy[length] = '\0';
    *ret = copy;
    return 0;
}
