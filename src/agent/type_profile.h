/* SPDX-License-Identifier: Apache-2.0 */
/* What a job has measured on one type of nodes. */
#ifndef AGENT_TYPE_PROFILE_H
#define AGENT_TYPE_PROFILE_H

#include "agent/profile.h"

/* A type's name has at most 63 bytes.  A report names at most 8 types (OTHER_MODELS_LIMIT of the
 * scheduler, and the present one). */
enum { TYPE_SIZE = 64, TYPES_LIMIT = 8 };

struct type_profile {
    char type[TYPE_SIZE]; /* "": not known */
    int64_t max_local;    /* largest batch of a replica's micro-step there */
    bool fitted;
    struct pollux_model model; /* if fitted */
    struct profile profile;
};

/* Copy a type's name; "" instead of a name that is too long or has other characters than printable ASCII
 * without quotes and backslashes.  text NULL: "". */
void type_name (const char *text, char ret[TYPE_SIZE]);

/* The present type first, then the others, that of the longest absence last. */
struct type_profiles {
    int count; /* at least 1 */
    struct type_profile items[TYPES_LIMIT];
};

/* Make `type` the first one, with an empty profile if it is new; of more than TYPES_LIMIT the last one is
 * dropped.  Measurements on nodes without a type count for the first type that is named. */
void type_profiles_move (struct type_profiles *types, const char *type);

/* ---- As bytes ------------------------------------------------------------------------------- */

/* Bytes that remain to be read. */
struct saved_bytes {
    const uint8_t *at, *end;
};

/* Of the largest table: TYPES_LIMIT profiles of PROFILE_LIMIT entries, less than 512 fields each. */
enum { TYPES_SIZE_LIMIT = TYPES_LIMIT * 512 * 8 };

size_t type_profiles_size (const struct type_profiles *types);
uint8_t *type_profiles_put (uint8_t *at, const struct type_profiles *types);

/* -EINVAL: too few bytes, or numbers that no agent writes. */
int type_profiles_get (struct saved_bytes *bytes, struct type_profiles *ret,
                       struct pollux_error *err);

/* The two parts of a profile, which versions 1 and 2 of an agent's state have apart: the entries are
 * counted in the head.  The caller guarantees the bytes of the head. */
enum { PROFILE_HEAD_FIELDS = 11 };
const uint8_t *profile_head_get (const uint8_t *at, struct type_profile *ret, bool *ret_legal);
int profile_entries_get (struct saved_bytes *bytes, struct profile *ret, struct pollux_error *err);

#endif
