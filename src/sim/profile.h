/* SPDX-License-Identifier: Apache-2.0 */
/* Applications and their profiles: one from the other.  wire/profiles.h has the format. */
#ifndef SIM_PROFILE_H
#define SIM_PROFILE_H

#include "sim/ground_truth.h"
#include "wire/profiles.h"

/* Describe an application, of whatever world, in a profile: the throughput model fitted to its
 * step times, and its gradient noise at a few knots.  0 or -ENOMEM. */
int profile_of_app (const struct app *app, struct profile *ret, struct pollux_error *err);

/* A world of count profiles. */
int ground_truth_of_profiles (const struct profile *profiles, int count, struct ground_truth **ret,
                              struct pollux_error *err);

/* Profiles of a file, or those built in where path is NULL, as profiles_read gives them. */
int profiles_load (const char *path, struct profile **ret, int *count, struct pollux_error *err);

/* The profiles of the six published applications, as text in the format's JSON. */
const char *builtin_profiles (void);

#endif
