/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory: made with its parents, given to another user, and never through a link.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "daemon/state.h"

static char folder[128];

static int set_up (void **state)
{
    (void)state;
    snprintf (folder, sizeof (folder), "%s/pollux-state-XXXXXX", temporary_folder ());
    return mkdtemp (folder) && chdir (folder) == 0 ? 0 : -1;
}

static int tear_down (void **state)
{
    (void)state;
    int parent = open (temporary_folder (), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = chdir ("/") < 0 ? -1 : safe_dir_remove (parent, strrchr (folder, '/') + 1, NULL);
    close (parent);
    return code;
}

static unsigned mode_of (const char *path)
{
    struct stat stat;
    assert_int_equal (lstat (path, &stat), 0);
    return stat.st_mode & 07777;
}

static void test_made (void **state)
{
    (void)state;
    static const char *const paths[] = {"plain", "a/b/c", "a//b/d/", "./e/../f"};
    struct state opened;
    umask (022);
    for (size_t i = 0; i < COUNT (paths); i++) {
        char path[256];
        snprintf (path, sizeof (path), "%s/%s", folder, paths[i]);
        if (i == 3)
            assert_int_equal (mkdir ("e", 0700), 0);
        for (int round = 0; round < 2; round++) {                     /* new, then there */
            const char *name = round == 0 && i < 2 ? paths[i] : path; /* relative, too */
            assert_int_equal (state_open (name, false, &opened, NULL), 0);
            assert_int_equal (opened.path[0], '/');
            state_close (&opened);
        }
        assert_int_equal (mode_of (path), 0700);
    }
    assert_int_equal (mode_of ("a"), 0755);
    assert_int_equal (mode_of ("a/b"), 0755);
}

static void test_refused (void **state)
{
    (void)state;
    struct state opened;
    struct pollux_error err = {.text = ""};
    assert_int_equal (mkdir ("real", 0700), 0);
    assert_int_equal (symlink ("real", "link"), 0);
    assert_int_equal (symlink ("nowhere", "broken"), 0);
    close (open ("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_true (state_open ("link", false, &opened, &err) < 0);
    assert_non_null (strstr (err.text, "links are not followed"));
    assert_true (state_open ("file", false, &opened, &err) < 0);
    assert_non_null (strstr (err.text, "is no directory"));
    assert_int_equal (state_open ("broken", false, &opened, &err), -ENOENT);
    assert_int_equal (state_prepare ("broken", getuid (), getgid (), &err), -ENOENT);
    assert_int_equal (access ("nowhere", F_OK), -1);
    assert_true (state_prepare ("file/x", getuid (), getgid (), &err) < 0);
    /* A parent may be a link. */
    assert_int_equal (state_open ("link/inner", false, &opened, NULL), 0);
    state_close (&opened);
    assert_int_equal (mode_of ("real/inner"), 0700);
}

/* Only what is new is given away. */
static void test_prepared (void **state)
{
    (void)state;
    struct stat stat;
    unsigned uid = geteuid () == 0 ? 4711 : geteuid ();
    assert_int_equal (state_prepare ("parent/state", uid, getegid (), NULL), 0);
    assert_int_equal (lstat ("parent/state", &stat), 0);
    assert_int_equal (stat.st_uid, uid);
    assert_int_equal (lstat ("parent", &stat), 0);
    assert_int_equal (stat.st_uid, geteuid ());
    assert_int_equal (mkdir ("old", 0700), 0);
    assert_int_equal (symlink ("old", "alias"), 0);
    assert_int_equal (state_prepare ("old", uid, getegid (), NULL), 0);
    assert_int_equal (state_prepare ("alias", uid, getegid (), NULL), 0);
    assert_int_equal (lstat ("old", &stat), 0);
    assert_int_equal (stat.st_uid, geteuid ());
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_made),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_prepared),
    };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
