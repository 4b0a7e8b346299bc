/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run directories: documents encoded and decoded, names that leave the directory, one start only,
 * locks, every state, damaged and hostile files, and rotated logs.  test_supervisor.c has real
 * processes.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "backend/log.h"
#include "backend/run.h"
#include "run_fixture.h"
#include "wire/run_news.h"
#include "wire/submission.h"

/* Info of this process. */
static struct run_info own_info (void)
{
    struct run_info info = {.id = "job.3.1.abc", .slots = {.count = 2, .items = {4, 7}}};
    assert_int_equal (process_boot (info.boot, NULL), 0);
    assert_int_equal (process_identify (getpid (), &info.supervisor, NULL), 0);
    return info;
}

static struct run published (struct run_fixture *test)
{
    struct run run;
    struct run_info info = own_info ();
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, NULL), 0);
    assert_int_equal (run_publish (&run, &run_fixture_name, &info, NULL), 0);
    return run;
}

/* Write a file of the run with any content. */
static void plant (struct run_fixture *test, const char *file, const char *text)
{
    char path[128];
    snprintf (path, sizeof (path), "%s/run/job/3/1/%s", test->path, file);
    unlink (path);
    FILE *out = fopen (path, "w");
    assert_non_null (out);
    fputs (text, out);
    fclose (out);
}

/* ---- Documents ---------------------------------------------------------------------------- */

static void test_documents_round_trip (void **state)
{
    (void)state;
    char *text, *again;
    size_t length, again_length;
    struct run_info info = own_info (), other_info;
    strcpy (info.socket, "/tmp/x/agent.sock");
    info.guardian = (struct run_process){.pid = 4710, .start = 7};
    assert_int_equal (run_info_encode (&info, &text, &length, NULL), 0);
    assert_int_equal (run_info_decode ("info", text, length, &other_info, NULL), 0);
    assert_memory_equal (&info, &other_info, sizeof (info));
    free (text);

    struct run_status other, status = {.started = true,
                                       .signal = 9,
                                       .stopped = true,
                                       .killed = true,
                                       .outside = true,
                                       .at_us = 1731705000000000};
    strcpy (status.why, "a sentence: \"quoted\", \xc3\xa9");
    assert_int_equal (run_status_encode (&status, &text, &length, NULL), 0);
    assert_int_equal (run_status_decode ("status", text, length, &other, NULL), 0);
    assert_memory_equal (&status.why, &other.why, sizeof (status.why));
    assert_int_equal (other.signal, 9);
    assert_true (other.started && other.stopped && other.killed && other.outside);
    assert_true (other.at_us == status.at_us);
    assert_int_equal (run_status_code (&other), 137);
    free (text);

    char *command[] = {"python", "train.py", "", NULL}, *environment[] = {"A=b", "C=", NULL};
    struct run_description *read, description = {.command = command,
                                                 .environment = environment,
                                                 .directory = "/",
                                                 .stop_signal = 10,
                                                 .grace_s = 0.1,
                                                 .log_size = 5000,
                                                 .log_files = 3,
                                                 .url = "https://10.0.0.1:7467",
                                                 .token = "t",
                                                 .ca = "/x/tls.pem",
                                                 .auth = RUN_AUTH_MUNGE,
                                                 .munge_uid = 4294967294,
                                                 .news = true,
                                                 .devices = {.count = 2, .items = {3, 1}},
                                                 .master = "master",
                                                 .master_first = true,
                                                 .cpus = {.count = 1, .items = {3}}};
    assert_int_equal (run_description_encode (&description, &text, &length, NULL), 0);
    assert_int_equal (run_description_decode ("x", text, length, &read, NULL), 0);
    assert_string_equal (read->command[1], "train.py");
    assert_null (read->command[3]);
    assert_string_equal (read->environment[1], "C=");
    assert_true (read->grace_s == 0.1);
    assert_string_equal (read->ca, "/x/tls.pem");
    assert_true (read->auth == RUN_AUTH_MUNGE && read->news);
    assert_int_equal (read->munge_uid, 4294967294);
    assert_true (read->devices.count == 2 && read->devices.items[0] == 3);
    assert_string_equal (read->master, "master");
    assert_true (read->master_first);
    assert_int_equal (run_description_encode (read, &again, &again_length, NULL), 0);
    assert_string_equal (text, again);
    free (again);
    free (text);
    run_description_free (read);
}

static void test_bad_description (void **state)
{
    (void)state;
    static const struct {
        const char *field, *word;
    } rows[] = {
        {"\"master\":\"master\"", "master"},
        {"\"master\":{\"file\":\"../x\"}", "file"},
        {"\"master\":{\"file\":\"0\"}", "file"},
        {"\"master\":{\"file\":\"\"}", "file"},
        {"\"master\":{\"first\":1}", "first"},
        {"\"devices\":[-1]", "devices"},
        {"\"devices\":3", "devices"},
        {"\"ca\":\"tls.pem\"", "ca"},
        {"\"auth\":\"magic\"", "auth"},
        {"\"munge_uid\":-1", "munge_uid"},
        {"\"munge_uid\":4294967295", "munge_uid"},
        {"\"news\":\"yes\"", "news"},
        {"\"url\":\"http://10.0.0.1:80\",\"token\":\"t\"", "TLS"},
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct run_description *description;
        struct pollux_error err = {.text = ""};
        char text[256];
        int length =
            snprintf (text, sizeof (text), "{\"version\":1,\"command\":[\"x\"],%s}", rows[i].field);
        int code = run_description_decode ("x", text, (size_t)length, &description, &err);
        if (code != -EINVAL || !strstr (err.text, rows[i].word))
            fail_msg ("%s: %d, %s", rows[i].field, code, err.text);
    }
}

static void test_news_round_trip (void **state)
{
    (void)state;
    struct run_news running = {.generation = 3, .rank = 7}, other;
    struct run_news ended = {.generation = INT_MAX,
                             .ended = true,
                             .status = {.started = true, .signal = 9, .at_us = 1, .why = "killed"}};
    char *text;
    size_t length;
    assert_int_equal (run_news_encode (&running, &text, &length, NULL), 0);
    assert_string_equal (text, "{\"generation\":3,\"rank\":7,\"state\":\"running\"}");
    assert_int_equal (run_news_decode ("news", text, length, &other, NULL), 0);
    assert_true (other.generation == 3 && other.rank == 7 && !other.ended);
    free (text);
    assert_int_equal (run_news_encode (&ended, &text, &length, NULL), 0);
    assert_int_equal (run_news_decode ("news", text, length, &other, NULL), 0);
    assert_true (other.ended && other.status.signal == 9 && other.status.at_us == 1);
    assert_string_equal (other.status.why, "killed");
    free (text);
}

static void test_news_refused (void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"[]", "object"},
        {"{\"rank\":0,\"state\":\"running\"}", "generation"},
        {"{\"generation\":0,\"rank\":0,\"state\":\"running\"}", "generation"},
        {"{\"generation\":1,\"rank\":-1,\"state\":\"running\"}", "rank"},
        {"{\"generation\":1,\"rank\":0}", "state"},
        {"{\"generation\":1,\"rank\":0,\"state\":\"asleep\"}", "state"},
        {"{\"generation\":1,\"rank\":0,\"state\":\"ended\"}", "status"},
        {"{\"generation\":1,\"rank\":0,\"state\":\"ended\",\"status\":{\"version\":1}}", "status"},
    };
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct run_news news = {.rank = 42};
        struct pollux_error err;
        assert_int_equal (
            run_news_decode ("news", rows[i].text, strlen (rows[i].text), &news, &err), -EINVAL);
        if (!strstr (err.text, rows[i].why))
            fail_msg ("%s: %s", rows[i].text, err.text);
        assert_int_equal (news.rank, 42);
    }
}

static void test_status_cut_sentence (void **state)
{
    (void)state;
    char *text;
    size_t length;
    struct run_status other, status = {.code = 127};
    memset (status.why, 'x', sizeof (status.why) - 1);
    status.why[sizeof (status.why) - 2] = (char)0xc3;
    assert_int_equal (run_status_encode (&status, &text, &length, NULL), 0);
    assert_int_equal (run_status_decode ("status", text, length, &other, NULL), 0);
    assert_int_equal (strlen (other.why), sizeof (status.why) - 2);
    free (text);
}

#define STATUS_START "{\"version\":1,\"started\":true,"
static const struct {
    const char *text;
    int code;
    const char *word;
} bad_status[] = {
    {"", -EINVAL, "empty"},
    {"   ", -EINVAL, "empty"},
    {"{", -EINVAL, "not well-formed"},
    {"[]", -EINVAL, "expected an object"},
    {"{}", -EINVAL, "version"},
    {"{\"version\":2}", -EPROTO, "version 1"},
    {"{\"version\":0}", -EINVAL, "version"},
    {"{\"version\":\"1\"}", -EINVAL, "version"},
    {STATUS_START "\"code\":256,\"signal\":0,\"stopped\":false,\"killed\":false,\"at_us\":1}",
     -EINVAL, "code"},
    {STATUS_START "\"code\":-1,\"signal\":0,\"stopped\":false,\"killed\":false,\"at_us\":1}",
     -EINVAL, "code"},
    {STATUS_START "\"code\":1,\"signal\":9,\"stopped\":false,\"killed\":false,\"at_us\":1}",
     -EINVAL, "signal"},
    {STATUS_START "\"code\":0,\"signal\":65,\"stopped\":false,\"killed\":false,\"at_us\":1}",
     -EINVAL, "signal"},
    {STATUS_START "\"code\":0,\"signal\":0,\"stopped\":0,\"killed\":false,\"at_us\":1}", -EINVAL,
     "stopped"},
    {STATUS_START "\"code\":0,\"code\":0,\"signal\":0,\"stopped\":false,\"killed\":false,"
                  "\"at_us\":1}",
     -EINVAL, "duplicate"},
};

static void test_bad_status (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (bad_status); i++) {
        struct run_status status = {.code = 77};
        struct pollux_error err = {.text = ""};
        int code = run_status_decode ("status", bad_status[i].text, strlen (bad_status[i].text),
                                      &status, &err);
        if (code != bad_status[i].code || !strstr (err.text, bad_status[i].word))
            fail_msg ("%s: %d, %s", bad_status[i].text, code, err.text);
        assert_int_equal (status.code, 77);
    }
}

#define INFO_START "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\","
static const char *const bad_info[] = {
    "{\"version\":1,\"pid\":0,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":-1,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":99999999,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":1,\"start\":1,\"run\":\"a\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"a b\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"a\\nb\",\"boot\":\"b\"}",
    "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\",\"socket\":\"x\"}",
    "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\",\"slots\":[-1]}",
    "{\"version\":1,\"pid\":1,\"start\":\"1\",\"run\":\"a\",\"boot\":\"b\",\"slots\":{}}",
    INFO_START "\"guardian\":{\"pid\":0}}",
    INFO_START "\"guardian\":4}",
};

static void test_bad_info (void **state)
{
    (void)state;
    struct run_info info;
    for (size_t i = 0; i < COUNT (bad_info); i++)
        if (run_info_decode ("info", bad_info[i], strlen (bad_info[i]), &info, NULL) != -EINVAL)
            fail_msg ("accepted: %s", bad_info[i]);
}

static void test_messages (void **state)
{
    (void)state;
    static char large[RUN_MESSAGE_LIMIT + 10];
    assert_int_equal (run_message_check ("{\"a\":1}", 7, NULL), 0);
    assert_int_equal (run_message_check ("[1]", 3, NULL), -EINVAL);
    assert_int_equal (run_message_check ("", 0, NULL), -EINVAL);
    assert_int_equal (run_message_check ("\0\0", 2, NULL), -EINVAL);
    memset (large, ' ', sizeof (large));
    large[0] = '{';
    large[RUN_MESSAGE_LIMIT - 1] = '}';
    assert_int_equal (run_message_check (large, RUN_MESSAGE_LIMIT, NULL), 0);
    assert_int_equal (run_message_check (large, RUN_MESSAGE_LIMIT + 1, NULL), -EFBIG);
}

/* ---- Names -------------------------------------------------------------------------------- */

static void test_job_names (void **state)
{
    (void)state;
    static const char *const good[] = {
        "a", "resnet-50.v2_x", "0",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx63ch"};
    static const char *const bad[] = {
        "",
        ".",
        "..",
        ".a",
        "-a",
        "a/b",
        "a b",
        "a\n",
        "\xc3\xa9",
        "a\\b",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx64ch"};
    for (size_t i = 0; i < COUNT (good); i++)
        assert_true (wire_is_job (good[i]));
    for (size_t i = 0; i < COUNT (bad); i++)
        assert_false (wire_is_job (bad[i]));
}

static void test_names_that_climb (void **state)
{
    struct run_fixture *test = *state;
    static const char *const jobs[] = {"..", "../..", "a/b", "", "/etc"};
    struct run run;
    for (size_t i = 0; i < COUNT (jobs); i++) {
        struct run_name bad = {.rank = 0, .generation = 1};
        snprintf (bad.job, sizeof (bad.job), "%s", jobs[i]);
        assert_int_equal (run_prepare (test->root, jobs[i], 1, NULL), -EINVAL);
        assert_int_equal (run_create (test->root, &bad, &run, NULL), -EINVAL);
        assert_int_equal (run_look (test->root, &bad, &test->view, NULL), -EINVAL);
        assert_int_equal (run_remove (test->root, jobs[i], 1, NULL), -EINVAL);
    }
    struct run_name negative = {.job = "job", .generation = 3, .rank = -1};
    assert_int_equal (run_create (test->root, &negative, &run, NULL), -EINVAL);
}

static void test_paths (void **state)
{
    struct run_fixture *test = *state;
    static const char *const bad[] = {"",         "/",        "job/3/1/",          "3/1",
                                      "job/03/1", "job/3/+1", "job/3/99999999999", "../3/1"};
    char path[256];
    struct run_name found;
    int root;
    for (size_t i = 0; i < COUNT (bad); i++) {
        snprintf (path, sizeof (path), "%s/run/%s", test->path, bad[i]);
        if (i < 2)
            strcpy (path, bad[i]);
        if (run_path_open (path, &root, &found, NULL) >= 0 && i != 3)
            fail_msg ("accepted: %s", path);
    }
    snprintf (path, sizeof (path), "%s/run/job/3/1", test->path);
    assert_int_equal (run_path_open (path, &root, &found, NULL), 0);
    assert_string_equal (found.job, "job");
    assert_int_equal (found.generation, 3);
    assert_int_equal (found.rank, 1);
    assert_string_equal (run_path (&found).text, "job/3/1");
    close (root);
}

/* ---- States ------------------------------------------------------------------------------- */

static int try_remove (struct run_fixture *test, struct pollux_error *err)
{
    return run_remove (test->root, "job", 3, err);
}

static void test_life (void **state)
{
    struct run_fixture *test = *state;
    struct run run;
    struct run_info info = own_info ();
    assert_int_equal (run_fixture_look (test), RUN_NONE);
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, NULL), 0);
    assert_int_equal (run_fixture_look (test), RUN_NONE); /* not visible before it is complete */
    assert_int_equal (run_publish (&run, &run_fixture_name, &info, NULL), 0);
    assert_int_equal (run_fixture_look (test), RUN_RUNNING);
    assert_memory_equal (&test->view.info, &info, sizeof (info));
    assert_false (test->view.has_replica);
    assert_int_equal (run_write_replica (&run, &info.supervisor, NULL), 0);
    assert_int_equal (run_fixture_look (test), RUN_RUNNING);
    assert_int_equal (test->view.replica.pid, getpid ());
    assert_int_equal (run_fixture_in_child (test, try_remove, NULL), -EBUSY);
    assert_int_equal (run_fixture_look (test), RUN_RUNNING);
    struct run_status status = {.started = true, .code = 5, .at_us = 1};
    assert_int_equal (run_write_status (&run, &status, NULL), 0);
    assert_int_equal (run_fixture_look (test), RUN_ENDED);
    run_close (&run);
    assert_int_equal (run_fixture_look (test), RUN_ENDED);
    assert_int_equal (test->view.status.code, 5);
    assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
    assert_int_equal (run_fixture_look (test), RUN_NONE);
    /* The job's directory is removed, too, and a late supervisor cannot start. */
    assert_int_equal (faccessat (test->root, "job", F_OK, 0), -1);
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, NULL), -ENOENT);
}

static void test_lost (void **state)
{
    struct run_fixture *test = *state;
    struct run run = published (test);
    run_close (&run);
    assert_int_equal (run_fixture_look (test), RUN_LOST);
    assert_true (test->view.has_info);
    assert_non_null (strstr (test->view.why.text, "died"));
}

/* The same states from files alone, as another machine sees them. */
static void test_read (void **state)
{
    struct run_fixture *test = *state;
    struct run_view *view = &test->view;
    struct run_status status = {.started = true, .code = 5, .at_us = 1};
    assert_int_equal (run_read (test->root, &run_fixture_name, view, NULL), 0);
    assert_int_equal (view->state, RUN_NONE);
    struct run run = published (test);
    assert_int_equal (run_write_replica (&run, &(struct run_process){.pid = 1}, NULL), 0);
    run_close (&run); /* for run_read a supervisor that died is like one that lives */
    assert_int_equal (run_read (test->root, &run_fixture_name, view, NULL), 0);
    assert_true (view->state == RUN_BEGUN && view->has_info && view->has_replica);
    assert_string_equal (view->why.text, "");
    plant (test, "status", "{");
    assert_int_equal (run_read (test->root, &run_fixture_name, view, NULL), 0);
    assert_int_equal (view->state, RUN_BEGUN);
    assert_non_null (strstr (view->why.text, "status"));
    assert_int_equal (run_settle (test->root, &run_fixture_name, &status, NULL), 0);
    plant (test, "info", "{");
    assert_int_equal (run_read (test->root, &run_fixture_name, view, NULL), 0);
    assert_true (view->state == RUN_ENDED && view->status.code == 5 && !view->has_info);
}

/* A job has put something else in the place of a directory, or has closed or opened it: the run has begun. */
static void test_read_damaged_directory (void **state)
{
    struct run_fixture *test = *state;
    static const char *const names[] = {"job/3/1", "job/3"};
    struct run run = published (test);
    run_close (&run);
    for (size_t i = 0; i < COUNT (names); i++) {
        for (int kind = 0; kind < 3; kind++) { /* others may write to it; a file; a link */
            if (kind == 0) {
                assert_int_equal (fchmodat (test->root, names[i], 0777, 0), 0);
            } else if (kind == 1) {
                assert_int_equal (renameat (test->root, names[i], test->root, "away"), 0);
                assert_int_equal (mknodat (test->root, names[i], S_IFREG | 0600, 0), 0);
            } else {
                assert_int_equal (symlinkat ("/tmp", test->root, names[i]), 0);
            }
            assert_int_equal (run_read (test->root, &run_fixture_name, &test->view, NULL), 0);
            assert_int_equal (test->view.state, RUN_BEGUN);
            assert_false (test->view.has_status);
            assert_true (*test->view.why.text);
            if (kind > 0)
                assert_int_equal (unlinkat (test->root, names[i], 0), 0);
        }
        assert_int_equal (renameat (test->root, "away", test->root, names[i]), 0);
        assert_int_equal (fchmodat (test->root, names[i], 0700, 0), 0);
    }
}

static void test_one_start_only (void **state)
{
    struct run_fixture *test = *state;
    struct run run = published (test), second;
    struct run_info info = own_info ();
    struct pollux_error err;
    strcpy (info.id, "other");
    for (int round = 0; round < 2; round++) {
        assert_int_equal (run_create (test->root, &run_fixture_name, &second, NULL), 0);
        assert_int_equal (run_publish (&second, &run_fixture_name, &info, &err), -EEXIST);
        assert_non_null (strstr (err.text, "job/3/1: this run has been started before"));
        run_close (&second);
        assert_int_equal (run_fixture_look (test), round == 0 ? RUN_RUNNING : RUN_LOST);
        assert_string_equal (test->view.info.id, "job.3.1.abc");
        run_close (&run);
    }
}

static void test_refused (void **state)
{
    struct run_fixture *test = *state;
    struct run run;
    struct run_info info = own_info ();
    struct run_status status = {.code = 143, .stopped = true, .at_us = 1};
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, NULL),
                      0); /* a supervisor is starting */
    assert_int_equal (run_refuse (test->root, &run_fixture_name, &status, NULL), 0);
    assert_int_equal (run_fixture_look (test), RUN_ENDED);
    assert_false (test->view.has_info || test->view.status.started);
    assert_int_equal (run_publish (&run, &run_fixture_name, &info, NULL), -EEXIST);
    run_close (&run);
    assert_int_equal (run_fixture_look (test), RUN_ENDED);
    assert_int_equal (run_refuse (test->root, &run_fixture_name, &status, NULL), -EEXIST);
    assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
}

/* A child between fork and exec inherits all descriptors, but not the lock. */
static void test_lock_is_not_inherited (void **state)
{
    struct run_fixture *test = *state;
    struct run run = published (test);
    int ends[2];
    assert_int_equal (pipe (ends), 0);
    int child = fork ();
    if (child == 0) {
        char byte;
        close (ends[1]);
        _exit ((int)read (ends[0], &byte, 1)); /* until the parent closes its end */
    }
    close (ends[0]);
    assert_int_equal (run_fixture_look (test), RUN_RUNNING);
    assert_int_equal (run_fixture_look (test), RUN_RUNNING);
    run_close (&run);
    assert_int_equal (run_fixture_look (test), RUN_LOST);
    close (ends[1]);
    waitpid (child, NULL, 0);
}

/* ---- Damaged and hostile files ------------------------------------------------------------ */

static void test_damaged (void **state)
{
    struct run_fixture *test = *state;
    static const char *const texts[] = {
        "", "{", "\xff\xfe", "{\"version\":1}", "null", "{\"version\":9}"};
    struct run run = published (test);
    for (size_t i = 0; i < COUNT (texts); i++) {
        struct pollux_error err = {.text = ""};
        plant (test, "info", texts[i]);
        int code = run_fixture_in_child (test, run_fixture_try_look, &err);
        assert_int_equal (code,
                          i == 5 ? -EPROTO : -EINVAL); /* it lives, but its identity is not known */
        assert_non_null (strstr (err.text, "run job/3/1: info:1:"));
    }
    run_close (&run);
    for (size_t i = 0; i < COUNT (texts); i++) {
        plant (test, "info", texts[i]);
        assert_int_equal (run_fixture_look (test), RUN_LOST);
        assert_false (test->view.has_info);
        plant (test, "status", texts[i]);
        assert_int_equal (run_fixture_look (test), RUN_LOST);
        assert_non_null (strstr (test->view.why.text, "status"));
        unlinkat (test->root, "job/3/1/status", 0);
    }
    assert_int_equal (run_kill (test->root, &run_fixture_name, &test->view, NULL), 0);
}

/* Each replaces a file; it must not be followed, and opening it must not block. */
static void test_hostile_files (void **state)
{
    struct run_fixture *test = *state;
    static const char *const files[] = {"info", "status", "replica", "lock", "out.log"};
    char path[128];
    int file;
    for (size_t i = 0; i < COUNT (files); i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct run run = published (test);
            struct run_status status = {.started = true, .at_us = 1};
            assert_int_equal (run_write_status (&run, &status, NULL), 0);
            run_close (&run);
            snprintf (path, sizeof (path), "%s/run/job/3/1/%s", test->path, files[i]);
            unlink (path);
            if (kind == 0)
                assert_int_equal (symlink ("/etc/passwd", path), 0);
            else if (kind == 1)
                assert_int_equal (mkfifo (path, 0600), 0);
            else if (kind == 2)
                assert_int_equal (mkdir (path, 0700), 0);
            else
                assert_int_equal (truncate ((plant (test, files[i], ""), path), 1 << 30), 0);
            struct pollux_error err = {.text = ""};
            int code = run_look (test->root, &run_fixture_name, &test->view, &err);
            if (strcmp (files[i], "status") == 0)
                assert_true (code == 0 && test->view.state == RUN_LOST);
            else
                assert_true (code == 0 && test->view.state == RUN_ENDED);
            code = run_open_log (test->root, &run_fixture_name, 0, &file, &err);
            assert_int_equal (code == 0, strcmp (files[i], "out.log") == 0 && kind == 3);
            if (code == 0)
                close (file);
            assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
            assert_int_equal (
                run_prepare (test->root, run_fixture_name.job, run_fixture_name.generation, NULL),
                0);
        }
    }
    assert_int_equal (access ("/etc/passwd", F_OK), 0);
}

static void test_hostile_directories (void **state)
{
    struct run_fixture *test = *state;
    struct run run;
    struct pollux_error err;
    assert_int_equal (unlinkat (test->root, "job/3", AT_REMOVEDIR), 0);
    assert_int_equal (symlinkat ("/tmp", test->root, "job/3"), 0);
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, &err), -ELOOP);
    assert_non_null (strstr (err.text, "symbolic link"));
    assert_int_equal (run_look (test->root, &run_fixture_name, &test->view, NULL), -ELOOP);
    /* A link is removed as a link; where a generation is prepared, a link makes way, too. */
    assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
    assert_int_equal (access ("/tmp", F_OK), 0);
    for (int kind = 0; kind < 3; kind++) {
        unlinkat (test->root, "job", AT_REMOVEDIR);
        if (kind == 0)
            assert_int_equal (symlinkat ("/tmp", test->root, "job"), 0);
        else if (kind == 1)
            assert_int_equal (mknodat (test->root, "job", S_IFREG | 0600, 0), 0);
        else
            assert_true (mkdirat (test->root, "job", 0700) == 0 &&
                         fchmodat (test->root, "job", 0777, 0) == 0);
        assert_int_equal (
            run_prepare (test->root, run_fixture_name.job, run_fixture_name.generation, NULL), 0);
        assert_int_equal (unlinkat (test->root, "job/3", AT_REMOVEDIR), 0);
    }
    assert_int_equal (
        run_prepare (test->root, run_fixture_name.job, run_fixture_name.generation, NULL), 0);
    assert_int_equal (symlinkat ("/tmp", test->root, "job/3/1"), 0);
    assert_int_equal (run_look (test->root, &run_fixture_name, &test->view, NULL), -ELOOP);
    struct run_info info = own_info ();
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, NULL), 0);
    assert_int_equal (run_publish (&run, &run_fixture_name, &info, NULL), -EEXIST);
    run_close (&run);
    assert_int_equal (unlinkat (test->root, "job/3/1", 0), 0);
    assert_int_equal (fchmodat (test->root, "job/3", 0777, 0), 0);
    assert_int_equal (run_create (test->root, &run_fixture_name, &run, &err), -EPERM);
    assert_non_null (strstr (err.text, "chmod 700"));
    assert_int_equal (fchmodat (test->root, "job/3", 0700, 0), 0);
}

/* Files that a replica puts into its directory are removed; targets of its links are not. */
static void test_remove_mischief (void **state)
{
    struct run_fixture *test = *state;
    struct run run = published (test);
    char outside[128];
    snprintf (outside, sizeof (outside), "%s/precious", test->path);
    assert_int_equal (mkdir (outside, 0700), 0);
    assert_int_equal (mkdirat (run.directory, "sub", 0700), 0);
    assert_int_equal (mkdirat (run.directory, "sub/sub", 0700), 0);
    assert_int_equal (symlinkat (outside, run.directory, "sub/link"), 0);
    run_close (&run);
    assert_int_equal (run_remove (test->root, "job", 3, NULL), 0);
    assert_int_equal (access (outside, F_OK), 0);
}

/* ---- Logs --------------------------------------------------------------------------------- */

/* Lines of random length, written in random pieces, are complete and in order for all limits. */
static void test_log_rotation (void **state)
{
    struct run_fixture *test = *state;
    int directory;
    for (int limit = 480; limit < 2000; limit += 247) {
        assert_int_equal (safe_dir_make (test->root, "logs", NULL), 0);
        assert_int_equal (safe_dir_open (test->root, "logs", &directory, NULL), 0);
        struct log log = log_open (directory, limit, 999);
        char text[20000], *at = text;
        for (int i = 0; i < 300; i++)
            at += sprintf (at, "%d %.*s\n", i, i * 13 % 50,
                           "..................................................");
        size_t length = (size_t)(at - text);
        for (size_t start = 0, part = 1; start < length; start += part, part = part * 31 % 97 + 1)
            log_write (&log, text + start, part < length - start ? part : length - start);
        log_mark (&log, "end");
        log_close (&log);
        char all[24000] = "", file[32];
        int last = 0;
        for (snprintf (file, sizeof (file), "out.log.1"); faccessat (directory, file, F_OK, 0) == 0;
             snprintf (file, sizeof (file), "out.log.%d", last + 1))
            last++;
        for (; last >= 0; last--) {
            char *part;
            size_t size;
            snprintf (file, sizeof (file), last ? "out.log.%d" : "out.log", last);
            assert_int_equal (safe_dir_read (directory, file, (size_t)limit, &part, &size, NULL),
                              0);
            assert_int_equal (part[size - 1], '\n');
            strcat (all, part);
            free (part);
        }
        close (directory);
        assert_memory_equal (all, text, length);
        assert_string_equal (all + length, "pollux: end\n");
        assert_int_equal (safe_dir_remove (test->root, "logs", NULL), 0);
    }
}

int main (void)
{
#define TEST(test) cmocka_unit_test_setup_teardown (test, run_fixture_set_up, run_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_documents_round_trip),
        cmocka_unit_test (test_bad_description),
        cmocka_unit_test (test_news_round_trip),
        cmocka_unit_test (test_news_refused),
        cmocka_unit_test (test_status_cut_sentence),
        cmocka_unit_test (test_bad_status),
        cmocka_unit_test (test_bad_info),
        cmocka_unit_test (test_messages),
        cmocka_unit_test (test_job_names),
        TEST (test_names_that_climb),
        TEST (test_paths),
        TEST (test_life),
        TEST (test_lost),
        TEST (test_read),
        TEST (test_read_damaged_directory),
        TEST (test_one_start_only),
        TEST (test_refused),
        TEST (test_lock_is_not_inherited),
        TEST (test_damaged),
        TEST (test_hostile_files),
        TEST (test_hostile_directories),
        TEST (test_remove_mischief),
        TEST (test_log_rotation),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
