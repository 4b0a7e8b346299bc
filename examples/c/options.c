/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of both trainers, as a table: name, destination and help of each option.
 */
#include "options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, NUMBER, TEXT, YES, NO };

static const struct option {
    const char *name, *value, *help;
    enum kind kind;
    size_t offset;
    bool adaptive; /* only for the adaptive trainer */
    double low;    /* least value */
} table[] = {
#define AT(member) offsetof (struct options, member)
    {"samples", "N", "samples in the generated dataset (8192)", COUNT, AT (samples), false, 1},
    {"seed", "N", "of data and parameters (1)", COUNT, AT (seed), false, 0},
    {"rate", "X", "learning rate for the batch of --batch (0.1)", NUMBER, AT (rate), false, 0},
    {"batch", "M", "total batch, M0 (32)", COUNT, AT (batch), false, 1},
    {"total", "N", "length of the training in updates with batch M0 (2000)", NUMBER, AT (total),
     false, 0},
    {"evaluate", "N", "evaluate the loss every N of these updates (100)", NUMBER,
     AT (evaluate_every), false, 1},
    {"target", "LOSS", "stop at this loss", NUMBER, AT (target), false, 0},
    {"accumulate", "S", "further micro-steps of each update (0); use --fixed in trainer", COUNT,
     AT (accumulate), false, 0},
    {"pace", "SECONDS", "simulated time per sample: sleep until it is over", NUMBER,
     AT (pace.sample_s), false, 0},
    {"pace-step", "SECONDS", "simulated additional time per micro-step", NUMBER, AT (pace.step_s),
     false, 0},
    {"pace-sync", "SECONDS", "simulated time per synchronisation", NUMBER, AT (pace.sync_s), false,
     0},
    {"faster", "TYPE=X", "on nodes of this type, simulated steps take an X-th of the time", TEXT, 0,
     false, 0},
    {"no-pace", NULL, "full speed: ignore the pace options before", NO, 0, false, 0},
    {"declared", NULL, "do not sleep: give the agent the simulated times instead of measured ones",
     YES, AT (declared), true, 0},
    {"trace", "DIR", "write a trace of every update and its samples", TEXT, AT (trace), false, 0},
    {"max-batch", "M", "largest total batch (16 M0)", COUNT, AT (max_batch), true, 1},
    {"max-local", "M", "largest batch of a micro-step (max (M0, 256))", COUNT, AT (max_local), true,
     1},
    {"min-local", "M", "smallest one (1)", COUNT, AT (min_local), true, 1},
    {"no-accumulation", NULL, "one micro-step for each update", NO, AT (accumulation), true, 0},
    {"fixed", "m,s", "always this batch: samples of a micro-step, further micro-steps", TEXT, 0,
     true, 0},
    {"observe", NULL, "only measure and report", YES, AT (observe), true, 0},
    {"rule", "NAME", "learning-rate rule (adascale)", TEXT, AT (rule), true, 0},
    {"report", "SECONDS", "shortest time between fits, and between reports (30)", NUMBER,
     AT (report_s), true, 1},
    {"checkpoints", "DIR", "checkpoints without a daemon (default: none)", TEXT, AT (checkpoints),
     true, 0},
    {"save", "SECONDS", "between checkpoints (60)", NUMBER, AT (save_s), true, 0},
#undef AT
};
enum { OPTIONS = sizeof (table) / sizeof (table[0]) };

static void help (const char *program, bool adaptive)
{
    printf ("usage: [mpirun -np K] %s [OPTION]... [mlp|cnn|mean]\n\n", program);
    for (int i = 0; i < OPTIONS; i++) {
        char left[40];
        snprintf (left, sizeof (left), "--%s%s%s", table[i].name, table[i].value ? " " : "",
                  table[i].value ? table[i].value : "");
        if (adaptive ? strcmp (table[i].name, "accumulate") != 0 : !table[i].adaptive)
            printf ("  %-20s %s\n", left, table[i].help);
    }
    exit (0);
}

static void refuse (const char *name, const char *what, const char *value)
{
    fprintf (stderr, "%s: %s%s%s; --help lists the options\n", name, what, value ? ", got " : "",
             value ? value : "");
    exit (2);
}

/* TYPE=X: counts if polluxd says that this is a node of that type. */
static void set_faster (struct options *options, const char *value)
{
    const char *type = getenv ("POLLUX_NODE_TYPE"), *equals = strchr (value, '=');
    char *end = NULL;
    double factor = equals ? strtod (equals + 1, &end) : 0;
    if (!equals || end == equals + 1 || *end || !(factor > 0 && isfinite (factor)))
        refuse ("--faster", "expected TYPE=X such as a100=4", value);
    size_t length = (size_t)(equals - value);
    if (type && strlen (type) == length && strncmp (type, value, length) == 0)
        options->faster = factor;
}

static void set (struct options *options, const struct option *option, const char *value)
{
    char *at = (char *)options + option->offset, *end = NULL;
    double number = value ? strtod (value, &end) : 0;
    bool is_number = end && end != value && *end == '\0' && isfinite (number);
    if (strcmp (option->name, "no-pace") == 0) {
        options->pace = (struct pace){0};
    } else if (option->kind == YES || option->kind == NO) {
        *(bool *)(void *)at = option->kind == YES;
    } else if (strcmp (option->name, "fixed") == 0) {
        long long m, s;
        if (sscanf (value, "%lld,%lld", &m, &s) != 2 || m < 1 || s < 0)
            refuse ("--fixed", "expected m,s such as 32,1", value);
        options->fixed_m = m;
        options->fixed_s = s;
    } else if (strcmp (option->name, "faster") == 0) {
        set_faster (options, value);
    } else if (option->kind == TEXT) {
        *(const char **)(void *)at = value;
    } else if (!is_number || number < option->low || number > 1e12 ||
               (option->kind == COUNT && number != floor (number))) {
        fprintf (stderr, "--%s: expected %s from %g on, got '%s'\n", option->name,
                 option->kind == COUNT ? "a whole number" : "a number", option->low, value);
        exit (2);
    } else if (option->kind == COUNT) {
        *(int64_t *)(void *)at = (int64_t)number;
    } else {
        *(double *)(void *)at = number;
    }
}

static const struct option *find (const char *name, size_t length, bool adaptive)
{
    for (int i = 0; i < OPTIONS; i++)
        if (strlen (table[i].name) == length && strncmp (table[i].name, name, length) == 0 &&
            (adaptive || !table[i].adaptive))
            return &table[i];
    return NULL;
}

struct options options_parse (int argc, char **argv, bool adaptive)
{
    struct options options = {.network = network_by_name ("mlp"),
                              .samples = 8192,
                              .seed = 1,
                              .rate = 0.1,
                              .batch = 32,
                              .total = 2000,
                              .evaluate_every = 100,
                              .min_local = 1,
                              .accumulation = true,
                              .faster = 1,
                              .report_s = 30,
                              .save_s = 60};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp (word, "--help") == 0)
            help (argv[0], adaptive);
        if (strncmp (word, "--", 2) != 0) {
            options.network = network_by_name (word);
            if (!options.network)
                refuse (argv[0], "expected mlp, cnn or mean", word);
            continue;
        }
        size_t length = strcspn (word + 2, "=");
        const struct option *option = find (word + 2, length, adaptive);
        const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
        if (!option || (value && !option->value))
            refuse (argv[0], "no such option", word);
        if (option->value && !value && !(value = argv[++i]))
            refuse (word, "expected a value", NULL);
        set (&options, option, value);
    }
    options.pace.sample_s /= options.faster;
    options.pace.step_s /= options.faster;
    if (options.max_batch == 0)
        options.max_batch = 16 * options.batch;
    if (options.max_local == 0)
        options.max_local = options.batch > 256 ? options.batch : 256;
    return options;
}
