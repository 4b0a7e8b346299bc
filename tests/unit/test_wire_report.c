/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents' reports: values, optional and ignored fields, and the message for each kind of illegal
 * report.
 */
#include "unit.h"

#include <errno.h>

#include "wire/report.h"

#define MODEL                                                                                      \
    "\"model\":{\"alpha_grad\":0.03,\"beta_grad\":0.001,\"alpha_node\":0.08,\"beta_node\":0.002,"  \
    "\"alpha_local\":0.01,\"beta_local\":0.0005,\"gamma\":1.5}"
#define GRAD "\"grad\":{\"sqr\":0.5,\"var\":4}"
#define LIMITS "\"init_batch\":128,\"max_batch\":8192,\"min_local\":16,\"max_local\":512"
#define HEAD "{\"version\":1,\"generation\":3"

/* A model whose only time is alpha_grad. */
#define CONSTANT(alpha_grad)                                                                       \
    "\"model\":{\"alpha_grad\":" alpha_grad ",\"beta_grad\":0,\"alpha_node\":0,\"beta_node\":0,"   \
    "\"alpha_local\":0,\"beta_local\":0,\"gamma\":1}"

static int parse (const char *text, struct wire_report *ret, struct pollux_error *err)
{
    return wire_report_parse ("hints", text, strlen (text), ret, err);
}

static void test_whole (void **state)
{
    (void)state;
    struct wire_report report;
    struct pollux_error err;
    if (parse (HEAD "," MODEL "," GRAD "," LIMITS ",\"accumulation\":true,\"progress\":1000.5,"
                    "\"max_profiled_replicas\":4,\"total\":20000,\"m\":64,\"s\":1,"
                    "\"step_s\":0.25,\"rate_factor\":3.5,"
                    "\"oracle_remaining\":\"nonsense\",\"from_the_future\":{\"m\":-1}}",
               &report, &err) < 0)
        fail_msg ("%s", err.text);
    const struct hints *hints = &report.report.hints;
    assert_int_equal (report.version, 1);
    assert_int_equal (report.generation, 3);
    assert_int_equal (report.report.job, -1);
    assert_true (isnan (report.report.oracle_remaining));
    assert_true (hints->has_model);
    assert_true (hints->model.gamma == 1.5 && hints->grad.var == 4);
    assert_int_equal (hints->limits.max_local, 512);
    assert_true (hints->limits.accumulation);
    assert_int_equal (hints->max_profiled_replicas, 4);
    assert_true (hints->progress == 1000.5 && hints->total == 20000);
    assert_true (hints->step_s == 0.25 && hints->rate_factor == 3.5);
    assert_int_equal (report.report.batch.m, 64);
    assert_int_equal (report.report.batch.s, 1);
}

#define OTHER(type)                                                                                \
    "{\"type\":\"" type "\"," MODEL ",\"max_local\":32,\"max_profiled_replicas\":2,\"unknown\":["  \
    "1]}"
/* A model of a later version, which is skipped. */
#define PLANNED(type) "{\"type\":\"" type "\"," CONSTANT ("0") ",\"plan\":{\"tensor\":2}}"
#define TYPED HEAD "," MODEL "," GRAD "," LIMITS ",\"type\":\"a100\""

static void test_types (void **state)
{
    (void)state;
    struct wire_report report;
    struct pollux_error err;
    if (parse (TYPED ",\"models\":[" OTHER ("t4") "," OTHER ("v100") "]}", &report, &err) < 0)
        fail_msg ("%s", err.text);
    const struct hints *hints = &report.report.hints;
    assert_string_equal (hints->type, "a100");
    assert_int_equal (hints->other_count, 2);
    assert_string_equal (hints->others[1].type, "v100");
    assert_true (hints->others[1].model.gamma == 1.5);
    assert_int_equal (hints->others[1].max_local, 32);
    assert_int_equal (hints->others[1].max_profiled_replicas, 2);
    if (parse (
            TYPED
            ",\"models\":[" PLANNED ("t4") "," PLANNED ("t4") "," OTHER ("t4") "," PLANNED ("a100") "," OTHER (
                "1") "," OTHER ("2") "," OTHER ("3") "," OTHER ("4") "," OTHER ("5") "," OTHER ("6") "]}",
            &report, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (report.report.hints.other_count, 7);
    assert_string_equal (report.report.hints.others[0].type, "t4");
    assert_string_equal (report.report.hints.others[6].type, "6");
}

/* The shortest step, and long ones: only each parameter has an upper limit. */
static void test_steps (void **state)
{
    (void)state;
    struct wire_report report;
    assert_int_equal (parse (HEAD "," CONSTANT ("1e-9") "," GRAD "," LIMITS "}", &report, NULL), 0);
    assert_int_equal (parse (HEAD "," CONSTANT ("1e12") "," GRAD "," LIMITS "}", &report, NULL), 0);
    assert_int_equal (parse (HEAD ",\"model\":{\"alpha_grad\":0,\"beta_grad\":1e11,\"alpha_node\":"
                                  "0,\"beta_node\":0,\"alpha_local\":0,\"beta_local\":0,"
                                  "\"gamma\":1}," GRAD "," LIMITS "}",
                             &report, NULL),
                      0);
}

/* Missing fields and null fields are the same. */
static void test_absent (void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD "}",
        HEAD ",\"model\":null,\"grad\":null,\"init_batch\":null,\"max_batch\":null,\"min_local\":"
             "null,\"max_local\":null,\"accumulation\":null,\"max_profiled_replicas\":null,"
             "\"progress\":null,\"total\":null,\"m\":null,\"s\":null,\"step_s\":null,"
             "\"rate_factor\":null}"};
    for (size_t i = 0; i < COUNT (texts); i++) {
        struct wire_report report;
        assert_int_equal (parse (texts[i], &report, NULL), 0);
        const struct hints *hints = &report.report.hints;
        assert_false (hints->has_model);
        assert_int_equal (hints->limits.init_batch, 0);
        assert_int_equal (hints->max_profiled_replicas, -1);
        assert_true (isnan (hints->progress) && isnan (hints->total));
        assert_true (isnan (hints->step_s) && isnan (hints->rate_factor));
        assert_int_equal (report.report.batch.m, 0);
        assert_int_equal (report.report.batch.s, 0);
    }
    struct wire_report report;
    assert_int_equal (parse (HEAD ",\"progress\":11,\"total\":10}", &report, NULL), 0);
}

/* Refused, with the place and the reason. */
static void test_wrong_types (void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {HEAD "," MODEL "," GRAD "," LIMITS ",\"models\":[" OTHER ("t4") "]}",
         "models: expected model and type beside it, got an array"},
        {HEAD ",\"type\":\"a100\",\"models\":[]}",
         "models: expected model and type beside it, got an array"},
        {TYPED ",\"models\":[" OTHER ("a100") "]}",
         "models[0].type: expected one model per type, got \"a100\""},
        {TYPED ",\"models\":[" OTHER ("t4") "," OTHER ("t4") "]}",
         "models[1].type: expected one model per type, got \"t4\""},
        {TYPED ",\"models\":[{\"type\":\"t4\",\"max_local\":32,\"max_profiled_replicas\":2}]}",
         "models[0].model: expected a model, got nothing"},
        {TYPED ",\"models\":[{}]}", "models[0].type: expected"},
        {TYPED ",\"models\":[" OTHER ("v100") ",{\"type\":\"t4\"," CONSTANT (
             "1e-310") ",\"max_local\":32,\"max_profiled_replicas\":2}]}",
         "models: expected a step of max_local (32) samples on type t4 to take at least 1e-09 s"},
        {HEAD "," CONSTANT ("9e-10") "," GRAD "," LIMITS "}",
         "model: expected a step of max_local (512) samples to take at least 1e-09 s, got an "
         "object"},
        {TYPED ",\"models\":[" OTHER ("1") "," OTHER ("2") "," OTHER ("3") "," OTHER (
             "4") "," OTHER ("5") "," OTHER ("6") "," OTHER ("7") "," OTHER ("8") "]}",
         "models: expected at most 7 models"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_report report;
        struct pollux_error err = {""};
        assert_int_equal (parse (cases[i].text, &report, &err), -EINVAL);
        if (!strstr (err.text, cases[i].sentence))
            fail_msg ("'%s' lacks '%s'", err.text, cases[i].sentence);
    }
}

static void test_nonsense (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *sentence;
    } cases[] = {
        {"[]", -EINVAL, "hints:1:1: expected an object, got an array"},
        {"{}", -EINVAL, "hints:1:1: version: expected an integer of at least 1, got nothing"},
        {"{\"version\":0,\"generation\":1}", -EINVAL,
         "hints:1:12: version: expected an integer of at least 1, got '0'"},
        {"{\"version\":2,\"generation\":1}", -EPROTO,
         "hints:1:12: version: expected version 1, got '2'"},
        {"{\"version\":1}", -EINVAL,
         "hints:1:1: generation: expected an integer from 1 to 2147483647, got nothing"},
        {"{\"version\":1,\"generation\":0}", -EINVAL,
         "hints:1:27: generation: expected an integer from 1 to 2147483647, got '0'"},
        {HEAD "," MODEL "," LIMITS "}", -EINVAL,
         "hints:1:1: grad: expected it beside the rest of the model, got nothing"},
        {HEAD "," GRAD "," LIMITS "}", -EINVAL,
         "hints:1:1: model: expected it beside the rest of the model, got nothing"},
        {HEAD "," MODEL "," GRAD "}", -EINVAL,
         "hints:1:1: init_batch: expected it beside the rest of the model, got nothing"},
        {HEAD ",\"init_batch\":128}", -EINVAL,
         "hints:1:1: max_batch: expected it beside the rest of the model, got nothing"},
        {HEAD ",\"init_batch\":128,\"max_batch\":64,\"min_local\":1,\"max_local\":2}", -EINVAL,
         "hints:1:58: max_batch: expected at least init_batch (128), got '64'"},
        {HEAD ",\"grad\":{\"sqr\":-1,\"var\":1}}", -EINVAL,
         "hints:1:43: grad.sqr: expected a number from 0 to 1e+300, got '-1'"},
        {HEAD ",\"grad\":{\"sqr\":\"inf\",\"var\":1}}", -EINVAL,
         "hints:1:43: grad.sqr: expected a number from 0 to 1e+300, got \"inf\""},
        {HEAD ",\"model\":{\"alpha_grad\":1e13}}", -EINVAL,
         "hints:1:51: model.alpha_grad: expected a number from 0 to 1e+12, got '1e13'"},
        {HEAD ",\"progress\":-1}", -EINVAL,
         "hints:1:40: progress: expected a number from 0 to 1e+18, got '-1'"},
        {HEAD ",\"progress\":NaN}", -EINVAL, NULL},
        {HEAD ",\"step_s\":-1}", -EINVAL,
         "hints:1:38: step_s: expected a number from 0 to 1e+12, got '-1'"},
        {HEAD ",\"rate_factor\":\"2\"}", -EINVAL,
         "hints:1:43: rate_factor: expected a number from 0 to 1e+12, got \"2\""},
        {HEAD ",\"progress\":1e999}", -EINVAL, NULL},
        {HEAD ",\"total\":\"many\"}", -EINVAL,
         "hints:1:37: total: expected a number from 0 to 1e+18, got \"many\""},
        {HEAD ",\"max_profiled_replicas\":1048577}", -EINVAL,
         "hints:1:53: max_profiled_replicas: expected an integer from 0 to 1048576, got "
         "'1048577'"},
        {HEAD ",\"m\":8}", -EINVAL, "hints:1:1: s: expected it beside m, got nothing"},
        {HEAD ",\"s\":0}", -EINVAL, "hints:1:1: m: expected it beside s, got nothing"},
        {HEAD ",\"m\":0,\"s\":0}", -EINVAL, "hints:1:33: m: expected at least one sample, got '0'"},
        {HEAD ",\"m\":8,\"s\":-1}", -EINVAL,
         "hints:1:39: s: expected an integer from 0 to 1099511627776, got '-1'"},
        {HEAD ",\"m\":8.5,\"s\":0}", -EINVAL,
         "hints:1:33: m: expected an integer from 0 to 1099511627776, got '8.5'"},
        {HEAD ",\"m\":8,\"m\":8,\"s\":0}", -EINVAL, NULL},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_report report = {.generation = -7};
        struct pollux_error err = {""};
        int code = parse (cases[i].text, &report, &err);
        if (cases[i].sentence)
            assert_string_equal (err.text, cases[i].sentence);
        else
            assert_non_null (strstr (err.text, "not well-formed JSON"));
        assert_int_equal (code, cases[i].code);
        assert_int_equal (report.generation, -7);
    }
    char large[WIRE_REPORT_LIMIT + 2];
    memset (large, ' ', sizeof (large));
    struct wire_report report;
    assert_int_equal (wire_report_parse ("hints", large, sizeof (large), &report, NULL), -EFBIG);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_whole),       cmocka_unit_test (test_types),
        cmocka_unit_test (test_wrong_types), cmocka_unit_test (test_steps),
        cmocka_unit_test (test_absent),      cmocka_unit_test (test_nonsense),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
