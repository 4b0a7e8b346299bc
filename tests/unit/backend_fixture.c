/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "backend_fixture.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "base/file.h"
#include "wire/node.h"

enum { STEP_MS = 20, MINUTE_US = 60000000 };

static int64_t monotonic_us (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t fixture_deadline (void)
{
    return monotonic_us () + 2 * MINUTE_US;
}

bool fixture_expired (int64_t deadline)
{
    return monotonic_us () > deadline;
}

void fixture_fail (struct fixture *fixture, const char *what)
{
    fail_msg ("timeout: %s\n%s", what, fixture->log);
}

/* ---- The daemon --------------------------------------------------------------------------- */

static void append_log (void *self, int level, const char *text)
{
    struct fixture *fixture = self;
    size_t length = strlen (fixture->log);
    (void)level;
    if (length + strlen (text) + 2 < sizeof (fixture->log))
        snprintf (fixture->log + length, sizeof (fixture->log) - length, "%s\n", text);
}

static int give_token (void *self, const char *job, int generation, char *ret, size_t size)
{
    (void)self;
    return snprintf (ret, size, "secret-of-%s-%d", job, generation) < (int)size ? 0 : -1;
}

static int append (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err)
{
    struct fixture *fixture = self;
    struct fixture_event *at = &fixture->events[fixture->count];
    (void)cluster;
    (void)err;
    if (event->type != EVENT_START && event->type != EVENT_STARTED && event->type != EVENT_EXIT)
        return 0;
    assert_true (fixture->count < FIXTURE_EVENTS);
    *at = (struct fixture_event){.type = event->type, .job = event->job};
    at->generation = event->start.generation;
    if (event->type == EVENT_EXIT) {
        at->generation = event->exit.generation;
        at->kind = event->exit.kind;
        memcpy (at->detail, event->exit.detail, DETAIL_SIZE);
    }
    fixture->count++;
    return 0;
}

/* The pollux beside this test's own directory. */
static void find_program (char *ret, size_t size)
{
    ssize_t length = readlink ("/proc/self/exe", ret, size - 16);
    assert_true (length > 0);
    ret[length] = '\0';
    for (int i = 0; i < 2; i++)
        *strrchr (ret, '/') = '\0';
    strcat (ret, "/pollux");
}

static void take (struct fixture *fixture, struct event *event)
{
    struct pollux_error err = {.text = ""};
    event->at_us = ++fixture->now_us;
    if (loop_post (&fixture->loop, event, &err) < 0)
        fail_msg ("%s: %s", event_names[event->type], err.text);
}

static void declare_nodes (struct fixture *fixture)
{
    const struct node *nodes;
    int count = fixture->ops->nodes (fixture->backend, &nodes, NULL);
    for (int i = 0; i < count; i++) {
        struct event event = {.type = EVENT_NODE, .job = -1, .node = nodes[i]};
        take (fixture, &event);
    }
}

int fixture_try_restart (struct fixture *fixture, struct pollux_error *err)
{
    char program[4096];
    find_program (program, sizeof (program));
    struct node nodes[2];
    assert_int_equal (wire_node_parse ("a:2", &nodes[0], NULL), 0);
    assert_int_equal (wire_node_parse ("b:2", &nodes[1], NULL), 0);
    struct backend_options options = {.state = fixture->path,
                                      .program = *fixture->program ? fixture->program : program,
                                      .nvidia_smi = "/no/nvidia-smi",
                                      .nodes = nodes,
                                      .node_count = 2,
                                      .keep_jobs = fixture->keep_jobs,
                                      .log_limit = fixture->log_limit,
                                      .url = "http://127.0.0.1:9",
                                      .token = give_token,
                                      .log = append_log,
                                      .self = fixture};
    int code = fixture->ops->open (&options, &fixture->backend, err);
    if (code < 0)
        return code;
    fixture->loop.backend = backend_for_loop (fixture->ops, fixture->backend);
    if (fixture->loop.cluster.node_count == 0)
        declare_nodes (fixture);
    return fixture->ops->recover (fixture->backend, &fixture->loop.cluster, err);
}

void fixture_restart_daemon (struct fixture *fixture)
{
    struct pollux_error err = {.text = ""};
    if (fixture_try_restart (fixture, &err) < 0)
        fail_msg ("%s", err.text);
}

void fixture_end_daemon (struct fixture *fixture)
{
    fixture->ops->free (fixture->backend);
    fixture->backend = NULL;
}

static void take_all (struct fixture *fixture)
{
    struct event event;
    while (fixture->ops->next_event (fixture->backend, &fixture->loop.cluster, &event) > 0)
        take (fixture, &event);
}

void fixture_step (struct fixture *fixture)
{
    struct pollux_error err = {.text = ""};
    take_all (fixture);
    if (loop_settle (&fixture->loop, &err) < 0)
        fail_msg ("settle: %s", err.text);
    int64_t left_us = fixture->ops->due_us (fixture->backend) - monotonic_us ();
    struct pollfd wait = {.fd = fixture->ops->fd (fixture->backend), .events = POLLIN};
    int ms = left_us <= 0 ? 0 : left_us < STEP_MS * 1000 ? (int)(left_us / 1000 + 1) : STEP_MS;
    poll (&wait, 1, ms);
    fixture->ops->step (fixture->backend, &fixture->loop.cluster);
    take_all (fixture);
}

/* ---- Jobs --------------------------------------------------------------------------------- */

struct launch fixture_launch (void)
{
    return (struct launch){.owner = "ann",
                           .launcher = LAUNCHER_ENV,
                           .stop_signal = SIGTERM,
                           .grace_s = 30,
                           .max_failures = 3,
                           .backoff_s = 10};
}

int fixture_submit (struct fixture *fixture, const char *name, const char *script,
                    const struct launch *more)
{
    struct launch launch = more ? *more : fixture_launch ();
    char *words[] = {"/bin/sh", "-c", (char *)script, NULL}, *none[] = {NULL};
    struct job_spec spec = {
        .max_replicas = 4, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
    struct event event = {.type = EVENT_SUBMIT, .job = fixture->loop.cluster.job_count};
    snprintf (spec.name, NAME_SIZE, "%s", name);
    if (!launch.command)
        launch.command = words;
    if (!launch.environment)
        launch.environment = none;
    if (!launch.directory)
        launch.directory = fixture->path;
    event.submit.spec = &spec;
    event.submit.launch = &launch;
    take (fixture, &event);
    return event.job;
}

void fixture_cancel (struct fixture *fixture, int job)
{
    struct event event = {.type = EVENT_CANCEL, .job = job};
    take (fixture, &event);
}

void fixture_plan (struct fixture *fixture, int count, const int (*replicas)[2])
{
    struct event round = {.type = EVENT_ROUND, .job = -1};
    struct event event = {.type = EVENT_PLAN, .job = -1};
    const struct job_list *active = &fixture->loop.cluster.active;
    take (fixture, &round);
    assert_int_equal (plan_reset (&fixture->loop.plan, active->count), 0);
    for (int i = 0; i < active->count; i++) {
        int job = active->indices[i];
        struct share shares[2] = {0};
        int used = 0;
        for (int node = 0; node < 2 && job < count; node++)
            if (replicas[job][node] > 0)
                shares[used++] = (struct share){.node = node, .replicas = replicas[job][node]};
        struct placement placement = {.shares = shares, .count = used};
        assert_int_equal (plan_place (&fixture->loop.plan, i, placement), 0);
    }
    event.plan = &fixture->loop.plan;
    take (fixture, &event);
}

const struct job *fixture_job (const struct fixture *fixture, int job)
{
    return fixture->loop.cluster.jobs[job];
}

int fixture_event_count (const struct fixture *fixture, enum event_type type, int job)
{
    int count = 0;
    for (int i = 0; i < fixture->count; i++)
        count += fixture->events[i].type == type && fixture->events[i].job == job;
    return count;
}

const struct fixture_event *fixture_exit (const struct fixture *fixture, int job)
{
    for (int i = fixture->count - 1; i >= 0; i--)
        if (fixture->events[i].type == EVENT_EXIT && fixture->events[i].job == job)
            return &fixture->events[i];
    fail_msg ("job %d has not ended", job);
    return NULL;
}

/* ---- Files and processes ------------------------------------------------------------------ */

bool fixture_has (const struct fixture *fixture, const char *file)
{
    char path[512];
    snprintf (path, sizeof (path), "%s/%s", fixture->path, file);
    return access (path, F_OK) == 0;
}

void fixture_read (const struct fixture *fixture, const char *file, char *ret, size_t size)
{
    char path[512], *text;
    size_t length;
    snprintf (path, sizeof (path), "%s/%s", fixture->path, file);
    *ret = '\0';
    if (file_read (path, 1 << 20, &text, &length, NULL) < 0)
        return;
    snprintf (ret, size, "%s", text);
    free (text);
}

void fixture_touch (const struct fixture *fixture, const char *file)
{
    char path[512];
    snprintf (path, sizeof (path), "%s/%s", fixture->path, file);
    int created = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true (created >= 0);
    close (created);
}

int fixture_supervisor (const struct fixture *fixture, const char *job, int generation, int rank)
{
    struct run_view *view = calloc (1, sizeof (*view));
    struct run_name name = {.generation = generation, .rank = rank};
    snprintf (name.job, NAME_SIZE, "%s", job);
    assert_non_null (view);
    int pid = run_look (fixture->root, &name, view, NULL) == 0 && view->state == RUN_RUNNING
                  ? view->info.supervisor.pid
                  : 0;
    free (view);
    return pid;
}

static bool mentions (const char *pid, const char *file, const char *word)
{
    char path[300], *text;
    size_t length;
    snprintf (path, sizeof (path), "/proc/%.200s/%s", pid, file);
    if (file_read (path, 8 << 20, &text, &length, NULL) < 0)
        return false;
    bool found = memmem (text, length, word, strlen (word)) != NULL;
    free (text);
    return found;
}

int fixture_processes (const struct fixture *fixture, bool kill_them)
{
    DIR *list = opendir ("/proc");
    const struct dirent *entry;
    int count = 0;
    assert_non_null (list);
    while ((entry = readdir (list))) { /* cppcheck-suppress readdirCalled */
        int pid = atoi (entry->d_name);
        if (pid <= 0 || pid == getpid () ||
            (!mentions (entry->d_name, "cmdline", fixture->path) &&
             !mentions (entry->d_name, "environ", fixture->path)))
            continue;
        count++;
        if (kill_them)
            kill (pid, SIGKILL);
    }
    closedir (list);
    return count;
}

/* ---- Set up and tear down ------------------------------------------------------------- */

static int set_up (void **state, const char *name)
{
    struct fixture *fixture = calloc (1, sizeof (*fixture));
    assert_non_null (fixture);
    snprintf (fixture->path, sizeof (fixture->path), "%s/pollux-backend-XXXXXX",
              temporary_folder ());
    assert_non_null (mkdtemp (fixture->path));
    fixture->tmpdir = getenv ("TMPDIR") ? strdup (getenv ("TMPDIR")) : NULL;
    setenv ("TMPDIR", fixture->path, 1); /* a killed mpirun leaves files there */
    assert_int_equal (run_root_open (fixture->path, &fixture->root, NULL), 0);
    assert_int_equal (backend_find (name, &fixture->ops, NULL), 0);
    fixture->now_us = 1000000;
    fixture->loop.journal = (struct journal){.append = append, .self = fixture};
    fixture_restart_daemon (fixture);
    *state = fixture;
    return 0;
}

int fixture_set_up (void **state)
{
    return set_up (state, "local");
}

int fixture_set_up_fake (void **state)
{
    return set_up (state, "fake");
}

int fixture_tear_down (void **state)
{
    struct fixture *fixture = *state;
    int left = 0;
    if (fixture->backend)
        fixture_end_daemon (fixture);
    for (int i = 0; i < 500 && (left = fixture_processes (fixture, true)) > 0; i++) {
        struct timespec pause = {.tv_nsec = 10000000};
        nanosleep (&pause, NULL);
        while (waitpid (-1, NULL, WNOHANG) > 0)
            ;
    }
    while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
    assert_int_equal (left, 0);
    if (fixture->tmpdir)
        setenv ("TMPDIR", fixture->tmpdir, 1);
    else
        unsetenv ("TMPDIR");
    int tmp = open (temporary_folder (), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    safe_dir_remove (tmp, strrchr (fixture->path, '/') + 1, NULL);
    close (tmp);
    loop_clear (&fixture->loop);
    close (fixture->root);
    free (fixture->tmpdir);
    free (fixture);
    return 0;
}
