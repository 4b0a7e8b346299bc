/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs and decodes through munged.  Each call has a context of its own, so that threads may call at one time.
 */
#define _GNU_SOURCE
#include "munge/munge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "munge/library.h"

struct munge {
    struct munge_library library;
    char *socket; /* NULL: libmunge's default */
};

int munge_open_library (const struct munge_library *library, const char *socket, struct munge **ret,
                        struct pollux_error *err)
{
    struct munge *munge = calloc (1, sizeof (*munge));
    if (munge == NULL)
        return fail (err, -ENOMEM, "no memory for munge");
    munge->library = *library;
    if (socket != NULL && (munge->socket = strdup (socket)) == NULL) {
        free (munge);
        return fail (err, -ENOMEM, "no memory for munge");
    }
    *ret = munge;
    return 0;
}

int munge_open (const char *socket, struct munge **ret, struct pollux_error *err)
{
    struct munge_library library;
    const char *given = getenv ("POLLUX_MUNGE_SOCKET");
    int code = munge_library_load (&library, err);
    if (code < 0)
        return code;
    if (socket == NULL && given != NULL && *given != '\0')
        socket = given;
    return munge_open_library (&library, socket, ret, err);
}

void munge_close (struct munge *munge)
{
    if (munge == NULL)
        return;
    free (munge->socket);
    free (munge);
}

static void *new_context (struct munge *munge)
{
    const struct munge_library *library = &munge->library;
    void *context = library->ctx_create ();
    if (context != NULL && munge->socket != NULL &&
        library->ctx_set (context, MUNGE_OPTION_SOCKET, munge->socket) != MUNGE_SUCCESS) {
        library->ctx_destroy (context);
        return NULL;
    }
    return context;
}

/* Turn libmunge's error into ours. */
static int explain (const struct munge *munge, void *context, int code, struct pollux_error *err)
{
    const char *detail = munge->library.ctx_strerror (context);
    if (detail == NULL)
        detail = munge->library.strerror (code);
    switch (code) {
    case MUNGE_SOCKET:
    case MUNGE_TIMEOUT:
        return fail (err, -EAGAIN,
                     "munged does not answer (%s): start it (systemctl start munge), or set "
                     "POLLUX_MUNGE_SOCKET to its socket",
                     detail);
    case MUNGE_NO_MEMORY:
        return fail (err, -ENOMEM, "not enough memory for munge");
    case MUNGE_EXPIRED:
        return fail (err, -EACCES, "the munge credential has expired: sign the request again");
    case MUNGE_REWOUND:
        return fail (err, -EACCES,
                     "the munge credential comes from the future: compare the clocks of both "
                     "machines");
    case MUNGE_REPLAYED:
        return fail (err, -EACCES,
                     "the munge credential was used before: each request needs a new one");
    case MUNGE_UNAUTHORIZED:
        return fail (err, -EACCES,
                     "the munge credential is restricted to another user than polluxd's");
    default:
        return fail (err, -EACCES, "munge refuses the credential: %s", detail);
    }
}

int munge_sign (struct munge *munge, uid_t reader, const char *method, const char *target,
                const void *body, size_t length, char **ret, struct pollux_error *err)
{
    const struct munge_library *library = &munge->library;
    struct munge_claim claim;
    char text[MUNGE_CLAIM_SIZE], *credential = NULL, *header = NULL;
    int code =
        munge_claim_make (method, target, body, length, clock_wall_us () / 1000000, &claim, err);
    if (code < 0)
        return code;
    size_t text_length = munge_claim_format (&claim, text);
    void *context = new_context (munge);
    if (context == NULL)
        return fail (err, -ENOMEM, "not enough memory for munge");
    int result = library->ctx_set (context, MUNGE_OPTION_UID, reader);
    if (result == MUNGE_SUCCESS)
        result = library->encode (&credential, context, text, (int)text_length);
    if (result != MUNGE_SUCCESS) {
        code = explain (munge, context, result, err);
    } else if (asprintf (&header, "Munge %s", credential) < 0) {
        header = NULL;
        code = fail (err, -ENOMEM, "not enough memory for munge");
    }
    library->ctx_destroy (context);
    free (credential);
    if (code == 0)
        *ret = header;
    return code;
}

int munge_decode_claim (struct munge *munge, const char *credential, uid_t *ret_uid,
                        struct munge_claim *ret, struct pollux_error *err)
{
    const struct munge_library *library = &munge->library;
    void *payload = NULL;
    int length = 0, code;
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    void *context = new_context (munge);
    if (context == NULL)
        return fail (err, -ENOMEM, "not enough memory for munge");
    int result = library->decode (credential, context, &payload, &length, &uid, &gid);
    if (result == MUNGE_SUCCESS)
        code = munge_claim_parse (payload, length > 0 ? (size_t)length : 0, ret, err);
    else
        code = explain (munge, context, result, err);
    library->ctx_destroy (context);
    free (payload);
    if (code == 0)
        *ret_uid = uid;
    return code;
}
