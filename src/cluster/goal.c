/* SPDX-License-Identifier: Apache-2.0 */
/* Goals as text. */
#include "cluster/goal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"

/* The numbers after the colon, `count` of them, separated by commas. */
static bool parse_numbers (const char *text, int count, double *ret)
{
    char copy[GOAL_SIZE], *rest = copy;
    if (strlen (text) >= sizeof (copy))
        return false;
    memcpy (copy, text, strlen (text) + 1);
    for (int i = 0; i < count; i++) {
        const char *word = strsep (&rest, ",");
        if (!word || number_double (word, &ret[i]) < 0)
            return false;
    }
    return rest == NULL;
}

/* Goals with one number, the limit. */
static const struct {
    const char *prefix;
    enum goal_kind kind;
    double least;
    const char *expected;
} limits[] = {
    {"budget:", GOAL_BUDGET, 0, "budget:X with a price per hour, such as budget:40"},
    {"cost:", GOAL_COST, 1, "cost:F with the largest mean slowdown, from 1, such as cost:1.5"},
};

int goal_parse (const char *text, struct goal *ret, struct pollux_error *err)
{
    double numbers[2] = {0};
    if (strcmp (text, "fixed") == 0) {
        *ret = (struct goal){.kind = GOAL_FIXED};
        return 0;
    }
    if (strncmp (text, "band:", 5) == 0) {
        if (!parse_numbers (text + 5, 2, numbers) || !(numbers[0] > 0) ||
            !(numbers[0] < numbers[1]) || !(numbers[1] <= 1))
            return fail (err, -EINVAL,
                         "goal %s: expected band:LOW,HIGH with 0 < LOW < HIGH <= 1, such as "
                         "band:0.35,0.65",
                         quote (text).text);
        *ret = (struct goal){.kind = GOAL_BAND, .low = numbers[0], .high = numbers[1]};
        return 0;
    }
    for (size_t i = 0; i < sizeof (limits) / sizeof (limits[0]); i++) {
        size_t length = strlen (limits[i].prefix);
        if (strncmp (text, limits[i].prefix, length) != 0)
            continue;
        if (!parse_numbers (text + length, 1, numbers) || !(numbers[0] >= limits[i].least))
            return fail (err, -EINVAL, "goal %s: expected %s", quote (text).text,
                         limits[i].expected);
        *ret = (struct goal){.kind = limits[i].kind, .limit = numbers[0]};
        return 0;
    }
    return fail (err, -EINVAL, "goal %s: expected fixed, band:LOW,HIGH, budget:X or cost:F",
                 quote (text).text);
}

/* The shortest text that is read as the same number. */
static void format_number (double number, char ret[26])
{
    double same = NAN;
    for (int digits = 6; digits <= 17 && same != number; digits++) {
        snprintf (ret, 26, "%.*g", digits, number);
        if (number_double (ret, &same) < 0)
            same = NAN;
    }
}

void goal_format (const struct goal *goal, char ret[GOAL_SIZE])
{
    char first[26], second[26];
    format_number (goal->kind == GOAL_BAND ? goal->low : goal->limit, first);
    format_number (goal->high, second);
    switch (goal->kind) {
    case GOAL_FIXED:
        snprintf (ret, GOAL_SIZE, "fixed");
        break;
    case GOAL_BAND:
        snprintf (ret, GOAL_SIZE, "band:%s,%s", first, second);
        break;
    case GOAL_BUDGET:
        snprintf (ret, GOAL_SIZE, "budget:%s", first);
        break;
    case GOAL_COST:
        snprintf (ret, GOAL_SIZE, "cost:%s", first);
        break;
    }
}
