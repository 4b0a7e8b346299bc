/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/jobs/{name}/logs: the output of a replica, unchanged.  follow=1 continues until the generation
 * has ended; with generation=last it continues with each new generation until the job has ended.  Files
 * are read only as fast as the client reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "api/api_private.h"
#include "api/log_tail.h"
#include "wire/submission.h"

/* Bytes per call, so that one client does not delay the others. */
enum { LOGS_BLOCK = 1 << 16, LOGS_BLOCKS = 4, LOGS_TAIL_MOST = 1000000 };

struct logs {
    struct follower follower;
    struct log_tail tail;
    int job;
    int64_t lines;     /* with which it is to be opened; -1: all */
    bool follow, last; /* last: continue with the next generation */
};

static struct log_tail new_tail (const struct api *api, const struct job *job)
{
    struct log_tail tail = {
        .open_log = api->options.open_log, .self = api->options.self, .file = -1};
    memcpy (tail.job, job->spec.name, sizeof (tail.job));
    return tail;
}

static void logs_free (struct follower *follower)
{
    struct logs *logs = (struct logs *)follower;
    log_tail_close (&logs->tail);
    free (logs);
}

static const struct job *job_of (const struct logs *logs)
{
    return logs->follower.api->options.cluster->jobs[logs->job];
}

/* Has the generation ended, so that its log does not grow any more? */
static bool has_ended (const struct logs *logs)
{
    const struct job *job = job_of (logs);
    return job->generation != logs->tail.generation || !job_runs (job);
}

/* Go to the next generation, if there is one.  False: there will be none. */
static bool go_on (struct logs *logs)
{
    const struct job *job = job_of (logs);
    if (!logs->last)
        return false;
    if (job->generation == logs->tail.generation)
        return job_live (job); /* it waits for slots */
    logs->tail.generation++;
    logs->lines = -1;
    log_tail_close (&logs->tail);
    return true;
}

static bool logs_feed (struct follower *follower)
{
    struct logs *logs = (struct logs *)follower;
    char block[LOGS_BLOCK];
    for (int turn = 0; turn < LOGS_BLOCKS; turn++) {
        bool ended = has_ended (logs); /* check before the last read, so that no output is missed */
        if (logs->tail.file < 0 && logs->tail.generation > 0 &&
            log_tail_open (&logs->tail, logs->lines, NULL) == -EAGAIN)
            return true; /* api_step calls this again */
        size_t room = http_stream_room (follower->stream);
        if (room == 0)
            return true; /* drained calls this again */
        ssize_t got = log_tail_read (&logs->tail, block, room < LOGS_BLOCK ? room : LOGS_BLOCK);
        if (got < 0)
            return follower_drop (follower);
        if (got > 0) {
            if (http_stream_push (follower->stream, block, (size_t)got) < 0)
                return follower_drop (follower);
            continue;
        }
        if (!logs->follow)
            return follower_end (follower);
        if (!ended)
            return true;
        int generation = logs->tail.generation;
        if (!go_on (logs))
            return follower_end (follower);
        if (generation == logs->tail.generation)
            return true;
    }
    return true;
}

/* ---- The request -------------------------------------------------------------------------- */

/* Read generation=last or a number; 0 means that the job has not started yet. */
static int read_generation (struct api *api, struct http_request *request, const struct job *job,
                            struct logs *logs)
{
    const char *text = http_query (request, "generation");
    int64_t generation = job->generation;
    logs->last = !text || strcmp (text, "last") == 0;
    if (!logs->last && (number_int64 (text, &generation) < 0 || generation < 1)) {
        api_refuse (api, request, 400,
                    "generation: expected \"last\" or a number from 1 on, got \"%.40s\"", text);
        return -EINVAL;
    }
    if (generation > job->generation || (generation == 0 && !logs->follow)) {
        api_refuse (api, request, 404,
                    job->generation ? "job %s has run %d times so far: there is no generation %lld"
                                    : "job %s has not started yet",
                    job->spec.name, job->generation, (long long)generation);
        return -ENOENT;
    }
    logs->tail.generation = (int)generation;
    return 0;
}

static int read_request (struct api *api, struct http_request *request, const struct job *job,
                         struct logs *logs)
{
    int64_t rank = 0, lines = -1;
    if (api_query_flag (api, request, "follow", &logs->follow) < 0 ||
        api_query_int (api, request, "rank", 0, POLLUX_REPLICAS_LIMIT - 1, &rank) < 0 ||
        api_query_int (api, request, "tail", 0, LOGS_TAIL_MOST, &lines) < 0 ||
        read_generation (api, request, job, logs) < 0)
        return -EINVAL;
    logs->tail.rank = (int)rank;
    logs->lines = lines;
    struct pollux_error err = {"it has not started yet"};
    int rc = logs->tail.generation > 0 ? log_tail_open (&logs->tail, lines, &err) : -ENOENT;
    /* The log of a running generation may appear soon. */
    if (rc == 0 || rc == -EAGAIN || (rc == -ENOENT && logs->follow && !has_ended (logs)) ||
        (logs->follow && logs->last && job_live (job)))
        return 0;
    api_refuse (api, request, rc == -ENOENT ? 404 : 503, "job %s, generation %d, rank %lld: %.200s",
                job->spec.name, logs->tail.generation, (long long)rank,
                rc == -ENOENT ? "there is no log" : err.text);
    return rc;
}

void api_logs (struct api *api, struct http_request *request)
{
    int index = api_own_job (api, request, "see its logs");
    if (index < 0)
        return;
    const struct job *job = api->options.cluster->jobs[index];
    if (!api->options.open_log || !wire_is_job (job->spec.name)) {
        api_refuse (api, request, 404, "there are no logs of job %s", job->spec.name);
        return;
    }
    struct logs *logs = calloc (1, sizeof (*logs));
    if (!logs) {
        api_refuse (api, request, 503, "not enough memory");
        return;
    }
    logs->follower =
        (struct follower){.api = api, .feed = logs_feed, .free = logs_free, .live = true};
    logs->tail = new_tail (api, job);
    logs->job = index;
    if (read_request (api, request, job, logs) < 0)
        logs_free (&logs->follower);
    else
        api_follow (api, request, "text/plain; charset=utf-8", &logs->follower);
}

/* ---- Last lines --------------------------------------------------------------------------- */

/* The exit code of the first replica that failed, and its rank; 0 and rank 0 if none is known. */
static int first_failure (const struct api *api, const struct job *job, int *ret_rank)
{
    const struct api_options *options = &api->options;
    *ret_rank = 0;
    return options->first_failure
               ? options->first_failure (options->self, job->spec.name, job->generation, ret_rank)
               : 0;
}

/* Lines as strings; invalid UTF-8 and control characters become question marks. */
static json_t *split_lines (char *text, size_t length)
{
    json_t *array = json_array ();
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(text[i] == '\0' ? '?' : text[i] == '\t' ? ' ' : text[i]);
    text[length] = '\0';
    for (char *line = text; array && line < text + length;) {
        size_t size = strcspn (line, "\n");
        line[size] = '\0';
        utf8_disarm (line);
        if (json_array_append_new (array, json_string (line)) < 0) {
            json_decref (array);
            return NULL;
        }
        line += size + 1;
    }
    return array;
}

/* Read to the end, and keep the last bytes, at least half of size.  No more is read than was searched for
 * lines: the owner can enlarge the file in between. */
static ssize_t read_last (struct log_tail *tail, char *text, size_t size)
{
    size_t length = 0;
    for (int64_t sum = 0; sum <= LOG_TAIL_BYTES;) {
        if (length == size) {
            memmove (text, text + size / 2, size - size / 2);
            length = size - size / 2;
        }
        ssize_t got = log_tail_read (tail, text + length, size - length);
        if (got <= 0)
            return got < 0 ? got : (ssize_t)length;
        length += (size_t)got;
        sum += got;
    }
    return (ssize_t)length;
}

json_t *api_last_lines (const struct api *api, const struct job *job, int lines)
{
    enum { MOST = 1 << 14 }; /* bytes */
    if (!api->options.open_log || job->generation == 0 || !wire_is_job (job->spec.name))
        return json_null ();
    struct log_tail tail = new_tail (api, job);
    tail.generation = job->generation;
    first_failure (api, job, &tail.rank);
    char text[MOST + 1];
    ssize_t length = log_tail_open (&tail, lines, NULL);
    if (length == 0)
        length = read_last (&tail, text, MOST);
    log_tail_close (&tail);
    return length < 0 ? json_null () : split_lines (text, (size_t)length);
}

json_t *api_exit_code (const struct api *api, const struct job *job)
{
    int rank, code = 0;
    if (job->phase == JOB_FINISHED)
        return json_integer (0);
    if (job->phase == JOB_FAILED && wire_is_job (job->spec.name))
        code = first_failure (api, job, &rank);
    return code > 0 ? json_integer (code) : json_null ();
}
