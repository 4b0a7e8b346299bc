/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole daemon under load: polluxd itself, on a journal of 20,000 jobs, with real replicas.
 *
 *     18,000 jobs have ended, 2,000 wait or run on 64 nodes of 4 slots, and all of them have models
 *     2,000 reports a second over 64 connections, with the jobs' own tokens; per second also 20
 *     requests for a job, 5 for a list, 1 each for status, nodes, rounds and metrics; one client
 *     follows the events; a full round every two seconds
 *
 * Requests are sent when they are due, whether or not earlier ones have been answered, and the time
 * of an answer counts from then: a pause of the daemon delays all answers that are due meanwhile.
 * Before that, memory and wake-ups of an idle daemon are measured.  While the first 256 replicas
 * start, the health of the daemon is requested every few milliseconds.
 *
 *     daemon_load [--live JOBS] [--rate REPORTS] [--seconds SECONDS]
 *
 * POLLUX_SOAK=1: for a minute.  polluxd and pollux are those in the parent folder of this program's.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "api/tokens.h"
#include "store/store.h"

enum {
    JOBS = 20000,
    NODES = 64,
    SLOTS = 4,
    CONNECTIONS = 64,
    REPORTERS_MOST = NODES * SLOTS,
    TEXT_SIZE = 2048, /* of a request */
    ANSWER_SIZE = 4 << 20,
};

static _Noreturn void die (const char *what)
{
    fprintf (stderr, "daemon_load: %s: %s\n", what, strerror (errno));
    exit (1);
}

/* ---- A journal of 20,000 jobs ---- */

struct seed {
    struct cluster cluster;
    struct journal journal;
};

static void append (struct seed *seed, struct event event)
{
    struct pollux_error err;
    event.at_us = ++seed->cluster.now_us;
    if (seed->journal.append (seed->journal.self, &seed->cluster, &event, &err) < 0 ||
        cluster_apply (&seed->cluster, &event, &err) < 0)
        die (err.text);
}

static struct hints make_hints (int i)
{
    double kind = 1 + i % 7;
    return (struct hints){.has_model = true,
                          .model = {0.05 * kind, 0.001 * kind, 0.2, 0.002, 0.05, 0.001, 2},
                          .grad = {.sqr = 0.01, .var = 0.1 * kind},
                          .limits = {128, 8192, 16, 512, true},
                          .max_profiled_replicas = 8,
                          .progress = 100 * kind,
                          .total = 1e6,
                          .step_s = NAN,
                          .rate_factor = NAN};
}

static void submit (struct seed *seed, int i)
{
    struct job_spec spec = {.min_replicas = 1,
                            .max_replicas = 8,
                            .weight = 1,
                            .preemptible = true,
                            .adaptive = true,
                            .restart_delay_s = NAN};
    char *command[] = {"sleep", "1000", NULL};
    char *environment[] = {"PATH=/usr/bin:/bin", "DATA=/data/images/train", NULL};
    struct launch launch = {.owner = "ann",
                            .command = command,
                            .environment = environment,
                            .directory = "/",
                            .stop_signal = SIGTERM,
                            .grace_s = 10,
                            .max_failures = 3,
                            .backoff_s = 10};
    snprintf (spec.name, sizeof (spec.name), "train-%05d", i);
    append (seed,
            (struct event){.type = EVENT_SUBMIT,
                           .job = i,
                           .submit = {.spec = &spec, .hints = make_hints (i), .launch = &launch}});
}

/* The first jobs have finished, on a node that does not exist any more. */
static void seed_journal (const char *path, int live)
{
    struct pollux_error err;
    struct store *store = NULL;
    struct seed seed = {0};
    if (store_open (path, STORE_DURABLE, &store, &err) < 0)
        die (err.text);
    seed.journal = store_journal (store);
    append (&seed, (struct event){.type = EVENT_NODE,
                                  .job = -1,
                                  .node = {.name = "old", .slots = 8, .available = true}});
    for (int i = 0; i < JOBS; i++) {
        struct share share = {.node = 0, .replicas = 1};
        submit (&seed, i);
        if (i >= JOBS - live)
            continue;
        append (&seed, (struct event){.type = EVENT_START,
                                      .job = i,
                                      .start = {.generation = 1, .placement = {&share, 1}}});
        append (&seed,
                (struct event){.type = EVENT_EXIT,
                               .job = i,
                               .exit = {.generation = 1, .kind = EXITED_FINISHED, .detail = ""}});
    }
    if (store_close (store, &err) < 0)
        die (err.text);
    cluster_clear (&seed.cluster);
}

/* ---- The daemon ---- */

struct server {
    char state[PATH_MAX];
    char token[TOKEN_JOB_SIZE];
    uint16_t port;
    pid_t pid;
};

/* A number from the daemon's /proc/PID/status, by the name of its line; NaN: no such line. */
static double proc_status (const struct server *server, const char *name)
{
    char path[64], line[256];
    double value = NAN;
    snprintf (path, sizeof (path), "/proc/%d/status", (int)server->pid);
    FILE *file = fopen (path, "r");
    while (file && fgets (line, sizeof (line), file))
        if (strncmp (line, name, strlen (name)) == 0 && line[strlen (name)] == ':')
            value = strtod (line + strlen (name) + 1, NULL);
    if (file)
        fclose (file);
    return value;
}

/* Processor time of the daemon and its threads, in seconds. */
static double proc_cpu_s (const struct server *server)
{
    char path[64], text[1024] = "";
    unsigned long user = 0, kernel = 0;
    snprintf (path, sizeof (path), "/proc/%d/stat", (int)server->pid);
    FILE *file = fopen (path, "r");
    size_t length = file ? fread (text, 1, sizeof (text) - 1, file) : 0;
    text[length] = '\0';
    const char *rest = strrchr (text, ')');
    if (rest)
        sscanf (rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    if (file)
        fclose (file);
    return (double)(user + kernel) / (double)sysconf (_SC_CLK_TCK);
}

static void read_line (const struct server *server, const char *name, char *ret, size_t size)
{
    char path[PATH_MAX + 32];
    snprintf (path, sizeof (path), "%s/%s", server->state, name);
    FILE *file = fopen (path, "r");
    if (!file || !fgets (ret, (int)size, file))
        *ret = '\0';
    ret[strcspn (ret, "\n")] = '\0';
    if (file)
        fclose (file);
}

static void make_state (struct server *server)
{
    const char *folder = getenv ("TMPDIR");
    snprintf (server->state, sizeof (server->state), "%s/pollux-bench-XXXXXX",
              folder ? folder : "/tmp");
    if (!mkdtemp (server->state))
        die (server->state);
}

/* Returns when it listens. */
static void start (struct server *server, const char *polluxd)
{
    const char *arguments[16 + 2 * NODES] = {
        polluxd,      "--state", server->state, "--listen",    "127.0.0.1:0", "--allow-root",
        "--interval", "2",       "--stop-jobs", "--log-level", "warning",     NULL};
    char nodes[NODES][16], address[64];
    int count = 11;
    for (int i = 0; i < NODES; i++) {
        snprintf (nodes[i], sizeof (nodes[i]), "n%d:%d", i, SLOTS);
        arguments[count++] = "--node";
        arguments[count++] = nodes[i];
    }
    server->pid = fork ();
    if (server->pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGTERM); /* stops the daemon and its jobs if this program dies */
        execv (polluxd, (char **)arguments);
        die (polluxd);
    }
    do {
        if (waitpid (server->pid, NULL, WNOHANG) != 0)
            die ("polluxd ended");
        usleep (2000);
        read_line (server, "address", address, sizeof (address));
    } while (!*address);
    server->port = (uint16_t)atoi (strrchr (address, ':') + 1);
    read_line (server, "admin.token", server->token, sizeof (server->token));
}

static void stop (struct server *server)
{
    char command[PATH_MAX + 16];
    int status = 0;
    kill (server->pid, SIGTERM);
    if (waitpid (server->pid, &status, 0) < 0 || status != 0)
        fprintf (stderr, "daemon_load: polluxd ended with status %d\n", status);
    snprintf (command, sizeof (command), "rm -rf '%s'", server->state);
    if (system (command) != 0)
        die (command);
}

/* ---- A client ---- */

struct connection {
    int fd;
    double due_s; /* when the open request was due; 0: none is open */
    int reporter; /* index of the reporter; -1: a query */
    char *answer;
    size_t length;
};

static struct connection connect_to (const struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons (server->port),
                                  .sin_addr.s_addr = htonl (INADDR_LOOPBACK)};
    int one = 1, fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *answer = malloc (ANSWER_SIZE);
    if (fd < 0 || !answer || connect (fd, (struct sockaddr *)&address, sizeof (address)) < 0)
        die ("cannot connect");
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof (one));
    return (struct connection){.fd = fd, .answer = answer};
}

static void disconnect (struct connection *connection)
{
    close (connection->fd);
    free (connection->answer);
}

static void request (struct connection *connection, const char *target, const char *token,
                     const char *body)
{
    char text[TEXT_SIZE];
    int length = snprintf (text, sizeof (text),
                           "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                           "%sContent-Length: %zu\r\n\r\n%s",
                           body ? "POST" : "GET", target, token,
                           body ? "Content-Type: application/json\r\n" : "",
                           body ? strlen (body) : 0, body ? body : "");
    connection->length = 0;
    if (send (connection->fd, text, (size_t)length, MSG_NOSIGNAL) != length)
        die ("cannot send");
}

/* Read the bytes that have arrived.  Returns the body if the answer is complete, otherwise NULL. */
static const char *receive (struct connection *connection, int *ret_status)
{
    ssize_t got = recv (connection->fd, connection->answer + connection->length,
                        ANSWER_SIZE - 1 - connection->length, 0);
    if (got <= 0)
        die ("the daemon has hung up");
    connection->length += (size_t)got;
    connection->answer[connection->length] = '\0';
    char *head_end = strstr (connection->answer, "\r\n\r\n");
    const char *field = strcasestr (connection->answer, "\r\nContent-Length: ");
    if (!head_end || !field)
        return NULL;
    size_t body = strtoul (field + 18, NULL, 10);
    *ret_status = atoi (connection->answer + strlen ("HTTP/1.1 "));
    bool whole = connection->length >= (size_t)(head_end + 4 - connection->answer) + body;
    return whole ? head_end + 4 : NULL;
}

/* Send a request and wait for its JSON answer. */
static json_t *ask (const struct server *server, const char *target)
{
    struct connection connection = connect_to (server);
    const char *body;
    int status = 0;
    request (&connection, target, server->token, NULL);
    while (!(body = receive (&connection, &status)))
        ;
    json_t *json = json_loads (body, 0, NULL);
    disconnect (&connection);
    if (status != 200 || !json)
        die (target);
    return json;
}

/* ---- The load ---- */

struct reporter {
    char name[64], token[TOKEN_JOB_SIZE];
    int generation;
};

struct load {
    const struct server *server;
    double rate, seconds;
    struct reporter *reporters;
    int reporter_count;
    struct connection connections[CONNECTIONS];
    int idle[CONNECTIONS], idle_count; /* connections without an open request */
    int epoll;
    struct connection follower;
    double *answer_s; /* seconds of each report */
    double *asked_s;  /* seconds of each query */
    long answers, asked, stale, refused;
};

static void find_reporters (struct load *load)
{
    struct tokens *tokens;
    struct pollux_error err;
    size_t i;
    json_t *job;
    if (tokens_open (load->server->state, &tokens, &err) < 0)
        die (err.text);
    json_t *list = ask (load->server, "/v1/jobs?phase=running&limit=1000");
    load->reporter_count = 0;
    json_array_foreach (json_object_get (list, "jobs"), i, job)
    {
        if (load->reporter_count == REPORTERS_MOST)
            break;
        struct reporter *reporter = &load->reporters[load->reporter_count++];
        snprintf (reporter->name, sizeof (reporter->name), "%s",
                  json_string_value (json_object_get (job, "name")));
        reporter->generation = (int)json_integer_value (json_object_get (job, "generation"));
        tokens_job (tokens, reporter->name, reporter->generation, reporter->token);
    }
    json_decref (list);
    tokens_free (tokens);
}

static void report (struct load *load, struct connection *connection, long number)
{
    int who = (int)(number % load->reporter_count);
    const struct reporter *reporter = &load->reporters[who];
    char target[128], body[1024];
    snprintf (target, sizeof (target), "/v1/jobs/%s/hints", reporter->name);
    snprintf (body, sizeof (body),
              "{\"version\": 1, \"generation\": %d, \"model\": {\"alpha_grad\": 0.0512345678, "
              "\"beta_grad\": 0.00112345678, \"alpha_node\": 0.212345678, \"beta_node\": "
              "0.00212345678, \"alpha_local\": 0.0512345678, \"beta_local\": 0.00112345678, "
              "\"gamma\": 2.12345678}, \"grad\": {\"sqr\": 0.0112345678, \"var\": %.9f}, "
              "\"init_batch\": 128, \"max_batch\": 8192, \"min_local\": 16, \"max_local\": 512, "
              "\"accumulation\": true, \"max_profiled_replicas\": 8, \"progress\": %.2f, "
              "\"total\": 1000000, \"m\": 128, \"s\": 0}",
              reporter->generation, 0.1 * (1 + who % 7) * (1 + 1e-6 * (double)(number % 1000)),
              100 + 0.25 * (double)number);
    connection->reporter = who;
    request (connection, target, reporter->token, body);
}

/* The queries of users and their programs, in turn. */
static void query (struct load *load, struct connection *connection, long number)
{
    static const char *const seldom[] = {"/v1/status", "/v1/nodes", "/v1/rounds?limit=50",
                                         "/metrics"};
    char target[128];
    if (number % 29 < 20)
        snprintf (target, sizeof (target), "/v1/jobs/train-%05ld", number * 7919 % JOBS);
    else if (number % 29 < 25)
        snprintf (target, sizeof (target), "/v1/jobs?phase=live&limit=100");
    else
        snprintf (target, sizeof (target), "%s", seldom[number % 29 - 25]);
    connection->reporter = -1;
    request (connection, target, load->server->token, NULL);
}

/* The job may have been restarted meanwhile: its next report has the new generation. */
static void take_answer (struct load *load, struct connection *connection, double now_s)
{
    static const char news[] = "has ended; generation ";
    int status = 0;
    const char *body = receive (connection, &status);
    if (!body)
        return;
    if (connection->reporter < 0)
        load->asked_s[load->asked++] = now_s - connection->due_s;
    else
        load->answer_s[load->answers++] = now_s - connection->due_s;
    const char *newer = status == 409 ? strstr (body, news) : NULL;
    if (newer)
        load->reporters[connection->reporter].generation = atoi (newer + sizeof (news) - 1);
    load->stale += status == 409;
    load->refused += status >= 400 && status != 409;
    load->idle[load->idle_count++] = (int)(connection - load->connections);
}

static void add (struct load *load, struct connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl (load->epoll, EPOLL_CTL_ADD, connection->fd, &event) < 0)
        die ("epoll");
}

static void open_connections (struct load *load)
{
    load->epoll = epoll_create1 (EPOLL_CLOEXEC);
    for (int i = 0; i < CONNECTIONS; i++) {
        load->connections[i] = connect_to (load->server);
        add (load, &load->connections[i]);
        load->idle[load->idle_count++] = i;
    }
    load->follower = connect_to (load->server);
    request (&load->follower, "/v1/events?follow=1", load->server->token, NULL);
    add (load, &load->follower);
}

static void close_connections (struct load *load)
{
    for (int i = 0; i < CONNECTIONS; i++)
        disconnect (&load->connections[i]);
    disconnect (&load->follower);
    close (load->epoll);
}

/* Send due requests while connections are free, and take answers until the next is due. */
static void run (struct load *load)
{
    double start_s = bench_now_s (), asked_rate = 29;
    long reports = 0, queries = 0;
    long all_reports = (long)(load->rate * load->seconds);
    long all_queries = (long)(asked_rate * load->seconds);
    while (load->answers < all_reports || load->asked < all_queries) {
        double now_s = bench_now_s ();
        double report_s = start_s + (double)reports / load->rate;
        double query_s = start_s + (double)queries / asked_rate;
        bool reporting = reports < all_reports && now_s >= report_s;
        bool asking = queries < all_queries && now_s >= query_s;
        if (load->idle_count > 0 && (reporting || asking)) {
            struct connection *connection = &load->connections[load->idle[--load->idle_count]];
            connection->due_s = asking ? query_s : report_s;
            if (asking)
                query (load, connection, queries++);
            else
                report (load, connection, reports++);
            continue;
        }
        struct epoll_event events[CONNECTIONS];
        struct timespec wait = {.tv_nsec = 1000000}; /* an answer may set a connection free */
        double left_s = fmin (report_s, query_s) - now_s;
        if (left_s > 0 && left_s < 1e-3)
            wait.tv_nsec = (long)(left_s * 1e9);
        int count = epoll_pwait2 (load->epoll, events, CONNECTIONS, &wait, NULL);
        now_s = bench_now_s ();
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection != &load->follower)
                take_answer (load, connection, now_s);
            else if (recv (connection->fd, connection->answer, ANSWER_SIZE, 0) <= 0)
                die ("events ended");
        }
    }
}

/* ---- Figures ---- */

static double percentile (double *values, long count, double share)
{
    qsort (values, (size_t)count, sizeof (values[0]), bench_compare);
    return count ? values[(long)(share * (double)(count - 1))] : NAN;
}

/* Print the number of rounds since that time, and the time of the longest decision. */
static void print_rounds (const struct server *server, double since_at)
{
    json_t *answer = ask (server, "/v1/rounds?limit=1000"), *round;
    double decide_s = 0;
    size_t i;
    int count = 0;
    json_array_foreach (json_object_get (answer, "rounds"), i, round)
    {
        if (json_number_value (json_object_get (round, "at")) < since_at)
            break;
        decide_s = fmax (decide_s, json_number_value (json_object_get (round, "decide_s")));
        count++;
    }
    json_decref (answer);
    bench_print ("rounds", count, "");
    bench_print ("decide_max_ms", decide_s * 1e3, "ms");
}

static double server_now_at (const struct server *server)
{
    json_t *status = ask (server, "/v1/status");
    double at = json_number_value (json_object_get (status, "now_at"));
    json_decref (status);
    return at;
}

/* Request the health until the first rounds have started all replicas. */
static void watch_starts (const struct server *server)
{
    enum { MOST = 2000 };
    double answer_s[MOST] = {0};
    struct connection connection = connect_to (server);
    double from_s = bench_now_s ();
    long count = 0;
    while (count < MOST && bench_now_s () - from_s < 5) {
        int status = 0;
        double start_s = bench_now_s ();
        request (&connection, "/healthz", server->token, NULL);
        while (!receive (&connection, &status))
            ;
        answer_s[count++] = bench_now_s () - start_s;
        usleep (5000);
    }
    disconnect (&connection);
    bench_print ("starting_p99_ms", percentile (answer_s, count, 0.99) * 1e3, "ms");
    bench_print ("starting_max_ms", percentile (answer_s, count, 1) * 1e3, "ms");
}

/* On a busy machine the first replicas need more than the time of watch_starts. */
static void wait_for_reporters (struct load *load)
{
    enum { MOST_S = 60 };
    for (int i = 0; i < MOST_S && load->reporter_count == 0; i++) {
        if (i > 0)
            sleep (1);
        find_reporters (load);
    }
    if (load->reporter_count == 0)
        die ("no job runs");
}

static void print_load (struct load *load)
{
    double p99_s = percentile (load->answer_s, load->answers, 0.99);
    bench_print ("report_p50_ms", percentile (load->answer_s, load->answers, 0.5) * 1e3, "ms");
    bench_print ("report_p99_ms", p99_s * 1e3, "ms");
    bench_print ("report_max_ms", percentile (load->answer_s, load->answers, 1) * 1e3, "ms");
    bench_print ("query_p99_ms", percentile (load->asked_s, load->asked, 0.99) * 1e3, "ms");
    bench_print ("reports", (double)load->answers, "");
    bench_print ("of_old_generations", (double)load->stale, "");
    bench_print ("refused", (double)load->refused, "");
    bench_target ("report_p99_ms", p99_s * 1e3, 20);
    bench_target ("refused", (double)load->refused, 0);
}

static void measure_load (const char *polluxd, int live, double rate, double seconds)
{
    struct server server = {.pid = -1};
    struct load load = {.server = &server, .rate = rate, .seconds = seconds};
    char path[PATH_MAX + 16];
    make_state (&server);
    snprintf (path, sizeof (path), "%s/journal.db", server.state);
    seed_journal (path, live);
    double start_s = bench_now_s ();
    start (&server, polluxd);
    bench_print ("start_s", bench_now_s () - start_s, "s");
    load.reporters = calloc (REPORTERS_MOST, sizeof (load.reporters[0]));
    load.answer_s = calloc ((size_t)(rate * seconds) + 1, sizeof (double));
    load.asked_s = calloc ((size_t)(29 * seconds) + 1, sizeof (double));
    if (!load.reporters || !load.answer_s || !load.asked_s)
        die ("no memory");
    watch_starts (&server);
    wait_for_reporters (&load);
    bench_print ("reporters", load.reporter_count, "");
    open_connections (&load);
    double cpu_s = proc_cpu_s (&server), since_at = server_now_at (&server);
    double woken = proc_status (&server, "voluntary_ctxt_switches");
    start_s = bench_now_s ();
    run (&load);
    double took_s = bench_now_s () - start_s;
    print_load (&load);
    print_rounds (&server, since_at);
    bench_print ("cpu_share", (proc_cpu_s (&server) - cpu_s) / took_s, "cores");
    bench_print ("wake_ups_per_s",
                 (proc_status (&server, "voluntary_ctxt_switches") - woken) / took_s, "1/s");
    double memory_mb = proc_status (&server, "VmHWM") / 1024;
    bench_print ("memory_mb", memory_mb, "MB");
    bench_target ("memory_mb", memory_mb, 300);
    close_connections (&load);
    stop (&server);
    free (load.reporters);
    free (load.answer_s);
    free (load.asked_s);
}

static void measure_idle (const char *polluxd)
{
    struct server server = {.pid = -1};
    make_state (&server);
    start (&server, polluxd);
    sleep (1);
    double woken = proc_status (&server, "voluntary_ctxt_switches");
    sleep (3);
    woken = proc_status (&server, "voluntary_ctxt_switches") - woken;
    double memory_mb = proc_status (&server, "VmRSS") / 1024;
    bench_print ("idle_memory_mb", memory_mb, "MB");
    bench_print ("idle_wake_ups", woken, "");
    bench_target ("idle_memory_mb", memory_mb, 20);
    bench_target ("idle_wake_ups", woken, 0);
    stop (&server);
}

int main (int argc, char *argv[])
{
    char polluxd[PATH_MAX];
    const char *soak = getenv ("POLLUX_SOAK");
    double live = JOBS / 10, rate = 2000, seconds = soak && *soak ? 60 : 6;
    for (int i = 1; i + 1 < argc; i += 2)
        *(strcmp (argv[i], "--live") == 0   ? &live
          : strcmp (argv[i], "--rate") == 0 ? &rate
                                            : &seconds) = strtod (argv[i + 1], NULL);
    ssize_t length = readlink ("/proc/self/exe", polluxd, sizeof (polluxd) - 16);
    if (length < 0)
        die ("/proc/self/exe");
    polluxd[length] = '\0';
    for (int i = 0; i < 2; i++)
        *strrchr (polluxd, '/') = '\0';
    strcat (polluxd, "/polluxd");
    measure_idle (polluxd);
    measure_load (polluxd, (int)live, rate, seconds);
    return 0;
}
