/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulation plays: the applications and the workloads, as named on the command line. */
#ifndef CLI_SCENE_H
#define CLI_SCENE_H

#include "sim/workload.h"
#include "sim/world.h"

/* A workload and the name of its file without .csv. */
struct scene_workload {
    char name[NAME_SIZE];
    struct workload workload;
};

struct scene {
    struct world *world;
    struct scene_workload *workloads;
    int count;
};

/* Where the applications come from; both NULL for the built-in profiles. */
struct scene_files {
    const char *traces_dir, *profiles;
};

/* 1024 workloads in one run: some tens of megabytes. */
enum { SCENE_WORKLOADS_LIMIT = 1024 };

/* Load the applications, then every operand: a workload file, or a folder, of which all *.csv are
 * taken in alphabetical order.  No operands: the built-in workload.  Names must differ.  On
 * success *ret belongs to the caller (scene_clear). */
int scene_load (struct scene_files files, char *const *operands, int count, struct scene *ret,
                struct pollux_error *err);
void scene_clear (struct scene *scene);

#endif
