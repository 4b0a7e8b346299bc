/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the cluster and the user's choices in pollux top.  The drawing is a function of these
 * two alone.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <jansson.h>

#include "cli/screen_buffer.h"

/* Each live job has a letter, which it keeps.  Jobs beyond these letters share '*'. */
enum { TOP_KEYS = 62 };
struct top_keys {
    char names[TOP_KEYS][64]; /* "": free */
};

/* The last answers of the daemon, disarmed; NULL before the first. */
struct top_state {
    json_t *status, *nodes, *groups,
        *jobs; /* nodes: not those that are off; jobs: live ones of the first page */
    bool more; /* there are more pages */
    struct top_keys keys;
    double silent_s;   /* since the last answer; negative: no silence */
    char failure[256]; /* the sentence of a refusal; "": none */
};

enum top_order { TOP_SUBMITTED, TOP_NAME, TOP_REPLICAS, TOP_GOODPUT, TOP_ETA, TOP_ORDERS };
/* The keys that choose an order. */
extern const char top_order_keys[TOP_ORDERS + 1];

struct top_choice {
    enum top_order order;
    int selected; /* the index of a job in the list as shown; -1: none */
    int first;    /* index of the first one shown */
    bool unicode;
    bool keys; /* the line that explains keys */
};

/* Give letters to new jobs, and release those of ended jobs. */
void top_keys_update (struct top_keys *keys, const json_t *jobs);

/* Draw.  Moves choice->selected and first into the range of the list. */
int top_draw (const struct top_state *state, struct top_choice *choice,
              struct screen_buffer *screen, struct pollux_error *err);

/* The number of lines needed at a width. */
int top_lines (const struct top_state *state, int width);

#endif
