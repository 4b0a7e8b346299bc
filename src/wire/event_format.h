/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_EVENT_FORMAT_H
#define WIRE_EVENT_FORMAT_H

#include "cluster/event.h"
#include "wire/member.h"

/* One type of event: whether it has a job, and its simple fields, which are members of struct
 * event. */
struct wire_format {
    bool has_job;
    const struct wire_member *members;
};
extern const struct wire_format wire_formats[EVENT_TYPES];

/* The simple fields of struct report (batch and others), struct oracle and struct plan. */
extern const struct wire_member wire_batch_members[], wire_report_members[], wire_oracle_members[],
    wire_plan_members[];

#endif
