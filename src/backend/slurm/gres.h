/* SPDX-License-Identifier: Apache-2.0 */
/* Generic resources as Slurm writes them: "gpu:a100:4(S:0-1),gpu:v100:2,license:1". */
#ifndef BACKEND_SLURM_GRES_H
#define BACKEND_SLURM_GRES_H

#include <stddef.h>

#include "cluster/node.h"
#include "pollux/pollux.h"

/* The resources of one name on a node.  A node of Pollux has slots of one type, so only the first type
 * counts; `others` counts the rest. */
struct slurm_gres {
    char type[NAME_SIZE]; /* "": not given */
    int count;            /* 0..SLOTS_LIMIT */
    int others;           /* of the same name, of other types */
};

/* Sum up the resources called `name` ("gpu").  If `type` is not "", only this type counts, the others are
 * in `others`.  "(null)", "" and "N/A" are empty.  -EPROTO: the text is not a list of resources. */
int slurm_gres_parse (const char *text, size_t length, const char *name, const char *type,
                      struct slurm_gres *ret, struct pollux_error *err);

#endif
