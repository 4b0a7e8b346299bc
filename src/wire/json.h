/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getters for the values of a document; every refusal names the place.
 *
 * A place is a value and the path to it from the document's root.  The getters below take one;
 * their messages start with file, line, column and path:
 *     job.json:7:14: jobs[3].model.gamma: expected a number from 1 to 1000, got 0.5
 * A place points to its parent, which must outlive it:
 *
 *     struct wire_place job = wire_root (document);
 *     struct wire_place model = wire_field (&job, "model");
 *     code = wire_double (&model, "gamma", 1, 1000, &gamma, err);
 *
 * Fields that are not read are ignored, so that documents of newer versions can be read.
 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/document.h"

struct wire_place {
    const struct wire_document *document;
    const struct wire_place *parent; /* NULL at the root */
    const char *key;                 /* in an object, or NULL */
    size_t index;                    /* in an array or object; SIZE_MAX: unknown */
    const json_t *value;             /* borrowed; NULL: there is no value */
};

struct wire_place wire_root (const struct wire_document *document);
/* A field of an object.  Its value is NULL if it is missing or the place is not an object. */
struct wire_place wire_field (const struct wire_place *object, const char *key);
/* The same for an element of an array. */
struct wire_place wire_element (const struct wire_place *array, size_t index);

/* Iterate over the fields of an object in the order of the text.  *at is NULL before the first call;
 * pass *at and *ret unchanged to the next one.  False: no more fields, or not an object. */
bool wire_each (const struct wire_place *object, void **at, struct wire_place *ret);

/* True if a field has a value other than null. */
bool wire_has (const struct wire_place *object, const char *key);

/* Refuse a value: -EINVAL, and a message that starts with file, line, column and path.  The format
 * says what was expected; ", got VALUE" is appended. */
int wire_fail (const struct wire_place *place, struct pollux_error *err, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Refuse the name of a field: the message has the position of the key, and nothing is appended. */
int wire_fail_key (const struct wire_place *field, struct pollux_error *err, const char *format,
                   ...) __attribute__ ((format (printf, 3, 4)));

/* True if a reader must stop after this code: any failure but -EINVAL; or -EINVAL, if diagnostics
 * are not collected or there are too many (finding the line of each scans the text). */
bool wire_stops (const struct wire_place *place, int code);

/* 0 if the place is an object or array; -EINVAL otherwise. */
int wire_expect_object (const struct wire_place *place, struct pollux_error *err);
int wire_expect_array (const struct wire_place *place, struct pollux_error *err);
/* The number of elements of an array, which must not exceed limit. */
int wire_count_elements (const struct wire_place *place, int limit, const char *what, size_t *ret,
                         struct pollux_error *err);

/* Read a required field in min..max (INT64_MIN, INT64_MAX and infinities: no limit).  Integers may
 * be written 8, 8.0 or 8e0.  A string is valid as long as the document. */
int wire_int64 (const struct wire_place *object, const char *key, int64_t min, int64_t max,
                int64_t *ret, struct pollux_error *err);
int wire_double (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err);
/* The same; "inf" and "-inf" are accepted if the range contains them. */
int wire_number (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err);
int wire_bool (const struct wire_place *object, const char *key, bool *ret,
               struct pollux_error *err);
int wire_text (const struct wire_place *object, const char *key, const char **ret,
               struct pollux_error *err);

/* The field "version" of an object.  -EPROTO: not in oldest..newest. */
int wire_version (const struct wire_place *object, int oldest, int newest, int *ret,
                  struct pollux_error *err);

/* The text of a value: a string, or in YAML also a number or true or false, as written.  The caller
 * frees it. */
int wire_scalar (const struct wire_place *place, char **ret, struct pollux_error *err);

/* A value that wire_number reads with the same bits; null for NaN.  NULL: no memory. */
json_t *wire_number_encode (double number);

#endif
