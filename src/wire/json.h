/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON documents, read so that every refusal names the place.
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

#include "pollux/pollux.h"

/* A document and its text.  Constant once made. */
struct wire_document;

/* Read a file of at most limit bytes ("-" is the standard input), or text from memory, which is
 * copied; name stands for the file in messages.  A byte-order mark is skipped; an object with
 * the same key twice is refused.  On success *ret belongs to the caller (wire_document_free).
 * On failure *ret is untouched: -EINVAL for what it says, -EFBIG for its size, -ENOMEM, or the
 * errno value of open(2) and read(2). */
int wire_document_read (const char *path, size_t limit, struct wire_document **ret,
                        struct pollux_error *err);
int wire_document_parse (const char *name, const char *text, size_t length, size_t limit,
                         struct wire_document **ret, struct pollux_error *err);
void wire_document_free (struct wire_document *document);

struct wire_place {
    const struct wire_document *document;
    const struct wire_place *parent; /* NULL at the root */
    const char *key;                 /* in an object, or NULL */
    size_t index;                    /* in an array */
    const json_t *value;             /* borrowed; NULL if there is none */
};

struct wire_place wire_root (const struct wire_document *document);
/* A field of an object; its value is NULL if there is none, or if this is no object. */
struct wire_place wire_field (const struct wire_place *object, const char *key);
/* The same for an element of an array. */
struct wire_place wire_element (const struct wire_place *array, size_t index);

/* The fields of an object in the order in which they were written: *at is NULL before the first;
 * false behind the last, or if this is no object. */
bool wire_each (const struct wire_place *object, void **at, struct wire_place *ret);

/* Whether a field has a value other than null. */
bool wire_has (const struct wire_place *object, const char *key);

/* Refuse a place: -EINVAL, and a sentence that starts with file, line, column and path.  The
 * format says what was expected; what is there instead is added at the end. */
int wire_fail (const struct wire_place *place, struct pollux_error *err, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

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

/* A value that wire_number reads back bit for bit; null for NaN.  NULL: not enough memory. */
json_t *wire_number_encode (double number);

#endif
