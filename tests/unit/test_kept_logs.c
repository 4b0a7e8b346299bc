/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which generations of a job keep their files: by size, the newest first.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/kept_logs.h"
#include "backend/run.h"
#include "base/safe_dir.h"

enum { KIB = 1024, ENTRY = 16 * KIB }; /* what a small file or a directory counts as */

struct fixture {
    char path[64];
    int root, job;   /* descriptors of the run directories and of job j's */
    int removed[64]; /* in order */
    int count;
};

static int set_up (void **state)
{
    struct fixture *test = calloc (1, sizeof (*test));
    if (!test)
        return -1;
    snprintf (test->path, sizeof (test->path), "%s/kept.XXXXXX", temporary_folder ());
    if (!mkdtemp (test->path) || run_root_open (test->path, &test->root, NULL) < 0 ||
        safe_dir_make (test->root, "j", NULL) < 0 ||
        safe_dir_open (test->root, "j", &test->job, NULL) < 0)
        return -1;
    *state = test;
    return 0;
}

static int tear_down (void **state)
{
    struct fixture *test = *state;
    char command[96];
    close (test->job);
    close (test->root);
    snprintf (command, sizeof (command), "rm -rf %s", test->path);
    int code = system (command);
    free (test);
    return code;
}

/* A generation with one replica, whose log has that many bytes: 3 entries. */
static void add (const struct fixture *test, int generation, size_t bytes)
{
    char path[160];
    assert_int_equal (run_prepare (test->root, "j", generation, NULL), 0);
    snprintf (path, sizeof (path), "%s/run/j/%d/0", test->path, generation);
    assert_int_equal (mkdir (path, 0700), 0);
    strcat (path, "/out.log");
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    for (size_t i = 0; i < bytes; i++)
        fputc ('x', file);
    assert_int_equal (fclose (file), 0);
}

static void take_removed (void *self, const char *job, int generation)
{
    struct fixture *test = self;
    assert_string_equal (job, "j");
    assert_true (test->count < (int)COUNT (test->removed));
    test->removed[test->count++] = generation;
    assert_int_equal (run_remove (test->root, job, generation, NULL), 0);
}

static bool has (const struct fixture *test, int generation)
{
    char name[16];
    snprintf (name, sizeof (name), "%d", generation);
    return faccessat (test->job, name, F_OK, 0) == 0;
}

static void the_newest_that_fit_are_kept (void **state)
{
    struct fixture *test = *state;
    /* Small ones count as 3 entries each, however few bytes they have. */
    static const int generations[] = {2, 3, 9, 10, 11};
    static const struct {
        int newest;
        int64_t limit;
        int first;
        int64_t used;
    } cases[] = {
        {11, 15 * ENTRY, 2, 15 * ENTRY},
        {11, 15 * ENTRY - 1, 3, 12 * ENTRY},
        {11, 6 * ENTRY, 10, 6 * ENTRY},
        {11, 1, 11, 2 * ENTRY}, /* the newest stays; measuring stops beyond the limit */
        {10, 6 * ENTRY, 9, 6 * ENTRY},
        {20, 6 * ENTRY, 10, 6 * ENTRY},
        {20, 1, 20, 0},
        {1, 1, 1, 0},
    };
    for (size_t i = 0; i < COUNT (generations); i++)
        add (test, generations[i], 1);
    for (size_t i = 0; i < COUNT (cases); i++) {
        int first = -1;
        int64_t used = -1;
        assert_int_equal (
            kept_logs_first (test->job, cases[i].newest, cases[i].limit, &first, &used, NULL), 0);
        if (first != cases[i].first || used != cases[i].used)
            fail_msg ("case %zu: from %d on, %lld bytes", i, first, (long long)used);
    }
    int *numbers = NULL;
    assert_int_equal (kept_logs_list (test->job, &numbers, NULL), COUNT (generations));
    assert_memory_equal (numbers, generations, sizeof (generations));
    free (numbers);
    int oldest = 0;
    assert_int_equal (kept_logs_oldest (test->root, "j", &oldest, NULL), 0);
    assert_int_equal (oldest, 2);
    assert_int_equal (kept_logs_oldest (test->root, "other", &oldest, NULL), -ENOENT);
}

static void large_logs_count_with_their_blocks (void **state)
{
    struct fixture *test = *state;
    int first = 0;
    int64_t used = 0, limit = 1024 * KIB;
    add (test, 1, 1);
    add (test, 2, 600 * KIB);
    add (test, 3, 100 * KIB);
    assert_int_equal (kept_logs_first (test->job, 3, limit, &first, &used, NULL), 0);
    assert_int_equal (first, 1);
    assert_true (used >= 700 * KIB && used < limit);
    limit = 700 * KIB; /* less than the logs of 2 and 3 together, with their directories */
    assert_int_equal (kept_logs_first (test->job, 3, limit, &first, &used, NULL), 0);
    assert_int_equal (first, 3);
    assert_true (used >= 100 * KIB && used < 200 * KIB);
    /* A hole in a file takes no space. */
    char path[160];
    snprintf (path, sizeof (path), "%s/run/j/1/0/out.log", test->path);
    assert_int_equal (truncate (path, (off_t)1 << 40), 0);
    limit = 1024 * KIB;
    assert_int_equal (kept_logs_first (test->job, 3, limit, &first, &used, NULL), 0);
    assert_int_equal (first, 1);
}

/* A job that restarts often: every end adds what it has, and the oldest ones go, some at once. */
static void ends_remove_the_oldest (void **state)
{
    struct fixture *test = *state;
    struct kept_logs kept = {.limit = 30 * ENTRY}; /* 10 generations */
    int oldest = 0;
    for (int i = 1; i <= 40; i++) {
        add (test, i, 1);
        kept_logs_ended (&kept, test->root, "j", 5, i, take_removed, test);
        int64_t used = 0;
        for (int j = 1; j <= i; j++)
            used += has (test, j) ? 3 * ENTRY : 0;
        assert_true (used <= kept.limit);
        assert_true (used == kept.used[5]);
        assert_true (has (test, i));
        if (i == 10)
            assert_int_equal (test->count, 0);
    }
    for (int i = 0; i < test->count; i++) /* the oldest first, and none twice */
        assert_int_equal (test->removed[i], i + 1);
    assert_int_equal (kept_logs_oldest (test->root, "j", &oldest, NULL), 0);
    assert_int_equal (oldest, test->count + 1);
    assert_true (oldest >= 40 - 9 && oldest <= 40 - 7); /* an eighth is freed at once */
    kept_logs_clear (&kept);

    /* A daemon that starts measures again: another limit holds from the next end on. */
    kept = (struct kept_logs){.limit = 9 * ENTRY};
    add (test, 41, 1);
    kept_logs_ended (&kept, test->root, "j", 0, 41, take_removed, test);
    assert_true (has (test, 39) && has (test, 40) && has (test, 41) && !has (test, 38));
    /* The newest one stays, also if it alone is too large; a job without files is no failure. */
    add (test, 42, 2048 * KIB);
    kept_logs_ended (&kept, test->root, "j", 0, 42, take_removed, test);
    assert_true (has (test, 42) && !has (test, 41));
    kept_logs_ended (&kept, test->root, "nosuch", 1, 1, take_removed, test);
    kept_logs_clear (&kept);
}

/* What a job puts beside them is neither a generation nor followed. */
static void odd_names_are_left_alone (void **state)
{
    struct fixture *test = *state;
    int first = 0, *numbers = NULL;
    int64_t used = 0;
    add (test, 1, 1);
    add (test, 2, 1);
    assert_int_equal (mkdirat (test->job, "x", 0700), 0);
    assert_int_equal (mkdirat (test->job, "-1", 0700), 0);
    assert_int_equal (mkdirat (test->job, "99999999999", 0700), 0);
    assert_int_equal (symlinkat ("/", test->job, "3"), 0);
    assert_int_equal (kept_logs_list (test->job, &numbers, NULL), 3);
    free (numbers);
    assert_int_equal (kept_logs_first (test->job, 3, 7 * ENTRY, &first, &used, NULL), 0);
    assert_int_equal (first, 1);
    assert_int_equal (used, 7 * ENTRY);
    assert_int_equal (run_number ("12"), 12);
    assert_int_equal (run_number ("+1"), -1);
    assert_int_equal (run_number (""), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (the_newest_that_fit_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown (large_logs_count_with_their_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown (ends_remove_the_oldest, set_up, tear_down),
        cmocka_unit_test_setup_teardown (odd_names_are_left_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
