/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode agents' reports.  They come from user programs: every number is checked here, because
 * policies divide by them.
 */
#include "wire/report.h"

#include <errno.h>
#include <math.h>

#include "wire/event_format.h"
#include "wire/spec.h"

static const struct wire_member generation_members[] = {
    {WIRE_MEMBER (wire_report, generation, WIRE_INT), .min = 1, .max = INT32_MAX},
    {0},
};

/* m and s come together or not at all, and m is at least 1. */
static int decode_batch (const struct wire_place *object, struct report *ret,
                         struct pollux_error *err)
{
    int code = wire_members_decode (wire_batch_members, object, ret, err);
    bool has_m = wire_has (object, "m"), has_s = wire_has (object, "s");
    if (code == 0 && has_m != has_s) {
        struct wire_place place = wire_field (object, has_m ? "s" : "m");
        code = wire_fail (&place, err, "expected it beside %s", has_m ? "m" : "s");
    }
    if (code == 0 && has_m && ret->batch.m < 1) {
        struct wire_place place = wire_field (object, "m");
        code = wire_fail (&place, err, "expected at least one sample");
    }
    return code;
}

int wire_report_decode (const struct wire_place *object, struct wire_report *ret,
                        struct pollux_error *err)
{
    struct wire_report report = {.report = {.job = -1, .oracle_remaining = NAN}};
    int code = wire_version (object, WIRE_REPORT_OLDEST, WIRE_REPORT_VERSION, &report.version, err);
    if (code == 0)
        code = wire_members_decode (generation_members, object, &report, err);
    if (code == 0)
        code = wire_hints_decode (object, &report.report.hints, err);
    if (code == 0)
        code = wire_hints_check (object, &report.report.hints, err);
    if (code == 0)
        code = decode_batch (object, &report.report, err);
    if (code == 0)
        *ret = report;
    return code;
}

static int decode_root (const struct wire_place *root, void *ret, struct pollux_error *err)
{
    return wire_report_decode (root, ret, err);
}

int wire_report_parse (const char *name, const char *text, size_t length, struct wire_report *ret,
                       struct pollux_error *err)
{
    return wire_document_decode (name, text, length, WIRE_REPORT_LIMIT, decode_root, ret, err);
}
