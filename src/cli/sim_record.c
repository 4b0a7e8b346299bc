/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each simulation opens its journal when it begins and closes it when it ends, in its own thread:
 * thousands of simulations need a few open files only.  An outcome takes the same events, so a
 * report needs no journal.
 */
#define _GNU_SOURCE /* asprintf */
#include "cli/sim_record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "store/store.h"

/* One simulation. */
struct kept {
    const struct sim_record *record;
    const char *workload;
    char *path; /* of its journal; NULL: none */
    struct store *store;
    struct journal journal;
    struct outcome *outcome; /* NULL: none */
};

struct sim_record {
    const char *command;
    struct kept *kept;
    struct outcome *outcomes;
    int count;
};

/* ---- One simulation ----------------------------------------------------------------------- */

static int append (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err)
{
    struct kept *kept = self;
    int code = kept->store ? kept->journal.append (kept->journal.self, cluster, event, err) : 0;
    if (code == 0 && kept->outcome)
        code = outcome_take (kept->outcome, event, err);
    return code;
}

static int prepare (struct sim_task *task, struct pollux_error *err)
{
    struct kept *kept = task->self;
    int code = 0;
    if (kept->path)
        code = store_open (kept->path, STORE_RECORD, &kept->store, err);
    if (code == 0 && kept->store)
        kept->journal = store_journal (kept->store);
    if (code == 0 && kept->outcome)
        code = outcome_start (kept->outcome, kept->path ? kept->path : "", err);
    task->config.journal = (struct journal){.append = append, .self = kept};
    return code;
}

/* How it was made, and the fairness of its jobs. */
static int recording_of (const struct kept *kept, const struct sim_task *task,
                         struct recording *ret, struct pollux_error *err)
{
    int count = task->result.job_count;
    struct recording recording = {.made_s = (double)clock_wall_us () * 1e-6};
    snprintf (recording.workload, sizeof (recording.workload), "%s", kept->workload);
    recording.command = strdup (kept->record->command);
    recording.rhos = calloc ((size_t)count + 1, sizeof (recording.rhos[0]));
    if (!recording.command || !recording.rhos) {
        recording_clear (&recording);
        return fail (err, -ENOMEM, "no memory for the fairness of %d jobs", count);
    }
    for (int i = 0; i < count; i++) {
        double rho = task->result.jobs[i].rho;
        struct recorded_rho *next = &recording.rhos[recording.rho_count];
        if (!(rho > 0 && isfinite (rho)))
            continue;
        memcpy (next->job, task->workload->jobs[i].name, sizeof (next->job));
        next->rho = rho;
        recording.rho_count++;
    }
    *ret = recording;
    return 0;
}

/* Without rho, if there are too many jobs. */
static int write_recording (struct store *store, const struct recording *recording,
                            struct pollux_error *err)
{
    struct wire_text_buffer text = {0};
    int code = wire_recording_encode (recording, &text, err);
    if (code == -EFBIG) {
        struct recording short_one = *recording;
        short_one.rho_count = 0;
        code = wire_recording_encode (&short_one, &text, err);
    }
    if (code == 0)
        code = store_write_recording (store, text.text, text.length, err);
    wire_text_buffer_clear (&text);
    return code;
}

static int finish (struct sim_task *task, struct pollux_error *err)
{
    struct kept *kept = task->self;
    struct recording recording = {.made_s = NAN};
    int code = task->rc == 0 ? recording_of (kept, task, &recording, err) : 0;
    if (code == 0 && task->rc == 0 && kept->store)
        code = write_recording (kept->store, &recording, err);
    int closed = store_close (kept->store, code == 0 ? err : NULL);
    code = code == 0 ? closed : code;
    if (code == 0 && task->rc == 0 && kept->outcome)
        code = outcome_finish (kept->outcome, &recording, err);
    recording_clear (&recording);
    return code;
}

/* ---- All ---------------------------------------------------------------------------------- */

void sim_record_free (struct sim_record *record)
{
    if (!record)
        return;
    for (int i = 0; i < record->count; i++) {
        free (record->kept[i].path);
        if (record->outcomes)
            outcome_clear (&record->outcomes[i]);
    }
    free (record->kept);
    free (record->outcomes);
    free (record);
}

/* A name that ends in .db is one journal, unless there is a folder of that name. */
static bool is_file (const char *path)
{
    struct stat status;
    size_t length = strlen (path);
    bool folder = stat (path, &status) == 0 && S_ISDIR (status.st_mode);
    return !folder && length > 3 && strcmp (path + length - 3, ".db") == 0;
}

static int make_folder (const char *path, struct pollux_error *err)
{
    struct stat status;
    int code = mkdir (path, 0777) == 0 ? 0 : errno;
    if (code == 0 || (stat (path, &status) == 0 && S_ISDIR (status.st_mode)))
        return 0;
    if (code == EEXIST)
        return fail (err, -ENOTDIR, "%s: expected a folder, or the name of a journal, FILE.db",
                     file_name (path).text);
    return fail (err, -code, "%s: cannot make the folder: %s", file_name (path).text,
                 strerror (code));
}

/* "pollux-band-0.35-0.65" of "pollux band:0.35,0.65", for names of files. */
static void file_label (const char *name, char *ret, size_t size)
{
    snprintf (ret, size, "%s", name);
    for (char *at = ret; *at; at++)
        if (strchr (" :,", *at))
            *at = '-';
}

static int set_path (struct kept *kept, const struct sim_task *task, const char *path,
                     struct pollux_error *err)
{
    struct stat status;
    char label[2 * NAME_SIZE];
    file_label (task->name ? task->name : task->policy->name, label, sizeof (label));
    int length = is_file (path)
                     ? asprintf (&kept->path, "%s", path)
                     : asprintf (&kept->path, "%s/%s-%s.db", path, label, kept->workload);
    if (length < 0) {
        kept->path = NULL;
        return fail (err, -ENOMEM, "no memory for the names of journals");
    }
    if (lstat (kept->path, &status) == 0)
        return fail (err, -EEXIST, "%s: there is a file of that name; choose another, or remove it",
                     file_name (kept->path).text);
    return 0;
}

static int set_paths (struct sim_record *record, const struct simulations *simulations,
                      const char *path, struct pollux_error *err)
{
    if (is_file (path) && record->count != 1)
        return fail (err, -EINVAL,
                     "--record takes one workload and one policy with a file, not %d simulations; "
                     "name a folder",
                     record->count);
    int code = 0;
    for (int i = 0; code == 0 && i < record->count; i++)
        code = set_path (&record->kept[i], &simulations->tasks[i], path, err);
    return code == 0 && !is_file (path) ? make_folder (path, err) : code;
}

int sim_record_new (const struct sim_record_options *options, const struct sim_inputs *inputs,
                    struct simulations *simulations, struct sim_record **ret,
                    struct pollux_error *err)
{
    size_t count = (size_t)simulations->count;
    struct sim_record *record = calloc (1, sizeof (*record));
    if (!record)
        return fail (err, -ENOMEM, "no memory to record simulations");
    record->command = options->command;
    record->kept = calloc (count, sizeof (record->kept[0]));
    record->outcomes = options->outcomes ? calloc (count, sizeof (record->outcomes[0])) : NULL;
    int code = 0;
    if (!record->kept || (options->outcomes && !record->outcomes))
        code = fail (err, -ENOMEM, "no memory to record %zu simulations", count);
    record->count = code == 0 ? (int)count : 0;
    for (int i = 0; i < record->count; i++) {
        struct sim_task *task = &simulations->tasks[i];
        struct kept *kept = &record->kept[i];
        kept->record = record;
        kept->workload = inputs->workloads[i % inputs->count].name;
        kept->outcome = record->outcomes ? &record->outcomes[i] : NULL;
        task->prepare = prepare;
        task->finish = finish;
        task->self = kept;
    }
    if (code == 0 && options->path)
        code = set_paths (record, simulations, options->path, err);
    if (code == 0)
        *ret = record;
    else
        sim_record_free (record);
    return code;
}

const struct outcome *sim_record_outcomes (const struct sim_record *record)
{
    return record->outcomes;
}
