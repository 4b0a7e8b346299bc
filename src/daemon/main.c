/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program polluxd: reads the command line and the configuration file, changes the user, and runs
 * the daemon.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/become_user.h"
#include "backend/slurm/as_owner.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/home.h"
#include "base/number.h"
#include "base/options.h"
#include "daemon/daemon.h"
#include "daemon/state.h"
#include "policy/policy_options.h"
#include "wire/diagnostics.h"
#include "wire/hook.h"
#include "wire/node.h"
#include "wire/strings.h"

enum {
    OPT_CONFIG = 1,
    OPT_STATE,
    OPT_LISTEN,
    OPT_TLS_CERT,
    OPT_TLS_KEY,
    OPT_TLS_SELF_SIGNED,
    OPT_INSECURE,
    OPT_BACKEND,
    OPT_PARTITION,
    OPT_SLURM_NODES,
    OPT_RESERVATION,
    OPT_MIN_UID,
    OPT_NODE,
    OPT_INTERVAL,
    OPT_RESTART_DELAY,
    OPT_POLICY,
    OPT_POLICY_OPTION,
    OPT_FAIRNESS = 'p',
    OPT_RUN_AS = 256,
    OPT_NO_EXPERIENCE,
    OPT_ALLOW_ROOT,
    OPT_AUTH,
    OPT_SHARED_STATE,
    OPT_STOP_JOBS,
    OPT_CLUSTER,
    OPT_GOAL,
    OPT_GROW,
    OPT_SHRINK,
    OPT_LOG_LEVEL,
    OPT_LOG_FORMAT,
    OPT_CHECK,
    OPT_VERSION,
};

static const struct command_option polluxd_options[] = {
    {"config", "FILE", OPT_CONFIG, "read this configuration; options win over it"},
    {"state", "DIR", OPT_STATE, "journal, tokens and logs; made if missing"},
    {"shared-state", NULL, OPT_SHARED_STATE,
     "several hosts share the state directory; take it over from a polluxd that uses it"},
    {"listen", "ADDR", OPT_LISTEN, "ADDRESS:PORT or unix:/PATH; may be repeated (127.0.0.1:7467)"},
    {"tls-cert", "FILE", OPT_TLS_CERT, "the certificate for addresses other than loopback"},
    {"tls-key", "FILE", OPT_TLS_KEY, "its key, which only polluxd's user can read"},
    {"tls-self-signed", NULL, OPT_TLS_SELF_SIGNED, "make a certificate in the state directory"},
    {"insecure", NULL, OPT_INSECURE, "listen on the network, and take tokens there, without TLS"},
    {"backend", "NAME", OPT_BACKEND, "what starts replicas; see the list below (local)"},
    {"partition", "NAME", OPT_PARTITION, "backend slurm: use the nodes of this partition"},
    {"slurm-nodes", "LIST", OPT_SLURM_NODES, "backend slurm: use these nodes, as n[0-3],m1"},
    {"reservation", "NAME", OPT_RESERVATION, "backend slurm: use the nodes of this reservation"},
    {"min-uid", "UID", OPT_MIN_UID, "backend slurm: run no jobs of lower uids (1000)"},
    {"node", "NAME:SLOTS[:TYPE]", OPT_NODE, "a node of this machine; may be repeated"},
    {"cluster", "FILE", OPT_CLUSTER, "groups of nodes that are ordered and returned"},
    {"goal", "GOAL", OPT_GOAL,
     "what their size aims at: fixed, band:LOW,HIGH, budget:X or cost:F (fixed)"},
    {"grow", "COMMAND", OPT_GROW, "orders nodes, whose names are its arguments"},
    {"shrink", "COMMAND", OPT_SHRINK, "returns nodes, whose names are its arguments"},
    {"interval", "SECONDS", OPT_INTERVAL, "between rounds that may move jobs (60)"},
    {"restart-delay", "SECONDS", OPT_RESTART_DELAY, "cost of a restart, until it is measured (30)"},
    {"policy", "NAME", OPT_POLICY, "the scheduling policy (pollux)"},
    {"policy-option", "NAME=VALUE", OPT_POLICY_OPTION,
     "an option of the policy, see pollux-sim(1); may be repeated"},
    {"fairness", "P", OPT_FAIRNESS, "exponent of the mean over jobs, -inf to 1 (-1)"},
    {"no-experience", NULL, OPT_NO_EXPERIENCE, "jobs do not learn from earlier ones"},
    {"run-as", "USER", OPT_RUN_AS, "run polluxd and all jobs as this user"},
    {"allow-root", NULL, OPT_ALLOW_ROOT, "run polluxd and all jobs as root"},
    {"auth", "HOW", OPT_AUTH, "how clients prove who they are: token, or munge besides (token)"},
    {"stop-jobs", NULL, OPT_STOP_JOBS, "stop all jobs when the daemon stops"},
    {"log-level", "LEVEL", OPT_LOG_LEVEL, "error, warning, info or debug (info)"},
    {"log-format", "FORMAT", OPT_LOG_FORMAT, "auto, plain, journald or json (auto)"},
    {"check", NULL, OPT_CHECK, "check configuration and options, and exit"},
    {"version", NULL, OPT_VERSION, "print the version"},
};

static void print_backends (FILE *out)
{
    fputs ("\nBackends:\n", out);
    for (const struct backend_ops *const *at = backends; *at; at++)
        fprintf (out, "  %-28s %s\n", (*at)->name, (*at)->summary);
}

static const struct command polluxd_command = {
    .name = "polluxd",
    .program = "polluxd",
    .operands = "",
    .summary = "the scheduler",
    .description =
        "Runs jobs on this machine and divides its slots among them by goodput. Jobs are\n"
        "submitted with `pollux submit`. It stays in the foreground and logs to standard error;\n"
        "SIGTERM stops it and leaves jobs running, SIGHUP reads the configuration again.",
    .options = polluxd_options,
    .option_count = sizeof (polluxd_options) / sizeof (polluxd_options[0]),
    .more_help = print_backends,
};

/* What only the command line can set. */
struct request {
    int argc;
    char **argv;
    bool check, version, stop_jobs, shared_state;
};

/* ---- The configuration ---- */

static int set_text (char **field, const char *text, struct pollux_error *err)
{
    char *copy = strdup (text);
    if (!copy)
        return fail (err, -ENOMEM, "no memory for the configuration");
    free (*field);
    *field = copy;
    return 0;
}

/* A path; a relative one starts at the working directory. */
static int set_path (char **field, const char *option, const char *path, struct pollux_error *err)
{
    char here[PATH_MAX], *whole = NULL;
    if (path[0] == '/')
        return set_text (field, path, err);
    if (!*path || !getcwd (here, sizeof (here)) || asprintf (&whole, "%s/%s", here, path) < 0)
        return fail (err, -EINVAL, "--%s: expected a path, got %s", option, quote (path).text);
    free (*field);
    *field = whole;
    return 0;
}

/* The first --listen replaces the addresses of the file; further ones are added. */
static int add_listen (struct wire_config *config, const char *address, bool first,
                       struct pollux_error *err)
{
    size_t count = 0;
    const char *wrong = wire_wrong_listen (address);
    if (wrong)
        return fail (err, -EINVAL, "--listen: %s, got %s", wrong, quote (address).text);
    while (!first && config->listen[count])
        count++;
    char **list = calloc (count + 2, sizeof (list[0])), *copy = strdup (address);
    if (!list || !copy) {
        free (list);
        free (copy);
        return fail (err, -ENOMEM, "no memory for the configuration");
    }
    if (count > 0)
        memcpy (list, config->listen, count * sizeof (list[0]));
    list[count] = copy;
    if (first)
        wire_strings_free (config->listen);
    else
        free (config->listen);
    config->listen = list;
    return 0;
}

static int add_node (struct wire_config *config, const char *text, bool first,
                     struct pollux_error *err)
{
    struct node node;
    int rc = wire_node_parse (text, &node, err);
    if (rc < 0)
        return rc;
    if (first)
        config->node_count = 0;
    return wire_config_add_node (config, &node, err);
}

static int set_name (char field[NAME_SIZE], const struct options *options, struct pollux_error *err)
{
    if (strlen (options->argument) >= NAME_SIZE)
        return fail (err, -EINVAL, "--%s: expected a name, got %s", options->at->name,
                     quote (options->argument).text);
    strcpy (field, options->argument);
    return 0;
}

static int set_choice (int *field, const struct options *options, const char *const *names,
                       size_t count, struct pollux_error *err)
{
    size_t index = 0;
    int rc = options_choice (options, names, count, &index, err);
    if (rc == 0)
        *field = (int)index;
    return rc;
}

static int set_slurm (char *field, size_t size, const struct options *options,
                      const char *(*wrong) (const char *), struct pollux_error *err)
{
    const char *problem = wrong (options->argument);
    if (problem)
        return fail (err, -EINVAL, "--%s: %s, got %s", options->at->name, problem,
                     quote (options->argument).text);
    snprintf (field, size, "%s", options->argument);
    return 0;
}

static int set_min_uid (struct wire_config *config, const struct options *options,
                        struct pollux_error *err)
{
    int64_t uid;
    if (number_int64 (options->argument, &uid) < 0 || uid < 1 || uid > 1000000000)
        return fail (err, -EINVAL, "--min-uid: expected a uid from 1 on, got %s",
                     quote (options->argument).text);
    config->slurm.min_uid = (int)uid;
    return 0;
}

static int set_hook (char ***field, const struct options *options, struct pollux_error *err)
{
    char **words;
    int rc = wire_hook_parse (options->argument, options->at->name, &words, err);
    if (rc < 0)
        return rc;
    wire_strings_free (*field);
    *field = words;
    return 0;
}

static int take_option (int id, const struct options *options, struct wire_config *config,
                        bool first, struct pollux_error *err)
{
    switch (id) {
    case OPT_STATE:
        return set_path (&config->state, "state", options->argument, err);
    case OPT_LISTEN:
        return add_listen (config, options->argument, first, err);
    case OPT_TLS_CERT:
        return set_path (&config->tls_cert, "tls-cert", options->argument, err);
    case OPT_TLS_KEY:
        return set_path (&config->tls_key, "tls-key", options->argument, err);
    case OPT_TLS_SELF_SIGNED:
        config->tls_self_signed = true;
        return 0;
    case OPT_INSECURE:
        config->insecure = true;
        return 0;
    case OPT_PARTITION:
        return set_slurm (config->slurm.partition, NAME_SIZE, options, wire_wrong_slurm_name, err);
    case OPT_SLURM_NODES:
        return set_slurm (config->slurm.nodes, WIRE_SLURM_LIST_SIZE, options,
                          wire_wrong_slurm_nodes, err);
    case OPT_RESERVATION:
        return set_slurm (config->slurm.reservation, NAME_SIZE, options, wire_wrong_slurm_name,
                          err);
    case OPT_MIN_UID:
        return set_min_uid (config, options, err);
    case OPT_BACKEND:
        return set_name (config->backend, options, err);
    case OPT_NODE:
        return add_node (config, options->argument, first, err);
    case OPT_CLUSTER:
        return set_path (&config->cluster, "cluster", options->argument, err);
    case OPT_GOAL:
        return goal_parse (options->argument, &config->goal, err);
    case OPT_GROW:
        return set_hook (&config->grow, options, err);
    case OPT_SHRINK:
        return set_hook (&config->shrink, options, err);
    case OPT_INTERVAL:
        return options_double (options, 0.01, 86400, &config->interval_s, err);
    case OPT_RESTART_DELAY:
        return options_double (options, 0, 86400, &config->restart_delay_s, err);
    case OPT_POLICY:
        return set_name (config->policy, options, err);
    case OPT_POLICY_OPTION:
        return policy_settings_parse (options->argument, &config->settings, err);
    case OPT_FAIRNESS:
        return options_double (options, -INFINITY, 1, &config->p, err);
    case OPT_NO_EXPERIENCE:
        config->experience = false;
        return 0;
    case OPT_RUN_AS:
        return set_name (config->run_as, options, err);
    case OPT_ALLOW_ROOT:
        config->allow_root = true;
        return 0;
    case OPT_AUTH:
        return set_choice (&config->auth, options, wire_auths, WIRE_AUTHS, err);
    case OPT_LOG_LEVEL:
        return set_choice (&config->log_level, options, wire_log_levels, WIRE_LOG_LEVELS, err);
    case OPT_LOG_FORMAT:
        return set_choice (&config->log_format, options, wire_log_formats, WIRE_LOG_FORMATS, err);
    default:
        return 0;
    }
}

/* Read the file.  Several diagnostics are printed here, and *err tells their number. */
static int read_file (const char *path, struct wire_config *ret, struct pollux_error *err)
{
    const char *policy_names[32] = {NULL}, *backend_names[8] = {NULL};
    for (int i = 0; i < 31 && policies[i]; i++)
        policy_names[i] = policies[i]->name;
    for (int i = 0; i < 7 && backends[i]; i++)
        backend_names[i] = backends[i]->name;
    struct wire_config_names names = {.policies = policy_names, .backends = backend_names};
    struct wire_diagnostics diagnostics = {0};
    int rc = wire_config_read (path, &names, &diagnostics, ret, err);
    if (rc != -EINVAL || diagnostics.count < 2)
        return rc;
    for (int i = 0; i < diagnostics.count; i++) {
        struct pollux_error sentence;
        wire_diagnostic_fail (&diagnostics.items[i], path, &sentence);
        fprintf (stderr, "polluxd: %s\n", sentence.text);
    }
    return fail (err, rc, "%s has %d%s problems", path, diagnostics.count,
                 diagnostics.more ? " and more" : "");
}

/* The file that the options name, or all defaults. */
static int read_base (const struct request *request, struct wire_config *ret,
                      struct pollux_error *err)
{
    struct options options = {
        .command = &polluxd_command, .argc = request->argc, .argv = request->argv};
    const char *path = NULL;
    int id;
    while ((id = options_next (&options, NULL)) != 0) /* take_options reports errors */
        if (id == OPT_CONFIG)
            path = options.argument;
    if (path)
        return read_file (path, ret, err);
    char state[PATH_MAX];
    int rc = home_state (state, err);
    if (rc == 0)
        rc = wire_config_default (ret, err);
    if (rc == 0 && (rc = set_path (&ret->state, "state", state, err)) < 0)
        wire_config_clear (ret);
    return rc;
}

/* A policy that knows one type of nodes would fail in its first round. */
static int check_types (const struct wire_config *config, const struct policy *policy,
                        struct pollux_error *err)
{
    for (int i = 1; policy->one_type && i < config->node_count; i++)
        if (strcmp (config->nodes[i].type, config->nodes[0].type) != 0)
            return fail (err, -EINVAL,
                         "policy %s knows one type of nodes, and %s and %s have two; use pollux or "
                         "pollux-jct",
                         policy->name, config->nodes[0].name, config->nodes[i].name);
    return 0;
}

/* Add a problem: print the one before it, and keep this one in *err for the caller. */
static int add_problem (int before, int code, const struct pollux_error *problem,
                        struct pollux_error *err)
{
    if (code == 0)
        return before;
    if (before < 0)
        fprintf (stderr, "polluxd: %s\n", err->text);
    *err = *problem;
    return code;
}

/* Apply the command line to the configuration.  All diagnostics are reported. */
static int take_options (struct request *request, struct wire_config *config,
                         struct pollux_error *err)
{
    struct options options = {
        .command = &polluxd_command, .argc = request->argc, .argv = request->argv};
    struct pollux_error problem = {.text = ""};
    const struct policy *policy = NULL;
    const struct backend_ops *backend = NULL;
    bool seen[512] = {false};
    int rc = 0, id;
    while ((id = options_next (&options, &problem)) != 0) {
        int code = id < 0 ? id : take_option (id, &options, config, !seen[id], &problem);
        rc = add_problem (rc, code, &problem, err);
        if (id < 0)
            continue;
        seen[id] = true;
        request->check |= id == OPT_CHECK;
        request->version |= id == OPT_VERSION;
        request->stop_jobs |= id == OPT_STOP_JOBS;
        request->shared_state |= id == OPT_SHARED_STATE;
    }
    char **operands;
    if (options_operands (&options, &operands) > 0)
        rc = add_problem (rc,
                          fail (&problem, -EINVAL, "unexpected argument %s; see 'polluxd --help'",
                                quote (operands[0]).text),
                          &problem, err);
    rc = add_problem (rc, daemon_check_listen (config, &problem), &problem, err);
    rc = add_problem (rc, backend_find (config->backend, &backend, &problem), &problem, err);
    rc = add_problem (rc, daemon_policy (config->policy, &policy, &problem), &problem, err);
    rc = add_problem (rc, daemon_read_groups (config, backend, policy, &problem), &problem, err);
    if (!policy)
        return rc;
    rc = add_problem (rc, check_types (config, policy, &problem), &problem, err);
    return add_problem (rc, policy_settings_check (&config->settings, &policy, 1, &problem),
                        &problem, err);
}

/* Read the file and apply the command line to it, at the start and at each reload. */
static int configure (void *self, struct wire_config *ret, struct pollux_error *err)
{
    struct wire_config config;
    struct pollux_error problem = {.text = ""};
    int rc = read_base (self, &config, err);
    if (rc < 0 && wire_config_default (&config, NULL) < 0)
        return rc;
    rc = add_problem (rc, take_options (self, &config, &problem), &problem, err);
    if (rc < 0)
        wire_config_clear (&config);
    else
        *ret = config;
    return rc;
}

/* ---- The user ---- */

static int become (const char *name, const char *state, struct pollux_error *err)
{
    errno = 0;
    // cppcheck-suppress getpwnamCalled ; there is one thread so far
    const struct passwd *user = getpwnam (name);
    if (!user)
        return fail (err, -EINVAL, "run-as: there is no user %s", quote (name).text);
    int rc = state_prepare (state, user->pw_uid, user->pw_gid, err);
    if (rc < 0)
        return rc;
    rc = become_user (user->pw_name, user->pw_uid, user->pw_gid);
    return rc < 0 ? fail (err, rc, "run-as: cannot become %s: %s", name, strerror (-rc)) : 0;
}

/* The process that runs jobs as their owners.  It starts first: it stays root. */
static int start_owner_process (const struct wire_config *config, int *ret,
                                struct pollux_error *err)
{
    const struct backend_ops *backend;
    struct owner_helper_options options = {.min_uid = (unsigned)config->slurm.min_uid,
                                           .directory = config->slurm.directory,
                                           .log_limit = config->job_log_limit};
    *ret = -1;
    int rc = backend_find (config->backend, &backend, err);
    return rc < 0 || !backend->for_owners ? rc : owner_helper_start (&options, ret, NULL, err);
}

/* Jobs run as polluxd's user, so root needs an explicit permission.  With a backend that runs them as
 * their owners, polluxd itself still needs no rights. */
static int choose_user (const struct wire_config *config, struct pollux_error *err)
{
    if (geteuid () == 0 && config->run_as[0])
        return become (config->run_as, config->state, err);
    if (geteuid () == 0 && !config->allow_root)
        return fail (err, -EINVAL,
                     "polluxd runs as root, and jobs run as polluxd's user: name another user "
                     "with --run-as USER, or permit root with --allow-root");
    if (config->run_as[0]) {
        // cppcheck-suppress getpwnamCalled ; as above
        const struct passwd *user = getpwnam (config->run_as);
        if (!user || user->pw_uid != geteuid ())
            return fail (err, -EPERM, "run-as: only root can become %s",
                         quote (config->run_as).text);
    }
    return 0;
}

/* ---- Starting ---- */

static struct logger chosen_logger (const struct wire_config *config)
{
    struct logger logger = logger_stderr ((enum log_level)config->log_level);
    static const enum log_format formats[] = {LOG_PLAIN, LOG_PLAIN, LOG_JOURNALD, LOG_JSON};
    if (config->log_format > 0)
        logger.format = formats[config->log_format];
    return logger;
}

/* The path of `pollux`, which is in the directory of polluxd. */
static int find_program (char ret[PATH_MAX], struct pollux_error *err)
{
    ssize_t length = readlink ("/proc/self/exe", ret, PATH_MAX - 1);
    if (length < 0)
        return fail (err, -errno, "cannot find out where polluxd is: %s", strerror (errno));
    ret[length] = '\0';
    char *slash = strrchr (ret, '/');
    if ((size_t)(slash - ret) + sizeof ("/pollux") > PATH_MAX)
        return fail (err, -ENAMETOOLONG, "the path of polluxd is too long");
    strcpy (slash, "/pollux");
    if (access (ret, X_OK) < 0)
        return fail (err, -errno,
                     "polluxd needs the command pollux, which supervises replicas, in its own "
                     "directory: %s: %s",
                     ret, strerror (errno));
    return 0;
}

/* Raise the limit of open descriptors: one per connection and one per replica can be more than the
 * usual limit of a login.  Replicas inherit it. */
static void raise_descriptors (void)
{
    static const rlim_t enough = 1 << 16;
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= enough)
        return;
    limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
    setrlimit (RLIMIT_NOFILE, &limit);
}

static int serve (struct request *request, const struct wire_config *config,
                  struct pollux_error *err)
{
    char program[PATH_MAX];
    int owner_socket;
    int rc = start_owner_process (config, &owner_socket, err);
    if (rc == 0)
        rc = choose_user (config, err);
    if (rc == 0)
        rc = find_program (program, err);
    if (rc < 0)
        return rc;
    umask (077);
    raise_descriptors ();
    struct daemon_options options = {
        .logger = chosen_logger (config),
        .program = program,
        .owner_socket = owner_socket,
        .stop_jobs = request->stop_jobs,
        .shared_state = request->shared_state,
        .configure = configure,
        .self = request,
    };
    struct daemon *daemon = NULL;
    rc = daemon_new (&options, &daemon, err);
    if (rc == 0)
        rc = daemon_run (daemon, err);
    if (daemon && rc < 0 && rc != EPOCH_LOST)
        rc = -EIO; /* not -EINVAL, which would mean wrong usage */
    daemon_free (daemon);
    return rc;
}

static int complain (int code, const struct pollux_error *err)
{
    fprintf (stderr, "polluxd: %s\n", err->text);
    if (code == EPOCH_LOST)
        return EXIT_SUPERSEDED;
    return code == -EINVAL || code == -ENOENT || code == -EEXIST ? EXIT_USAGE : EXIT_FAILED;
}

int main (int argc, char **argv)
{
    setlocale (LC_CTYPE, "");
    for (int i = 1; i < argc; i++)
        if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0) {
            options_help (&polluxd_command, stdout);
            return EXIT_OK;
        }
    struct request request = {.argc = argc, .argv = argv};
    struct pollux_error err = {.text = ""};
    struct wire_config config;
    int rc = file_open_standard (&err);
    if (rc == 0)
        rc = configure (&request, &config, &err);
    if (rc < 0)
        return complain (rc, &err);
    if (request.version)
        printf ("polluxd %s\n", pollux_version ());
    else if (request.check)
        printf ("polluxd: the configuration is good\n");
    else
        rc = serve (&request, &config, &err);
    wire_config_clear (&config);
    return rc < 0 ? complain (rc, &err) : EXIT_OK;
}
