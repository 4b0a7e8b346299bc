/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pollux top knows of the cluster, and how the reader wants to see it.  Drawing is a function
 * of these two and of nothing else.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <jansson.h>

#include "cli/screen_buffer.h"

/* Jobs are known by letters; one keeps its letter as long as it lives.  More than these share '*'. */
enum { TOP_KEYS = 62 };
struct top_keys {
    char names[TOP_KEYS][64]; /* "": free */
};

/* The last answers of the daemon, disarmed; NULL before the first. */
struct top_state {
    json_t *status, *nodes, *jobs; /* jobs: those of the first page, which have not ended */
    bool more;                     /* there are more pages */
    struct top_keys keys;
    double silent_s;   /* since the last answer; below 0: all is well */
    char failure[256]; /* how the daemon refuses, or "": it answers, or nobody does */
};

enum top_order { TOP_SUBMITTED, TOP_NAME, TOP_REPLICAS, TOP_GOODPUT, TOP_ETA, TOP_ORDERS };
/* The keys that choose them. */
extern const char top_order_keys[TOP_ORDERS + 1];

struct top_choice {
    enum top_order order;
    int selected; /* the index of a job in the list as shown; -1: none */
    int first;    /* that of the first one shown */
    bool unicode;
    bool keys; /* the line that explains keys */
};

/* Give letters to new jobs, and take them from those that have gone. */
void top_keys_update (struct top_keys *keys, const json_t *jobs);

/* Draw both.  choice->selected and first are moved to where the list is. */
int top_draw (const struct top_state *state, struct top_choice *choice,
              struct screen_buffer *screen, struct pollux_error *err);

/* Lines that show all of it in a width. */
int top_lines (const struct top_state *state, int width);

#endif
