/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first share of a generation runs mpirun; files in the generation's directory connect it with the other shares:
 *
 *     share.FIRST   "JOBID COUNT NODE": by each share, once
 *     hosts         a line "NODE slots=COUNT" per share, in the order of ranks
 *     agent         a shell script: the step of a node's Slurm job
 *     mpirun        how mpirun ended
 *
 * mpirun finds `hosts` and `agent` in its working directory: it splits the name of an agent at spaces, which the path of the
 * directory may have.
 */
#define _GNU_SOURCE /* environ */
#include "backend/mpirun.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/run_open.h"
#include "backend/supervisor_private.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/safe_dir.h"

/* Between looks for the other shares, and altogether: polluxd gives up a share that Slurm does not start for a minute. */
#define LOOK_NS INT64_C (50000000)
#define SHARES_US (90 * SECOND_US)
/* After the grace of the ranks: SIGTERM to mpirun, and SIGKILL so much later. */
#define END_US (5 * SECOND_US)
enum { SHARE_LIMIT = NAME_SIZE + 40 }; /* bytes of a file share.FIRST */

const char *const mpirun_options[] = {"--oversubscribe",
                                      "--bind-to",
                                      "none",
                                      "--mca",
                                      "orte_abort_on_non_zero_status",
                                      "0",
                                      "--mca",
                                      "orte_allowed_exit_without_sync",
                                      "1",
                                      NULL};

/* ---- Shares ------------------------------------------------------------------------------- */

struct mpi_share {
    int64_t id; /* of its Slurm job */
    int count;  /* of its ranks */
    char node[NAME_SIZE];
};

static bool is_node_name (const char *name)
{
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return *name && *name != '-' && strlen (name) < NAME_SIZE &&
           strspn (name, legal) == strlen (name);
}

int mpirun_publish_share (int root, const struct run_name *name, int count,
                          struct pollux_error *err)
{
    const char *id = getenv ("SLURM_JOB_ID"), *node = getenv ("SLURMD_NODENAME");
    char file[32], text[SHARE_LIMIT];
    int directory;
    if (!id || !*id || strlen (id) > 18 || id[strspn (id, "0123456789")] || !node ||
        !is_node_name (node))
        return fail (err, -EINVAL, "SLURM_JOB_ID or SLURMD_NODENAME is missing: no job of Slurm");
    int code = run_open_generation (root, name->job, name->generation, &directory, err);
    if (code < 0)
        return code;
    snprintf (file, sizeof (file), "share.%d", name->rank);
    int length = snprintf (text, sizeof (text), "%s %d %s\n", id, count, node);
    code = supervisor_write_once (directory, file, text, (size_t)length, err);
    close (directory);
    return code;
}

/* The share that begins with this rank; -ENOENT: it has not begun so far. */
static int read_share (const struct mpirun *mpirun, int rank, struct mpi_share *ret)
{
    char file[32], *text;
    size_t length;
    int directory;
    int code = run_open_generation (mpirun->root, mpirun->name.job, mpirun->name.generation,
                                    &directory, NULL);
    if (code < 0)
        return code;
    snprintf (file, sizeof (file), "share.%d", rank);
    code = safe_dir_read (directory, file, SHARE_LIMIT, &text, &length, NULL);
    close (directory);
    if (code < 0)
        return code;
    struct mpi_share share = {0};
    if (sscanf (text, "%" SCNd64 " %d %63s", &share.id, &share.count, share.node) != 3 ||
        share.id <= 0 || share.count < 1 || share.count > mpirun->world - rank ||
        !is_node_name (share.node))
        code = -EINVAL;
    free (text);
    if (code == 0)
        *ret = share;
    return code;
}

/* Wait until all shares have begun.  *ret is the caller's (free), also after a failure. */
static int find_shares (const struct mpirun *mpirun, struct mpi_share **ret, int *ret_count,
                        struct pollux_error *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t end_us = clock_monotonic_us () + SHARES_US;
    int capacity = 0;
    sigset_t stop;
    supervisor_stop_signals (&stop);
    for (int rank = 0; rank < mpirun->world;) {
        struct mpi_share *shares = array_grow (*ret, *ret_count, &capacity, sizeof (shares[0]));
        if (!shares)
            return fail (err, -ENOMEM, "not enough memory");
        *ret = shares;
        int code = read_share (mpirun, rank, &shares[*ret_count]);
        if (code == 0)
            rank += shares[(*ret_count)++].count;
        else if (clock_monotonic_us () >= end_us)
            return fail (err, code, "the share of rank %d has not begun for %d s", rank,
                         (int)(SHARES_US / SECOND_US));
        else if (sigtimedwait (&stop, NULL, &pause) > 0)
            return fail (err, -ECANCELED, "stopped before it was started");
    }
    return 0;
}

/* ---- Files of mpirun ---------------------------------------------------------------------- */

/* --gres=none: Open MPI's daemon needs no devices; replicas are not its children.  `sh -c`: mpirun gives the words of a
 * command for a remote shell. */
static const char agent_end[] =
    "*) echo \"no share on $1\" >&2; exit 1;;\n"
    "esac\n"
    "shift\n"
    "exec srun --jobid=$job --overlap --nodes=1 --ntasks=1 --mem=0 --gres=none --mpi=none "
    "--cpu-bind=none --input=none sh -c \"$*\"\n";

static int write_file (int directory, const char *name, const struct mpi_share *shares, int count,
                       bool agent, struct pollux_error *err)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream (&text, &length);
    if (!file)
        return fail (err, -ENOMEM, "not enough memory");
    fputs (agent ? "#!/bin/sh\ncase $1 in\n" : "", file);
    for (int i = 0; i < count; i++)
        if (agent)
            fprintf (file, "%s) job=%" PRId64 ";;\n", shares[i].node, shares[i].id);
        else
            fprintf (file, "%s slots=%d\n", shares[i].node, shares[i].count);
    fputs (agent ? agent_end : "", file);
    bool broken = ferror (file);
    int code = fclose (file) != 0 || broken ? fail (err, -ENOMEM, "not enough memory")
                                            : safe_dir_replace (directory, name, text, length, err);
    free (text);
    return code;
}

static int write_files (const struct mpirun *mpirun, struct pollux_error *err)
{
    struct mpi_share *shares = NULL;
    int count = 0, directory;
    int code = find_shares (mpirun, &shares, &count, err);
    if (code == 0)
        code = run_open_generation (mpirun->root, mpirun->name.job, mpirun->name.generation,
                                    &directory, err);
    if (code == 0) {
        code = write_file (directory, "hosts", shares, count, false, err);
        if (code == 0)
            code = write_file (directory, "agent", shares, count, true, err);
        close (directory);
    }
    free (shares);
    return code;
}

/* ---- The process -------------------------------------------------------------------------- */

/* The environment of a rank and SLURM_CONF, for srun.  Other variables of this Slurm job would turn the agent's srun into a
 * step of the wrong job. */
static char **make_environment (const struct run_description *description)
{
    static char slurm_conf[PATH_MAX + 16];
    const char *path = getenv ("SLURM_CONF");
    size_t count = 0;
    while (description->environment && description->environment[count])
        count++;
    char **list = calloc (count + 2, sizeof (char *));
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = description->environment[i];
    if (path && snprintf (slurm_conf, sizeof (slurm_conf), "SLURM_CONF=%s", path) > 0)
        list[count] = slurm_conf;
    return list;
}

static _Noreturn void exec_mpirun (const struct mpirun *mpirun, int parent)
{
    enum { WORDS = 48 };
    static const char *const here[] = {"--leave-session-attached",
                                       "--map-by",
                                       "slot",
                                       "--mca",
                                       "plm",
                                       "rsh",
                                       "--mca",
                                       "plm_rsh_agent",
                                       "sh ./agent",
                                       "--mca",
                                       "plm_rsh_no_tree_spawn",
                                       "1",
                                       "--mca",
                                       "ras",
                                       "^slurm",
                                       "--hostfile",
                                       "hosts",
                                       NULL};
    char world[16], program[PATH_MAX], *words[WORDS];
    int count = 0;
    sigset_t none;
    ssize_t length = readlink ("/proc/self/exe", program, sizeof (program) - 1);
    char **environment = make_environment (mpirun->description);
    if (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid () != parent || length < 0 ||
        !environment || chdir (mpirun->path) < 0)
        _exit (126);
    program[length] = '\0';
    snprintf (world, sizeof (world), "%d", mpirun->world);
    words[count++] = (char *)"mpirun";
    for (const char *const *at = here; *at; at++)
        words[count++] = (char *)*at;
    for (const char *const *at = mpirun_options; *at; at++)
        words[count++] = (char *)*at;
    char *const end[] = {
        (char *)"-np",        world, program, (char *)"exec", (char *)"--mpi", (char *)"--share",
        (char *)mpirun->path, NULL};
    memcpy (&words[count], end, sizeof (end));
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    environ = environment; /* also for PATH */
    execvp (words[0], words);
    _exit (127);
}

/* Its wait status. */
static int wait_for_end (int pid, double grace_s)
{
    int64_t kill_us = INT64_MAX;
    int status, number = SIGTERM;
    sigset_t signals;
    supervisor_signals (&signals);
    while (waitpid (pid, &status, WNOHANG) == 0) {
        int64_t now_us = clock_monotonic_us ();
        if (now_us >= kill_us) {
            kill (pid, number);
            number = SIGKILL;
            kill_us = now_us + END_US;
        }
        struct timespec pause = {.tv_sec = 3600};
        if (kill_us != INT64_MAX)
            pause = (struct timespec){.tv_sec = (kill_us - now_us) / SECOND_US + 1};
        int signal = sigtimedwait (&signals, NULL, &pause);
        if (signal > 0 && signal != SIGCHLD && kill_us == INT64_MAX)
            kill_us = now_us + (int64_t)(grace_s * (double)SECOND_US) + END_US;
    }
    return status;
}

static void write_end (const struct mpirun *mpirun, const char *text)
{
    int directory;
    if (run_open_generation (mpirun->root, mpirun->name.job, mpirun->name.generation, &directory,
                             NULL) < 0)
        return; /* ranks that wait for it give up later */
    safe_dir_replace (directory, RUN_MPIRUN, text, strlen (text), NULL);
    close (directory);
}

int mpirun_run (const struct mpirun *mpirun)
{
    struct pollux_error err = {.text = ""};
    int code = write_files (mpirun, &err), parent = getpid ();
    int pid = code == 0 ? fork () : 0;
    if (code == 0 && pid == 0)
        exec_mpirun (mpirun, parent);
    if (pid < 0)
        fail (&err, -EIO, "cannot start a process: %s", strerror (errno));
    if (pid > 0) {
        int status = wait_for_end (pid, mpirun->description->grace_s);
        fail (&err, 0, "it ended with %s %d", WIFSIGNALED (status) ? "signal" : "exit code",
              WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
    }
    if (code < 0 || pid < 0) /* its own messages are there, too */
        fprintf (stderr, "pollux exec: mpirun: %s\n", err.text);
    write_end (mpirun, err.text);
    return 0;
}
