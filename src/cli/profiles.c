/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux profiles: print profiles of applications, built-in ones or those made from traces.  This
 * command also made the built-in ones (sim/builtin_profiles.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/options.h"
#include "sim/profile.h"

enum { OPTION_TRACES = 1, OPTION_PROFILES };

static const struct command_option option_rows[] = {
    {"traces", "DIR", OPTION_TRACES, "make profiles from traces in the published format"},
    {"profiles", "FILE", OPTION_PROFILES, "read profiles from a file, to check or select them"},
};

struct request {
    const char *traces_dir, *profiles;
    char **names;
    int name_count; /* 0: all */
};

static int parse (struct options *options, struct request *ret, struct pollux_error *err)
{
    struct request request = {0};
    int id;
    while ((id = options_next (options, err)) > 0)
        *(id == OPTION_TRACES ? &request.traces_dir : &request.profiles) = options->argument;
    if (id < 0)
        return id;
    if (request.traces_dir && request.profiles)
        return fail (err, -EINVAL, "--traces and --profiles exclude each other");
    request.name_count = options_operands (options, &request.names);
    *ret = request;
    return 0;
}

/* Make a profile of each application of the traces. */
static int make (const char *traces_dir, struct profile **ret, int *ret_count,
                 struct pollux_error *err)
{
    struct ground_truth *truth;
    int code = ground_truth_from_traces (traces_dir, &truth, err);
    if (code < 0)
        return code;
    int count = ground_truth_count (truth);
    struct profile *profiles = calloc ((size_t)count, sizeof (profiles[0]));
    if (!profiles)
        code = fail (err, -ENOMEM, "no memory for %d profiles", count);
    for (int i = 0; code == 0 && i < count; i++)
        code = profile_of_app (ground_truth_at (truth, i), &profiles[i], err);
    ground_truth_free (truth);
    if (code < 0) {
        free (profiles);
        return code;
    }
    *ret = profiles;
    *ret_count = count;
    return 0;
}

/* Keep the named profiles, in the order of the names.  Returns their number, or -EINVAL for an unknown
 * name. */
static int choose (struct profile *profiles, int count, char *const *names, int name_count,
                   struct pollux_error *err)
{
    for (int chosen = 0; chosen < name_count; chosen++) {
        int i = chosen;
        while (i < count && strcmp (profiles[i].name, names[chosen]) != 0)
            i++;
        if (i >= count) {
            struct excerpt name = excerpt (names[chosen], strlen (names[chosen]));
            return fail (err, -EINVAL, "application %s does not exist, or is named twice",
                         name.text);
        }
        struct profile found = profiles[i];
        profiles[i] = profiles[chosen];
        profiles[chosen] = found;
    }
    return name_count ? name_count : count;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct request request = {0};
    struct profile *profiles = NULL;
    int count = 0, code = parse (options, &request, err);
    if (code < 0)
        return code;
    code = request.traces_dir ? make (request.traces_dir, &profiles, &count, err)
                              : profiles_load (request.profiles, &profiles, &count, err);
    if (code < 0)
        return code;
    code = choose (profiles, count, request.names, request.name_count, err);
    if (code > 0)
        code = profiles_write (profiles, code, out, NULL) < 0 ? EXIT_FAILED : EXIT_OK;
    free (profiles);
    return code;
}

const struct command profiles_command = {
    .name = "profiles",
    .operands = "[APPLICATION]...",
    .summary = "print profiles of applications, built in or made from traces",
    .description =
        "Prints applications as profiles (JSON), for --profiles of pollux sim: built-in\n"
        "ones, or with --traces made from measurements: the throughput model is fitted to the "
        "step\n"
        "times, and the gradient noise is described by a few knots.  Names select applications.",
    COMMAND_OPTIONS (option_rows),
    .run = run,
};
