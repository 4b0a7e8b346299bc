/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the slots have cost, by owner and month: rows of jobs, and rows of idle capacity, which nobody's jobs held.  Everybody
 * who sees jobs sees the costs of all owners, because the jobs show the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_private.h"
#include "base/error.h"
#include "cluster/costs.h"

/* How rows are summed.  Neither: one row. */
struct grouping {
    bool owner, month;
};

/* "owner,month", in any order; NULL: both. */
static int parse_grouping (const char *text, struct grouping *ret, struct pollux_error *err)
{
    *ret = (struct grouping){.owner = !text, .month = !text};
    for (bool more = text; more;) {
        size_t length = strcspn (text, ",");
        if (length == 5 && strncmp (text, "owner", 5) == 0)
            ret->owner = true;
        else if (length == 5 && strncmp (text, "month", 5) == 0)
            ret->month = true;
        else
            return fail (err, -EINVAL, "by: expected owner, month or owner,month, got \"%.*s\"",
                         length < 40 ? (int)length : 40, text);
        more = text[length] == ',';
        text += length + more;
    }
    return 0;
}

/* By month, then by owner. */
static int compare (const void *a, const void *b)
{
    const struct ledger_row *x = a, *y = b;
    return x->month != y->month ? (x->month > y->month) - (x->month < y->month)
                                : strcmp (x->owner, y->owner);
}

static void add (struct ledger_row *sum, const struct ledger_row *row, double factor)
{
    sum->slot_s += factor * row->slot_s;
    sum->cost += factor * row->cost;
}

/* Make one row of those that are equal in what they are grouped by; the number that is left.  The rows become sorted. */
static int merge (struct ledger_row *rows, int count, struct grouping by)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (!by.month)
            rows[i].month = 0;
        if (!by.owner)
            rows[i].owner[0] = '\0';
    }
    qsort (rows, (size_t)count, sizeof (rows[0]), compare);
    for (int i = 0; i < count; i++)
        if (kept > 0 && compare (&rows[kept - 1], &rows[i]) == 0)
            add (&rows[kept - 1], &rows[i], 1);
        else
            rows[kept++] = rows[i];
    return kept;
}

/* Capacity first, then owners; the number of the former. */
static int part (struct ledger_row *rows, int count)
{
    int first = 0;
    for (int i = 0; i < count; i++)
        if (rows[i].capacity) {
            struct ledger_row row = rows[i];
            rows[i] = rows[first];
            rows[first++] = row;
        }
    return first;
}

static json_t *describe_month (int month)
{
    char text[16];
    if (month == 0)
        return json_null ();
    snprintf (text, sizeof (text), "%04d-%02d", month / 12, month % 12 + 1);
    return json_string (text);
}

/* Sums of numbers that differ in their last digits must not make idle capacity negative. */
static json_t *describe_positive (double number)
{
    return describe_number (number > 1e-9 ? number : 0);
}

static json_t *describe_row (const struct ledger_row *row, bool idle)
{
    json_t *object =
        json_pack ("{s:o, s:o, s:o}", "month", describe_month (row->month), "slot_hours",
                   describe_positive (row->slot_s / 3600), "cost", describe_positive (row->cost));
    if (object && !idle && json_object_set_new (object, "owner", describe_text (row->owner)) < 0) {
        json_decref (object);
        object = NULL;
    }
    return object;
}

static json_t *describe_rows (const struct ledger_row *rows, int count, bool idle)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < count; i++)
        if (json_array_append_new (array, describe_row (&rows[i], idle)) < 0) {
            json_decref (array);
            array = NULL;
        }
    return array;
}

static struct ledger_row total_of (const struct ledger_row *rows, int count)
{
    struct ledger_row total = {0};
    for (int i = 0; i < count; i++)
        add (&total, &rows[i], 1);
    return total;
}

/* Subtract what owners had from the capacity of the same months.  Both are sorted by month. */
static void subtract (struct ledger_row *capacity, int months, const struct ledger_row *rows,
                      int count)
{
    for (int i = 0, month = 0; i < count; i++) {
        while (month < months && capacity[month].month < rows[i].month)
            month++;
        if (month < months && capacity[month].month == rows[i].month)
            add (&capacity[month], &rows[i], -1);
    }
}

static json_t *describe_total (const struct ledger_row *rows, int count)
{
    struct ledger_row total = total_of (rows, count);
    return json_pack ("{s:o, s:o}", "slot_hours", describe_positive (total.slot_s / 3600), "cost",
                      describe_positive (total.cost));
}

/* The answer; the rows of the ledger become those of the answer. */
static json_t *describe_cost (const struct present *present, struct ledger *ledger,
                              struct grouping by)
{
    struct ledger_row none = {0}, *rows = ledger->rows ? ledger->rows : &none;
    int months = part (rows, ledger->count);
    struct ledger_row *owners = rows + months;
    int count = merge (owners, ledger->count - months, by);
    months = merge (rows, months, by);
    json_t *total = describe_total (rows, months);
    subtract (rows, months, owners, count);
    return json_pack (
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "now_at", describe_time (present->now_us),
        "price_per_hour", describe_number (costs_of_nodes_hour (present->cluster, -1)), "rows",
        describe_rows (owners, count, false), "idle", describe_rows (rows, months, true),
        "jobs_total", describe_total (owners, count), "idle_total", describe_total (rows, months),
        "total", total);
}

void api_cost (struct api *api, struct http_request *request)
{
    struct present present = api_present (api);
    struct grouping by;
    struct ledger ledger = {0};
    struct pollux_error err;
    if (parse_grouping (http_query (request, "by"), &by, &err) < 0) {
        api_refuse (api, request, 400, "%s", err.text);
        return;
    }
    if (costs_ledger (present.cluster, present.now_us, &ledger, &err) < 0) {
        api_refuse (api, request, 503, "%s", err.text);
        return;
    }
    api_reply (api, request, 200, describe_cost (&present, &ledger, by));
    ledger_clear (&ledger);
}
