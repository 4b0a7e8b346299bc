/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door for JSON.  jansson parses within a limit; the getters turn values into C's types and
 * refuse what is not as expected, with the place.  A place is a chain on the stack, one link
 * per level of the document,
 *
 *     root  <-  .jobs  <-  [3]  <-  .model  <-  .gamma
 *
 * walked only for a message: for the path, and for line and column in the text.
 */
#include "wire/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/utf8.h"
#include "wire/json_seek.h"

struct wire_document {
    struct file_name name;
    char *text;   /* with a NUL behind it */
    size_t start; /* behind the byte-order mark */
    json_t *root;
};

/* ---- Documents ---------------------------------------------------------------------------- */

/* The parser counts to the last character of the token that it stumbled over, and names the token
 * at the end of its text unless that is long; people look for the first one. */
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

static int parse (struct wire_document *document, size_t length, struct pollux_error *err)
{
    const char *name = document->name.text;
    document->start = strncmp (document->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (wire_seek_value (document->text, document->start) == length)
        return fail (err, -EINVAL, "%s:1:1: empty file: expected a JSON object", name);
    json_error_t why;
    document->root = json_loadb (document->text + document->start, length - document->start,
                                 JSON_REJECT_DUPLICATES, &why);
    if (document->root)
        return 0;
    if (json_error_code (&why) == json_error_out_of_memory)
        return fail (err, -ENOMEM, "%s: not enough memory", name);
    return fail (err, -EINVAL, "%s:%d:%d: not well-formed JSON: %s", name,
                 why.line > 0 ? why.line : 1, token_column (&why), why.text);
}

/* Make a document of text, which is taken over, also on failure. */
static int document_new (const char *name, char *text, size_t length, struct wire_document **ret,
                         struct pollux_error *err)
{
    struct wire_document *document = calloc (1, sizeof (*document));
    if (!document) {
        free (text);
        return fail (err, -ENOMEM, "%s: not enough memory", file_name (name).text);
    }
    document->name = file_name (name);
    document->text = text;
    int code = parse (document, length, err);
    if (code < 0)
        wire_document_free (document);
    else
        *ret = document;
    return code;
}

int wire_document_read (const char *path, size_t limit, struct wire_document **ret,
                        struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = file_read (path, limit, &text, &length, err);
    return code < 0 ? code : document_new (path, text, length, ret, err);
}

int wire_document_parse (const char *name, const char *text, size_t length, size_t limit,
                         struct wire_document **ret, struct pollux_error *err)
{
    if (length > limit)
        return fail (err, -EFBIG, "%s: too large: expected at most %zu bytes",
                     file_name (name).text, limit);
    char *copy = malloc (length + 1);
    if (!copy)
        return fail (err, -ENOMEM, "%s: not enough memory", file_name (name).text);
    memcpy (copy, text, length);
    copy[length] = '\0';
    return document_new (name, copy, length, ret, err);
}

void wire_document_free (struct wire_document *document)
{
    if (!document)
        return;
    json_decref (document->root);
    free (document->text);
    free (document);
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
    json_t *fields = (json_t *)object->value; /* an iterator could change it; ours does not */
    *at = *at ? json_object_iter_next (fields, *at) : json_object_iter (fields);
    if (!*at)
        return false;
    *ret = (struct wire_place){.document = object->document,
                               .parent = object,
                               .key = json_object_iter_key (*at),
                               .value = json_object_iter_value (*at)};
    return true;
}

bool wire_has (const struct wire_place *object, const char *key)
{
    const json_t *value = json_object_get (object->value, key);
    return value && !json_is_null (value);
}

/* Where the value stands; where there is none, the object or array that should have it. */
static size_t place_offset (const struct wire_place *place)
{
    const char *text = place->document->text;
    if (!place->parent)
        return wire_seek_value (text, place->document->start);
    size_t parent = place_offset (place->parent);
    return place->key ? wire_seek_field (text, parent, place->key)
                      : wire_seek_element (text, parent, place->index);
}

/* The path, jobs[3].model.gamma: bytes written to a buffer of that size.  Our own keys are short;
 * 18 characters of a stranger's are enough to know it. */
static size_t write_path (const struct wire_place *place, char *buffer, size_t size)
{
    if (!place->parent)
        return 0;
    size_t used = write_path (place->parent, buffer, size);
    char *start = buffer + used;
    int more;
    if (place->key)
        more = snprintf (start, size - used, "%s%.*s", used ? "." : "",
                         (int)utf8_skip (place->key, strlen (place->key), 18), place->key);
    else
        more = snprintf (start, size - used, "[%zu]", place->index);
    return used + (size_t)more < size ? used + (size_t)more : size - 1;
}

/* What stands at an offset: scalars as they are written, the rest by its kind. */
static struct excerpt found (const struct wire_place *place, size_t offset)
{
    const char *text = place->document->text + offset;
    if (json_is_object (place->value))
        return (struct excerpt){.text = "an object"};
    if (json_is_array (place->value))
        return (struct excerpt){.text = "an array"};
    return excerpt (text, wire_seek_end (place->document->text, offset) - offset);
}

int wire_fail (const struct wire_place *place, struct pollux_error *err, const char *format, ...)
{
    struct pollux_error why;
    va_list args;
    va_start (args, format);
    vsnprintf (why.text, sizeof (why.text), format, args);
    va_end (args);

    const struct wire_document *document = place->document;
    size_t offset = place_offset (place), line = 1, start = document->start;
    for (size_t i = start; i < offset; i++) {
        if (document->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    char path[120] = "";
    size_t used = write_path (place, path, sizeof (path));
    return fail (err, -EINVAL, "%s:%zu:%zu: %s%s%s, got %s", document->name.text, line,
                 utf8_count (document->text + start, offset - start) + 1, path, used ? ": " : "",
                 why.text, place->value ? found (place, offset).text : "nothing");
}

/* ---- Values ------------------------------------------------------------------------------- */

int wire_expect_object (const struct wire_place *place, struct pollux_error *err)
{
    return json_is_object (place->value) ? 0 : wire_fail (place, err, "expected an object");
}

int wire_expect_array (const struct wire_place *place, struct pollux_error *err)
{
    return json_is_array (place->value) ? 0 : wire_fail (place, err, "expected an array");
}

/* The value as an integer, if it is one.  Doubles are whole numbers below 2^53 only by intent. */
static bool whole (const json_t *value, int64_t *ret)
{
    if (json_is_integer (value)) {
        *ret = json_integer_value (value);
        return true;
    }
    double number = json_real_value (value);
    if (!json_is_real (value) || number != trunc (number) || fabs (number) > 0x1p53)
        return false;
    *ret = (int64_t)number;
    return true;
}

int wire_int64 (const struct wire_place *object, const char *key, int64_t min, int64_t max,
                int64_t *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    int64_t value;
    if (whole (place.value, &value) && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (min == INT64_MIN && max == INT64_MAX)
        return wire_fail (&place, err, "expected an integer");
    if (max == INT64_MAX)
        return wire_fail (&place, err, "expected an integer of at least %" PRId64, min);
    return wire_fail (&place, err, "expected an integer from %" PRId64 " to %" PRId64, min, max);
}

int wire_double (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    double value = json_number_value (place.value);
    if (json_is_number (place.value) && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (isinf (min) && isinf (max))
        return wire_fail (&place, err, "expected a finite number");
    if (isinf (max))
        return wire_fail (&place, err, "expected a number of at least %g", min);
    return wire_fail (&place, err, "expected a number from %g to %g", min, max);
}

/* "inf", or as others write it. */
static bool is_infinity (const char *text)
{
    return strcmp (text, "inf") == 0 || strcmp (text, "Infinity") == 0;
}

int wire_number (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *text = json_string_value (place.value);
    bool below = text && text[0] == '-';
    bool infinite = text && is_infinity (text + below);
    double value = infinite ? (below ? -INFINITY : INFINITY) : json_number_value (place.value);
    if ((infinite || json_is_number (place.value)) && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (isinf (min) && isinf (max))
        return wire_fail (&place, err, "expected a number, \"inf\" or \"-inf\"");
    if (isinf (min))
        return wire_fail (&place, err, "expected a number up to %g, or \"-inf\"", max);
    if (isinf (max))
        return wire_fail (&place, err, "expected a number of at least %g, or \"inf\"", min);
    return wire_double (object, key, min, max, ret, err);
}

json_t *wire_number_encode (double number)
{
    if (isnan (number))
        return json_null ();
    if (isinf (number))
        return json_string (number < 0 ? "-inf" : "inf");
    return json_real (number);
}

int wire_bool (const struct wire_place *object, const char *key, bool *ret,
               struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    if (!json_is_boolean (place.value))
        return wire_fail (&place, err, "expected true or false");
    *ret = json_is_true (place.value);
    return 0;
}

int wire_text (const struct wire_place *object, const char *key, const char **ret,
               struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    if (!json_is_string (place.value))
        return wire_fail (&place, err, "expected a string");
    *ret = json_string_value (place.value);
    return 0;
}
