/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_SLURM_POWER_WORDS_H
#define BACKEND_SLURM_POWER_WORDS_H

#include "backend/words.h"

/* scontrol update NodeName=LIST State=POWER_UP (up) or POWER_DOWN: Slurm's power saving (slurm.conf: SuspendProgram,
 * ResumeProgram) orders and returns these nodes.  names end with NULL.  -ENOMEM. */
int slurm_power_words (bool up, const char *const *names, struct words *ret);

#endif
