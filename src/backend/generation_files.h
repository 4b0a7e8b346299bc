/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a generation (run.h), for carriers that have STATE/run.  Failures are logged. */
#ifndef BACKEND_GENERATION_FILES_H
#define BACKEND_GENERATION_FILES_H

#include "backend/generation.h"

/* The daemon has asked the generation to stop: the next one knows it. */
void generation_mark_stop (const struct generation_set *set, int root,
                           const struct generation *generation);
/* Remove an old generation of a job, with its logs. */
void generation_remove_old (const struct generation_set *set, int root, const char *job,
                            int number);
/* A generation has ended: remove those of its job that are too much.  True at every thousandth end: now
 * the logs of old jobs are to be removed. */
bool generation_keep_logs (const struct generation_set *set, const struct generation *generation);

#endif
