/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux exec: the supervisor of one replica, or those of a share.  The daemon or Slurm starts it; a
 * user can start it by hand to see what a job gets.
 */
#define _GNU_SOURCE /* environ */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/mpirun.h"
#include "backend/supervisor.h"
#include "backend/supervisor_share.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "base/options.h"

enum { EXEC_RUN = 1, EXEC_MPI, EXEC_SHARE, EXEC_FIRST, EXEC_COUNT, EXEC_MPIRUN };

static const struct command_option exec_options[] = {
    {"run", "DIR", EXEC_RUN, "the run directory to make, STATE/run/JOB/GENERATION/RANK"},
    {"mpi", NULL, EXEC_MPI, "started by mpirun, which sets the rank; see pollux-exec(1)"},
    {"share", "DIR", EXEC_SHARE, "run several ranks of STATE/run/JOB/GENERATION, as Slurm does"},
    {"first", "RANK", EXEC_FIRST, "with --share: the first rank"},
    {"count", "N", EXEC_COUNT, "with --share: the number of ranks"},
    {"mpirun", "N", EXEC_MPIRUN, "with --share: the first share runs mpirun, with N ranks in all"},
};

struct exec_arguments {
    const char *path, *description;
    bool mpi, share;
    int64_t first, count; /* of a share */
    int64_t world;        /* ranks of mpirun; 0: none */
    char rank_path[PATH_MAX], rank_description[PATH_MAX + 8];
};

/* Under mpirun all ranks have the same command line: DIR is the generation's directory, the rank
 * comes from the environment, and the description is DIR/RANK.json. */
static int take_rank (struct exec_arguments *arguments, struct pollux_error *err)
{
    const char *rank = getenv ("OMPI_COMM_WORLD_RANK");
    if (!rank)
        rank = getenv ("PMIX_RANK");
    if (!rank)
        rank = getenv ("SLURM_PROCID");
    if (!rank)
        return fail (
            err, -EINVAL,
            "--mpi: OMPI_COMM_WORLD_RANK, PMIX_RANK and SLURM_PROCID are not set: start it "
            "with mpirun or srun");
    if (!*rank || strlen (rank) > 9 || rank[strspn (rank, "0123456789")])
        return fail (err, -EINVAL, "--mpi: expected a rank, got '%.20s'", rank);
    if (strlen (arguments->path) > PATH_MAX - 32)
        return fail (err, -ENAMETOOLONG, "--run: the path is too long");
    snprintf (arguments->rank_path, PATH_MAX, "%s/%s", arguments->path, rank);
    snprintf (arguments->rank_description, PATH_MAX + 8, "%s.json", arguments->rank_path);
    arguments->path = arguments->rank_path;
    arguments->description = arguments->rank_description;
    return 0;
}

static int take_option (struct options *options, int id, struct exec_arguments *ret,
                        struct pollux_error *err)
{
    switch (id) {
    case EXEC_RUN:
    case EXEC_SHARE:
        ret->path = options->argument;
        ret->share |= id == EXEC_SHARE;
        return 0;
    case EXEC_MPI:
        ret->mpi = true;
        return 0;
    case EXEC_FIRST:
        return options_int64 (options, 0, INT_MAX - RUN_LIST_LIMIT, &ret->first, err);
    case EXEC_COUNT:
        return options_int64 (options, 1, RUN_LIST_LIMIT, &ret->count, err);
    case EXEC_MPIRUN:
        return options_int64 (options, 1, INT_MAX, &ret->world, err);
    default:
        return id;
    }
}

static int check_share (const struct exec_arguments *arguments, int operands,
                        struct pollux_error *err)
{
    bool proxy = arguments->mpi && arguments->first < 0 && arguments->count == 0;
    bool whole = !arguments->mpi && arguments->first >= 0 && arguments->count > 0;
    if (operands > 0 || (!proxy && !whole) || (proxy && arguments->world > 0))
        return fail (err, -EINVAL,
                     "--share needs --first and --count, or --mpi; see 'pollux exec --help'");
    if (strlen (arguments->path) > PATH_MAX - 32)
        return fail (err, -ENAMETOOLONG, "--share: the path is too long");
    return 0;
}

static int parse (struct options *options, struct exec_arguments *ret, struct pollux_error *err)
{
    int id, rc = 0;
    char **operands;
    ret->first = -1;
    while (rc == 0 && (id = options_next (options, err)) != 0)
        rc = take_option (options, id, ret, err);
    if (rc < 0)
        return rc;
    int count = options_operands (options, &operands);
    if (!ret->path)
        return fail (err, -EINVAL, "expected --run=DIR; see 'pollux exec --help'");
    if (ret->share) {
        rc = check_share (ret, count, err);
        return rc == 0 && ret->mpi ? take_rank (ret, err) : rc;
    }
    if (ret->first >= 0 || ret->count > 0 || ret->world > 0)
        return fail (err, -EINVAL, "--first, --count and --mpirun belong to --share");
    if (count > (ret->mpi ? 0 : 1))
        return fail (err, -EINVAL, "unexpected argument '%.80s'; see 'pollux exec --help'",
                     operands[count - 1]);
    ret->description = count == 1 ? operands[0] : "-";
    return ret->mpi ? take_rank (ret, err) : 0;
}

static int read_description (const char *path, struct run_description **ret,
                             struct pollux_error *err)
{
    char *text;
    size_t length;
    int rc = file_read (path, RUN_DESCRIPTION_LIMIT, &text, &length, err);
    if (rc < 0)
        return rc;
    rc = run_description_decode (file_name (path).text, text, length, ret, err);
    explicit_bzero (text, length); /* it contains the token */
    free (text);
    return rc;
}

/* The variables by which mpirun or srun (steps: with those of a step of Slurm) and the ranks find each other; NULL: no
 * memory. */
static char **mpi_variables (bool steps)
{
    static const char *const starts[] = {"OMPI_", "PMIX_", "PRTE_", "PMI_", "OPAL_", "SLURM_"};
    const size_t kinds = sizeof (starts) / sizeof (starts[0]) - !steps;
    size_t count = 0, taken = 0;
    while (environ[count])
        count++;
    char **variables = calloc (count + 1, sizeof (char *));
    for (size_t i = 0; variables && i < count; i++)
        for (size_t j = 0; j < kinds; j++)
            if (strncmp (environ[i], starts[j], strlen (starts[j])) == 0)
                variables[taken++] = environ[i];
    return variables;
}

/* guardian: the pid of the parent, or 0. */
static int supervise (const struct exec_arguments *arguments, int guardian,
                      struct pollux_error *err)
{
    struct run_description *description = NULL;
    struct run_status status = {0};
    struct supervisor_options options = {.in_step = arguments->mpi && getenv ("SLURM_STEP_ID"),
                                         .guardian = guardian};
    struct run_name name;
    int root = -1;
    int rc = read_description (arguments->description, &description, err);
    if (rc == 0)
        rc = run_path_open (arguments->path, &root, &name, err);
    if (rc == 0 && arguments->mpi && !(options.extra = mpi_variables (true)))
        rc = fail (err, -ENOMEM, "not enough memory");
    if (rc == 0 && arguments->mpi)
        unlink (arguments->description); /* it contains the token */
    if (rc == 0) {
        rc = supervisor_run (root, &name, description, &options, &status, err);
        if (rc == 0)
            rc = arguments->mpi ? EXIT_OK : run_status_code (&status);
        else if (rc == -EEXIST && arguments->mpi)
            rc = EXIT_OK; /* refused by the daemon: mpirun must not kill the other ranks for it */
        else if (rc == -EIO && status.at_us > 0)
            rc = run_status_code (&status); /* the status file could not be written */
    }
    if (root >= 0)
        close (root);
    free (options.extra);
    run_description_free (description);
    return rc;
}

/* ---- A share ------------------------------------------------------------------------------ */

struct exec_share {
    const struct exec_arguments *arguments;
    int root;
    struct run_name *names;
    struct run_description **descriptions;
};

static void share_path (const struct exec_arguments *arguments, int index, const char *end,
                        char ret[PATH_MAX])
{
    snprintf (ret, PATH_MAX, "%s/%d%s", arguments->path, (int)arguments->first + index, end);
}

/* Read all descriptions before one is removed: either all ranks can start or none. */
static int read_share (const struct exec_arguments *arguments, struct exec_share *ret,
                       struct pollux_error *err)
{
    char path[PATH_MAX];
    int rc = 0, count = (int)arguments->count;
    for (int i = 0; rc == 0 && i < count; i++) {
        share_path (arguments, i, "", path);
        if (ret->root >= 0)
            close (ret->root);
        rc = run_path_open (path, &ret->root, &ret->names[i], err);
        share_path (arguments, i, ".json", path);
        if (rc == 0)
            rc = read_description (path, &ret->descriptions[i], err);
    }
    for (int i = 0; rc == 0 && i < count; i++) {
        share_path (arguments, i, ".json", path);
        unlink (path); /* it may contain a token */
    }
    return rc;
}

/* One rank, or after the last of the first share mpirun, in its own process: its exit code. */
static int run_of_share (void *self, int index)
{
    const struct exec_share *share = self;
    const struct exec_arguments *arguments = share->arguments;
    struct supervisor_options options = {.in_step = true, .mpi = arguments->world > 0};
    struct run_status status = {0};
    struct pollux_error err = {.text = ""};
    if (index == arguments->count) {
        struct mpirun mpirun = {.root = share->root,
                                .name = share->names[0],
                                .path = arguments->path,
                                .world = (int)arguments->world,
                                .description = share->descriptions[0]};
        return mpirun_run (&mpirun);
    }
    int rc = supervisor_run (share->root, &share->names[index], share->descriptions[index],
                             &options, &status, &err);
    if (rc == 0 || (rc == -EIO && status.at_us > 0))
        return status.stopped ? EXIT_OK : run_status_code (&status);
    fprintf (stderr, "pollux exec: %s\n", err.text);
    return rc == -EEXIST ? EXIT_USAGE : EXIT_FAILED;
}

static int supervise_share (const struct exec_arguments *arguments, struct pollux_error *err)
{
    size_t count = (size_t)arguments->count;
    struct exec_share share = {.arguments = arguments,
                               .root = -1,
                               .names = calloc (count, sizeof (share.names[0])),
                               .descriptions = calloc (count, sizeof (share.descriptions[0]))};
    int code = 0;
    int rc = share.names && share.descriptions ? read_share (arguments, &share, err)
                                               : fail (err, -ENOMEM, "not enough memory");
    if (rc == 0 && arguments->world > 0)
        rc = mpirun_publish_share (share.root, &share.names[0], (int)count, err);
    bool mpirun = arguments->world > 0 && arguments->first == 0;
    if (rc == 0)
        rc = supervisor_share ((int)count + mpirun, run_of_share, &share, &code, err);
    if (share.root >= 0)
        close (share.root);
    for (size_t i = 0; share.descriptions && i < count; i++)
        run_description_free (share.descriptions[i]);
    free (share.descriptions);
    free (share.names);
    return rc < 0 ? rc : code;
}

/* What mpirun starts for a rank whose replica another share starts. */
static int stand_in (const struct exec_arguments *arguments, struct pollux_error *err)
{
    struct run_name name;
    char **variables = mpi_variables (false);
    int root, rc = variables ? 0 : fail (err, -ENOMEM, "not enough memory");
    if (rc == 0)
        rc = run_path_open (arguments->path, &root, &name, err);
    if (rc == 0) {
        rc = supervisor_mpi_proxy (root, &name, variables, err);
        close (root);
    }
    free (variables);
    return rc;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct exec_arguments arguments = {0};
    (void)out;
    int rc = parse (options, &arguments, err);
    if (rc == 0)
        rc = supervisor_prepare (err);
    if (rc < 0)
        return rc;
    if (arguments.share && arguments.mpi)
        return stand_in (&arguments, err);
    if (arguments.share)
        return supervise_share (&arguments, err);
    if (arguments.mpi) /* the supervisor of mpirun is above it */
        return supervise (&arguments, 0, err);
    int result, role = supervisor_guard (&result, err);
    if (role != 0)
        return role < 0 ? role : result;
    return supervise (&arguments, result, err);
}

const struct command exec_command = {
    .name = "exec",
    .operands = "[DESCRIPTION.json]",
    .summary = "run one replica and record how it ended (the daemon's own tool)",
    .description =
        "Makes a run directory and runs the command of a description, from a file or from the\n"
        "standard input.  Output goes to rotated logs in the directory, the exit status to a "
        "file.\n"
        "SIGTERM stops the replica, a second one kills it.  Exits with the replica's status.\n"
        "With --share: several ranks, whose descriptions are DIR/RANK.json.",
    COMMAND_OPTIONS (exec_options),
    .run = run,
};
