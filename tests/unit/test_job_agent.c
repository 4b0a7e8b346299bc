/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents of simulated jobs: the published one is the usual chooser; the real one waits for evidence,
 * probes, doubles at most, limits its gain, and continues with its batch on another placement.
 */
#include "unit.h"

#include "sim/job_agent.h"
#include "sim/profile.h"

/* One replica needs 1 s per micro-step, two replicas 1 + 1 s.  The noise gives much gain to large batches. */
static struct ground_truth *simple_truth (double epoch_iterations, int epochs, int64_t max_batch,
                                          double noise)
{
    struct profile profile = {
        .name = "plain",
        .epochs = epochs,
        .epoch_iterations = epoch_iterations,
        .limits = {10, max_batch, 1, max_batch, true},
        .model = {.alpha_grad = 1, .alpha_node = 3, .alpha_local = 1, .gamma = 1},
        .knot_count = 1,
        .batch_count = 1,
        .batches = {10},
        .ratio = {{noise}},
    };
    struct ground_truth *truth = NULL;
    assert_int_equal (ground_truth_of_profiles (&profile, 1, &truth, NULL), 0);
    return truth;
}

struct fixture {
    struct ground_truth *truth;
    struct job_agent agent;
    struct batch_chooser chooser;
    struct training job;
};

static void start (struct fixture *fixture, struct ground_truth *truth, int64_t requested_batch,
                   enum job_agent_kind kind)
{
    fixture->truth = truth;
    fixture->agent = job_agent_start (kind, POLLUX_EXACT, ground_truth_at (truth, 0));
    fixture->chooser = job_agent_chooser (&fixture->agent);
    training_init (&fixture->job, ground_truth_at (truth, 0), requested_batch, false, 0);
}

static void place (struct fixture *fixture, int replicas)
{
    assert_int_equal (
        training_place (&fixture->job, fixture->job.app, &replicas, 1, 0, &fixture->chooser, NULL),
        0);
}

static void advance (struct fixture *fixture, double seconds)
{
    assert_int_equal (training_advance (&fixture->job, seconds, 0, &fixture->chooser, NULL), 0);
}

static double total_of (const struct fixture *fixture)
{
    struct pollux_shape shape = {.nodes = 1, .replicas = fixture->job.replicas};
    return pollux_total_batch (shape, fixture->job.batch);
}

static void end (struct fixture *fixture)
{
    training_clear (&fixture->job);
    ground_truth_free (fixture->truth);
}

/* One replica: the first 16 updates and then every fourth have two micro-steps.  The gain is 1 until the
 * 17th (older values count a little less, so 16 of them are not quite 16), and then the batch changes. */
static void test_probes_and_evidence (void **unused)
{
    (void)unused;
    struct fixture f;
    start (&f, simple_truth (1e6, 1, 80, 1000), 0, JOB_AGENT_REAL);
    place (&f, 1);
    assert_true (f.job.batch.m == 10 && f.job.batch.s == 0);
    assert_true (job_agent_grad (&f.agent, &f.job).gain_max == 1);
    advance (&f, 33);
    assert_true (f.agent.adaptation.updates == 16 && total_of (&f) == 10);
    assert_true (fabs (f.job.progress - 16.5) < 1e-5); /* an update takes 2 s */
    advance (&f, 1 + 1e-4);
    assert_true (f.agent.adaptation.updates == 17 && fabs (f.job.progress - 17) < 1e-3);
    assert_true (job_agent_grad (&f.agent, &f.job).gain_max >= GAIN_LIMIT_FIRST);
    assert_true (total_of (&f) == 20 && f.job.batch.s == 0);
    advance (&f, 10); /* 8 updates, two of them probes: a micro-step always takes 1 s */
    double gain = f.job.progress - 17;
    assert_true (f.agent.adaptation.updates == 25 && gain > 8 * 1.9 && gain < 8.1 * 2);
    assert_int_equal (training_samples (&f.job)->list[0].m, 5); /* probes are measured, too */
    end (&f);
}

/* The batch at most doubles, after 50 updates; the gain stays within the limit, which rises. */
static void test_ramp (void **unused)
{
    (void)unused;
    struct fixture f;
    start (&f, simple_truth (400, 1000, 100000, 1e6), 0, JOB_AGENT_REAL);
    place (&f, 2);
    assert_true (total_of (&f) == 10);
    uint64_t changed_at = 0;
    double total = 10, progress = 0, most = 1;
    int changes = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t updates = f.agent.adaptation.updates;
        advance (&f, 2); /* one update */
        double gain = f.job.progress - progress;
        progress = f.job.progress;
        assert_true (gain <= most * (1 + 1e-9)); /* most: what was reported before the update */
        struct pollux_grad grad = job_agent_grad (&f.agent, &f.job);
        assert_true (grad.gain_max >= most && grad.gain_max <= fmax (2 * most, GAIN_LIMIT_FIRST));
        most = grad.gain_max;
        if (total_of (&f) == total)
            continue;
        assert_true (updates + 1 >= 16 && (changes == 0 || updates - changed_at >= 50));
        assert_true (total_of (&f) > total && total_of (&f) <= 2 * total);
        total = total_of (&f);
        changed_at = updates;
        changes++;
    }
    assert_true (changes >= 6 && most == 40); /* 10 updates in a pass */
    assert_false (training_done (&f.job));

    /* Another placement continues with the total batch and chooses at once. */
    place (&f, 3);
    assert_true (fabs (total_of (&f) - total) < 3);
    assert_int_equal (f.agent.adaptation.waits, 0);
    end (&f);
}

/* Where noise allows no gain, the batch stays, and nothing is lost but the probes. */
static void test_no_noise (void **unused)
{
    (void)unused;
    struct fixture f;
    start (&f, simple_truth (100, 1, 80, 0.001), 0, JOB_AGENT_REAL);
    place (&f, 1);
    advance (&f, 1000);
    assert_true (training_done (&f.job) && total_of (&f) == 10);
    assert_true (f.job.completed_s > 136.9 && f.job.completed_s < 137.1);
    end (&f);
}

/* A batch that the owner fixed is none of the agent's business. */
static void test_fixed (void **unused)
{
    (void)unused;
    double completed_s[2];
    for (int kind = JOB_AGENT_PUBLISHED; kind < JOB_AGENT_KINDS; kind++) {
        struct fixture f;
        start (&f, simple_truth (100.3, 1, 80, 10), 40, (enum job_agent_kind)kind);
        place (&f, 1);
        advance (&f, 1000);
        assert_true (training_done (&f.job) && total_of (&f) == 40);
        assert_true (job_agent_grad (&f.agent, &f.job).gain_max == 0);
        completed_s[kind] = f.job.completed_s;
        end (&f);
    }
    assert_true (completed_s[0] == completed_s[1]);
}

/* The published agent chooses as batch_adapt does, and reports the noise without a limit. */
static void test_published (void **unused)
{
    (void)unused;
    struct fixture f;
    start (&f, simple_truth (1e6, 1, 80, 10), 0, JOB_AGENT_PUBLISHED);
    place (&f, 2);
    assert_true (total_of (&f) == 10);
    advance (&f, 1);
    assert_true (total_of (&f) > 40); /* at once */
    struct pollux_grad grad = job_agent_grad (&f.agent, &f.job);
    assert_true (grad.gain_max == 0 && grad.sqr == f.job.grad.sqr && grad.var == f.job.grad.var);
    end (&f);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_probes_and_evidence),
        cmocka_unit_test (test_ramp),
        cmocka_unit_test (test_no_noise),
        cmocka_unit_test (test_fixed),
        cmocka_unit_test (test_published),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
