/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux doctor: checks of this machine and of Slurm, each with a repair.
 */
#define _GNU_SOURCE
#include "cli/doctor.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/home.h"
#include "base/utf8.h"
#include "cli/client_options.h"
#include "cli/json_output.h"
#include "daemon/stop_signals.h"

/* ---- Reports ------------------------------------------------------------------------------ */

static const char *const finding_names[] = {"ok", "warning", "problem"};
_Static_assert(sizeof (finding_names) / sizeof (finding_names[0]) == FINDING_COUNT,
               "a name per finding");

void doctor_report (struct doctor *doctor, const char *check, enum finding finding,
                    const char *repair, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (text, sizeof (text), format, arguments);
    va_end (arguments);
    utf8_disarm (text); /* it may contain what other programs wrote */
    doctor->counts[finding]++;
    progress_line_end (&doctor->progress);
    if (doctor->checks) {
        json_array_append_new (doctor->checks,
                               json_pack ("{s:s, s:s, s:s, s:s?}", "check", check, "finding",
                                          finding_names[finding], "text", text, "repair", repair));
        return;
    }
    fprintf (doctor->out, "%s: %s\n", finding_names[finding], text);
    if (repair)
        fprintf (doctor->out, "    %s\n", repair);
    fflush (doctor->out); /* the next check may take a while */
}

/* ---- Commands ----------------------------------------------------------------------------- */

static bool took_signal (struct doctor *doctor)
{
    struct signalfd_siginfo info;
    if (read (doctor->signals, &info, sizeof (info)) == sizeof (info))
        doctor->interrupted = true;
    return doctor->interrupted;
}

bool doctor_wait (struct doctor *doctor, uint64_t command, double seconds, const char *doing)
{
    int64_t begin_us = clock_monotonic_us (), end_us = begin_us + (int64_t)(seconds * 1e6);
    for (;;) {
        int64_t now_us = clock_monotonic_us ();
        if (took_signal (doctor) || now_us >= end_us)
            return !doctor->interrupted;
        if (command && command_set_pid (doctor->commands, command) == 0)
            return true;
        if (progress_line_due (&doctor->progress))
            progress_line_draw (&doctor->progress,
                                (double)(now_us - begin_us) / (double)(end_us - begin_us), "%s",
                                doing);
        struct pollfd wait[] = {
            {.fd = command_set_descriptor (doctor->commands), .events = POLLIN},
            {.fd = doctor->signals, .events = POLLIN},
        };
        int64_t left_ms = (end_us - now_us) / 1000 + 1;
        poll (wait, 2, left_ms < 100 ? (int)left_ms : 100);
        command_set_turn (doctor->commands, clock_monotonic_us ());
    }
}

static void take_answer (void *user, const struct command_result *result)
{
    struct doctor_answer *answer = user;
    answer->code = result->code;
    answer->why = result->why;
    answer->output = strdup (result->output);
    answer->error = strdup (result->error);
    answer->output_length = answer->output ? strlen (answer->output) : 0;
}

struct doctor_answer doctor_ask (struct doctor *doctor, const char *const *words, const char *input,
                                 const char *const *environment)
{
    struct doctor_answer answer = {.code = -EINTR};
    int64_t now_us = clock_monotonic_us ();
    uint64_t id;
    struct command_request request = {
        .words = words,
        .input = input,
        .input_length = input ? strlen (input) : 0,
        .environment = environment,
        .deadline_us = now_us + (int64_t)(doctor->limit_s * 1e6),
        .output_limit = 8 << 20,
        .done = take_answer,
        .user = &answer,
    };
    int code = command_set_start (doctor->commands, &request, now_us, &id, &answer.why);
    if (code < 0) {
        answer.code = code;
    } else {
        doctor_wait (doctor, id, doctor->limit_s + 2, words[0]);
        command_set_cancel (doctor->commands, id); /* after a signal */
    }
    if (!answer.output)
        answer.output = strdup ("");
    if (!answer.error)
        answer.error = strdup ("");
    if ((!answer.output || !answer.error) && answer.code == 0)
        answer.code = fail (&answer.why, -ENOMEM, "not enough memory");
    return answer;
}

void doctor_answer_clear (struct doctor_answer *answer)
{
    free (answer->output);
    free (answer->error);
}

bool doctor_has_program (const char *name)
{
    const char *at = getenv ("PATH");
    char path[PATH_MAX];
    while (at && *at) {
        size_t length = strcspn (at, ":");
        int written = snprintf (path, sizeof (path), "%.*s/%s", (int)length, at, name);
        if (written > 0 && (size_t)written < sizeof (path) && access (path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* ---- The command -------------------------------------------------------------------------- */

enum {
    DOCTOR_STATE = CLIENT_OPTION_NEXT,
    DOCTOR_SHARED,
    DOCTOR_PARTITION,
    DOCTOR_NODE,
    DOCTOR_WAIT,
    DOCTOR_TIMEOUT,
    DOCTOR_NO_JOB,
    DOCTOR_LOCAL,
    DOCTOR_PROBE,
};

static const struct command_option doctor_options[] = {
    {"state", "DIR", DOCTOR_STATE, "the daemon's state directory"},
    {"shared", "DIR", DOCTOR_SHARED, "check this directory from a node; default: --state"},
    {"partition", "NAME", DOCTOR_PARTITION, "the partition of Slurm to check; default: all"},
    {"node", "NAME", DOCTOR_NODE, "run the job of the checks on this node"},
    {"wait", "SECONDS", DOCTOR_WAIT, "how long to wait for that job; default: 60"},
    {"timeout", "SECONDS", DOCTOR_TIMEOUT, "how long one command may take; default: 20"},
    {"no-job", NULL, DOCTOR_NO_JOB, "submit no job: check nothing on a node"},
    {"local", NULL, DOCTOR_LOCAL, "check this machine only, also if it has Slurm"},
    {"probe", "DIR", DOCTOR_PROBE, "what the job runs on the node; not for users"},
    {"json", NULL, CLIENT_OPTION_JSON, "print the findings as JSON"},
    CLIENT_OPTION_SERVER_ROW,
};

static int parse (struct options *options, struct doctor *ret, bool *ret_json,
                  const char **ret_probe, struct pollux_error *err)
{
    const char *state = NULL;
    struct client_options client = {0};
    int id, rc = 0;
    ret->wait_s = 60;
    ret->limit_s = 20;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        if (id == DOCTOR_STATE)
            state = options->argument;
        else if (id == DOCTOR_SHARED)
            ret->shared = options->argument;
        else if (id == DOCTOR_PARTITION)
            ret->partition = options->argument;
        else if (id == DOCTOR_NODE)
            ret->node = options->argument;
        else if (id == DOCTOR_WAIT)
            rc = options_double (options, 1, 3600, &ret->wait_s, err);
        else if (id == DOCTOR_TIMEOUT)
            rc = options_double (options, 0.1, 600, &ret->limit_s, err);
        else if (id == DOCTOR_PROBE)
            *ret_probe = options->argument;
        else if (id == CLIENT_OPTION_SERVER || id == CLIENT_OPTION_CA || id == CLIENT_OPTION_JSON)
            rc = client_options_take (&client, options, id);
        ret->no_job |= id == DOCTOR_NO_JOB;
        ret->local |= id == DOCTOR_LOCAL;
        rc = id < 0 ? id : rc;
    }
    ret->server = client.server;
    *ret_json = client.json;
    if (rc == 0)
        rc = client_options_no_operand (options, err);
    /* The client of the daemon reads the variable, too. */
    if (rc == 0 && state && setenv ("POLLUX_STATE", state, 1) < 0)
        rc = fail (err, -ENOMEM, "not enough memory");
    return rc;
}

static int doctor_open (struct doctor *doctor, struct pollux_error *err)
{
    doctor->signals = stop_signals_open ();
    if (doctor->signals < 0)
        return fail (err, -EIO, "cannot watch signals: %s", strerror (errno));
    ssize_t length = readlink ("/proc/self/exe", doctor->program, sizeof (doctor->program) - 1);
    if (length < 0)
        return fail (err, -EIO, "/proc/self/exe: %s", strerror (errno));
    doctor->program[length] = '\0';
    doctor->progress = progress_line_start ();
    int code = home_state (doctor->state, err);
    return code < 0 ? code : command_set_new (&doctor->commands, err);
}

static void check_all (struct doctor *doctor)
{
    doctor_check_machine (doctor);
    if (doctor->interrupted || doctor->local)
        return;
    if (!doctor_has_program ("sinfo") && !doctor_has_program ("squeue") &&
        !doctor_has_program ("sbatch")) {
        doctor_report (doctor, "slurm", FINDING_OK, NULL,
                       "Slurm was not found in PATH: this machine only");
        return;
    }
    if (doctor_check_slurm (doctor) && !doctor->no_job && !doctor->interrupted)
        doctor_check_node (doctor);
}

static int conclude (struct doctor *doctor, struct pollux_error *err)
{
    int problems = doctor->counts[FINDING_PROBLEM], warnings = doctor->counts[FINDING_WARNING];
    if (doctor->checks)
        return output_json (json_pack ("{s:O, s:i, s:i, s:b}", "checks", doctor->checks, "problems",
                                       problems, "warnings", warnings, "complete",
                                       !doctor->interrupted),
                            doctor->out, err);
    fprintf (doctor->out, "%d problem%s, %d warning%s\n", problems, problems == 1 ? "" : "s",
             warnings, warnings == 1 ? "" : "s");
    return 0;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct doctor doctor = {.out = out, .signals = -1};
    const char *probe = NULL;
    bool json = false;
    int rc = parse (options, &doctor, &json, &probe, err);
    if (rc < 0)
        return rc;
    if (probe)
        return doctor_probe (probe);
    rc = doctor_open (&doctor, err);
    if (rc == 0 && json && !(doctor.checks = json_array ()))
        rc = fail (err, -ENOMEM, "not enough memory");
    if (rc == 0) {
        check_all (&doctor);
        progress_line_end (&doctor.progress);
        rc = conclude (&doctor, err);
    }
    if (rc == 0 && doctor.interrupted)
        rc = fail (err, -EINTR, "interrupted: not everything was checked");
    if (rc == 0 && doctor.counts[FINDING_PROBLEM] > 0)
        rc = EXIT_FAILED;
    json_decref (doctor.checks);
    command_set_free (doctor.commands);
    if (doctor.signals >= 0)
        close (doctor.signals);
    return rc;
}

const struct command doctor_command = {
    .name = "doctor",
    .operands = "",
    .summary = "check this machine and Slurm, and say what to change",
    .description =
        "Checks the state directory, the daemon, GPUs, cgroups and Python; and where there is\n"
        "Slurm its commands, settings, nodes and munge, and with a small job on a node the time\n"
        "until it runs, the shared directory, the clock and the way to polluxd.  Prints a line\n"
        "for each, with a repair if something is wrong.  Exit status 1: there is a problem.",
    COMMAND_OPTIONS (doctor_options),
    .run = run,
};
