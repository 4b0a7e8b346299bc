/* SPDX-License-Identifier: Apache-2.0 */
/* Why the size changes, in a sentence: "8 -> 6 nodes: the last 2 bring 3 % of the goodput for 25 % of the cost". */
#ifndef SCALING_SIZE_REASON_H
#define SCALING_SIZE_REASON_H

#include "scaling/what_if.h"

/* "8 -> 6 nodes: WHY", or with several groups "t4 8 -> 6, spot 0 -> 2 nodes: WHY". */
void size_reason_text (const struct view *view, const int nodes[NODE_GROUPS_LIMIT], const char *why,
                       char ret[DETAIL_SIZE]);

/* Of a change by the view's goal.  forced: jobs fit nowhere without it. */
void size_reason (const struct view *view, const struct forecast *now, const struct forecast *then,
                  bool forced, char ret[DETAIL_SIZE]);

#endif
