/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks commands, and adds names to their arguments. */
#define _GNU_SOURCE /* asprintf */
#include "wire/hook.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/strings.h"

int wire_hook_parse (const char *text, const char *name, char ***ret, struct pollux_error *err)
{
    const char *wrong = wire_wrong_word (text);
    if (!text[strspn (text, " \t\r\n")])
        wrong = "expected a command";
    if (wrong)
        return fail (err, -EINVAL, "%s: %s", name, wrong);
    /* A YAML block ends with a newline: what is added would be a command of its own. */
    size_t length = strlen (text);
    while (strchr (" \t\r\n", text[length - 1]))
        length--;
    char **words = calloc (5, sizeof (words[0]));
    /* A text without a $ cannot use its arguments, so they become those of its last command. */
    if (!words || !(words[0] = strdup ("/bin/sh")) || !(words[1] = strdup ("-c")) ||
        asprintf (&words[2], "%.*s%s", (int)length, text, strchr (text, '$') ? "" : " \"$@\"") <
            0 ||
        !(words[3] = strdup (name))) {
        wire_strings_free (words);
        return fail (err, -ENOMEM, "%s: not enough memory", name);
    }
    *ret = words;
    return 0;
}

int wire_hook_decode (const struct wire_place *object, const char *key, char ***ret,
                      struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    struct pollux_error why = {.text = ""};
    char **words = NULL;
    int code = 0;
    if (!wire_has (object, key))
        return 0;
    if (json_is_string (place.value)) {
        code = wire_hook_parse (json_string_value (place.value), key, &words, &why);
        if (code == -EINVAL)
            code = wire_fail (&place, err, "expected a command");
        else if (code < 0)
            fail (err, code, "%s", why.text);
    } else if (json_is_array (place.value)) {
        code = wire_strings_decode (object, key, 1, wire_wrong_word, &words, err);
        if (code == 0 && !words[0][0])
            code = wire_fail (&place, err, "expected a program as the first word");
    } else {
        code = wire_fail (&place, err, "expected a text for the shell or a list of words");
    }
    if (code < 0) {
        wire_strings_free (words);
        return code;
    }
    wire_strings_free (*ret);
    *ret = words;
    return 0;
}
