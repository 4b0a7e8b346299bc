/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load ground truth and workloads from the paths of a command line.
 */
#include "cli/sim_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "sim/workload_generate.h"

void sim_inputs_clear (struct sim_inputs *inputs)
{
    for (int i = 0; i < inputs->count; i++)
        workload_clear (&inputs->workloads[i].workload);
    free (inputs->workloads);
    ground_truth_free (inputs->truth);
    *inputs = (struct sim_inputs){0};
}

/* Append an empty workload with its name; NULL on failure. */
static struct sim_workload *add_workload (struct sim_inputs *inputs, const char *name,
                                          size_t length, struct pollux_error *err)
{
    if (length == 0 || length >= NAME_SIZE) {
        fail (err, -EINVAL, "workload '%.*s': expected a file name of 1 to %d bytes",
              (int)(length < 80 ? length : 80), name, NAME_SIZE - 1);
        return NULL;
    }
    for (int i = 0; i < inputs->count; i++)
        if (strncmp (inputs->workloads[i].name, name, length) == 0 &&
            inputs->workloads[i].name[length] == '\0') {
            fail (err, -EINVAL, "workload '%s' is named twice; results need different names",
                  inputs->workloads[i].name);
            return NULL;
        }
    if (inputs->count == SIM_INPUTS_WORKLOADS_LIMIT) {
        fail (err, -EINVAL, "more than %d workloads", SIM_INPUTS_WORKLOADS_LIMIT);
        return NULL;
    }
    struct sim_workload *workloads =
        realloc (inputs->workloads, (size_t)(inputs->count + 1) * sizeof (workloads[0]));
    if (!workloads) {
        fail (err, -ENOMEM, "no memory for %d workloads", inputs->count + 1);
        return NULL;
    }
    inputs->workloads = workloads;
    struct sim_workload *added = &workloads[inputs->count];
    *added = (struct sim_workload){0};
    memcpy (added->name, name, length);
    return added;
}

static int load_file (struct sim_inputs *inputs, const char *path, struct pollux_error *err)
{
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen (name);
    if (length > 4 && strcmp (name + length - 4, ".csv") == 0)
        length -= 4;
    struct sim_workload *added = add_workload (inputs, name, length, err);
    if (!added)
        return -EINVAL;
    int rc = workload_read (path, inputs->truth, &added->workload, err);
    if (rc == 0)
        inputs->count++;
    return rc;
}

static int is_csv (const struct dirent *entry)
{
    size_t length = strlen (entry->d_name);
    return length > 4 && entry->d_name[0] != '.' &&
           strcmp (entry->d_name + length - 4, ".csv") == 0;
}

static int load_folder (struct sim_inputs *inputs, const char *path, struct pollux_error *err)
{
    struct dirent **entries;
    int count = scandir (path, &entries, is_csv, alphasort);
    if (count < 0)
        return fail (err, -errno, "%s: %s", file_name (path).text, strerror (errno));
    int rc = count == 0 ? fail (err, -EINVAL, "%s: no workload (*.csv) in this folder",
                                file_name (path).text)
                        : 0;
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        if (rc == 0 &&
            snprintf (file, sizeof (file), "%s/%s", path, entries[i]->d_name) >= PATH_MAX)
            rc = fail (err, -ENAMETOOLONG, "%s: the path is too long", file_name (path).text);
        if (rc == 0)
            rc = load_file (inputs, file, err);
        free (entries[i]);
    }
    free (entries);
    return rc;
}

static int load_operand (struct sim_inputs *inputs, const char *path, struct pollux_error *err)
{
    struct stat status;
    bool folder = stat (path, &status) == 0 && S_ISDIR (status.st_mode);
    return folder ? load_folder (inputs, path, err) : load_file (inputs, path, err);
}

static int load_builtin (struct sim_inputs *inputs, struct pollux_error *err)
{
    struct sim_workload *added = add_workload (inputs, "built-in", strlen ("built-in"), err);
    if (!added)
        return -ENOMEM;
    int rc = workload_generate (inputs->truth, NULL, &added->workload, err);
    if (rc == 0)
        inputs->count++;
    return rc;
}

static bool is_used (const struct sim_inputs *inputs, const struct app *app)
{
    for (int i = 0; i < inputs->count; i++) {
        const struct workload *workload = &inputs->workloads[i].workload;
        for (int job = 0; job < workload->count; job++)
            if (workload->jobs[job].app == app)
                return true;
    }
    return false;
}

/* Triangulate the measurements of all used applications now, on all processors. */
static int prepare (const struct sim_inputs *inputs, struct pollux_error *err)
{
    int count = ground_truth_count (inputs->truth);
    bool *wanted = calloc ((size_t)count, sizeof (wanted[0]));
    if (!wanted)
        return fail (err, -ENOMEM, "no memory for %d applications", count);
    for (int i = 0; i < count; i++)
        wanted[i] = is_used (inputs, ground_truth_at (inputs->truth, i));
    int rc = ground_truth_prepare (inputs->truth, wanted, err);
    free (wanted);
    return rc;
}

int sim_inputs_load (struct sim_input_files files, char *const *operands, int count,
                     struct sim_inputs *ret, struct pollux_error *err)
{
    struct sim_inputs inputs = {0};
    int rc = files.traces_dir ? ground_truth_from_traces (files.traces_dir, &inputs.truth, err)
                              : ground_truth_from_profiles (files.profiles, &inputs.truth, err);
    for (int i = 0; i < count && rc == 0; i++)
        rc = load_operand (&inputs, operands[i], err);
    if (rc == 0 && count == 0)
        rc = load_builtin (&inputs, err);
    if (rc == 0)
        rc = prepare (&inputs, err);
    if (rc == 0)
        *ret = inputs;
    else
        sim_inputs_clear (&inputs);
    return rc;
}

/* Add a name to a list, unless the list has it. */
static void add_name (char *list, size_t size, const char *name)
{
    char item[NAME_SIZE + 4], all[512];
    snprintf (item, sizeof (item), " %s,", name);
    snprintf (all, sizeof (all), " %s,", list);
    if (strstr (all, item))
        return;
    size_t length = strlen (list);
    snprintf (list + length, size - length, "%s%s", length > 0 ? ", " : "", name);
}

/* Whether one of the used applications runs on nodes of that type; types: the types that they have step times on. */
static bool runs_on (const struct sim_inputs *inputs, const char *type, char *types, size_t size)
{
    bool runs = false;
    for (int i = 0; i < ground_truth_count (inputs->truth); i++) {
        const struct app *app = ground_truth_at (inputs->truth, i);
        if (!is_used (inputs, app))
            continue;
        runs |= app_on (app, type) != NULL;
        for (int t = 0; app_type (app, t); t++)
            add_name (types, size, app_type (app, t));
    }
    return runs;
}

void sim_inputs_warn (const struct sim_inputs *inputs, const struct sim_config *config,
                      const char *command)
{
    for (int i = 0; sim_typed (config) && i < config->group_count; i++) {
        char types[400] = "";
        const char *type = config->groups[i].type;
        if (!runs_on (inputs, type, types, sizeof (types)))
            fprintf (stderr,
                     "pollux %s: warning: no application of the workloads has step times on type "
                     "%s, so its GPUs are not used; there are %s\n",
                     command, type, types);
    }
}
