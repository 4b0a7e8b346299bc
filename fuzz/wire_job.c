/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: job objects.  A refusal names the file; the model can compute with an accepted job, which
 * is the same after encoding and decoding.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/job.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static int decode (const char *text, size_t length, struct wire_job *ret)
{
    struct wire_document *document;
    struct pollux_error err = {.text = ""};
    int code = wire_document_parse ("fuzz", text, length, WIRE_JOB_LIMIT, &document, &err);
    if (code == 0) {
        struct wire_place root = wire_root (document);
        code = wire_job_decode (&root, ret, &err);
        wire_document_free (document);
    }
    if (code < 0 && strncmp (err.text, "fuzz:", 5) != 0)
        abort ();
    return code;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct wire_job job, back;
    if (decode ((const char *)data, size, &job) < 0)
        return 0;

    json_t *object = wire_job_encode (&job);
    char *text = json_dumps (object, JSON_INDENT (2));
    if (!text || decode (text, strlen (text), &back) < 0)
        abort ();
    if (job.has_model != back.has_model || job.has_grad != back.has_grad ||
        job.limits.max_local != back.limits.max_local ||
        (job.has_model && memcmp (&job.model, &back.model, sizeof (job.model)) != 0))
        abort ();
    free (text);
    json_decref (object);

    struct pollux_limits limits = job.limits;
    struct pollux_shape shape = {.nodes = 2, .replicas = 3};
    struct pollux_best best;
    struct pollux_error err;
    if (job.has_model && job.has_grad && limits.init_batch && limits.max_batch &&
        limits.min_local && limits.max_local &&
        pollux_best_batch (&job.model, job.grad, &limits, POLLUX_EXACT, shape, &best, &err) < 0)
        abort ();
    return 0;
}
