/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux slurm-pilot: submit a batch script to Slurm that runs polluxd inside its allocation.  All
 * options that are not its own are sbatch's; they become #SBATCH lines, so that the printed script is
 * complete.
 */
#define _GNU_SOURCE /* open_memstream */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/slurm/submission.h"
#include "base/error.h"
#include "base/file.h"
#include "base/home.h"
#include "base/options.h"
#include "cli/command.h"

enum { PILOT_STATE = 1, PILOT_CHAIN, PILOT_PRINT };

static const struct command_option pilot_options[] = {
    {"state", "DIR", PILOT_STATE,
     "journal, logs and tokens, on a shared file system; made if missing"},
    {"chain", NULL, PILOT_CHAIN, "go on in another allocation while there are jobs"},
    {"print", NULL, PILOT_PRINT, "print the batch script instead of submitting it"},
};

struct pilot {
    char state[PATH_MAX], bin[PATH_MAX]; /* bin: the directory of pollux and polluxd */
    char **sbatch;                       /* options for sbatch */
    int sbatch_count;
    char **daemon; /* options for polluxd, behind "--" */
    int daemon_count;
    bool chain, print;
};

/* ---- The command line --------------------------------------------------------------------- */

static int set_state (struct pilot *pilot, const char *path, struct pollux_error *err)
{
    char here[PATH_MAX] = "";
    if (!path || !*path)
        return fail (err, -EINVAL, "--state: expected a directory");
    if (path[strcspn (path, "\n\r")]) /* it is part of a #SBATCH line */
        return fail (err, -EINVAL, "--state: the path has a new line in it");
    if (path[0] != '/' && !getcwd (here, sizeof (here)))
        return fail (err, -errno, "the working directory: %s", strerror (errno));
    int length =
        snprintf (pilot->state, sizeof (pilot->state), "%s%s%s", here, *here ? "/" : "", path);
    return length < (int)sizeof (pilot->state) - 64
               ? 0
               : fail (err, -ENAMETOOLONG, "--state: the path is too long");
}

/* Own options are taken; the others are sbatch's, in their order. */
static int parse (const struct options *options, struct pilot *ret, struct pollux_error *err)
{
    int argc = options->argc;
    char **argv = options->argv;
    int code = home_state (ret->state, NULL);
    bool has_state = code == 0;
    code = 0;
    for (int i = 1; code == 0 && i < argc; i++) {
        const char *word = argv[i];
        if (strcmp (word, "--") == 0) {
            ret->daemon = argv + i + 1;
            ret->daemon_count = argc - i - 1;
            break;
        }
        if (strcmp (word, "--chain") == 0) {
            ret->chain = true;
        } else if (strcmp (word, "--print") == 0) {
            ret->print = true;
        } else if (strcmp (word, "--state") == 0 || strncmp (word, "--state=", 8) == 0) {
            code = set_state (ret, word[7] ? word + 8 : i + 1 < argc ? argv[++i] : NULL, err);
            has_state = true;
        } else if (word[strcspn (word, "\n\r")]) {
            code = fail (err, -EINVAL, "an option has a new line in it");
        } else {
            ret->sbatch[ret->sbatch_count++] = argv[i];
        }
    }
    if (code == 0 && !has_state)
        code = home_state (ret->state, err);
    return code;
}

/* pollux and polluxd are in one directory, which the nodes must see, too. */
static int find_programs (struct pilot *pilot, struct pollux_error *err)
{
    char daemon[PATH_MAX + 16];
    ssize_t length = readlink ("/proc/self/exe", pilot->bin, sizeof (pilot->bin) - 1);
    if (length < 0)
        return fail (err, -errno, "cannot find out where pollux is: %s", strerror (errno));
    pilot->bin[length] = '\0';
    *strrchr (pilot->bin, '/') = '\0';
    snprintf (daemon, sizeof (daemon), "%s/polluxd", pilot->bin);
    return access (daemon, X_OK) < 0
               ? fail (err, -ENOENT, "%s: %s", file_name (daemon).text, strerror (errno))
               : 0;
}

/* ---- The script --------------------------------------------------------------------------- */

static void put_quoted (FILE *out, const char *text)
{
    char *quoted = slurm_shell_quote (text);
    fputs (quoted ? quoted : "''", out);
    free (quoted);
}

/* A word of an #SBATCH line: sbatch takes quotes around it, and a backslash before one. */
static void put_option (FILE *out, const char *text)
{
    if (!text[strcspn (text, " \t\"'\\#")]) {
        fputs (text, out);
        return;
    }
    fputc ('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc ('\\', out);
        fputc (*text, out);
    }
    fputc ('"', out);
}

static void put_head (FILE *out, const struct pilot *pilot)
{
    fputs ("#!/bin/bash\n"
           "# Runs polluxd inside an allocation of Slurm; made by `pollux slurm-pilot`.\n"
           "#SBATCH --job-name=pollux\n"
           "#SBATCH --no-kill\n"
           "#SBATCH --open-mode=append\n",
           out);
    fputs ("#SBATCH --output=", out);
    put_option (out, pilot->state);
    fputs ("/pilot-%j.log\n", out);
    if (pilot->sbatch_count > 0) {
        fputs ("#SBATCH", out);
        for (int i = 0; i < pilot->sbatch_count; i++) {
            fputc (' ', out);
            put_option (out, pilot->sbatch[i]);
        }
        fputc ('\n', out);
    }
    fputs ("\nstate=", out);
    put_quoted (out, pilot->state);
    fputs ("\nbin=", out);
    put_quoted (out, pilot->bin);
    fputs ("\ndaemon=(--backend slurm-steps --state \"$state\"", out);
    for (int i = 0; i < pilot->daemon_count; i++) {
        fputc (' ', out);
        put_quoted (out, pilot->daemon[i]);
    }
    fputs (")\n", out);
}

static const char chain_text[] =
    "\n"
    "# The next allocation waits until this one ends, whatever its reason.\n"
    "next=$(sbatch --parsable --dependency=\"afterany:$SLURM_JOB_ID\" \"$0\") || next=\n"
    "next=${next%%;*}\n"
    "# Without jobs, or if another polluxd has taken over, the chain ends.\n"
    "end_chain()\n"
    "{\n"
    "    [ $? != 4 ] && [ \"$(cat \"$state/live\" 2>/dev/null)\" != 0 ] || scancel $next\n"
    "}\n"
    "rm -f \"$state/live\"\n"
    "[ -z \"$next\" ] || trap end_chain EXIT\n";

static const char body_text[] =
    "\n"
    "# The address of this node, as Slurm knows it.\n"
    "node=${SLURMD_NODENAME:-$(hostname -s)}\n"
    "address=$(scontrol show node -o \"$node\" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')\n"
    "address=$(getent ahosts \"${address:-$node}\" | awk '{ print $1; exit }')\n"
    "case $address in *:*) address=[$address] ;; esac\n"
    "# Requests to it are encrypted; clients find the certificate in the state directory.\n"
    "case $address in 127.*) ;; *) daemon+=(--tls-self-signed) ;; esac\n"
    "[ \"$(id -u)\" != 0 ] || daemon+=(--allow-root)\n"
    "\n"
    "# If this node fails, the rest of the allocation would wait for the time limit: another node "
    "ends it.\n"
    "guard='while sleep 5; do\n"
    "    nodes=$(squeue -h -j \"$SLURM_JOB_ID\" -t R -o %N) && [ -n \"$nodes\" ] || continue\n"
    "    scontrol show hostnames \"$nodes\" | grep -qx \"$0\" || scancel \"$SLURM_JOB_ID\"\n"
    "done'\n"
    "if [ \"${SLURM_JOB_NUM_NODES:-1}\" -gt 1 ]; then\n"
    "    # Without the variables of this script: srun would read the allocation's options from "
    "them.\n"
    "    env -i PATH=\"$PATH\" ${SLURM_CONF:+SLURM_CONF=\"$SLURM_CONF\"} srun "
    "--jobid=\"$SLURM_JOB_ID\" --overlap -N1 -n1 --relative=1 \\\n"
    "        --job-name=guard --mem=0 --gres=none bash -c \"$guard\" \"$node\" </dev/null &\n"
    "fi\n"
    "\n"
    "# polluxd ends by itself, with 0, before the time limit.  Otherwise it is started again; jobs "
    "go on meanwhile.\n"
    "while :; do\n"
    "    \"$bin/polluxd\" --listen \"$address:0\" \"${daemon[@]}\"\n"
    "    status=$?\n"
    "    case $status in\n"
    "    0) break ;;\n"
    "    2) exit 2 ;; # a wrong option or configuration\n"
    "    4) exit 4 ;; # another polluxd has taken over the state directory\n"
    "    esac\n"
    "    echo \"polluxd ended with status $status: it is started again\"\n"
    "    sleep 1\n"
    "done\n";

static void put_script (FILE *out, const struct pilot *pilot)
{
    put_head (out, pilot);
    if (pilot->chain)
        fputs (chain_text, out);
    fputs (body_text, out);
}

/* ---- Submitting --------------------------------------------------------------------------- */

static int make_state (const char *path, struct pollux_error *err)
{
    char at[PATH_MAX];
    snprintf (at, sizeof (at), "%s", path);
    for (char *slash = strchr (at + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        mkdir (at, 0755); /* the last mkdir reports what is wrong */
        *slash = '/';
    }
    return mkdir (path, 0700) == 0 || errno == EEXIST
               ? 0
               : fail (err, -errno, "%s: %s", file_name (path).text, strerror (errno));
}

/* Run sbatch with the script as its standard input. */
static int submit (const char *script, size_t length, struct pollux_error *err)
{
    int ends[2], status = 0;
    if (pipe2 (ends, O_CLOEXEC) < 0)
        return fail (err, -errno, "no pipe: %s", strerror (errno));
    pid_t child = fork ();
    if (child == 0) {
        dup2 (ends[0], 0);
        execlp ("sbatch", "sbatch", (char *)NULL);
        fprintf (stderr, "pollux slurm-pilot: sbatch: %s\n", strerror (errno));
        _exit (127);
    }
    close (ends[0]);
    for (size_t done = 0; child > 0 && done < length;) { /* a pipe holds all of it: 64 KiB */
        ssize_t wrote = write (ends[1], script + done, length - done);
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    close (ends[1]);
    if (child < 0 || waitpid (child, &status, 0) < 0)
        return fail (err, -errno, "sbatch: %s", strerror (errno));
    return WIFEXITED (status) && WEXITSTATUS (status) == 0
               ? EXIT_OK
               : fail (err, -EREMOTEIO, "sbatch did not take the script");
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct pilot pilot = {.daemon_count = 0};
    char *script = NULL;
    size_t length = 0;
    pilot.sbatch = calloc ((size_t)options->argc + 1, sizeof (pilot.sbatch[0]));
    int code = pilot.sbatch ? parse (options, &pilot, err) : fail (err, -ENOMEM, "no memory");
    if (code == 0)
        code = find_programs (&pilot, err);
    if (code == 0 && pilot.print) {
        put_script (out, &pilot);
    } else if (code == 0) {
        FILE *file = open_memstream (&script, &length);
        if (file)
            put_script (file, &pilot);
        if (!file || fclose (file) != 0)
            code = fail (err, -ENOMEM, "no memory");
        if (code == 0)
            code = make_state (pilot.state, err);
        if (code == 0)
            code = submit (script, length, err);
    }
    free (script);
    free (pilot.sbatch);
    return code;
}

const struct command slurm_pilot_command = {
    .name = "slurm-pilot",
    .operands = "[SBATCH-OPTION]... [-- POLLUXD-OPTION...]",
    .summary = "run polluxd inside an allocation of Slurm",
    .description =
        "Submits a batch script that runs polluxd on the nodes that Slurm gives it. All other "
        "options\n"
        "are those of sbatch: -N4 --gpus-per-node=4 -t 12:00:00. Jobs are submitted with `pollux\n"
        "submit` and the same state directory, also from the login node. polluxd stops all jobs\n"
        "before the time limit; with --chain they continue in the next allocation.",
    .options = pilot_options,
    .option_count = sizeof (pilot_options) / sizeof (pilot_options[0]),
    .run = run,
};
