/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of jobs.  The daemon returns pages; the next page starts after the last name of this one, so
 * that the list is complete although jobs come and go.
 */
#include "cli/job_list.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cli/answer_text.h"
#include "cli/table.h"

/* Pages have 250 jobs, because a page of 1000 delays the daemon's other requests.  10 million jobs:
 * beyond, the daemon repeats itself. */
enum { PAGES_LIMIT = 40000 };

static const int recent_s = 3600;

static struct client_path with (struct client_path path, const char *key, const char *value)
{
    if (!value)
        return path;
    path = client_path (path.text, "", key);
    return client_path (path.text, value, "");
}

static struct client_path page_path (const struct job_list_filter *filter, const char *since,
                                     const char *after)
{
    struct client_path path = {"/v1/jobs?limit=250"};
    path = with (path, "&phase=", filter->phase);
    path = with (path, "&owner=", filter->owner);
    path = with (path, "&ended_after=", filter->recent ? since : NULL);
    return with (path, "&after=", after);
}

static int take_page (const json_t *page, json_t *jobs, struct pollux_error *err)
{
    json_t *job;
    size_t i;
    json_array_foreach (json_object_get (page, "jobs"), i, job)
    {
        if (json_array_append (jobs, job) < 0)
            return fail (err, -ENOMEM, "not enough memory for the jobs");
    }
    return 0;
}

int job_list_get (struct client *client, const struct job_list_filter *filter, json_t **ret,
                  struct pollux_error *err)
{
    char since[32];
    snprintf (since, sizeof (since), "%lld", (long long)(time (NULL) - recent_s));
    json_t *jobs = json_array (), *page = NULL;
    const char *after = NULL;
    int rc = jobs ? 0 : fail (err, -ENOMEM, "not enough memory for the jobs");
    for (int pages = 0; rc == 0; pages++) {
        json_t *next = NULL;
        rc = client_get (client, page_path (filter, since, after).text, &next, err);
        json_decref (page); /* after points into it */
        page = next;
        if (rc == 0)
            rc = take_page (page, jobs, err);
        after = json_string_value (json_object_get (page, "next"));
        if (!after)
            break;
        if (rc == 0 && pages == PAGES_LIMIT)
            rc = fail (err, -EHOSTUNREACH,
                       "the daemon returns more pages of jobs than it may have jobs");
    }
    json_decref (page);
    if (rc < 0)
        json_decref (jobs);
    else
        *ret = jobs;
    return rc;
}

int job_list_print (const json_t *jobs, bool cost, struct terminal terminal, FILE *out,
                    struct pollux_error *err)
{
    static const char *const titles[] = {
        "<job", "<phase",   "replicas", "limits", "batch",  "goodput", "efficiency",
        "ETA",  "restarts", "failures", "age",    "<owner", "cost"};
    struct table table = table_start (titles, sizeof (titles) / sizeof (titles[0]) - !cost);
    json_t *job;
    size_t i;
    if (json_array_size (jobs) == 0) {
        fputs ("No jobs.\n", out);
        return 0;
    }
    json_array_foreach (jobs, i, job)
    {
        table_cell (&table, "%s", answer_text (job, "name"));
        table_cell (&table, "%s", answer_text (job, "phase"));
        answer_cell (&table, job, "replicas", answer_count);
        table_cell (&table, "%s", answer_limits (job).text);
        table_cell (&table, "%s", answer_batch (job).text);
        answer_cell (&table, job, "goodput", answer_rate);
        answer_cell (&table, job, "efficiency", answer_share);
        answer_cell (&table, job, "eta_s", answer_duration);
        answer_cell (&table, job, "restarts", answer_count);
        answer_cell (&table, job, "failures", answer_count);
        answer_cell (&table, job, "age_s", answer_duration);
        table_cell (&table, "%s", answer_or_dash (answer_text (job, "owner")).text);
        if (cost)
            table_cell (&table, "%s", answer_money (answer_number (job, "cost")).text);
    }
    return table_end (&table, terminal, out, err);
}
