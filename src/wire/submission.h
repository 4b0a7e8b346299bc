/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files: the description of a job by its owner, in YAML or JSON.
 *
 *     name: resnet
 *     command: python train.py            # for sh -c; or a list of words
 *     directory: /home/ann/resnet
 *     environment: {EPOCHS: 90}
 *     adaptive: true
 *     max_replicas: 16
 *     allowed: pow2                       # any, pow2, {multiple_of: 4}, [1, 2, 6]
 *     types: [a100, h100]                 # any, a list, {except: [t4]}
 *     speeds: {a100: 1, h100: 2.2}
 *     application: resnet50               # jobs of one application learn from each other
 *     ignore_experience: false
 *
 * docs/formats.md lists all fields.  Only the command is required.  Defaults that depend on other
 * fields:
 *
 *     max_replicas   POLLUX_REPLICAS_LIMIT if the job is adaptive; else the largest of min_replicas,
 *                    fixed_replicas and 1
 *     preemptible    true if the job is adaptive, or if max_replicas is given and above 1
 *
 * Unknown fields are refused, and so are fields that contradict each other.
 */
#ifndef WIRE_SUBMISSION_H
#define WIRE_SUBMISSION_H

#include "cluster/job.h"
#include "cluster/launch.h"
#include "wire/json.h"

/* 1 MiB: Linux limits the arguments and the environment of a program to 2 MiB. */
#define WIRE_SUBMISSION_LIMIT ((size_t)1 << 20)

#define WIRE_FAILURES_DEFAULT 3
#define WIRE_BACKOFF_DEFAULT 10.0

/* Names that the file does not give are "" (the owner always is); directory and checkpoint_dir are
 * NULL. */
struct wire_submission {
    struct job_spec spec;
    struct launch *launch; /* owned */
};
void wire_submission_clear (struct wire_submission *submission);

/* Read a job file ("-": standard input; NULL: no file) and options.  options, an object of fields,
 * may be NULL; its fields replace those of the file, except the environment, which is merged.
 * All errors are added to diagnostics (NULL: not collected); those of options have no line.  err
 * gets the first one.  On success the caller owns *ret (wire_submission_clear). */
int wire_submission_read (const char *path, const json_t *options,
                          struct wire_diagnostics *diagnostics, struct wire_submission *ret,
                          struct pollux_error *err);

/* Parse the body of a request. */
int wire_submission_parse (const char *name, const char *text, size_t length,
                           enum wire_syntax syntax, struct wire_diagnostics *diagnostics,
                           struct wire_submission *ret, struct pollux_error *err);

/* Encode a submission with all defaults filled in.  Parsing the object gives the same submission,
 * without the owner.  The caller owns it (json_decref).  NULL on failure, with err. */
json_t *wire_submission_encode (const struct wire_submission *submission, struct pollux_error *err);

/* True for names of 1..63 characters A-Z a-z 0-9 . _ - that do not start with a dot or a dash.  Such
 * names are used as directory names. */
bool wire_is_job (const char *name);

#endif
