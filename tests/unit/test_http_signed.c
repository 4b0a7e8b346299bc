/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with a credential: they wait for its check while others are served, and each is answered once.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "http_fixture.h"

static struct {
    uint64_t tickets[16];
    char credentials[16][32], peers[16][64];
    int count;
    int code; /* what verify returns */
} seen;

static int verify (void *self, uint64_t ticket, const char *peer, const char *credential,
                   struct pollux_error *err)
{
    (void)self;
    snprintf (err->text, sizeof (err->text), "the check does not begin");
    if (seen.code < 0)
        return seen.code;
    assert_true (seen.count < 16);
    snprintf (seen.credentials[seen.count], sizeof (seen.credentials[0]), "%s", credential);
    snprintf (seen.peers[seen.count], sizeof (seen.peers[0]), "%s", peer);
    seen.tickets[seen.count++] = ticket;
    return 0;
}

static const char *role_name (unsigned role)
{
    return role == 1 ? "user" : role == 2 ? "reader" : NULL;
}

static int set_up (void **state)
{
    int code = http_fixture_set_up (state);
    struct http_fixture *fixture = *state;
    memset (&seen, 0, sizeof (seen));
    if (code < 0)
        return code;
    fixture->options.scheme = "Munge";
    fixture->options.challenge = "Munge uid=5";
    fixture->options.verify = verify;
    fixture->options.role_name = role_name;
    fixture->options.limits.rate = 1; /* per identity */
    fixture->options.limits.burst = 40;
    http_fixture_start (fixture);
    return 0;
}

/* Send a request on a new connection, up to the check of its credential. */
static int begin_at (struct http_fixture *fixture, int address, const char *request)
{
    int client = http_fixture_connect (fixture, address);
    http_fixture_send (client, request);
    assert_string_equal (http_fixture_poll (fixture, client), "");
    return client;
}

static int begin (struct http_fixture *fixture, const char *request)
{
    return begin_at (fixture, 0, request);
}

#define HEAD "Host: localhost\r\n"
#define SIGNED HEAD "Authorization: munge MUNGE:x:\r\n"
static const char get[] = "GET /echo/a?b=%20 HTTP/1.1\r\n" SIGNED "\r\n";
static const char post[] = "POST /echo/a HTTP/1.1\r\n" SIGNED
                           "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

static struct http_request *waiting (struct http_fixture *fixture, int number)
{
    assert_true (number < seen.count);
    return http_signed (fixture->server, seen.tickets[number]);
}

static void admit (struct http_fixture *fixture, int number, unsigned role, const char *name)
{
    struct http_identity identity = {.role = role};
    snprintf (identity.name, sizeof (identity.name), "%s", name);
    assert_non_null (waiting (fixture, number));
    http_admit (waiting (fixture, number), &identity);
    assert_null (waiting (fixture, number));
}

static void admitted_requests_reach_their_handlers (void **state)
{
    struct http_fixture *fixture = *state;
    int first = begin (fixture, get), second = begin (fixture, post);
    size_t length;
    assert_int_equal (seen.count, 2);
    assert_string_equal (seen.credentials[0], "MUNGE:x:");
    assert_string_equal (seen.peers[0], "127.0.0.1");
    assert_true (seen.tickets[0] != seen.tickets[1]);
    assert_int_equal (fixture->handled, 0);
    assert_string_equal (http_target (waiting (fixture, 0)), "/echo/a?b=%20");
    assert_string_equal (http_method_text (waiting (fixture, 0)), "GET");
    assert_string_equal (http_target (waiting (fixture, 1)), "/echo/a");
    assert_string_equal (http_body (waiting (fixture, 1), &length), "{}");
    /* others are served meanwhile */
    assert_non_null (strstr (http_fixture_ask (fixture, "GET /echo/o HTTP/1.1\r\n" HEAD
                                                        "Authorization: Bearer ann\r\n\r\n"),
                             "by=ann/1"));
    admit (fixture, 1, 1, "bob");
    assert_non_null (strstr (http_fixture_receive (fixture, second, "2:{}."), "by=bob/1"));
    admit (fixture, 0, 1, "carl");
    assert_non_null (strstr (http_fixture_receive (fixture, first, "0:."), "by=carl/1"));
    /* the connection stays, and its next request has its own check */
    http_fixture_send (first, get);
    assert_string_equal (http_fixture_poll (fixture, first), "");
    assert_int_equal (seen.count, 3);
    admit (fixture, 2, 1, "dora");
    assert_non_null (strstr (http_fixture_receive (fixture, first, "0:."), "by=dora/1"));
    close (first);
    close (second);
}

static void refused_requests_do_not (void **state)
{
    struct http_fixture *fixture = *state;
    static const struct {
        int status;
        const char *line;
        bool challenge;
    } refusals[] = {
        {401, "HTTP/1.1 401 ", true},
        {503, "HTTP/1.1 503 ", false},
    };
    for (size_t i = 0; i < COUNT (refusals); i++) {
        int client = begin (fixture, post);
        http_refuse (waiting (fixture, (int)i), refusals[i].status, "because of the test");
        const char *answer = http_fixture_receive (fixture, client, "}\n");
        assert_non_null (strstr (answer, refusals[i].line));
        assert_non_null (strstr (answer, "because of the test"));
        assert_int_equal (strstr (answer, "WWW-Authenticate: Munge uid=5") != NULL,
                          refusals[i].challenge);
        close (client);
    }
    assert_int_equal (fixture->handled, 0);
}

static void a_role_and_a_rate_count (void **state)
{
    struct http_fixture *fixture = *state;
    int client = begin (fixture, get);
    admit (fixture, 0, 2, "eve");
    const char *answer = http_fixture_receive (fixture, client, "}\n");
    assert_non_null (strstr (answer, "HTTP/1.1 403 "));
    close (client);
    for (int i = 0; i <= 40; i++) { /* a burst of 40 is allowed, per identity */
        seen.count = 0;
        client = begin (fixture, "HEAD /echo/a HTTP/1.1\r\n" SIGNED "\r\n");
        admit (fixture, 0, 1, "frank");
        answer = http_fixture_receive (fixture, client, "\r\n\r\n");
        assert_non_null (strstr (answer, i < 40 ? "HTTP/1.1 200 " : "HTTP/1.1 429 "));
        close (client);
    }
}

/* A user who floods the server from a host is limited; other users of that host are not. */
static void users_of_an_address_have_their_own_rates (void **state)
{
    static const struct {
        const char *name; /* NULL: the signature is wrong */
        int count;
        const char *first, *last;
    } floods[] = {
        {NULL, 120, "HTTP/1.1 401 ", "HTTP/1.1 429 "},
        {"frank", 60, "HTTP/1.1 200 ", "HTTP/1.1 429 "},
        {"gina", 1, "HTTP/1.1 200 ", "HTTP/1.1 200 "},
    };
    struct http_fixture *fixture = *state;
    for (size_t i = 0; i < COUNT (floods); i++) {
        for (int j = 0; j < floods[i].count; j++) {
            seen.count = 0;
            int client = begin (fixture, get);
            if (floods[i].name != NULL)
                admit (fixture, 0, 1, floods[i].name);
            else
                http_refuse (waiting (fixture, 0), 401, "because of the test");
            const char *answer = http_fixture_receive (fixture, client, "\r\n\r\n");
            if (j == 0)
                assert_non_null (strstr (answer, floods[i].first));
            if (j == floods[i].count - 1)
                assert_non_null (strstr (answer, floods[i].last));
            close (client);
        }
    }
    /* Requests without a name are limited per address.  The refusal tells how to sign, as the answer would. */
    const char *answer = "";
    for (int i = 0; i < 60; i++)
        answer = http_fixture_ask (fixture, "GET /open HTTP/1.1\r\n" HEAD "\r\n");
    assert_non_null (strstr (answer, "HTTP/1.1 429 "));
    assert_non_null (strstr (answer, "WWW-Authenticate: Munge uid=5"));
}

static void checks_that_do_not_begin (void **state)
{
    struct http_fixture *fixture = *state;
    seen.code = -EAGAIN;
    assert_non_null (strstr (http_fixture_ask (fixture, get), "HTTP/1.1 503 "));
    seen.code = -EACCES;
    const char *answer = http_fixture_ask (fixture, get);
    assert_non_null (strstr (answer, "HTTP/1.1 401 "));
    assert_non_null (strstr (answer, "the check does not begin"));
    /* A body beyond the limit, a wrong type and an unknown parameter are refused before the check. */
    seen.code = 0;
    assert_non_null (strstr (http_fixture_ask (fixture, "POST /echo/a HTTP/1.1\r\n" SIGNED
                                                        "Content-Type: application/json\r\n"
                                                        "Content-Length: 1048577\r\n"
                                                        "Expect: 100-continue\r\n\r\n"),
                             "HTTP/1.1 413 "));
    assert_non_null (strstr (http_fixture_ask (fixture, "POST /echo/a HTTP/1.1\r\n" SIGNED
                                                        "Content-Length: 2\r\n\r\n{}"),
                             "HTTP/1.1 415 "));
    assert_non_null (strstr (
        http_fixture_ask (fixture, "GET /echo/a?x=1 HTTP/1.1\r\n" SIGNED "\r\n"), "HTTP/1.1 400 "));
    assert_int_equal (seen.count, 0);
    /* Other words are no scheme. */
    assert_non_null (strstr (http_fixture_ask (fixture, "GET /echo/a HTTP/1.1\r\n" HEAD
                                                        "Authorization: MungeX y\r\n\r\n"),
                             "HTTP/1.1 401 "));
    assert_int_equal (seen.count, 0);
    assert_int_equal (fixture->handled, 0);
}

static const char long_post[] = "POST /echo/a HTTP/1.1\r\n" SIGNED
                                "Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{";

/* Without a valid credential, one address does not take the memory for all bodies. */
static void unchecked_bodies_have_a_limit (void **state)
{
    struct http_fixture *fixture = *state;
    int clients[3];
    http_server_free (fixture->server);
    fixture->options.limits.body_bytes = 1000;
    fixture->options.limits.bodies_bytes = 16000; /* 2000 for an address: two of these bodies */
    http_fixture_start (fixture);
    for (int i = 0; i < 2; i++)
        clients[i] = begin (fixture, long_post);
    clients[2] = begin_at (fixture, 1, long_post); /* another address */
    assert_int_equal (seen.count, 0);
    int refused = http_fixture_connect (fixture, 0);
    http_fixture_send (refused, long_post);
    for (int i = 0; i < 899; i++)
        http_fixture_send (refused, " ");
    assert_non_null (strstr (http_fixture_receive (fixture, refused, "}\n"), "HTTP/1.1 503 "));
    /* Others are served: with a token, and after one of the bodies has gone. */
    assert_non_null (strstr (http_fixture_ask (fixture, "POST /echo/o HTTP/1.1\r\n" HEAD
                                                        "Authorization: Bearer ann\r\n"
                                                        "Content-Type: application/json\r\n"
                                                        "Content-Length: 2\r\n\r\n{}"),
                             "by=ann/1"));
    close (clients[0]);
    http_fixture_run (fixture);
    close (begin (fixture, post));
    assert_int_equal (seen.count, 1);
    close (clients[1]);
    close (clients[2]);
    close (refused);
}

static void clients_may_leave (void **state)
{
    struct http_fixture *fixture = *state;
    int first = begin (fixture, get), second = begin (fixture, get);
    close (first);
    http_fixture_run (fixture);
    admit (fixture, 0, 1, "ann"); /* its answer is dropped */
    http_fixture_run (fixture);
    assert_null (waiting (fixture, 0));
    /* a server that stops refuses what waits */
    http_server_stop (fixture->server);
    assert_null (waiting (fixture, 1));
    assert_non_null (strstr (http_fixture_receive (fixture, second, "}\n"), "polluxd is stopping"));
    assert_int_equal (http_server_busy (fixture->server), 0);
    close (second);
}

static void a_server_ends_with_requests_that_wait (void **state)
{
    struct http_fixture *fixture = *state;
    int clients[3];
    for (int i = 0; i < 3; i++)
        clients[i] = begin (fixture, post);
    http_server_free (fixture->server);
    fixture->server = NULL;
    for (int i = 0; i < 3; i++)
        close (clients[i]);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (admitted_requests_reach_their_handlers, set_up,
                                         http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (refused_requests_do_not, set_up, http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (a_role_and_a_rate_count, set_up, http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (users_of_an_address_have_their_own_rates, set_up,
                                         http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (checks_that_do_not_begin, set_up, http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (unchecked_bodies_have_a_limit, set_up,
                                         http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (clients_may_leave, set_up, http_fixture_tear_down),
        cmocka_unit_test_setup_teardown (a_server_ends_with_requests_that_wait, set_up,
                                         http_fixture_tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
