/* SPDX-License-Identifier: Apache-2.0 */
/* An agent on nodes of several types: a profile and a model for each. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>

#include "agent_fixture.h"

static void save_and_close (struct pollux_agent *agent, uint8_t *data, size_t *size)
{
    *size = pollux_agent_state_size (agent);
    assert_true (*size <= TYPES_SIZE_LIMIT);
    assert_int_equal (pollux_agent_state_save (agent, data, *size, NULL), 0);
    pollux_agent_close (agent);
}

/* A job moves between types: each keeps its profile, model and largest local batch. */
static void test_types (void **unused)
{
    (void)unused;
    static const struct {
        const char *type;
        int steps, known, last; /* known: types; last: the move whose profile it continues, or -1 */
    } moves[] = {{"t4", 30, 1, -1},  {"a100", 20, 2, -1}, {"t4", 15, 2, 0},
                 {"idle", 0, 3, -1}, {"a100", 15, 2, 1},  {"", 15, 3, -1},
                 {"h100", 10, 3, 5}, {"", 10, 4, -1},     {"t4", 10, 3, 2}};
    uint64_t measured[COUNT (moves)];
    static uint8_t data[TYPES_SIZE_LIMIT];
    size_t size = 0;
    double clock_s = 0, kept[DIM] = {0};
    struct rng rng = rng_seed (6);
    struct pollux_setup setup = agent_setup (2, 1);
    int64_t most = setup.limits.max_local;
    for (size_t i = 0; i < COUNT (moves); i++) {
        setenv ("POLLUX_NODE_TYPE", moves[i].type, 1);
        setup.limits.max_local = most + (int64_t)i;
        struct pollux_agent *agent = agent_with_clock (&setup, &clock_s);
        if (size > 0)
            assert_int_equal (pollux_agent_state_restore (agent, data, size, NULL), 0);
        const struct type_profile *present = &agent->types.items[0];
        uint64_t before = moves[i].last < 0 ? 0 : measured[moves[i].last];
        assert_string_equal (present->type, moves[i].type);
        assert_int_equal (present->max_local, most + (int64_t)i);
        assert_int_equal (present->profile.steps, before);
        assert_int_equal (agent->types.count, moves[i].known);
        assert_int_equal (agent->tuner.fitted, before > 0);
        for (int step = 0; step <= moves[i].steps; step++) {
            agent_advise (agent);
            if (step < moves[i].steps) /* the first step is not measured */
                agent_train (agent, &rng, 300, &clock_s, kept);
        }
        measured[i] = present->profile.steps;
        save_and_close (agent, data, &size);
    }
    unsetenv ("POLLUX_NODE_TYPE");
}

/* Of nine types the one of the longest absence is forgotten; a name that no report can hold is none. */
static void test_many_types (void **unused)
{
    (void)unused;
    struct type_profiles types = {.count = 1};
    char name[TYPE_SIZE], longest[TYPE_SIZE + 1] = "";
    for (int i = 0; i < 9; i++) {
        snprintf (name, sizeof (name), "t%d", i);
        type_profiles_move (&types, name);
        types.items[0].profile.count = 1;
        types.items[0].max_local = i;
    }
    assert_int_equal (types.count, TYPES_LIMIT);
    for (int i = 0; i < TYPES_LIMIT; i++)
        assert_int_equal (types.items[i].max_local, 8 - i);
    type_profiles_move (&types, "t1");
    assert_int_equal (types.count, TYPES_LIMIT);
    assert_true (types.items[0].max_local == 1 && types.items[1].max_local == 8);
    assert_int_equal (types.items[TYPES_LIMIT - 1].max_local, 2);
    memset (longest, 'x', TYPE_SIZE);
    static const char *const bad[] = {"a\"b", "a\\b", "a\nb", "\xc3\xa4", NULL};
    for (size_t i = 0; i < COUNT (bad); i++) {
        type_name (bad[i], name);
        assert_string_equal (name, "");
    }
    type_name (longest, name);
    assert_string_equal (name, "");
    type_name (longest + 1, name);
    assert_string_equal (name, longest + 1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_types),
        cmocka_unit_test (test_many_types),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
