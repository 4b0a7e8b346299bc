/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of pollux doctor.  A check asks one thing and reports one finding: a line, and a repair if
 * something is to be changed.  Every check has a time limit.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "backend/command_set.h"
#include "backend/slurm/nodes.h"
#include "cli/client.h"
#include "cli/progress_line.h"

enum finding { FINDING_OK, FINDING_WARNING, FINDING_PROBLEM, FINDING_COUNT };

struct doctor {
    FILE *out;
    json_t *checks; /* with --json, else NULL */
    int counts[FINDING_COUNT];
    struct command_set *commands;
    int signals; /* a signalfd of SIGINT, SIGTERM and SIGHUP */
    bool interrupted;
    struct progress_line progress;

    /* Options. */
    struct client_server server;
    const char *partition, *node, *shared;
    double wait_s;  /* for the job on a node */
    double limit_s; /* for one command */
    bool local, no_job;

    /* What checks have found. */
    char state[PATH_MAX];   /* the state directory */
    char program[PATH_MAX]; /* this program */
    char backend[64];       /* of the daemon that answers; "": none answers */
    bool loopback;          /* its address is not for other machines */
};

/* Report a finding: a name for programs, and a sentence.  repair: what to change; NULL with FINDING_OK. */
void doctor_report (struct doctor *doctor, const char *check, enum finding finding,
                    const char *repair, const char *format, ...)
    __attribute__ ((format (printf, 5, 6)));

/* Wait up to some seconds for a command (0: for none), and draw what is done.  False: a signal came. */
bool doctor_wait (struct doctor *doctor, uint64_t command, double seconds, const char *doing);

/* A command's result; the texts are the caller's (doctor_answer_clear). */
struct doctor_answer {
    int code; /* as in struct command_result; -ENOENT: there is no such program; -EINTR also by a signal to us */
    char *output, *error;
    size_t output_length;
    struct pollux_error why;
};

/* Run a command, for at most limit_s.  environment: NAME=VALUE besides the basic ones, or NULL. */
struct doctor_answer doctor_ask (struct doctor *doctor, const char *const *words, const char *input,
                                 const char *const *environment);
void doctor_answer_clear (struct doctor_answer *answer);

/* Is there a program of this name in PATH? */
bool doctor_has_program (const char *name);

/* The machine: state directory, daemon, GPUs, cgroup, Python. */
void doctor_check_machine (struct doctor *doctor);

/* Slurm: commands, controller, settings, munge, partitions and GPUs.  False: nothing more can be asked of it. */
bool doctor_check_slurm (struct doctor *doctor);

/* A job on a node: time until it runs, the shared directory, the clock, the way to polluxd. */
void doctor_check_node (struct doctor *doctor);

/* The other side of doctor_check_node, on the node.  An exit code. */
int doctor_probe (const char *directory);

#endif
