/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent saves, and a resumed agent. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>

#include "agent_fixture.h"
#include "base/bytes.h"

static void test_state (void **unused)
{
    (void)unused;
    double clock_s = 0, kept[DIM] = {0};
    struct pollux_setup setup = agent_setup (2, 1);
    struct rng rng = rng_seed (6);
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s), *other;
    struct pollux_error err = {.text = ""};
    agent_advise (agent);
    for (int step = 0; step < 40; step++)
        agent_train (agent, &rng, 300, &clock_s, kept);
    size_t size = pollux_agent_state_size (agent);
    uint8_t *data = malloc (size), *again = malloc (size);
    assert_int_equal (pollux_agent_state_save (agent, data, size - 1, &err), -ENOSPC);
    assert_int_equal (pollux_agent_state_save (agent, data, size, &err), 0);
    /* At another number of replicas. */
    setup.world.shape = (struct pollux_shape){2, 4};
    other = agent_with_clock (&setup, &clock_s);
    if (pollux_agent_state_restore (other, data, size, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (pollux_agent_state_save (other, again, size, &err), 0);
    assert_memory_equal (data, again, size);
    assert_true (other->progress == agent->progress);
    /* The first decision fits what was measured elsewhere. */
    pollux_agent_pass_begin (other);
    agent_advise (other);
    assert_true (other->tuner.fitted);
    assert_int_equal (agent_profile (other)->max_replicas, 2);
    /* Every changed byte and every truncation is refused, with no change. */
    pollux_agent_state_save (other, again, size, &err);
    for (size_t at = 0; at < size; at++) {
        data[at] ^= 1;
        assert_int_equal (pollux_agent_state_restore (other, data, size, &err), -EINVAL);
        data[at] ^= 1;
        assert_int_equal (pollux_agent_state_restore (other, data, at, &err), -EINVAL);
    }
    uint8_t *now = malloc (size);
    assert_int_equal (pollux_agent_state_save (other, now, size, &err), 0);
    assert_memory_equal (again, now, size);
    pollux_agent_close (other);
    /* Another M0 is another job. */
    pollux_setup_default (65, &setup);
    setup.world.shape = (struct pollux_shape){1, 1};
    other = agent_with_clock (&setup, &clock_s);
    assert_int_equal (pollux_agent_state_restore (other, data, size, &err), -EINVAL);
    assert_non_null (strstr (err.text, "initial batch"));
    pollux_agent_close (other);
    pollux_agent_close (agent);
    free (data);
    free (again);
    free (now);
}

/* A state of version 1 has the average and the profile, and no evidence. */
static void test_state_of_version_1 (void **unused)
{
    (void)unused;
    double clock_s = 0;
    uint8_t data[512], again[1024];
    struct pollux_setup setup = agent_setup (2, 1);
    struct pollux_error err = {.text = ""};
    FILE *file = fopen ("fuzz/corpus/agent_state/trained", "r");
    assert_non_null (file);
    size_t size = fread (data, 1, sizeof (data), file);
    fclose (file);
    assert_int_equal (data[8], 1);
    setup.groups = 2;
    setup.limits = (struct pollux_limits){64, 4096, 1, 512, true};
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
    if (pollux_agent_state_restore (agent, data, size, &err) < 0)
        fail_msg ("%s", err.text);
    struct pollux_grad grad = pollux_noise_grad (agent->noise);
    assert_true (agent->progress > 92 && agent->progress < 93);
    assert_true (agent_profile (agent)->count == 2 && agent_profile (agent)->steps == 18 &&
                 agent->tuner.fitted);
    assert_true (grad.sqr > 0 && grad.var > 0 && pollux_noise_weight (agent->noise) > 0);
    const struct adaptation *adaptation = &agent->adaptation;
    assert_true (evidence_count (&adaptation->evidence) == 0 && adaptation->updates == 0);
    assert_true (agent_grad (agent).gain_max == 1 &&
                 adaptation->gain_limit.most == GAIN_LIMIT_FIRST);
    assert_int_equal (agent->tuner.batch.m, 32);
    /* It is saved as the present version, and that is read. */
    size = pollux_agent_state_size (agent);
    assert_true (size <= sizeof (again));
    assert_int_equal (pollux_agent_state_save (agent, again, size, &err), 0);
    assert_int_equal (again[8], 3);
    assert_int_equal (pollux_agent_state_restore (agent, again, size, &err), 0);
    pollux_agent_close (agent);
}

/* Stopped at a random step and resumed from the saved bytes, training is the same to the last bit. */
static void test_resumed_is_the_same (void **unused)
{
    (void)unused;
    struct rng chance = rng_seed (12);
    for (int round = 0; round < 10; round++) {
        int stop = 1 + (int)rng_below (&chance, 60);
        double clock_s = 0, kept[DIM] = {0}, lone_kept[DIM] = {0};
        struct pollux_setup setup = agent_setup (round % 2 ? 1 : 4, 1);
        setup.fixed = (struct pollux_batch){32, 0};
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s),
                            *lone = agent_with_clock (&setup, &clock_s);
        struct rng rng = rng_seed (3), lone_rng = rng;
        agent_advise (agent);
        agent_advise (lone);
        for (int step = 0; step < 80; step++) {
            if (step == stop) {
                size_t size = pollux_agent_state_size (agent);
                uint8_t *data = malloc (size);
                assert_int_equal (pollux_agent_state_save (agent, data, size, NULL), 0);
                pollux_agent_close (agent);
                agent = agent_with_clock (&setup, &clock_s);
                assert_int_equal (pollux_agent_state_restore (agent, data, size, NULL), 0);
                free (data);
            }
            struct pollux_advice a = agent_train (agent, &rng, 300, &clock_s, kept);
            struct pollux_advice b = agent_train (lone, &lone_rng, 300, &clock_s, lone_kept);
            assert_true (a.progress == b.progress && a.gain == b.gain);
            assert_true (pollux_agent_factor (agent, 0) == pollux_agent_factor (lone, 0));
        }
        pollux_agent_close (agent);
        pollux_agent_close (lone);
    }
}

static void test_state_in_a_checkpoint (void **unused)
{
    (void)unused;
    char directory[64], command[96];
    snprintf (directory, sizeof (directory), "%s/pollux-test-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (directory));
    setenv ("POLLUX_CHECKPOINT_DIR", directory, 1);
    double clock_s = 0, kept[DIM] = {0};
    struct pollux_setup setup = agent_setup (1, 1);
    struct rng rng = rng_seed (6);
    struct pollux_error err = {.text = ""};
    struct pollux_checkpoint *checkpoint;
    struct pollux_agent *agent = agent_with_clock (&setup, &clock_s),
                        *other = agent_with_clock (&setup, &clock_s);
    unsetenv ("POLLUX_CHECKPOINT_DIR");
    assert_string_equal (pollux_agent_checkpoint_dir (agent), directory);
    agent_advise (agent);
    agent_train (agent, &rng, 300, &clock_s, kept);
    assert_int_equal (pollux_checkpoint_begin (directory, &checkpoint, &err), 0);
    assert_int_equal (pollux_agent_save (agent, checkpoint, &err), 0);
    assert_int_equal (pollux_checkpoint_commit (checkpoint, 2, &err), 0);
    pollux_checkpoint_close (checkpoint);
    assert_int_equal (pollux_checkpoint_open (directory, &checkpoint, NULL, &err), 0);
    assert_int_equal (pollux_agent_restore (other, checkpoint, &err), 0);
    assert_true (other->progress == 1);
    pollux_checkpoint_close (checkpoint);
    assert_int_equal (pollux_checkpoint_begin (directory, &checkpoint, &err), 0);
    assert_int_equal (pollux_agent_restore (other, checkpoint, &err), -ENOENT);
    pollux_checkpoint_close (checkpoint);
    pollux_agent_close (agent);
    pollux_agent_close (other);
    snprintf (command, sizeof (command), "rm -rf %s", directory);
    assert_int_equal (system (command), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_state),
        cmocka_unit_test (test_state_of_version_1),
        cmocka_unit_test (test_resumed_is_the_same),
        cmocka_unit_test (test_state_in_a_checkpoint),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
