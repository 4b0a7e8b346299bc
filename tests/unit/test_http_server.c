/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server over real sockets, with well-behaved clients: routes, answers, keep-alive and
 * pipelining, held answers, addresses, idle clients, and stopping.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_fixture.h"

#define HOST "Host: localhost\r\n"
#define ANN HOST "Authorization: Bearer ann\r\n"

static void assert_contains (const char *answer, const char *what)
{
    if (strstr (answer, what) == NULL)
        fail_msg ("no '%s' in: %.600s", what, answer);
}

static void test_routes (void **state)
{
    static const struct {
        const char *request, *status, *text;
    } cases[] = {
        {"GET /open HTTP/1.1\r\n" HOST "\r\n", "200 OK", "\r\n\r\nopen"},
        {"GET /open HTTP/1.0\r\n" HOST "\r\n", "200 OK", "\r\n\r\nopen"},
        {"GET /echo/x HTTP/1.1\r\n" ANN "\r\n", "200",
         "GET /echo/x name=x a=- by=ann/1 from=127.0.0.1 type=0 extra=- body=0:."},
        {"GET /echo/caf%C3%A9?a=1%202 HTTP/1.1\r\n" ANN "X-Extra: y\r\n\r\n", "200",
         "GET /echo/caf%C3%A9 name=caf\xc3\xa9 a=1 2 by=ann/1 from=127.0.0.1 type=0 extra=y"},
        {"GET /echo/x HTTP/1.1\r\n" ANN "\r\n", "200", "X-Route: echo\r\n"},
        {"GET /echo/x HTTP/1.1\r\n" ANN "\r\n", "200", "Cache-Control: no-store\r\n"},
        {"GET /echo/x HTTP/1.1\r\n" ANN "\r\n", "200", "X-Content-Type-Options: nosniff\r\n"},
        {"POST /echo/x HTTP/1.1\r\n" ANN
         "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
         "200", "type=2 extra=- body=2:{}."},
        {"POST /echo/x HTTP/1.1\r\n" ANN "Content-Type: application/yaml\r\n"
         "Transfer-Encoding: chunked\r\n\r\n3\r\na: \r\n1\r\n1\r\n0\r\n\r\n",
         "200", "type=4 extra=- body=4:a: 1."},
        {"POST /echo/x HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n", "200", "body=0:."},
        {"GET / HTTP/1.1\r\n" HOST "\r\n", "404", "{\"error\": \"there is nothing at /\"}"},
        {"GET /echo HTTP/1.1\r\n" HOST "\r\n", "404", "error"},
        {"GET /open/ HTTP/1.1\r\n" HOST "\r\n", "400", "error"},
        {"POST /open HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "405", "Allow: GET, HEAD\r\n"},
        {"DELETE /echo/x HTTP/1.1\r\n" HOST "\r\n", "405", "Allow: GET, HEAD, POST\r\n"},
        {"BREW /open HTTP/1.1\r\n" HOST "\r\n", "405", "Allow: GET, HEAD\r\n"},
        {"OPTIONS /durable HTTP/1.1\r\n" HOST "\r\n", "405", "Allow: POST\r\n"},
        {"GET /silent HTTP/1.1\r\n" ANN "\r\n", "500", "gave no answer"},
    };
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (cases); i++) {
        const char *answer = http_fixture_ask (fixture, cases[i].request);
        if (strncmp (answer, "HTTP/1.", 7) != 0 ||
            strncmp (answer + 9, cases[i].status, strlen (cases[i].status)) != 0)
            fail_msg ("%s\nexpected %s, got %.100s", cases[i].request, cases[i].status, answer);
        assert_contains (answer, cases[i].text);
    }
    struct http_counts counts = http_server_counts (fixture->server);
    assert_int_equal (counts.requests, COUNT (cases));
    assert_int_equal (counts.accepted, COUNT (cases));
    assert_int_equal (counts.answers[2] + counts.answers[4] + counts.answers[5], COUNT (cases));
    assert_int_equal (counts.connections, 0);
}

/* A link of another site opens a page, and nothing else.  The page is compressed if the client accepts it. */
static void test_page (void **state)
{
#define LINK "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"
#define DOCUMENT "Sec-Fetch-Dest: document\r\n"
    static const struct {
        const char *request, *status, *text;
    } cases[] = {
        {"GET /page HTTP/1.1\r\n" HOST "\r\n", "200", "\r\n\r\npage"},
        {"GET /page HTTP/1.1\r\n" HOST "Accept-Encoding: gzip;q=0\r\n\r\n", "200", "\r\n\r\npage"},
        {"GET /page HTTP/1.1\r\n" HOST "Accept-Encoding: br, gzip\r\n\r\n", "200",
         "Content-Encoding: gzip\r\n"},
        {"GET /page HTTP/1.1\r\n" HOST "\r\n", "200", "Vary: Accept-Encoding\r\n"},
        {"GET /page HTTP/1.1\r\n" HOST "\r\n", "200", "Cache-Control: no-cache\r\n"},
        {"GET /page HTTP/1.1\r\n" HOST "If-None-Match: W/\"v1\"\r\n\r\n", "304", "\r\n\r\n"},
        {"GET /page HTTP/1.1\r\n" HOST "If-None-Match: \"v2\"\r\n\r\n", "200", "page"},
        {"GET /page HTTP/1.1\r\n" HOST LINK DOCUMENT "\r\n", "200", "page"},
        {"HEAD /page HTTP/1.1\r\n" HOST LINK DOCUMENT "\r\n", "200", "\r\n\r\n"},
        {"POST /page HTTP/1.1\r\n" HOST LINK DOCUMENT "Content-Length: 0\r\n\r\n", "405", "GET"},
        {"GET /page HTTP/1.1\r\n" HOST LINK "Sec-Fetch-Dest: iframe\r\n\r\n", "403", "site"},
        {"GET /page HTTP/1.1\r\n" HOST LINK "\r\n", "403", "site"},
        {"GET /page HTTP/1.1\r\n" HOST LINK DOCUMENT "Origin: null\r\n\r\n", "403", "site"},
        {"GET /page HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n", "403", "site"},
        {"GET /page HTTP/1.1\r\nHost: evil.example\r\n" LINK DOCUMENT "\r\n", "421", "Host"},
        {"GET /open HTTP/1.1\r\n" HOST LINK DOCUMENT "\r\n", "403", "site"},
        {"GET /echo/x HTTP/1.1\r\n" ANN LINK DOCUMENT "\r\n", "403", "site"},
    };
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (cases); i++) {
        const char *answer = http_fixture_ask (fixture, cases[i].request);
        if (strncmp (answer + 9, cases[i].status, strlen (cases[i].status)) != 0)
            fail_msg ("%s\nexpected %s, got %.100s", cases[i].request, cases[i].status, answer);
        assert_contains (answer, cases[i].text);
    }
#undef LINK
#undef DOCUMENT
}

static void test_head (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    const char *answer = http_fixture_ask (fixture, "HEAD /open HTTP/1.1\r\n" HOST "\r\n");
    assert_contains (answer, "200 OK");
    assert_contains (answer, "Content-Length: 4\r\n");
    assert_string_equal (strstr (answer, "\r\n\r\n"), "\r\n\r\n");
    /* A stream ends at once. */
    answer = http_fixture_ask (fixture, "HEAD /stream HTTP/1.1\r\n" ANN "\r\n");
    assert_contains (answer, "200 OK");
    assert_string_equal (strstr (answer, "\r\n\r\n"), "\r\n\r\n");
    assert_int_equal (fixture->opened, 1);
    assert_int_equal (fixture->gone, 1);
}

static void test_keep_alive (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0);
    for (int i = 0; i < 50; i++) {
        http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
        http_fixture_receive (fixture, client, "\r\n\r\nopen");
        assert_false (fixture->closed);
    }
    http_fixture_send (client, "GET /open HTTP/1.1\r\nConnection: close\r\n" HOST "\r\n");
    http_fixture_receive (fixture, client, NULL);
    close (client);
    assert_int_equal (http_server_counts (fixture->server).accepted, 1);
    assert_int_equal (fixture->handled, 51);
}

static void test_pipelining (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /echo/1 HTTP/1.1\r\n" ANN "\r\n"
                               "POST /echo/2 HTTP/1.1\r\n" ANN
                               "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[]"
                               "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n"
                               "GET /nothing HTTP/1.1\r\n" HOST "\r\n"
                               "GET /echo/3 HTTP/1.1\r\n" ANN "Connection: close\r\n\r\n");
    http_fixture_run (fixture);
    /* Requests after a held answer wait for it. */
    assert_int_equal (fixture->handled, 3);
    assert_int_equal (http_server_held (fixture->server), 1);
    http_server_release (fixture->server, 0, NULL);
    const char *answer = http_fixture_receive (fixture, client, NULL), *at = answer;
    static const char *const order[] = {"name=1 ", "name=2 ", "body=2:[]",
                                        "done",    "404",     "name=3 "};
    for (size_t i = 0; i < COUNT (order); i++) {
        at = strstr (at, order[i]);
        assert_non_null (at);
    }
    close (client);
}

/* A request may arrive one byte at a time. */
static void test_byte_by_byte (void **state)
{
    struct http_fixture *fixture = *state;
    static const char request[] =
        "POST /echo/x HTTP/1.1\r\n" ANN "Content-Type: application/json\r\n"
        "Content-Length: 5\r\n\r\n[1,2]";
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 1);
    for (size_t i = 0; i + 1 < sizeof (request); i++) {
        http_fixture_send (client, (char[]){request[i], '\0'});
        http_fixture_run (fixture);
    }
    assert_contains (http_fixture_receive (fixture, client, "body="),
                     "from=unix type=2 extra=- body=5:[1,2].");
    close (client);
}

static void test_held (void **state)
{
    struct http_fixture *fixture = *state;
    int clients[3];
    http_fixture_start (fixture);
    for (size_t i = 0; i < 3; i++) {
        clients[i] = http_fixture_connect (fixture, 0);
        http_fixture_send (clients[i],
                           "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    }
    for (int i = 0; i < 100 && http_server_held (fixture->server) < 3; i++)
        http_fixture_run (fixture);
    assert_int_equal (fixture->handled, 3);
    assert_int_equal (http_server_held (fixture->server), 3);
    assert_int_equal (http_server_busy (fixture->server), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal (http_fixture_poll (fixture, clients[i]), "");
        assert_false (fixture->closed);
    }
    /* Meanwhile other clients are served, and held requests have no deadline. */
    assert_contains (http_fixture_ask (fixture, "GET /open HTTP/1.1\r\n" HOST "\r\n"), "200");
    assert_true (http_server_due_us (fixture->server) == INT64_MAX);
    close (clients[1]); /* this client does not wait for its answer */
    http_server_release (fixture->server, 0, NULL);
    assert_int_equal (http_server_held (fixture->server), 0);
    assert_true (http_server_due_us (fixture->server) < fixture->now_us);
    assert_contains (http_fixture_receive (fixture, clients[0], "done"), "201 Created");
    assert_contains (fixture->received, "Location: /here\r\n");
    http_fixture_receive (fixture, clients[2], "done");
    /* A refusal on a durable route is not held. */
    http_fixture_send (clients[0], "POST /durable HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    http_fixture_receive (fixture, clients[0], "401");
    assert_int_equal (http_server_held (fixture->server), 0);
    close (clients[0]);
    close (clients[2]);
}

static void test_held_failure (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    while (http_server_held (fixture->server) == 0)
        http_fixture_run (fixture);
    http_server_release (fixture->server, 507, "the disk is \"full\"");
    const char *answer = http_fixture_receive (fixture, client, "}");
    assert_contains (answer, "507 Insufficient Storage");
    assert_contains (answer, "{\"error\": \"the disk is \\\"full\\\"\"}");
    assert_null (strstr (answer, "Location"));
    assert_null (strstr (answer, "done"));
    close (client);
}

static void test_unix (void **state)
{
    struct http_fixture *fixture = *state;
    struct stat status;
    struct http_server *second;
    struct pollux_error err;
    const char *path = fixture->unix_address + 5;
    /* A socket that a dead process has left is replaced. */
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    strcpy (un.sun_path, path);
    int dead = socket (AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal (bind (dead, (struct sockaddr *)&un, sizeof (un)), 0);
    close (dead);
    http_fixture_start (fixture);
    assert_int_equal (stat (path, &status), 0);
    assert_int_equal (status.st_mode & 07777, 0600);
    assert_string_equal (http_server_address (fixture->server, 1), fixture->unix_address);
    int client = http_fixture_connect (fixture, 1);
    /* Browsers cannot use a Unix socket: any Host is accepted, or none. */
    http_fixture_send (client, "GET /open HTTP/1.0\r\n\r\n");
    http_fixture_receive (fixture, client, "open");
    close (client);
    client = http_fixture_connect (fixture, 1);
    http_fixture_send (client, "GET /echo/x HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    http_fixture_receive (fixture, client, "401");
    close (client);
    /* A socket in use is not replaced, nor a file that is not a socket. */
    assert_int_equal (http_server_new (&fixture->options, 0, &second, &err), -EADDRINUSE);
    assert_contains (err.text, fixture->unix_address);
    http_server_free (fixture->server);
    fixture->server = NULL;
    assert_int_equal (stat (path, &status), -1);
    close (open (path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal (http_server_new (&fixture->options, 0, &second, &err), -EADDRINUSE);
    assert_int_equal (stat (path, &status), 0);
}

static void test_addresses (void **state)
{
    struct http_fixture *fixture = *state;
    struct http_server *server;
    struct pollux_error err;
    http_fixture_start (fixture);
    assert_int_equal (strncmp (http_server_address (fixture->server, 0), "127.0.0.1:", 10), 0);
    assert_string_not_equal (http_server_address (fixture->server, 0), "127.0.0.1:0");
    struct http_options options = fixture->options;
    const char *taken[] = {http_server_address (fixture->server, 0)};
    options.listen = taken;
    options.listen_count = 1;
    assert_int_equal (http_server_new (&options, 0, &server, &err), -EADDRINUSE);
    assert_contains (err.text, taken[0]);
    const char *nonsense[] = {"127.0.0.1:0", "example.org:80"};
    options.listen = nonsense;
    options.listen_count = 2;
    assert_int_equal (http_server_new (&options, 0, &server, &err), -EINVAL);
    assert_contains (err.text, "example.org:80");
    struct http_route wrong = {.method = HTTP_GET, .pattern = "x"};
    options.listen_count = 1;
    options.routes = &wrong;
    options.route_count = 1;
    assert_int_equal (http_server_new (&options, 0, &server, &err), -EINVAL);
}

/* Without clients nothing is due and nothing is ready: no wake-up. */
static void test_idle (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    struct pollfd ready = {.fd = http_server_fd (fixture->server), .events = POLLIN};
    for (int i = 0; i < 3; i++) {
        http_fixture_run (fixture);
        assert_int_equal (poll (&ready, 1, 0), 0);
        assert_true (http_server_due_us (fixture->server) == INT64_MAX);
        http_fixture_ask (fixture, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    }
    /* With one kept-alive connection, only its deadline is due. */
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_receive (fixture, client, "open");
    http_fixture_run (fixture);
    assert_int_equal (poll (&ready, 1, 0), 0);
    assert_true (http_server_due_us (fixture->server) == fixture->now_us + 75 * 1000000);
    close (client);
}

static void test_no_descriptors (void **state)
{
    struct http_fixture *fixture = *state;
    struct rlimit old, none;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    struct pollfd ready = {.fd = http_server_fd (fixture->server), .events = POLLIN};
    poll (&ready, 1, 1000);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    http_server_step (fixture->server, fixture->now_us);
    setrlimit (RLIMIT_NOFILE, &old);
    /* It stops accepting for a while instead of spinning. */
    assert_int_equal (poll (&ready, 1, 0), 0);
    int64_t due_us = http_server_due_us (fixture->server);
    assert_true (due_us > fixture->now_us && due_us < fixture->now_us + 2000000);
    fixture->now_us = due_us;
    char byte;
    if (recv (client, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
        fprintf (stderr, "SKIPPED: valgrind closes the connection although accept failed\n");
    else
        assert_contains (http_fixture_receive (fixture, client, "open"), "200 OK");
    close (client);
}

static void test_stop (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int idle = http_fixture_connect (fixture, 0), held = http_fixture_connect (fixture, 0);
    int streaming = http_fixture_connect (fixture, 1), large = http_fixture_connect (fixture, 0);
    http_fixture_send (idle, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_receive (fixture, idle, "open");
    http_fixture_send (streaming, "GET /stream HTTP/1.1\r\n" ANN "\r\n");
    http_fixture_receive (fixture, streaming, "\r\n\r\n");
    http_fixture_send (large, "GET /large HTTP/1.1\r\n" ANN "\r\n");
    http_fixture_send (held, "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    while (http_server_held (fixture->server) == 0)
        http_fixture_run (fixture);
    http_stream_push (fixture->stream, "last words", 10);
    http_server_stop (fixture->server);
    http_fixture_run (fixture);
    assert_int_equal (fixture->gone, 1);
    int refused = socket (AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    strcpy (un.sun_path, fixture->unix_address + 5);
    assert_int_equal (connect (refused, (struct sockaddr *)&un, sizeof (un)), -1);
    close (refused);
    http_fixture_receive (fixture, idle, NULL);
    assert_contains (http_fixture_receive (fixture, streaming, "\r\n0\r\n\r\n"), "last words");
    assert_int_equal (http_server_busy (fixture->server), 2);
    http_server_release (fixture->server, 0, NULL);
    assert_contains (http_fixture_receive (fixture, held, NULL), "Connection: close\r\n");
    assert_contains (fixture->received, "done");
    assert_int_equal (http_server_busy (fixture->server), 1); /* the large one */
    close (idle);
    close (held);
    close (streaming);
    http_server_free (fixture->server);
    fixture->server = NULL;
    close (large);
}

/* http_server_free with connections in every state: no leak, and each stream ends once. */
static void test_end_at_once (void **state)
{
    static const char *const requests[] = {
        "",
        "GET /op",
        "GET /open HTTP/1.1\r\n" HOST "\r\n",
        "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n",
        "GET /stream HTTP/1.1\r\n" ANN "\r\n",
        "GET /large HTTP/1.1\r\n" ANN "\r\n",
        "POST /echo/x HTTP/1.1\r\n" ANN
        "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{}",
    };
    struct http_fixture *fixture = *state;
    int clients[COUNT (requests)];
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (requests); i++) {
        clients[i] = http_fixture_connect (fixture, 1);
        http_fixture_send (clients[i], requests[i]);
        http_fixture_run (fixture);
    }
    assert_int_equal (http_server_held (fixture->server), 1);
    assert_int_equal (fixture->opened, 1);
    http_stream_push (fixture->stream, "unread", 6);
    http_server_free (fixture->server);
    fixture->server = NULL;
    assert_int_equal (fixture->gone, 1);
    for (size_t i = 0; i < COUNT (requests); i++)
        close (clients[i]);
}

/* ---- The access log ---- */

static char access_text[4096];

static void note_access (void *self, const struct http_access *access)
{
    size_t used = strlen (access_text);
    assert_ptr_equal (self, access_text);
    assert_true (access->seconds >= 0 && access->seconds < 60);
    snprintf (access_text + used, sizeof (access_text) - used, "%s/%u %s %s %s %s %d\n",
              access->identity->name, access->identity->role, access->peer, access->method,
              access->route ? access->route->pattern : "-", access->path, access->status);
}

/* Each answer is reported once, refusals too; a secret is in none of the reports. */
static void test_access (void **state)
{
    static const struct {
        const char *request, *line;
    } cases[] = {
        {"GET /open HTTP/1.1\r\n" HOST "\r\n", "/0 127.0.0.1 GET /open /open 200\n"},
        {"GET /echo/x?a=secret HTTP/1.1\r\n" ANN "\r\n",
         "ann/1 127.0.0.1 GET /echo/{name} /echo/x 200\n"},
        {"HEAD /open HTTP/1.1\r\n" HOST "\r\n", "/0 127.0.0.1 HEAD /open /open 200\n"},
        {"GET /echo/x?a=secret HTTP/1.1\r\n" HOST "\r\n",
         "/0 127.0.0.1 GET /echo/{name} /echo/x 401\n"},
        {"GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\n\r\n",
         "/0 127.0.0.1 GET /echo/{name} /echo/x 401\n"},
        {"GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer eve\r\n\r\n",
         "eve/2 127.0.0.1 GET /echo/{name} /echo/x 403\n"},
        {"POST /echo/x HTTP/1.1\r\n" ANN
         "Content-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret",
         "ann/1 127.0.0.1 POST /echo/{name} /echo/x 415\n"},
        {"GET /nowhere%0a HTTP/1.1\r\n" HOST "\r\n", "/0 127.0.0.1 GET - /nowhere%0a 400\n"},
        {"BREW /nowhere?secret HTTP/1.1\r\n" HOST "\r\n", "/0 127.0.0.1 BREW - /nowhere 404\n"},
        {"GET /open HTTP/1.1\r\nHost: evil.example\r\n\r\n", "/0 127.0.0.1 GET - /open 421\n"},
        {"POST /echo/x HTTP/1.1\r\n" ANN "Content-Type: application/json\r\nExpect: "
         "100-continue\r\nContent-Length: 99999999\r\n\r\n",
         "ann/1 127.0.0.1 POST /echo/{name} /echo/x 413\n"},
    };
    struct http_fixture *fixture = *state;
    fixture->options.access = note_access;
    fixture->options.access_self = access_text;
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (cases); i++) {
        access_text[0] = '\0';
        http_fixture_ask (fixture, cases[i].request);
        assert_string_equal (cases[i].line, access_text);
    }
    /* A held answer is reported when it is sent, with the status that it has then. */
    access_text[0] = '\0';
    int client = http_fixture_connect (fixture, 1);
    http_fixture_send (client, "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    while (http_server_held (fixture->server) == 0)
        http_fixture_run (fixture);
    assert_string_equal ("", access_text);
    http_server_release (fixture->server, 507, "the disk is full");
    http_fixture_receive (fixture, client, "full");
    assert_string_equal ("ann/1 unix POST /durable /durable 507\n", access_text);
    close (client);
}

int main (void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown (name, http_fixture_set_up, http_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_access),         TEST (test_routes),     TEST (test_head),
        TEST (test_page),           TEST (test_keep_alive), TEST (test_pipelining),
        TEST (test_byte_by_byte),   TEST (test_held),       TEST (test_held_failure),
        TEST (test_unix),           TEST (test_addresses),  TEST (test_idle),
        TEST (test_no_descriptors), TEST (test_stop),       TEST (test_end_at_once),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
