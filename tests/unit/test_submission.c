/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files: values and defaults; all errors of a file at once, each with its line; options that
 * replace fields of a file; encoding and decoding.
 */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "wire/submission.h"

static void parse (const char *text, enum wire_syntax syntax, struct wire_submission *ret)
{
    struct pollux_error err;
    if (wire_submission_parse ("job", text, strlen (text), syntax, NULL, ret, &err) < 0)
        fail_msg ("%s: %s", text, err.text);
}

static char *dump (const struct wire_submission *submission)
{
    struct pollux_error err;
    json_t *object = wire_submission_encode (submission, &err);
    if (!object)
        fail_msg ("%s", err.text);
    char *text = json_dumps (object, JSON_COMPACT);
    json_decref (object);
    return text;
}

/* ---- What files mean ---------------------------------------------------------------------- */

static void test_least (void **state)
{
    (void)state;
    struct wire_submission job;
    parse ("command: sleep 1 && true\n", WIRE_YAML, &job);
    assert_string_equal (job.spec.name, "");
    assert_string_equal (job.spec.application, "");
    assert_int_equal (job.spec.min_replicas, 0);
    assert_int_equal (job.spec.max_replicas, 1);
    assert_int_equal (job.spec.allowed.kind, ALLOWED_ANY);
    assert_true (job.spec.weight == 1);
    assert_false (job.spec.preemptible);
    assert_false (job.spec.adaptive);
    assert_true (isnan (job.spec.restart_delay_s));
    assert_int_equal (job.spec.fixed_replicas, 0);
    assert_int_equal (job.spec.fixed_batch, 0);
    const struct launch *launch = job.launch;
    assert_string_equal (launch->owner, "");
    assert_string_equal (launch->command[0], "/bin/sh");
    assert_string_equal (launch->command[1], "-c");
    assert_string_equal (launch->command[2], "sleep 1 && true");
    assert_null (launch->command[3]);
    assert_null (launch->environment[0]);
    assert_null (launch->directory);
    assert_null (launch->checkpoint_dir);
    assert_int_equal (launch->launcher, LAUNCHER_ENV);
    assert_int_equal (launch->stop_signal, 15);
    assert_true (launch->grace_s == 30);
    assert_int_equal (launch->max_failures, 3);
    assert_true (launch->backoff_s == 10);
    wire_submission_clear (&job);
}

static void test_most (void **state)
{
    (void)state;
    static const char yaml[] = "name: resnet-50.a_b\n"
                               "command: [python, train.py, 1.50, true, '']\n"
                               "directory: /home/ann\n"
                               "environment: {EPOCHS: 090, LR: 1e-3, ON: yes, EMPTY: \"\"}\n"
                               "min_replicas: 2\n"
                               "max_replicas: 16\n"
                               "allowed: {multiple_of: 2}\n"
                               "weight: 2.5\n"
                               "preemptible: false\n"
                               "adaptive: false\n"
                               "fixed_batch: 512\n"
                               "fixed_replicas: 4\n"
                               "launcher: mpi\n"
                               "checkpoint_dir: /ckpt\n"
                               "stop_signal: SIGUSR1\n"
                               "grace: 120\n"
                               "max_failures: 0\n"
                               "backoff: 0.5\n"
                               "restart_delay: 12\n";
    static const char json[] =
        "{\"name\":\"resnet-50.a_b\",\"min_replicas\":2,\"max_replicas\":16,\"weight\":2.5,"
        "\"preemptible\":false,\"adaptive\":false,\"restart_delay\":12.0,\"fixed_replicas\":4,"
        "\"fixed_batch\":512,\"allowed\":{\"multiple_of\":2},"
        "\"command\":[\"python\",\"train.py\",\"1.50\",\"true\",\"\"],"
        "\"environment\":{\"EPOCHS\":\"090\",\"LR\":\"1e-3\",\"ON\":\"yes\",\"EMPTY\":\"\"},"
        "\"directory\":\"/home/ann\",\"checkpoint_dir\":\"/ckpt\",\"stop_signal\":10,"
        "\"launcher\":\"mpi\",\"grace\":120.0,\"max_failures\":0,\"backoff\":0.5}";
    struct wire_submission job;
    parse (yaml, WIRE_YAML, &job);
    char *text = dump (&job);
    assert_string_equal (text, json);
    free (text);
    wire_submission_clear (&job);
    parse (json, WIRE_JSON, &job);
    text = dump (&job);
    assert_string_equal (text, json);
    free (text);
    wire_submission_clear (&job);
}

static void test_defaults (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int min, max;
        bool preemptible;
    } cases[] = {
        {"command: a\n", 0, 1, false},
        {"command: a\nmax_replicas: 1\n", 0, 1, false},
        {"command: a\nmax_replicas: 8\n", 0, 8, true},
        {"command: a\nmax_replicas: 8\npreemptible: false\n", 0, 8, false},
        {"command: a\nadaptive: true\n", 0, POLLUX_REPLICAS_LIMIT, true},
        {"command: a\nadaptive: true\nmax_replicas: 1\n", 0, 1, true},
        {"command: a\nadaptive: true\npreemptible: false\n", 0, POLLUX_REPLICAS_LIMIT, false},
        {"command: a\nmin_replicas: 4\n", 4, 4, false},
        {"command: a\nfixed_replicas: 3\n", 0, 3, false},
        {"command: a\npreemptible: true\n", 0, 1, true},
        {"command: a\nmax_replicas: ~\nname:\n", 0, 1, false},
        {"command: a\nmax_replicas: 4\nallowed: [4, 6, 9]\n", 0, 4, true},
        {"command: a\nmax_replicas: 3\nmin_replicas: 2\nallowed: pow2\n", 2, 3, true},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_submission job;
        parse (cases[i].text, WIRE_YAML, &job);
        assert_int_equal (job.spec.min_replicas, cases[i].min);
        assert_int_equal (job.spec.max_replicas, cases[i].max);
        assert_int_equal (job.spec.preemptible, cases[i].preemptible);
        wire_submission_clear (&job);
    }
}

/* The largest number of words and variables, without quotes. */
static void test_many (void **state)
{
    (void)state;
    enum { MANY = 60000 };
    size_t size = WIRE_SUBMISSION_LIMIT, at = 0;
    char *text = malloc (size), expected[40];
    assert_non_null (text);
    at += (size_t)snprintf (text + at, size - at, "command: [a");
    for (int i = 0; i < MANY; i++)
        at += (size_t)snprintf (text + at, size - at, ",%d", i);
    at += (size_t)snprintf (text + at, size - at, "]\nenvironment:\n");
    for (int i = 0; i < MANY / 2; i++)
        at += (size_t)snprintf (text + at, size - at, "  V%d: 0%d\n", i, i);
    assert_true (at < size);
    struct wire_submission job;
    parse (text, WIRE_YAML, &job);
    for (int i = 0; i < MANY; i++) {
        snprintf (expected, sizeof (expected), "%d", i);
        assert_string_equal (job.launch->command[i + 1], expected);
    }
    for (int i = 0; i < MANY / 2; i++) {
        snprintf (expected, sizeof (expected), "V%d=0%d", i, i);
        assert_string_equal (job.launch->environment[i], expected);
    }
    assert_null (job.launch->environment[MANY / 2]);
    wire_submission_clear (&job);
    free (text);
}

/* examples/job.yaml is a legal job file. */
static void test_example (void **state)
{
    (void)state;
    struct wire_submission job;
    struct pollux_error err;
    if (wire_submission_read ("examples/job.yaml", NULL, NULL, &job, &err) < 0)
        fail_msg ("%s", err.text);
    assert_string_equal (job.spec.name, "sleeper");
    assert_int_equal (job.spec.max_replicas, 4);
    assert_true (job.spec.preemptible);
    assert_string_equal (job.launch->environment[0], "SECONDS_EACH=60");
    wire_submission_clear (&job);
}

/* ---- What is refused ---------------------------------------------------------------------- */

static void test_all_at_once (void **state)
{
    (void)state;
    static const char yaml[] = "name: ../x\n"
                               "comand: python train.py\n"
                               "directory: here\n"
                               "environment:\n"
                               "  RANK: 1\n"
                               "  A B: 1\n"
                               "  POLLUX_X: 1\n"
                               "  C: [1]\n"
                               "min_replicas: 8\n"
                               "max_replicas: 4\n"
                               "weight: 0\n"
                               "preemptible: yes\n"
                               "adaptive: true\n"
                               "fixed_batch: 10\n"
                               "launcher: ssh\n"
                               "stop_signal: SIGKILL\n"
                               "grace: -1\n"
                               "max_failures: 1.5\n"
                               "backoff: 601\n"
                               "zzz: 1\n";
    static const char *const expected[] = {
        "job:1:1: command: expected a text for the shell or a list of words, got nothing",
        "job:1:7: name: expected a name of 1 to 63 letters, digits, '.', '_' or '-' that does "
        "not start with '.' or '-', got '../x'",
        "job:2:1: comand: no such field; did you mean 'command'?",
        "job:3:12: directory: expected an absolute path below 4096 bytes, got 'here'",
        "job:5:3: environment.RANK: expected another name: the scheduler sets this one",
        "job:6:3: environment.A B: expected a name of letters, digits and underscores that starts "
        "with no digit",
        "job:7:3: environment.POLLUX_X: expected another name: the scheduler sets this one",
        "job:8:6: environment.C: expected a text, got an array",
        "job:10:15: max_replicas: expected at least min_replicas (8), got '4'",
        "job:11:9: weight: expected a number from 1e-09 to 1e+09, got '0'",
        "job:12:14: preemptible: expected true or false, got 'yes'",
        "job:14:14: fixed_batch: expected none beside adaptive: true, got '10'",
        "job:15:11: launcher: expected \"env\" or \"mpi\", got 'ssh'",
        "job:16:14: stop_signal: expected a signal that a process can handle: neither SIGKILL nor "
        "SIGSTOP, got 'SIGKILL'",
        "job:17:8: grace: expected a number from 0 to 604800, got '-1'",
        "job:18:15: max_failures: expected an integer from 0 to 1000000, got '1.5'",
        "job:19:10: backoff: expected a number from 0 to 600, got '601'",
        "job:20:1: zzz: no such field",
    };
    struct wire_submission job = {0};
    struct wire_diagnostics diagnostics = {0};
    struct pollux_error err = {""};
    assert_int_equal (
        wire_submission_parse ("job", yaml, strlen (yaml), WIRE_YAML, &diagnostics, &job, &err),
        -EINVAL);
    assert_null (job.launch);
    assert_string_equal (err.text, "job:1:1: command: expected a text for the shell or a list of "
                                   "words, got nothing (and 17 more)");
    for (size_t i = 0; i < COUNT (expected); i++) {
        assert_true ((int)i < diagnostics.count);
        wire_diagnostic_fail (&diagnostics.items[i], "job", &err);
        assert_string_equal (err.text, expected[i]);
    }
    assert_int_equal (diagnostics.count, COUNT (expected));
}

static void test_refused (void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "job:1:1: empty file: expected fields such as `name: value`"},
        {"- a\n", "job:1:1: expected an object, got an array"},
        {"a\n", "job:1:1: expected an object, got 'a'"},
        {"command: a\ncommand: b\n", "job:2:1: expected every key once, got 'command' again"},
        {"command: ' '\n", "job:1:10: command: expected a command, got '' ''"},
        {"command: a\nfixed_replicas: 0\n",
         "job:2:17: fixed_replicas: expected an integer from 1 to 1048576, got '0'"},
        {"command: []\n", "job:1:10: command: expected a list of 1 to 65536 texts, got an array"},
        {"command: ['', b]\n",
         "job:1:10: command: expected a program as the first word, got an array"},
        {"command: 7\n",
         "job:1:10: command: expected a text for the shell or a list of words, got '7'"},
        {"command: {a: b}\n",
         "job:1:10: command: expected a text for the shell or a list of words, got an object"},
        {"command: a\nmax_replicas: 0\n",
         "job:2:15: max_replicas: expected an integer from 1 to 1048576, got '0'"},
        {"command: a\nmax_replicas: 1048577\n",
         "job:2:15: max_replicas: expected an integer from 1 to 1048576, got '1048577'"},
        {"command: a\nallowed: [2, 4]\n",
         "job:2:10: allowed: expected a count from 1 (min_replicas) to 1 (max_replicas), got an "
         "array"},
        {"command: a\nmin_replicas: 5\nmax_replicas: 7\nallowed: pow2\n",
         "job:4:10: allowed: expected a count from 5 (min_replicas) to 7 (max_replicas), got "
         "'pow2'"},
        {"command: a\nmax_replicas: 7\nallowed: {multiple_of: 8}\n",
         "job:3:10: allowed: expected a count from 1 (min_replicas) to 7 (max_replicas), got an "
         "object"},
        {"command: a\nallowed: {multiple_of: 0}\n",
         "job:2:24: allowed.multiple_of: expected an integer from 1 to 1048576, got '0'"},
        {"command: a\nallowed: squares\n",
         "job:2:10: allowed: expected \"any\", \"pow2\", {\"multiple_of\": N} or a list of counts, "
         "got 'squares'"},
        {"command: a\ntypes: a100\n", "job:2:8: types: expected \"any\", a list of types or "
                                      "{\"except\": a list of types}, got 'a100'"},
        {"command: a\ntypes: []\n",
         "job:2:8: types: expected a list of 1 to 16 types, got an array"},
        {"command: a\ntypes: [t4, t4]\n", "job:2:13: types[1]: expected every type once, got 't4'"},
        {"command: a\ntypes: [-t4]\n", "job:2:9: types[0]: expected a type of 1 to 63 letters, "
                                       "digits, '.', '_' or '-', got '-t4'"},
        {"command: a\ntypes: [1080]\n",
         "job:2:9: types[0]: expected a type; a name of digits needs quotes, got '1080'"},
        {"command: a\ntypes: {only: [t4]}\n", "job:2:9: types.only: no such field"},
        {"command: a\nspeeds: {t4: -1}\n",
         "job:2:14: speeds.t4: expected a number from 0.001 to 1000, got '-1'"},
        {"command: a\nspeeds: fast\n",
         "job:2:9: speeds: expected a speed for each of at most 16 types, got 'fast'"},
        {"command: a\nspeeds: {t 4: 1}\n", "job:2:15: speeds.t 4: expected a type of 1 to 63 "
                                           "letters, digits, '.', '_' or '-', got '1'"},
        {"command: a\nallowed: [1, 1]\n",
         "job:2:14: allowed[1]: expected every count once, got '1'"},
        {"command: a\nmax_replicas: 4\nfixed_replicas: 5\n",
         "job:3:17: fixed_replicas: expected a count that min_replicas, max_replicas and allowed "
         "admit, got '5'"},
        {"command: a\nmax_replicas: 4\nallowed: pow2\nfixed_replicas: 3\n",
         "job:4:17: fixed_replicas: expected a count that min_replicas, max_replicas and allowed "
         "admit, got '3'"},
        {"command: a\nname: .a\n", NULL},
        {"command: a\nname: -a\n", NULL},
        {"command: a\nname: a/b\n", NULL},
        {"command: a\nname: \xc3\xa4\n", NULL},
        {"command: a\nname: 7\n", NULL},
        {"command: a\nowner: bob\n", "job:2:1: owner: no such field"},
        {"command: a\nmaxreplicas: 3\n",
         "job:2:1: maxreplicas: no such field; did you mean 'max_replicas'?"},
        {"command: a\napplication: a b\n",
         "job:2:14: application: expected a name of 1 to 63 letters, digits, '.', '_' or '-' that "
         "does not start with '.' or '-', got 'a b'"},
        {"command: a\nignore_experience: 1\n",
         "job:2:20: ignore_experience: expected true or false, got '1'"},
        {"command: a\nenvironment: [A=1]\n",
         "job:2:14: environment: expected an object of at most 65536 variables, got an array"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_submission job = {0};
        struct wire_diagnostics diagnostics = {0};
        struct pollux_error err = {""};
        int code = wire_submission_parse ("job", cases[i].text, strlen (cases[i].text), WIRE_YAML,
                                          &diagnostics, &job, &err);
        if (cases[i].sentence)
            assert_string_equal (err.text, cases[i].sentence);
        else
            assert_non_null (strstr (err.text, "name: expected a name of 1 to 63 letters"));
        assert_int_equal (code, -EINVAL);
        assert_int_equal (diagnostics.count, 1);
        assert_null (job.launch);
    }
}

static void test_too_large (void **state)
{
    (void)state;
    char *text = malloc (WIRE_SUBMISSION_LIMIT + 1);
    struct wire_submission job;
    struct pollux_error err;
    assert_non_null (text);
    memset (text, '#', WIRE_SUBMISSION_LIMIT + 1);
    assert_int_equal (
        wire_submission_parse ("job", text, WIRE_SUBMISSION_LIMIT + 1, WIRE_YAML, NULL, &job, &err),
        -EFBIG);
    assert_string_equal (err.text, "job: too large: expected at most 1048576 bytes");
    free (text);
}

/* ---- Options ------------------------------------------------------------------------------ */

static void test_options (void **state)
{
    (void)state;
    char path[64];
    snprintf (path, sizeof (path), "%s/pollux-submission-XXXXXX.yaml", temporary_folder ());
    int file = mkstemps (path, 5);
    static const char yaml[] = "command: a\nmax_replicas: 4\nallowed: pow2\n"
                               "environment: {A: 1, B: 2}\nstop_signal: INT\n";
    assert_true (file >= 0);
    assert_int_equal (write (file, yaml, strlen (yaml)), strlen (yaml));
    close (file);
    json_t *options =
        json_pack ("{s:[ss], s:i, s:{ss,ss}, s:n}", "command", "b", "c", "max_replicas", 8,
                   "environment", "B", "3", "C", "4", "stop_signal");
    struct wire_submission job;
    struct wire_diagnostics diagnostics = {0};
    struct pollux_error err = {""};
    if (wire_submission_read (path, options, &diagnostics, &job, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (job.spec.max_replicas, 8);
    assert_int_equal (job.spec.allowed.kind, ALLOWED_POW2);
    assert_int_equal (job.launch->stop_signal, 2);
    assert_string_equal (job.launch->command[0], "b");
    assert_string_equal (job.launch->environment[0], "A=1");
    assert_string_equal (job.launch->environment[1], "B=3");
    assert_string_equal (job.launch->environment[2], "C=4");
    assert_null (job.launch->environment[3]);
    wire_submission_clear (&job);

    /* Each diagnostic where it is: in the file, or on the command line, which has no lines. */
    json_object_set_new (options, "min_replicas", json_integer (9));
    json_object_set_new (options, "grace", json_integer (-1));
    json_object_set_new (options, "max_replicas", json_null ());
    assert_int_equal (wire_submission_read (path, options, &diagnostics, &job, &err), -EINVAL);
    assert_int_equal (diagnostics.count, 2);
    assert_string_equal (err.text,
                         "grace: expected a number from 0 to 604800, got '-1' (and 1 more)");
    assert_int_equal (diagnostics.items[1].line, 2);
    assert_string_equal (diagnostics.items[1].message,
                         "expected at least min_replicas (9), got '4'");
    json_decref (options);
    unlink (path);

    options = json_pack ("{s:[s]}", "command", "a");
    assert_int_equal (wire_submission_read (NULL, options, NULL, &job, &err), 0);
    assert_int_equal (job.spec.max_replicas, 1);
    wire_submission_clear (&job);
    json_decref (options);
    assert_int_equal (wire_submission_read (NULL, NULL, NULL, &job, &err), -EINVAL);
    assert_string_equal (err.text,
                         "command: expected a text for the shell or a list of words, got nothing");
    assert_int_equal (wire_submission_read ("/nosuch.yaml", NULL, NULL, &job, &err), -ENOENT);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_least),    cmocka_unit_test (test_most),
        cmocka_unit_test (test_defaults), cmocka_unit_test (test_example),
        cmocka_unit_test (test_many),     cmocka_unit_test (test_all_at_once),
        cmocka_unit_test (test_refused),  cmocka_unit_test (test_too_large),
        cmocka_unit_test (test_options),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
