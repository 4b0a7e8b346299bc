/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of documents, read so that every refusal names the place.
 *
 * A place is a value together with the way to it from the document's root: the getters below
 * take one, and a sentence starts with file, line, column and path:
 *     job.json:7:14: jobs[3].model.gamma: expected a number from 1 to 1000, got 0.5
 * Places are small values; a child points to its parent, which must outlive it:
 *
 *     struct wire_place job = wire_root (document);
 *     struct wire_place model = wire_field (&job, "model");
 *     code = wire_double (&model, "gamma", 1, 1000, &gamma, err);
 *
 * Fields nobody asks for are ignored, so that newer documents can be read.
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
    size_t index;                    /* in an array; of a field if known, else SIZE_MAX */
    const json_t *value;             /* borrowed; NULL if there is none */
};

struct wire_place wire_root (const struct wire_document *document);
/* A field of an object; its value is NULL if there is none, or if this is no object. */
struct wire_place wire_field (const struct wire_place *object, const char *key);
/* The same for an element of an array. */
struct wire_place wire_element (const struct wire_place *array, size_t index);

/* The fields of an object in the order in which they were written: *at is NULL before the first, and
 * *ret as the call before left it; false behind the last, or if this is no object. */
bool wire_each (const struct wire_place *object, void **at, struct wire_place *ret);

/* Whether a field has a value other than null. */
bool wire_has (const struct wire_place *object, const char *key);

/* Refuse a place: -EINVAL, and a sentence that starts with file, line, column and path.  The
 * format says what was expected; what is there instead is added at the end. */
int wire_fail (const struct wire_place *place, struct pollux_error *err, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Refuse the name of a field, not its value: the place is its key's, and nothing is added. */
int wire_fail_key (const struct wire_place *field, struct pollux_error *err, const char *format,
                   ...) __attribute__ ((format (printf, 3, 4)));

/* Whether a reader should stop after a step that gave that code: it failed, and it is no refusal, or
 * refusals are not collected, or too many have been: each costs a walk through the text. */
bool wire_stops (const struct wire_place *place, int code);

/* 0 if the place is an object or array; -EINVAL otherwise. */
int wire_expect_object (const struct wire_place *place, struct pollux_error *err);
int wire_expect_array (const struct wire_place *place, struct pollux_error *err);

/* A field that must be there, and in min..max (INT64_MIN, INT64_MAX and the infinities: no
 * limit).  Integers may be written 8, 8.0 or 8e0.  A string lives as long as the document.
 * *ret is written on success only. */
int wire_int64 (const struct wire_place *object, const char *key, int64_t min, int64_t max,
                int64_t *ret, struct pollux_error *err);
int wire_double (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err);
/* The same, also "inf" and "-inf", which JSON has no numbers for, where the range has them. */
int wire_number (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err);
int wire_bool (const struct wire_place *object, const char *key, bool *ret,
               struct pollux_error *err);
int wire_text (const struct wire_place *object, const char *key, const char **ret,
               struct pollux_error *err);

/* The field "version" of an object: -EPROTO if it is outside of what is known here. */
int wire_version (const struct wire_place *object, int oldest, int newest, int *ret,
                  struct pollux_error *err);

/* The text of a place itself: a string, or in YAML, where people leave out quotes, a number or a
 * truth value as it is written; copied (free). */
int wire_scalar (const struct wire_place *place, char **ret, struct pollux_error *err);

/* A value that wire_number reads back bit for bit; null for NaN.  NULL: not enough memory. */
json_t *wire_number_encode (double number);

#endif
