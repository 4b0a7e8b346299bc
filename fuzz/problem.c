/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: scheduling problems.  problem_parse refuses the bytes with a message, or gives a problem
 * that can be encoded, parsed again and, if it is small, decided.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "wire/problem.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* True if a decision is fast.  The fuzzer finds inputs with very large clusters. */
static int small (const struct view *view)
{
    return view_slots (view) <= 64 && view->job_count <= 8;
}

static void check_decide (struct view *view)
{
    const struct policy *policy;
    struct memory memory;
    struct plan plan = {0};
    struct pollux_error err;
    if (policy_find ("pollux", &policy, NULL) < 0 || memory_new (policy, &memory, NULL) < 0)
        abort ();
    view->budget = 100;
    int rc = decide (policy, view, &memory, &plan, &err);
    if (rc < 0 && err.text[0] == '\0')
        abort ();
    if (rc == 0 && view->job_count > 0 && !(plan.bound >= plan.fitness))
        abort ();
    plan_clear (&plan);
    memory_clear (&memory);
}

static void check_again (const struct view *view)
{
    json_t *document = problem_encode (view);
    char *text = document ? json_dumps (document, 0) : NULL;
    struct problem *again;
    struct pollux_error err;
    if (!text || problem_parse ("again", text, strlen (text), &again, &err) < 0)
        abort ();
    if (again->view.job_count != view->job_count || again->view.node_count != view->node_count)
        abort ();
    problem_free (again);
    free (text);
    json_decref (document);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct problem *problem = NULL;
    struct pollux_error err = {.text = ""};
    if (problem_parse ("fuzz", (const char *)data, size, &problem, &err) < 0) {
        if (problem || err.text[0] == '\0')
            abort ();
        return 0;
    }
    check_again (&problem->view);
    if (small (&problem->view))
        check_decide (&problem->view);
    problem_free (problem);
    return 0;
}
