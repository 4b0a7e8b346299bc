/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: agents' reports.  A refusal has a reason; the model can compute with an accepted report,
 * and a journal can store it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/report.h"
#include "wire/spec.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct wire_report report;
    struct pollux_error err = {""};
    int code = wire_report_parse ("fuzz", (const char *)data, size, &report, &err);
    if (code < 0) {
        must (code == -EINVAL || code == -EPROTO || code == -EFBIG);
        must (strncmp (err.text, "fuzz:", 5) == 0);
        return 0;
    }
    const struct hints *hints = &report.report.hints;
    must (report.version == 1 && report.generation >= 1 && report.report.job == -1);
    must (report.report.batch.m >= 1 || report.report.batch.s == 0);
    struct pollux_shape shape = {.nodes = 2, .replicas = 3};
    struct pollux_best best;
    must (!hints->has_model || pollux_best_batch (&hints->model, hints->grad, &hints->limits,
                                                  POLLUX_EXACT, shape, &best, &err) == 0);
    json_t *object = json_object ();
    must (object && wire_hints_put (hints, object, &err) == 0);
    json_decref (object);
    return 0;
}
