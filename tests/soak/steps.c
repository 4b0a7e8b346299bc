/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Print step times of a folder of traces, for tests/soak/interpolation.py.  Reads lines
 * `APPLICATION NODES REPLICAS M`, spreads the replicas evenly over the nodes, and prints
 * `STEP SYNC` in seconds with all digits, or `outside` where nothing was measured.
 */
#include <stdio.h>

#include "sim/ground_truth.h"

int main (int argc, char **argv)
{
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    char name[64];
    int nodes, replicas, m, counts[16];
    if (argc != 2 || ground_truth_from_traces (argv[1], &truth, &err) < 0) {
        fprintf (stderr, "steps: %s\n", argc == 2 ? err.text : "usage: steps TRACES <points");
        return 1;
    }
    while (scanf ("%63s %d %d %d", name, &nodes, &replicas, &m) == 4) {
        const struct app *app = ground_truth_app (truth, name);
        if (!app || nodes < 1 || nodes > 16) {
            fprintf (stderr, "steps: %s on %d nodes: no such application, or not 1 to 16 nodes\n",
                     name, nodes);
            return 1;
        }
        for (int i = 0; i < nodes; i++)
            counts[i] = replicas / nodes + (i < replicas % nodes);
        struct app_step step = app_step (app, counts, nodes, m);
        if (step.modelled)
            puts ("outside");
        else
            printf ("%.17g %.17g\n", step.step_s, step.sync_s);
    }
    ground_truth_free (truth);
    return 0;
}
