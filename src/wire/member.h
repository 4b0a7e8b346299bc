/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a struct and the fields of an object that they become.  One table serves both
 * directions, with one range: what can be written can be read again, bit for bit.
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

/* The member's type, and how it is written. */
enum wire_kind {
    WIRE_BOOL,   /* bool */
    WIRE_INT,    /* int, or an enum without names */
    WIRE_INT64,  /* int64_t */
    WIRE_UINT64, /* uint64_t of any value, as a string of digits: JSON's integers are signed */
    WIRE_DOUBLE, /* double; infinities, where the range has them, as "inf" and "-inf" */
    WIRE_NAME,   /* char[NAME_SIZE] */
    WIRE_TEXT,   /* char[max + 1]: a line for people */
    WIRE_CHOICE, /* an enum by its names; max is the last value */
};

/* One row of a table, which ends with a row of zeros. */
struct wire_member {
    const char *key;
    size_t offset;
    enum wire_kind kind;
    /* May be absent or null, which means `missing` ("" for a name or a text); not written then. */
    bool optional;
    double missing;
    double min, max; /* of numbers, both included; 2^53 at most for integers */
    const char *const *names;
};

/* The start of a row: for a member whose field has another name, and its own. */
#define WIRE_FIELD(name, type, member, wire_kind)                                                  \
    .key = (name), .offset = offsetof (struct type, member), .kind = (wire_kind)
#define WIRE_MEMBER(type, member, wire_kind) WIRE_FIELD (#member, type, member, wire_kind)

/* Read all members from an object.  On failure (-EINVAL, with the place) base is half-filled. */
int wire_members_decode (const struct wire_member *members, const struct wire_place *object,
                         void *base, struct pollux_error *err);

/* The same for the members that have a value other than null; the others stay as they are. */
int wire_members_override (const struct wire_member *members, const struct wire_place *object,
                           void *base, struct pollux_error *err);

/* Add all members to an object.  -EINVAL and the key if a value is outside its range. */
int wire_members_encode (const struct wire_member *members, const void *base, json_t *object,
                         struct pollux_error *err);

/* Add a value, which is taken over, also on failure.  NULL stands for a value that could not be
 * made.  0 or -ENOMEM. */
int wire_put (json_t *object, const char *key, json_t *value, struct pollux_error *err);

/* What may be a name: 1..63 bytes of UTF-8 without control characters; and a line of such, of that
 * many bytes at most. */
bool wire_is_name (const char *text);
bool wire_is_line (const char *text, size_t most);

/* A field that must be there and be a name. */
int wire_name (const struct wire_place *object, const char *key, char ret[NAME_SIZE],
               struct pollux_error *err);

/* A field that must be there and be one of `count` names: its index. */
int wire_choice (const struct wire_place *object, const char *key, const char *const *names,
                 int count, int *ret, struct pollux_error *err);

#endif
