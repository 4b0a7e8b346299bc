/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job asks of Slurm, and the section `slurm` of the configuration: there and back, times and
 * sizes as people write them, refusals, and the order of defaults.
 */
#include "unit.h"

#include <errno.h>

#include "wire/config.h"
#include "wire/submission.h"

/* ---- Job files ---------------------------------------------------------------------------- */

static int parse_job (const char *slurm, struct wire_submission *ret, struct pollux_error *err)
{
    char text[512];
    snprintf (text, sizeof (text), "command: a\nslurm: %s\n", slurm);
    return wire_submission_parse ("job.yaml", text, strlen (text), WIRE_YAML, NULL, ret, err);
}

static void test_job (void **state)
{
    (void)state;
    static const struct {
        const char *text, *json; /* json NULL: no field `slurm` */
    } cases[] = {
        {"{account: vision, qos: low, partition: 'gpu,big', time_limit: 90, cpus_per_replica: 8, "
         "memory_per_replica: 16384}",
         "{\"account\":\"vision\",\"qos\":\"low\",\"partition\":\"gpu,big\",\"time_limit\":90,"
         "\"cpus_per_replica\":8,\"memory_per_replica\":16384}"},
        {"{time_limit: 12:00:00, memory_per_replica: 16G}",
         "{\"time_limit\":720,\"memory_per_replica\":16384}"},
        {"{account: 007}", "{\"account\":\"007\"}"},
        {"{}", NULL},
        {"~", NULL},
        {"{account: ~}", NULL},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_submission job;
        struct pollux_error err = {.text = ""};
        if (parse_job (cases[i].text, &job, &err) < 0)
            fail_msg ("%s: %s", cases[i].text, err.text);
        for (int round = 0; round < 2; round++) { /* the encoded one is read as the same */
            json_t *object = wire_submission_encode (&job, &err);
            json_t *slurm = json_object_get (object, "slurm");
            char *text = slurm ? json_dumps (slurm, JSON_COMPACT) : NULL;
            assert_int_equal (!text, !cases[i].json);
            if (text)
                assert_string_equal (text, cases[i].json);
            free (text);
            text = json_dumps (object, JSON_COMPACT);
            json_decref (object);
            wire_submission_clear (&job);
            assert_int_equal (wire_submission_parse ("job.json", text, strlen (text), WIRE_JSON,
                                                     NULL, &job, &err),
                              0);
            free (text);
        }
        wire_submission_clear (&job);
    }
}

static void test_job_refused (void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{acount: x}", "account"},
        {"{account: --uid=0}", "slurm.account"},
        {"{account: 'a b'}", "slurm.account"},
        {"{qos: \"a\\nb\"}", "slurm.qos"},
        {"{partition: ''}", "slurm.partition"},
        {"{time_limit: 0}", "slurm.time_limit"},
        {"{time_limit: forever}", "slurm.time_limit"},
        {"{time_limit: [1]}", "slurm.time_limit"},
        {"{memory_per_replica: 16X}", "slurm.memory_per_replica"},
        {"{memory_per_replica: -1}", "slurm.memory_per_replica"},
        {"{cpus_per_replica: 0.5}", "slurm.cpus_per_replica"},
        {"yes", "slurm"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_submission job;
        struct pollux_error err = {.text = ""};
        assert_int_equal (parse_job (cases[i][0], &job, &err), -EINVAL);
        if (!strstr (err.text, cases[i][1]))
            fail_msg ("%s: %s", cases[i][0], err.text);
    }
}

static void test_times_and_sizes (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int minutes; /* 0: refused */
    } times[] = {
        {"90", 90},        {"90:30", 91},        {"1:30:00", 90}, {"0:0:1", 1},     {"2-0", 2880},
        {"2-12:30", 3630}, {"1-00:00:01", 1441}, {"", 0},         {"0", 0},         {"-5", 0},
        {"1:2:3:4", 0},    {"9999999999", 0},    {"1h", 0},       {"UNLIMITED", 0}, {"1-", 0},
    };
    static const struct {
        const char *text;
        int64_t mb; /* 0: refused */
    } sizes[] = {
        {"512", 512}, {"512M", 512}, {"16G", 16384}, {"2T", 2 << 20}, {"1K", 1}, {"2049K", 3},
        {"0", 0},     {"G", 0},      {"1GB", 0},     {"", 0},         {"-1", 0}, {"999999999T", 0},
    };
    for (size_t i = 0; i < COUNT (times); i++) {
        int minutes = 0;
        int code = wire_slurm_minutes (times[i].text, &minutes);
        assert_int_equal (code, times[i].minutes ? 0 : -EINVAL);
        assert_int_equal (minutes, times[i].minutes);
    }
    for (size_t i = 0; i < COUNT (sizes); i++) {
        int64_t mb = 0;
        int code = wire_slurm_memory (sizes[i].text, &mb);
        assert_int_equal (code, sizes[i].mb ? 0 : -EINVAL);
        assert_int_equal (mb, sizes[i].mb);
    }
}

/* ---- The configuration -------------------------------------------------------------------- */

static int parse_config (const char *text, struct wire_config *ret, struct pollux_error *err)
{
    return wire_config_parse ("polluxd.yaml", text, strlen (text), NULL, NULL, ret, err);
}

static const char whole[] = "slurm:\n"
                            "  partition: gpu\n"
                            "  nodes: 'n[0-3],m1'\n"
                            "  reservation: pollux\n"
                            "  gres_type: a100\n"
                            "  directory: '/scratch/%u/%%/p'\n"
                            "  min_uid: 500\n"
                            "  defaults: {account: all, time_limit: 1-00, cpus_per_replica: 4}\n"
                            "  partitions:\n"
                            "    gpu: {qos: fast, time_limit: 60}\n"
                            "    debug: {time_limit: 5, partition: other}\n";

static void test_config (void **state)
{
    (void)state;
    struct wire_config config, back;
    struct pollux_error err = {.text = ""};
    if (parse_config (whole, &config, &err) < 0)
        fail_msg ("%s", err.text);
    assert_string_equal (config.slurm.nodes, "n[0-3],m1");
    assert_string_equal (config.slurm.gres, "gpu");
    assert_int_equal (config.slurm.min_uid, 500);
    assert_int_equal (config.slurm.partition_count, 2);
    json_t *object = wire_config_encode (&config, &err);
    char *text = json_dumps (object, 0);
    json_decref (object);
    assert_int_equal (
        wire_config_parse ("polluxd.json", text, strlen (text), NULL, NULL, &back, &err), 0);
    assert_memory_equal (&config.slurm, &back.slurm, sizeof (config.slurm));
    free (text);
    wire_config_clear (&config);
    wire_config_clear (&back);
}

static void test_defaults (void **state)
{
    (void)state;
    static const struct {
        const char *job, *partition, *account, *qos;
        int minutes, cpus;
    } cases[] = {
        {"{}", "gpu", "all", "fast", 60, 4},
        {"{time_limit: 7, account: mine}", "gpu", "mine", "fast", 7, 4},
        {"{partition: debug, cpus_per_replica: 1}", "debug", "all", "", 5, 1},
        {"{partition: unknown}", "unknown", "all", "", 1440, 4},
    };
    struct wire_config config;
    struct pollux_error err = {.text = ""};
    assert_int_equal (parse_config (whole, &config, &err), 0);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_submission job;
        assert_int_equal (parse_job (cases[i].job, &job, &err), 0);
        struct slurm_request request = wire_slurm_complete (&config.slurm, &job.launch->slurm);
        assert_string_equal (request.partition, cases[i].partition);
        assert_string_equal (request.account, cases[i].account);
        assert_string_equal (request.qos, cases[i].qos);
        assert_int_equal (request.time_limit_min, cases[i].minutes);
        assert_int_equal (request.cpus, cases[i].cpus);
        wire_submission_clear (&job);
    }
    wire_config_clear (&config);
}

static void test_config_refused (void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"slurm: {partion: x}\n", "partition"},
        {"slurm: {directory: here}\n", "slurm.directory"},
        {"slurm: {directory: '%h/%x'}\n", "slurm.directory"},
        {"slurm: {min_uid: 0}\n", "slurm.min_uid"},
        {"slurm: {nodes: 'n0;n1'}\n", "slurm.nodes"},
        {"slurm: {nodes: '-w'}\n", "slurm.nodes"},
        {"slurm: {partitions: {'a b': {}}}\n", "slurm.partitions"},
        {"slurm: {partitions: {a: {time: 1}}}\n", "slurm.partitions.a"},
        {"slurm: {defaults: 5}\n", "slurm.defaults"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_config config;
        struct pollux_error err = {.text = ""};
        assert_int_equal (parse_config (cases[i][0], &config, &err), -EINVAL);
        if (!strstr (err.text, cases[i][1]))
            fail_msg ("%s: %s", cases[i][0], err.text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_job),
        cmocka_unit_test (test_job_refused),
        cmocka_unit_test (test_times_and_sizes),
        cmocka_unit_test (test_config),
        cmocka_unit_test (test_defaults),
        cmocka_unit_test (test_config_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
