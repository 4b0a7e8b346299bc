/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are signed with munge: the server passes a credential here, the worker decodes it, and its user
 * becomes the identity of the request.
 *
 *     http server -- api_verify --> munge_worker ... its descriptor is readable ... api_verified --> http server
 *
 * munge proves the uid; the claim inside says for which request it was signed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api_private.h"
#include "api/tokens.h"
#include "base/clock.h"
#include "base/error.h"
#include "munge/worker.h"

int api_verify (void *self, uint64_t ticket, const char *peer, const char *credential,
                struct pollux_error *err)
{
    struct api *api = self;
    if (!api->options.munge)
        return fail (err, -EACCES, "this server does not take munge credentials");
    return munge_worker_decode (api->options.munge, ticket, peer, credential, err);
}

/* root, polluxd's own user and the configured ones are admins. */
static bool is_admin (char *const *admins, uid_t uid, const char *name)
{
    if (uid == 0 || uid == geteuid ())
        return true;
    for (; admins && *admins; admins++)
        if (strcmp (*admins, name) == 0)
            return true;
    return false;
}

int api_signed_identity (char *const *admins, uid_t uid, const char *name,
                         struct http_identity *ret, struct pollux_error *err)
{
    struct http_identity identity = {.role = is_admin (admins, uid, name) ? ROLE_ADMIN : ROLE_USER};
    /* The jobs of STATE/admin.token belong to "admin", which must not be a user. */
    if (identity.role == ROLE_USER && strcmp (name, "admin") == 0)
        return fail (err, -EACCES,
                     "the user admin has the name of polluxd's administrator: an administrator can "
                     "list it under admin_users in polluxd's configuration");
    snprintf (identity.name, sizeof (identity.name), "%s", name);
    *ret = identity;
    return 0;
}

static int check (struct api *api, const struct munge_answer *answer,
                  const struct http_request *request, struct http_identity *ret,
                  struct pollux_error *err)
{
    size_t length = 0;
    const char *body = http_body (request, &length);
    int rc = munge_claim_check (&answer->claim, http_method_text (request), http_target (request),
                                body, length, clock_wall_us () / 1000000, err);
    return rc < 0 ? rc
                  : api_signed_identity (api->options.admins, answer->uid, answer->name, ret, err);
}

static void conclude (struct api *api, const struct munge_answer *answer)
{
    struct http_request *request = http_signed (api->server, answer->ticket);
    struct http_identity identity;
    struct pollux_error err = answer->err;
    if (!request)
        return;
    int rc = answer->code < 0 ? answer->code : check (api, answer, request, &identity, &err);
    if (rc < 0)
        http_refuse (request, rc == -EACCES ? 401 : 503, err.text);
    else
        http_admit (request, &identity);
}

void api_verified (struct api *api)
{
    struct munge_answer *answer;
    while (api->options.munge && (answer = munge_worker_next (api->options.munge))) {
        conclude (api, answer);
        munge_answer_free (answer);
    }
}
