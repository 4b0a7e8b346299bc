/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files: what an owner says of a job, in YAML or JSON.
 *
 *     name: resnet
 *     command: python train.py            # for sh -c; or a list of words
 *     directory: /home/ann/resnet
 *     environment: {EPOCHS: 90}
 *     adaptive: true
 *     max_replicas: 16
 *     allowed: pow2                       # any, pow2, {multiple_of: 4}, [1, 2, 6]
 *
 * docs/formats.md has all fields.  Only the command must be there.  What depends on other fields
 * when it is not said:
 *
 *     max_replicas   the most there can be if it is adaptive; else the larger of min_replicas,
 *                    fixed_replicas and 1
 *     preemptible    true if it is adaptive, or max_replicas is said and above 1
 *
 * Unknown fields are refused, and so are fields that contradict each other.
 */
#ifndef WIRE_SUBMISSION_H
#define WIRE_SUBMISSION_H

#include "cluster/job.h"
#include "cluster/launch.h"
#include "wire/json.h"

/* 1 MiB: Linux starts no program with more than 2 MiB of arguments and environment, and nobody
 * writes so much. */
#define WIRE_SUBMISSION_LIMIT ((size_t)1 << 20)

#define WIRE_FAILURES_DEFAULT 3
#define WIRE_BACKOFF_DEFAULT 10.0

/* Names are "" where the file says none: the owner always. directory and checkpoint_dir are NULL. */
struct wire_submission {
    struct job_spec spec;
    struct launch *launch; /* owned */
};
void wire_submission_clear (struct wire_submission *submission);

/* From a file ("-" is the standard input, NULL none at all) and options, an object of fields that
 * win over the file's (NULL: none); variables of both make the environment.  All problems are
 * collected (NULL: to be forgotten); those of the options have no line.  err has the first one's sentence.  On success *ret
 * is the caller's (wire_submission_clear). */
int wire_submission_read (const char *path, const json_t *options,
                          struct wire_diagnostics *problems, struct wire_submission *ret,
                          struct pollux_error *err);

/* From the body of a request. */
int wire_submission_parse (const char *name, const char *text, size_t length,
                           enum wire_syntax syntax, struct wire_diagnostics *problems,
                           struct wire_submission *ret, struct pollux_error *err);

/* The other way, with all that has a default: an object, the caller's (json_decref), that is read as
 * the same submission.  The owner is not in it.  NULL, and why. */
json_t *wire_submission_encode (const struct wire_submission *submission, struct pollux_error *err);

/* 1..63 of A-Z a-z 0-9 . _ -, not starting with a dot or a dash: the name of a directory, too. */
bool wire_is_job (const char *name);

#endif
