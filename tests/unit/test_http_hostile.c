/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server and clients that do not behave: refusals, too much of everything, and every way of
 * being slow, with a clock that the test moves.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "served.h"

#define HOST "Host: localhost\r\n"
#define ANN HOST "Authorization: Bearer ann\r\n"
#define JSON "Content-Type: application/json\r\n"

static void expect_status (const char *request, const char *answer, int status)
{
    char line[32];
    snprintf (line, sizeof (line), "HTTP/1.1 %d ", status);
    if (strncmp (answer, line, strlen (line)) != 0)
        fail_msg ("%.300s\nexpected %d, heard: %.300s", request, status, answer);
}

static void test_refusals (void **state)
{
    static const struct {
        int status;
        const char *request;
    } cases[] = {
        /* Form */
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
        /* Somebody else's name, somebody else's page */
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
    struct served *served = *state;
    served->options.hosts = hosts;
    served->options.host_count = 1;
    served_start (served);
    for (size_t i = 0; i < COUNT (cases); i++) {
        served->handled = 0;
        expect_status (cases[i].request, served_ask (served, cases[i].request), cases[i].status);
        assert_int_equal (served->handled, cases[i].status == 200);
        if (cases[i].status == 401)
            assert_non_null (strstr (served->heard, "WWW-Authenticate: Bearer\r\n"));
    }
}

/* What is no HTTP at all: some refusal or the end, and the server goes on. */
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
    struct served *served = *state;
    served_start (served);
    for (size_t i = 0; i < COUNT (requests); i++) {
        served_ask (served, requests[i]);
        assert_null (strstr (served->heard, " 200 "));
    }
    assert_int_equal (served->handled, 0);
    expect_status ("", served_ask (served, "GET /open HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_int_equal (http_server_counts (served->server).connections, 0);
}

static void say_many (struct served *served, int client, char c, size_t count)
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
            served_run (served);
    }
}

static void test_oversize (void **state)
{
    struct served *served = *state;
    served->options.limits.body_bytes = 10000;
    served_start (served);
    /* As large as may be. */
    int client = served_connect (served, 0);
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10000\r\n\r\n");
    say_many (served, client, ' ', 10000);
    served_hear (served, client, "body=10000:many.");
    /* One more: the rest is read, the answer is heard, the connection lives. */
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10001\r\n\r\n");
    say_many (served, client, ' ', 10001);
    expect_status ("", served_hear (served, client, "}"), 413);
    served_say (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    served_hear (served, client, "open");
    /* Chunks without a length that was told. */
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        served_say (client, "1000\r\n");
        say_many (served, client, ' ', 0x1000);
        served_say (client, "\r\n");
    }
    served_say (client, "0\r\n\r\n");
    expect_status ("", served_hear (served, client, "}"), 413);
    /* Chunks without end: at some point it is enough. */
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON
                        "Transfer-Encoding: chunked\r\n\r\n10000000\r\n");
    say_many (served, client, ' ', 1 << 20);
    served_hear (served, client, NULL);
    close (client);
    /* So large that nobody waits for it; and a client that asks first. */
    client = served_connect (served, 0);
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 100000000\r\n\r\n{");
    expect_status ("", served_hear (served, client, "}"), 413);
    close (client);
    client = served_connect (served, 0);
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON
                        "Expect: 100-continue\r\nContent-Length: 15000\r\n\r\n");
    expect_status ("", served_hear (served, client, "}"), 413);
    close (client);
    client = served_connect (served, 0);
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON
                        "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    served_hear (served, client, "HTTP/1.1 100 Continue\r\n\r\n");
    served_say (client, "{}");
    served_hear (served, client, "body=2:{}");
    close (client);
    /* A head without end. */
    client = served_connect (served, 0);
    served_say (client, "GET /open HTTP/1.1\r\n" HOST "X: ");
    say_many (served, client, 'x', 100000);
    served_hear (served, client, NULL);
    assert_null (strstr (served->heard, " 200 "));
    close (client);
    client = served_connect (served, 0);
    served_say (client, "GET /");
    say_many (served, client, 'x', 100000);
    served_hear (served, client, NULL);
    assert_null (strstr (served->heard, " 200 "));
    close (client);
}

/* Bodies of all requests together have a limit, and give their room back. */
static void test_all_bodies (void **state)
{
    struct served *served = *state;
    int clients[4];
    served->options.limits.body_bytes = 10000;
    served->options.limits.bodies_bytes = 25000;
    served_start (served);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 4; i++) {
            clients[i] = served_connect (served, 0);
            served_say (clients[i],
                        "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10000\r\n\r\n");
            say_many (served, clients[i], ' ', 9000);
            served_run (served);
        }
        for (size_t i = 0; i < 4; i++) {
            say_many (served, clients[i], ' ', 1000);
            expect_status ("", served_hear (served, clients[i], i < 2 ? "many" : "}"),
                           i < 2 ? 200 : 503);
            close (clients[i]);
        }
    }
}

/* Send a piece, let time pass, again and again: how much passes until it is cut off? */
static double patience (struct served *served, int client, const char *piece, double every_s)
{
    double passed_s = 0;
    for (; passed_s < 1000; passed_s += every_s) {
        served_now (served, client);
        if (served->closed)
            break;
        served_say (client, piece);
        served->now_us += (int64_t)(every_s * 1e6);
    }
    return passed_s;
}

static void test_slow (void **state)
{
    struct served *served = *state;
    served_start (served);
    /* A connection that says nothing; one whose head comes in drops: ten seconds. */
    int client = served_connect (served, 0);
    assert_true (patience (served, client, "", 1) <= 12);
    close (client);
    client = served_connect (served, 0);
    served_say (client, "GET /open HTTP/1.1\r\n" HOST "X: ");
    assert_true (patience (served, client, "x", 1) <= 12);
    close (client);
    /* A body in drops: thirty. */
    client = served_connect (served, 0);
    served_say (client, "POST /echo/x HTTP/1.1\r\n" ANN JSON "Content-Length: 10000\r\n\r\n");
    double passed_s = patience (served, client, " ", 1);
    assert_true (passed_s > 25 && passed_s <= 32);
    close (client);
    /* Kept alive, then nothing, then drops: seventy-five. */
    client = served_connect (served, 0);
    served_say (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    served_hear (served, client, "open");
    passed_s = patience (served, client, "G", 5);
    assert_true (passed_s > 65 && passed_s <= 80);
    close (client);
    assert_int_equal (http_server_counts (served->server).cut_off, 4);
    assert_int_equal (http_server_counts (served->server).connections, 0);
    assert_int_equal (served->handled, 1);
    assert_true (http_server_due_us (served->server) == INT64_MAX);
}

/* Who does not read its answer: sixty seconds, however it sips. */
static void test_slow_reader (void **state)
{
    struct served *served = *state;
    served_start (served);
    int client = served_connect (served, 0), silent = served_connect (served, 0);
    served_say (client, "GET /large HTTP/1.1\r\n" ANN "\r\n");
    served_say (silent, "GET /large HTTP/1.1\r\n" ANN "\r\n");
    for (int i = 0; i < 7; i++) {
        char sip[1000];
        served_run (served);
        assert_int_equal (http_server_counts (served->server).connections, i < 6 ? 2 : 0);
        if (i < 6) {
            struct pollfd ready = {.fd = client, .events = POLLIN};
            assert_int_equal (poll (&ready, 1, 10000), 1);
            assert_true (recv (client, sip, sizeof (sip), 0) > 0);
        }
        served->now_us += i < 5 ? 11 * 1000000 : 5 * 1000000 + 1;
    }
    assert_int_equal (http_server_counts (served->server).cut_off, 2);
    close (client);
    close (silent);
}

static void test_rates (void **state)
{
    struct served *served = *state;
    static const char ann[] = "GET /echo/x HTTP/1.1\r\n" ANN "\r\n";
    static const char bob[] = "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer bob\r\n\r\n";
    static const char wrong[] = "GET /echo/x HTTP/1.1\r\n" HOST "Authorization: Bearer x\r\n\r\n";
    served->options.limits.rate = 10;
    served->options.limits.burst = 3;
    served->options.limits.refusals = 0.5;
    served_start (served);
    for (int i = 0; i < 5; i++)
        expect_status (ann, served_ask (served, ann), i < 3 ? 200 : 429);
    assert_non_null (strstr (served->heard, "Retry-After: 1\r\n"));
    expect_status (bob, served_ask (served, bob), 200);
    served->now_us += 101 * 1000;
    expect_status (ann, served_ask (served, ann), 200);
    expect_status (ann, served_ask (served, ann), 429);
    /* Whoever guesses is slowed down, and nobody else at the same address. */
    for (int i = 0; i < 8; i++)
        expect_status (wrong, served_ask (served, wrong), i < 5 ? 401 : 429);
    expect_status (bob, served_ask (served, bob), 200);
    assert_int_equal (http_server_counts (served->server).limited, 6);
}

static void test_connections (void **state)
{
    enum { MOST = 5 };
    struct served *served = *state;
    int idle[2 * MOST], busy[MOST];
    served->options.limits.connections = MOST;
    served_start (served);
    /* Any number of clients that say nothing do not keep others out. */
    for (size_t i = 0; i < COUNT (idle); i++) {
        served->now_us += 1000;
        idle[i] = served_connect (served, (int)i % 2);
        served_run (served);
        expect_status ("", served_ask (served, "GET /open HTTP/1.1\r\n" HOST "\r\n"), 200);
        assert_true (http_server_counts (served->server).connections <= MOST);
    }
    served_now (served, idle[0]);
    assert_true (served->closed);
    served_now (served, idle[COUNT (idle) - 1]); /* the longest waiting one went first */
    assert_false (served->closed);
    for (size_t i = 0; i < COUNT (idle); i++)
        close (idle[i]);
    served_run (served);
    assert_int_equal (http_server_counts (served->server).connections, 0);
    /* But those whose requests are in work stay, and the next one is turned away. */
    for (size_t i = 0; i < MOST; i++) {
        busy[i] = served_connect (served, 0);
        served_say (busy[i], "GET /stream HTTP/1.1\r\n" ANN "\r\n");
        served_hear (served, busy[i], "\r\n\r\n");
    }
    int client = served_connect (served, 0);
    expect_status ("", served_hear (served, client, NULL), 503);
    assert_int_equal (http_server_counts (served->server).turned_away, 1);
    close (client);
    close (busy[0]);
    served_run (served);
    expect_status ("", served_ask (served, "GET /open HTTP/1.1\r\n" HOST "\r\n"), 200);
    for (size_t i = 1; i < MOST; i++)
        close (busy[i]);
}

static void test_per_address (void **state)
{
    struct served *served = *state;
    int clients[3];
    served->options.limits.per_address = 2;
    served_start (served);
    for (size_t i = 0; i < 2; i++) {
        clients[i] = served_connect (served, 0);
        served_say (clients[i], "GET /stream HTTP/1.1\r\n" ANN "\r\n");
        served_hear (served, clients[i], "\r\n\r\n");
    }
    int client = served_connect (served, 0);
    expect_status ("", served_hear (served, client, NULL), 503);
    close (client);
    clients[2] = served_connect (served, 1); /* the other address has room */
    served_say (clients[2], "GET /open HTTP/1.1\r\n" HOST "\r\n");
    served_hear (served, clients[2], "open");
    for (size_t i = 0; i < 3; i++)
        close (clients[i]);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, served_set_up, served_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_refusals),   TEST (test_nonsense),    TEST (test_oversize),
        TEST (test_all_bodies), TEST (test_slow),        TEST (test_slow_reader),
        TEST (test_rates),      TEST (test_connections), TEST (test_per_address),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
