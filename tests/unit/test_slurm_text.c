/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Slurm commands write, and the command lines that Pollux makes.  The files of TEST_DATA slurm/ were
 * recorded with Slurm 22.05.8 (see its README.md).
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>

#include "backend/slurm/slurm_settings.h"
#include "backend/slurm/gres.h"
#include "backend/slurm/hostlist.h"
#include "backend/slurm/jobs.h"
#include "backend/slurm/nodes.h"
#include "backend/slurm/reservations.h"
#include "backend/slurm/submission.h"
#include "base/file.h"

#define KEY "0123456789abcdef"

static char *recorded (const char *name, size_t *ret_length)
{
    char path[128], *text;
    struct pollux_error err = {.text = ""};
    snprintf (path, sizeof (path), TEST_DATA "slurm/%s", name);
    if (file_read (path, 1 << 20, &text, ret_length, &err) < 0)
        fail_msg ("%s; start the test in the root of the repository", err.text);
    return text;
}

/* ---- Resources and states ----------------------------------------------------------------- */

static void test_gres (void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted, *type;
        int count, others; /* -1: refused */
    } cases[] = {
        {"", "", "", 0, 0},
        {"(null)", "", "", 0, 0},
        {"N/A", "", "", 0, 0},
        {"gpu:4", "", "", 4, 0},
        {"gpu", "", "", 1, 0},
        {"gpu:a100", "", "a100", 1, 0},
        {"gpu:a100:4", "", "a100", 4, 0},
        {"gpu:a100:4(S:0-1)", "", "a100", 4, 0},
        {"gpu:a100:2(S:0),gpu:a100:2(S:1)", "", "a100", 4, 0},
        {"gpu:a100:3(IDX:0,2-3)", "", "a100", 3, 0},
        {"gpu:a100:0(IDX:N/A)", "", "", 0, 0},
        {"gpu:a100:0(IDX:N/A)", "a100", "a100", 0, 0},
        {"gpu:(null):2(IDX:0-1)", "", "", 2, 0},
        {"gpu:(null):0(IDX:N/A)", "", "", 0, 0},
        {"gpu:a100:4,gpu:v100:2", "", "a100", 4, 2},
        {"gpu:a100:4,gpu:v100:2", "v100", "v100", 2, 4},
        {"gpu:a100:4,gpu:v100:2", "h100", "h100", 0, 6},
        {"gpu:a100:0,gpu:v100:2", "", "v100", 2, 0},
        {"craynetwork:4,gpu:8(S:0-1),license:matlab:3", "", "", 8, 0},
        {"bandwidth:lustre:no_consume:4G", "", "", 0, 0},
        {"gpu:a100:no_consume:4", "", "a100", 4, 0},
        {"gres:gpu:2", "", "", 2, 0},
        {"gres/gpu:a100:2", "", "a100", 2, 0},
        {"gpu:1K", "", "", 1024, 0},
        {"shard:8,gpu:nvidia_a100-sxm4-80gb:8", "", "nvidia_a100-sxm4-80gb", 8, 0},
        {"gpu:1025", "", "", -1, 0},
        {"gpu:1M", "", "", -1, 0},
        {"gpu:1000,gpu:1000", "", "", -1, 0},
        {"gpu:99999999999999999999", "", "", -1, 0},
        {"gpu:a:b:2", "", "", -1, 0},
        {"gpu:3090:4", "", "3090", 4, 0},
        {"gpu:a100:-1", "", "", -1, 0},
        {"gpu:a100:4(S:0", "", "", -1, 0},
        {"gpu:a100:4)S:0(", "", "", -1, 0},
        {"gpu:a100:4((S:0))", "", "", -1, 0},
        {"gpu:4,,gpu:4", "", "", -1, 0},
        {",", "", "", -1, 0},
        {":4", "", "", -1, 0},
        {"gpu:../etc:4", "", "", -1, 0},
        {"gpu:a b:4", "", "", -1, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct slurm_gres gres = {.count = -7};
        struct pollux_error err = {.text = ""};
        int code = slurm_gres_parse (cases[i].text, strlen (cases[i].text), "gpu", cases[i].wanted,
                                     &gres, &err);
        if (cases[i].count < 0) {
            if (code != -EPROTO)
                fail_msg ("'%s' was accepted", cases[i].text);
            assert_int_equal (gres.count, -7);
            assert_true (err.text[0] != '\0');
            continue;
        }
        if (code < 0 || gres.count != cases[i].count)
            fail_msg ("'%s': %d, %d, %s", cases[i].text, code, gres.count, err.text);
        assert_string_equal (gres.type, cases[i].type);
        assert_int_equal (gres.others, cases[i].others);
    }
}

static void test_states (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum slurm_phase phase;
    } phases[] = {
        {"PENDING", SLURM_COMING},     {"CONFIGURING", SLURM_COMING},
        {"RUNNING", SLURM_HELD},       {"COMPLETING", SLURM_HELD},
        {"SUSPENDED", SLURM_HELD},     {"COMPLETED", SLURM_ENDED},
        {"FAILED", SLURM_ENDED},       {"OUT_OF_MEMORY", SLURM_ENDED},
        {"NODE_FAIL", SLURM_EXCUSED},  {"PREEMPTED", SLURM_EXCUSED},
        {"BOOT_FAIL", SLURM_EXCUSED},  {"TIMEOUT", SLURM_EXCUSED},
        {"CANCELLED", SLURM_EXCUSED},  {"CANCELLED by 1000", SLURM_EXCUSED},
        {"CANCELLED+", SLURM_EXCUSED}, {"REQUEUED", SLURM_EXCUSED},
        {"RUN", SLURM_UNKNOWN},        {"RUNNINGS", SLURM_UNKNOWN},
        {"", SLURM_UNKNOWN},           {"A_NEW_STATE", SLURM_UNKNOWN},
    };
    static const struct {
        const char *text;
        enum slurm_node_use use, use_reserved;
    } nodes[] = {
        {"idle", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"mixed", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"MIXED", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"allocated", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"allocated+", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"completing", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"planned", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"mixed-", SLURM_NODE_USABLE, SLURM_NODE_USABLE},
        {"idle*", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"allocated*", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"idle~", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"idle#", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"mixed$", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"mixed@", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"reserved", SLURM_NODE_CLOSED, SLURM_NODE_USABLE},
        {"reserved*", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"maint", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"draining", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"drained", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"drained*", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"down", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"down*", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"inval", SLURM_NODE_LOST, SLURM_NODE_LOST},
        {"a_new_state", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
        {"", SLURM_NODE_CLOSED, SLURM_NODE_CLOSED},
    };
    for (size_t i = 0; i < COUNT (phases); i++)
        if (slurm_phase (phases[i].text) != phases[i].phase)
            fail_msg ("'%s' is %s", phases[i].text,
                      slurm_phase_name (slurm_phase (phases[i].text)));
    for (size_t i = 0; i < COUNT (nodes); i++) {
        if (slurm_node_use (nodes[i].text, false) != nodes[i].use)
            fail_msg ("'%s' is %s", nodes[i].text,
                      slurm_node_use_name (slurm_node_use (nodes[i].text, false)));
        assert_int_equal (slurm_node_use (nodes[i].text, true), nodes[i].use_reserved);
    }
}

/* ---- Waiting ------------------------------------------------------------------------------ */

static void test_waiting (void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        enum slurm_waiting waiting;
    } cases[] = {
        {"Resources", SLURM_WAITS_FOR_NODE},
        {"Priority", SLURM_WAITS_FOR_NODE},
        {"None", SLURM_WAITS_FOR_NODE},
        {"ReqNodeNotAvail, UnavailableNodes:n1", SLURM_WAITS_FOR_NODE},
        {"Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority",
         SLURM_WAITS_FOR_NODE},
        {"PartitionNodeLimit", SLURM_WAITS_FOR_NODE},
        {"PartitionDown", SLURM_WAITS_FOR_LIMIT},
        {"PartitionInactive", SLURM_WAITS_FOR_LIMIT},
        {"JobHeldAdmin", SLURM_WAITS_FOR_LIMIT},
        {"JobHeldUser", SLURM_WAITS_FOR_LIMIT},
        {"Licenses", SLURM_WAITS_FOR_LIMIT},
        {"QOSMaxJobsPerUserLimit", SLURM_WAITS_FOR_LIMIT},
        {"QOSGrpGRES", SLURM_WAITS_FOR_LIMIT},
        {"AssocGrpCPUMinutesLimit", SLURM_WAITS_FOR_LIMIT},
        {"AReasonOfALaterSlurm", SLURM_WAITS_FOR_LIMIT},
        {"", SLURM_WAITS_FOR_LIMIT},
        {"BadConstraints", SLURM_WAITS_IN_VAIN},
        {"PartitionTimeLimit", SLURM_WAITS_IN_VAIN},
        {"InvalidAccount", SLURM_WAITS_IN_VAIN},
        {"InvalidQOS", SLURM_WAITS_IN_VAIN},
        {"QOSMaxWallDurationPerJobLimit", SLURM_WAITS_IN_VAIN},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        if (slurm_waiting (cases[i].reason) != cases[i].waiting)
            fail_msg ("%s: %d", cases[i].reason, slurm_waiting (cases[i].reason));
}

/* The first three are those of 22.05. */
static void test_refusals (void **state)
{
    (void)state;
    static const struct {
        const char *message;
        bool for_now;
    } cases[] = {
        {"sbatch: error: Batch job submission failed: Required partition not available (inactive "
         "or drain)",
         true},
        {"sbatch: error: Batch job submission failed: Requested node configuration is not "
         "available",
         false},
        {"sbatch: error: Batch job submission failed: Invalid account or account/partition "
         "combination specified",
         false},
        {"sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job "
         "violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
         true},
        {"sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission "
         "failed: "
         "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
         false},
        {"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", true},
        {"", false},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        if (slurm_refuses_for_now (cases[i].message) != cases[i].for_now)
            fail_msg ("%s", cases[i].message);
}

/* ---- Nodes -------------------------------------------------------------------------------- */

static void test_nodes (void **state)
{
    (void)state;
    static const struct slurm_nodes_query query = {0};
    struct slurm_nodes nodes;
    struct pollux_error err = {.text = ""};
    size_t length;
    char *text = recorded ("sinfo.txt", &length);
    assert_int_equal (slurm_nodes_parse (&query, text, length, &nodes, &err), 0);
    assert_int_equal (nodes.count, 4);
    static const int used[] = {4, 4, 4, 2};
    for (int i = 0; i < 4; i++) {
        const struct slurm_node *node = &nodes.list[i];
        char name[] = {'n', (char)('0' + i), '\0'};
        assert_string_equal (node->name, name);
        assert_string_equal (node->address, "127.0.0.1");
        assert_string_equal (node->gres.type, "a100");
        assert_int_equal (node->gres.count, 4);
        assert_int_equal (node->gres_used, used[i]);
        assert_int_equal (node->cpus, 16);
        assert_int_equal (node->cpus_used, 1);
        assert_int_equal (node->memory_mb, 4000);
        assert_ptr_equal (slurm_nodes_find (&nodes, name), node);
    }
    assert_string_equal (nodes.list[0].state, "mixed");
    assert_string_equal (nodes.list[2].state, "draining");
    assert_null (slurm_nodes_find (&nodes, "n4"));
    slurm_nodes_clear (&nodes);
    assert_null (slurm_nodes_find (&nodes, "n0"));
    free (text);
}

/* Twice in two partitions; without an address; without a type; nothing at all. */
static void test_nodes_forms (void **state)
{
    (void)state;
    static const struct slurm_nodes_query any = {0}, v100 = {.type = "v100"}, cpu = {.gres = "cpu"};
    static const char text[] = "b|idle|gpu:8|gpu:(null):3(IDX:0-2)|(null)|1/2/3/6|1|0|inact|\n"
                               "a|mixed*|gpu:a100:2,gpu:v100:4|gpu:a100:1(IDX:0),gpu:v100:3(IDX:2-"
                               "4)|10.0.0.7|0/1/0/1|2|1|drain|\n"
                               "b|idle|gpu:8|gpu:(null):3(IDX:0-2)|(null)|1/2/3/6|1|0|up|\n";
    struct slurm_nodes nodes;
    struct pollux_error err = {.text = ""};
    assert_int_equal (slurm_nodes_parse (&any, text, strlen (text), &nodes, &err), 0);
    assert_int_equal (nodes.count, 2);
    assert_string_equal (nodes.list[0].name, "a");
    assert_string_equal (nodes.list[0].gres.type, "a100");
    assert_int_equal (nodes.list[0].gres_used, 1);
    assert_int_equal (nodes.list[0].gres.others, 4);
    assert_true (nodes.list[0].closed);
    assert_string_equal (nodes.list[1].address, "b");
    assert_false (nodes.list[1].closed); /* one of its partitions is open */
    assert_string_equal (nodes.list[1].gres.type, "");
    assert_int_equal (nodes.list[1].gres_used, 3);
    slurm_nodes_clear (&nodes);
    assert_int_equal (slurm_nodes_parse (&v100, text, strlen (text), &nodes, &err), 0);
    assert_int_equal (nodes.list[0].gres.count, 4);
    assert_int_equal (nodes.list[0].gres_used, 3);
    assert_int_equal (nodes.list[1].gres.count, 0);
    slurm_nodes_clear (&nodes);
    assert_int_equal (slurm_nodes_parse (&cpu, text, strlen (text), &nodes, &err), 0);
    assert_int_equal (nodes.list[0].gres.count, 0);
    slurm_nodes_clear (&nodes);
    assert_int_equal (slurm_nodes_parse (&any, "", 0, &nodes, &err), 0);
    assert_int_equal (nodes.count, 0);
    slurm_nodes_clear (&nodes);
}

static void test_nodes_refused (void **state)
{
    (void)state;
    static const struct slurm_nodes_query query = {0};
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"garbage\n", "line 1: expected 9 fields"},
        {"n0|idle|gpu:4|gpu:0|a|0/1/0/1|1|0|up\n", "line 1: expected 9 fields"},
        {"n0|idle|gpu:4|gpu:0|a|0/1/0/1|1|0|up|\nn1|idle|\n", "line 2: expected 9 fields"},
        {"-w|idle|gpu:4|gpu:0|a|0/1/0/1|1|0|up|\n", "not a name of a node"},
        {"n[0-1]|idle|gpu:4|gpu:0|a|0/1/0/1|1|0|up|\n", "not a name of a node"},
        {"n0||gpu:4|gpu:0|a|0/1/0/1|1|0|up|\n", "not a state"},
        {"n0|idle|gpu:4|gpu:0|-x|0/1/0/1|1|0|up|\n", "not an address"},
        {"n0|idle|gpu:4|gpu:0|a b|0/1/0/1|1|0|up|\n", "not an address"},
        {"n0|idle|gpu:4|gpu:0|a|0/1/0|1|0|up|\n", "CPUs"},
        {"n0|idle|gpu:4|gpu:0|a|0/1/0/1/1|1|0|up|\n", "CPUs"},
        {"n0|idle|gpu:4|gpu:0|a|0/x/0/1|1|0|up|\n", "CPUs"},
        {"n0|idle|gpu:4|gpu:0|a|0/1/0/1|-1|0|up|\n", "memory"},
        {"n0|idle|gpu:4|gpu:0|a|0/1/0/1|1|lots|up|\n", "memory"},
        {"n0|idle|gpu:4(|gpu:0|a|0/1/0/1|1|0|up|\n", "node n0"},
        {"n0|idle|gpu:4|gpu:0:x:0|a|0/1/0/1|1|0|up|\n", "node n0"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct slurm_nodes nodes = {.count = -7};
        struct pollux_error err = {.text = ""};
        int code = slurm_nodes_parse (&query, cases[i].text, strlen (cases[i].text), &nodes, &err);
        if (code != -EPROTO || !strstr (err.text, cases[i].reason))
            fail_msg ("%s: %d %s", cases[i].text, code, err.text);
        assert_int_equal (nodes.count, -7);
    }
}

/* ---- Jobs and steps ----------------------------------------------------------------------- */

static void test_jobs (void **state)
{
    (void)state;
    struct slurm_jobs jobs;
    struct pollux_error err = {.text = ""};
    size_t length;
    char *text = recorded ("squeue-jobs.txt", &length);
    int code = slurm_jobs_parse (KEY, text, length, &jobs, &err);
    free (text); /* the table has its own copy */
    if (code < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (jobs.count, 8);
    const struct slurm_job *job = slurm_jobs_find (&jobs, "pilot");
    assert_non_null (job);
    assert_int_equal (job->id, 6);
    assert_int_equal (job->phase, SLURM_HELD);
    assert_string_equal (job->state, "RUNNING");
    assert_string_equal (job->nodes, "n[0-2]");
    assert_string_equal (job->gres, "gres:gpu:a100:4");
    assert_int_equal (job->uid, 0);
    assert_string_equal (job->user, "root");
    assert_string_equal (job->comment, "");
    assert_int_equal (job->end_s - job->begin_s, 3600);
    job = slurm_jobs_find (&jobs, "waits.1.0");
    assert_int_equal (job->phase, SLURM_COMING);
    assert_string_equal (job->reason, "Resources");
    assert_string_equal (job->comment, "pollux waits");
    assert_string_equal (job->nodes, "");
    assert_int_equal (job->begin_s, -1);
    assert_int_equal (slurm_jobs_find (&jobs, "done.1.0")->phase, SLURM_ENDED);
    assert_int_equal (slurm_jobs_find (&jobs, "gone.1.0")->phase, SLURM_EXCUSED);
    /* Names with new lines: their first lines only, and no forged job. */
    job = slurm_jobs_find_id (&jobs, 8, "");
    assert_string_equal (job->name, "evil");
    assert_int_equal (job->end_s, -1); /* no time limit */
    assert_int_equal (slurm_jobs_find_id (&jobs, 9, "")->phase, SLURM_COMING);
    assert_null (slurm_jobs_find_id (&jobs, 6, "0"));
    slurm_jobs_clear (&jobs);
}

static void test_steps (void **state)
{
    (void)state;
    struct slurm_jobs steps;
    struct pollux_error err = {.text = ""};
    size_t length;
    char *text = recorded ("squeue-steps.txt", &length);
    assert_int_equal (slurm_steps_parse (KEY, text, length, &steps, &err), 0);
    assert_int_equal (steps.count, 4);
    const struct slurm_job *step = slurm_jobs_find (&steps, "mnist.3.1");
    assert_int_equal (step->id, 6);
    assert_string_equal (step->step, "0");
    assert_string_equal (step->nodes, "n1");
    assert_int_equal (step->phase, SLURM_HELD);
    assert_true (step->begin_s > 0);
    assert_non_null (slurm_jobs_find_id (&steps, 8, "batch"));
    assert_null (slurm_jobs_find_id (&steps, 7, "0")); /* forged */
    slurm_jobs_clear (&steps);
    static const char array[] = KEY "|12_3.0|u|1|n1|x\n" KEY "|13+1.extern|u|N/A|n1|a|b\n";
    assert_int_equal (slurm_steps_parse (KEY, array, strlen (array), &steps, &err), 0);
    assert_non_null (slurm_jobs_find_id (&steps, 12, "0"));
    assert_string_equal (slurm_jobs_find_id (&steps, 13, "extern")->name, "a|b");
    slurm_jobs_clear (&steps);
    free (text);
}

static void test_jobs_refused (void **state)
{
    (void)state;
    static const struct {
        bool steps;
        const char *text, *reason;
    } cases[] = {
        {false, "garbage\n", "something else: 'garbage"},
        {false, "\n\n", "something else"},
        {false, "other-key|1|RUNNING|0|r|g|1|1|n|None|a|\n", "something else"},
        {false, KEY "|1|RUNNING\n", "line 1: expected 11 fields"},
        {false, "x\n" KEY "|1|RUNNING\n", "line 2"},
        {false, KEY "|0|RUNNING|0|r|g|1|1|n|None|a|\n", "not a job id"},
        {false, KEY "|1x|RUNNING|0|r|g|1|1|n|None|a|\n", "not a job id"},
        {false, KEY "|99999999999999999999|RUNNING|0|r|g|1|1|n|None|a|\n", "not a job id"},
        {false, KEY "|1|RUNNING|-1|r|g|1|1|n|None|a|\n", "not a user id"},
        {false, KEY "|1|RUNNING|root|r|g|1|1|n|None|a|\n", "not a user id"},
        {true, "garbage\n", "something else"},
        {true, KEY "|1.0|u|1|n1\n", "line 1: expected 6 fields"},
        {true, KEY "|1|u|1|n1|x\n", "not the id of a step"},
        {true, KEY "|1.|u|1|n1|x\n", "not the id of a step"},
        {true, KEY "|.0|u|1|n1|x\n", "not a job id"},
        {true, KEY "|a.0|u|1|n1|x\n", "not a job id"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct slurm_jobs jobs = {.count = -7};
        struct pollux_error err = {.text = ""};
        int (*parse) (const char *, const char *, size_t, struct slurm_jobs *,
                      struct pollux_error *) =
            cases[i].steps ? slurm_steps_parse : slurm_jobs_parse;
        int code = parse (KEY, cases[i].text, strlen (cases[i].text), &jobs, &err);
        if (code != -EPROTO || !strstr (err.text, cases[i].reason))
            fail_msg ("%s: %d %s", cases[i].text, code, err.text);
        assert_int_equal (jobs.count, -7);
    }
    struct slurm_jobs none;
    assert_int_equal (slurm_jobs_parse (KEY, "", 0, &none, NULL), 0);
    assert_int_equal (none.count, 0);
    slurm_jobs_clear (&none);
}

static void test_submitted (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t id; /* -1: refused */
    } cases[] = {
        {"11\n", 11},
        {"123;cluster\n", 123},
        {"4294967295\n", 4294967295},
        {"", -1},
        {"\n", -1},
        {"0\n", -1},
        {"11", -1}, /* cut off: perhaps 110 */
        {"11 \n", -1},
        {"-1\n", -1},
        {"Submitted batch job 11\n", -1},
        {"11\n12\n", -1},
        {"99999999999999999999\n", -1},
        {"999999999999999999999999999999\n", -1},
    };
    size_t length;
    for (size_t i = 0; i < COUNT (cases); i++) {
        int64_t id = -1;
        struct pollux_error err = {.text = ""};
        int code = slurm_submitted_parse (cases[i].text, strlen (cases[i].text), &id, &err);
        if (id != cases[i].id || code != (id < 0 ? -EPROTO : 0))
            fail_msg ("'%s': %lld %s", cases[i].text, (long long)id, err.text);
    }
    char *text = recorded ("sbatch.txt", &length);
    int64_t id;
    assert_int_equal (slurm_submitted_parse (text, length, &id, NULL), 0);
    free (text);
    text = recorded ("squeue-unknown.txt", &length);
    assert_true (slurm_unknown_job (text));
    assert_false (slurm_unknown_job ("squeue: error: Unable to contact slurm controller"));
    free (text);
}

static void test_reservations (void **state)
{
    (void)state;
    static const struct {
        const char *ours, *node;
        enum slurm_reserved reserved;
    } cases[] = {
        {"", "n0", SLURM_RESERVED_FOR_OTHERS},
        {"", "n1", SLURM_RESERVED_FOR_OTHERS},
        {"", "n2", SLURM_RESERVED_FOR_OTHERS},
        {"", "n3", SLURM_RESERVED_FOR_OTHERS},
        {"", "n4", SLURM_NOT_RESERVED},
        /* later */ {"", "n", SLURM_NOT_RESERVED},
        {"ours", "n0", SLURM_RESERVED_FOR_OTHERS},
        {"ours", "n1", SLURM_RESERVED_FOR_US},
        {"ours", "n2", SLURM_RESERVED_FOR_OTHERS},
        {"our", "n1", SLURM_RESERVED_FOR_OTHERS},
        {"theirs", "n2", SLURM_RESERVED_FOR_US},
        {"maint", "n1", SLURM_RESERVED_FOR_US},
        {"nowhere", "n1", SLURM_RESERVED_FOR_OTHERS},
        {"later", "n4", SLURM_NOT_RESERVED},
    };
    struct slurm_reservations found = {0};
    struct pollux_error err = {.text = ""};
    struct words words;
    size_t length;
    char *text = recorded ("reservations.txt", &length);
    assert_int_equal (slurm_reservations_parse (text, length, &found, &err), 0);
    free (text);
    assert_int_equal (found.count, 5);
    for (size_t i = 0; i < COUNT (cases); i++)
        if (slurm_reservations_find (&found, cases[i].ours, cases[i].node) != cases[i].reserved)
            fail_msg ("%s for '%s'", cases[i].node, cases[i].ours);
    slurm_reservations_clear (&found);
    static const char *const empty[] = {"", "\n", "No reservations in the system\n",
                                        "ReservationName=x Nodes=(null) State=ACTIVE\n"};
    for (size_t i = 0; i < COUNT (empty); i++) {
        assert_int_equal (slurm_reservations_parse (empty[i], strlen (empty[i]), &found, &err), 0);
        assert_int_equal (found.count, 0);
        assert_int_equal (slurm_reservations_find (&found, "ours", "n0"), SLURM_NOT_RESERVED);
        slurm_reservations_clear (&found);
    }
    static const struct {
        const char *text;
        int code;
    } refused[] = {
        {"nonsense\n", -EPROTO},
        {"ReservationName= Nodes=n1 State=ACTIVE\n", -EPROTO},
        {"ReservationName=x State=ACTIVE\n", -EPROTO},
        {"ReservationName=x Nodes=n1\n", -EPROTO},
        {"ReservationName=x Nodes=n[1- State=ACTIVE\n", -EPROTO},
        {"ReservationName=x Nodes=n[0-99999999] State=ACTIVE\n", -E2BIG},
    };
    for (size_t i = 0; i < COUNT (refused); i++) {
        const char *line = refused[i].text;
        assert_int_equal (slurm_reservations_parse (line, strlen (line), &found, &err),
                          refused[i].code);
        assert_non_null (strstr (err.text, "scontrol, line 1: "));
    }
    /* A name that is too long belongs to another user. */
    char name[70], line[128];
    memset (name, 'a', sizeof (name));
    name[NAME_SIZE - 1] = '\0';
    snprintf (line, sizeof (line), "ReservationName=%sb Nodes=n1 State=ACTIVE", name);
    assert_int_equal (slurm_reservations_parse (line, strlen (line), &found, &err), 0);
    assert_int_equal (slurm_reservations_find (&found, name, "n1"), SLURM_RESERVED_FOR_OTHERS);
    slurm_reservations_clear (&found);
    assert_int_equal (slurm_reservations_words (&words), 0);
    assert_string_equal (words.list[0], "scontrol");
    assert_int_equal (words.count, 4);
    words_clear (&words);
}

static void test_unreachable (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool unreachable;
    } cases[] = {
        {"", false},
        {"\n\n", false},
        {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
         "failure)\n",
         true},
        {"sbatch: error: Unable to contact slurm controller (connect failure)", true},
        {"sbatch: error: If munged is up, restart with --num-threads=10\nsbatch: error: Munge "
         "encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file or "
         "directory\nsbatch: error: Batch job submission failed: Protocol authentication error\n",
         true},
        {"sbatch: error: Batch job submission failed: Slurm temporarily unable to accept job, "
         "sleeping and retrying\n",
         true},
        {"sbatch: fatal: Could not establish a configuration source\n", true},
        /* Words that users chose. */
        {"sbatch: error: invalid partition specified: munge\nsbatch: error: Batch job submission "
         "failed: Invalid partition name specified\n",
         false},
        {"sbatch: error: Munge\n", false},
        {"sbatch: error: invalid partition specified: Connection,refused\n", false},
        {"sbatch: error: x: Unable to contact slurm controller\n", false},
        {"Unable to contact slurm controller\n", false},
        {"sbatch: error: Batch job submission failed: Invalid account or account/partition "
         "combination specified\n",
         false},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        if (slurm_sbatch_unreachable (cases[i].text) != cases[i].unreachable)
            fail_msg ("%s", cases[i].text);
}

static void test_hostlist (void **state)
{
    (void)state;
    static const struct {
        const char *text, *hosts; /* NULL: refused */
    } cases[] = {
        {"n0", "n0"},
        {"n0,m1", "n0 m1"},
        {"n[0-2,7],m1", "n0 n1 n2 n7 m1"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"r[1-2]-n[01-02]", "r1-n01 r1-n02 r2-n01 r2-n02"},
        {"n[0-1]x", "n0x n1x"},
        {"n[3]", "n3"},
        {"", NULL},
        {",", NULL},
        {"n0,", NULL},
        {"n[", NULL},
        {"n[]", NULL},
        {"n[0-", NULL},
        {"n[0-]", NULL},
        {"n[2-1]", NULL},
        {"n[a]", NULL},
        {"n[0,]", NULL},
        {"n[0][1][2][3][4]", NULL},
        {"n]0", NULL},
        {"-n0", NULL},
        {"n 0", NULL},
        {"n[0-99999]", NULL},      /* too many */
        {"n[0-9999999999]", NULL}, /* too long */
        {"n0123456789012345678901234567890123456789012345678901234567890123", NULL},
        {"n01234567890123456789012345678901234567890123456789012345678[1000-1001]", NULL},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct words words = {.count = 0};
        struct pollux_error err = {.text = ""};
        char joined[256] = "";
        int code = slurm_hostlist_expand (cases[i].text, &words, &err);
        if ((code == 0) != (cases[i].hosts != NULL))
            fail_msg ("'%s': %d %s", cases[i].text, code, err.text);
        for (size_t j = 0; j < words.count; j++) {
            strcat (joined, j ? " " : "");
            strcat (joined, words.list[j]);
        }
        assert_string_equal (joined, cases[i].hosts ? cases[i].hosts : "");
        words_clear (&words);
    }
}

/* ---- Command lines ------------------------------------------------------------------------ */

static void expect_words (struct words *words, const char *expected)
{
    char joined[2048] = "";
    for (size_t i = 0; i < words->count; i++) {
        strcat (joined, i ? " " : "");
        strcat (joined, words->list[i]);
    }
    assert_string_equal (joined, expected);
    words_clear (words);
}

static struct slurm_share sample_share (void)
{
    return (struct slurm_share){
        .name = "mnist.3.1",
        .node = "n1",
        .pollux = "/opt/pollux/bin/pollux",
        .directory = "/shared/u/.pollux/run/mnist/3",
        .first = 4,
        .count = 2,
        .gres = "gpu",
        .gres_type = "a100",
        .gres_count = 2,
        .cpus = 8,
        .memory_mb = 32000,
        .allocation = 77,
    };
}

static void test_start_words (void **state)
{
    (void)state;
    struct slurm_share share = sample_share ();
    struct words words;
    char *script;
    assert_int_equal (slurm_srun_share (&share, &words, NULL), 0);
    expect_words (&words,
                  "srun --jobid=77 --overlap --job-name=mnist.3.1 --kill-on-bad-exit=0 "
                  "--cpu-bind=none --mem=0 --input=none --gres=gpu:a100:2 --mpi=none --nodes=1 "
                  "--ntasks=1 --nodelist=n1 /opt/pollux/bin/pollux exec "
                  "--share=/shared/u/.pollux/run/mnist/3 --first=4 --count=2");
    share.gres_count = 0;
    share.count = 8;
    assert_int_equal (slurm_srun_mpi (&share, 3, &words, NULL), 0);
    expect_words (&words,
                  "srun --jobid=77 --overlap --job-name=mnist.3.1 --kill-on-bad-exit=0 "
                  "--cpu-bind=none --mem=0 --input=none --gres=none --mpi=pmix --overcommit "
                  "--distribution=arbitrary --nodes=3 --ntasks=8 /opt/pollux/bin/pollux exec --mpi "
                  "--run=/shared/u/.pollux/run/mnist/3");
    share = sample_share ();
    assert_int_equal (slurm_sbatch_share (&share, &words, &script, NULL), 0);
    expect_words (&words, "sbatch --parsable --job-name=mnist.3.1 --nodes=1 --ntasks=1 "
                          "--nodelist=n1 --gres=gpu:a100:2 --cpus-per-task=8 --mem=32000M "
                          "--no-requeue --export=ALL --chdir=/ --input=/dev/null "
                          "--open-mode=append --output=/dev/null");
    assert_string_equal (script, "#!/bin/sh\nexec '/opt/pollux/bin/pollux' exec "
                                 "--share='/shared/u/.pollux/run/mnist/3' --first=4 --count=2\n");
    free (script);
    share.gres_type = "";
    share.mpi_ranks = 8;
    share.comment = "mnist on n1, 2 of 8 replicas";
    share.account = "physics";
    share.qos = "low";
    share.partition = "gpu,big";
    share.reservation = "ours";
    share.time_limit_min = 90;
    share.output = "/shared/u/100%/log";
    share.directory = "/shared/o'neil/x; y";
    share.cpus = 0;
    share.memory_mb = 0;
    assert_int_equal (slurm_sbatch_share (&share, &words, &script, NULL), 0);
    expect_words (&words,
                  "sbatch --parsable --job-name=mnist.3.1 --comment=mnist on n1, 2 of 8 replicas "
                  "--nodes=1 --ntasks=1 --nodelist=n1 --gres=gpu:2 --time=90 --account=physics "
                  "--qos=low --partition=gpu,big --reservation=ours --no-requeue --export=ALL "
                  "--chdir=/ --input=/dev/null --open-mode=append --output=/shared/u/100%%/log");
    assert_string_equal (script, "#!/bin/sh\nexec '/opt/pollux/bin/pollux' exec "
                                 "--share='/shared/o'\\''neil/x; y' --first=4 --count=2 "
                                 "--mpirun=8\n");
    free (script);
}

static void test_start_refused (void **state)
{
    (void)state;
    struct slurm_share good = sample_share (), bad[12];
    for (size_t i = 0; i < COUNT (bad); i++)
        bad[i] = good;
    bad[0].name = "a b";
    bad[1].name = "-n";
    bad[2].name = NULL;
    bad[3].node = "n[0-3]";
    bad[4].node = "n0,n1";
    bad[5].node = NULL;
    bad[6].directory = "relative";
    bad[7].directory = "/a\nb";
    bad[8].pollux = "pollux";
    bad[9].count = 0;
    bad[10].gres_type = "a:1,b";
    bad[11].comment = "two\nlines";
    for (size_t i = 0; i < COUNT (bad); i++) {
        struct words words = {.count = 0};
        char *script = NULL;
        struct pollux_error err = {.text = ""};
        if (slurm_sbatch_share (&bad[i], &words, &script, &err) != -EINVAL)
            fail_msg ("case %zu was accepted", i);
        assert_true (err.text[0] != '\0');
        assert_int_equal (words.count, 0);
        assert_null (script);
        if (i < 11)
            assert_int_equal (slurm_srun_share (&bad[i], &words, &err), -EINVAL);
    }
    struct words words;
    good.allocation = 0;
    assert_int_equal (slurm_srun_share (&good, &words, NULL), -EINVAL);
    good.allocation = 1;
    assert_int_equal (slurm_srun_mpi (&good, 3, &words, NULL), -EINVAL);
    char *script;
    good.output = "/a\\b";
    assert_int_equal (slurm_sbatch_share (&good, &words, &script, NULL), -EINVAL);
}

static void test_other_words (void **state)
{
    (void)state;
    struct words words;
    assert_int_equal (slurm_scancel_job (12, "URG", &words), 0);
    expect_words (&words, "scancel --signal=URG --batch 12");
    assert_int_equal (slurm_scancel_job (12, NULL, &words), 0);
    expect_words (&words, "scancel 12");
    assert_int_equal (slurm_scancel_step (12, "3", "URG", &words), 0);
    expect_words (&words, "scancel --signal=URG 12.3");
    assert_int_equal (slurm_scancel_step (12, "3", NULL, &words), 0);
    expect_words (&words, "scancel 12.3");
    struct slurm_jobs_query jobs = {.key = KEY};
    assert_int_equal (slurm_jobs_words (&jobs, &words), 0);
    expect_words (&words, "squeue -h");
    jobs = (struct slurm_jobs_query){KEY, "u", "a.1.0", "1,2", "gpu", true};
    assert_int_equal (slurm_jobs_words (&jobs, &words), 0);
    expect_words (&words, "squeue -h --states=all --user=u --name=a.1.0 --jobs=1,2 "
                          "--partition=gpu");
    assert_int_equal (slurm_steps_words (&jobs, &words), 0);
    expect_words (&words, "squeue -h -s --user=u --name=a.1.0 --jobs=1,2 --partition=gpu -o " KEY
                          "|%i|%u|%S|%N|%j");
    /* Never among the words, which all users of the machine can read. */
    char format[SLURM_FORMAT_SIZE];
    slurm_jobs_format (KEY, format);
    assert_string_equal (format, "SQUEUE_FORMAT=" KEY "|%A|%T|%U|%u|%b|%S|%e|%N|%r|%j|%k");
    struct slurm_nodes_query nodes = {.partition = "gpu", .nodes = "n[0-3]"};
    assert_int_equal (slurm_nodes_words (&nodes, &words), 0);
    expect_words (&words,
                  "sinfo -h -N --partition=gpu --nodes=n[0-3] -O NodeList:|,StateLong:|,"
                  "Gres:|,GresUsed:|,NodeAddr:|,CPUsState:|,Memory:|,AllocMem:|,Available:|");
    static const char *const names[] = {"n0", "n1", "n2"};
    char *text, key[SLURM_KEY_SIZE], other[SLURM_KEY_SIZE];
    assert_int_equal (slurm_hostfile (names, (const int[]){2, 0, 1}, 3, &text, NULL), 0);
    assert_string_equal (text, "n0\nn0\nn2\n");
    free (text);
    assert_int_equal (
        slurm_hostfile ((const char *const[]){"n0\nn1"}, (const int[]){1}, 1, &text, NULL),
        -EINVAL);
    assert_int_equal (slurm_key_make (key, NULL), 0);
    assert_int_equal (slurm_key_make (other, NULL), 0);
    assert_int_equal (strspn (key, "0123456789abcdef"), 16);
    assert_string_not_equal (key, other);
}

/* ---- Settings ----------------------------------------------------------------------------- */

static void test_config (void **state)
{
    (void)state;
    char value[64], small[4];
    size_t length;
    char *text = recorded ("config.txt", &length);
    assert_true (slurm_config_value (text, length, "AuthType", value, sizeof (value)));
    assert_string_equal (value, "auth/munge");
    assert_true (slurm_config_value (text, length, "AuthType", small, sizeof (small)));
    assert_string_equal (small, "aut");
    assert_true (slurm_config_value (text, length, "Prolog", value, sizeof (value)));
    assert_string_equal (value, "");
    assert_true (slurm_config_value (text, length, "KillWait", value, sizeof (value)));
    assert_string_equal (value, "5 sec");
    assert_false (slurm_config_value (text, length, "Auth", value, sizeof (value)));
    assert_false (slurm_config_value (text, length, "", value, sizeof (value)));
    assert_true (slurm_config_value (text, length, "SchedulerParameters", value, sizeof (value)));
    assert_true (slurm_list_value (value, "batch_sched_delay", small, sizeof (small)));
    assert_string_equal (small, "0");
    free (text);
    static const char list[] = "a=1,bf_max,c=,sched=50";
    assert_true (slurm_list_value (list, "BF_MAX", value, sizeof (value)));
    assert_string_equal (value, "");
    assert_true (slurm_list_value (list, "c", value, sizeof (value)));
    assert_string_equal (value, "");
    assert_true (slurm_list_value (list, "sched", value, sizeof (value)));
    assert_string_equal (value, "50");
    assert_false (slurm_list_value (list, "sch", value, sizeof (value)));
    assert_false (slurm_list_value ("", "a", value, sizeof (value)));
    static const char job[] = "JobId=7 JobState=FAILED Reason=NonZeroExitCode ExitCode=41:0\n";
    assert_true (slurm_word_value (job, strlen (job), "ExitCode", value, sizeof (value)));
    assert_string_equal (value, "41:0");
    assert_true (slurm_word_value (job, strlen (job), "JobId", value, sizeof (value)));
    assert_string_equal (value, "7");
    assert_false (slurm_word_value (job, strlen (job), "State", value, sizeof (value)));
    static const struct {
        const char *text;
        int version;
    } versions[] = {{"slurm-wlm 22.05.8\n", 2205},
                    {"slurm 23.02.1\n", 2302},
                    {"slurm 24.11.0rc1", 2411},
                    {"munge-0.5.15", 0},
                    {"slurm", 0},
                    {"", 0}};
    for (size_t i = 0; i < COUNT (versions); i++)
        assert_int_equal (slurm_version (versions[i].text, strlen (versions[i].text)),
                          versions[i].version);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_gres),          cmocka_unit_test (test_states),
        cmocka_unit_test (test_waiting),       cmocka_unit_test (test_refusals),
        cmocka_unit_test (test_nodes),         cmocka_unit_test (test_nodes_forms),
        cmocka_unit_test (test_nodes_refused), cmocka_unit_test (test_jobs),
        cmocka_unit_test (test_steps),         cmocka_unit_test (test_jobs_refused),
        cmocka_unit_test (test_unreachable),   cmocka_unit_test (test_reservations),
        cmocka_unit_test (test_submitted),     cmocka_unit_test (test_hostlist),
        cmocka_unit_test (test_start_words),   cmocka_unit_test (test_start_refused),
        cmocka_unit_test (test_other_words),   cmocka_unit_test (test_config),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
