/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy and free the description of a job's program.  The cluster keeps a copy per job.
 */
#include "cluster/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const launcher_names[] = {"env", "mpi"};
_Static_assert(sizeof (launcher_names) / sizeof (launcher_names[0]) == LAUNCHERS, "a name each");

static void free_list (char **list)
{
    for (char **at = list; at && *at; at++)
        free (*at);
    free (list);
}

void launch_free (struct launch *launch)
{
    if (!launch)
        return;
    free_list (launch->command);
    free_list (launch->environment);
    free (launch->directory);
    free (launch->checkpoint_dir);
    free (launch);
}

/* Copy a list; NULL as input is an empty list.  Returns NULL: no memory. */
static char **copy_list (char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    char **copy = calloc (count + 1, sizeof (copy[0]));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup (list[i]);
        if (!copy[i]) {
            free_list (copy);
            return NULL;
        }
    }
    return copy;
}

struct launch *launch_copy (const struct launch *launch)
{
    struct launch *copy = malloc (sizeof (*copy));
    if (!copy)
        return NULL;
    *copy = *launch;
    copy->command = copy_list (launch->command);
    copy->environment = copy_list (launch->environment);
    copy->directory = launch->directory ? strdup (launch->directory) : NULL;
    copy->checkpoint_dir = launch->checkpoint_dir ? strdup (launch->checkpoint_dir) : NULL;
    if (!copy->command || !copy->environment || (launch->directory && !copy->directory) ||
        (launch->checkpoint_dir && !copy->checkpoint_dir)) {
        launch_free (copy);
        return NULL;
    }
    return copy;
}

double launch_backoff (const struct launch *launch, int failures)
{
    return fmin (ldexp (launch->backoff_s, failures > 0 ? failures - 1 : 0), LAUNCH_BACKOFF_LIMIT);
}
