/* SPDX-License-Identifier: Apache-2.0 */
/*
 * News of supervisors: that a command runs, or how it ended.
 */
#include "wire/run_news.h"

#include <errno.h>

#include "base/error.h"
#include "wire/document.h"
#include "wire/member.h"
#include "wire/run_fields.h"

static const char *const states[] = {"running", "ended"};

static const struct wire_member news_members[] = {
    {WIRE_MEMBER (run_news, generation, WIRE_INT), .min = 1, .max = INT32_MAX},
    {WIRE_MEMBER (run_news, rank, WIRE_INT), .min = 0, .max = INT32_MAX},
    {0},
};

static int decode (const struct wire_place *root, void *news, struct pollux_error *err)
{
    struct run_news *ret = news;
    int state = 0;
    int code = wire_expect_object (root, err);
    if (code == 0)
        code = wire_members_decode (news_members, root, ret, err);
    if (code == 0)
        code = wire_choice (root, "state", states, 2, &state, err);
    ret->ended = state == 1;
    if (code < 0 || !ret->ended)
        return code;
    struct wire_place status = wire_field (root, "status");
    code = wire_expect_object (&status, err);
    return code < 0 ? code : run_status_fields (&status, &ret->status, err);
}

int run_news_decode (const char *name, const char *text, size_t length, struct run_news *ret,
                     struct pollux_error *err)
{
    struct run_news news = {0};
    int code = wire_document_decode (name, text, length, RUN_FILE_LIMIT, decode, &news, err);
    if (code == 0)
        *ret = news;
    return code;
}

int run_news_encode (const struct run_news *news, char **ret, size_t *ret_length,
                     struct pollux_error *err)
{
    json_t *object = json_object (), *status = NULL;
    int code = object ? 0 : fail (err, -ENOMEM, "not enough memory");
    if (code == 0)
        code = wire_members_encode (news_members, news, object, err);
    if (code == 0)
        code = wire_put (object, "state", json_string (states[news->ended]), err);
    if (code == 0 && news->ended)
        code = run_status_object (&news->status, &status, err);
    if (code == 0 && news->ended)
        code = wire_put (object, "status", status, err);
    return run_object_text (object, code, RUN_FILE_LIMIT, ret, ret_length, err);
}
