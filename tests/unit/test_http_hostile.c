/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server and hostile clients: refused requests, too large or too many requests, and
 * slow clients, with a clock that the test sets.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_fixture.h"

#define HOST "Host: localhost\r\n"
#define ANN HOST "Authorization: Bearer ann\r\n"
#define JSON "Content-Type: application/json\r\n"

static void expect_status (const char *request, const char *answer, int status)
{
    char line[32];
    snprintf (line, sizeof (line), "HTTP/1.1 %d ", status);
    if (strncmp (answer, line, strlen (line)) != 0)
        fail_msg ("%.300s\nexpected %d, got: %.300s", request, status, answer);
}

static void test_refusals (void **state)
{
    static const struct {
        int status;
        const char *request;
    } cases[] = {
        /* Syntax */
        {400, "GET /echo/a%2fb HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /echo/%2e%2e HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /echo/../open HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /echo/a%00b HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET http://localhost/open HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /echo/x?c=1 HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /echo/x?a=1&a=2 HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /open?a=1 HTTP/1.1\r\n" ANN "\r\n"},
        {400, "GET /open HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"},
        {400, "GET /open HTTP/1.1\r\n\r\n"},
        {400, "POST /echo/x HTTP/1.1\r\n" ANN JSON
              "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
        {400,
         "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"},
        /* Another host's name, another site's page */
        {421, "GET /open HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
        {421, "GET /open HTTP/1.1\r\nHost: evil.example:7467\r\n\r\n"},
        {421, "GET /open HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n"},
        {403, "GET /open HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n"},
        {403, "GET /open HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n"},
        {403, "GET /open HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n"},
        {403, "GET /echo/x HTTP/1.1\r\n" ANN "Sec-Fetch-Site: same-site\r\n\r\n"},
        {200, "GET /open HTTP/1.1\r\n" HOST "Origin: http://localhost\r\n\r\n"},
        {200, "GET /open HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n\r\n"},
        {200, "GET /open HTTP/1.1\r\nHost: gpu1:1\r\n\r\n"},
        /* Tokens */
        {401, "GET /echo/x HTTP/1.1\r\n" HOST "\r\n"},
        {401, "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer\r\n\r\n"},
        {401, "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Basic ann\r\n\r\n"},
        {401, "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer an\r\n\r\n"},
        {401, "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer annn\r\n\r\n"},
        {400, "GET /echo/x HTTP/1.1\r\n" ANN "Authorization: Bearer ann\r\n\r\n"},
        {403, "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer eve\r\n\r\n"},
        {200, "GET /open HTTP/1.1\r\n" HOST "Authorization: Bearer nobody\r\n\r\n"},
        /* Bodies */
        {415, "POST /echo/x HTTP/1.1\r\n" ANN "Content-Length: 2\r\n\r\n{}"},
        {415,
         "POST /echo/x HTTP/1.1\r\n" ANN "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"},
        {415, "POST /durable HTTP/1.1\r\n" ANN
              "Content-Type: application/yaml\r\nContent-Length: 2\r\n\r\n{}"},
        {415, "POST /echo/x HTTP/1.1\r\n" ANN JSON
              "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"},
        {415, "GET /open HTTP/1.1\r\n" HOST JSON "Content-Length: 2\r\n\r\n{}"},
        {401, "POST /echo/x HTTP/1.1\r\n" HOST JSON "Content-Length: 2\r\n\r\n{}"},
    };
    static const char *const hosts[] = {"gpu1"};
    struct http_fixture *fixture = *state;
    fixture->options.hosts = hosts;
    fixture->options.host_count = 1;
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (cases); i++) {
        fixture->handled = 0;
        expect_status (cases[i].request, http_fixture_ask (fixture, cases[i].request),
                       cases[i].status);
        assert_int_equal (fixture->handled, cases[i].status == 200);
        if (cases[i].status == 401)
            assert_non_null (strstr (fixture->received, "WWW-Authenticate: Bearer\r\n"));
        if (cases[i].status == 401 && strstr (cases[i].request, "Bearer an"))
            assert_non_null (strstr (fixture->received, "this token is no name"));
    }
}

/* Heads that do not say for certain where the request ends: one answer, and the end of the connection.  What
 * follows is not served, as it may be the body of what was refused. */
static void test_rejected (void **state)
{
#define NEXT "GET /open HTTP/1.1\r\n" HOST "\r\n"
#define CASE(text)                                                                                 \
    {                                                                                              \
        text NEXT, sizeof (text NEXT) - 1                                                          \
    }
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON
              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST
              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length : 4\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length\t: 4\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST ": empty\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "Na(me: x\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "X: a\x01z\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "X: a\r\n folded\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Transfer-Encoding: identity\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Transfer-Encoding: gzip, chunked\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.0\r\n" ANN JSON "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: abc\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: -1\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: +4\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 4, 4\r\n\r\n"),
        CASE ("POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length:\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "Content-Length: 0x4\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n"),
        CASE ("GET /open\0 HTTP/1.1\r\n" HOST "\r\n"),
        CASE ("GET /open\0/x HTTP/1.1\r\n" HOST "\r\n"),
        CASE ("GET /echo/x?a=1\0 HTTP/1.1\r\n" ANN "\r\n"),
        CASE ("GET\0 /open HTTP/1.1\r\n" HOST "\r\n"),
        CASE ("GET /open HTTP/1.1\r\nHost: localhost\0.evil.example\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "X: \0\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "X: a\0\r\nY: b\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "X: a\r\nY: b\0\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "X\0: a\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST "\0X: a\r\n\r\n"),
        /* libmicrohttpd takes a line that begins with a colon as the end of the head. */
        CASE ("GET /open HTTP/1.1\r\n" HOST ": \nX: a\r\n\r\n"),
        CASE ("GET /open HTTP/1.1\r\n" HOST ": a\r\nX: a\r\n\r\n"),
    };
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (cases); i++) {
        int client = http_fixture_connect (fixture, 0);
        assert_true (send (client, cases[i].text, cases[i].length, MSG_NOSIGNAL) > 0);
        const char *answer = http_fixture_receive (fixture, client, NULL);
        expect_status (cases[i].text, answer, 400);
        if (strstr (answer + 1, "HTTP/1.1 "))
            fail_msg ("%.300s\nis answered twice: %s", cases[i].text, answer);
        close (client);
    }
    assert_int_equal (fixture->handled, 0);
    assert_int_equal (http_server_counts (fixture->server).connections, 0);
}

/* Good heads of all sizes, in pieces of all sizes and several on one connection, are not mistaken for those. */
static void test_pieces (void **state)
{
    static char text[3 * 16384];
    struct http_fixture *fixture = *state;
    struct rng rng = rng_seed (7);
    http_fixture_start (fixture);
    for (int i = 0; i < soak_count (3000); i++) {
        size_t length = 0;
        int requests = 1 + (int)rng_below (&rng, 3);
        for (int j = 0; j < requests; j++) {
            length += (size_t)sprintf (text + length, "GET /echo/n%s HTTP/1.1\r\n" ANN,
                                       rng_below (&rng, 2) ? "" : "?a=1&b=2");
            int headers = (int)rng_below (&rng, 20);
            for (int k = 0; k < headers; k++)
                length +=
                    (size_t)sprintf (text + length, "X-%d:%s%0*d\r\n", k,
                                     rng_below (&rng, 2) ? "" : " ", (int)rng_below (&rng, 700), k);
            length += (size_t)sprintf (text + length, "%s\r\n",
                                       j + 1 == requests ? "Connection: close\r\n" : "");
        }
        int client = http_fixture_connect (fixture, 1);
        fixture->handled = 0;
        size_t piece = (size_t)log_uniform (&rng, 1, 20000);
        for (size_t at = 0; at < length; at += piece) {
            size_t size = length - at < piece ? length - at : piece;
            assert_int_equal (send (client, text + at, size, MSG_NOSIGNAL), size);
            http_fixture_run (fixture);
        }
        http_fixture_receive (fixture, client, NULL);
        if (fixture->handled != requests)
            fail_msg ("%d of %d requests: %s\n%s", fixture->handled, requests, text,
                      fixture->received);
        close (client);
        fixture->now_us += 1000 * 1000; /* so that the rate of requests is not limited */
    }
}

/* Bytes that are not HTTP: refused or disconnected, and the server continues. */
static void test_nonsense (void **state)
{
    static const char *const requests[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /open\r\n\r\n",
        "GET /open HTTP/9.9\r\n" HOST "\r\n",
        "\x16\x03\x01\x02\x00\x01",
        "GET /open HTTP/1.1\r\nHost localhost\r\n\r\n",
        "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: -1\r\n\r\n",
        "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 99999999999999999999999\r\n\r\n",
        "POST /echo/x HTTP/1.1\r\n" ANN JSON "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /echo/x HTTP/1.1\r\n" ANN JSON
        "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
    };
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    for (size_t i = 0; i < COUNT (requests); i++) {
        http_fixture_ask (fixture, requests[i]);
        assert_null (strstr (fixture->received, " 200 "));
    }
    assert_int_equal (fixture->handled, 0);
    expect_status ("", http_fixture_ask (fixture, "GET /open HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_int_equal (http_server_counts (fixture->server).connections, 0);
}

static void send_many (struct http_fixture *fixture, int client, char c, size_t count)
{
    char block[4096];
    memset (block, c, sizeof (block));
    while (count > 0) {
        size_t length = count < sizeof (block) ? count : sizeof (block);
        ssize_t sent = send (client, block, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent > 0)
            count -= (size_t)sent;
        else
            http_fixture_run (fixture);
    }
}

static void test_oversize (void **state)
{
    struct http_fixture *fixture = *state;
    fixture->options.limits.body_bytes = 10000;
    http_fixture_start (fixture);
    /* The largest body. */
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client,
                       "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10000\r\n\r\n");
    send_many (fixture, client, ' ', 10000);
    http_fixture_receive (fixture, client, "body=10000:many.");
    /* One byte more: refused; the body is read to its end, and the connection stays open. */
    http_fixture_send (client,
                       "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10001\r\n\r\n");
    send_many (fixture, client, ' ', 10001);
    expect_status ("", http_fixture_receive (fixture, client, "}"), 413);
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_receive (fixture, client, "open");
    /* Chunks, so that the length is not known in advance. */
    http_fixture_send (client,
                       "POST /echo/x HTTP/1.1\r\n" ANN JSON "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        http_fixture_send (client, "1000\r\n");
        send_many (fixture, client, ' ', 0x1000);
        http_fixture_send (client, "\r\n");
    }
    http_fixture_send (client, "0\r\n\r\n");
    expect_status ("", http_fixture_receive (fixture, client, "}"), 413);
    /* Endless chunks: the server closes the connection. */
    http_fixture_send (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON
                               "Transfer-Encoding: chunked\r\n\r\n10000000\r\n");
    send_many (fixture, client, ' ', 1 << 20);
    http_fixture_receive (fixture, client, NULL);
    close (client);
    /* A body that is too large to be read, and a client that sends Expect first. */
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client,
                       "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 100000000\r\n\r\n{");
    expect_status ("", http_fixture_receive (fixture, client, "}"), 413);
    close (client);
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON
                               "Expect: 100-continue\r\nContent-Length: 15000\r\n\r\n");
    expect_status ("", http_fixture_receive (fixture, client, "}"), 413);
    close (client);
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON
                               "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    http_fixture_receive (fixture, client, "HTTP/1.1 100 Continue\r\n\r\n");
    http_fixture_send (client, "{}");
    http_fixture_receive (fixture, client, "body=2:{}");
    close (client);
    /* An endless head. */
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "X: ");
    send_many (fixture, client, 'x', 100000);
    http_fixture_receive (fixture, client, NULL);
    assert_null (strstr (fixture->received, " 200 "));
    close (client);
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /");
    send_many (fixture, client, 'x', 100000);
    http_fixture_receive (fixture, client, NULL);
    assert_null (strstr (fixture->received, " 200 "));
    close (client);
}

/* The bodies of all requests together have a limit; the memory of finished ones is free again. */
static void test_all_bodies (void **state)
{
    struct http_fixture *fixture = *state;
    int clients[4];
    fixture->options.limits.body_bytes = 10000;
    fixture->options.limits.bodies_bytes = 25000;
    http_fixture_start (fixture);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 4; i++) {
            clients[i] = http_fixture_connect (fixture, 0);
            http_fixture_send (clients[i], "POST /echo/x HTTP/1.1\r\n" ANN JSON
                                           "Content-Length: 10000\r\n\r\n");
            send_many (fixture, clients[i], ' ', 9000);
            http_fixture_run (fixture);
        }
        for (size_t i = 0; i < 4; i++) {
            send_many (fixture, clients[i], ' ', 1000);
            expect_status ("", http_fixture_receive (fixture, clients[i], i < 2 ? "many" : "}"),
                           i < 2 ? 200 : 503);
            close (clients[i]);
        }
    }
}

/* Send `piece` every every_s seconds.  Returns the seconds until the connection is closed. */
static double seconds_until_closed (struct http_fixture *fixture, int client, const char *piece,
                                    double every_s)
{
    double passed_s = 0;
    for (; passed_s < 1000; passed_s += every_s) {
        http_fixture_poll (fixture, client);
        if (fixture->closed)
            break;
        http_fixture_send (client, piece);
        fixture->now_us += (int64_t)(every_s * 1e6);
    }
    return passed_s;
}

static void test_slow (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    /* A connection without a request, then one with a slow head: ten seconds. */
    int client = http_fixture_connect (fixture, 0);
    assert_true (seconds_until_closed (fixture, client, "", 1) <= 12);
    close (client);
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "X: ");
    assert_true (seconds_until_closed (fixture, client, "x", 1) <= 12);
    close (client);
    /* A slow body: thirty seconds. */
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client,
                       "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10000\r\n\r\n");
    double passed_s = seconds_until_closed (fixture, client, " ", 1);
    assert_true (passed_s > 25 && passed_s <= 32);
    close (client);
    /* A kept-alive connection, whose next request is slow: seventy-five seconds. */
    client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_receive (fixture, client, "open");
    passed_s = seconds_until_closed (fixture, client, "G", 5);
    assert_true (passed_s > 65 && passed_s <= 80);
    close (client);
    assert_int_equal (http_server_counts (fixture->server).cut_off, 4);
    assert_int_equal (http_server_counts (fixture->server).connections, 0);
    assert_int_equal (fixture->handled, 1);
    assert_true (http_server_due_us (fixture->server) == INT64_MAX);
}

/* A client that does not read its answer, or only a few bytes: sixty seconds. */
static void test_slow_reader (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0), silent = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /large HTTP/1.1\r\n" ANN "\r\n");
    http_fixture_send (silent, "GET /large HTTP/1.1\r\n" ANN "\r\n");
    for (int i = 0; i < 7; i++) {
        char some[1000];
        http_fixture_run (fixture);
        assert_int_equal (http_server_counts (fixture->server).connections, i < 6 ? 2 : 0);
        if (i < 6) {
            struct pollfd ready = {.fd = client, .events = POLLIN};
            assert_int_equal (poll (&ready, 1, 10000), 1);
            assert_true (recv (client, some, sizeof (some), 0) > 0);
        }
        fixture->now_us += i < 5 ? 11 * 1000000 : 5 * 1000000 + 1;
    }
    assert_int_equal (http_server_counts (fixture->server).cut_off, 2);
    close (client);
    close (silent);
}

static void test_rates (void **state)
{
    struct http_fixture *fixture = *state;
    static const char ann[] = "GET /echo/x HTTP/1.1\r\n" ANN "\r\n";
    static const char bob[] = "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer bob\r\n\r\n";
    static const char wrong[] = "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer x\r\n\r\n";
    fixture->options.limits.rate = 10;
    fixture->options.limits.burst = 3;
    fixture->options.limits.refusals = 0.5;
    http_fixture_start (fixture);
    for (int i = 0; i < 5; i++)
        expect_status (ann, http_fixture_ask (fixture, ann), i < 3 ? 200 : 429);
    assert_non_null (strstr (fixture->received, "Retry-After: 1\r\n"));
    expect_status (bob, http_fixture_ask (fixture, bob), 200);
    fixture->now_us += 101 * 1000;
    expect_status (ann, http_fixture_ask (fixture, ann), 200);
    expect_status (ann, http_fixture_ask (fixture, ann), 429);
    /* A client with wrong tokens is limited; others at the same address are not. */
    for (int i = 0; i < 8; i++)
        expect_status (wrong, http_fixture_ask (fixture, wrong), i < 5 ? 401 : 429);
    expect_status (bob, http_fixture_ask (fixture, bob), 200);
    assert_int_equal (http_server_counts (fixture->server).limited, 6);
}

static void test_connections (void **state)
{
    enum { MOST = 5 };
    struct http_fixture *fixture = *state;
    int idle[2 * MOST], busy[MOST];
    fixture->options.limits.connections = MOST;
    http_fixture_start (fixture);
    /* Idle clients do not keep others out, for any number of them. */
    for (size_t i = 0; i < COUNT (idle); i++) {
        fixture->now_us += 1000;
        idle[i] = http_fixture_connect (fixture, (int)i % 2);
        http_fixture_run (fixture);
        expect_status ("", http_fixture_ask (fixture, "GET /open HTTP/1.1\r\n" HOST "\r\n"), 200);
        assert_true (http_server_counts (fixture->server).connections <= MOST);
    }
    http_fixture_poll (fixture, idle[0]);
    assert_true (fixture->closed);
    http_fixture_poll (fixture, idle[COUNT (idle) - 1]); /* the longest idle one was closed first */
    assert_false (fixture->closed);
    for (size_t i = 0; i < COUNT (idle); i++)
        close (idle[i]);
    http_fixture_run (fixture);
    assert_int_equal (http_server_counts (fixture->server).connections, 0);
    /* Connections with a request in work stay open, and the next one is refused. */
    for (size_t i = 0; i < MOST; i++) {
        busy[i] = http_fixture_connect (fixture, 0);
        http_fixture_send (busy[i], "GET /stream HTTP/1.1\r\n" ANN "\r\n");
        http_fixture_receive (fixture, busy[i], "\r\n\r\n");
    }
    int client = http_fixture_connect (fixture, 0);
    expect_status ("", http_fixture_receive (fixture, client, NULL), 503);
    assert_int_equal (http_server_counts (fixture->server).turned_away, 1);
    close (client);
    close (busy[0]);
    http_fixture_run (fixture);
    expect_status ("", http_fixture_ask (fixture, "GET /open HTTP/1.1\r\n" HOST "\r\n"), 200);
    for (size_t i = 1; i < MOST; i++)
        close (busy[i]);
}

/* A query with more words than libmicrohttpd has memory for: it closes the connection without telling us.  That nothing
 * is lost then is seen by the leak detection. */
static void test_many_words (void **state)
{
    struct http_fixture *fixture = *state;
    char request[3000];
    fixture->options.limits.header_bytes = 4096;
    http_fixture_start (fixture);
    int size = snprintf (request, sizeof (request), "GET /open?");
    memset (request + size, '&', 2000);
    snprintf (request + size + 2000, sizeof (request) - (size_t)size - 2000,
              " HTTP/1.1\r\n" HOST "\r\n");
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, request);
    assert_string_equal (http_fixture_receive (fixture, client, NULL), "");
    close (client);
    assert_int_equal (fixture->handled, 0);
}

static void test_per_address (void **state)
{
    struct http_fixture *fixture = *state;
    int clients[3];
    fixture->options.limits.per_address = 2;
    http_fixture_start (fixture);
    for (size_t i = 0; i < 2; i++) {
        clients[i] = http_fixture_connect (fixture, 0);
        http_fixture_send (clients[i], "GET /stream HTTP/1.1\r\n" ANN "\r\n");
        http_fixture_receive (fixture, clients[i], "\r\n\r\n");
    }
    int client = http_fixture_connect (fixture, 0);
    expect_status ("", http_fixture_receive (fixture, client, NULL), 503);
    close (client);
    clients[2] = http_fixture_connect (fixture, 1); /* the other address has room */
    http_fixture_send (clients[2], "GET /open HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_receive (fixture, clients[2], "open");
    for (size_t i = 0; i < 3; i++)
        close (clients[i]);
}

int main (void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown (name, http_fixture_set_up, http_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_refusals),    TEST (test_rejected),    TEST (test_pieces),
        TEST (test_nonsense),    TEST (test_oversize),    TEST (test_all_bodies),
        TEST (test_slow),        TEST (test_slow_reader), TEST (test_rates),
        TEST (test_connections), TEST (test_many_words),  TEST (test_per_address),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
