/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for programs: arguments, environment, paths, signals.  Texts that execve(2) would refuse are
 * refused here, not later by a supervisor: the parsers refuse NULs, the rules check lengths.
 */
#include "wire/strings.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "wire/member.h"

/* ---- Rules -------------------------------------------------------------------------------- */

const char *wire_wrong_word (const char *text)
{
    return strnlen (text, WIRE_WORD_SIZE) < WIRE_WORD_SIZE ? NULL : "expected a text below 128 KiB";
}

const char *wire_wrong_path (const char *text)
{
    return *text != '/' || strnlen (text, WIRE_PATH_SIZE) == WIRE_PATH_SIZE
               ? "expected an absolute path below 4096 bytes"
               : NULL;
}

static const char name_rule[] =
    "expected a name of letters, digits and underscores that starts with no digit";

const char *wire_wrong_variable (const char *text)
{
    const char *at = text;
    while (isascii (*at) && (isalpha (*at) || *at == '_' || (at > text && isdigit (*at))))
        at++;
    if (at == text || *at != '=')
        return name_rule;
    return wire_wrong_word (text);
}

/* Check a text that may not be UTF-8: the reason for a refusal, or NULL. */
static const char *wrong_outside (const char *text, const char *(*wrong) (const char *))
{
    size_t length = strlen (text);
    return utf8_valid (text, length) != length ? "expected UTF-8" : wrong (text);
}

/* ---- Lists -------------------------------------------------------------------------------- */

void wire_strings_free (char **strings)
{
    for (char **at = strings; at && *at; at++)
        free (*at);
    free (strings);
}

/* An empty list with room for count texts. */
static int strings_new (const char *key, size_t count, char ***ret, struct pollux_error *err)
{
    *ret = calloc (count + 1, sizeof (char *));
    return *ret ? 0 : fail (err, -ENOMEM, "%s: not enough memory", key);
}

/* Decode one text of a list; the caller owns *ret, also on failure. */
static int item_decode (const struct wire_place *item, const char *(*wrong) (const char *),
                        char **ret, struct pollux_error *err)
{
    int code = wire_scalar (item, ret, err);
    const char *what = code == 0 ? wrong (*ret) : NULL;
    return what ? wire_fail (item, err, "%s", what) : code;
}

int wire_strings_decode (const struct wire_place *object, const char *key, size_t least,
                         const char *(*wrong) (const char *), char ***ret, struct pollux_error *err)
{
    struct wire_place list = wire_field (object, key);
    size_t count = json_array_size (list.value);
    if ((wire_has (object, key) && !json_is_array (list.value)) || count < least ||
        count > WIRE_STRINGS_LIMIT)
        return wire_fail (&list, err, "expected a list of %zu to %d texts", least,
                          WIRE_STRINGS_LIMIT);
    int code = strings_new (key, count, ret, err), refused = code;
    size_t done = 0;
    for (size_t i = 0; !wire_stops (&list, code) && i < count; i++) {
        struct wire_place item = wire_element (&list, i);
        code = item_decode (&item, wrong, &(*ret)[done], err);
        done += (*ret)[done] != NULL;
        refused = wire_worse (refused, code);
    }
    return refused;
}

int wire_strings_put (json_t *object, const char *key, char *const *strings,
                      const char *(*wrong) (const char *), struct pollux_error *err)
{
    json_t *array = json_array ();
    int code = wire_put (object, key, array, err);
    for (char *const *at = strings; code == 0 && at && *at; at++) {
        const char *what = wrong_outside (*at, wrong);
        if (at - strings >= WIRE_STRINGS_LIMIT)
            code = fail (err, -EINVAL, "%s: expected at most %d texts", key, WIRE_STRINGS_LIMIT);
        else if (what)
            code = fail (err, -EINVAL, "%s[%td]: %s", key, at - strings, what);
        else if (json_array_append_new (array, json_string (*at)) < 0)
            code = fail (err, -ENOMEM, "%s: not enough memory", key);
    }
    return code;
}

/* ---- Variables ---------------------------------------------------------------------------- */

static int variable_decode (const struct wire_place *place, char **ret, struct pollux_error *err)
{
    char *value;
    int code = wire_scalar (place, &value, err);
    if (code < 0)
        return code;
    size_t size = strlen (place->key) + strlen (value) + 2;
    char *text = malloc (size);
    if (text)
        snprintf (text, size, "%s=%s", place->key, value);
    free (value);
    if (!text)
        return fail (err, -ENOMEM, "%s: not enough memory", place->key);
    *ret = text;
    /* Programs would cut a name at its first equals sign. */
    if (strchr (place->key, '='))
        return wire_fail_key (place, err, "%s", name_rule);
    const char *what = wire_wrong_variable (text);
    return what ? wire_fail_key (place, err, "%s", what) : 0;
}

int wire_environment_decode (const struct wire_place *object, const char *key, char ***ret,
                             struct pollux_error *err)
{
    struct wire_place map = wire_field (object, key), place;
    size_t count = json_object_size (map.value), done = 0;
    if ((wire_has (object, key) && !json_is_object (map.value)) || count > WIRE_STRINGS_LIMIT)
        return wire_fail (&map, err, "expected an object of at most %d variables",
                          WIRE_STRINGS_LIMIT);
    int code = strings_new (key, count, ret, err), refused = code;
    for (void *at = NULL; !wire_stops (&map, code) && wire_each (&map, &at, &place);) {
        code = variable_decode (&place, &(*ret)[done], err);
        done += (*ret)[done] != NULL;
        refused = wire_worse (refused, code);
    }
    return refused;
}

static int variable_put (json_t *object, const char *text, struct pollux_error *err)
{
    const char *what = wrong_outside (text, wire_wrong_variable);
    if (what)
        return fail (err, -EINVAL, "environment: %s", what);
    char *name = strdup (text);
    if (!name)
        return fail (err, -ENOMEM, "environment: not enough memory");
    char *value = strchr (name, '=');
    *value++ = '\0';
    int code = json_object_get (object, name)
                   ? fail (err, -EINVAL, "environment.%.32s: expected every variable once", name)
                   : wire_put (object, name, json_string (value), err);
    free (name);
    return code;
}

int wire_environment_put (json_t *object, const char *key, char *const *environment,
                          struct pollux_error *err)
{
    json_t *inner = json_object ();
    int code = wire_put (object, key, inner, err);
    for (char *const *at = environment; code == 0 && at && *at; at++)
        code =
            at - environment < WIRE_STRINGS_LIMIT
                ? variable_put (inner, *at, err)
                : fail (err, -EINVAL, "%s: expected at most %d variables", key, WIRE_STRINGS_LIMIT);
    return code;
}

/* ---- Single ones -------------------------------------------------------------------------- */

int wire_string_decode (const struct wire_place *object, const char *key, const char *missing,
                        const char *(*wrong) (const char *), char **ret, struct pollux_error *err)
{
    const char *text = missing;
    struct wire_place place = wire_field (object, key);
    int code = wire_has (object, key) ? wire_text (object, key, &text, err) : 0;
    const char *what = code == 0 && text ? wrong (text) : NULL;
    if (what)
        code = wire_fail (&place, err, "%s", what);
    if (code == 0 && text && !(*ret = strdup (text)))
        code = fail (err, -ENOMEM, "%s: not enough memory", key);
    return code;
}

int wire_string_put (json_t *object, const char *key, const char *text,
                     const char *(*wrong) (const char *), struct pollux_error *err)
{
    if (!text || !*text)
        return 0;
    const char *what = wrong_outside (text, wrong);
    return what ? fail (err, -EINVAL, "%s: %s", key, what)
                : wire_put (object, key, json_string (text), err);
}

/* ---- Signals ------------------------------------------------------------------------------ */

/* Linux has 64. */
#define SIGNAL_LIMIT 64

#define SIGNAL(name)                                                                               \
    {                                                                                              \
#name, SIG##name                                                                           \
    }
static const struct {
    const char *name;
    int number;
} signals[] = {
    SIGNAL (HUP),  SIGNAL (INT),  SIGNAL (QUIT), SIGNAL (ABRT),   SIGNAL (KILL),
    SIGNAL (USR1), SIGNAL (USR2), SIGNAL (PIPE), SIGNAL (ALRM),   SIGNAL (TERM),
    SIGNAL (CONT), SIGNAL (STOP), SIGNAL (TSTP), SIGNAL (URG),    SIGNAL (WINCH),
    SIGNAL (IO),   SIGNAL (PWR),  SIGNAL (XCPU), SIGNAL (VTALRM), SIGNAL (PROF),
};
#undef SIGNAL

/* The number of a signal by its name; 0: unknown. */
static int signal_number (const char *word)
{
    word += strncmp (word, "SIG", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof (signals) / sizeof (signals[0]); i++)
        if (strcmp (word, signals[i].name) == 0)
            return signals[i].number;
    return 0;
}

static const char *wrong_signal (int signal)
{
    if (signal < 1 || signal > SIGNAL_LIMIT)
        return "expected a signal such as SIGTERM, or its number";
    return signal == SIGKILL || signal == SIGSTOP
               ? "expected a signal that a process can handle: neither SIGKILL nor SIGSTOP"
               : NULL;
}

int wire_signal_decode (const struct wire_place *object, const char *key, int *ret,
                        struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *word = json_string_value (place.value);
    json_int_t number = word ? signal_number (word) : json_integer_value (place.value);
    int signal = number > 0 && number <= SIGNAL_LIMIT ? (int)number : 0;
    const char *what = wrong_signal (signal);
    if (what)
        return wire_fail (&place, err, "%s", what);
    *ret = signal;
    return 0;
}

int wire_signal_put (json_t *object, const char *key, int signal, struct pollux_error *err)
{
    const char *what = wrong_signal (signal);
    return what ? fail (err, -EINVAL, "%s: %s", key, what)
                : wire_put (object, key, json_integer (signal), err);
}
