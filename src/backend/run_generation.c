/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own files in a generation's directory, beside the runs of its replicas: seats, stop
 * and RANK.json.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "backend/run_open.h"
#include "base/error.h"

static const char slot_map_file[] = "seats", stop_file[] = "stop";

int run_write_slot_map (int root, const char *job, int generation,
                        const struct run_slot_map *slot_map, struct pollux_error *err)
{
    char *text;
    size_t length;
    int directory;
    int code = run_open_generation (root, job, generation, &directory, err);
    if (code < 0)
        return code;
    code = run_slot_map_encode (slot_map, &text, &length, err);
    if (code == 0) {
        code = safe_dir_replace (directory, slot_map_file, text, length, err);
        free (text);
    }
    close (directory);
    return code;
}

int run_read_slot_map (int root, const char *job, int generation, struct run_slot_map *ret,
                       struct pollux_error *err)
{
    char *text;
    size_t length;
    int directory;
    int code = run_open_generation (root, job, generation, &directory, err);
    if (code < 0)
        return code;
    code = safe_dir_read (directory, slot_map_file, RUN_SLOT_MAP_LIMIT, &text, &length, err);
    close (directory);
    if (code < 0)
        return code;
    code = run_slot_map_decode (slot_map_file, text, length, ret, err);
    free (text);
    return code;
}

int run_mark_stop (int root, const char *job, int generation, struct pollux_error *err)
{
    int directory;
    int code = run_open_generation (root, job, generation, &directory, err);
    if (code < 0)
        return code;
    int file = openat (directory, stop_file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    code = file < 0 ? fail (err, -errno, "%s: %s", stop_file, strerror (errno)) : 0;
    if (file >= 0)
        close (file);
    close (directory);
    return code;
}

bool run_stop_marked (int root, const char *job, int generation)
{
    int directory;
    if (run_open_generation (root, job, generation, &directory, NULL) < 0)
        return false;
    bool marked = faccessat (directory, stop_file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    close (directory);
    return marked;
}

int run_write_description (int root, const struct run_name *name, const char *text, size_t length,
                           struct pollux_error *err)
{
    char file[32];
    int directory;
    int code = run_open_generation (root, name->job, name->generation, &directory, err);
    if (code < 0)
        return code;
    snprintf (file, sizeof (file), "%d.json", name->rank);
    code = safe_dir_write (directory, file, text, length, err);
    close (directory);
    return code;
}

void run_remove_descriptions (int root, const char *job, int generation, int count)
{
    int directory;
    if (run_open_generation (root, job, generation, &directory, NULL) < 0)
        return;
    for (int i = 0; i < count; i++) {
        char file[32];
        snprintf (file, sizeof (file), "%d.json", i);
        unlinkat (directory, file, 0);
    }
    close (directory);
}
