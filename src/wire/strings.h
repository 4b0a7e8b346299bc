/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that programs are given: fields of an object to memory of their own, and back.  Lists end
 * with NULL, as execve(2) takes them.  A rule says what was expected of a text that breaks it, or
 * NULL; it holds in both directions, so that what was written can be read again.  In YAML,
 * numbers and truth values are read as they are written.
 */
#ifndef WIRE_STRINGS_H
#define WIRE_STRINGS_H

#include "wire/json.h"

enum {
    WIRE_STRINGS_LIMIT = 1 << 16, /* texts in a list: arguments, variables */
    WIRE_PATH_SIZE = 4096,        /* Linux takes no longer path */
    WIRE_WORD_SIZE = 1 << 17,     /* and no longer argument or variable, with its NUL */
};

/* Rules: an argument; a path that is absolute; a variable as NAME=value, with a name of letters,
 * digits and underscores. */
const char *wire_wrong_word (const char *text);
const char *wire_wrong_path (const char *text);
const char *wire_wrong_variable (const char *text);

/* A list of `least` texts or more; absent or null is an empty one.  *ret is a list also on failure,
 * NULL or as far as it came, and the caller's (wire_strings_free). */
int wire_strings_decode (const struct wire_place *object, const char *key, size_t least,
                         const char *(*wrong) (const char *), char ***ret,
                         struct pollux_error *err);
int wire_strings_put (json_t *object, const char *key, char *const *strings,
                      const char *(*wrong) (const char *), struct pollux_error *err);
void wire_strings_free (char **strings);

/* The same for variables, written as {"NAME": "value"}; read in the order in which they stand.  To
 * put a list with one name twice is refused. */
int wire_environment_decode (const struct wire_place *object, const char *key, char ***ret,
                             struct pollux_error *err);
int wire_environment_put (json_t *object, const char *key, char *const *environment,
                          struct pollux_error *err);

/* One text; absent or null is a copy of `missing`, which may be NULL.  Nothing is put for NULL and
 * "". */
int wire_string_decode (const struct wire_place *object, const char *key, const char *missing,
                        const char *(*wrong) (const char *), char **ret, struct pollux_error *err);
int wire_string_put (json_t *object, const char *key, const char *text,
                     const char *(*wrong) (const char *), struct pollux_error *err);

/* A signal that a process can handle, by number or name ("SIGTERM", "TERM"); put as a number. */
int wire_signal_decode (const struct wire_place *object, const char *key, int *ret,
                        struct pollux_error *err);
int wire_signal_put (json_t *object, const char *key, int signal, struct pollux_error *err);

#endif
