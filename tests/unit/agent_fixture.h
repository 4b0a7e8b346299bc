/* SPDX-License-Identifier: Apache-2.0 */
/* A training program on the test's clock. */
#ifndef TESTS_AGENT_FIXTURE_H
#define TESTS_AGENT_FIXTURE_H

#include "agent/agent.h"
#include "base/rng.h"

/* Numbers of a gradient. */
enum { DIM = 400 };

/* A setup with a batch of 64, and an agent of a setup that reads *clock_s; the caller closes it. */
struct pollux_setup agent_setup (int replicas, int nodes);
struct pollux_agent *agent_with_clock (const struct pollux_setup *setup, double *clock_s);

/* Decide and follow. */
struct pollux_advice agent_advise (struct pollux_agent *agent);

/* One update, timed by a model that is always the same, with gradients of noise scale `noise`.  kept: the gradient of the
 * update before, of a job with one replica. */
struct pollux_advice agent_train (struct pollux_agent *agent, struct rng *rng, double noise,
                                  double *clock_s, double kept[DIM]);

#endif
