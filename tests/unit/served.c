/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that show what they were given, and clients that can wait in any state. */
#define _GNU_SOURCE
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/listen.h"
#include "served.h"

static void handle_open (void *self, struct http_request *request)
{
    struct served *served = self;
    served->handled++;
    http_answer_text (request, 200, "text/plain", "open");
}

static void handle_echo (void *self, struct http_request *request)
{
    struct served *served = self;
    char *text;
    size_t length;
    const char *body = http_body (request, &length), *a = http_query (request, "a");
    const char *extra = http_header (request, "X-Extra");
    served->handled++;
    int size =
        asprintf (&text, "%s %s name=%s a=%s by=%s/%u from=%s type=%u extra=%s body=%zu:%s.",
                  http_method_names[http_method (request)], http_path (request),
                  http_param (request, "name"), a != NULL ? a : "-", http_identity (request)->name,
                  http_identity (request)->role, http_peer (request), http_body_type (request),
                  extra != NULL ? extra : "-", length, length < 100 ? body : "many");
    assert_null (http_param (request, "nam"));
    assert_int_equal (strlen (body), length); /* its NUL is there */
    http_answer_header (request, "X-Route", "echo");
    http_answer (request, 200, "text/plain", text, (size_t)size);
}

static void handle_durable (void *self, struct http_request *request)
{
    struct served *served = self;
    served->handled++;
    http_answer_header (request, "Location", "/here");
    http_answer_text (request, 201, "text/plain", "done");
}

static void handle_large (void *self, struct http_request *request)
{
    char *text = malloc (SERVED_LARGE);
    (void)self;
    memset (text, 'x', SERVED_LARGE);
    http_answer (request, 200, "text/plain", text, SERVED_LARGE);
}

static void stream_gone (void *self)
{
    struct served *served = self;
    served->gone++;
    served->stream = NULL;
}

static void stream_drained (void *self)
{
    struct served *served = self;
    served->drained++;
}

static void handle_stream (void *self, struct http_request *request)
{
    static const struct http_stream_owner owner = {.gone = stream_gone, .drained = stream_drained};
    struct served *served = self;
    if (http_stream_open (request, "text/event-stream", &owner, served, &served->stream) == 0)
        served->opened++;
}

static void handle_silent (void *self, struct http_request *request)
{
    (void)self;
    (void)request;
}

static int authorize (void *self, const char *token, struct http_identity *ret)
{
    (void)self;
    if (strcmp (token, "ann") != 0 && strcmp (token, "bob") != 0 && strcmp (token, "eve") != 0)
        return -EACCES;
    ret->role = strcmp (token, "eve") == 0 ? 2 : 1;
    snprintf (ret->name, sizeof (ret->name), "%s", token);
    return 0;
}

static const struct http_route routes[] = {
    {HTTP_GET, "/open", handle_open, 0, 0, NULL},
    {HTTP_GET, "/echo/{name}", handle_echo, 1, 0, "a b"},
    {HTTP_POST, "/echo/{name}", handle_echo, 1, HTTP_JSON | HTTP_YAML, NULL},
    {HTTP_POST, "/durable", handle_durable, 1, HTTP_DURABLE | HTTP_JSON, NULL},
    {HTTP_GET, "/large", handle_large, 1, 0, NULL},
    {HTTP_GET, "/stream", handle_stream, 3, 0, NULL},
    {HTTP_GET, "/silent", handle_silent, 1, 0, NULL},
};

int served_set_up (void **state)
{
    struct served *served = calloc (1, sizeof (*served));
    if (served == NULL)
        return -1;
    *state = served;
    served->heard = malloc (SERVED_HEARD);
    snprintf (served->directory, sizeof (served->directory), "%s/pollux-http.XXXXXX",
              temporary_folder ());
    if (served->heard == NULL || mkdtemp (served->directory) == NULL)
        return -1;
    snprintf (served->unix_address, sizeof (served->unix_address), "unix:%s/socket",
              served->directory);
    served->listen[0] = "127.0.0.1:0";
    served->listen[1] = served->unix_address;
    served->now_us = 1000 * 1000;
    served->options = (struct http_options){.listen = served->listen,
                                            .listen_count = 2,
                                            .routes = routes,
                                            .route_count = COUNT (routes),
                                            .authorize = authorize,
                                            .self = served};
    return 0;
}

int served_tear_down (void **state)
{
    struct served *served = *state;
    http_server_free (served->server);
    unlink (served->unix_address + 5);
    rmdir (served->directory);
    free (served->heard);
    free (served);
    return 0;
}

void served_start (struct served *served)
{
    struct pollux_error err = {.text = ""};
    int code = http_server_new (&served->options, served->now_us, &served->server, &err);
    if (code < 0)
        fail_msg ("%s", err.text);
}

int served_connect (struct served *served, int address)
{
    struct address where;
    assert_int_equal (address_parse (http_server_address (served->server, address), &where, NULL),
                      0);
    int client = socket (where.sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (client >= 0);
    assert_int_equal (connect (client, (struct sockaddr *)&where.sockaddr, where.length), 0);
    return client;
}

void served_say (int client, const char *text)
{
    send (client, text, strlen (text), MSG_NOSIGNAL);
}

void served_run (struct served *served)
{
    struct pollfd ready = {.fd = http_server_fd (served->server), .events = POLLIN};
    do
        http_server_step (served->server, served->now_us);
    while (poll (&ready, 1, 0) > 0 || http_server_due_us (served->server) <= served->now_us);
}

/* Read what there is: whether anything came. */
static bool listen_once (struct served *served, int client, size_t *length)
{
    if (*length == SERVED_HEARD - 1)
        return false;
    ssize_t got = recv (client, served->heard + *length, SERVED_HEARD - 1 - *length, MSG_DONTWAIT);
    if (got > 0)
        *length += (size_t)got;
    if (got == 0 || (got < 0 && errno != EAGAIN))
        served->closed = true;
    served->heard[*length] = '\0';
    return got > 0;
}

const char *served_now (struct served *served, int client)
{
    size_t length = 0;
    served->closed = false;
    served_run (served);
    while (listen_once (served, client, &length))
        served_run (served);
    return served->heard;
}

const char *served_hear (struct served *served, int client, const char *until)
{
    size_t length = 0;
    served->closed = false;
    served->heard[0] = '\0';
    /* The kernel may take a moment to hand bytes over: wait for it, up to ten seconds in all. */
    for (int waits = 0; waits < 1000;) {
        served_run (served);
        bool came = listen_once (served, client, &length);
        if (until != NULL ? strstr (served->heard, until) != NULL : served->closed)
            return served->heard;
        if (served->closed)
            break;
        struct pollfd ready[] = {{.fd = client, .events = POLLIN},
                                 {.fd = http_server_fd (served->server), .events = POLLIN}};
        if (!came && poll (ready, 2, 10) == 0)
            waits++;
    }
    fail_msg ("expected '%s', heard '%.300s'%s", until != NULL ? until : "the end", served->heard,
              served->closed ? ", then the end" : "");
    return NULL;
}

const char *served_ask (struct served *served, const char *request)
{
    int client = served_connect (served, 0);
    served_say (client, request);
    shutdown (client, SHUT_WR);
    served_hear (served, client, NULL);
    close (client);
    return served->heard;
}
