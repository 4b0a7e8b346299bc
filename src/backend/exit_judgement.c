/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for the end of a generation: a pure function of its replicas' exits.
 */
#define _GNU_SOURCE /* sigdescr_np */
#include "backend/exit_judgement.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static bool is_success (const struct replica_exit *replica)
{
    const struct run_status *status = &replica->status;
    return !replica->lost && status->started && status->code == 0 && status->signal == 0;
}

/* It exited with 143 after it had saved its work, or was stopped before its start. */
static bool lost_nothing (const struct replica_exit *replica)
{
    const struct run_status *status = &replica->status;
    return !replica->lost && status->code == 143 && status->signal == 0;
}

bool replica_exit_failed (const struct replica_exit *replica)
{
    return !is_success (replica) && (replica->lost || !replica->status.stopped);
}

void replica_exit_describe (const struct replica_exit *replica, const char *who,
                            struct pollux_error *ret)
{
    const struct run_status *status = &replica->status;
    const char *signal = sigdescr_np (status->signal);
    if (replica->lost)
        fail (ret, 0, "%s is lost: %s", who, *status->why ? status->why : "its supervisor died");
    else if (*status->why)
        fail (ret, 0, "%s: %s", who, status->why);
    else if (status->signal)
        fail (ret, 0, "%s was ended by signal %d (%s)%s", who, status->signal,
              signal ? signal : "unknown", status->killed ? " after its grace" : "");
    else
        fail (ret, 0, "%s ended with exit code %d", who, status->code);
}

static void describe (const struct exit_case *given, int rank, struct pollux_error *ret)
{
    char who[32];
    snprintf (who, sizeof (who), "replica %d", rank);
    replica_exit_describe (&given->exits[rank], who, ret);
}

/* The first replica, in time, that failed, or (failed false) that lost its work; -1: none. */
static int first_failed (const struct exit_case *given, bool failed)
{
    int first = -1;
    for (int i = 0; i < given->count; i++) {
        const struct replica_exit *replica = &given->exits[i];
        bool matches = failed ? replica_exit_failed (replica) : !lost_nothing (replica);
        if (matches && (first < 0 || replica->status.at_us < given->exits[first].status.at_us))
            first = i;
    }
    return first;
}

static void set_detail (char detail[DETAIL_SIZE], const char *start, const char *rest)
{
    char text[2 * sizeof (struct pollux_error)];
    snprintf (text, sizeof (text), "%s%s", start, rest);
    utf8_disarm (text);
    size_t length = strlen (text) < DETAIL_SIZE - 1 ? strlen (text) : DETAIL_SIZE - 1;
    memset (detail, 0, DETAIL_SIZE);
    memcpy (detail, text, utf8_valid (text, length));
}

static enum exit_kind judge_stop (const struct exit_case *given, char detail[DETAIL_SIZE])
{
    struct pollux_error how;
    int first = first_failed (given, false);
    if (first >= 0) {
        describe (given, first, &how);
        set_detail (detail, "work since the last checkpoint is lost: ", how.text);
    }
    return EXITED_STOPPED;
}

static enum exit_kind judge_failure (const struct exit_case *given, int first,
                                     char detail[DETAIL_SIZE])
{
    struct pollux_error how;
    char start[64] = "";
    describe (given, first, &how);
    if (given->failures < given->max_failures) {
        set_detail (detail, start, how.text);
        return EXITED_FAILED;
    }
    if (given->failures > 0)
        snprintf (start, sizeof (start), "gave up after %d failures: ", given->failures + 1);
    set_detail (detail, start, how.text);
    return EXITED_GAVE_UP;
}

enum exit_kind exit_judgement (const struct exit_case *given, char detail[DETAIL_SIZE])
{
    int successes = 0;
    for (int i = 0; i < given->count; i++)
        successes += is_success (&given->exits[i]);
    memset (detail, 0, DETAIL_SIZE);
    if (successes == given->count)
        return EXITED_FINISHED;
    int first = first_failed (given, true);
    if (given->gone) {
        set_detail (detail, given->gone, " is gone");
        return EXITED_AGAIN;
    }
    if (given->stop_asked || first < 0)
        return judge_stop (given, detail);
    if (given->excuse) {
        set_detail (detail, "", given->excuse);
        return EXITED_AGAIN;
    }
    return judge_failure (given, first, detail);
}
