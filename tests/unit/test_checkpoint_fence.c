/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica of an old generation cannot publish a checkpoint after a newer generation has opened the
 * directory, in whatever order the system calls of both are carried out.  Processes are suspended at every
 * fault point and continue in every order.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/checkpoint_fence.h"
#include "pollux/pollux.h"

static char directory[64];

static int make_place (void **state)
{
    (void)state;
    snprintf (directory, sizeof (directory), "%s/pollux-test-XXXXXX", temporary_folder ());
    setenv ("POLLUX_CHECKPOINT_DIR", directory, 1);
    unsetenv ("POLLUX_GENERATION");
    unsetenv ("POLLUX_JOB_ID");
    unsetenv ("POLLUX_JOB");
    return mkdtemp (directory) ? 0 : -1;
}

static void shell (const char *format)
{
    char command[256];
    // cppcheck-suppress wrongPrintfScanfArgNum ; some formats use one of them
    snprintf (command, sizeof (command), format, directory, directory);
    assert_int_equal (0, system (command)); /* NOLINT */
}

static int remove_place (void **state)
{
    (void)state;
    unsetenv ("POLLUX_GENERATION");
    shell ("rm -rf %s");
    return 0;
}

static void become (const char *job, int generation)
{
    char text[16];
    snprintf (text, sizeof (text), "%d", generation);
    setenv ("POLLUX_JOB_ID", job, 1);
    if (generation > 0)
        setenv ("POLLUX_GENERATION", text, 1);
    else
        unsetenv ("POLLUX_GENERATION");
}

static int begin (struct pollux_checkpoint **ret)
{
    return pollux_checkpoint_begin (directory, ret, NULL);
}

static int save (int value, int keep)
{
    struct pollux_checkpoint *checkpoint = NULL;
    int code = begin (&checkpoint);
    if (code == 0)
        code = pollux_checkpoint_write (checkpoint, "value", &value, sizeof (value), NULL);
    if (code == 0)
        code = pollux_checkpoint_commit (checkpoint, keep, NULL);
    pollux_checkpoint_close (checkpoint);
    return code;
}

/* The value of the newest checkpoint, or an error.  A damaged one fails the test. */
static int load (void)
{
    struct pollux_checkpoint *checkpoint = NULL;
    struct pollux_error note;
    int value = 0, code = pollux_checkpoint_open (directory, &checkpoint, &note, NULL);
    if (code == 0) {
        assert_string_equal (note.text, "");
        code = pollux_checkpoint_read (checkpoint, "value", &value, sizeof (value), NULL);
    }
    pollux_checkpoint_close (checkpoint);
    return code < 0 ? code : value;
}

static int count_entries (const char *prefix)
{
    int count = 0;
    DIR *folder = opendir (directory);
    assert_non_null (folder);
    /* cppcheck-suppress readdirCalled */
    for (const struct dirent *entry; (entry = readdir (folder));)
        count += strncmp (entry->d_name, prefix, strlen (prefix)) == 0;
    closedir (folder);
    return count;
}

/* ---- In one process ------------------------------------------------------------------------- */

static void newer_generation_replaces (void **state)
{
    (void)state;
    struct pollux_checkpoint *old = NULL, *late = NULL;
    struct pollux_error err;
    become ("a", 1);
    assert_int_equal (save (10, 3), 0);
    assert_int_equal (begin (&old), 0);
    become ("a", 2);
    assert_int_equal (load (), 10);
    /* The old writer has begun before. */
    assert_int_equal (pollux_checkpoint_commit (old, 3, &err), -ESTALE);
    assert_non_null (strstr (err.text, "replaced by generation 2"));
    pollux_checkpoint_close (old);
    become ("a", 1);
    assert_int_equal (pollux_checkpoint_begin (directory, &late, &err), -ESTALE);
    assert_int_equal (load (), -ESTALE);
    become ("a", 2);
    assert_int_equal (save (20, 3), 0);
    assert_int_equal (load (), 20);
    assert_int_equal (count_entries (".new-"), 0);
    assert_int_equal (count_entries (".old-"), 0);
    assert_int_equal (count_entries ("checkpoint-"), 2);
}

/* Without POLLUX_GENERATION everything is as before, and names are those of before. */
static void without_a_scheduler (void **state)
{
    (void)state;
    become ("a", 0);
    assert_int_equal (save (1, 3), 0);
    assert_int_equal (load (), 1);
    assert_int_equal (count_entries ("."), 2);
    become ("a", 5);
    assert_int_equal (load (), 1);
    become ("a", 0);
    assert_int_equal (save (2, 3), 0);
    assert_int_equal (load (), 2);
    setenv ("POLLUX_GENERATION", "five", 1);
    assert_int_equal (load (), -EINVAL);
    assert_int_equal (save (3, 3), -EINVAL);
}

/* Another job, or a job of the same name that was submitted later, counts its own generations. */
static void other_jobs_are_not_concerned (void **state)
{
    (void)state;
    struct pollux_checkpoint *writer = NULL;
    become ("a@1", 7);
    assert_int_equal (save (1, 3), 0);
    assert_int_equal (begin (&writer), 0);
    become ("a@2", 1);
    assert_int_equal (load (), 1);
    assert_int_equal (save (2, 3), 0);
    assert_int_equal (count_entries (".new-"), 1); /* of the other job */
    assert_int_equal (pollux_checkpoint_commit (writer, 3, NULL), 0);
    pollux_checkpoint_close (writer);
}

/* A directory that is only read gets no fence, unless it is below POLLUX_CHECKPOINT_DIR. */
static void readers_leave_no_traces_elsewhere (void **state)
{
    (void)state;
    become ("a", 0);
    assert_int_equal (save (1, 3), 0);
    become ("a", 3);
    setenv ("POLLUX_CHECKPOINT_DIR", "/nonexistent", 1);
    assert_int_equal (load (), 1);
    assert_int_equal (count_entries (".generation-"), 0);
    setenv ("POLLUX_CHECKPOINT_DIR", "/", 1);
    assert_int_equal (load (), 1);
    assert_int_equal (count_entries (".generation-"), 1);
    /* It has a fence of this job now. */
    setenv ("POLLUX_CHECKPOINT_DIR", "/nonexistent", 1);
    become ("a", 4);
    assert_int_equal (load (), 1);
    assert_int_equal (count_entries (".generation-"), 2);
    /* A missing directory is made and fenced, so that an old generation cannot begin one. */
    setenv ("POLLUX_CHECKPOINT_DIR", directory, 1);
    shell ("rm -r %s");
    assert_int_equal (load (), -ENOENT);
    become ("a", 3);
    assert_int_equal (save (1, 1), -ESTALE);
}

static void only_new_fences_stay (void **state)
{
    (void)state;
    for (int generation = 1; generation <= 40; generation++) {
        become ("a", generation);
        if (generation % 7 == 0)
            assert_int_equal (save (generation, 2), 0);
        else
            assert_true (load () == generation / 7 * 7 || generation < 7);
    }
    assert_int_equal (count_entries (".generation-"), 16);
    become ("a", 39);
    assert_int_equal (save (1, 2), -ESTALE);
    become ("a", 1);
    assert_int_equal (save (1, 2), -ESTALE);
}

static void strange_names_are_ignored (void **state)
{
    (void)state;
    static const char *const names[] = {".generation-",
                                        ".generation-0000000000000000",
                                        ".generation-x-9",
                                        ".generation-%016llx-09",
                                        ".generation-%016llx-9x",
                                        ".generation-%016llx--9",
                                        ".generation-%016llx-0",
                                        ".generation-%016llx-99999999999999",
                                        ".generation-%016llX-9",
                                        ".new-%016llx-1",
                                        ".new-"};
    struct fence fence;
    become ("a", 2);
    assert_int_equal (fence_read (&fence, NULL), 0);
    for (size_t i = 0; i < COUNT (names); i++) {
        char path[256], name[128];
        /* NOLINTNEXTLINE */
        snprintf (name, sizeof (name), names[i], (unsigned long long)fence.job);
        snprintf (path, sizeof (path), "%s/%s", directory, name);
        int file = open (path, O_CREAT | O_WRONLY, 0600);
        assert_true (file >= 0);
        close (file);
    }
    assert_int_equal (save (5, 2), 0);
    assert_int_equal (load (), 5);
    assert_true (fence_may_remove (&fence, ".new-123-0"));
    assert_false (fence_may_remove (&fence, ".new-0000000000000000-1-0000000000000000"));
}

/* An old writer that is suspended after its checkpoint was published removes nothing newer. */
static void removes_nothing_newer (void **state)
{
    (void)state;
    become ("a", 0);
    for (int i = 1; i <= 3; i++)
        assert_int_equal (save (i, 10), 0);
#ifdef POLLUX_FAULTS
    int status;
    pid_t old = fork ();
    if (old == 0) {
        become ("a", 1);
        setenv ("POLLUX_FAULT", "checkpoint-renamed:1:stop", 1);
        _exit (save (4, 1) != 0 ? 1 : 0);
    }
    assert_int_equal (old, waitpid (old, &status, WUNTRACED));
    assert_true (WIFSTOPPED (status));
    become ("a", 2);
    assert_int_equal (load (), 4);
    for (int i = 5; i <= 7; i++)
        assert_int_equal (save (i, 10), 0);
    kill (old, SIGCONT);
    assert_int_equal (old, waitpid (old, &status, 0));
    assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
    assert_int_equal (load (), 7);
    assert_int_equal (count_entries ("checkpoint-"), 4); /* 4 to 7 */
#endif
}

/* ---- Every order ---------------------------------------------------------------------------- */

#ifdef POLLUX_FAULTS

/* A process that is suspended before its first step and at each fault point. */
struct process {
    pid_t pid;
    int status;
    bool ended;
};

static void wait_for (struct process *process)
{
    assert_int_equal (process->pid, waitpid (process->pid, &process->status, WUNTRACED));
    process->ended = !WIFSTOPPED (process->status);
}

static void step (struct process *process)
{
    kill (process->pid, SIGCONT);
    wait_for (process);
}

/* 0 to 99: the result; 100 + errno: a failure. */
static int result (const struct process *process)
{
    assert_true (WIFEXITED (process->status));
    return WEXITSTATUS (process->status);
}

static void leave (int code)
{
    _exit (code < 0 ? (code == -ESTALE ? 101 : 102) : code);
}

/* The old generation saves 2; the newest checkpoint was 1. */
static void act_old (void)
{
    int code = save (2, 1);
    leave (code);
}

/* The new generation reads. */
static void act_reader (void)
{
    leave (load ());
}

/* The new generation reads, then saves 3. */
static void act_both (void)
{
    int value = load ();
    int code = value < 0 ? value : save (3, 2);
    leave (code < 0 ? code : value);
}

/* The new generation only saves 3. */
static void act_writer (void)
{
    leave (save (3, 2));
}

static struct process start (void (*act) (void), int generation)
{
    struct process process = {.pid = fork ()};
    if (process.pid == 0) {
        become ("a", generation);
        setenv ("POLLUX_FAULT", "*:stop", 1);
        raise (SIGSTOP);
        act ();
    }
    wait_for (&process);
    return process;
}

/* The choices of one run: which of two processes makes the next step. */
struct schedule {
    unsigned char choice[128], options[128];
    int length;
};

/* The next schedule in depth-first order, with the same beginning; false: all were tried. */
static bool next_schedule (struct schedule *schedule)
{
    while (schedule->length > 0) {
        int last = schedule->length - 1;
        if (schedule->choice[last] + 1 < schedule->options[last]) {
            schedule->choice[last]++;
            return true;
        }
        schedule->length--;
    }
    return false;
}

/* Run both processes.  Choices beyond the schedule's are random, or 0 without rng; all are recorded. */
static void run (struct schedule *schedule, struct rng *rng, struct process *one,
                 struct process *two)
{
    int at = 0;
    double share = rng ? rng_uniform (rng) : 0; /* of the second process */
    for (; !one->ended || !two->ended; at++) {
        assert_true (at < (int)sizeof (schedule->choice));
        schedule->options[at] = one->ended || two->ended ? 1 : 2;
        if (at >= schedule->length)
            schedule->choice[at] =
                rng && schedule->options[at] == 2 ? rng_uniform (rng) < share * share : 0;
        bool second = one->ended || (!two->ended && schedule->choice[at] == 1);
        step (second ? two : one);
    }
    schedule->length = at;
}

static void explore (void (*act) (void), bool reads, bool saves, int most)
{
    struct schedule schedule = {.length = 0};
    struct rng rng = rng_seed (7);
    int published = 0, refused = 0, runs = 0;
    const char *soak = getenv ("POLLUX_SOAK");
    bool all = soak && strcmp (soak, "1") == 0 && most == 0;
    if (!all)
        most = soak_count (most > 0 ? most : 2000);
    do {
        shell ("rm -rf %s && mkdir %s");
        become ("a", 1);
        assert_int_equal (save (1, 5), 0);
        struct process old = start (act_old, 1), new = start (act, 2);
        if (!all)
            schedule.length = 0;
        run (&schedule, all ? NULL : &rng, &old, &new);
        become ("a", 0);
        int wrote = result (&old), saw = result (&new), newest = load ();
        /* The old one has published, or was refused because of the new one. */
        assert_true (wrote == 0 || wrote == 101);
        if (reads)
            assert_int_equal (saw, wrote == 0 ? 2 : 1);
        assert_int_equal (newest, saves ? 3 : wrote == 0 ? 2 : 1);
        published += wrote == 0;
        refused += wrote != 0;
        runs++;
    } while (all ? next_schedule (&schedule) : runs < most);
    assert_true (runs < 10 || (published > 0 && refused > 0));
    printf ("# %d orders: %d published, %d refused\n", runs, published, refused);
}

static void every_order_with_a_reader (void **state)
{
    (void)state;
    explore (act_reader, true, false, 0);
}

static void orders_with_a_reader_that_writes (void **state)
{
    (void)state;
    explore (act_both, true, true, 1000);
}

static void orders_with_a_writer (void **state)
{
    (void)state;
    explore (act_writer, false, true, 1000);
}

#endif

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        TEST (newer_generation_replaces),    TEST (without_a_scheduler),
        TEST (other_jobs_are_not_concerned), TEST (readers_leave_no_traces_elsewhere),
        TEST (only_new_fences_stay),         TEST (strange_names_are_ignored),
        TEST (removes_nothing_newer),
#ifdef POLLUX_FAULTS
        TEST (every_order_with_a_reader),    TEST (orders_with_a_reader_that_writes),
        TEST (orders_with_a_writer),
#endif
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
