/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that describe their request in the answer, and clients that can stop at any point of a
 * request. */
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
#include "http_fixture.h"

static void handle_open (void *self, struct http_request *request)
{
    struct http_fixture *fixture = self;
    fixture->handled++;
    http_answer_text (request, 200, "text/plain", "open");
}

static void handle_echo (void *self, struct http_request *request)
{
    struct http_fixture *fixture = self;
    char *text;
    size_t length;
    const char *body = http_body (request, &length), *a = http_query (request, "a");
    const char *extra = http_header (request, "X-Extra");
    fixture->handled++;
    int size =
        asprintf (&text, "%s %s name=%s a=%s by=%s/%u from=%s type=%u extra=%s body=%zu:%s.",
                  http_method_names[http_method (request)], http_path (request),
                  http_param (request, "name"), a != NULL ? a : "-", http_identity (request)->name,
                  http_identity (request)->role, http_peer (request), http_body_type (request),
                  extra != NULL ? extra : "-", length, length < 100 ? body : "many");
    assert_null (http_param (request, "nam"));
    assert_int_equal (strlen (body), length); /* it ends with a NUL */
    http_answer_header (request, "X-Route", "echo");
    http_answer (request, 200, "text/plain", text, (size_t)size);
}

static void handle_durable (void *self, struct http_request *request)
{
    struct http_fixture *fixture = self;
    fixture->handled++;
    http_answer_header (request, "Location", "/here");
    http_answer_text (request, 201, "text/plain", "done");
}

static void handle_large (void *self, struct http_request *request)
{
    char *text = malloc (HTTP_FIXTURE_LARGE);
    (void)self;
    memset (text, 'x', HTTP_FIXTURE_LARGE);
    http_answer (request, 200, "text/plain", text, HTTP_FIXTURE_LARGE);
}

/* "page", by gzip -9 -n. */
static void handle_page (void *self, struct http_request *request)
{
    static const unsigned char bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                          0x02, 0x03, 0x2b, 0x48, 0x4c, 0x4f, 0x05, 0x00,
                                          0x20, 0xb6, 0x0a, 0x14, 0x04, 0x00, 0x00, 0x00};
    (void)self;
    http_answer_header (request, "Cache-Control", "no-cache");
    if (http_has_version (request, "\"v1\""))
        http_answer (request, 304, NULL, NULL, 0);
    else
        http_answer_gzip (request, 200, "text/html", bytes, sizeof (bytes), 4);
}

static void stream_gone (void *self)
{
    struct http_fixture *fixture = self;
    fixture->gone++;
    fixture->stream = NULL;
}

static void stream_drained (void *self)
{
    struct http_fixture *fixture = self;
    fixture->drained++;
}

static void handle_stream (void *self, struct http_request *request)
{
    static const struct http_stream_owner owner = {.gone = stream_gone, .drained = stream_drained};
    struct http_fixture *fixture = self;
    if (http_stream_open (request, "text/event-stream", &owner, fixture, &fixture->stream) == 0)
        fixture->opened++;
}

static void handle_packets (void *self, struct http_request *request)
{
    static const struct http_stream_owner owner = {.gone = stream_gone, .drained = stream_drained};
    struct http_fixture *fixture = self;
    if (http_stream_open_packets (request, "text/event-stream", &owner, fixture,
                                  &fixture->stream) == 0)
        fixture->opened++;
}

static void handle_json (void *self, struct http_request *request)
{
    char *text = malloc (5000);
    (void)self;
    memset (text, 'x', 5000);
    memcpy (text, "{\"text\": \"", 10);
    memcpy (text + 4998, "\"}", 2);
    http_answer (request, 200, "application/json", text, 5000);
}

static void handle_silent (void *self, struct http_request *request)
{
    (void)self;
    (void)request;
}

static int authorize (void *self, const char *token, struct http_identity *ret,
                      struct pollux_error *err)
{
    (void)self;
    if (strcmp (token, "ann") != 0 && strcmp (token, "bob") != 0 && strcmp (token, "eve") != 0) {
        *err = (struct pollux_error){.text = "this token is no name"};
        return -EACCES;
    }
    ret->role = strcmp (token, "eve") == 0 ? 2 : 1;
    snprintf (ret->name, sizeof (ret->name), "%s", token);
    return 0;
}

static const struct http_route routes[] = {
    {HTTP_GET, "/open", handle_open, 0, 0, NULL},
    {HTTP_GET, "/page", handle_page, 0, HTTP_PAGE, NULL},
    {HTTP_GET, "/echo/{name}", handle_echo, 1, 0, "a b"},
    {HTTP_POST, "/echo/{name}", handle_echo, 1, HTTP_JSON | HTTP_YAML, NULL},
    {HTTP_POST, "/durable", handle_durable, 1, HTTP_DURABLE | HTTP_JSON, NULL},
    {HTTP_GET, "/large", handle_large, 1, 0, NULL},
    {HTTP_GET, "/stream", handle_stream, 3, 0, NULL},
    {HTTP_GET, "/packets", handle_packets, 3, 0, NULL},
    {HTTP_GET, "/json", handle_json, 0, 0, NULL},
    {HTTP_GET, "/silent", handle_silent, 1, 0, NULL},
};

int http_fixture_set_up (void **state)
{
    struct http_fixture *fixture = calloc (1, sizeof (*fixture));
    if (fixture == NULL)
        return -1;
    *state = fixture;
    fixture->received = malloc (HTTP_FIXTURE_RECEIVED);
    snprintf (fixture->directory, sizeof (fixture->directory), "%s/pollux-http.XXXXXX",
              temporary_folder ());
    if (fixture->received == NULL || mkdtemp (fixture->directory) == NULL)
        return -1;
    snprintf (fixture->unix_address, sizeof (fixture->unix_address), "unix:%s/socket",
              fixture->directory);
    fixture->listen[0] = "127.0.0.1:0";
    fixture->listen[1] = fixture->unix_address;
    fixture->now_us = 1000 * 1000;
    fixture->options = (struct http_options){.listen = fixture->listen,
                                             .listen_count = 2,
                                             .routes = routes,
                                             .route_count = COUNT (routes),
                                             .authorize = authorize,
                                             .self = fixture};
    return 0;
}

int http_fixture_tear_down (void **state)
{
    struct http_fixture *fixture = *state;
    http_server_free (fixture->server);
    unlink (fixture->unix_address + 5);
    rmdir (fixture->directory);
    free (fixture->received);
    free (fixture);
    return 0;
}

void http_fixture_start (struct http_fixture *fixture)
{
    struct pollux_error err = {.text = ""};
    int code = http_server_new (&fixture->options, fixture->now_us, &fixture->server, &err);
    if (code < 0)
        fail_msg ("%s", err.text);
}

int http_fixture_connect (struct http_fixture *fixture, int address)
{
    struct address where;
    assert_int_equal (address_parse (http_server_address (fixture->server, address), &where, NULL),
                      0);
    int client = socket (where.sockaddr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (client >= 0);
    assert_int_equal (connect (client, (struct sockaddr *)&where.sockaddr, where.length), 0);
    return client;
}

void http_fixture_send (int client, const char *text)
{
    send (client, text, strlen (text), MSG_NOSIGNAL);
}

void http_fixture_run (struct http_fixture *fixture)
{
    struct pollfd ready = {.fd = http_server_fd (fixture->server), .events = POLLIN};
    do
        http_server_step (fixture->server, fixture->now_us);
    while (poll (&ready, 1, 0) > 0 || http_server_due_us (fixture->server) <= fixture->now_us);
}

/* Read the bytes that have arrived; false if there are none. */
static bool read_once (struct http_fixture *fixture, int client, size_t *length)
{
    if (*length == HTTP_FIXTURE_RECEIVED - 1)
        return false;
    ssize_t got = recv (client, fixture->received + *length, HTTP_FIXTURE_RECEIVED - 1 - *length,
                        MSG_DONTWAIT);
    if (got > 0)
        *length += (size_t)got;
    if (got == 0 || (got < 0 && errno != EAGAIN))
        fixture->closed = true;
    fixture->received[*length] = '\0';
    fixture->received_length = *length;
    return got > 0;
}

const char *http_fixture_poll (struct http_fixture *fixture, int client)
{
    size_t length = 0;
    fixture->closed = false;
    http_fixture_run (fixture);
    while (read_once (fixture, client, &length))
        http_fixture_run (fixture);
    return fixture->received;
}

const char *http_fixture_receive (struct http_fixture *fixture, int client, const char *until)
{
    size_t length = 0;
    fixture->closed = false;
    fixture->received[0] = '\0';
    /* The kernel may deliver bytes late: wait up to ten seconds in all. */
    for (int waits = 0; waits < 1000;) {
        http_fixture_run (fixture);
        bool came = read_once (fixture, client, &length);
        if (until != NULL ? strstr (fixture->received, until) != NULL : fixture->closed)
            return fixture->received;
        if (fixture->closed)
            break;
        struct pollfd ready[] = {{.fd = client, .events = POLLIN},
                                 {.fd = http_server_fd (fixture->server), .events = POLLIN}};
        if (!came && poll (ready, 2, 10) == 0)
            waits++;
    }
    fail_msg ("expected '%s', got '%.300s'%s", until != NULL ? until : "the end", fixture->received,
              fixture->closed ? ", then the end" : "");
    return NULL;
}

const char *http_fixture_ask (struct http_fixture *fixture, const char *request)
{
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, request);
    shutdown (client, SHUT_WR);
    http_fixture_receive (fixture, client, NULL);
    close (client);
    return fixture->received;
}
