/* SPDX-License-Identifier: Apache-2.0 */
/* Compare histories, and fold one beside a cluster. */
#ifndef TESTS_HISTORY_CHECK_H
#define TESTS_HISTORY_CHECK_H

#include "loop/history.h"
#include "wire/history.h"

/* A copy with a NUL at its end; the caller frees it.  (Not strndup: that of the sanitizer reads one byte more.) */
char *buffer_text (const struct wire_text_buffer *buffer);

/* Fail the test unless both are equal, bit for bit, in all that is kept of them and in the present. */
void histories_equal (const struct cluster *cluster_a, const struct history *a,
                      const struct cluster *cluster_b, const struct history *b);

/* Fail the test unless the present of the history is that of the cluster. */
void history_fits (const struct cluster *cluster, const struct history *history);

#endif
