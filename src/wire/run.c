/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a supervisor: info, replica and status.  Their reader may be a newer or older program,
 * and they may be damaged, so every field is checked.  Descriptions are in run_description.c.
 */
#include "wire/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "wire/member.h"
#include "wire/run_fields.h"

/* Linux has at most 2^22 processes, and 64 signals. */
#define PID_LIMIT (1 << 22)
#define SIGNAL_LIMIT 64
#define AT_US_LIMIT 9007199254740992.0 /* 2^53: the year 2255 */

static const struct wire_member process_members[] = {
    {WIRE_MEMBER (run_process, pid, WIRE_INT), .min = 1, .max = PID_LIMIT},
    {WIRE_MEMBER (run_process, start, WIRE_UINT64)},
    {0},
};

static const struct wire_member status_members[] = {
    {WIRE_MEMBER (run_status, started, WIRE_BOOL)},
    {WIRE_MEMBER (run_status, code, WIRE_INT), .min = 0, .max = 255},
    {WIRE_MEMBER (run_status, signal, WIRE_INT), .min = 0, .max = SIGNAL_LIMIT},
    {WIRE_MEMBER (run_status, stopped, WIRE_BOOL)},
    {WIRE_MEMBER (run_status, killed, WIRE_BOOL)},
    {WIRE_MEMBER (run_status, excused, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (run_status, outside, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (run_status, at_us, WIRE_INT64), .min = 0, .max = AT_US_LIMIT},
    {0},
};

int run_status_code (const struct run_status *status)
{
    return status->signal ? 128 + status->signal : status->code;
}

/* ---- Fields that all documents share ------------------------------------------------------ */

int run_version_decode (const struct wire_place *root, struct pollux_error *err)
{
    int version;
    return wire_version (root, RUN_VERSION_OLDEST, RUN_VERSION, &version, err);
}

int run_text_decode (const struct wire_place *object, const char *key, bool optional, char *ret,
                     size_t size, struct pollux_error *err)
{
    const char *text = "";
    int code = optional && !wire_has (object, key) ? 0 : wire_text (object, key, &text, err);
    if (code < 0)
        return code;
    size_t length = strlen (text);
    if (length >= size || (length == 0 && !optional)) {
        struct wire_place place = wire_field (object, key);
        return wire_fail (&place, err, "expected a text of 1 to %zu bytes", size - 1);
    }
    memset (ret, 0, size);
    memcpy (ret, text, length);
    return 0;
}

int run_text_put (json_t *object, const char *key, const char *text, struct pollux_error *err)
{
    if (!text || !*text)
        return 0;
    size_t length = strlen (text);
    if (utf8_valid (text, length) != length)
        return fail (err, -EINVAL, "%s: expected UTF-8", key);
    return wire_put (object, key, json_stringn (text, length), err);
}

int run_list_decode (const struct wire_place *object, const char *key, int limit,
                     struct run_list *ret, struct pollux_error *err)
{
    memset (ret, 0, sizeof (*ret));
    if (!wire_has (object, key))
        return 0;
    struct wire_place list = wire_field (object, key);
    size_t count = json_array_size (list.value);
    if (!json_is_array (list.value) || count > RUN_LIST_LIMIT)
        return wire_fail (&list, err, "expected a list of at most %d numbers", RUN_LIST_LIMIT);
    for (size_t i = 0; i < count; i++) {
        struct wire_place item = wire_element (&list, i);
        json_int_t number = json_integer_value (item.value);
        if (!json_is_integer (item.value) || number < 0 || number >= limit)
            return wire_fail (&item, err, "expected an integer from 0 to %d", limit - 1);
        ret->items[i] = (int)number;
    }
    ret->count = (int)count;
    return 0;
}

int run_list_put (json_t *object, const char *key, const int *items, int count,
                  struct pollux_error *err)
{
    json_t *array = json_array ();
    int code = wire_put (object, key, array, err);
    for (int i = 0; code == 0 && i < count; i++)
        if (json_array_append_new (array, json_integer (items[i])) < 0)
            code = fail (err, -ENOMEM, "%s: not enough memory", key);
    return code;
}

int run_object_new (json_t **ret, struct pollux_error *err)
{
    json_t *object = json_object ();
    if (!object)
        return fail (err, -ENOMEM, "not enough memory");
    int code = wire_put (object, "version", json_integer (RUN_VERSION), err);
    if (code < 0)
        json_decref (object);
    else
        *ret = object;
    return code;
}

int run_object_text (json_t *object, int code, size_t limit, char **ret, size_t *ret_length,
                     struct pollux_error *err)
{
    char *text = code == 0 ? json_dumps (object, JSON_COMPACT) : NULL;
    json_decref (object);
    if (code < 0)
        return code;
    if (!text)
        return fail (err, -ENOMEM, "not enough memory");
    size_t length = strlen (text);
    if (length > limit) {
        free (text);
        return fail (err, -EFBIG, "too large: expected at most %zu bytes of JSON", limit);
    }
    *ret = text;
    *ret_length = length;
    return 0;
}

/* ---- Status and replica ------------------------------------------------------------------- */

/* A document whose first fields are in a table. */
static int document_open (const char *name, const char *text, size_t length,
                          const struct wire_member *members, void *base, struct wire_document **ret,
                          struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_parse (name, text, length, RUN_FILE_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = run_version_decode (&root, err);
    if (code == 0)
        code = wire_members_decode (members, &root, base, err);
    if (code < 0)
        wire_document_free (document);
    else
        *ret = document;
    return code;
}

static int status_check (const struct wire_place *root, const struct run_status *status,
                         struct pollux_error *err)
{
    struct wire_place place = wire_field (root, "signal");
    if (status->signal && (status->code || !status->started))
        return wire_fail (&place, err, "expected no signal beside a code, or without a start");
    return 0;
}

int run_status_fields (const struct wire_place *object, struct run_status *ret,
                       struct pollux_error *err)
{
    struct run_status status;
    int code = run_version_decode (object, err);
    if (code == 0)
        code = wire_members_decode (status_members, object, &status, err);
    if (code == 0)
        code = run_text_decode (object, "why", true, status.why, sizeof (status.why), err);
    if (code == 0)
        code = status_check (object, &status, err);
    if (code == 0)
        *ret = status;
    return code;
}

static int decode_status (const struct wire_place *root, void *ret, struct pollux_error *err)
{
    return run_status_fields (root, ret, err);
}

int run_status_decode (const char *name, const char *text, size_t length, struct run_status *ret,
                       struct pollux_error *err)
{
    return wire_document_decode (name, text, length, RUN_FILE_LIMIT, decode_status, ret, err);
}

int run_status_object (const struct run_status *status, json_t **ret, struct pollux_error *err)
{
    json_t *object;
    int code = run_object_new (&object, err);
    if (code < 0)
        return code;
    if (status->signal && (status->code || !status->started))
        code = fail (err, -EINVAL, "signal: expected none beside a code, or without a start");
    if (code == 0)
        code = wire_members_encode (status_members, status, object, err);
    /* A truncated sentence may end within a character. */
    char why[RUN_WHY_SIZE] = "";
    memcpy (why, status->why, utf8_valid (status->why, strnlen (status->why, RUN_WHY_SIZE - 1)));
    if (code == 0)
        code = run_text_put (object, "why", why, err);
    if (code < 0)
        json_decref (object);
    else
        *ret = object;
    return code;
}

int run_status_encode (const struct run_status *status, char **ret, size_t *ret_length,
                       struct pollux_error *err)
{
    json_t *object = NULL;
    int code = run_status_object (status, &object, err);
    return run_object_text (object, code, RUN_FILE_LIMIT, ret, ret_length, err);
}

int run_replica_decode (const char *name, const char *text, size_t length, struct run_process *ret,
                        struct pollux_error *err)
{
    struct run_process replica;
    struct wire_document *document;
    int code = document_open (name, text, length, process_members, &replica, &document, err);
    if (code < 0)
        return code;
    wire_document_free (document);
    *ret = replica;
    return 0;
}

int run_replica_encode (const struct run_process *replica, char **ret, size_t *ret_length,
                        struct pollux_error *err)
{
    json_t *object;
    int code = run_object_new (&object, err);
    if (code < 0)
        return code;
    code = wire_members_encode (process_members, replica, object, err);
    return run_object_text (object, code, RUN_FILE_LIMIT, ret, ret_length, err);
}

/* ---- Info --------------------------------------------------------------------------------- */

/* Ids of runs and boots: letters, digits and . _ - only. */
static bool is_word (const char *text)
{
    return text[strspn (
               text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

static int word_decode (const struct wire_place *object, const char *key, char *ret, size_t size,
                        struct pollux_error *err)
{
    int code = run_text_decode (object, key, false, ret, size, err);
    if (code == 0 && !is_word (ret)) {
        struct wire_place place = wire_field (object, key);
        code = wire_fail (&place, err, "expected letters, digits, '.', '_' and '-'");
    }
    return code;
}

static int path_decode (const struct wire_place *object, const char *key, char *ret,
                        struct pollux_error *err)
{
    int code = run_text_decode (object, key, true, ret, RUN_PATH_SIZE, err);
    if (code == 0 && *ret && *ret != '/') {
        struct wire_place place = wire_field (object, key);
        code = wire_fail (&place, err, "expected an absolute path");
    }
    return code;
}

static int guardian_decode (const struct wire_place *object, struct run_process *ret,
                            struct pollux_error *err)
{
    if (!wire_has (object, "guardian"))
        return 0;
    struct wire_place guardian = wire_field (object, "guardian");
    int code = wire_expect_object (&guardian, err);
    return code < 0 ? code : wire_members_decode (process_members, &guardian, ret, err);
}

static int guardian_put (json_t *object, const struct run_process *guardian,
                         struct pollux_error *err)
{
    if (guardian->pid == 0)
        return 0;
    json_t *place = json_object ();
    int code = wire_put (object, "guardian", place, err);
    return code < 0 ? code : wire_members_encode (process_members, guardian, place, err);
}

int run_info_decode (const char *name, const char *text, size_t length, struct run_info *ret,
                     struct pollux_error *err)
{
    struct wire_document *document;
    struct run_info *info = calloc (1, sizeof (*info));
    if (!info)
        return fail (err, -ENOMEM, "%s: not enough memory", name);
    int code =
        document_open (name, text, length, process_members, &info->supervisor, &document, err);
    if (code == 0) {
        struct wire_place root = wire_root (document);
        code = word_decode (&root, "run", info->id, sizeof (info->id), err);
        if (code == 0)
            code = word_decode (&root, "boot", info->boot, sizeof (info->boot), err);
        if (code == 0)
            code = run_list_decode (&root, "slots", INT32_MAX, &info->slots, err);
        if (code == 0)
            code = path_decode (&root, "socket", info->socket, err);
        if (code == 0)
            code = path_decode (&root, "cgroup", info->cgroup, err);
        if (code == 0)
            code = guardian_decode (&root, &info->guardian, err);
        wire_document_free (document);
    }
    if (code == 0)
        *ret = *info;
    free (info);
    return code;
}

static int info_check (const struct run_info *info, struct pollux_error *err)
{
    if (!*info->id || !is_word (info->id) || !*info->boot || !is_word (info->boot))
        return fail (err, -EINVAL, "run, boot: expected letters, digits, '.', '_' and '-'");
    if ((*info->socket && *info->socket != '/') || (*info->cgroup && *info->cgroup != '/'))
        return fail (err, -EINVAL, "socket, cgroup: expected absolute paths");
    return 0;
}

int run_info_encode (const struct run_info *info, char **ret, size_t *ret_length,
                     struct pollux_error *err)
{
    json_t *object;
    int code = info_check (info, err);
    if (code == 0)
        code = run_object_new (&object, err);
    if (code < 0)
        return code;
    code = wire_members_encode (process_members, &info->supervisor, object, err);
    if (code == 0)
        code = run_text_put (object, "run", info->id, err);
    if (code == 0)
        code = run_text_put (object, "boot", info->boot, err);
    if (code == 0)
        code = run_list_put (object, "slots", info->slots.items, info->slots.count, err);
    if (code == 0)
        code = run_text_put (object, "socket", info->socket, err);
    if (code == 0)
        code = run_text_put (object, "cgroup", info->cgroup, err);
    if (code == 0)
        code = guardian_put (object, &info->guardian, err);
    return run_object_text (object, code, RUN_FILE_LIMIT, ret, ret_length, err);
}

/* ---- Messages ----------------------------------------------------------------------------- */

static int check_message (const struct wire_place *root, void *ret, struct pollux_error *err)
{
    (void)ret;
    return wire_expect_object (root, err);
}

int run_message_check (const char *text, size_t length, struct pollux_error *err)
{
    return wire_document_decode ("message", text, length, RUN_MESSAGE_LIMIT, check_message, NULL,
                                 err);
}
