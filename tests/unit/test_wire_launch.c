/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of jobs in documents: encoding and decoding, refusals and their places, and that a program
 * which could not be read again is not written.
 */
#include "unit.h"

#include <errno.h>

#include "wire/launch.h"

#define LIMIT ((size_t)1 << 20)

static int decode (const char *text, struct launch **ret, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_parse ("row", text, strlen (text), LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = wire_launch_decode (&root, ret, err);
    wire_document_free (document);
    return code;
}

static char *encode (const struct launch *launch)
{
    struct pollux_error err;
    json_t *object = json_object ();
    if (wire_launch_put (launch, object, &err) < 0)
        fail_msg ("%s", err.text);
    char *text = json_dumps (object, JSON_COMPACT);
    json_decref (object);
    return text;
}

#define REST                                                                                       \
    "\"launcher\":\"env\",\"grace\":30.0,\"max_failures\":3,\"backoff\":10.0,\"stop_signal\":15"

/* ---- There and back ----------------------------------------------------------------------- */

static void test_round_trip (void **state)
{
    (void)state;
    char *command[] = {"python", "train.py", "", "--note=\xc3\xa4 \"'\n", NULL};
    char *environment[] = {"B=2", "A=1=1", "EMPTY=", "_x9=\xc3\xa4", NULL}, *nothing[] = {NULL};
    const struct launch launches[] = {
        {.owner = "ann",
         .command = command,
         .environment = environment,
         .directory = "/home/ann",
         .checkpoint_dir = "/ckpt",
         .launcher = LAUNCHER_MPI,
         .stop_signal = 10,
         .grace_s = 0.1,
         .max_failures = 0,
         .backoff_s = 600},
        {.command = command, .environment = nothing, .stop_signal = 15, .grace_s = 30},
        {.command = command, .environment = NULL, .stop_signal = 64, .grace_s = 604800},
    };
    for (size_t i = 0; i < COUNT (launches); i++) {
        struct launch *back;
        struct pollux_error err;
        char *text = encode (&launches[i]);
        if (decode (text, &back, &err) < 0)
            fail_msg ("%s: %s", text, err.text);
        char *again = encode (back);
        assert_string_equal (again, text);
        assert_string_equal (back->owner, launches[i].owner);
        assert_int_equal (back->launcher, launches[i].launcher);
        assert_int_equal (back->stop_signal, launches[i].stop_signal);
        assert_true (back->grace_s == launches[i].grace_s);
        assert_true (back->backoff_s == launches[i].backoff_s);
        assert_int_equal (back->max_failures, launches[i].max_failures);
        assert_string_equal (back->command[3], command[3]);
        assert_null (back->command[4]);
        char *const *expected = launches[i].environment ? launches[i].environment : nothing;
        for (size_t j = 0; expected[j]; j++)
            assert_string_equal (back->environment[j], expected[j]);
        assert_true (!back->directory == !launches[i].directory);
        free (again);
        free (text);
        launch_free (back);
    }
}

static void test_signals (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int number;
    } cases[] = {{"\"SIGTERM\"", 15}, {"\"INT\"", 2}, {"10", 10}, {"64", 64}, {"\"SIGUSR1\"", 10}};
    for (size_t i = 0; i < COUNT (cases); i++) {
        char text[256];
        struct launch *launch;
        snprintf (text, sizeof (text),
                  "{\"command\":[\"a\"],\"launcher\":\"env\",\"grace\":1,\"max_failures\":3,"
                  "\"backoff\":1,\"stop_signal\":%s}",
                  cases[i].text);
        assert_int_equal (decode (text, &launch, NULL), 0);
        assert_int_equal (launch->stop_signal, cases[i].number);
        launch_free (launch);
    }
}

/* ---- What is refused ---------------------------------------------------------------------- */

static void test_refused (void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"[]", "row:1:1: expected an object, got an array"},
        {"{" REST "}", "row:1:1: command: expected a list of 1 to 65536 texts, got nothing"},
        {"{\"command\":[]," REST "}",
         "row:1:12: command: expected a list of 1 to 65536 texts, got an array"},
        {"{\"command\":[\"a\",null]," REST "}",
         "row:1:17: command[1]: expected a text, got 'null'"},
        {"{\"command\":[\"a\"],\"environment\":[]," REST "}",
         "row:1:32: environment: expected an object of at most 65536 variables, got an array"},
        {"{\"command\":[\"a\"],\"environment\":{\"A\":[]}," REST "}",
         "row:1:37: environment.A: expected a text, got an array"},
        {"{\"command\":[\"a\"],\"environment\":{\"1A\":\"\"}," REST "}",
         "row:1:33: environment.1A: expected a name of letters, digits and underscores that starts "
         "with no digit"},
        {"{\"command\":[\"a\"],\"environment\":{\"A=B\":\"\"}," REST "}",
         "row:1:33: environment.A=B: expected a name of letters, digits and underscores that "
         "starts "
         "with no digit"},
        {"{\"command\":[\"a\"],\"environment\":{\"\":\"\"}," REST "}",
         "row:1:33: environment.: expected a name of letters, digits and underscores that starts "
         "with no digit"},
        {"{\"command\":[\"a\"],\"directory\":\"home\"," REST "}",
         "row:1:30: directory: expected an absolute path below 4096 bytes, got \"home\""},
        {"{\"command\":[\"a\"],\"launcher\":\"ssh\"}",
         "row:1:29: launcher: expected \"env\" or \"mpi\", got \"ssh\""},
        {"{\"command\":[\"a\"],\"launcher\":\"env\",\"grace\":1,\"max_failures\":1,\"backoff\":"
         "601}",
         "row:1:72: backoff: expected a number from 0 to 600, got '601'"},
        {"{\"command\":[\"a\"],\"launcher\":\"env\",\"grace\":1,\"max_failures\":1,\"backoff\":1,"
         "\"stop_signal\":\"SIGKILL\"}",
         "row:1:88: stop_signal: expected a signal that a process can handle: neither SIGKILL nor "
         "SIGSTOP, got \"SIGKILL\""},
        {"{\"command\":[\"a\"],\"launcher\":\"env\",\"grace\":1,\"max_failures\":1,\"backoff\":1,"
         "\"stop_signal\":65}",
         "row:1:88: stop_signal: expected a signal such as SIGTERM, or its number, got '65'"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct launch *launch = NULL;
        struct pollux_error err = {""};
        int code = decode (cases[i].text, &launch, &err);
        assert_string_equal (err.text, cases[i].sentence);
        assert_int_equal (code, -EINVAL);
        assert_null (launch);
    }
}

static void test_not_written (void **state)
{
    (void)state;
    char *command[] = {"a", NULL}, *nothing[] = {NULL}, *bad[] = {"\xff", NULL};
    char *twice[] = {"A=1", "B=2", "A=3", NULL}, *nameless[] = {"=1", NULL};
    char *plain[] = {"A", NULL};
    char *large = malloc ((1 << 17) + 1), *huge[] = {large, NULL};
    assert_non_null (large);
    memset (large, 'x', 1 << 17);
    large[1 << 17] = '\0';
    const struct launch good = {.command = command, .stop_signal = 15};
    struct {
        struct launch launch;
        const char *sentence;
    } cases[] = {
        {good, "command: expected at least one word"},
        {good, "command[0]: expected UTF-8"},
        {good, "command[0]: expected a text below 128 KiB"},
        {good, "environment.A: expected every variable once"},
        {good, "environment: expected a name of letters, digits and underscores that starts with "
               "no digit"},
        {good, "environment: expected a name of letters, digits and underscores that starts with "
               "no digit"},
        {good, "directory: expected an absolute path below 4096 bytes"},
        {good, "stop_signal: expected a signal that a process can handle: neither SIGKILL nor "
               "SIGSTOP"},
        {good, "grace: expected a number from 0 to 604800, got -1"},
        {good, "grace: expected a number from 0 to 604800, got nan"},
    };
    cases[0].launch.command = nothing;
    cases[1].launch.command = bad;
    cases[2].launch.command = huge;
    cases[3].launch.environment = twice;
    cases[4].launch.environment = nameless;
    cases[5].launch.environment = plain;
    cases[6].launch.directory = "here";
    cases[7].launch.stop_signal = 9;
    cases[8].launch.grace_s = -1;
    cases[9].launch.grace_s = NAN;
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_error err = {""};
        json_t *object = json_object ();
        assert_int_equal (wire_launch_put (&cases[i].launch, object, &err), -EINVAL);
        assert_string_equal (err.text, cases[i].sentence);
        json_decref (object);
    }
    free (large);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_signals),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_not_written),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
