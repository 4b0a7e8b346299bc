/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server over real sockets, with clients that behave: routes, answers, keep-alive and
 * pipelining, held answers, addresses, idleness, and stopping.
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

#include "served.h"

#define HOST "Host: localhost\r\n"
#define ANN HOST "Authorization: Bearer ann\r\n"

static void says (const char *answer, const char *what)
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
        {"GET /silent HTTP/1.1\r\n" ANN "\r\n", "500", "mistake"},
    };
    struct served *served = *state;
    served_start (served);
    for (size_t i = 0; i < COUNT (cases); i++) {
        const char *answer = served_ask (served, cases[i].request);
        if (strncmp (answer, "HTTP/1.", 7) != 0 ||
            strncmp (answer + 9, cases[i].status, strlen (cases[i].status)) != 0)
            fail_msg ("%s\nexpected %s, heard %.100s", cases[i].request, cases[i].status, answer);
        says (answer, cases[i].text);
    }
    struct http_counts counts = http_server_counts (served->server);
    assert_int_equal (counts.requests, COUNT (cases));
    assert_int_equal (counts.accepted, COUNT (cases));
    assert_int_equal (counts.answers[2] + counts.answers[4] + counts.answers[5], COUNT (cases));
    assert_int_equal (counts.connections, 0);
}

static void test_head (void **state)
{
    struct served *served = *state;
    served_start (served);
    const char *answer = served_ask (served, "HEAD /open HTTP/1.1\r\n" HOST "\r\n");
    says (answer, "200 OK");
    says (answer, "Content-Length: 4\r\n");
    assert_string_equal (strstr (answer, "\r\n\r\n"), "\r\n\r\n");
    /* A stream is at its end then. */
    answer = served_ask (served, "HEAD /stream HTTP/1.1\r\n" ANN "\r\n");
    says (answer, "200 OK");
    assert_string_equal (strstr (answer, "\r\n\r\n"), "\r\n\r\n");
    assert_int_equal (served->opened, 1);
    assert_int_equal (served->gone, 1);
}

static void test_keep_alive (void **state)
{
    struct served *served = *state;
    served_start (served);
    int client = served_connect (served, 0);
    for (int i = 0; i < 50; i++) {
        served_say (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
        served_hear (served, client, "\r\n\r\nopen");
        assert_false (served->closed);
    }
    served_say (client, "GET /open HTTP/1.1\r\nConnection: close\r\n" HOST "\r\n");
    served_hear (served, client, NULL);
    close (client);
    assert_int_equal (http_server_counts (served->server).accepted, 1);
    assert_int_equal (served->handled, 51);
}

static void test_pipelining (void **state)
{
    struct served *served = *state;
    served_start (served);
    int client = served_connect (served, 0);
    served_say (client, "GET /echo/1 HTTP/1.1\r\n" ANN "\r\n"
                        "POST /echo/2 HTTP/1.1\r\n" ANN
                        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[]"
                        "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n"
                        "GET /nothing HTTP/1.1\r\n" HOST "\r\n"
                        "GET /echo/3 HTTP/1.1\r\n" ANN "Connection: close\r\n\r\n");
    served_run (served);
    /* What is behind a held answer waits for it. */
    assert_int_equal (served->handled, 3);
    assert_int_equal (http_server_held (served->server), 1);
    http_server_release (served->server, 0, NULL);
    const char *answer = served_hear (served, client, NULL), *at = answer;
    static const char *const order[] = {"name=1 ", "name=2 ", "body=2:[]",
                                        "done",    "404",     "name=3 "};
    for (size_t i = 0; i < COUNT (order); i++) {
        at = strstr (at, order[i]);
        assert_non_null (at);
    }
    close (client);
}

/* One byte at a time, in one breath: a request is a request however it is cut. */
static void test_byte_by_byte (void **state)
{
    struct served *served = *state;
    static const char request[] =
        "POST /echo/x HTTP/1.1\r\n" ANN "Content-Type: application/json\r\n"
        "Content-Length: 5\r\n\r\n[1,2]";
    served_start (served);
    int client = served_connect (served, 1);
    for (size_t i = 0; i + 1 < sizeof (request); i++) {
        served_say (client, (char[]){request[i], '\0'});
        served_run (served);
    }
    says (served_hear (served, client, "body="), "from=unix type=2 extra=- body=5:[1,2].");
    close (client);
}

static void test_held (void **state)
{
    struct served *served = *state;
    int clients[3];
    served_start (served);
    for (size_t i = 0; i < 3; i++) {
        clients[i] = served_connect (served, 0);
        served_say (clients[i], "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    }
    for (int i = 0; i < 100 && http_server_held (served->server) < 3; i++)
        served_run (served);
    assert_int_equal (served->handled, 3);
    assert_int_equal (http_server_held (served->server), 3);
    assert_int_equal (http_server_busy (served->server), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal (served_now (served, clients[i]), "");
        assert_false (served->closed);
    }
    /* Meanwhile others are served, and no deadline is running for what is not their fault. */
    says (served_ask (served, "GET /open HTTP/1.1\r\n" HOST "\r\n"), "200");
    assert_true (http_server_due_us (served->server) == INT64_MAX);
    close (clients[1]); /* went away without waiting */
    http_server_release (served->server, 0, NULL);
    assert_int_equal (http_server_held (served->server), 0);
    assert_true (http_server_due_us (served->server) < served->now_us);
    says (served_hear (served, clients[0], "done"), "201 Created");
    says (served->heard, "Location: /here\r\n");
    served_hear (served, clients[2], "done");
    /* And a refusal on a durable route waits for nobody. */
    served_say (clients[0], "POST /durable HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    served_hear (served, clients[0], "401");
    assert_int_equal (http_server_held (served->server), 0);
    close (clients[0]);
    close (clients[2]);
}

static void test_held_failure (void **state)
{
    struct served *served = *state;
    served_start (served);
    int client = served_connect (served, 0);
    served_say (client, "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    while (http_server_held (served->server) == 0)
        served_run (served);
    http_server_release (served->server, 507, "the disk is \"full\"");
    const char *answer = served_hear (served, client, "}");
    says (answer, "507 Insufficient Storage");
    says (answer, "{\"error\": \"the disk is \\\"full\\\"\"}");
    assert_null (strstr (answer, "Location"));
    assert_null (strstr (answer, "done"));
    close (client);
}

static void test_unix (void **state)
{
    struct served *served = *state;
    struct stat status;
    struct http_server *second;
    struct pollux_error err;
    const char *path = served->unix_address + 5;
    /* A socket that a dead process has left is replaced. */
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    strcpy (un.sun_path, path);
    int dead = socket (AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal (bind (dead, (struct sockaddr *)&un, sizeof (un)), 0);
    close (dead);
    served_start (served);
    assert_int_equal (stat (path, &status), 0);
    assert_int_equal (status.st_mode & 07777, 0600);
    assert_string_equal (http_server_address (served->server, 1), served->unix_address);
    int client = served_connect (served, 1);
    /* Nobody's browser gets here: any Host will do, and none. */
    served_say (client, "GET /open HTTP/1.0\r\n\r\n");
    served_hear (served, client, "open");
    close (client);
    client = served_connect (served, 1);
    served_say (client, "GET /echo/x HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    served_hear (served, client, "401");
    close (client);
    /* One that is in use is not, nor anything that is no socket. */
    assert_int_equal (http_server_new (&served->options, 0, &second, &err), -EADDRINUSE);
    says (err.text, served->unix_address);
    http_server_free (served->server);
    served->server = NULL;
    assert_int_equal (stat (path, &status), -1);
    close (open (path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal (http_server_new (&served->options, 0, &second, &err), -EADDRINUSE);
    assert_int_equal (stat (path, &status), 0);
}

static void test_addresses (void **state)
{
    struct served *served = *state;
    struct http_server *server;
    struct pollux_error err;
    served_start (served);
    assert_int_equal (strncmp (http_server_address (served->server, 0), "127.0.0.1:", 10), 0);
    assert_string_not_equal (http_server_address (served->server, 0), "127.0.0.1:0");
    struct http_options options = served->options;
    const char *taken[] = {http_server_address (served->server, 0)};
    options.listen = taken;
    options.listen_count = 1;
    assert_int_equal (http_server_new (&options, 0, &server, &err), -EADDRINUSE);
    says (err.text, taken[0]);
    const char *nonsense[] = {"127.0.0.1:0", "example.org:80"};
    options.listen = nonsense;
    options.listen_count = 2;
    assert_int_equal (http_server_new (&options, 0, &server, &err), -EINVAL);
    says (err.text, "example.org:80");
    struct http_route wrong = {.method = HTTP_GET, .pattern = "x"};
    options.listen_count = 1;
    options.routes = &wrong;
    options.route_count = 1;
    assert_int_equal (http_server_new (&options, 0, &server, &err), -EINVAL);
}

/* Without clients nothing is due and nothing is ready: no wake-up. */
static void test_idle (void **state)
{
    struct served *served = *state;
    served_start (served);
    struct pollfd ready = {.fd = http_server_fd (served->server), .events = POLLIN};
    for (int i = 0; i < 3; i++) {
        served_run (served);
        assert_int_equal (poll (&ready, 1, 0), 0);
        assert_true (http_server_due_us (served->server) == INT64_MAX);
        served_ask (served, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    }
    /* With one that keeps its connection, its deadline alone. */
    int client = served_connect (served, 0);
    served_say (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    served_hear (served, client, "open");
    served_run (served);
    assert_int_equal (poll (&ready, 1, 0), 0);
    assert_true (http_server_due_us (served->server) == served->now_us + 75 * 1000000);
    close (client);
}

static void test_no_descriptors (void **state)
{
    struct served *served = *state;
    struct rlimit old, none;
    served_start (served);
    int client = served_connect (served, 0);
    served_say (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    struct pollfd ready = {.fd = http_server_fd (served->server), .events = POLLIN};
    poll (&ready, 1, 1000);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    http_server_step (served->server, served->now_us);
    setrlimit (RLIMIT_NOFILE, &old);
    /* It looks away for a while instead of spinning. */
    assert_int_equal (poll (&ready, 1, 0), 0);
    int64_t due_us = http_server_due_us (served->server);
    assert_true (due_us > served->now_us && due_us < served->now_us + 2000000);
    served->now_us = due_us;
    char byte;
    if (recv (client, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
        fprintf (stderr, "SKIPPED: valgrind closes what it says could not be accepted\n");
    else
        says (served_hear (served, client, "open"), "200 OK");
    close (client);
}

static void test_stop (void **state)
{
    struct served *served = *state;
    served_start (served);
    int idle = served_connect (served, 0), held = served_connect (served, 0);
    int streaming = served_connect (served, 1), large = served_connect (served, 0);
    served_say (idle, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    served_hear (served, idle, "open");
    served_say (streaming, "GET /stream HTTP/1.1\r\n" ANN "\r\n");
    served_hear (served, streaming, "\r\n\r\n");
    served_say (large, "GET /large HTTP/1.1\r\n" ANN "\r\n");
    served_say (held, "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    while (http_server_held (served->server) == 0)
        served_run (served);
    http_stream_push (served->stream, "last words", 10);
    http_server_stop (served->server);
    served_run (served);
    assert_int_equal (served->gone, 1);
    int refused = socket (AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    strcpy (un.sun_path, served->unix_address + 5);
    assert_int_equal (connect (refused, (struct sockaddr *)&un, sizeof (un)), -1);
    close (refused);
    served_hear (served, idle, NULL);
    says (served_hear (served, streaming, "\r\n0\r\n\r\n"), "last words");
    assert_int_equal (http_server_busy (served->server), 2);
    http_server_release (served->server, 0, NULL);
    says (served_hear (served, held, NULL), "Connection: close\r\n");
    says (served->heard, "done");
    assert_int_equal (http_server_busy (served->server), 1); /* the large one */
    close (idle);
    close (held);
    close (streaming);
    http_server_free (served->server);
    served->server = NULL;
    close (large);
}

/* At once, with everything in the air: nothing leaks, nothing is told twice. */
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
    struct served *served = *state;
    int clients[COUNT (requests)];
    served_start (served);
    for (size_t i = 0; i < COUNT (requests); i++) {
        clients[i] = served_connect (served, 1);
        served_say (clients[i], requests[i]);
        served_run (served);
    }
    assert_int_equal (http_server_held (served->server), 1);
    assert_int_equal (served->opened, 1);
    http_stream_push (served->stream, "unread", 6);
    http_server_free (served->server);
    served->server = NULL;
    assert_int_equal (served->gone, 1);
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
    struct served *served = *state;
    served->options.access = note_access;
    served->options.access_self = access_text;
    served_start (served);
    for (size_t i = 0; i < COUNT (cases); i++) {
        access_text[0] = '\0';
        served_ask (served, cases[i].request);
        assert_string_equal (cases[i].line, access_text);
    }
    /* A held answer is reported when it is sent, with the status that it has then. */
    access_text[0] = '\0';
    int client = served_connect (served, 1);
    served_say (client, "POST /durable HTTP/1.1\r\n" ANN "Content-Length: 0\r\n\r\n");
    while (http_server_held (served->server) == 0)
        served_run (served);
    assert_string_equal ("", access_text);
    http_server_release (served->server, 507, "the disk is full");
    served_hear (served, client, "full");
    assert_string_equal ("ann/1 unix POST /durable /durable 507\n", access_text);
    close (client);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, served_set_up, served_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_access),     TEST (test_routes),       TEST (test_head),
        TEST (test_keep_alive), TEST (test_pipelining),   TEST (test_byte_by_byte),
        TEST (test_held),       TEST (test_held_failure), TEST (test_unix),
        TEST (test_addresses),  TEST (test_idle),         TEST (test_no_descriptors),
        TEST (test_stop),       TEST (test_end_at_once),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
