/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes about tokens, for admins: list, make, delete.  Only the answer that makes a token has its
 * text.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "api/api_private.h"
#include "api/tokens.h"
#include "wire/json.h"
#include "wire/keys.h"

static int64_t now_us (const struct api *api)
{
    return api->options.now_us (api->options.self);
}

static json_t *describe_token (const struct api *api, int i)
{
    const struct token *token = tokens_get (api->options.tokens, i);
    return json_pack ("{s:s, s:s, s:o, s:b}", "name", token->identity.name, "role",
                      role_name (token->identity.role), "expires_at",
                      token->expires_us == INT64_MAX ? json_null ()
                                                     : describe_time (token->expires_us),
                      "expired", token->expires_us <= now_us (api));
}

void api_list_tokens (struct api *api, struct http_request *request)
{
    const struct tokens *tokens = api->options.tokens;
    json_t *array = json_array ();
    int count = tokens ? tokens_count (tokens) : 0;
    for (int i = 0; array && i < count; i++)
        if (json_array_append_new (array, describe_token (api, i)) < 0) {
            json_decref (array);
            array = NULL;
        }
    api_reply (api, request, 200, json_pack ("{s:o}", "tokens", array));
}

/* {"name": "ann", "role": "user", "expires_s": 86400} */
static int read_token (const struct wire_place *object, struct http_identity *ret,
                       int64_t *ret_lifetime_s, struct pollux_error *err)
{
    static const char *const keys[] = {"name", "role", "expires_s", NULL};
    const char *name = NULL, *role = NULL;
    int rc = wire_expect_object (object, err);
    if (rc == 0)
        rc = wire_expect_keys (object, keys, err);
    if (rc == 0)
        rc = wire_text (object, "name", &name, err);
    if (rc == 0)
        rc = wire_text (object, "role", &role, err);
    if (rc == 0 && wire_has (object, "expires_s"))
        rc = wire_int64 (object, "expires_s", 1, TOKEN_LIFETIME_MAX_S, ret_lifetime_s, err);
    if (rc < 0)
        return rc;
    ret->role = role_by_name (role);
    if (ret->role == 0 || ret->role == ROLE_JOB) {
        struct wire_place place = wire_field (object, "role");
        return wire_fail (&place, err, "expected \"user\", \"read-only\" or \"admin\"");
    }
    if (strlen (name) >= sizeof (ret->name)) {
        struct wire_place place = wire_field (object, "name");
        return wire_fail (&place, err, "expected at most %zu bytes", sizeof (ret->name) - 1);
    }
    memcpy (ret->name, name, strlen (name) + 1);
    return 0;
}

/* The HTTP status for an error of tokens.h. */
static int status_of (int rc)
{
    switch (rc) {
    case -EINVAL:
        return 400;
    case -EEXIST:
        return 409;
    case -ENOENT:
        return 404;
    default:
        return 507; /* it could not be written */
    }
}

void api_make_token (struct api *api, struct http_request *request)
{
    if (!api->options.tokens) {
        api_refuse (api, request, 503, "this server has no tokens");
        return;
    }
    struct wire_document *document = api_body (api, request, "token");
    if (!document)
        return;
    struct wire_place root = wire_root (document);
    struct http_identity identity = {0};
    struct pollux_error err;
    char secret[TOKEN_SIZE];
    int64_t lifetime_s = 0; /* it does not expire */
    int rc = read_token (&root, &identity, &lifetime_s, &err);
    wire_document_free (document);
    int64_t now = now_us (api);
    api_end_expired (api, now); /* before one of them is replaced */
    if (rc == 0)
        rc = tokens_add (api->options.tokens, identity.role, identity.name, lifetime_s, now, secret,
                         &err);
    if (rc < 0) {
        api_refuse (api, request, status_of (rc), "%s", err.text);
        return;
    }
    json_t *answer = describe_token (api, tokens_count (api->options.tokens) - 1);
    if (answer && json_object_set_new (answer, "token", json_string (secret)) < 0) {
        json_decref (answer);
        answer = NULL;
    }
    api_reply (api, request, 201, answer);
}

void api_drop_token (struct api *api, struct http_request *request)
{
    const char *name = http_param (request, "name");
    struct pollux_error err;
    int rc = api->options.tokens && name ? tokens_remove (api->options.tokens, name, &err)
                                         : fail (&err, -ENOENT, "there is no such token");
    if (rc < 0) {
        api_refuse (api, request, status_of (rc), "%s", err.text);
        return;
    }
    if (api->server)
        http_server_cut_off (api->server, name); /* end its streams */
    api_reply_text (api, request, 200, "application/json", "{}");
}

void api_end_expired (struct api *api, int64_t now)
{
    struct tokens *tokens = api->options.tokens;
    const char *name;
    while (tokens && (name = tokens_expired (tokens, now)))
        if (api->server)
            http_server_cut_off (api->server, name);
}
