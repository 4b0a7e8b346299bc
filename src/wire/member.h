/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of struct members and their fields in an object.  Decoding and encoding use the same table
 * and range: everything that is written can be read, with the same bits.
 *
 *     static const struct wire_member members[] = {
 *         {WIRE_MEMBER (job_spec, weight, WIRE_DOUBLE), .min = 1e-9, .max = 1e9},
 *         {0},
 *     };
 */
#ifndef WIRE_MEMBER_H
#define WIRE_MEMBER_H

#include "cluster/node.h"
#include "wire/json.h"

/* The type of a member, and how it is written. */
enum wire_kind {
    WIRE_BOOL,   /* bool */
    WIRE_INT,    /* int, or an enum without names */
    WIRE_INT64,  /* int64_t */
    WIRE_UINT64, /* uint64_t of any value, as a string of digits: JSON's integers are signed */
    WIRE_DOUBLE, /* double; infinities, if the range contains them, as "inf" and "-inf" */
    WIRE_NAME,   /* char[NAME_SIZE] */
    WIRE_TEXT,   /* char[max + 1]: one line of text */
    WIRE_CHOICE, /* an enum by its names; max is the last value */
};

/* One row of a table.  The last row is zero. */
struct wire_member {
    const char *key;
    size_t offset;
    enum wire_kind kind;
    /* May be absent or null: read as `missing` ("" for names and texts).  Not written if equal to it. */
    bool optional;
    double missing;
    double min, max; /* range of numbers, inclusive; at most 2^53 for integers */
    const char *const *names;
};

/* The start of a row, for a field with another name than its member, or with the same. */
#define WIRE_FIELD(name, type, member, wire_kind)                                                  \
    .key = (name), .offset = offsetof (struct type, member), .kind = (wire_kind)
#define WIRE_MEMBER(type, member, wire_kind) WIRE_FIELD (#member, type, member, wire_kind)

/* Read all members from an object.  -EINVAL with the place; base may then be partly written. */
int wire_members_decode (const struct wire_member *members, const struct wire_place *object,
                         void *base, struct pollux_error *err);

/* The same, but members whose field is absent or null do not change. */
int wire_members_override (const struct wire_member *members, const struct wire_place *object,
                           void *base, struct pollux_error *err);

/* Add all members to an object.  -EINVAL with the key: a value is outside of its range. */
int wire_members_encode (const struct wire_member *members, const void *base, json_t *object,
                         struct pollux_error *err);

/* Add a value to an object and give up its reference, also on failure.  A NULL value means that
 * creating it failed.  0 or -ENOMEM. */
int wire_put (json_t *object, const char *key, json_t *value, struct pollux_error *err);

/* Add a list of `count` objects: put fills each one, by its index.  0, -ENOMEM or put's failure. */
typedef int wire_put_item (const void *self, int index, json_t *object, struct pollux_error *err);
int wire_put_list (json_t *object, const char *key, int count, wire_put_item *put, const void *self,
                   struct pollux_error *err);

/* True for a name: 1..63 bytes of UTF-8 without control characters.  True for a line: the same with
 * 0..most bytes. */
bool wire_is_name (const char *text);
bool wire_is_line (const char *text, size_t most);

/* Read a required field that is a name. */
int wire_name (const struct wire_place *object, const char *key, char ret[NAME_SIZE],
               struct pollux_error *err);

/* Read an object that has a number from 0 to `most` for names of jobs: call take with the place and the number of each,
 * until it fails. */
typedef int wire_take_number (void *self, const struct wire_place *place, double number,
                              struct pollux_error *err);
int wire_job_numbers (const struct wire_place *object, double most, wire_take_number *take,
                      void *self, struct pollux_error *err);

/* Read a required field that is one of `count` names; returns its index in *ret. */
int wire_choice (const struct wire_place *object, const char *key, const char *const *names,
                 int count, int *ret, struct pollux_error *err);

#endif
