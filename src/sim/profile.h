/* SPDX-License-Identifier: Apache-2.0 */
/* Applications from profiles, and profiles of applications.  wire/profiles.h has the format. */
#ifndef SIM_PROFILE_H
#define SIM_PROFILE_H

#include "sim/ground_truth.h"
#include "wire/profiles.h"

/* Describe an application, of traces or of profiles, as a profile: the throughput model fitted to its
 * step times, and its gradient noise at a few knots.  0 or -ENOMEM. */
int profile_of_app (const struct app *app, struct profile *ret, struct pollux_error *err);

/* The applications of count profiles.  On success *ret belongs to the caller
 * (ground_truth_free). */
int ground_truth_of_profiles (const struct profile *profiles, int count, struct ground_truth **ret,
                              struct pollux_error *err);

/* Read the profiles of a file, or the built-in ones if path is NULL; see profiles_read. */
int profiles_load (const char *path, struct profile **ret, int *count, struct pollux_error *err);

/* The profiles of the six published applications, as JSON text. */
const char *builtin_profiles (void);

#endif
