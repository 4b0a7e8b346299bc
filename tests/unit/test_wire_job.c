/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job objects: decoded values, refusals and their places, and that encoding and decoding gives the same
 * bits.
 */
#include "unit.h"

#include <errno.h>

#include "base/rng.h"
#include "wire/job.h"

#define MODEL                                                                                      \
    "\"model\": {\"alpha_grad\": 0.03, \"beta_grad\": 0.001, \"alpha_node\": 0.08, "               \
    "\"beta_node\": 0.002, \"alpha_local\": 0.01, \"beta_local\": 0.0005, \"gamma\": 1.5}"

static int decode (const char *text, size_t length, struct wire_job *ret, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_parse ("job.json", text, length, WIRE_JOB_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = wire_job_decode (&root, ret, err);
    wire_document_free (document);
    return code;
}

/* ---- What is accepted --------------------------------------------------------------------- */

static void test_whole (void **state)
{
    (void)state;
    const char *text = "\xef\xbb\xbf{\"name\": \"a\", \"age\": 12, " MODEL ",\r\n"
                       "\"grad\": {\"sqr\": 2, \"var\": 1e-3, \"more\": []},"
                       "\"init_batch\": 128, \"max_batch\": 8192.0, \"min_local\": 16,"
                       "\"max_local\": 5.12e2, \"accumulation\": true, \"allocation\": {}}\n";
    struct wire_job job;
    struct pollux_error err;
    if (decode (text, strlen (text), &job, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (job.has_model && job.has_grad);
    struct pollux_model model = {0.03, 0.001, 0.08, 0.002, 0.01, 0.0005, 1.5};
    assert_memory_equal (&job.model, &model, sizeof (model));
    assert_true (job.grad.sqr == 2 && job.grad.var == 1e-3);
    assert_int_equal (job.limits.init_batch, 128);
    assert_int_equal (job.limits.max_batch, 8192);
    assert_int_equal (job.limits.min_local, 16);
    assert_int_equal (job.limits.max_local, 512);
    assert_true (job.limits.accumulation);
}

static void test_parts (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool has_model, has_grad;
        int64_t init_batch, max_local;
    } cases[] = {
        {"{}", false, false, 0, 0},
        {"{\"model\": null, \"grad\": null, \"init_batch\": null, \"accumulation\": null}", false,
         false, 0, 0},
        {"{" MODEL "}", true, false, 0, 0},
        {"{\"grad\": {\"sqr\": 0, \"var\": 0}, \"init_batch\": 1}", false, true, 1, 0},
        {"{\"max_local\": 1099511627776}", false, false, 0, POLLUX_BATCH_LIMIT},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_job job;
        assert_int_equal (decode (cases[i].text, strlen (cases[i].text), &job, NULL), 0);
        assert_int_equal (job.has_model, cases[i].has_model);
        assert_int_equal (job.has_grad, cases[i].has_grad);
        assert_int_equal (job.limits.init_batch, cases[i].init_batch);
        assert_int_equal (job.limits.max_local, cases[i].max_local);
        assert_int_equal (job.limits.max_batch, 0);
        assert_false (job.limits.accumulation);
    }
}

/* ---- What is refused ---------------------------------------------------------------------- */

#define TEXT(text) text, sizeof (text) - 1
static const struct {
    const char *text;
    size_t length;
    const char *sentence; /* the whole message, or its start if jansson writes the rest */
} refused[] = {
    {TEXT (""), "job.json:1:1: empty file: expected a JSON object"},
    {TEXT (" \n\t"), "job.json:1:1: empty file: expected a JSON object"},
    {TEXT ("[1]"), "job.json:1:1: expected an object, got an array"},
    {TEXT ("nonsense"), "job.json:1:1: not well-formed JSON: "},
    {TEXT ("{\"a\": 1,\n \"b\": }"), "job.json:2:7: not well-formed JSON: "},
    {TEXT ("{\"a\": 1"), "job.json:1:7: not well-formed JSON: "},
    {TEXT ("{\"a\": 1} x"), "job.json:1:10: not well-formed JSON: "},
    {TEXT ("{\"a\": 1, \"a\": 2}"), "job.json:1:10: not well-formed JSON: duplicate object key"},
    {TEXT ("{\"a\": NaN}"), "job.json:1:7: not well-formed JSON: "},
    {TEXT ("{\"a\": Infinity}"), "job.json:1:7: not well-formed JSON: "},
    {TEXT ("{\"a\": 1e999}"), "job.json:1:7: not well-formed JSON: real number overflow"},
    {TEXT ("{\"a\": 99999999999999999999}"), "job.json:1:7: not well-formed JSON: too big integer"},
    {TEXT ("{\"a\": \"\xff\"}"), "job.json:1:7: not well-formed JSON: unable to decode byte 0xff"},
    {TEXT ("{\"a\": 1}\0"), "job.json:1:9: not well-formed JSON: "},
    {TEXT ("\x7f"
           "ELF\x02\x01\x01\0\0"),
     "job.json:1:1: not well-formed JSON: '[' or '{' expected near '?'"},
    {TEXT ("{\"model\": 7}"), "job.json:1:11: model: expected an object, got '7'"},
    {TEXT ("{\"grad\": [1, 2]}"), "job.json:1:10: grad: expected an object, got an array"},
    {TEXT ("{\n  \"model\": {\"alpha_grad\": 1}\n}"),
     "job.json:2:12: model.beta_grad: expected a number from 0 to 1e+12, got nothing"},
    {TEXT ("{\"model\": {\"alpha_grad\": \"1\"}}"),
     "job.json:1:26: model.alpha_grad: expected a number from 0 to 1e+12, got \"1\""},
    {TEXT ("{\"model\": {\"alpha_grad\": -0.5}}"),
     "job.json:1:26: model.alpha_grad: expected a number from 0 to 1e+12, got '-0.5'"},
    {TEXT ("{\"model\": {\"alpha_grad\": null}}"),
     "job.json:1:26: model.alpha_grad: expected a number from 0 to 1e+12, got 'null'"},
    {TEXT ("{\"model\": {\"alpha_grad\": 0, \"beta_grad\": 0, \"alpha_node\": 0, \"beta_node\": 0,"
           "\"alpha_local\": 0, \"beta_local\": 0, \"gamma\": 1}}"),
     "job.json:1:11: model: expected alpha_grad or beta_grad above 0, got an object"},
    {TEXT ("{\"x\": {\"gamma\": [\"}\", {}]}, \"model\": {\"alpha_grad\": 1, \"beta_grad\": 0,\n"
           "\"alpha_node\": 0, \"beta_node\": 0, \"alpha_local\": 0, \"beta_local\": 0,\r\n"
           " \"ä\\\"\": 1, \"gamma\":0.99}}"),
     "job.json:3:20: model.gamma: expected a number from 1 to 1000, got '0.99'"},
    {TEXT ("{\"grad\": {\"sqr\": 1, \"var\": 1e301}}"),
     "job.json:1:28: grad.var: expected a number from 0 to 1e+300, got '1e301'"},
    {TEXT ("{\"grad\": {\"sqr\": 1, \"var\": 1}, \"gain_max\": 0.5}"),
     "job.json:1:44: gain_max: expected a number from 1 to 1e+12, got '0.5'"},
    {TEXT ("{\"init_batch\": 0}"),
     "job.json:1:16: init_batch: expected an integer from 1 to 1099511627776, got '0'"},
    {TEXT ("{\"init_batch\": 1.5}"),
     "job.json:1:16: init_batch: expected an integer from 1 to 1099511627776, got '1.5'"},
    {TEXT ("{\"init_batch\": 1e18}"),
     "job.json:1:16: init_batch: expected an integer from 1 to 1099511627776, got '1e18'"},
    {TEXT ("{\"init_batch\": true}"),
     "job.json:1:16: init_batch: expected an integer from 1 to 1099511627776, got 'true'"},
    {TEXT ("{\"init_batch\": 64, \"max_batch\": 32}"),
     "job.json:1:33: max_batch: expected at least init_batch (64), got '32'"},
    {TEXT ("{\"min_local\": 64, \"max_local\": 32}"),
     "job.json:1:32: max_local: expected at least min_local (64), got '32'"},
    {TEXT ("{\"accumulation\": 1}"),
     "job.json:1:18: accumulation: expected true or false, got '1'"},
};

static void test_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (refused); i++) {
        struct wire_job job = {.limits = {.init_batch = -99}};
        struct pollux_error err = {.text = ""};
        int code = decode (refused[i].text, refused[i].length, &job, &err);
        size_t length = strlen (refused[i].sentence);
        if (strstr (refused[i].sentence, "well-formed"))
            err.text[strlen (err.text) < length ? strlen (err.text) : length] = '\0';
        assert_string_equal (err.text, refused[i].sentence);
        assert_int_equal (code, -EINVAL);
        assert_int_equal (job.limits.init_batch, -99);
    }
}

/* Deep nesting, and a document above its limit, are refused with a message. */
static void test_hostile (void **state)
{
    (void)state;
    size_t length = WIRE_JOB_LIMIT + 1;
    char *text = malloc (length);
    assert_non_null (text);
    memset (text, '[', length);
    struct wire_job job;
    struct pollux_error err;
    assert_int_equal (decode (text, length - 1, &job, &err), -EINVAL);
    assert_non_null (strstr (err.text, "maximum parsing depth"));
    assert_int_equal (decode (text, length, &job, &err), -EFBIG);
    assert_string_equal (err.text, "job.json: too large: expected at most 1048576 bytes");
    free (text);
}

static void test_files (void **state)
{
    (void)state;
    struct wire_document *document;
    struct pollux_error err;
    assert_int_equal (wire_document_read ("/nosuch/job.json", WIRE_JOB_LIMIT, &document, &err),
                      -ENOENT);
    assert_string_equal (err.text, "/nosuch/job.json: cannot read: No such file or directory");
    assert_int_equal (wire_document_read ("/", WIRE_JOB_LIMIT, &document, &err), -EISDIR);
    assert_string_equal (err.text, "/: cannot read: Is a directory; expected a file");
    assert_int_equal (wire_document_read ("/dev/zero", WIRE_JOB_LIMIT, &document, &err), -EFBIG);
}

/* ---- There and back ----------------------------------------------------------------------- */

static void test_round_trip (void **state)
{
    (void)state;
    struct rng rng = rng_seed (7);
    for (int i = 0; i < soak_count (20000); i++) {
        struct wire_job job = {.has_model = rng_below (&rng, 4) > 0,
                               .has_grad = rng_below (&rng, 4) > 0};
        double times[6];
        for (size_t j = 0; j < COUNT (times); j++)
            times[j] = fmin (exp (20 * rng_gaussian (&rng)), MODEL_TIME_LIMIT);
        if (job.has_model)
            job.model = (struct pollux_model){times[0],
                                              times[1],
                                              times[2],
                                              times[3],
                                              times[4],
                                              times[5],
                                              1 + 9 * rng_uniform (&rng)};
        if (job.has_grad)
            job.grad = (struct pollux_grad){.sqr = exp (50 * rng_gaussian (&rng)),
                                            .var = rng_uniform (&rng),
                                            .gain_max = i % 2 ? 1 + rng_uniform (&rng) : 0};
        if (rng_below (&rng, 2))
            job.limits = (struct pollux_limits){1 + (int64_t)rng_below (&rng, 1 << 20), 1 << 21,
                                                1 + (int64_t)rng_below (&rng, 64), 1 << 10,
                                                rng_below (&rng, 2) == 1};
        json_t *object = wire_job_encode (&job);
        assert_non_null (object);
        char *text = json_dumps (object, 0);
        assert_non_null (text);
        struct wire_job back;
        struct pollux_error err;
        if (decode (text, strlen (text), &back, &err) < 0)
            fail_msg ("%s: %s", err.text, text);
        assert_int_equal (back.has_model, job.has_model);
        assert_int_equal (back.has_grad, job.has_grad);
        assert_memory_equal (&back.model, &job.model, sizeof (job.model));
        assert_memory_equal (&back.grad, &job.grad, sizeof (job.grad));
        assert_int_equal (back.limits.init_batch, job.limits.init_batch);
        assert_int_equal (back.limits.max_batch, job.limits.max_batch);
        assert_int_equal (back.limits.min_local, job.limits.min_local);
        assert_int_equal (back.limits.max_local, job.limits.max_local);
        assert_int_equal (back.limits.accumulation, job.limits.accumulation);
        free (text);
        json_decref (object);
    }
}

/* The jobs of a real scheduling problem. */
static void test_golden (void **state)
{
    (void)state;
    const char *path = TEST_DATA "golden/decide/w1-120.json";
    fclose (golden_open (path));
    struct wire_document *document;
    struct pollux_error err;
    assert_int_equal (wire_document_read (path, 64 << 20, &document, &err), 0);
    struct wire_place root = wire_root (document), jobs = wire_field (&root, "jobs");
    assert_int_equal (wire_expect_array (&jobs, &err), 0);
    assert_true (json_array_size (jobs.value) > 0);
    for (size_t i = 0; i < json_array_size (jobs.value); i++) {
        struct wire_place place = wire_element (&jobs, i);
        struct wire_job job;
        if (wire_job_decode (&place, &job, &err) < 0)
            fail_msg ("%s", err.text);
        assert_true (job.limits.init_batch >= 1 && job.limits.max_local >= 1);
    }
    struct wire_place last = wire_element (&jobs, json_array_size (jobs.value) - 1);
    int64_t value;
    assert_int_equal (wire_int64 (&last, "init_batch", 0, 0, &value, &err), -EINVAL);
    assert_non_null (strstr (err.text, "].init_batch: expected an integer from 0 to 0, got '"));
    wire_document_free (document);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_whole),   cmocka_unit_test (test_parts),
        cmocka_unit_test (test_refused), cmocka_unit_test (test_hostile),
        cmocka_unit_test (test_files),   cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_golden),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
