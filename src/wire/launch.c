/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode the program of a job for the journal.  Defaults are written too: a journal keeps
 * its meaning if a later version has other defaults.
 */
#include "wire/launch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "wire/run.h"
#include "wire/slurm.h"
#include "wire/strings.h"

const struct wire_member wire_launch_members[] = {
    {WIRE_MEMBER (launch, owner, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (launch, launcher, WIRE_CHOICE), .max = LAUNCHERS - 1, .names = launcher_names},
    {WIRE_FIELD ("grace", launch, grace_s, WIRE_DOUBLE), .max = RUN_GRACE_LIMIT},
    {WIRE_MEMBER (launch, max_failures, WIRE_INT), .max = WIRE_FAILURES_LIMIT},
    {WIRE_FIELD ("backoff", launch, backoff_s, WIRE_DOUBLE), .max = LAUNCH_BACKOFF_LIMIT},
    {0},
};

static int decode (const struct wire_place *object, struct launch *ret, struct pollux_error *err)
{
    int code = wire_members_decode (wire_launch_members, object, ret, err);
    if (code == 0)
        code = wire_signal_decode (object, "stop_signal", &ret->stop_signal, err);
    if (code == 0)
        code = wire_strings_decode (object, "command", 1, wire_wrong_word, &ret->command, err);
    if (code == 0)
        code = wire_environment_decode (object, "environment", &ret->environment, err);
    if (code == 0)
        code =
            wire_string_decode (object, "directory", NULL, wire_wrong_path, &ret->directory, err);
    if (code == 0)
        code = wire_string_decode (object, "checkpoint_dir", NULL, wire_wrong_path,
                                   &ret->checkpoint_dir, err);
    struct wire_place slurm = wire_field (object, "slurm"); /* absent in journals of 0.1 */
    if (code == 0 && wire_has (object, "slurm"))
        code = wire_slurm_decode (&slurm, false, &ret->slurm, err);
    return code;
}

int wire_launch_decode (const struct wire_place *object, struct launch **ret,
                        struct pollux_error *err)
{
    struct launch *launch = calloc (1, sizeof (*launch));
    int code =
        launch ? decode (object, launch, err) : fail (err, -ENOMEM, "launch: not enough memory");
    if (code == 0)
        *ret = launch;
    else
        launch_free (launch);
    return code;
}

int wire_launch_put (const struct launch *launch, json_t *object, struct pollux_error *err)
{
    if (!launch->command || !launch->command[0])
        return fail (err, -EINVAL, "command: expected at least one word");
    int code = wire_strings_put (object, "command", launch->command, wire_wrong_word, err);
    if (code == 0)
        code = wire_environment_put (object, "environment", launch->environment, err);
    if (code == 0)
        code = wire_string_put (object, "directory", launch->directory, wire_wrong_path, err);
    if (code == 0)
        code = wire_string_put (object, "checkpoint_dir", launch->checkpoint_dir, wire_wrong_path,
                                err);
    if (code == 0)
        code = wire_signal_put (object, "stop_signal", launch->stop_signal, err);
    if (code == 0)
        code = wire_slurm_put (object, "slurm", &launch->slurm, err);
    return code < 0 ? code : wire_members_encode (wire_launch_members, launch, object, err);
}
