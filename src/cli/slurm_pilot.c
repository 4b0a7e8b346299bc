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
    if (pilot->chain)
        fputs ("#SBATCH --requeue\n", out); /* else a failure to start the script ends the chain */
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

/* clang-format off */ /* one line of the script in each line */
static const char chain_text[] =
    "\n"
    "# The next allocation waits until this one ends, whatever its reason.  If Slurm has put this one into\n"
    "# its queue again, the next one waits already.\n"
    "next= confirm_pid=\n"
    "find_next()\n"
    "{\n"
    "    local jobs\n"
    "    jobs=$(squeue -h -u \"$(id -u)\" -t PD -o '%i %E %j') || return 1\n"
    "    awk -v after=\"afterany:$SLURM_JOB_ID(\" '\n"
    "        index($2, after) == 1 && substr($0, length($1 $2) + 3) == ENVIRON[\"SLURM_JOB_NAME\"] { print $1 }' <<<\"$jobs\"\n"
    "}\n"
    "queue_next()\n"
    "{\n"
    "    [ -n \"$next\" ] || next=$(find_next | head -n 1)\n"
    "    [ -n \"$next\" ] ||\n"
    "        next=$(sbatch --parsable --dependency=\"afterany:$SLURM_JOB_ID\" \"$0\") || next=\n"
    "    next=${next%%;*}\n"
    "}\n"
    "# Not $next: it may have been submitted again, and Slurm may have given a forgotten number to another job.\n"
    "cancel_next()\n"
    "{\n"
    "    local ids tries=12\n"
    "    until ids=$(find_next) || [ $((tries--)) = 0 ]; do sleep 5; done # Slurm does not answer\n"
    "    [ -z \"$ids\" ] || scancel $ids\n"
    "}\n"
    "# If the controller of Slurm is killed, it forgets what was submitted some seconds before.  A next one\n"
    "# that a person has cancelled is still listed: it is not submitted again.\n"
    "confirm_next()\n"
    "{\n"
    "    local jobs\n"
    "    jobs=$(squeue -h -u \"$(id -u)\" -t all -o '%i %j') || return 1 # by itself it would be 0 in a trap\n"
    "    [ -n \"$next\" ] && grep -qxF \"$next $SLURM_JOB_NAME\" <<<\"$jobs\" && return\n"
    "    echo 'Slurm does not know the next allocation: it is submitted again'\n"
    "    next=\n"
    "    queue_next\n"
    "    false\n"
    "}\n"
    "# At the end, when Slurm may not answer for a while: until it does, or kills this script.\n"
    "keep_next()\n"
    "{\n"
    "    local tries=30\n"
    "    until confirm_next || [ $((tries--)) = 0 ]; do sleep 2; done\n"
    "}\n"
    "begin_chain()\n"
    "{\n"
    "    queue_next\n"
    "    until sleep 20 && confirm_next; do :; done &\n"
    "    confirm_pid=$!\n"
    "}\n";

static const char no_chain_text[] =
    "\n"
    "next= confirm_pid=\n"
    "queue_next() { :; }\n"
    "keep_next() { :; }\n"
    "cancel_next() { :; }\n"
    "begin_chain() { :; }\n";

/* STATE/live has "running" from the moment when polluxd answers, and at its end the number of jobs that are
 * left. */
static const char end_text[] =
    "\n"
    "# The chain ends without jobs (live is 0), if another polluxd has taken over (4), and if\n"
    "# polluxd cannot start.\n"
    "cannot_start= guard_pid=\n"
    "end()\n"
    "{\n"
    "    local status=$?\n"
    "    [ -z \"$guard_pid\" ] || { kill \"$guard_pid\" && wait \"$guard_pid\"; } 2>/dev/null\n"
    "    # It ended with 0 if it had found the next allocation, not if Slurm or this line has ended it.\n"
    "    { kill \"$confirm_pid\"; wait \"$confirm_pid\"; } 2>/dev/null\n"
    "    local confirmed=$?\n"
    "    if [ $status = 4 ] || [ -n \"$cannot_start\" ] ||\n"
    "        [ \"$(cat \"$state/live\" 2>/dev/null)\" = 0 ]; then\n"
    "        cancel_next\n"
    "    elif [ $confirmed != 0 ] || [ -z \"$next\" ]; then\n"
    "        keep_next\n"
    "    fi\n"
    "}\n"
    "fail() # STATUS SENTENCE\n"
    "{\n"
    "    echo \"pollux slurm-pilot: $2\" >&2\n"
    "    cannot_start=1\n"
    "    exit \"$1\"\n"
    "}\n"
    "trap end EXIT\n"
    "begin_chain\n"
    "rm -f \"$state/live\"\n"
    "node=${SLURMD_NODENAME:-$(hostname -s)}\n";

static const char address_text[] =
    "\n"
    "# The address of this node: as Slurm knows it, else as the name service does.  A host may call\n"
    "# itself 127.0.1.1, which others do not reach.  A loopback address is right if Slurm itself uses\n"
    "# it, or if there is no other machine.\n"
    "is_loopback() { case $1 in 127.* | ::1 | localhost | ip6-localhost) ;; *) false ;; esac; }\n"
    "known=$(scontrol show node -o \"$node\" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')\n"
    "loopback=\n"
    "if is_loopback \"$known\" ||\n"
    "    { [ \"${SLURM_JOB_NUM_NODES:-1}\" = 1 ] && [ \"$SLURM_SUBMIT_HOST\" = \"$(hostname)\" ]; }; then\n"
    "    loopback=1\n"
    "fi\n"
    "addresses() { getent \"${@:2}\" ahosts \"$1\" | awk '!seen[$1]++ { print $1 }'; }\n"
    "find_address() # NAME GETENT-OPTION...\n"
    "{\n"
    "    for address in $(addresses \"$@\"); do\n"
    "        [ -z \"$loopback\" ] && is_loopback \"$address\" || return 0\n"
    "    done\n"
    "    return 1\n"
    "}\n"
    "name=${known:-$node}\n"
    "if ! find_address \"$name\" && ! find_address \"$(hostname)\" && ! find_address \"$name\" -s dns; then\n"
    "    fail 2 \"other machines reach no known address of $node ($name is $(addresses \"$name\" | xargs)):\n"
    "    correct its /etc/hosts, or name an address: pollux slurm-pilot ... -- --listen ADDRESS:PORT\"\n"
    "fi\n"
    "case $address in *:*) address=[$address] ;; esac\n"
    "listen=$address:0\n"
    "daemon+=(--listen \"$listen\")\n";

static const char tls_text[] =
    "# Requests to it are encrypted; clients find the certificate in the state directory.\n"
    "case $listen in\n"
    "127.* | '[::1]:'* | localhost:* | unix:*) ;;\n"
    "*) daemon+=(--tls-self-signed) ;;\n"
    "esac\n";

static const char body_text[] =
    "[ \"$(id -u)\" != 0 ] || daemon+=(--allow-root)\n"
    "\n"
    "# If this node fails, the rest of the allocation would wait for the time limit: another node ends\n"
    "# it.  All others watch, because each of them may fail, too; one after the other, so that Slurm\n"
    "# gets one query in 5 s.\n"
    "guard='pause=$((5 * (SLURM_PROCID + 1)))\n"
    "while sleep $pause; do\n"
    "    pause=$((5 * SLURM_NTASKS))\n"
    "    nodes=$(squeue -h -j \"$SLURM_JOB_ID\" -t R -o %N) && [ -n \"$nodes\" ] || continue\n"
    "    scontrol show hostnames \"$nodes\" | grep -qx \"$0\" || scancel \"$SLURM_JOB_ID\"\n"
    "done'\n"
    "guard_all()\n"
    "{\n"
    "    local nodes\n"
    "    while :; do\n"
    "        nodes=$(squeue -h -j \"$SLURM_JOB_ID\" -o %N)\n"
    "        nodes=$(scontrol show hostnames \"$nodes\" | grep -vx \"$node\" | paste -sd ,)\n"
    "        set -- ${nodes//,/ }\n"
    "        # Without the variables of this script: srun would read the allocation's options from them.\n"
    "        [ $# = 0 ] || env -i PATH=\"$PATH\" ${SLURM_CONF:+SLURM_CONF=\"$SLURM_CONF\"} \\\n"
    "            srun --jobid=\"$SLURM_JOB_ID\" --overlap --no-kill --wait=0 --kill-on-bad-exit=0 \\\n"
    "            -N$# -n$# --nodelist=\"$nodes\" --job-name=guard --mem=0 --gres=none \\\n"
    "            bash -c \"$guard\" \"$node\" </dev/null\n"
    "        sleep 5\n"
    "    done\n"
    "}\n"
    "if [ \"${SLURM_JOB_NUM_NODES:-1}\" -gt 1 ]; then\n"
    "    guard_all &\n"
    "    guard_pid=$!\n"
    "fi\n"
    "\n"
    "# polluxd ends by itself, with 0, before the time limit.  Otherwise it is started again; jobs go on\n"
    "# meanwhile.  One that has never answered is started five times.\n"
    "tries=0\n"
    "while :; do\n"
    "    \"$bin/polluxd\" \"${daemon[@]}\"\n"
    "    status=$?\n"
    "    case $status in\n"
    "    0) break ;;\n"
    "    2) fail 2 'polluxd does not take its options or its configuration' ;;\n"
    "    4) exit 4 ;; # another polluxd has taken over the state directory\n"
    "    esac\n"
    "    pause=1\n"
    "    if [ ! -e \"$state/live\" ]; then\n"
    "        pause=$((++tries))\n"
    "        [ $tries -lt 5 ] || fail 1 \"polluxd ended $tries times before it answered\"\n"
    "    fi\n"
    "    echo \"polluxd ended with status $status: it is started again\"\n"
    "    queue_next\n"
    "    sleep $pause\n"
    "done\n";

/* clang-format on */

/* The first value of an option for polluxd; NULL: it is not given. */
static const char *find_daemon_option (const struct pilot *pilot, const char *name)
{
    size_t length = strlen (name);
    for (int i = 0; i < pilot->daemon_count; i++) {
        const char *word = pilot->daemon[i];
        if (strncmp (word, name, length) != 0)
            continue;
        if (word[length] == '=')
            return word + length + 1;
        if (word[length] == '\0' && i + 1 < pilot->daemon_count)
            return pilot->daemon[i + 1];
    }
    return NULL;
}

static void put_script (FILE *out, const struct pilot *pilot)
{
    const char *listen = find_daemon_option (pilot, "--listen");
    put_head (out, pilot);
    fputs (pilot->chain ? chain_text : no_chain_text, out);
    fputs (end_text, out);
    if (listen) { /* the first address is that of clients and jobs */
        fputs ("\nlisten=", out);
        put_quoted (out, listen);
        fputc ('\n', out);
    } else {
        fputs (address_text, out);
    }
    if (!find_daemon_option (pilot, "--tls-cert"))
        fputs (tls_text, out);
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
    COMMAND_OPTIONS (pilot_options),
    .run = run,
};
