/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of event types and of kinds of exit, as in journals and in output.
 */
#include "cluster/event.h"

const char *const event_names[] = {
    "SUBMIT", "CANCEL",  "LIMITS", "NODE",   "HINTS", "ROUND", "PLAN",
    "START",  "STARTED", "EXIT",   "GROUPS", "SIZE",  "POWER",
};
_Static_assert(sizeof (event_names) / sizeof (event_names[0]) == EVENT_TYPES, "a name each");

const char *const exit_names[] = {"finished", "stopped", "failed", "gave up", "again"};
_Static_assert(sizeof (exit_names) / sizeof (exit_names[0]) == EXIT_KINDS, "a name each");
