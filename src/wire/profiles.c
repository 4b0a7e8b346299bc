/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode profiles.  The model and the limits of a profile are those of a job object
 * (wire/job.h) and use its decoder.  The text is written without jansson, so that a row of numbers
 * stays on one line.
 */
#include "wire/profiles.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/job.h"

/* Largest var / sqr.  Beyond it the gain is proportional to the batch, as for infinite noise. */
#define RATIO_LIMIT 1e12

/* ---- Reading ------------------------------------------------------------------------------ */

/* Read an array of 1..limit numbers in min..max, which must ascend if `ascending`. */
static int decode_numbers (const struct wire_place *array, double min, double max, bool ascending,
                           int limit, double *ret, int *ret_count, struct pollux_error *err)
{
    int code = wire_expect_array (array, err);
    if (code < 0)
        return code;
    size_t count = json_array_size (array->value);
    if (count < 1 || count > (size_t)limit)
        return wire_fail (array, err, "expected 1 to %d numbers", limit);
    for (size_t i = 0; i < count; i++) {
        struct wire_place element = wire_element (array, i);
        double value = json_is_number (element.value) ? json_number_value (element.value) : NAN;
        if (!(value >= min && value <= max))
            return wire_fail (&element, err, "expected a number from %g to %g", min, max);
        if (ascending && i > 0 && !(value > ret[i - 1]))
            return wire_fail (&element, err, "expected more than %g, the number before",
                              ret[i - 1]);
        ret[i] = value;
    }
    *ret_count = (int)count;
    return 0;
}

static int decode_noise (const struct wire_place *noise, struct profile *ret,
                         struct pollux_error *err)
{
    struct wire_place progress = wire_field (noise, "progress");
    struct wire_place batches = wire_field (noise, "batches");
    struct wire_place ratio = wire_field (noise, "ratio");
    int code = wire_expect_object (noise, err);
    if (code == 0)
        code = decode_numbers (&progress, 0, 1, true, PROFILE_KNOTS, ret->progress,
                               &ret->knot_count, err);
    if (code == 0)
        code = decode_numbers (&batches, 1, (double)POLLUX_BATCH_LIMIT, true, PROFILE_BATCHES,
                               ret->batches, &ret->batch_count, err);
    if (code == 0)
        code = wire_expect_array (&ratio, err);
    if (code < 0)
        return code;
    if (json_array_size (ratio.value) != (size_t)ret->batch_count)
        return wire_fail (&ratio, err, "expected %d rows, one for each of the batches",
                          ret->batch_count);
    for (int i = 0; i < ret->batch_count; i++) {
        struct wire_place row = wire_element (&ratio, (size_t)i);
        int count = 0;
        code =
            decode_numbers (&row, 0, RATIO_LIMIT, false, PROFILE_KNOTS, ret->ratio[i], &count, err);
        if (code < 0)
            return code;
        if (count != ret->knot_count)
            return wire_fail (&row, err, "expected %d numbers, one for each knot of progress",
                              ret->knot_count);
    }
    return 0;
}

static int decode_pin (const struct wire_place *pinned, struct profile *ret,
                       struct pollux_error *err)
{
    int64_t replicas;
    int code = wire_expect_object (pinned, err);
    if (code == 0)
        code = wire_int64 (pinned, "replicas", 1, POLLUX_REPLICAS_LIMIT, &replicas, err);
    if (code == 0)
        code = wire_int64 (pinned, "batch", ret->limits.init_batch, ret->limits.max_batch,
                           &ret->pinned_batch, err);
    if (code == 0)
        ret->pinned_replicas = (int)replicas;
    return code;
}

/* Read the model and all limits; in a profile they are required. */
static int decode_job (const struct wire_place *place, struct profile *ret,
                       struct pollux_error *err)
{
    static const char *const keys[] = {"model", "init_batch", "max_batch", "min_local",
                                       "max_local"};
    struct wire_job job;
    int code = wire_job_decode (place, &job, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct wire_place field = wire_field (place, keys[i]);
        if (!wire_has (place, keys[i]))
            return wire_fail (&field, err, i == 0 ? "expected a model" : "expected a batch");
    }
    ret->model = job.model;
    ret->limits = job.limits;
    ret->limits.accumulation = true;
    return 0;
}

/* The name of a profile or a type is its key. */
static int decode_name (const struct wire_place *place, char ret[NAME_SIZE],
                        struct pollux_error *err)
{
    size_t length = strlen (place->key);
    if (length == 0 || length >= NAME_SIZE)
        return wire_fail (place, err, "expected a name of 1 to %d bytes for", NAME_SIZE - 1);
    memcpy (ret, place->key, length + 1);
    return 0;
}

static int decode_type (const struct wire_place *place, struct profile *ret,
                        struct pollux_error *err)
{
    struct profile_type *type = &ret->types[ret->type_count++];
    struct wire_place model = wire_field (place, "model");
    struct wire_job job;
    int code = decode_name (place, type->name, err);
    if (code == 0)
        code = wire_expect_object (place, err);
    if (code == 0)
        code = wire_job_decode (place, &job, err);
    if (code == 0 && !job.has_model)
        code = wire_fail (&model, err, "expected a model");
    if (code == 0)
        code = wire_int64 (place, "min_local", 1, POLLUX_BATCH_LIMIT, &type->min_local, err);
    if (code == 0)
        code = wire_int64 (place, "max_local", type->min_local, POLLUX_BATCH_LIMIT,
                           &type->max_local, err);
    if (code == 0 && wire_has (place, "one_gpu"))
        code = wire_double (place, "one_gpu", 1e-6, 1e15, &type->one_gpu, err);
    if (code == 0)
        type->model = job.model;
    return code;
}

/* What counts in clusters with types only. */
static int decode_types (const struct wire_place *place, struct profile *ret,
                         struct pollux_error *err)
{
    struct wire_place types = wire_field (place, "types"), type;
    int code = 0;
    ret->restart_delay_s = NAN;
    ret->slowdown = 1;
    if (wire_has (place, "restart_delay"))
        code = wire_double (place, "restart_delay", 0, 1e6, &ret->restart_delay_s, err);
    if (code == 0 && wire_has (place, "slowdown"))
        code = wire_double (place, "slowdown", 0.01, 100, &ret->slowdown, err);
    if (code < 0 || !wire_has (place, "types"))
        return code;
    code = wire_expect_object (&types, err);
    if (code == 0 && json_object_size (types.value) > PROFILE_TYPES)
        code = wire_fail (&types, err, "expected at most %d types", PROFILE_TYPES);
    for (void *at = NULL; code == 0 && wire_each (&types, &at, &type);)
        code = decode_type (&type, ret, err);
    return code;
}

static int decode_profile (const struct wire_place *place, struct profile *ret,
                           struct pollux_error *err)
{
    struct wire_place noise = wire_field (place, "noise"), pinned = wire_field (place, "pinned");
    int64_t epochs;
    int code = decode_name (place, ret->name, err);
    if (code == 0)
        code = decode_job (place, ret, err);
    if (code == 0)
        code = wire_int64 (place, "epochs", 1, PROFILE_EPOCHS_LIMIT, &epochs, err);
    if (code < 0)
        return code;
    ret->epochs = (int)epochs;
    /* The total number of iterations is exact in a double. */
    code = wire_double (place, "epoch_iterations", 1e-3, 0x1p53 / PROFILE_EPOCHS_LIMIT,
                        &ret->epoch_iterations, err);
    if (code == 0)
        code = decode_noise (&noise, ret, err);
    if (code == 0 && wire_has (place, "pinned"))
        code = decode_pin (&pinned, ret, err);
    return code < 0 ? code : decode_types (place, ret, err);
}

static int decode_document (const struct wire_document *document, struct profile **ret,
                            int *ret_count, struct pollux_error *err)
{
    struct wire_place root = wire_root (document), apps = wire_field (&root, "applications");
    int64_t version;
    int code = wire_expect_object (&root, err);
    if (code == 0)
        code = wire_int64 (&root, "version", 1, 1, &version, err);
    if (code == 0)
        code = wire_expect_object (&apps, err);
    if (code < 0)
        return code;
    size_t count = json_object_size (apps.value);
    if (count == 0)
        return wire_fail (&apps, err, "expected at least one application");
    struct profile *profiles = calloc (count, sizeof *profiles), *next = profiles;
    if (!profiles)
        return fail (err, -ENOMEM, "no memory for %zu profiles", count);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)apps.value, key, value)
    {
        struct wire_place place = wire_field (&apps, key);
        if (code == 0)
            code = decode_profile (&place, next++, err);
    }
    if (code < 0) {
        free (profiles);
        return code;
    }
    *ret = profiles;
    *ret_count = (int)count;
    return 0;
}

int profiles_read (const char *path, struct profile **ret, int *count, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_read (path, PROFILES_FILE_LIMIT, &document, err);
    if (code < 0)
        return code;
    code = decode_document (document, ret, count, err);
    wire_document_free (document);
    return code;
}

int profiles_parse (const char *name, const char *text, size_t length, struct profile **ret,
                    int *count, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_parse (name, text, length, PROFILES_FILE_LIMIT, &document, err);
    if (code < 0)
        return code;
    code = decode_document (document, ret, count, err);
    wire_document_free (document);
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static void write_numbers (FILE *out, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        (void)fprintf (out, "%s%.6g", i ? ", " : "[", numbers[i]);
    (void)fputs ("]", out);
}

static void write_model (FILE *out, int indent, const struct pollux_model *model)
{
    (void)fprintf (out,
                   "%*s\"model\": {\"alpha_grad\": %.6g, \"beta_grad\": %.6g,\n"
                   "%*s  \"alpha_node\": %.6g, \"beta_node\": %.6g,\n"
                   "%*s  \"alpha_local\": %.6g, \"beta_local\": %.6g, \"gamma\": %.6g}",
                   indent, "", model->alpha_grad, model->beta_grad, indent, "", model->alpha_node,
                   model->beta_node, indent, "", model->alpha_local, model->beta_local,
                   model->gamma);
}

static int write_types (FILE *out, const struct profile *profile, struct pollux_error *err)
{
    if (!isnan (profile->restart_delay_s))
        (void)fprintf (out, "      \"restart_delay\": %.6g,\n", profile->restart_delay_s);
    if (profile->slowdown != 1)
        (void)fprintf (out, "      \"slowdown\": %.6g,\n", profile->slowdown);
    for (int i = 0; i < profile->type_count; i++) {
        const struct profile_type *type = &profile->types[i];
        json_t *string = json_string (type->name);
        char *name = string ? json_dumps (string, JSON_ENCODE_ANY) : NULL;
        json_decref (string);
        if (!name)
            return fail (err, -ENOMEM, "no memory to write a profile");
        (void)fprintf (out, "%s        %s: {\n          \"min_local\": %lld, \"max_local\": %lld,",
                       i ? ",\n" : "      \"types\": {\n", name, (long long)type->min_local,
                       (long long)type->max_local);
        if (type->one_gpu > 0)
            (void)fprintf (out, " \"one_gpu\": %.6g,", type->one_gpu);
        (void)fputs ("\n", out);
        write_model (out, 10, &type->model);
        (void)fputs ("}", out);
        free (name);
    }
    if (profile->type_count > 0)
        (void)fputs ("},\n", out);
    return 0;
}

static void write_noise (FILE *out, const struct profile *profile)
{
    (void)fputs ("      \"noise\": {\n        \"progress\": ", out);
    write_numbers (out, profile->progress, profile->knot_count);
    (void)fputs (",\n        \"batches\": ", out);
    write_numbers (out, profile->batches, profile->batch_count);
    (void)fputs (",\n        \"ratio\": [", out);
    for (int i = 0; i < profile->batch_count; i++) {
        (void)fputs (i ? ",\n          " : "\n          ", out);
        write_numbers (out, profile->ratio[i], profile->knot_count);
    }
    (void)fputs ("]}", out);
}

static int write_profile (FILE *out, const struct profile *profile, struct pollux_error *err)
{
    json_t *string = json_string (profile->name);
    char *name = string ? json_dumps (string, JSON_ENCODE_ANY) : NULL;
    json_decref (string);
    if (!name)
        return fail (err, -ENOMEM, "no memory to write a profile");
    (void)fprintf (out, "    %s: {\n      \"epochs\": %d, \"epoch_iterations\": %.6g,\n", name,
                   profile->epochs, profile->epoch_iterations);
    (void)fprintf (out,
                   "      \"init_batch\": %lld, \"max_batch\": %lld, \"min_local\": %lld, "
                   "\"max_local\": %lld,\n",
                   (long long)profile->limits.init_batch, (long long)profile->limits.max_batch,
                   (long long)profile->limits.min_local, (long long)profile->limits.max_local);
    if (profile->pinned_replicas > 0)
        (void)fprintf (out, "      \"pinned\": {\"replicas\": %d, \"batch\": %lld},\n",
                       profile->pinned_replicas, (long long)profile->pinned_batch);
    free (name);
    write_model (out, 6, &profile->model);
    (void)fputs (",\n", out);
    int code = write_types (out, profile, err);
    write_noise (out, profile);
    (void)fputs ("}", out);
    return code;
}

int profiles_write (const struct profile *profiles, int count, FILE *out, struct pollux_error *err)
{
    int code = 0;
    (void)fputs ("{\n  \"version\": 1,\n  \"applications\": {", out);
    for (int i = 0; code == 0 && i < count; i++) {
        (void)fputs (i ? ",\n" : "\n", out);
        code = write_profile (out, &profiles[i], err);
    }
    (void)fputs ("\n  }\n}\n", out);
    if (code == 0 && (fflush (out) != 0 || ferror (out)))
        code = fail (err, errno ? -errno : -EIO, "the profiles were not written: %s",
                     strerror (errno ? errno : EIO));
    return code;
}
