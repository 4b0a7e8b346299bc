/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that are made, kept, replaced and refused.  tests/cli/tls.sh has those of openssl, and
 * test_hint_sender.c real connections. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/tls.h"

#define NOW_S INT64_C (1800000000)
#define DAY_S INT64_C (86400)

struct files {
    char directory[64], cert[96], key[96];
};

static int set_up (void **state)
{
    struct files *files = calloc (1, sizeof (*files));
    if (!files)
        return -1;
    *state = files;
    snprintf (files->directory, sizeof (files->directory), "%s/pollux-tls.XXXXXX",
              temporary_folder ());
    if (!mkdtemp (files->directory))
        return -1;
    snprintf (files->cert, sizeof (files->cert), "%s/" TLS_CERT_NAME, files->directory);
    snprintf (files->key, sizeof (files->key), "%s/" TLS_KEY_NAME, files->directory);
    return 0;
}

static int tear_down (void **state)
{
    struct files *files = *state;
    unlink (files->cert);
    unlink (files->key);
    assert_int_equal (rmdir (files->directory), 0); /* no temporary file is left */
    free (files);
    return 0;
}

static struct tls load (const struct files *files)
{
    struct tls tls;
    assert_int_equal (tls_read (files->cert, files->key, &tls, NULL), 0);
    return tls;
}

/* Make it for these names; returns whether the certificate is another one than before. */
static bool make (const struct files *files, int64_t now_s, const char *const *names, int count)
{
    char *before = NULL;
    struct tls tls;
    if (tls_read (files->cert, files->key, &tls, NULL) == 0) {
        before = strdup (tls.cert);
        tls_clear (&tls);
    }
    int made = tls_make (files->directory, names, count, now_s, NULL);
    assert_in_range (made, 0, 1);
    tls = load (files);
    bool differs = !before || strcmp (before, tls.cert) != 0;
    assert_int_equal (differs, made == 1);
    free (before);
    tls_clear (&tls);
    return differs;
}

static const char *const names[] = {"10.0.0.1", "fd00::1", "node1.example.org"};
static const char *const others[] = {"10.0.0.2"};

static void test_make (void **state)
{
    const struct files *files = *state;
    struct stat status;
    assert_true (make (files, NOW_S, names, COUNT (names)));
    struct tls tls = load (files);
    assert_true (tls.from_s == NOW_S - DAY_S);
    assert_true (tls.until_s == NOW_S + 365 * DAY_S);
    tls_clear (&tls);
    assert_null (tls.key);
    assert_int_equal (stat (files->key, &status), 0);
    assert_int_equal (status.st_mode & 07777, 0600);
    /* Kept while it covers the names, some of them too, and is valid. */
    assert_false (make (files, NOW_S, names, COUNT (names)));
    assert_false (make (files, NOW_S, names + 1, 2));
    assert_false (make (files, NOW_S + 330 * DAY_S, names, COUNT (names)));
    /* Replaced for another name, near its end, and if it lies in the future. */
    assert_true (make (files, NOW_S, others, COUNT (others)));
    assert_true (make (files, NOW_S, names, COUNT (names)));
    assert_true (make (files, NOW_S + 340 * DAY_S, names, COUNT (names)));
    assert_true (make (files, NOW_S, names, COUNT (names)));
}

/* A key of another certificate, as after a crash between the two files, and damaged files are replaced. */
static void test_repair (void **state)
{
    const struct files *files = *state;
    char kept[128];
    snprintf (kept, sizeof (kept), "%s/kept", files->directory);
    assert_true (make (files, NOW_S, names, COUNT (names)));
    assert_int_equal (rename (files->key, kept), 0);
    assert_true (make (files, NOW_S, names, COUNT (names)));
    assert_int_equal (rename (kept, files->key), 0);
    struct tls tls;
    struct pollux_error err;
    assert_int_equal (tls_read (files->cert, files->key, &tls, &err), -EINVAL);
    assert_non_null (strstr (err.text, "does not belong"));
    assert_true (make (files, NOW_S, names, COUNT (names)));
    assert_int_equal (truncate (files->cert, 40), 0);
    assert_int_equal (tls_read (files->cert, files->key, &tls, &err), -EINVAL);
    assert_true (make (files, NOW_S, names, COUNT (names)));
    assert_int_equal (truncate (files->key, 0), 0);
    assert_int_equal (tls_read (files->cert, files->key, &tls, &err), -EINVAL);
    assert_true (make (files, NOW_S, names, COUNT (names)));
}

static void test_modes (void **state)
{
    static const int open_modes[] = {0640, 0604, 0620, 0602, 0610, 0666, 0777};
    const struct files *files = *state;
    struct tls tls;
    struct pollux_error err;
    assert_true (make (files, NOW_S, names, COUNT (names)));
    for (size_t i = 0; i < COUNT (open_modes); i++) {
        assert_int_equal (chmod (files->key, (mode_t)open_modes[i]), 0);
        assert_int_equal (tls_read (files->cert, files->key, &tls, &err), -EACCES);
        assert_non_null (strstr (err.text, "chmod 600"));
    }
    assert_int_equal (chmod (files->key, 0400), 0);
    tls = load (files);
    tls_clear (&tls);
    assert_int_equal (tls_read (files->cert, files->directory, &tls, &err), -EINVAL);
    assert_int_equal (tls_read ("/nosuch", files->key, &tls, &err), -ENOENT);
    assert_int_equal (tls_read (files->cert, "/nosuch", &tls, &err), -ENOENT);
    assert_int_equal (tls_make ("/nosuch", names, COUNT (names), NOW_S, &err), -ENOENT);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_make, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_repair, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_modes, set_up, tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
