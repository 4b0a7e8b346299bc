/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines for shares.  Values are joined to their options with '=', so that none is read as an
 * option.  A share is never spread, requeued or killed for the exit code of one replica: Pollux decides that.
 */
#define _GNU_SOURCE
#include "backend/slurm/submission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "cluster/node.h"
#include "wire/submission.h"

/* A job's name, two numbers and two dots; Linux' longest path; a comment for people. */
enum { STEP_NAME_LIMIT = 128, PATH_LIMIT = 4095, TEXT_LIMIT = 1024 };

/* ---- Checks ------------------------------------------------------------------------------- */

static int check_text (const char *what, const char *text, size_t limit, struct pollux_error *err)
{
    if (!text)
        return 0;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return fail (err, -EINVAL, "Slurm %s %s: control characters are not allowed", what,
                         quote (text).text);
    if (strlen (text) > limit)
        return fail (err, -EINVAL, "Slurm %s %s: at most %zu bytes are allowed", what,
                     quote (text).text, limit);
    return 0;
}

static int check_path (const char *what, const char *path, struct pollux_error *err)
{
    if (!path || path[0] != '/')
        return fail (err, -EINVAL, "Slurm %s: expected an absolute path, got %s", what,
                     quote (path ? path : "").text);
    return check_text (what, path, PATH_LIMIT, err);
}

static int check_name (const char *what, const char *name, size_t limit, struct pollux_error *err)
{
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!name || !name[0] || name[0] == '-' || name[0] == '.' ||
        strspn (name, legal) != strlen (name) || strlen (name) > limit)
        return fail (err, -EINVAL,
                     "Slurm %s %s: expected 1 to %zu letters, digits, '.', '_' or '-'", what,
                     quote (name ? name : "").text, limit);
    return 0;
}

static int check_share (const struct slurm_share *share, bool node, struct pollux_error *err)
{
    int code = check_name ("job name", share->name, STEP_NAME_LIMIT, err);
    if (code == 0 && node)
        code = check_name ("node", share->node, NAME_SIZE - 1, err);
    if (code == 0)
        code = check_path ("program", share->pollux, err);
    if (code == 0)
        code = check_path ("generation directory", share->directory, err);
    if (code == 0 && share->gres && *share->gres)
        code = check_name ("resource", share->gres, NAME_SIZE - 1, err);
    if (code == 0 && share->gres_type && *share->gres_type)
        code = check_name ("resource type", share->gres_type, NAME_SIZE - 1, err);
    if (code == 0 &&
        (share->first < 0 || share->count < 1 || share->gres_count < 0 || share->cpus < 0 ||
         share->mpi_ranks < 0 || share->memory_mb < 0 || share->time_limit_min < 0))
        code = fail (err, -EINVAL, "Slurm job %s: a number is negative", share->name);
    return code;
}

/* ---- Words -------------------------------------------------------------------------------- */

static void add_gres (struct words *words, const struct slurm_share *share)
{
    const char *name = share->gres && *share->gres ? share->gres : "gpu";
    if (share->gres_count == 0)
        words_add (words, "--gres=none");
    else if (share->gres_type && *share->gres_type)
        words_add (words, "--gres=%s:%s:%d", name, share->gres_type, share->gres_count);
    else
        words_add (words, "--gres=%s:%d", name, share->gres_count);
}

static void add_text (struct words *words, const char *option, const char *value)
{
    if (value && *value)
        words_add (words, "%s=%s", option, value);
}

static int finish (struct words *words, struct words *ret, struct pollux_error *err)
{
    if (words_check (words) < 0)
        return fail (err, -ENOMEM, "not enough memory");
    *ret = *words;
    return 0;
}

/* What all steps have.  --overlap: steps share CPUs, memory and GRES of the allocation; Pollux divides
 * them.  No number of CPUs: srun would refuse one that is larger than the allocation's on the node, and
 * restrict the step to it.  --mem=0: no memory of its own, as much as the allocation has. */
static void begin_step (struct words *words, const struct slurm_share *share)
{
    words_add (words, "srun");
    words_add (words, "--jobid=%lld", (long long)share->allocation);
    words_add (words, "--overlap");
    words_add (words, "--job-name=%s", share->name);
    words_add (words, "--kill-on-bad-exit=0");
    words_add (words, "--cpu-bind=none");
    words_add (words, "--mem=0");
    words_add (words, "--input=none");
    add_gres (words, share);
}

int slurm_srun_share (const struct slurm_share *share, struct words *ret, struct pollux_error *err)
{
    struct words words = {.count = 0};
    int code = check_share (share, true, err);
    if (code < 0)
        return code;
    if (share->allocation <= 0)
        return fail (err, -EINVAL, "Slurm step %s: no job id of an allocation", share->name);
    begin_step (&words, share);
    words_add (&words, "--mpi=none");
    words_add (&words, "--nodes=1");
    words_add (&words, "--ntasks=1");
    words_add (&words, "--nodelist=%s", share->node);
    words_add (&words, "%s", share->pollux);
    words_add (&words, "exec");
    words_add (&words, "--share=%s", share->directory);
    words_add (&words, "--first=%d", share->first);
    words_add (&words, "--count=%d", share->count);
    return finish (&words, ret, err);
}

int slurm_srun_mpi (const struct slurm_share *share, int nodes, struct words *ret,
                    struct pollux_error *err)
{
    struct words words = {.count = 0};
    int code = check_share (share, false, err);
    if (code < 0)
        return code;
    if (share->allocation <= 0 || nodes < 1 || nodes > share->count)
        return fail (err, -EINVAL, "Slurm step %s: no allocation, or %d nodes for %d ranks",
                     share->name, nodes, share->count);
    begin_step (&words, share);
    words_add (&words, "--mpi=pmix");
    words_add (&words, "--overcommit"); /* more ranks than CPUs of the allocation are allowed */
    words_add (&words, "--distribution=arbitrary");
    words_add (&words, "--nodes=%d", nodes);
    words_add (&words, "--ntasks=%d", share->count);
    words_add (&words, "%s", share->pollux);
    words_add (&words, "exec");
    words_add (&words, "--mpi");
    words_add (&words, "--run=%s", share->directory);
    return finish (&words, ret, err);
}

/* In names of output files Slurm replaces %j and the like. */
static void add_output (struct words *words, const char *path)
{
    char *escaped = malloc (2 * strlen (path) + 1), *to = escaped;
    if (!escaped) {
        words->failed = true;
        return;
    }
    for (const char *at = path; *at; at++) {
        if (*at == '%')
            *to++ = '%';
        *to++ = *at;
    }
    *to = '\0';
    words_add (words, "--output=%s", escaped);
    free (escaped);
}

static int check_sbatch (const struct slurm_share *share, struct pollux_error *err)
{
    const struct {
        const char *what, *text;
    } texts[] = {{"comment", share->comment},
                 {"account", share->account},
                 {"QOS", share->qos},
                 {"partition", share->partition},
                 {"reservation", share->reservation}};
    int code = check_share (share, true, err);
    for (size_t i = 0; code == 0 && i < sizeof (texts) / sizeof (texts[0]); i++)
        code = check_text (texts[i].what, texts[i].text, TEXT_LIMIT, err);
    if (code == 0 && share->output)
        code = check_path ("output file", share->output, err);
    if (code == 0 && share->output && strchr (share->output, '\\'))
        code = fail (err, -EINVAL, "Slurm output file %s: Slurm does not take a backslash",
                     quote (share->output).text);
    return code;
}

static int make_script (const struct slurm_share *share, char **ret)
{
    char *pollux = slurm_shell_quote (share->pollux);
    char *directory = slurm_shell_quote (share->directory);
    char mpirun[32] = "";
    if (share->mpi_ranks > 0)
        snprintf (mpirun, sizeof (mpirun), " --mpirun=%d", share->mpi_ranks);
    /* exec: signals to the batch script reach the command itself. */
    int length =
        pollux && directory
            ? asprintf (ret, "#!/bin/sh\nexec %s exec --share=%s --first=%d --count=%d%s\n", pollux,
                        directory, share->first, share->count, mpirun)
            : -1;
    free (pollux);
    free (directory);
    return length < 0 ? -ENOMEM : 0;
}

int slurm_sbatch_share (const struct slurm_share *share, struct words *ret, char **ret_script,
                        struct pollux_error *err)
{
    struct words words = {.count = 0};
    int code = check_sbatch (share, err);
    if (code < 0)
        return code;
    words_add (&words, "sbatch");
    words_add (&words, "--parsable");
    words_add (&words, "--job-name=%s", share->name);
    add_text (&words, "--comment", share->comment);
    words_add (&words, "--nodes=1");
    words_add (&words, "--ntasks=1");
    words_add (&words, "--nodelist=%s", share->node);
    if (share->gres_count > 0)
        add_gres (&words, share);
    if (share->cpus > 0)
        words_add (&words, "--cpus-per-task=%d", share->cpus);
    if (share->memory_mb > 0)
        words_add (&words, "--mem=%lldM", (long long)share->memory_mb);
    if (share->time_limit_min > 0)
        words_add (&words, "--time=%d", share->time_limit_min);
    add_text (&words, "--account", share->account);
    add_text (&words, "--qos", share->qos);
    add_text (&words, "--partition", share->partition);
    add_text (&words, "--reservation", share->reservation);
    words_add (&words, "--no-requeue");
    words_add (&words, "--export=ALL"); /* the environment of sbatch is small already */
    words_add (&words, "--chdir=/");
    words_add (&words, "--input=/dev/null");
    words_add (&words, "--open-mode=append");
    add_output (&words, share->output ? share->output : "/dev/null");
    code = finish (&words, ret, err);
    if (code == 0 && make_script (share, ret_script) < 0) {
        words_clear (ret);
        code = fail (err, -ENOMEM, "not enough memory");
    }
    return code;
}

int slurm_hostfile (const char *const *nodes, const int *replicas, int count, char **ret,
                    struct pollux_error *err)
{
    char *text = NULL;
    size_t length;
    int code = 0;
    FILE *file = open_memstream (&text, &length);
    if (!file)
        return fail (err, -ENOMEM, "not enough memory");
    for (int i = 0; code == 0 && i < count; i++) {
        code = check_name ("node", nodes[i], NAME_SIZE - 1, err);
        for (int j = 0; code == 0 && j < replicas[i]; j++)
            fprintf (file, "%s\n", nodes[i]);
    }
    bool broken = ferror (file);
    if ((fclose (file) != 0 || broken) && code == 0)
        code = fail (err, -ENOMEM, "not enough memory");
    if (code < 0)
        free (text);
    else
        *ret = text;
    return code;
}

/* ---- Messages of sbatch ------------------------------------------------------------------- */

/* What follows "Batch job submission failed: " is a constant text of Slurm, or of the C library. */
static bool is_unreachable (const char *sentence)
{
    static const char *const sentences[] = {
        "Unable to contact slurm controller",
        "Slurm backup controller in standby mode",
        "Slurm temporarily unable to accept job",
        "Socket timed out on send/recv operation",
        "Zero Bytes were transmitted or received",
        "Communication connection failure",
        "Communication shutdown failure",
        "Message receive failure",
        "Message send failure",
        "Transport endpoint is not connected",
        "Protocol authentication error",
        "Connection refused",
        "Connection reset by peer",
        "Connection timed out",
        "No route to host",
        "Network is unreachable",
    };
    for (size_t i = 0; i < sizeof (sentences) / sizeof (sentences[0]); i++)
        if (strncmp (sentence, sentences[i], strlen (sentences[i])) == 0)
            return true;
    return false;
}

bool slurm_sbatch_unreachable (const char *messages)
{
    static const char error[] = "sbatch: error: ", failed[] = "Batch job submission failed: ";
    static const char source[] = "sbatch: fatal: Could not establish a configuration source";
    for (const char *line = messages, *next; line; line = next) {
        const char *end = strchr (line, '\n');
        next = end ? end + 1 : NULL;
        if (strncmp (line, source, strlen (source)) == 0)
            return true;
        if (strncmp (line, error, strlen (error)) != 0)
            continue;
        const char *sentence = line + strlen (error);
        if (strncmp (sentence, failed, strlen (failed)) == 0)
            sentence += strlen (failed);
        if (is_unreachable (sentence))
            return true;
    }
    return false;
}

/* ---- Stopping ----------------------------------------------------------------------------- */

static void begin_scancel (struct words *words, const char *signal)
{
    words_add (words, "scancel");
    if (signal)
        words_add (words, "--signal=%s", signal);
}

int slurm_scancel_job (int64_t id, const char *signal, struct words *ret)
{
    struct words words = {.count = 0};
    begin_scancel (&words, signal);
    if (signal)
        words_add (&words, "--batch"); /* without it a signal reaches only steps */
    words_add (&words, "%lld", (long long)id);
    int code = words_check (&words);
    if (code == 0)
        *ret = words;
    return code;
}

int slurm_scancel_step (int64_t id, const char *step, const char *signal, struct words *ret)
{
    struct words words = {.count = 0};
    begin_scancel (&words, signal);
    words_add (&words, "%lld.%s", (long long)id, step);
    int code = words_check (&words);
    if (code == 0)
        *ret = words;
    return code;
}

char *slurm_shell_quote (const char *text)
{
    size_t length = 2;
    for (const char *at = text; *at; at++)
        length += *at == '\'' ? 4 : 1;
    char *quoted = malloc (length + 1), *to = quoted;
    if (!quoted)
        return NULL;
    *to++ = '\'';
    for (const char *at = text; *at; at++)
        to = *at == '\'' ? stpcpy (to, "'\\''") : (*to = *at, to + 1);
    *to++ = '\'';
    *to = '\0';
    return quoted;
}
