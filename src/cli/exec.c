/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux exec: the supervisor of one replica.  The daemon starts it; a user can start it by hand to
 * see what a job gets.
 */
#define _GNU_SOURCE /* environ */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/supervisor.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "base/options.h"

enum { EXEC_RUN = 1, EXEC_MPI };

static const struct command_option exec_options[] = {
    {"run", "DIR", EXEC_RUN, "the run directory to make, STATE/run/JOB/GENERATION/RANK"},
    {"mpi", NULL, EXEC_MPI, "started by mpirun, which sets the rank; see pollux-exec(1)"},
};

struct exec_arguments {
    const char *path, *description;
    bool mpi;
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
        return fail (err, -EINVAL,
                     "--mpi: OMPI_COMM_WORLD_RANK and PMIX_RANK are not set: start it with mpirun");
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

static int parse (struct options *options, struct exec_arguments *ret, struct pollux_error *err)
{
    int id, rc = 0;
    char **operands;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        if (id == EXEC_RUN)
            ret->path = options->argument;
        ret->mpi |= id == EXEC_MPI;
        rc = id < 0 ? id : 0;
    }
    if (rc < 0)
        return rc;
    int count = options_operands (options, &operands);
    if (!ret->path)
        return fail (err, -EINVAL, "expected --run=DIR; see 'pollux exec --help'");
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

/* The variables by which mpirun and its ranks find each other; NULL: no memory. */
static char **mpi_variables (void)
{
    static const char *const starts[] = {"OMPI_", "PMIX_", "PRTE_", "PMI_", "OPAL_"};
    size_t count = 0, taken = 0;
    while (environ[count])
        count++;
    char **variables = calloc (count + 1, sizeof (char *));
    for (size_t i = 0; variables && i < count; i++)
        for (size_t j = 0; j < sizeof (starts) / sizeof (starts[0]); j++)
            if (strncmp (environ[i], starts[j], strlen (starts[j])) == 0)
                variables[taken++] = environ[i];
    return variables;
}

static int supervise (const struct exec_arguments *arguments, struct pollux_error *err)
{
    struct run_description *description = NULL;
    struct run_status status = {0};
    struct run_name name;
    char **extra = NULL;
    int root = -1;
    int rc = read_description (arguments->description, &description, err);
    if (rc == 0)
        rc = run_path_open (arguments->path, &root, &name, err);
    if (rc == 0 && arguments->mpi && !(extra = mpi_variables ()))
        rc = fail (err, -ENOMEM, "not enough memory");
    if (rc == 0 && arguments->mpi)
        unlink (arguments->description); /* it contains the token */
    if (rc == 0) {
        rc = supervisor_run (root, &name, description, extra, &status, err);
        if (rc == 0)
            rc = arguments->mpi ? EXIT_OK : run_status_code (&status);
        else if (rc == -EEXIST && arguments->mpi)
            rc = EXIT_OK; /* refused by the daemon: mpirun must not kill the other ranks for it */
        else if (rc == -EIO && status.at_us > 0)
            rc = run_status_code (&status); /* the status file could not be written */
    }
    if (root >= 0)
        close (root);
    free (extra);
    run_description_free (description);
    return rc;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct exec_arguments arguments = {0};
    (void)out;
    int rc = parse (options, &arguments, err);
    if (rc == 0)
        rc = supervisor_prepare (err);
    return rc < 0 ? rc : supervise (&arguments, err);
}

const struct command exec_command = {
    .name = "exec",
    .operands = "[DESCRIPTION.json]",
    .summary = "run one replica and record how it ended (the daemon's own tool)",
    .description =
        "Makes a run directory and runs the command of a description, from a file or from the\n"
        "standard input.  Output goes to rotated logs in the directory, the exit status to a "
        "file.\n"
        "SIGTERM stops the replica, a second one kills it.  Exits with the replica's status.",
    .options = exec_options,
    .option_count = sizeof (exec_options) / sizeof (exec_options[0]),
    .run = run,
};
