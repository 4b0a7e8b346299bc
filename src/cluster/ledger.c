/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the ledger are few and found by a search from the end: the month is nearly always the last one. */
#include "cluster/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const int64_t DAY_US = (int64_t)86400 * 1000000;

/* ---- Months ------------------------------------------------------------------------------- */

/* Days from 1970-01-01 to the first day of a month, in the Gregorian calendar.  Years are counted from March, so that the
 * leap day is the last one; 400 years have 146097 days. */
static int64_t month_days (int month)
{
    int64_t year = month / 12 - (month % 12 < 2), of_year = (month % 12 + 10) % 12;
    int64_t era = year / 400, in_era = year - era * 400;
    int64_t day = (153 * of_year + 2) / 5;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + day - 719468;
}

int64_t ledger_month_us (int month)
{
    return month_days (month) * DAY_US;
}

int ledger_month (int64_t at_us)
{
    /* A month has 30.436875 days in the mean; this is at most one too large or too small. */
    int month = (int)(at_us / DAY_US * 10000 / 304369) + LEDGER_FIRST_MONTH;
    while (ledger_month_us (month) > at_us)
        month--;
    while (ledger_month_us (month + 1) <= at_us)
        month++;
    return month;
}

/* ---- Rows --------------------------------------------------------------------------------- */

static bool is_row (const struct ledger_row *row, int month, bool capacity, const char *owner)
{
    return row->month == month && row->capacity == capacity && strcmp (row->owner, owner) == 0;
}

static int find (const struct ledger *ledger, int month, bool capacity, const char *owner)
{
    for (int i = month > ledger->latest ? -1 : ledger->count - 1; i >= 0; i--)
        if (is_row (&ledger->rows[i], month, capacity, owner))
            return i;
    return -1;
}

/* Make one row of those that owners have in the oldest month in which several have one. */
static void merge_oldest (struct ledger *ledger)
{
    int owners[LEDGER_LAST_MONTH - LEDGER_FIRST_MONTH + 1] = {0}, month = LEDGER_FIRST_MONTH;
    int first = 0, count = 0;
    for (int i = 0; i < ledger->count; i++)
        owners[ledger->rows[i].month - LEDGER_FIRST_MONTH] += !ledger->rows[i].capacity;
    while (month < LEDGER_LAST_MONTH && owners[month - LEDGER_FIRST_MONTH] < 2)
        month++;
    while (first < ledger->count - 1 &&
           (ledger->rows[first].month != month || ledger->rows[first].capacity))
        first++;
    struct ledger_row others = ledger->rows[first];
    memset (others.owner, 0, sizeof (others.owner));
    memcpy (others.owner, LEDGER_OTHERS, sizeof (LEDGER_OTHERS));
    for (int i = 0; i < ledger->count; i++) {
        const struct ledger_row *row = &ledger->rows[i];
        if (i == first) {
            ledger->rows[count++] = others;
        } else if (row->month == others.month && !row->capacity) {
            struct ledger_row *sum = &ledger->rows[first];
            sum->slot_s += row->slot_s;
            sum->cost += row->cost;
        } else {
            ledger->rows[count++] = *row;
        }
    }
    ledger->count = count;
}

static int append (struct ledger *ledger, int month, bool capacity, const char *owner)
{
    if (ledger->count == LEDGER_LIMIT)
        merge_oldest (ledger);
    struct ledger_row *rows =
        array_grow (ledger->rows, ledger->count, &ledger->capacity, sizeof (rows[0]));
    if (!rows)
        return -ENOMEM;
    ledger->rows = rows;
    ledger->latest = month > ledger->latest ? month : ledger->latest;
    rows[ledger->count] = (struct ledger_row){.month = month, .capacity = capacity};
    snprintf (rows[ledger->count].owner, NAME_SIZE, "%s", owner);
    return ledger->count++;
}

int ledger_add (struct ledger *ledger, int64_t from_us, int64_t until_us, const char *owner,
                double slots, double cost_per_s, int *hint)
{
    bool capacity = !owner;
    owner = owner ? owner : "";
    while (from_us < until_us) {
        int month = ledger_month (from_us), row = *hint;
        row += row >= 0 && row < ledger->count && ledger->rows[row].month == month - 1;
        int64_t end_us = ledger_month_us (month + 1);
        end_us = end_us < until_us ? end_us : until_us;
        if (row < 0 || row >= ledger->count || !is_row (&ledger->rows[row], month, capacity, owner))
            row = find (ledger, month, capacity, owner);
        if (row < 0)
            row = append (ledger, month, capacity, owner);
        if (row < 0)
            return row;
        double seconds = (double)(end_us - from_us) * 1e-6;
        ledger->rows[row].slot_s += slots * seconds;
        ledger->rows[row].cost += cost_per_s * seconds;
        *hint = row;
        from_us = end_us;
    }
    return 0;
}

int ledger_restore (struct ledger *ledger, const struct ledger_row *row)
{
    if (ledger->count == LEDGER_LIMIT || row->month < LEDGER_FIRST_MONTH ||
        row->month > LEDGER_LAST_MONTH || find (ledger, row->month, row->capacity, row->owner) >= 0)
        return -EINVAL;
    int at = append (ledger, row->month, row->capacity, row->owner);
    if (at < 0)
        return at;
    ledger->rows[at] = *row;
    return 0;
}

int ledger_copy (const struct ledger *ledger, struct ledger *ret)
{
    size_t size = (size_t)ledger->count * sizeof (ledger->rows[0]);
    *ret = (struct ledger){0};
    if (ledger->count == 0)
        return 0;
    ret->rows = malloc (size);
    if (!ret->rows)
        return -ENOMEM;
    memcpy (ret->rows, ledger->rows, size);
    ret->count = ret->capacity = ledger->count;
    ret->latest = ledger->latest;
    return 0;
}

void ledger_clear (struct ledger *ledger)
{
    free (ledger->rows);
    *ledger = (struct ledger){0};
}
