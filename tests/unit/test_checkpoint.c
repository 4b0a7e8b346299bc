/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints whose files are cut or damaged byte by byte, and whose writer is killed at every fault
 * point.  The one that is opened is always the newest complete one, never a mixture of two.
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

#include "agent/checksum.h"
#include "agent/manifest.h"
#include "pollux/pollux.h"

enum { WEIGHTS = 3000 };

/* ---- A folder of its own for every test --------------------------------------------------- */

struct place {
    char directory[64];
};

static int make_place (void **state)
{
    struct place *place = calloc (1, sizeof (*place));
    if (!place)
        return -1;
    snprintf (place->directory, sizeof (place->directory), "%s/pollux-test-XXXXXX",
              temporary_folder ());
    *state = place;
    return mkdtemp (place->directory) ? 0 : -1;
}

static int remove_place (void **state)
{
    char command[96];
    struct place *place = *state;
    snprintf (command, sizeof (command), "rm -rf %s", place->directory);
    int status = system (command);
    free (place);
    return status;
}

/* Save a checkpoint whose two files both contain `value`. */
static int save (const char *directory, int value, int keep, struct pollux_error *err)
{
    static uint8_t weights[WEIGHTS];
    struct pollux_checkpoint *checkpoint;
    memset (weights, value, sizeof (weights));
    int code = pollux_checkpoint_begin (directory, &checkpoint, err);
    if (code < 0)
        return code;
    code = pollux_checkpoint_write (checkpoint, "weights", weights, sizeof (weights), err);
    if (code == 0)
        code = pollux_checkpoint_write (checkpoint, "value", &value, sizeof (value), err);
    if (code == 0)
        code = pollux_checkpoint_commit (checkpoint, keep, err);
    pollux_checkpoint_close (checkpoint);
    return code;
}

/* The value of the newest complete checkpoint, or an error.  A mixture of two fails the test. */
static int load (const char *directory, struct pollux_error *note, struct pollux_error *err)
{
    static uint8_t weights[WEIGHTS];
    struct pollux_checkpoint *checkpoint;
    int value, code = pollux_checkpoint_open (directory, &checkpoint, note, err);
    if (code < 0)
        return code;
    assert_int_equal (pollux_checkpoint_size (checkpoint, "weights"), WEIGHTS);
    assert_int_equal (pollux_checkpoint_read (checkpoint, "value", &value, sizeof (value), err), 0);
    assert_int_equal (pollux_checkpoint_read (checkpoint, "weights", weights, WEIGHTS, err), 0);
    for (int i = 0; i < WEIGHTS; i++)
        assert_int_equal (weights[i], value);
    pollux_checkpoint_close (checkpoint);
    return value;
}

/* Number of entries of a directory with a prefix. */
static int count_entries (const char *directory, const char *prefix)
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

static void path_of (const struct place *place, int number, const char *name, char ret[160])
{
    snprintf (ret, 160, "%s/checkpoint-%d/%s", place->directory, number, name);
}

/* ---- Undamaged ------------------------------------------------------------------------------- */

static void test_newest_of_several (void **state)
{
    const struct place *place = *state;
    struct pollux_error note, err;
    char below[96];
    assert_int_equal (load (place->directory, &note, &err), -ENOENT);
    snprintf (below, sizeof (below), "%s/none", place->directory);
    assert_int_equal (load (below, &note, &err), -ENOENT);
    for (int value = 1; value <= 12; value++) {
        assert_int_equal (save (below, value, 3, &err), 0);
        assert_int_equal (load (below, &note, &err), value);
        assert_string_equal (note.text, "");
        assert_int_equal (count_entries (below, "checkpoint-"), value < 3 ? value : 3);
    }
    assert_int_equal (count_entries (below, "."), 2);
}

static void test_files_written_directly (void **state)
{
    const struct place *place = *state;
    struct pollux_error err;
    struct pollux_checkpoint *checkpoint;
    char path[256], text[6];
    assert_int_equal (pollux_checkpoint_begin (place->directory, &checkpoint, &err), 0);
    assert_int_equal (pollux_checkpoint_number (checkpoint), 0);
    snprintf (path, sizeof (path), "%s/model.pt", pollux_checkpoint_path (checkpoint));
    FILE *file = fopen (path, "w");
    fputs ("hello", file);
    fclose (file);
    assert_int_equal (pollux_checkpoint_write (checkpoint, "empty", "", 0, &err), 0);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 2, &err), 0);
    assert_int_equal (pollux_checkpoint_number (checkpoint), 1);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 2, &err), -EINVAL);
    assert_int_equal (pollux_checkpoint_write (checkpoint, "late", "", 0, &err), -EINVAL);
    pollux_checkpoint_close (checkpoint);
    assert_int_equal (pollux_checkpoint_open (place->directory, &checkpoint, NULL, &err), 0);
    assert_int_equal (pollux_checkpoint_size (checkpoint, "empty"), 0);
    assert_int_equal (pollux_checkpoint_size (checkpoint, "other"), -ENOENT);
    assert_int_equal (pollux_checkpoint_read (checkpoint, "model.pt", text, 5, &err), 0);
    assert_memory_equal (text, "hello", 5);
    assert_int_equal (pollux_checkpoint_read (checkpoint, "model.pt", text, 6, &err), -EINVAL);
    assert_int_equal (pollux_checkpoint_read (checkpoint, "other", text, 5, &err), -ENOENT);
    pollux_checkpoint_close (checkpoint);
}

static void test_refusals (void **state)
{
    const struct place *place = *state;
    struct pollux_error err;
    struct pollux_checkpoint *checkpoint;
    char path[256];
    static const char *const names[] = {"", ".hidden", "a/b", "..", "MANIFEST", "line\nfeed"};
    assert_int_equal (pollux_checkpoint_begin ("/proc/none/none", &checkpoint, &err), -ENOENT);
    assert_int_equal (pollux_checkpoint_begin (place->directory, &checkpoint, &err), 0);
    for (size_t i = 0; i < COUNT (names); i++)
        assert_int_equal (pollux_checkpoint_write (checkpoint, names[i], "", 0, &err), -EINVAL);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 0, &err), -EINVAL);
    /* A subfolder, which a manifest cannot list. */
    snprintf (path, sizeof (path), "%s/shards", pollux_checkpoint_path (checkpoint));
    assert_int_equal (mkdir (path, 0777), 0);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 1, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "shards"));
    rmdir (path);
    /* A file that changed since it was written; then a missing one. */
    assert_int_equal (pollux_checkpoint_write (checkpoint, "a", "12", 2, &err), 0);
    snprintf (path, sizeof (path), "%s/a", pollux_checkpoint_path (checkpoint));
    FILE *file = fopen (path, "w");
    fputs ("13", file);
    fclose (file);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 1, &err), -EBADMSG);
    unlink (path);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 1, &err), -EBADMSG);
    pollux_checkpoint_close (checkpoint);
    assert_int_equal (count_entries (place->directory, "checkpoint-"), 0);
    assert_int_equal (count_entries (place->directory, "."), 2); /* nothing is left */
}

/* ---- Damage ------------------------------------------------------------------------------- */

static void rewrite (const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    assert_int_equal (fwrite (data, 1, size, file), size);
    fclose (file);
}

/* Every cut and a flipped bit in every byte of every file is noticed: the older one is opened. */
static void test_cut_and_flipped (void **state)
{
    const struct place *place = *state;
    static const char *const names[] = {"MANIFEST", "value", "weights"};
    struct pollux_error note, err;
    assert_int_equal (save (place->directory, 1, 5, &err), 0);
    assert_int_equal (save (place->directory, 2, 5, &err), 0);
    struct rng rng = rng_seed (1);
    for (size_t i = 0; i < COUNT (names); i++) {
        char path[160];
        uint8_t data[WEIGHTS], flipped[WEIGHTS];
        path_of (place, 2, names[i], path);
        FILE *file = fopen (path, "r");
        size_t size = fread (data, 1, sizeof (data), file);
        fclose (file);
        size_t stride = size > 500 ? 1 + size / (size_t)soak_count (1000) : 1;
        for (size_t at = 0; at < size; at += stride) {
            rewrite (path, data, at);
            assert_int_equal (load (place->directory, &note, &err), 1);
            assert_non_null (strstr (note.text, "checkpoint-2"));
            memcpy (flipped, data, size);
            flipped[at] ^= (uint8_t)(1 << rng_below (&rng, 8));
            rewrite (path, flipped, size);
            assert_int_equal (load (place->directory, &note, &err), 1);
            assert_non_null (strstr (note.text, names[i]));
        }
        rewrite (path, data, size);
        assert_int_equal (load (place->directory, &note, &err), 2);
    }
}

static void test_missing_and_foreign (void **state)
{
    const struct place *place = *state;
    struct pollux_error note, err;
    char path[160], other[160];
    for (int value = 1; value <= 5; value++)
        assert_int_equal (save (place->directory, value, 5, &err), 0);
    path_of (place, 5, "MANIFEST", path);
    unlink (path);
    assert_int_equal (mkfifo (path, 0666), 0); /* opening it must not wait */
    assert_int_equal (load (place->directory, &note, &err), 4);
    path_of (place, 4, "weights", path);
    path_of (place, 3, "weights", other);
    unlink (path);
    assert_int_equal (symlink (other, path), 0);
    assert_int_equal (load (place->directory, &note, &err), 3);
    unlink (other);
    assert_int_equal (load (place->directory, &note, &err), 2);
    assert_non_null (strstr (note.text, "3 newer"));
    path_of (place, 2, "value", path);
    unlink (path);
    path_of (place, 1, "value", path);
    unlink (path);
    assert_int_equal (load (place->directory, &note, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "checkpoint-5"));
    /* The next number follows the damaged ones. */
    assert_int_equal (save (place->directory, 6, 1, &err), 0);
    assert_int_equal (load (place->directory, &note, &err), 6);
    assert_int_equal (count_entries (place->directory, "checkpoint-"), 1);
}

/* ---- Kill --------------------------------------------------------------------------------- */

#ifdef POLLUX_FAULTS
/* A child saves `value` and is killed at the n-th visit of the point; true if it was not killed. */
static bool save_and_die (const char *directory, int value, const char *point, int visit)
{
    char fault[64];
    pid_t child = fork ();
    assert_true (child >= 0);
    if (child == 0) {
        snprintf (fault, sizeof (fault), "%s:%d", point, visit);
        setenv ("POLLUX_FAULT", fault, 1);
        _exit (save (directory, value, 2, NULL) < 0 ? 1 : 0);
    }
    int status;
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_true (WIFSIGNALED (status) ? WTERMSIG (status) == SIGKILL : WEXITSTATUS (status) == 0);
    return WIFEXITED (status);
}
#endif

static void test_killed_at_every_point (void **state)
{
#ifndef POLLUX_FAULTS
    (void)state;
    fprintf (stderr, "SKIPPED: this build has no fault points; FLAVOUR=gcc does\n");
    skip ();
#else
    const struct place *place = *state;
    static const struct {
        const char *point;
        int newer; /* 1: the new one is complete then; 0: it is not; -1: either */
    } points[] = {{"checkpoint-write", 0},
                  {"checkpoint-manifest", 0},
                  {"checkpoint-rename", 0},
                  {"checkpoint-renamed", 1},
                  {"checkpoint-remove", -1}};
    int value = 1, before = 1, deaths = 0;
    struct pollux_error note, err;
    assert_int_equal (save (place->directory, value, 2, &err), 0);
    for (size_t i = 0; i < COUNT (points); i++)
        for (int visit = 1; visit < 20; visit++) {
            bool lived = save_and_die (place->directory, ++value, points[i].point, visit);
            int now = load (place->directory, &note, &err);
            assert_string_equal (note.text, "");
            assert_true (now == value || (!lived && points[i].newer != 1 && now == before));
            assert_true (lived || points[i].newer != 0 || now == before);
            before = now;
            deaths += !lived;
            if (lived)
                break;
        }
    assert_true (deaths >= 8);
    /* The next writer removes what all of them left. */
    assert_int_equal (save (place->directory, 99, 2, &err), 0);
    assert_int_equal (count_entries (place->directory, "."), 2);
    assert_int_equal (count_entries (place->directory, "checkpoint-"), 2);
#endif
}

/* Killed at any time, not only at points. */
static void test_killed_anywhere (void **state)
{
    const struct place *place = *state;
    struct rng rng = rng_seed (3);
    struct pollux_error note, err;
    int last = 0;
    for (int round = 0; round < soak_count (200); round++) {
        pid_t child = fork ();
        assert_true (child >= 0);
        if (child == 0)
            for (int value = last + 1;; value++)
                if (value > 250 || save (place->directory, value, 3, NULL) < 0)
                    _exit (1);
        usleep ((useconds_t)rng_below (&rng, 20000));
        kill (child, SIGKILL);
        waitpid (child, NULL, 0);
        int now = load (place->directory, &note, &err);
        assert_true (now >= last || (last == 0 && now == -ENOENT));
        assert_string_equal (note.text, "");
        last = now < 0 || now > 240 ? 0 : now;
        if (last == 0 && now > 0) {
            char command[96];
            snprintf (command, sizeof (command), "rm -rf %s/*", place->directory);
            assert_int_equal (system (command), 0);
        }
    }
}

/* After fork the child has a copy of the writer; closing it must not remove the folder. */
static void test_fork_leaves_it_alone (void **state)
{
    const struct place *place = *state;
    struct pollux_error err;
    struct pollux_checkpoint *checkpoint;
    assert_int_equal (pollux_checkpoint_begin (place->directory, &checkpoint, &err), 0);
    assert_int_equal (pollux_checkpoint_write (checkpoint, "a", "1", 1, &err), 0);
    pid_t child = fork ();
    if (child == 0) {
        pollux_checkpoint_close (checkpoint);
        _exit (0);
    }
    waitpid (child, NULL, 0);
    /* Another writer does not remove it either. */
    assert_int_equal (save (place->directory, 7, 3, &err), 0);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 3, &err), 0);
    assert_int_equal (pollux_checkpoint_number (checkpoint), 2);
    pollux_checkpoint_close (checkpoint);
}

/* ---- Parts -------------------------------------------------------------------------------- */

/* Bytes 0 to size-1 of a fixed sequence. */
static void fill_golden (uint8_t *ret, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ret[i] = (uint8_t)(i * i + i / 7);
}

/* The sums as printed by `xxhsum -H3`. */
static void test_checksum_golden (void **state)
{
    (void)state;
    uint8_t data[WEIGHTS];
    fill_golden (data, sizeof (data));
    assert_int_equal (checksum_of ("", 0), 0x2d06800538d394c2u);
    assert_int_equal (checksum_of ("a", 1), 0xe6c632b61e964e1fu);
    assert_int_equal (checksum_of ("abc", 3), 0x78af5f94892f3950u);
    assert_int_equal (checksum_of (data, 200), 0xffa1c3048f8289d6u);
    assert_int_equal (checksum_of (data, 1000), 0x89c3ff3e32db8527u);
    assert_int_equal (checksum_of (data, 3000), 0xb9d59e7d8d96fee8u);
}

static uint64_t sum_in_two (enum checksum_algorithm algorithm, const uint8_t *data, size_t first,
                            size_t size)
{
    struct checksum *checksum = checksum_new (algorithm);
    assert_non_null (checksum);
    checksum_add (checksum, data, first);
    checksum_add (checksum, data + first, size - first);
    uint64_t sum = checksum_end (checksum);
    checksum_free (checksum);
    return sum;
}

/* Pieces do not matter; two flipped bits change the sum. */
static void test_checksum_pieces (void **state)
{
    (void)state;
    uint8_t data[1000];
    struct rng rng = rng_seed (5);
    for (size_t i = 0; i < sizeof (data); i++)
        data[i] = (uint8_t)rng_next (&rng);
    for (size_t size = 0; size < sizeof (data); size += 37) {
        uint64_t sum = checksum_of (data, size);
        uint64_t version1 = sum_in_two (CHECKSUM_VERSION1, data, 0, size);
        assert_int_equal (sum, sum_in_two (CHECKSUM_XXH3_64, data, size / 3, size));
        assert_int_equal (version1, sum_in_two (CHECKSUM_VERSION1, data, size / 128 * 64, size));
        for (size_t at = 7; at + 64 < size; at += 8) {
            data[at] ^= 0x80;
            data[at + 64] ^= 0x80;
            assert_true (checksum_of (data, size) != sum);
            assert_true (sum_in_two (CHECKSUM_VERSION1, data, 0, size) != version1);
            data[at] ^= 0x80;
            data[at + 64] ^= 0x80;
        }
    }
    assert_true (checksum_of ("\0", 1) != checksum_of ("", 0));
}

/* A checkpoint of version 1, as the last version before XXH3 wrote it. */
static void test_version1_is_read (void **state)
{
    static const char manifest[] = "pollux-checkpoint 1\n"
                                   "file fe219691daba5ef7 3000 weights\n"
                                   "file f46211a2426d588a 6 pollux-agent\n"
                                   "file 8b71377be72dd081 0 empty\n"
                                   "end 3 78a64706f0942c75\n";
    const struct place *place = *state;
    struct pollux_error note, err;
    struct pollux_checkpoint *checkpoint;
    uint8_t weights[WEIGHTS], got[WEIGHTS];
    char path[160];
    fill_golden (weights, sizeof (weights));
    snprintf (path, sizeof (path), "%s/checkpoint-1", place->directory);
    assert_int_equal (mkdir (path, 0777), 0);
    path_of (place, 1, "MANIFEST", path);
    rewrite (path, (const uint8_t *)manifest, strlen (manifest));
    path_of (place, 1, "pollux-agent", path);
    rewrite (path, (const uint8_t *)"state\n", 6);
    path_of (place, 1, "empty", path);
    rewrite (path, weights, 0);
    path_of (place, 1, "weights", path);
    rewrite (path, weights, sizeof (weights));

    assert_int_equal (pollux_checkpoint_open (place->directory, &checkpoint, &note, &err), 0);
    assert_string_equal (note.text, "");
    assert_int_equal (pollux_checkpoint_read (checkpoint, "weights", got, WEIGHTS, &err), 0);
    assert_memory_equal (got, weights, WEIGHTS);
    assert_int_equal (pollux_checkpoint_read (checkpoint, "pollux-agent", got, 6, &err), 0);
    pollux_checkpoint_close (checkpoint);
    /* It is verified too. */
    for (size_t at = 0; at < WEIGHTS; at += 50) {
        weights[at] ^= 1;
        rewrite (path, weights, sizeof (weights));
        assert_int_equal (pollux_checkpoint_open (place->directory, &checkpoint, &note, &err),
                          -EBADMSG);
        assert_non_null (strstr (err.text, "weights: damaged"));
        weights[at] ^= 1;
    }
    /* The next checkpoint is of version 2; both are read. */
    rewrite (path, weights, sizeof (weights));
    assert_int_equal (save (place->directory, 5, 2, &err), 0);
    assert_int_equal (load (place->directory, &note, &err), 5);
    path_of (place, 2, "MANIFEST", path);
    unlink (path);
    assert_int_equal (pollux_checkpoint_open (place->directory, &checkpoint, &note, &err), 0);
    assert_int_equal (pollux_checkpoint_number (checkpoint), 1);
    pollux_checkpoint_close (checkpoint);
}

static void test_manifest (void **state)
{
    (void)state;
    struct manifest manifest = {0}, again = {0};
    struct pollux_error err;
    char *text, *second;
    size_t length, second_length;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf (name, sizeof (name), "shard-%d", i);
        assert_int_equal (manifest_set (&manifest, name, i, (uint64_t)i << 40, &err), 0);
    }
    assert_int_equal (manifest_set (&manifest, "shard-7", 1 << 20, 3, &err), 0);
    assert_int_equal (manifest.count, 100);
    assert_int_equal (manifest_encode (&manifest, &text, &length, &err), 0);
    assert_int_equal (manifest_parse (text, length, &again, &err), 0);
    assert_int_equal (manifest_find (&again, "shard-7")->size, 1 << 20);
    assert_null (manifest_find (&again, "shard-100"));
    assert_int_equal (manifest_encode (&again, &second, &second_length, &err), 0);
    assert_int_equal (length, second_length);
    assert_memory_equal (text, second, length);
    assert_int_equal (strncmp (text, "pollux-checkpoint 2\nchecksum xxh3-64\nfile ", 42), 0);
    free (text);
    free (second);
    manifest_free (&manifest);
    manifest_free (&again);
    /* Another algorithm is refused, and version 1 is not written. */
    static const char other[] = "pollux-checkpoint 2\nchecksum crc32c\nend 0 0000000000000000\n";
    assert_int_equal (manifest_parse (other, strlen (other), &again, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "xxh3-64"));
    manifest.algorithm = CHECKSUM_VERSION1;
    assert_int_equal (manifest_encode (&manifest, &text, &length, &err), -EINVAL);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        TEST (test_newest_of_several),
        TEST (test_files_written_directly),
        TEST (test_refusals),
        TEST (test_cut_and_flipped),
        TEST (test_missing_and_foreign),
        TEST (test_killed_at_every_point),
        TEST (test_killed_anywhere),
        TEST (test_fork_leaves_it_alone),
        TEST (test_version1_is_read),
        cmocka_unit_test (test_checksum_golden),
        cmocka_unit_test (test_checksum_pieces),
        cmocka_unit_test (test_manifest),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
