/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that order and return nodes, with real processes: a shell that writes its arguments to a file.
 */
#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "daemon/power_hooks.h"
#include "power_fixture.h"

enum { NODES = 1000 };

struct fixture {
    char directory[256], grow[256], shrink[256];
    struct logger logger;
    struct cluster cluster;
    struct power_hooks *hooks;
    int64_t now_us;
};

static struct power_hooks_options options_of (struct fixture *f, char *const *grow,
                                              char *const *shrink, double timeout_s)
{
    return (struct power_hooks_options){.grow = grow,
                                        .shrink = shrink,
                                        .timeout_s = timeout_s,
                                        .state = f->directory,
                                        .program = "/bin/pollux",
                                        .logger = &f->logger};
}

/* Commands that append "KIND NAME" for each name to a file, after a text for the shell. */
static struct fixture *fixture_new (const char *first, double timeout_s)
{
    struct fixture *f = calloc (1, sizeof (*f));
    struct pollux_error err = {.text = ""};
    struct node_group group = power_group ("g", NODES, 1);
    f->logger = (struct logger){.fd = -1};
    snprintf (f->directory, sizeof (f->directory), "%s/power-hooks.XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (f->directory));
    snprintf (f->grow, sizeof (f->grow), "%s; for n; do echo grow $n; done >>$POLLUX_STATE/calls",
              first);
    snprintf (f->shrink, sizeof (f->shrink),
              "for n; do echo shrink $n; done >>$POLLUX_STATE/calls");
    char *grow[] = {"/bin/sh", "-c", f->grow, "grow", NULL};
    char *shrink[] = {"/bin/sh", "-c", f->shrink, "shrink", NULL};
    struct power_hooks_options options = options_of (f, grow, shrink, timeout_s);
    assert_int_equal (power_hooks_new (&options, &f->hooks, &err), 0);
    assert_int_equal (power_groups (&f->cluster, f->now_us = 1, &group, 1), 0);
    return f;
}

static void fixture_free (struct fixture *f)
{
    char path[300];
    power_hooks_free (f->hooks); /* no record of a command is left */
    snprintf (path, sizeof (path), "%s/calls", f->directory);
    unlink (path);
    assert_int_equal (rmdir (f->directory), 0);
    cluster_clear (&f->cluster);
    free (f);
}

/* Lines of the file that begin with a text. */
static int count_calls (const struct fixture *f, const char *text)
{
    char path[300], line[256];
    int count = 0;
    snprintf (path, sizeof (path), "%s/calls", f->directory);
    FILE *file = fopen (path, "re");
    while (file && fgets (line, sizeof (line), file))
        count += strncmp (line, text, strlen (text)) == 0;
    if (file)
        fclose (file);
    return count;
}

static void order (struct fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        char name[NAME_SIZE];
        node_group_node (&f->cluster.power.groups[0], i, name);
        assert_int_equal (
            power_post (&f->cluster, ++f->now_us, name, POWER_STARTING, INT64_MAX / 4), 0);
    }
}

/* Turns until a condition holds, and the nodes that became off meanwhile. */
static int run (struct fixture *f, bool (*until) (const struct fixture *f))
{
    int off = 0;
    struct event event;
    for (int i = 0; i < 20000 && !until (f); i++) {
        struct pollfd wait = {.fd = power_hooks_fd (f->hooks), .events = POLLIN};
        power_hooks_act (f->hooks, &f->cluster, f->now_us);
        poll (&wait, 1, 10);
        power_hooks_turn (f->hooks, &f->cluster);
        while (power_hooks_next (f->hooks, &f->cluster, f->now_us, &event) > 0) {
            event.at_us = ++f->now_us;
            assert_int_equal (cluster_apply (&f->cluster, &event, NULL), 0);
            off++;
        }
    }
    assert_true (until (f));
    return off;
}

static bool all_grown (const struct fixture *f)
{
    return count_calls (f, "grow ") == NODES;
}
static bool all_off (const struct fixture *f)
{
    for (int i = 0; i < f->cluster.node_count; i++)
        if (f->cluster.node_power[i].state != POWER_OFF)
            return false;
    return true;
}
static bool is_quiet (const struct fixture *f)
{
    return power_hooks_due_us (f->hooks) == INT64_MAX;
}

/* A thousand nodes are ordered and returned, each once. */
static void test_many (void **state)
{
    (void)state;
    struct fixture *f = fixture_new (":", 60);
    order (f, NODES);
    assert_int_equal (power_hooks_full (f->hooks, &f->cluster), 1);
    run (f, all_grown);
    run (f, is_quiet);
    assert_int_equal (power_hooks_full (f->hooks, &f->cluster), 0);
    assert_int_equal (count_calls (f, "grow "), NODES);
    assert_int_equal (count_calls (f, "grow g-999\n"), 1);
    for (int i = 0; i < NODES; i++)
        assert_int_equal (
            power_post (&f->cluster, ++f->now_us, f->cluster.nodes[i].name, POWER_STOPPING, 0), 0);
    assert_int_equal (run (f, all_off), NODES);
    assert_int_equal (count_calls (f, "shrink "), NODES);
    fixture_free (f);
}

static bool both_called (const struct fixture *f)
{
    return count_calls (f, "grow h-") == 1 && count_calls (f, "shrink g-") == 1 &&
           power_state_of (&f->cluster, "g-200") == POWER_OFF;
}

/* A grow that hangs delays neither the one of another group, nor a shrink. */
static void test_groups (void **state)
{
    (void)state;
    struct fixture *f = fixture_new ("[ $POLLUX_GROUP != g ] || sleep 1000", 60);
    struct node_group groups[] = {power_group ("g", NODES, 1), power_group ("h", NODES, 1)};
    assert_int_equal (power_groups (&f->cluster, ++f->now_us, groups, 2), 0);
    order (f, HOOK_NODES + 1);
    assert_int_equal (power_hooks_full (f->hooks, &f->cluster), 1);
    power_hooks_act (f->hooks, &f->cluster, f->now_us);
    assert_int_equal (power_post (&f->cluster, ++f->now_us, "h-0", POWER_STARTING, INT64_MAX / 4),
                      0);
    assert_int_equal (power_node (&f->cluster, ++f->now_us, "g-200", 4), 0);
    assert_int_equal (power_post (&f->cluster, ++f->now_us, "g-200", POWER_STOPPING, 0), 0);
    assert_int_equal (run (f, both_called), 1);
    assert_int_equal (count_calls (f, "grow g-"), 0);
    fixture_free (f);
}

static bool has_failed (const struct fixture *f)
{
    int64_t due_us = power_hooks_due_us (f->hooks);
    return due_us != INT64_MAX && due_us > clock_monotonic_us () + 2000000;
}
static bool both_grown (const struct fixture *f)
{
    return count_calls (f, "grow ") >= 2;
}

/* A command that fails, hangs, or does not exist is called again later; with another command at once. */
static void test_failures (void **state)
{
    (void)state;
    static const char *const firsts[] = {"exit 3", "sleep 1000", "kill -9 $$", "yes"};
    for (size_t i = 0; i < sizeof (firsts) / sizeof (firsts[0]); i++) {
        struct fixture *f = fixture_new (firsts[i], 0.3);
        char *grow[] = {"/bin/sh", "-c", f->grow, "grow", NULL};
        order (f, 2);
        run (f, has_failed);
        assert_int_equal (count_calls (f, "grow "), 0);
        snprintf (f->grow, sizeof (f->grow), "for n; do echo grow $n; done >>$POLLUX_STATE/calls");
        struct power_hooks_options options = options_of (f, grow, grow, 60);
        assert_int_equal (power_hooks_change (f->hooks, &options, NULL), 0);
        run (f, both_grown);
        run (f, is_quiet);
        assert_int_equal (count_calls (f, "grow "), 2);
        fixture_free (f);
    }
}

/* A node whose order is cancelled while its command runs is returned after that, not beside it. */
static void test_cancelled (void **state)
{
    (void)state;
    struct fixture *f = fixture_new ("sleep 0.3", 60);
    order (f, 1);
    power_hooks_act (f->hooks, &f->cluster, f->now_us);
    assert_int_equal (power_post (&f->cluster, ++f->now_us, "g-0", POWER_STOPPING, 0), 0);
    power_hooks_act (f->hooks, &f->cluster, f->now_us);
    assert_int_equal (count_calls (f, "shrink "), 0);
    assert_int_equal (run (f, all_off), 1);
    assert_int_equal (count_calls (f, "grow "), 1);
    assert_int_equal (count_calls (f, "shrink "), 1);
    fixture_free (f);
}

static bool has_returned (const struct fixture *f)
{
    return count_calls (f, "shrink ") == 2 && all_off (f);
}

/* A node that comes up while it is being returned does not exist after that: it is returned once more, and then off. */
static void test_came_up (void **state)
{
    (void)state;
    struct fixture *f = fixture_new (":", 60);
    struct event up = {.type = EVENT_NODE, .job = -1};
    order (f, 1);
    assert_int_equal (power_post (&f->cluster, ++f->now_us, "g-0", POWER_FAILED, INT64_MAX / 4), 0);
    power_hooks_act (f->hooks, &f->cluster, f->now_us);
    up.at_us = ++f->now_us;
    up.node = (struct node){.name = "g-0", .slots = 1, .available = true};
    assert_int_equal (cluster_apply (&f->cluster, &up, NULL), 0);
    assert_int_equal (f->cluster.node_power[0].state, POWER_UP);
    struct event next; /* before the commit of the report, while the command runs */
    assert_int_equal (power_hooks_next (f->hooks, &f->cluster, f->now_us, &next), 1);
    assert_int_equal (next.power.state, POWER_STOPPING);
    assert_int_equal (run (f, has_returned), 2); /* stopping, off */
    fixture_free (f);
}

static bool was_returned (const struct fixture *f)
{
    return count_calls (f, "shrink ") == 1 && is_quiet (f);
}

/* The same if its report comes after the return. */
static void test_came_up_late (void **state)
{
    (void)state;
    struct fixture *f = fixture_new (":", 60);
    order (f, 1);
    assert_int_equal (power_post (&f->cluster, ++f->now_us, "g-0", POWER_FAILED, INT64_MAX / 4), 0);
    assert_int_equal (run (f, was_returned), 0);
    assert_int_equal (power_node (&f->cluster, ++f->now_us, "g-0", 1), 0);
    assert_int_equal (f->cluster.node_power[0].state, POWER_UP);
    struct event next; /* before the commit of the report */
    assert_int_equal (power_hooks_next (f->hooks, &f->cluster, f->now_us, &next), 1);
    assert_int_equal (next.power.state, POWER_STOPPING);
    assert_int_equal (run (f, has_returned), 2); /* stopping, off */
    fixture_free (f);
}

/* Jobs that are being stopped have until the deadline, and no longer: then shrink is called. */
static void test_deadline (void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        struct fixture *f = fixture_new (":", 60);
        int64_t deadline_us = 1000;
        order (f, 1);
        assert_int_equal (power_node (&f->cluster, ++f->now_us, "g-0", 1), 0);
        power_job (&f->cluster, ++f->now_us, "ann", false, 0, 1);
        assert_int_equal (power_post (&f->cluster, ++f->now_us, "g-0", POWER_DRAINING, deadline_us),
                          0);
        assert_int_equal (power_post (&f->cluster, ++f->now_us, "g-0", POWER_STOPPING, deadline_us),
                          0);
        power_hooks_act (f->hooks, &f->cluster, f->now_us);
        assert_true (is_quiet (f));
        if (ends)
            power_exit (&f->cluster, ++f->now_us, 0);
        else
            f->now_us = deadline_us;
        assert_int_equal (run (f, was_returned), 1); /* off */
        fixture_free (f);
    }
}

/* A group of a fixed size needs no commands: its node comes, goes, is off, and may come again. */
static void test_without_commands (void **state)
{
    (void)state;
    struct fixture *f = fixture_new (":", 60);
    struct node_group group = power_group ("g", 1, 1);
    struct power_hooks_options options = options_of (f, NULL, NULL, 60);
    group.min_nodes = group.nodes = 1;
    assert_int_equal (power_groups (&f->cluster, ++f->now_us, &group, 1), 0);
    assert_int_equal (power_hooks_change (f->hooks, &options, NULL), 0);
    order (f, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal (power_node (&f->cluster, ++f->now_us, "g-0", 4), 0);
        assert_int_equal (f->cluster.node_power[0].state, POWER_UP);
        assert_int_equal (power_node (&f->cluster, ++f->now_us, "g-0", 0), 0);
        assert_int_equal (run (f, all_off), 1);
    }
    fixture_free (f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_groups),           cmocka_unit_test (test_many),
        cmocka_unit_test (test_failures),         cmocka_unit_test (test_cancelled),
        cmocka_unit_test (test_came_up),          cmocka_unit_test (test_came_up_late),
        cmocka_unit_test (test_without_commands), cmocka_unit_test (test_deadline),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
