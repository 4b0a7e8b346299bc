/* SPDX-License-Identifier: Apache-2.0 */
/* The names of types of GPUs, from the names that nvidia-smi prints and that Slurm uses. */
#include "backend/gpu_type.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Words that say nothing about speed; "*" at the end: whatever follows. */
static const char *const ignored[] = {"nvidia",  "tesla", "geforce", "quadro", "generation", "gpu",
                                      "edition", "sxm*",  "pcie*",   "nvl",    "hbm*",       NULL};

static bool is_ignored (const char *word)
{
    for (const char *const *at = ignored; *at; at++) {
        size_t length = strcspn (*at, "*");
        if (strncmp (word, *at, length) == 0 && ((*at)[length] == '*' || !word[length]))
            return true;
    }
    size_t digits = strspn (word, "0123456789");
    return digits > 0 && strcmp (word + digits, "gb") == 0;
}

void gpu_type (const char *name, char ret[NAME_SIZE])
{
    char word[NAME_SIZE];
    size_t length = 0, used = 0;
    for (const char *at = name;; at++) {
        if (isalnum ((unsigned char)*at) && length < sizeof (word) - 1)
            word[length++] = (char)tolower ((unsigned char)*at);
        if (isalnum ((unsigned char)*at))
            continue;
        word[length] = '\0';
        if (length > 0 && !is_ignored (word) && used + length < NAME_SIZE) {
            memcpy (ret + used, word, length);
            used += length;
        }
        length = 0;
        if (!*at)
            break;
    }
    memset (ret + used, 0, NAME_SIZE - used);
    if (used == 0)
        snprintf (ret, NAME_SIZE, "gpu");
}

void gpu_type_of_gres (const char *name, char ret[NAME_SIZE])
{
    static const char *const starts[] = {"nvidia_", "tesla_", "geforce_", "quadro_"};
    for (size_t i = 0; i < sizeof (starts) / sizeof (starts[0]); i++)
        if (strncmp (name, starts[i], strlen (starts[i])) == 0) {
            gpu_type (name, ret);
            return;
        }
    snprintf (ret, NAME_SIZE, "%s", name);
}
