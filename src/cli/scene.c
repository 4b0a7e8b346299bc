/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From paths to a world and its workloads.
 */
#include "cli/scene.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "sim/generate.h"

void scene_clear (struct scene *scene)
{
    for (int i = 0; i < scene->count; i++)
        workload_clear (&scene->workloads[i].workload);
    free (scene->workloads);
    world_free (scene->world);
    *scene = (struct scene){0};
}

/* Room for one workload more, with its name; NULL with a sentence. */
static struct scene_workload *add_workload (struct scene *scene, const char *name, size_t length,
                                            struct pollux_error *err)
{
    if (length == 0 || length >= NAME_SIZE) {
        fail (err, -EINVAL, "workload '%.*s': a file name of 1 to %d bytes is wanted",
              (int)(length < 80 ? length : 80), name, NAME_SIZE - 1);
        return NULL;
    }
    for (int i = 0; i < scene->count; i++)
        if (strncmp (scene->workloads[i].name, name, length) == 0 &&
            scene->workloads[i].name[length] == '\0') {
            fail (err, -EINVAL, "workload '%s' is named twice; results are told apart by name",
                  scene->workloads[i].name);
            return NULL;
        }
    if (scene->count == SCENE_WORKLOADS_LIMIT) {
        fail (err, -EINVAL, "more than %d workloads", SCENE_WORKLOADS_LIMIT);
        return NULL;
    }
    struct scene_workload *workloads =
        realloc (scene->workloads, (size_t)(scene->count + 1) * sizeof (workloads[0]));
    if (!workloads) {
        fail (err, -ENOMEM, "no memory for %d workloads", scene->count + 1);
        return NULL;
    }
    scene->workloads = workloads;
    struct scene_workload *added = &workloads[scene->count];
    *added = (struct scene_workload){0};
    memcpy (added->name, name, length);
    return added;
}

static int load_file (struct scene *scene, const char *path, struct pollux_error *err)
{
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen (name);
    if (length > 4 && strcmp (name + length - 4, ".csv") == 0)
        length -= 4;
    struct scene_workload *added = add_workload (scene, name, length, err);
    if (!added)
        return -EINVAL;
    int rc = workload_read (path, scene->world, &added->workload, err);
    if (rc == 0)
        scene->count++;
    return rc;
}

static int is_csv (const struct dirent *entry)
{
    size_t length = strlen (entry->d_name);
    return length > 4 && entry->d_name[0] != '.' &&
           strcmp (entry->d_name + length - 4, ".csv") == 0;
}

static int load_folder (struct scene *scene, const char *path, struct pollux_error *err)
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
            rc = load_file (scene, file, err);
        free (entries[i]);
    }
    free (entries);
    return rc;
}

static int load_operand (struct scene *scene, const char *path, struct pollux_error *err)
{
    struct stat status;
    bool folder = stat (path, &status) == 0 && S_ISDIR (status.st_mode);
    return folder ? load_folder (scene, path, err) : load_file (scene, path, err);
}

static int load_builtin (struct scene *scene, struct pollux_error *err)
{
    struct scene_workload *added = add_workload (scene, "built-in", strlen ("built-in"), err);
    if (!added)
        return -ENOMEM;
    int rc = workload_generate (scene->world, NULL, &added->workload, err);
    if (rc == 0)
        scene->count++;
    return rc;
}

static bool plays (const struct scene *scene, const struct app *app)
{
    for (int i = 0; i < scene->count; i++) {
        const struct workload *workload = &scene->workloads[i].workload;
        for (int job = 0; job < workload->count; job++)
            if (workload->jobs[job].app == app)
                return true;
    }
    return false;
}

/* What the first questions about step times would wait for is done now, on all processors. */
static int prepare (const struct scene *scene, struct pollux_error *err)
{
    int count = world_count (scene->world);
    bool *wanted = calloc ((size_t)count, sizeof (wanted[0]));
    if (!wanted)
        return fail (err, -ENOMEM, "no memory for %d applications", count);
    for (int i = 0; i < count; i++)
        wanted[i] = plays (scene, world_at (scene->world, i));
    int rc = world_prepare (scene->world, wanted, err);
    free (wanted);
    return rc;
}

int scene_load (struct scene_files files, char *const *operands, int count, struct scene *ret,
                struct pollux_error *err)
{
    struct scene scene = {0};
    int rc = files.traces_dir ? world_from_traces (files.traces_dir, &scene.world, err)
                              : world_from_profiles (files.profiles, &scene.world, err);
    for (int i = 0; i < count && rc == 0; i++)
        rc = load_operand (&scene, operands[i], err);
    if (rc == 0 && count == 0)
        rc = load_builtin (&scene, err);
    if (rc == 0)
        rc = prepare (&scene, err);
    if (rc == 0)
        *ret = scene;
    else
        scene_clear (&scene);
    return rc;
}
