/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polluxd's side of the root process: a queue of requests that are sent as others are answered.  One
 * owner has few requests under way at a time, so a home directory that does not answer delays only the file
 * requests of its owner.  Requests that touch no file, such as stops, have a limit of their own: a file
 * system that does not answer does not delay them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/slurm/as_owner_private.h"
#include "base/error.h"

/* Two for each of 16,000 shares; a queued request has some hundred bytes. */
enum { QUEUE_LIMIT = 1 << 15 };
/* Of OWNER_CHILDREN: for requests that touch the owner's files. */
enum { WITH_FILES = OWNER_CHILDREN - 8 };

struct pending {
    struct pending *next;
    uint64_t number;
    char owner[NAME_SIZE];
    bool files;  /* it touches files of the owner */
    int payload; /* -1: none, or sent */
    size_t length;
    uint8_t message[];
};

struct owner_client {
    int socket;
    bool ended;
    uint64_t last; /* number */
    struct pending *sent[OWNER_CHILDREN];
    int sent_count;
    struct pending *first; /* not sent yet, in the order of their numbers */
    struct pending **end;  /* where the next one is linked */
    int count;             /* of these */
};

static void pending_free (struct pending *pending)
{
    if (pending->payload >= 0)
        close (pending->payload);
    free (pending);
}

int owner_client_new (int socket, struct owner_client **ret, struct pollux_error *err)
{
    struct owner_client *client = calloc (1, sizeof (*client));
    if (!client) {
        close (socket);
        return fail (err, -ENOMEM, "no memory for requests to the root process");
    }
    client->socket = socket;
    client->end = &client->first;
    *ret = client;
    return 0;
}

void owner_client_free (struct owner_client *client)
{
    if (!client)
        return;
    for (struct pending *at = client->first, *next; at; at = next) {
        next = at->next;
        pending_free (at);
    }
    for (int i = 0; i < client->sent_count; i++)
        pending_free (client->sent[i]);
    close (client->socket);
    free (client);
}

int owner_client_fd (const struct owner_client *client)
{
    return client->socket;
}

/* ---- Sending ------------------------------------------------------------------------------ */

static bool touches_files (enum owner_request_kind kind)
{
    return kind == OWNER_SUBMIT || kind == OWNER_LOG || kind == OWNER_READ || kind == OWNER_REMOVE;
}

static bool may_send (const struct owner_client *client, const struct pending *pending)
{
    int same = 0, of_owner = 0; /* of its kind */
    for (int i = 0; i < client->sent_count; i++) {
        if (client->sent[i]->files != pending->files)
            continue;
        same++;
        of_owner += strcmp (client->sent[i]->owner, pending->owner) == 0;
    }
    return of_owner < OWNER_CHILDREN_OF_ONE && (!pending->files || same < WITH_FILES);
}

/* False: the socket takes nothing now. */
static bool send_one (struct owner_client *client, struct pending *pending)
{
    ssize_t sent =
        owner_socket_send (client->socket, pending->message, pending->length, pending->payload);
    if (sent < 0 && owner_socket_is_full (errno))
        return false;
    if (sent < 0)
        client->ended = true;
    if (pending->payload >= 0)
        close (pending->payload);
    pending->payload = -1;
    return true;
}

static void flush (struct owner_client *client)
{
    for (struct pending **at = &client->first;
         *at && !client->ended && client->sent_count < OWNER_CHILDREN;) {
        struct pending *pending = *at;
        if (!may_send (client, pending)) {
            at = &pending->next;
            continue;
        }
        if (!send_one (client, pending))
            break;
        *at = pending->next;
        if (!*at)
            client->end = at;
        client->count--;
        client->sent[client->sent_count++] = pending;
    }
}

int owner_client_send (struct owner_client *client, struct owner_request *request,
                       const struct owner_file *files, int file_count, uint64_t *ret_number,
                       struct pollux_error *err)
{
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int payload = -1;
    if (client->ended)
        return fail (err, -EPIPE, "the root process has ended; restart polluxd");
    if (client->count >= QUEUE_LIMIT)
        return fail (err, -EAGAIN, "too many requests wait for the root process");
    request->number = client->last + 1;
    int length = owner_request_encode (request, message, err);
    if (length < 0)
        return length;
    if (file_count > 0 && (payload = owner_payload_write (files, file_count, err)) < 0)
        return payload;
    struct pending *pending = malloc (sizeof (*pending) + (size_t)length);
    if (!pending) {
        if (payload >= 0)
            close (payload);
        return fail (err, -ENOMEM, "no memory for a request to the root process");
    }
    *pending = (struct pending){.number = request->number,
                                .files = touches_files (request->kind),
                                .payload = payload,
                                .length = (size_t)length};
    memcpy (pending->owner, request->owner, sizeof (pending->owner));
    memcpy (pending->message, message, (size_t)length);
    *client->end = pending;
    client->end = &pending->next;
    client->count++;
    *ret_number = client->last = request->number;
    flush (client);
    return 0;
}

/* ---- Answers ------------------------------------------------------------------------------ */

/* Remove the request with this number.  False: there is none. */
static bool settle (struct owner_client *client, uint64_t number)
{
    for (int i = 0; i < client->sent_count; i++) {
        if (client->sent[i]->number != number)
            continue;
        pending_free (client->sent[i]);
        client->sent[i] = client->sent[--client->sent_count];
        return true;
    }
    return false;
}

static void close_unless_sealed (int *file)
{
    if (*file >= 0 && !owner_file_is_sealed (*file)) {
        close (*file);
        *file = -1;
    }
}

int owner_client_next (struct owner_client *client, struct owner_answer *ret, int *ret_file)
{
    uint8_t message[OWNER_MESSAGE_LIMIT];
    for (;;) {
        int file;
        flush (client); /* the socket may have been full */
        ssize_t length = owner_socket_receive (client->socket, message, sizeof (message), &file);
        if (length < 0 && errno == EAGAIN)
            return client->ended ? -EPIPE : 0;
        if (length <= 0) {
            client->ended = true;
            return -EPIPE;
        }
        close_unless_sealed (&file);
        if (owner_answer_decode (message, (size_t)length, ret, NULL) == 0 &&
            settle (client, ret->number)) {
            flush (client);
            *ret_file = file;
            return 1;
        }
        if (file >= 0)
            close (file);
    }
}
