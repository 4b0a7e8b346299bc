/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of simulations as JSON.
 */
#include "wire/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/member.h"

/* Thousands of years are more than every run needs; microseconds of 1e11 s are exact. */
static const double latest_s = 1e11;
static const double most_rho = 1e12;

void recording_clear (struct recording *recording)
{
    free (recording->command);
    free (recording->rhos);
    *recording = (struct recording){.made_s = NAN};
}

/* ---- Writing ------------------------------------------------------------------------------ */

static json_t *rhos_json (const struct recording *recording, struct pollux_error *err)
{
    json_t *rhos = json_object ();
    int code = rhos ? 0 : -ENOMEM;
    for (int i = 0; code == 0 && i < recording->rho_count; i++) {
        const struct recorded_rho *one = &recording->rhos[i];
        if (!(one->rho > 0 && one->rho <= most_rho))
            code = fail (err, -EINVAL, "job %s: rho must be positive, got %g", one->job, one->rho);
        else
            code = wire_put (rhos, one->job, json_real (one->rho), err);
    }
    if (code < 0) {
        json_decref (rhos);
        return NULL;
    }
    return rhos;
}

int wire_recording_encode (const struct recording *recording, struct wire_text_buffer *buffer,
                           struct pollux_error *err)
{
    struct pollux_error why = {"not enough memory"};
    json_t *object = json_pack ("{s:i}", "version", 1), *rhos = NULL;
    int code = object ? 0 : fail (err, -ENOMEM, "%s", why.text);
    if (code == 0 && recording->command)
        code = wire_put (object, "command", json_string (recording->command), err);
    if (code == 0 && isfinite (recording->made_s))
        code = wire_put (object, "made_at", json_real (recording->made_s), err);
    if (code == 0 && recording->workload[0])
        code = wire_put (object, "workload", json_string (recording->workload), err);
    if (code == 0 && recording->rho_count > 0) {
        rhos = rhos_json (recording, &why);
        code = rhos ? wire_put (object, "rho", rhos, err) : fail (err, -EINVAL, "%s", why.text);
    }
    if (code == 0)
        code = wire_text_dump (object, RECORDING_LIMIT, buffer, err);
    json_decref (object);
    return code;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int take_rho (void *self, const struct wire_place *place, double number,
                     struct pollux_error *err)
{
    struct recording *recording = self;
    struct recorded_rho *next = &recording->rhos[recording->rho_count];
    if (!(number > 0))
        return wire_fail (place, err, "expected a positive number");
    memcpy (next->job, place->key, strlen (place->key) + 1);
    next->rho = number;
    recording->rho_count++;
    return 0;
}

static int decode_rhos (const struct wire_place *root, struct recording *recording,
                        struct pollux_error *err)
{
    struct wire_place rhos = wire_field (root, "rho");
    if (!wire_has (root, "rho"))
        return 0;
    recording->rhos = calloc (json_object_size (rhos.value) + 1, sizeof (recording->rhos[0]));
    if (!recording->rhos)
        return fail (err, -ENOMEM, "not enough memory");
    return wire_job_numbers (&rhos, most_rho, take_rho, recording, err);
}

static int decode (const struct wire_place *root, void *ret, struct pollux_error *err)
{
    struct recording *recording = ret;
    const char *command = NULL;
    int version;
    int code = wire_expect_object (root, err);
    if (code == 0)
        code = wire_version (root, 1, 1, &version, err);
    if (code == 0 && wire_has (root, "made_at"))
        code = wire_double (root, "made_at", 0, latest_s, &recording->made_s, err);
    if (code == 0 && wire_has (root, "workload"))
        code = wire_name (root, "workload", recording->workload, err);
    if (code == 0 && wire_has (root, "command"))
        code = wire_text (root, "command", &command, err);
    if (code == 0 && command) {
        recording->command = strndup (command, RECORDING_COMMAND_LIMIT);
        if (!recording->command)
            code = fail (err, -ENOMEM, "not enough memory");
    }
    return code < 0 ? code : decode_rhos (root, recording, err);
}

int wire_recording_decode (const char *text, size_t length, const char *name, struct recording *ret,
                           struct pollux_error *err)
{
    struct recording recording = {.made_s = NAN};
    int code = wire_document_decode (name, text, length, RECORDING_LIMIT, decode, &recording, err);
    if (code < 0)
        recording_clear (&recording);
    else
        *ret = recording;
    return code;
}
