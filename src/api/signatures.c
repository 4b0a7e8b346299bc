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
#include <string.h>
#include <unistd.h>

#include "api/api_private.h"
#include "api/tokens.h"
#include "base/clock.h"
#include "base/error.h"
#include "munge/worker.h"

int api_verify (void *self, uint64_t ticket, const char *credential, struct pollux_error *err)
{
    struct api *api = self;
    if (!api->options.munge)
        return fail (err, -EACCES, "this server does not take munge credentials");
    return munge_worker_decode (api->options.munge, ticket, credential, err);
}

/* root, polluxd's own user and the configured ones are admins. */
static bool is_admin (const struct api *api, const struct munge_answer *answer)
{
    if (answer->uid == 0 || answer->uid == geteuid ())
        return true;
    for (char *const *name = api->options.admins; name && *name; name++)
        if (strcmp (*name, answer->name) == 0)
            return true;
    return false;
}

static void conclude (struct api *api, const struct munge_answer *answer)
{
    struct http_request *request = http_signed (api->server, answer->ticket);
    struct pollux_error err = answer->err;
    if (!request)
        return;
    int rc = answer->code;
    if (rc == 0) {
        size_t length = 0;
        const char *body = http_body (request, &length);
        rc = munge_claim_check (&answer->claim, http_method_text (request), http_target (request),
                                body, length, clock_wall_us () / 1000000, &err);
    }
    if (rc < 0) {
        http_refuse (request, rc == -EACCES ? 401 : 503, err.text);
        return;
    }
    struct http_identity identity = {.role = is_admin (api, answer) ? ROLE_ADMIN : ROLE_USER};
    _Static_assert(sizeof (identity.name) == sizeof (answer->name), "a name fits");
    memcpy (identity.name, answer->name, sizeof (identity.name));
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
