/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/jobs/{name}/logs: the output of a replica, unchanged.  follow=1 continues until the generation
 * has ended; with generation=last it continues with each new generation until the job has ended.
 * generation=all: the logs of all generations that are kept, in order, each after a line of its own
 * (log_headers.h).  Files are read only as fast as the client reads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "api/api_private.h"
#include "api/log_headers.h"
#include "api/log_tail.h"
#include "wire/submission.h"

/* Bytes per call, so that one client does not delay the others. */
enum { LOGS_BLOCK = 1 << 16, LOGS_BLOCKS = 4, LOGS_TAIL_MOST = 1000000 };
/* A sentence, and room in the stream for one with what belongs to it. */
enum { LOGS_SENTENCE = 512, LOGS_ROOM = 2048 };

struct logs {
    struct follower follower;
    struct log_tail tail;
    int job;
    int64_t lines;     /* with which it is to be opened; -1: all */
    bool follow, last; /* last: continue with the next generation */
    bool all;          /* all kept generations, with a line before each */
    bool grows;        /* read in pieces, and this generation had not ended at first */
    bool begun;        /* what precedes the log of this generation is sent, or why it has none */
    bool look;         /* all: the oldest generation is not known yet */
    int removed;       /* all: generations before the oldest one, not told yet */
    struct log_lines written;
};

static struct log_tail new_tail (const struct api *api, const struct job *job)
{
    struct log_tail tail = {.open_log = api->options.open_log,
                            .read_log = api->options.read_log,
                            .self = api->options.self,
                            .reader = {.file = -1}};
    memcpy (tail.job, job->spec.name, sizeof (tail.job));
    return tail;
}

static bool has_logs (const struct api *api)
{
    return api->options.open_log || api->options.read_log;
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

/* ---- Why there is no log ------------------------------------------------------------------ */

/* The oldest generation whose files are kept: 0, -EAGAIN, or -ENOENT if there is none. */
static int oldest_kept (const struct api *api, const struct job *job, int *ret)
{
    const struct api_options *options = &api->options;
    *ret = 1;
    return options->oldest_log && job->generation > 0
               ? options->oldest_log (options->self, job->spec.name, job->generation, ret)
               : 0;
}

/* "256 MiB" */
static void size_text (int64_t bytes, char *ret, size_t size)
{
    if (bytes >= 1 << 20)
        snprintf (ret, size, "%.4g MiB", (double)bytes / (1 << 20));
    else
        snprintf (ret, size, "%lld bytes", (long long)bytes);
}

/* Why a job that never started has no log. */
static void why_not_started (const struct api *api, const struct job *job, char *ret, size_t size)
{
    struct present present = api_present (api);
    char waits[WAIT_REASON_SIZE];
    if (wait_reason (present.cluster, &present.totals, job, present_times (&present), waits))
        snprintf (ret, size, "job %s has not started yet: it is %s, and %s", job->spec.name,
                  job_phase_names[job->phase], waits);
    else
        snprintf (ret, size, "job %s never started: it is %s%s%s", job->spec.name,
                  job_phase_names[job->phase], job->detail[0] ? ": " : "", job->detail);
}

/* Why a generation that was started has no log; code and why: of the attempt to open it. */
static void why_no_log (const struct api *api, const struct job *job, const struct log_tail *tail,
                        int code, const char *why, char *ret, size_t size)
{
    bool now = tail->generation == job->generation && job_runs (job);
    bool latest = tail->generation == job->generation && job->detail[0];
    int oldest, replicas = placement_replicas (job->placement);
    char most[32];
    int found = oldest_kept (api, job, &oldest);
    size_text (api->options.log_limit, most, sizeof (most));
    if (code != -ENOENT)
        snprintf (ret, size, "its log cannot be read: %s", why);
    else if (found == 0 && oldest > tail->generation)
        snprintf (ret, size,
                  "its logs were removed: those of a job may have %s (job_log_limit), and the "
                  "oldest ones go first",
                  most);
    else if (found == -ENOENT && !job_live (job))
        snprintf (ret, size, "its logs were removed: only the jobs that ended last keep theirs");
    else if (now && tail->rank >= replicas)
        snprintf (ret, size, "there is no log: it has %d replica%s, and ranks begin with 0",
                  replicas, replicas == 1 ? "" : "s");
    else if (now)
        snprintf (ret, size, "there is no log yet: the replica is being started");
    else if (tail->rank > 0)
        snprintf (ret, size, "there is no log: it had no replica of this rank%s%s",
                  latest ? ", or the replica did not start: " : ", or the replica did not start",
                  latest ? job->detail : "");
    else
        snprintf (ret, size, "there is no log: the replica did not start%s%s", latest ? ": " : "",
                  latest ? job->detail : "");
}

/* ---- Sending ------------------------------------------------------------------------------ */

static int push (struct logs *logs, const char *text, size_t length)
{
    return http_stream_push (logs->follower.stream, text, length);
}

/* End the log before, if any, and send a line: between the marks of log_headers.h if all logs are sent,
 * else as supervisors write theirs. */
static int push_line (struct logs *logs, const char *sentence)
{
    char line[LOGS_SENTENCE + 64];
    size_t used = log_lines_end (&logs->written, line);
    used += (size_t)snprintf (line + used, sizeof (line) - used,
                              logs->all ? "==> %s <==\n" : "pollux: %s\n", sentence);
    return push (logs, line, used);
}

static int push_removed (struct logs *logs)
{
    const struct job *job = job_of (logs);
    char sentence[LOGS_SENTENCE], why[LOGS_SENTENCE / 2];
    struct log_tail first = {.generation = 1};
    int count = logs->removed;
    logs->removed = 0;
    if (count == 0)
        return 0;
    why_no_log (logs->follower.api, job, &first, -ENOENT, "", why, sizeof (why));
    if (count == 1)
        snprintf (sentence, sizeof (sentence), "job %s, generation 1: %s", job->spec.name, why);
    else
        snprintf (sentence, sizeof (sentence), "job %s, generations 1 to %d: %s", job->spec.name,
                  count, why);
    return push_line (logs, sentence);
}

/* Send what precedes the log of this generation.  code and why: of the attempt to open it. */
static int begin (struct logs *logs, int code, const char *why)
{
    const struct job *job = job_of (logs);
    char sentence[LOGS_SENTENCE], reason[LOGS_SENTENCE / 2];
    logs->begun = true;
    int rc = push_removed (logs);
    if (rc < 0 || (code == 0 && !logs->all))
        return rc;
    int used = snprintf (sentence, sizeof (sentence), "job %s, generation %d, rank %d",
                         job->spec.name, logs->tail.generation, logs->tail.rank);
    if (code < 0) {
        why_no_log (logs->follower.api, job, &logs->tail, code, why, reason, sizeof (reason));
        snprintf (sentence + used, sizeof (sentence) - (size_t)used, ": %s", reason);
    }
    return push_line (logs, sentence);
}

static int push_block (struct logs *logs, const char *block, size_t length)
{
    char text[LOGS_BLOCK + LOGS_BLOCK / 3 + 3];
    if (!logs->all)
        return push (logs, block, length);
    return push (logs, text, log_lines_copy (&logs->written, block, length, text));
}

/* Go to the next generation, if there is one.  False: there will be none. */
static bool go_on (struct logs *logs)
{
    const struct job *job = job_of (logs);
    bool next = job->generation > logs->tail.generation;
    if (!logs->last || (!next && !logs->follow) || (!next && !job_live (job)))
        return false;
    if (!next)
        return true; /* it waits for slots */
    logs->tail.generation++;
    logs->begun = logs->grows = false;
    logs->lines = logs->all && !logs->follow ? logs->lines : -1;
    log_tail_close (&logs->tail);
    return true;
}

/* Find the oldest generation.  -EAGAIN: call again. */
static int find_oldest (struct logs *logs)
{
    const struct job *job = job_of (logs);
    int oldest, rc = oldest_kept (logs->follower.api, job, &oldest);
    if (rc == -EAGAIN)
        return rc;
    /* Without any files, say so about the last one. */
    logs->tail.generation = rc == 0 && oldest < job->generation ? oldest : job->generation;
    logs->removed = rc == 0 && logs->tail.generation > 1 ? logs->tail.generation - 1 : 0;
    logs->look = false;
    return 0;
}

/* Open the log of this generation and send what precedes it, unless that was done.  -EAGAIN: call
 * again. */
static int open_log (struct logs *logs, bool ended)
{
    struct pollux_error err = {""};
    if (logs->look && find_oldest (logs) == -EAGAIN)
        return -EAGAIN;
    if (logs->tail.generation == 0 || (logs->begun && logs->tail.reader.file < 0))
        return 0;
    int rc = logs->tail.reader.file < 0 ? log_tail_open (&logs->tail, logs->lines, &err) : 0;
    int oldest;                                                       /* the reason needs it */
    if (rc == -EAGAIN || (rc == -ENOENT && logs->follow && !ended) || /* it may appear soon */
        (rc < 0 && oldest_kept (logs->follower.api, job_of (logs), &oldest) == -EAGAIN))
        return -EAGAIN;
    return logs->begun ? 0 : begin (logs, rc, err.text);
}

/* All is sent. */
static bool logs_end (struct logs *logs)
{
    char rest[8];
    size_t length = logs->all ? log_lines_end (&logs->written, rest) : 0;
    if (push (logs, rest, length) < 0)
        return follower_drop (&logs->follower);
    return follower_end (&logs->follower);
}

static bool logs_feed (struct follower *follower)
{
    struct logs *logs = (struct logs *)follower;
    char block[LOGS_BLOCK];
    for (int turn = 0; turn < LOGS_BLOCKS; turn++) {
        bool ended = has_ended (logs); /* check before the last read, so that no output is missed */
        logs->grows |= !ended && logs->tail.read_log;
        size_t room = http_stream_room (follower->stream);
        if (room < LOGS_ROOM)
            return true; /* drained calls this again */
        int rc = open_log (logs, ended);
        if (rc == -EAGAIN)
            return true; /* api_step calls this again */
        room = http_stream_room (follower->stream) / 2;
        ssize_t got =
            rc < 0 ? rc : log_tail_read (&logs->tail, block, room < LOGS_BLOCK ? room : LOGS_BLOCK);
        if (got == -EAGAIN)
            return true; /* as above */
        if (got < 0 || (got > 0 && push_block (logs, block, (size_t)got) < 0))
            return follower_drop (follower);
        if (got > 0)
            continue;
        if (!logs->follow && !logs->all)
            return follower_end (follower);
        if (!ended && logs->follow)
            return true;
        if (logs->grows && logs->follow) { /* the piece may be older than the end: one more */
            logs->grows = false;
            return true;
        }
        int generation = logs->tail.generation;
        if (!go_on (logs))
            return logs_end (logs);
        if (generation == logs->tail.generation)
            return true;
    }
    return true;
}

/* ---- The request -------------------------------------------------------------------------- */

/* Read generation=last, all or a number; 0 means that the job has not started yet. */
static int read_generation (struct api *api, struct http_request *request, const struct job *job,
                            struct logs *logs)
{
    const char *text = http_query (request, "generation");
    int64_t generation = job->generation;
    logs->all = logs->look = text && strcmp (text, "all") == 0;
    logs->last = logs->all || !text || strcmp (text, "last") == 0;
    if (!logs->last && (number_int64 (text, &generation) < 0 || generation < 1)) {
        api_refuse (api, request, 400,
                    "generation: expected \"last\", \"all\" or a number from 1 on, got \"%.40s\"",
                    text);
        return -EINVAL;
    }
    if (job->generation == 0 && !(logs->follow && generation == 0 && job_live (job))) {
        char why[LOGS_SENTENCE];
        why_not_started (api, job, why, sizeof (why));
        api_refuse (api, request, 404, "%s", why);
        return -ENOENT;
    }
    if (generation > job->generation) {
        api_refuse (api, request, 404,
                    "job %s has run %d time%s so far: there is no generation %lld", job->spec.name,
                    job->generation, job->generation == 1 ? "" : "s", (long long)generation);
        return -ENOENT;
    }
    logs->tail.generation = (int)generation;
    return 0;
}

static int read_request (struct api *api, struct http_request *request, const struct job *job,
                         struct logs *logs)
{
    int64_t rank = 0, lines = -1;
    char why[LOGS_SENTENCE];
    if (api_query_flag (api, request, "follow", &logs->follow) < 0 ||
        api_query_int (api, request, "rank", 0, POLLUX_REPLICAS_LIMIT - 1, &rank) < 0 ||
        api_query_int (api, request, "tail", 0, LOGS_TAIL_MOST, &lines) < 0 ||
        read_generation (api, request, job, logs) < 0)
        return -EINVAL;
    logs->tail.rank = (int)rank;
    logs->lines = lines;
    if (logs->all || logs->tail.generation == 0)
        return 0; /* what is missing is said between the logs */
    struct pollux_error err = {""};
    int oldest, rc = log_tail_open (&logs->tail, lines, &err);
    /* The log of a running generation may appear soon. */
    if (rc == 0 || rc == -EAGAIN || (rc == -ENOENT && logs->follow && !has_ended (logs)) ||
        (logs->follow && logs->last && job_live (job)) ||
        oldest_kept (api, job, &oldest) == -EAGAIN)
        return 0;
    why_no_log (api, job, &logs->tail, rc, err.text, why, sizeof (why));
    api_refuse (api, request, rc == -ENOENT ? 404 : 503, "job %s, generation %d, rank %lld: %.400s",
                job->spec.name, logs->tail.generation, (long long)rank, why);
    return rc;
}

void api_logs (struct api *api, struct http_request *request)
{
    int index = api_own_job (api, request, "see its logs");
    if (index < 0)
        return;
    const struct job *job = api->options.cluster->jobs[index];
    if (!has_logs (api) || !wire_is_job (job->spec.name)) {
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
    for (int64_t sum = 0; sum <= LOG_READER_TAIL_BYTES;) {
        if (length == size) {
            memmove (text, text + size / 2, size - size / 2);
            length = size - size / 2;
        }
        ssize_t got = log_tail_read (tail, text + length, size - length);
        if (got <= 0)
            return got < 0 && length == 0 ? got : (ssize_t)length;
        length += (size_t)got;
        sum += got;
    }
    return (ssize_t)length;
}

json_t *api_last_lines (const struct api *api, const struct job *job, int lines)
{
    enum { MOST = 1 << 14 }; /* bytes */
    if (!has_logs (api) || job->generation == 0 || !wire_is_job (job->spec.name))
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
