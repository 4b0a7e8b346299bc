/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_EVENT_FORMAT_H
#define WIRE_EVENT_FORMAT_H

#include "cluster/event.h"
#include "wire/member.h"

/* What the rows of one type of event have in common with those of the others: whether they speak
 * of one job, and their plain fields, which are members of struct event. */
struct wire_format {
    bool has_job;
    const struct wire_member *members;
};
extern const struct wire_format wire_formats[EVENT_TYPES];

/* The plain fields of struct report, those of its batch apart, oracle and plan. */
extern const struct wire_member wire_batch_members[], wire_report_members[], wire_oracle_members[],
    wire_plan_members[];

#endif
