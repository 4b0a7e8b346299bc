/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens: the identity of each token, across restarts and reloads; and state directories with
 * damaged, replaced or readable files.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "base/file.h"
#include "api/tokens.h"

struct test {
    char state[64], path[128];
    struct tokens *tokens;
    struct pollux_error err;
};

static int set_up (void **state)
{
    struct test *test = calloc (1, sizeof (*test));
    if (test == NULL)
        return -1;
    snprintf (test->state, sizeof (test->state), "%s/pollux-tokens.XXXXXX", temporary_folder ());
    if (mkdtemp (test->state) == NULL) {
        free (test);
        return -1;
    }
    *state = test;
    return tokens_open (test->state, &test->tokens, &test->err);
}

static int tear_down (void **state)
{
    struct test *test = *state;
    int root = open (temporary_folder (), O_RDONLY | O_DIRECTORY);
    tokens_free (test->tokens);
    safe_dir_remove (root, strrchr (test->state, '/') + 1, NULL);
    close (root);
    free (test);
    return 0;
}

static const char *file (struct test *test, const char *name)
{
    snprintf (test->path, sizeof (test->path), "%s/%s", test->state, name);
    return test->path;
}

static void put (struct test *test, const char *name, const char *text)
{
    int fd = open (file (test, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true (fd >= 0);
    assert_int_equal (write (fd, text, strlen (text)), strlen (text));
    close (fd);
}

static char *get (struct test *test, const char *name)
{
    char *text;
    size_t length;
    assert_int_equal (file_read (file (test, name), 1 << 20, &text, &length, &test->err), 0);
    return text;
}

static int reopen (struct test *test)
{
    tokens_free (test->tokens);
    test->tokens = NULL;
    return tokens_open (test->state, &test->tokens, &test->err);
}

enum { NOW_S = 1700000000 };
static const int64_t now_us = INT64_C (1000000) * NOW_S;

static int check_at (struct test *test, int64_t at_us, const char *token, struct http_identity *ret)
{
    return tokens_check (test->tokens, token, at_us, ret, &test->err);
}

/* Make a token for ever. */
static int add (struct test *test, unsigned role, const char *name, char ret[TOKEN_SIZE])
{
    return tokens_add (test->tokens, role, name, 0, now_us, ret, &test->err);
}

static void expect (struct test *test, const char *token, unsigned role, const char *name)
{
    struct http_identity identity = {.role = 99};
    int code = check_at (test, now_us, token, &identity);
    assert_int_equal (code, role != 0 ? 0 : -EACCES);
    if (role == 0)
        assert_string_equal (test->err.text, "the token is not known here");
    assert_int_equal (identity.role, role != 0 ? role : 99);
    if (role != 0)
        assert_string_equal (identity.name, name);
}

static void test_admin (void **state)
{
    struct test *test = *state;
    struct stat status;
    char *token = get (test, "admin.token");
    assert_int_equal (stat (file (test, "admin.token"), &status), 0);
    assert_int_equal (status.st_mode & 07777, 0600);
    assert_int_equal (stat (file (test, "job.key"), &status), 0);
    assert_int_equal (status.st_mode & 07777, 0600);
    assert_int_equal (status.st_size, 32);
    assert_int_equal (strlen (token), 65);
    expect (test, token, 0, NULL); /* the line break is not part of the token */
    token[64] = '\0';
    expect (test, token, ROLE_ADMIN, "admin");
    assert_int_equal (reopen (test), 0);
    expect (test, token, ROLE_ADMIN, "admin");
    token[63] = token[63] == '0' ? '1' : '0';
    expect (test, token, 0, NULL);
    expect (test, "", 0, NULL);
    expect (test, ".", 0, NULL);
    free (token);
    char long_one[4096];
    memset (long_one, 'a', sizeof (long_one));
    long_one[sizeof (long_one) - 1] = '\0';
    expect (test, long_one, 0, NULL);
}

static void test_named (void **state)
{
    struct test *test = *state;
    char ann[TOKEN_SIZE], bob[TOKEN_SIZE], other[TOKEN_SIZE];
    assert_int_equal (add (test, ROLE_USER, "ann", ann), 0);
    assert_int_equal (add (test, ROLE_READ_ONLY, "bob", bob), 0);
    assert_string_not_equal (ann, bob);
    assert_int_equal (add (test, ROLE_USER, "ann", other), -EEXIST);
    assert_int_equal (add (test, ROLE_USER, "admin", other), -EEXIST);
    assert_int_equal (add (test, ROLE_JOB, "eve", other), -EINVAL);
    assert_int_equal (add (test, 0, "eve", other), -EINVAL);
    assert_int_equal (add (test, ROLE_USER, "e v", other), -EINVAL);
    assert_int_equal (add (test, ROLE_USER, "../x", other), -EINVAL);
    for (int i = 0; i < 2; i++) {
        expect (test, ann, ROLE_USER, "ann");
        expect (test, bob, ROLE_READ_ONLY, "bob");
        assert_int_equal (tokens_count (test->tokens), 2);
        assert_string_equal (tokens_get (test->tokens, 0)->identity.name, "ann");
        assert_int_equal (reopen (test), 0);
    }
    char *text = get (test, "tokens"); /* it contains no secret */
    assert_null (strstr (text, ann));
    assert_null (strstr (text, bob));
    free (text);
    assert_int_equal (tokens_remove (test->tokens, "ann", &test->err), 0);
    assert_int_equal (tokens_remove (test->tokens, "ann", &test->err), -ENOENT);
    for (int i = 0; i < 2; i++) {
        expect (test, ann, 0, NULL);
        expect (test, bob, ROLE_READ_ONLY, "bob");
        assert_int_equal (reopen (test), 0);
    }
}

static void test_job (void **state)
{
    struct test *test = *state;
    char token[TOKEN_JOB_SIZE], other[TOKEN_JOB_SIZE], longest[HTTP_NAME_SIZE];
    struct http_identity identity;
    tokens_job (test->tokens, "train.7", 12, token);
    assert_memory_equal (token, "train.7.12.", 11);
    expect (test, token, ROLE_JOB, "train.7");
    assert_int_equal (reopen (test), 0);
    assert_int_equal (check_at (test, now_us, token, &identity), 0);
    assert_int_equal (identity.number, 12);
    tokens_job (test->tokens, "train.8", 12, other);
    memcpy (other, "train.7", 7); /* the other job's signature with this job's name */
    expect (test, other, 0, NULL);
    memset (longest, 'j', sizeof (longest));
    longest[sizeof (longest) - 1] = '\0';
    tokens_job (test->tokens, longest, INT_MAX, other);
    expect (test, other, ROLE_JOB, longest);
    /* The signature of one generation with the number of another, or with none. */
    static const char *const heads[] = {"train.7.13",         "train.7.012", "train.7.-12",
                                        "train.7.",           "train.7",     "train.7.12.1",
                                        "train.7.99999999999"};
    for (size_t i = 0; i < sizeof (heads) / sizeof (heads[0]); i++) {
        snprintf (other, sizeof (other), "%s%s", heads[i], strrchr (token, '.'));
        expect (test, other, 0, NULL);
    }
    token[strlen (token) - 1] = '\0';
    expect (test, token, 0, NULL);
    /* A new key: tokens signed with the old one are refused. */
    tokens_job (test->tokens, "train.7", 12, token);
    assert_int_equal (unlink (file (test, "job.key")), 0);
    assert_int_equal (tokens_reload (test->tokens, &test->err), 0);
    expect (test, token, 0, NULL);
}

static void test_reload (void **state)
{
    struct test *test = *state;
    char ann[TOKEN_SIZE];
    assert_int_equal (add (test, ROLE_USER, "ann", ann), 0);
    put (test, "admin.token", "my-own-choice-of-an-admin-token_0\n");
    assert_int_equal (tokens_reload (test->tokens, &test->err), 0);
    expect (test, "my-own-choice-of-an-admin-token_0", ROLE_ADMIN, "admin");
    expect (test, ann, ROLE_USER, "ann");
    put (test, "tokens", "user ann\n"); /* a mistake changes nothing */
    assert_int_equal (tokens_reload (test->tokens, &test->err), -EINVAL);
    assert_non_null (strstr (test->err.text, "tokens:1"));
    expect (test, ann, ROLE_USER, "ann");
    put (test, "tokens", "");
    assert_int_equal (tokens_reload (test->tokens, &test->err), 0);
    expect (test, ann, 0, NULL);
}

static void test_damaged (void **state)
{
    struct test *test = *state;
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct {
        const char *file, *text;
    } cases[] = {
        {"admin.token", ""},
        {"admin.token", "short\n"},
        {"admin.token", "with blanks in the middle of its line, and long enough\n"},
        {"job.key", ""},
        {"job.key", "too short"},
        {"job.key", "far too long to be a key of thirty-two bytes"},
        {"tokens", "user\n"},
        {"tokens", "user ann " HASH "0\n"},
        {"tokens", "job ann " HASH "\n"},
        {"tokens", "root ann " HASH "\n"},
        {"tokens", "user .ann " HASH "\n"},
        {"tokens", "user ann " HASH "\nuser ann " HASH "\n"},
        {"tokens", "user ann " HASH "\n\n"},
        {"tokens", "user ann " HASH " 0\n"},
        {"tokens", "user ann " HASH " -5\n"},
        {"tokens", "user ann " HASH " soon\n"},
        {"tokens", "user ann " HASH " 1e9\n"},
        {"tokens", "user ann " HASH " 9007199255\n"},
        {"tokens", "user ann " HASH " 99999999999999999999\n"},
        {"tokens", "user ann " HASH " 1800000000 1800000000\n"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        put (test, cases[i].file, cases[i].text);
        int code = reopen (test);
        assert_true (code == -EINVAL || code == -EFBIG);
        assert_non_null (strstr (test->err.text, cases[i].file));
        assert_int_equal (unlink (file (test, cases[i].file)), 0);
    }
    put (test, "tokens", "user ann " HASH "\nadmin bob " HASH);
    assert_int_equal (reopen (test), 0);
    assert_int_equal (tokens_count (test->tokens), 2);
}

static void test_permissions_and_file_types (void **state)
{
    struct test *test = *state;
    static const char *const names[] = {"admin.token", "job.key", "tokens"};
    char ann[TOKEN_SIZE], elsewhere[128];
    assert_int_equal (add (test, ROLE_USER, "ann", ann), 0);
    for (size_t i = 0; i < COUNT (names); i++) {
        assert_int_equal (chmod (file (test, names[i]), 0640), 0);
        assert_int_equal (reopen (test), -EPERM);
        assert_non_null (strstr (test->err.text, names[i]));
        assert_int_equal (chmod (file (test, names[i]), 0600), 0);
        snprintf (elsewhere, sizeof (elsewhere), "%s/elsewhere", test->state);
        assert_int_equal (rename (file (test, names[i]), elsewhere), 0);
        assert_int_equal (symlink (elsewhere, file (test, names[i])), 0);
        assert_int_equal (reopen (test), -ELOOP);
        assert_int_equal (unlink (file (test, names[i])), 0);
        assert_int_equal (mkfifo (file (test, names[i]), 0600), 0);
        assert_int_equal (reopen (test), -EINVAL);
        assert_int_equal (rename (elsewhere, file (test, names[i])), 0);
        assert_int_equal (reopen (test), 0);
    }
    expect (test, ann, ROLE_USER, "ann");
    assert_int_equal (chmod (test->state, 0755), 0);
    assert_int_equal (reopen (test), -EPERM);
    assert_int_equal (chmod (test->state, 0777), 0);
    assert_int_equal (reopen (test), -EPERM);
    assert_int_equal (chmod (test->state, 0700), 0);
    assert_int_equal (reopen (test), 0);
}

/* If the file cannot be written, nothing changes. */
static void test_unwritable (void **state)
{
    struct test *test = *state;
    char ann[TOKEN_SIZE], bob[TOKEN_SIZE] = "untouched";
    assert_int_equal (add (test, ROLE_USER, "ann", ann), 0);
    assert_int_equal (mkdir (file (test, "tokens.new"), 0700),
                      0); /* blocks the new file, also for root */
    assert_true (add (test, ROLE_USER, "bob", bob) < 0);
    assert_string_equal (bob, "untouched");
    assert_true (tokens_remove (test->tokens, "ann", &test->err) < 0);
    assert_int_equal (tokens_count (test->tokens), 1);
    expect (test, ann, ROLE_USER, "ann");
}

/* Tokens without files: one is known; those of another set, of jobs and of the admin are not. */
static void test_in_memory (void **state)
{
    struct test *test = *state;
    struct tokens *one = NULL, *other = NULL;
    char token[TOKEN_SIZE], foreign[TOKEN_SIZE], job[TOKEN_JOB_SIZE];
    struct http_identity identity;
    assert_int_equal (tokens_make (ROLE_READ_ONLY, "viewer", token, &one, &test->err), 0);
    assert_int_equal (tokens_make (ROLE_READ_ONLY, "viewer", foreign, &other, &test->err), 0);
    assert_int_equal (tokens_check (one, token, INT64_MAX - 1, &identity, &test->err), 0);
    assert_int_equal (identity.role, ROLE_READ_ONLY);
    assert_string_equal (identity.name, "viewer");
    assert_string_not_equal (token, foreign);
    assert_int_equal (tokens_check (one, foreign, INT64_MAX - 1, &identity, &test->err), -EACCES);
    tokens_job (other, "a", 1, job);
    assert_int_equal (tokens_check (one, job, INT64_MAX - 1, &identity, &test->err), -EACCES);
    assert_int_equal (tokens_check (one, "", INT64_MAX - 1, &identity, &test->err), -EACCES);
    tokens_free (one);
    tokens_free (other);
}

/* A token that expires is valid before, and refused from that second on, also by the next polluxd; others are not
 * concerned. */
static void test_expiry (void **state)
{
    struct test *test = *state;
    char ann[TOKEN_SIZE], bob[TOKEN_SIZE];
    struct http_identity identity;
    int64_t second_us = 1000000, expires_us = now_us + 30 * second_us;
    assert_int_equal (add (test, ROLE_USER, "bob", bob), 0);
    assert_int_equal (tokens_due_us (test->tokens), INT64_MAX);
    /* The end is a whole second, rounded up. */
    assert_int_equal (tokens_add (test->tokens, ROLE_READ_ONLY, "ann", 29, now_us + 1, ann, NULL),
                      0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal (tokens_due_us (test->tokens), expires_us);
        assert_int_equal (tokens_get (test->tokens, 0)->expires_us, INT64_MAX);
        assert_int_equal (tokens_get (test->tokens, 1)->expires_us, expires_us);
        assert_int_equal (check_at (test, expires_us - 1, ann, &identity), 0);
        assert_int_equal (identity.role, ROLE_READ_ONLY);
        assert_string_equal (identity.name, "ann");
        identity.role = 99;
        assert_int_equal (check_at (test, expires_us, ann, &identity), -EKEYEXPIRED);
        assert_int_equal (identity.role, 99);
        assert_string_equal (test->err.text,
                             "the token has expired (2023-11-14 22:13:50 UTC); ask an "
                             "administrator to make a new one with pollux token new");
        assert_int_equal (check_at (test, INT64_MAX - 1, bob, &identity), 0);
        /* It is told once. */
        assert_null (tokens_expired (test->tokens, expires_us - 1));
        assert_string_equal (tokens_expired (test->tokens, expires_us), "ann");
        assert_null (tokens_expired (test->tokens, expires_us));
        assert_int_equal (tokens_due_us (test->tokens), INT64_MAX);
        assert_int_equal (reopen (test), 0);
    }
    char *text = get (test, "tokens");
    assert_non_null (strstr (text, " 1700000030\n"));
    assert_int_equal (strlen (strchr (text, '\n') + 1),
                      strlen ("read-only ann  1700000030\n") + 64);
    free (text);
}

/* The name of an expired token can have a new one; the old one is unknown then. */
static void test_replaced (void **state)
{
    struct test *test = *state;
    char old[TOKEN_SIZE], fresh[TOKEN_SIZE], bob[TOKEN_SIZE];
    int64_t second_us = 1000000;
    static const int64_t bad[] = {-1, TOKEN_LIFETIME_MAX_S + 1, INT64_MAX};
    for (size_t i = 0; i < COUNT (bad); i++)
        assert_int_equal (
            tokens_add (test->tokens, ROLE_USER, "ann", bad[i], now_us, old, &test->err), -EINVAL);
    assert_int_equal (tokens_add (test->tokens, ROLE_USER, "ann", 1, now_us - second_us, old, NULL),
                      0);
    assert_int_equal (tokens_add (test->tokens, ROLE_USER, "bob", 2, now_us - second_us, bob, NULL),
                      0);
    assert_int_equal (tokens_add (test->tokens, ROLE_USER, "ann", 0, now_us - 1, fresh, &test->err),
                      -EEXIST);
    assert_int_equal (tokens_due_us (test->tokens), now_us);
    assert_int_equal (tokens_add (test->tokens, ROLE_READ_ONLY, "ann", TOKEN_LIFETIME_MAX_S, now_us,
                                  fresh, &test->err),
                      0);
    assert_int_equal (tokens_count (test->tokens), 2);
    assert_string_equal (tokens_get (test->tokens, 1)->identity.name, "ann");
    expect (test, old, 0, NULL);
    expect (test, fresh, ROLE_READ_ONLY, "ann");
    expect (test, bob, ROLE_USER, "bob");
    assert_null (tokens_expired (test->tokens, now_us));
    assert_int_equal (tokens_due_us (test->tokens), now_us + second_us);
    assert_int_equal (tokens_remove (test->tokens, "bob", &test->err), 0);
    assert_null (tokens_expired (test->tokens, now_us + second_us));
    assert_int_equal (reopen (test), 0);
    assert_int_equal (tokens_due_us (test->tokens), now_us + second_us * TOKEN_LIFETIME_MAX_S);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_admin, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_reload, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_permissions_and_file_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_unwritable, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_expiry, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_in_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
