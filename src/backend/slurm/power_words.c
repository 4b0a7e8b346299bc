/* SPDX-License-Identifier: Apache-2.0 */
/* The scontrol commands that order and return nodes by Slurm's power saving. */
#include "backend/slurm/power_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int slurm_power_words (bool up, const char *const *names, struct words *ret)
{
    struct words words = {0};
    size_t size = 1, used = 0;
    for (const char *const *at = names; *at; at++)
        size += strlen (*at) + 1;
    char *list = malloc (size);
    if (!list)
        return -ENOMEM;
    list[0] = '\0';
    for (const char *const *at = names; *at; at++)
        used += (size_t)snprintf (list + used, size - used, "%s%s", used > 0 ? "," : "", *at);
    words_add (&words, "scontrol");
    words_add (&words, "update");
    words_add (&words, "NodeName=%s", list);
    words_add (&words, "State=%s", up ? "POWER_UP" : "POWER_DOWN");
    free (list);
    int rc = words_check (&words);
    if (rc == 0)
        *ret = words;
    return rc;
}
