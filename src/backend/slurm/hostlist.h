/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_SLURM_HOSTLIST_H
#define BACKEND_SLURM_HOSTLIST_H

#include "backend/words.h"

/* Expand a list of hosts as Slurm writes it: "n[0-2,7],m1,rack[1-2]-n[01-02]".  At most NODES_LIMIT names of
 * NAME_SIZE.  On success *ret is the caller's (words_clear).  -EPROTO: it is not such a list; -E2BIG: too many;
 * -ENOMEM. */
int slurm_hostlist_expand (const char *text, struct words *ret, struct pollux_error *err);

#endif
