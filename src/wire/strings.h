/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for programs, as fields of an object.  Lists end with NULL, as execve(2) expects.  A rule is
 * a function that returns NULL for a legal text, else what was expected; decoding and encoding apply
 * the same rule.  In YAML, numbers and true or false are read as written.
 */
#ifndef WIRE_STRINGS_H
#define WIRE_STRINGS_H

#include "wire/json.h"

enum {
    WIRE_STRINGS_LIMIT = 1 << 16, /* texts in a list: arguments, variables */
    WIRE_PATH_SIZE = 4096,        /* largest path on Linux, with its NUL */
    WIRE_WORD_SIZE = 1 << 17,     /* largest argument or variable on Linux, with its NUL */
};

/* Rules: for an argument; for an absolute path; for a variable NAME=value, whose name has letters,
 * digits and underscores. */
const char *wire_wrong_word (const char *text);
const char *wire_wrong_path (const char *text);
const char *wire_wrong_variable (const char *text);

/* Decode a list of at least `least` texts; absent or null is an empty list.  The caller frees *ret
 * (wire_strings_free) also on failure, when it is NULL or incomplete. */
int wire_strings_decode (const struct wire_place *object, const char *key, size_t least,
                         const char *(*wrong) (const char *), char ***ret,
                         struct pollux_error *err);
int wire_strings_put (json_t *object, const char *key, char *const *strings,
                      const char *(*wrong) (const char *), struct pollux_error *err);
void wire_strings_free (char **strings);

/* The same for variables, written as {"NAME": "value"}, in the order of the text.  Encoding refuses
 * a list that has a name twice. */
int wire_environment_decode (const struct wire_place *object, const char *key, char ***ret,
                             struct pollux_error *err);
int wire_environment_put (json_t *object, const char *key, char *const *environment,
                          struct pollux_error *err);

/* Decode one text; if absent or null, a copy of `missing`, which may be NULL.  Encoding writes
 * nothing for NULL and "". */
int wire_string_decode (const struct wire_place *object, const char *key, const char *missing,
                        const char *(*wrong) (const char *), char **ret, struct pollux_error *err);
int wire_string_put (json_t *object, const char *key, const char *text,
                     const char *(*wrong) (const char *), struct pollux_error *err);

/* A signal that a process can handle, by number or name ("SIGTERM", "TERM"); written as a number. */
int wire_signal_decode (const struct wire_place *object, const char *key, int *ret,
                        struct pollux_error *err);
int wire_signal_put (json_t *object, const char *key, int signal, struct pollux_error *err);

#endif
