/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode the section `slurm` of the configuration.
 */
#include "wire/slurm_config.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "wire/keys.h"
#include "wire/member.h"

static const char *const known_keys[] = {
    "partition", "nodes",   "reservation", "gres",       "gres_type",
    "directory", "min_uid", "defaults",    "partitions", NULL,
};

/* Texts: "" and null mean that there is none, where that is allowed. */
static const struct text_field {
    const char *key;
    size_t offset, size;
    const char *(*wrong) (const char *);
    bool may_be_empty;
} texts[] = {
    {"partition", offsetof (struct wire_slurm_config, partition), NAME_SIZE, wire_wrong_slurm_name,
     true},
    {"nodes", offsetof (struct wire_slurm_config, nodes), WIRE_SLURM_LIST_SIZE,
     wire_wrong_slurm_nodes, true},
    {"reservation", offsetof (struct wire_slurm_config, reservation), NAME_SIZE,
     wire_wrong_slurm_name, true},
    {"gres", offsetof (struct wire_slurm_config, gres), NAME_SIZE, wire_wrong_slurm_name, true},
    {"gres_type", offsetof (struct wire_slurm_config, gres_type), NAME_SIZE, wire_wrong_slurm_name,
     true},
    {"directory", offsetof (struct wire_slurm_config, directory), 512, wire_wrong_slurm_directory,
     false},
};
enum { TEXTS = sizeof (texts) / sizeof (texts[0]) };

static const struct wire_member members[] = {
    /* Uids of people start at 1000; 65534 is nobody. */
    {WIRE_MEMBER (wire_slurm_config, min_uid, WIRE_INT), .min = 1, .max = 1e9},
    {0},
};

/* ---- Rules -------------------------------------------------------------------------------- */

const char *wire_wrong_slurm_nodes (const char *text)
{
    static const char legal[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-,[]";
    size_t length = strspn (text, legal);
    return length > 0 && length < WIRE_SLURM_LIST_SIZE && !text[length] && *text != '-'
               ? NULL
               : "expected nodes as n[0-3],m1";
}

const char *wire_wrong_slurm_directory (const char *text)
{
    if (text[0] != '/' && strncmp (text, "%h", 2) != 0)
        return "expected an absolute path, or one that begins with %h (the owner's home)";
    for (const char *at = strchr (text, '%'); at; at = strchr (at + 2, '%'))
        if (!at[1] || !strchr ("hu%", at[1]))
            return "expected %h (the owner's home), %u (the owner) or %% after a percent sign";
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < 32 || *at == 127)
            return "expected a path without control characters";
    return strlen (text) < 512 ? NULL : "expected a path below 512 bytes";
}

/* ---- Reading ------------------------------------------------------------------------------ */

struct wire_slurm_config wire_slurm_config_default (void)
{
    return (struct wire_slurm_config){.gres = "gpu", .directory = "%h/.pollux", .min_uid = 1000};
}

static int read_text (const struct wire_place *object, const struct text_field *field,
                      struct wire_slurm_config *config, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, field->key);
    char *ret = (char *)config + field->offset;
    const char *text = json_string_value (place.value);
    if (json_is_null (place.value) && field->may_be_empty)
        text = "";
    if (!place.value || (!text && json_is_null (place.value)))
        return 0;
    if (!text)
        return wire_fail (&place, err, "expected a text");
    const char *wrong = !*text && field->may_be_empty ? NULL : field->wrong (text);
    if (wrong)
        return wire_fail (&place, err, "%s", wrong);
    memcpy (ret, text, strlen (text) + 1); /* the rules know the sizes */
    return 0;
}

static int read_partitions (const struct wire_place *object, struct wire_slurm_config *config,
                            struct pollux_error *err)
{
    struct wire_place map = wire_field (object, "partitions"), place;
    int code = wire_has (object, "partitions") ? wire_expect_object (&map, err) : 0;
    if (wire_has (object, "partitions"))
        config->partition_count = 0;
    for (void *at = NULL; code == 0 && wire_each (&map, &at, &place);) {
        struct wire_slurm_partition *partition = &config->partitions[config->partition_count];
        if (config->partition_count == WIRE_SLURM_PARTITIONS)
            return wire_fail_key (&place, err, "expected at most %d partitions",
                                  WIRE_SLURM_PARTITIONS);
        if (wire_wrong_slurm_name (place.key))
            return wire_fail_key (&place, err, "%s", wire_wrong_slurm_name (place.key));
        *partition = (struct wire_slurm_partition){.name = ""};
        memcpy (partition->name, place.key, strlen (place.key) + 1);
        code = wire_slurm_decode (&place, true, &partition->defaults, err);
        config->partition_count++;
    }
    return code;
}

int wire_slurm_config_decode (const struct wire_place *object, struct wire_slurm_config *ret,
                              struct pollux_error *err)
{
    struct wire_slurm_config config = *ret;
    struct wire_place defaults = wire_field (object, "defaults");
    int code = wire_expect_object (object, err);
    if (code == 0)
        code = wire_expect_keys (object, known_keys, err);
    if (code == 0)
        code = wire_members_override (members, object, &config, err);
    for (int i = 0; code == 0 && i < TEXTS; i++)
        code = read_text (object, &texts[i], &config, err);
    if (code == 0 && wire_has (object, "defaults"))
        code = wire_slurm_decode (&defaults, true, &config.defaults, err);
    if (code == 0)
        code = read_partitions (object, &config, err);
    if (code == 0)
        *ret = config;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------ */

int wire_slurm_config_put (json_t *object, const char *key, const struct wire_slurm_config *config,
                           struct pollux_error *err)
{
    json_t *inner = json_object (), *map = json_object ();
    int code = wire_put (object, key, inner, err);
    for (int i = 0; code == 0 && i < TEXTS; i++) {
        const char *text = (const char *)config + texts[i].offset;
        code = wire_put (inner, texts[i].key, json_string (text), err);
    }
    if (code == 0)
        code = wire_members_encode (members, config, inner, err);
    if (code == 0)
        code = wire_slurm_put (inner, "defaults", &config->defaults, err);
    for (int i = 0; code == 0 && i < config->partition_count; i++)
        code = map ? wire_slurm_put (map, config->partitions[i].name,
                                     &config->partitions[i].defaults, err)
                   : fail (err, -ENOMEM, "%s: not enough memory", key);
    if (code == 0 && json_object_size (map) > 0)
        return wire_put (inner, "partitions", map, err);
    json_decref (map);
    return code;
}

/* ---- Using -------------------------------------------------------------------------------- */

struct slurm_request wire_slurm_complete (const struct wire_slurm_config *config,
                                          const struct slurm_request *request)
{
    struct slurm_request whole = wire_slurm_merge (&config->defaults, request);
    if (!whole.partition[0])
        memcpy (whole.partition, config->partition, NAME_SIZE);
    for (int i = 0; i < config->partition_count; i++)
        if (strcmp (config->partitions[i].name, whole.partition) == 0) {
            struct slurm_request lower =
                wire_slurm_merge (&config->defaults, &config->partitions[i].defaults);
            struct slurm_request both = wire_slurm_merge (&lower, request);
            memcpy (both.partition, whole.partition, NAME_SIZE);
            return both;
        }
    return whole;
}
