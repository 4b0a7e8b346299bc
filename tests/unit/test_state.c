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

static uid_t owner_of (const char *path)
{
    struct stat stat;
    assert_int_equal (lstat (path, &stat), 0);
    return stat.st_uid;
}

/* Only the directory itself is given away, not the parents that were made. */
static void test_prepared (void **state)
{
    (void)state;
    unsigned uid = geteuid () == 0 ? 4711 : geteuid ();
    assert_int_equal (state_prepare ("parent/state", uid, getegid (), NULL), 0);
    assert_int_equal (owner_of ("parent/state"), uid);
    assert_int_equal (owner_of ("parent"), geteuid ());
    assert_int_equal (state_prepare ("parent/state", uid, getegid (), NULL), 0); /* again */
}

/* An empty directory of root is given away, unless another user may have put it there. */
static void test_handed_over (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool given;
        const char *why;
    } cases[] = {
        {"empty", true, ""},
        {"open", false, "other users"},  /* all users may write to it */
        {"full", false, "is not empty"}, /* files of another user */
        {"alias", false, "is a link"},
        {"mine/inner", false, "other users"},      /* below a directory of another user */
        {"mine/lead/inner", false, "other users"}, /* through another user's link */
        {"sticky/inner", true, ""},
        {"sticky/lead", false, "is a link"},
        {"sticky/way/inner", false, "other users"},
    };
    char path[256];
    struct pollux_error err = {.text = ""};
    if (geteuid () != 0)
        skip ();
    umask (0);
    assert_int_equal (chmod (folder, 0755), 0);
    static const char *const made[] = {"empty",  "open",         "full", "full/x",
                                       "target", "target/inner", "mine", "mine/inner",
                                       "sticky", "sticky/inner"};
    for (size_t i = 0; i < COUNT (made); i++)
        assert_int_equal (mkdir (made[i], 0700), 0);
    assert_int_equal (chmod ("open", 0777), 0);
    assert_int_equal (chmod ("target", 0755), 0);
    assert_int_equal (symlink ("empty", "alias"), 0);
    assert_int_equal (symlink ("../target", "mine/lead"), 0);
    assert_int_equal (symlink ("../target/inner", "sticky/lead"), 0);
    assert_int_equal (symlink ("../target", "sticky/way"), 0);
    assert_int_equal (lchown ("mine/lead", 4712, 4712), 0);
    assert_int_equal (lchown ("sticky/lead", 4712, 4712), 0);
    assert_int_equal (lchown ("sticky/way", 4712, 4712), 0);
    assert_int_equal (chown ("mine", 4712, 4712), 0);
    assert_int_equal (chmod ("sticky", 01777), 0);
    for (int round = 0; round < 2; round++) /* refused ones first: "alias" leads to "empty" */
        for (size_t i = 0; i < COUNT (cases); i++) {
            if (cases[i].given != (round == 1))
                continue;
            snprintf (path, sizeof (path), "%s/%s", folder, cases[i].name);
            int code = state_prepare (path, 4711, 4711, &err);
            if (code != (cases[i].given ? 0 : -EPERM) ||
                (code < 0 && !strstr (err.text, cases[i].why)))
                fail_msg ("%s: %d %s", cases[i].name, code, err.text);
            struct stat found;
            assert_int_equal (stat (path, &found), 0);
            assert_int_equal (found.st_uid, cases[i].given ? 4711 : 0);
        }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_made),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_prepared),
        cmocka_unit_test (test_handed_over),
    };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
