/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lives.h"

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

int64_t lives_deadline (void)
{
    return monotonic_us () + 2 * MINUTE_US;
}

bool lives_late (int64_t deadline)
{
    return monotonic_us () > deadline;
}

void lives_fail (struct lives *lives, const char *what)
{
    fail_msg ("waited in vain for: %s\n%s", what, lives->said);
}

/* ---- The daemon --------------------------------------------------------------------------- */

static void take_log (void *self, int level, const char *text)
{
    struct lives *lives = self;
    size_t length = strlen (lives->said);
    (void)level;
    if (length + strlen (text) + 2 < sizeof (lives->said))
        snprintf (lives->said + length, sizeof (lives->said) - length, "%s\n", text);
}

static int give_token (void *self, const char *job, char *ret, size_t size)
{
    (void)self;
    return snprintf (ret, size, "secret-of-%s", job) < (int)size ? 0 : -1;
}

static int append (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err)
{
    struct lives *lives = self;
    struct lives_event *at = &lives->events[lives->count];
    (void)cluster;
    (void)err;
    if (event->type != EVENT_START && event->type != EVENT_STARTED && event->type != EVENT_EXIT)
        return 0;
    assert_true (lives->count < LIVES_EVENTS);
    *at = (struct lives_event){.type = event->type, .job = event->job};
    at->generation = event->start.generation;
    if (event->type == EVENT_EXIT) {
        at->generation = event->exit.generation;
        at->kind = event->exit.kind;
        memcpy (at->detail, event->exit.detail, DETAIL_SIZE);
    }
    lives->count++;
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

int lives_try_return (struct lives *lives, struct pollux_error *err)
{
    char program[4096];
    find_program (program, sizeof (program));
    struct local_options options = {.state = lives->path,
                                    .program = *lives->program ? lives->program : program,
                                    .machine = &lives->machine,
                                    .keep_jobs = lives->keep_jobs,
                                    .url = "http://127.0.0.1:9",
                                    .token = give_token,
                                    .log = take_log,
                                    .self = lives};
    int code = local_new (&options, &lives->local, err);
    if (code < 0)
        return code;
    lives->loop.backend = local_backend (lives->local);
    return local_recover (lives->local, &lives->loop.cluster, err);
}

void lives_return (struct lives *lives)
{
    struct pollux_error err = {.text = ""};
    if (lives_try_return (lives, &err) < 0)
        fail_msg ("%s", err.text);
}

void lives_die (struct lives *lives)
{
    local_free (lives->local);
    lives->local = NULL;
}

static void take (struct lives *lives, struct event *event)
{
    struct pollux_error err = {.text = ""};
    event->at_us = ++lives->now_us;
    if (loop_post (&lives->loop, event, &err) < 0)
        fail_msg ("%s: %s", event_names[event->type], err.text);
}

static void take_all (struct lives *lives)
{
    struct event event;
    while (local_next_event (lives->local, &lives->loop.cluster, &event) > 0)
        take (lives, &event);
}

void lives_step (struct lives *lives)
{
    struct pollux_error err = {.text = ""};
    take_all (lives);
    if (loop_settle (&lives->loop, &err) < 0)
        fail_msg ("settle: %s", err.text);
    int64_t left_us = local_due_us (lives->local) - monotonic_us ();
    struct pollfd wait = {.fd = local_fd (lives->local), .events = POLLIN};
    int ms = left_us <= 0 ? 0 : left_us < STEP_MS * 1000 ? (int)(left_us / 1000 + 1) : STEP_MS;
    poll (&wait, 1, ms);
    local_step (lives->local, &lives->loop.cluster);
    take_all (lives);
}

/* ---- Jobs --------------------------------------------------------------------------------- */

struct launch lives_launch (void)
{
    return (struct launch){.owner = "ann",
                           .launcher = LAUNCHER_ENV,
                           .stop_signal = SIGTERM,
                           .grace_s = 30,
                           .max_failures = 3,
                           .backoff_s = 10};
}

int lives_submit (struct lives *lives, const char *name, const char *script,
                  const struct launch *more)
{
    struct launch launch = more ? *more : lives_launch ();
    char *words[] = {"/bin/sh", "-c", (char *)script, NULL}, *none[] = {NULL};
    struct job_spec spec = {
        .max_replicas = 4, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
    struct event event = {.type = EVENT_SUBMIT, .job = lives->loop.cluster.job_count};
    snprintf (spec.name, NAME_SIZE, "%s", name);
    if (!launch.command)
        launch.command = words;
    if (!launch.environment)
        launch.environment = none;
    if (!launch.directory)
        launch.directory = lives->path;
    event.submit.spec = &spec;
    event.submit.launch = &launch;
    take (lives, &event);
    return event.job;
}

void lives_cancel (struct lives *lives, int job)
{
    struct event event = {.type = EVENT_CANCEL, .job = job};
    take (lives, &event);
}

void lives_plan (struct lives *lives, int count, const int (*replicas)[2])
{
    struct event round = {.type = EVENT_ROUND, .job = -1};
    struct event event = {.type = EVENT_PLAN, .job = -1};
    const struct job_list *active = &lives->loop.cluster.active;
    take (lives, &round);
    assert_int_equal (plan_reset (&lives->loop.plan, active->count), 0);
    for (int i = 0; i < active->count; i++) {
        int job = active->indices[i];
        struct share shares[2] = {0};
        int used = 0;
        for (int node = 0; node < 2 && job < count; node++)
            if (replicas[job][node] > 0)
                shares[used++] = (struct share){.node = node, .replicas = replicas[job][node]};
        struct placement placement = {.shares = shares, .count = used};
        assert_int_equal (plan_place (&lives->loop.plan, i, placement), 0);
    }
    event.plan = &lives->loop.plan;
    take (lives, &event);
}

const struct job *lives_job (const struct lives *lives, int job)
{
    return lives->loop.cluster.jobs[job];
}

int lives_seen (const struct lives *lives, enum event_type type, int job)
{
    int count = 0;
    for (int i = 0; i < lives->count; i++)
        count += lives->events[i].type == type && lives->events[i].job == job;
    return count;
}

const struct lives_event *lives_exit (const struct lives *lives, int job)
{
    for (int i = lives->count - 1; i >= 0; i--)
        if (lives->events[i].type == EVENT_EXIT && lives->events[i].job == job)
            return &lives->events[i];
    fail_msg ("job %d has not ended", job);
    return NULL;
}

/* ---- Files and processes ------------------------------------------------------------------ */

bool lives_has (const struct lives *lives, const char *file)
{
    char path[512];
    snprintf (path, sizeof (path), "%s/%s", lives->path, file);
    return access (path, F_OK) == 0;
}

void lives_read (const struct lives *lives, const char *file, char *ret, size_t size)
{
    char path[512], *text;
    size_t length;
    snprintf (path, sizeof (path), "%s/%s", lives->path, file);
    *ret = '\0';
    if (file_read (path, 1 << 20, &text, &length, NULL) < 0)
        return;
    snprintf (ret, size, "%s", text);
    free (text);
}

void lives_touch (const struct lives *lives, const char *file)
{
    char path[512];
    snprintf (path, sizeof (path), "%s/%s", lives->path, file);
    int created = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true (created >= 0);
    close (created);
}

int lives_supervisor (const struct lives *lives, const char *job, int generation, int rank)
{
    struct run_view *view = calloc (1, sizeof (*view));
    struct run_name name = {.generation = generation, .rank = rank};
    snprintf (name.job, NAME_SIZE, "%s", job);
    assert_non_null (view);
    int pid =
        run_look (local_root (lives->local), &name, view, NULL) == 0 && view->state == RUN_RUNNING
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

int lives_processes (const struct lives *lives, bool kill_them)
{
    DIR *list = opendir ("/proc");
    const struct dirent *entry;
    int count = 0;
    assert_non_null (list);
    while ((entry = readdir (list))) { /* cppcheck-suppress readdirCalled */
        int pid = atoi (entry->d_name);
        if (pid <= 0 || pid == getpid () ||
            (!mentions (entry->d_name, "cmdline", lives->path) &&
             !mentions (entry->d_name, "environ", lives->path)))
            continue;
        count++;
        if (kill_them)
            kill (pid, SIGKILL);
    }
    closedir (list);
    return count;
}

/* ---- Life and death of a test ------------------------------------------------------------- */

int lives_set_up (void **state)
{
    struct lives *lives = calloc (1, sizeof (*lives));
    struct node nodes[2];
    assert_non_null (lives);
    snprintf (lives->path, sizeof (lives->path), "%s/pollux-lives-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (lives->path));
    assert_int_equal (wire_node_parse ("a:2", &nodes[0], NULL), 0);
    assert_int_equal (wire_node_parse ("b:2", &nodes[1], NULL), 0);
    assert_int_equal (machine_discover ("/no/nvidia-smi", nodes, 2, &lives->machine, NULL), 0);
    lives->now_us = 1000000;
    lives->loop.journal = (struct journal){.append = append, .self = lives};
    for (int i = 0; i < 2; i++) {
        struct event event = {.type = EVENT_NODE, .job = -1};
        event.node = lives->machine.nodes[i].node;
        take (lives, &event);
    }
    lives_return (lives);
    *state = lives;
    return 0;
}

int lives_tear_down (void **state)
{
    struct lives *lives = *state;
    int left = 0;
    if (lives->local)
        lives_die (lives);
    for (int i = 0; i < 500 && (left = lives_processes (lives, true)) > 0; i++) {
        struct timespec pause = {.tv_nsec = 10000000};
        nanosleep (&pause, NULL);
        while (waitpid (-1, NULL, WNOHANG) > 0)
            ;
    }
    while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
    assert_int_equal (left, 0);
    int tmp = open (temporary_folder (), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    safe_dir_remove (tmp, strrchr (lives->path, '/') + 1, NULL);
    close (tmp);
    loop_clear (&lives->loop);
    machine_clear (&lives->machine);
    free (lives);
    return 0;
}
