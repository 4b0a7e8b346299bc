/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation as English sentences. */
#ifndef POLICY_EXPLAIN_TEXT_H
#define POLICY_EXPLAIN_TEXT_H

#include "cluster/round_summary.h"
#include "policy/explain.h"

/* Seven sentences, types and limits; a few names of 63 bytes and many words each.  Longer sentences are
 * cut. */
enum { EXPLAIN_SENTENCES = 7 + EXPLAIN_TYPES + EXPLAIN_LIMITS, EXPLAIN_TEXT_SIZE = 1024 };

struct explain_text {
    char sentences[EXPLAIN_SENTENCES][EXPLAIN_TEXT_SIZE];
    int count;
};

/* full is the last full round, NULL: there was none; waits is what the job waits for (loop/wait_reason.h),
 * NULL: nothing. */
void explain_text_make (const struct explanation *explanation, const struct round_summary *full,
                        const char *waits, struct explain_text *ret);

/* The sentences on other types alone. */
void explain_text_types (const struct explanation *explanation, struct explain_text *ret);

/* From this factor on a change is said as a factor, "3.2 times as fast"; below, in per cent. */
#define FACTOR_LEAST 2.0

/* A change by a factor, for tables: "+23.6 %", "-1.0 %", "3.2 times"; "-" if it is not known.  digits:
 * behind the point of percentages. */
struct change_text {
    char text[40];
};
struct change_text change_text (double factor, int digits);

/* "40 s", "12 min", "3 h 20 min", "5 days"; "an unknown time" for NaN and negative seconds. */
struct duration_text {
    char text[32];
};
struct duration_text duration_text (double seconds);

#endif
