/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subreaper COMMAND...: runs the command as the parent of all orphans among its descendants.
 *
 * Linux gives an orphan to its nearest ancestor with PR_SET_CHILD_SUBREAPER, and the attribute survives exec().
 * So the command can list and end every process that it started, also those that left its session or
 * cleared their environment (tools/leftovers.sh).  POLLUX_REAPER is the command's process id: a
 * child process that inherits the variable compares it with its own id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main (int argc, char **argv)
{
    char id[16];
    if (argc < 2) {
        fprintf (stderr, "usage: subreaper COMMAND...\n");
        return 2;
    }
    snprintf (id, sizeof (id), "%d", (int)getpid ());
    if (prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
        perror ("subreaper: orphans are not found here");
    if (setenv ("POLLUX_REAPER", id, 1) == 0)
        execvp (argv[1], argv + 1);
    perror (argv[1]);
    return 127;
}
