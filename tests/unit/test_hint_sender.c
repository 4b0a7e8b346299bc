/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's requests against a real server, in one thread.  The clock is the test's: each turn takes a
 * millisecond, and `later` skips pauses. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "backend/hint_sender.h"
#include "base/clock.h"
#include "http/http.h"
#include "http/tls.h"
#include "wire/run.h"

struct fixture {
    char directory[64], address[96], url[160], secure_url[160];
    char cert[96], key[96];
    const char *listen[3];
    struct http_server *server;
    struct hint_sender *sender;
    struct hint_sender_options options;
    int epoll;
    int64_t now_us;
    int answer;          /* the status of the next answers */
    int refused;         /* the last status that the sender returned */
    char received[4096]; /* "KIND JOB TOKEN BODY\n" for each request */
    int count;
    int sign_code, signatures;
};

static void take (struct fixture *fixture, struct http_request *request, const char *kind)
{
    size_t length, used = strlen (fixture->received);
    const char *body = http_body (request, &length);
    const char *authorization = http_header (request, "Authorization");
    snprintf (fixture->received + used, sizeof (fixture->received) - used, "%s %s [%s] %.40s\n",
              kind, http_param (request, "job"), authorization ? authorization : "", body);
    fixture->count++;
    http_answer_text (request, fixture->answer, "application/json", "{}");
}

static void take_hints (void *self, struct http_request *request)
{
    take (self, request, "hints");
}

static void take_news (void *self, struct http_request *request)
{
    take (self, request, "news");
}

static const struct http_route routes[] = {
    {HTTP_POST, "/v1/jobs/{job}/hints", take_hints, 0, HTTP_JSON, NULL},
    {HTTP_POST, "/v1/jobs/{job}/runs", take_news, 0, HTTP_JSON, NULL},
};

/* Replace the files of the certificate, and read them. */
static struct tls make_certificate (const struct fixture *fixture, const char *name)
{
    struct tls tls;
    unlink (fixture->cert);
    assert_int_equal (tls_make (fixture->directory, &name, 1, clock_wall_us () / 1000000, NULL), 1);
    assert_int_equal (tls_read (fixture->cert, fixture->key, &tls, NULL), 0);
    return tls;
}

static int set_up (void **state)
{
    struct fixture *fixture = calloc (1, sizeof (*fixture));
    if (!fixture)
        return -1;
    *state = fixture;
    snprintf (fixture->directory, sizeof (fixture->directory), "%s/pollux-sender.XXXXXX",
              temporary_folder ());
    fixture->epoll = epoll_create1 (EPOLL_CLOEXEC);
    fixture->answer = 200;
    if (!mkdtemp (fixture->directory) || fixture->epoll < 0)
        return -1;
    snprintf (fixture->address, sizeof (fixture->address), "unix:%s/socket", fixture->directory);
    fixture->listen[0] = "127.0.0.1:0";
    fixture->listen[1] = fixture->address;
    fixture->listen[2] = "0.0.0.0:0";
    snprintf (fixture->cert, sizeof (fixture->cert), "%s/" TLS_CERT_NAME, fixture->directory);
    snprintf (fixture->key, sizeof (fixture->key), "%s/" TLS_KEY_NAME, fixture->directory);
    struct tls tls = make_certificate (fixture, "127.0.0.1");
    struct http_options options = {.listen = fixture->listen,
                                   .listen_count = 3,
                                   .tls = &tls,
                                   .routes = routes,
                                   .route_count = COUNT (routes),
                                   .self = fixture};
    if (http_server_new (&options, 0, &fixture->server, NULL) < 0)
        return -1;
    tls_clear (&tls);
    snprintf (fixture->secure_url, sizeof (fixture->secure_url), "https://127.0.0.1%s",
              strrchr (http_server_address (fixture->server, 2), ':'));
    snprintf (fixture->url, sizeof (fixture->url), "http://%s",
              http_server_address (fixture->server, 0));
    fixture->options = (struct hint_sender_options){.url = fixture->url,
                                                    .token = "t0ken",
                                                    .job = "resnet",
                                                    .deadline_ms = 100000,
                                                    .epoll = fixture->epoll,
                                                    .tag = 7};
    return 0;
}

static int tear_down (void **state)
{
    struct fixture *fixture = *state;
    hint_sender_free (fixture->sender);
    http_server_free (fixture->server);
    close (fixture->epoll);
    unlink (fixture->cert);
    unlink (fixture->key);
    rmdir (fixture->directory);
    free (fixture);
    return 0;
}

static void start (struct fixture *fixture)
{
    assert_int_equal (hint_sender_new (&fixture->options, &fixture->sender, NULL), 0);
}

/* One turn of both loops.  The sender is stepped only when its descriptor is ready or it is due. */
static void turn (struct fixture *fixture)
{
    struct epoll_event event;
    int64_t now_us = fixture->now_us += 1000;
    int ready = epoll_wait (fixture->epoll, &event, 1, 1);
    if (ready == 1)
        assert_int_equal (event.data.u64, 7);
    if (ready == 1 || hint_sender_due_us (fixture->sender) <= now_us) {
        int refused = hint_sender_step (fixture->sender, now_us);
        fixture->refused = refused ? refused : fixture->refused;
    }
    http_server_step (fixture->server, now_us);
}

/* Run until so many requests were received and no request is under way. */
static void run_until (struct fixture *fixture, int count)
{
    int64_t end_us = clock_monotonic_us () + 100 * INT64_C (1000000);
    while (fixture->count < count && clock_monotonic_us () < end_us)
        turn (fixture);
    for (int i = 0; i < 30; i++)
        turn (fixture);
    assert_int_equal (fixture->count, count);
}

static void later (struct fixture *fixture, double seconds)
{
    fixture->now_us += (int64_t)(seconds * 1e6);
}

static void offer (struct fixture *fixture, const char *text)
{
    hint_sender_offer (fixture->sender, text, strlen (text));
}

static void news (struct fixture *fixture, const char *text)
{
    assert_int_equal (hint_sender_add_news (fixture->sender, text, strlen (text)), 0);
}

/* ---- Tests ---- */

static void test_order (void **state)
{
    struct fixture *fixture = *state;
    start (fixture);
    assert_true (hint_sender_due_us (fixture->sender) == INT64_MAX);
    assert_false (hint_sender_flush (fixture->sender));
    offer (fixture, "{\"hints\":1}");
    news (fixture, "{\"news\":1}");
    news (fixture, "{\"news\":2}");
    offer (fixture, "{\"hints\":2}");
    run_until (fixture, 3);
    assert_string_equal (fixture->received, "news resnet [Bearer t0ken] {\"news\":1}\n"
                                            "news resnet [Bearer t0ken] {\"news\":2}\n"
                                            "hints resnet [Bearer t0ken] {\"hints\":2}\n");
    assert_int_equal (fixture->refused, 0);
    assert_true (hint_sender_due_us (fixture->sender) == INT64_MAX);
}

static void test_unix (void **state)
{
    struct fixture *fixture = *state;
    fixture->options.url = fixture->address;
    fixture->options.token = NULL;
    start (fixture);
    offer (fixture, "{}");
    run_until (fixture, 1);
    assert_string_equal (fixture->received, "hints resnet [] {}\n");
    /* Another one only after a second, but news at once. */
    offer (fixture, "{\"hints\":2}");
    run_until (fixture, 1);
    news (fixture, "{\"news\":1}");
    run_until (fixture, 2);
    later (fixture, 1);
    run_until (fixture, 3);
    offer (fixture, "{\"hints\":3}");
    assert_true (hint_sender_flush (fixture->sender));
    run_until (fixture, 4);
    assert_false (hint_sender_flush (fixture->sender));
}

/* No answer of the right kind: again after pauses of 1, 2, 4 seconds, news in order. */
static void test_retry (void **state)
{
    struct fixture *fixture = *state;
    start (fixture);
    fixture->answer = 503;
    news (fixture, "{\"news\":1}");
    offer (fixture, "{\"hints\":1}");
    run_until (fixture, 1);
    assert_false (hint_sender_flush (fixture->sender));
    later (fixture, 1);
    run_until (fixture, 2);
    offer (fixture, "{\"hints\":2}");
    later (fixture, 1);
    run_until (fixture, 2);
    fixture->answer = 204;
    later (fixture, 1);
    run_until (fixture, 4);
    assert_string_equal (fixture->received, "news resnet [Bearer t0ken] {\"news\":1}\n"
                                            "news resnet [Bearer t0ken] {\"news\":1}\n"
                                            "news resnet [Bearer t0ken] {\"news\":1}\n"
                                            "hints resnet [Bearer t0ken] {\"hints\":2}\n");
    assert_int_equal (fixture->refused, 0);
}

static void test_refused (void **state)
{
    struct fixture *fixture = *state;
    start (fixture);
    fixture->answer = 409;
    offer (fixture, "{\"hints\":0}");
    run_until (fixture, 1);
    assert_int_equal (fixture->refused, 409);
    assert_false (hint_sender_replaced (fixture->sender)); /* hints come from the replica */
    fixture->refused = 0;
    news (fixture, "{\"news\":1}");
    run_until (fixture, 2);
    assert_int_equal (fixture->refused, 409);
    assert_true (hint_sender_replaced (fixture->sender));
    assert_true (hint_sender_due_us (fixture->sender) == INT64_MAX);
    fixture->answer = 429;
    offer (fixture, "{\"hints\":1}");
    run_until (fixture, 3);
    later (fixture, 1);
    fixture->answer = 200;
    run_until (fixture, 4);
    assert_int_equal (fixture->refused, 409);
}

static int sign (void *self, const char *method, const char *target, const void *body,
                 size_t length, char *ret, size_t size)
{
    struct fixture *fixture = self;
    fixture->signatures++;
    if (fixture->sign_code < 0)
        return fixture->sign_code;
    snprintf (ret, size, "Munge %s %s %.*s", method, target, (int)length, (const char *)body);
    return 0;
}

static void test_sign (void **state)
{
    struct fixture *fixture = *state;
    fixture->options.sign = sign;
    fixture->options.self = fixture;
    fixture->sign_code = -ETIMEDOUT;
    start (fixture);
    offer (fixture, "{\"hints\":1}");
    run_until (fixture, 0);
    assert_int_equal (fixture->signatures, 1);
    fixture->sign_code = -EINPROGRESS;
    later (fixture, 1);
    run_until (fixture, 0);
    assert_in_range (fixture->signatures, 2, 100);
    fixture->sign_code = 0;
    run_until (fixture, 1);
    assert_string_equal (fixture->received,
                         "hints resnet [Munge POST /v1/jobs/resnet/hints {\"hints\":1}] "
                         "{\"hints\":1}\n");
}

/* No server: the pause grows to 30 s, and the latest hints arrive when there is one again. */
static void test_dead (void **state)
{
    struct fixture *fixture = *state;
    fixture->options.url = "http://127.0.0.1:1";
    start (fixture);
    news (fixture, "{\"news\":1}");
    for (int i = 0; i < 20; i++) {
        turn (fixture);
        later (fixture, 5);
    }
    for (int i = 0; i < 30; i++)
        turn (fixture);
    int64_t now_us = fixture->now_us;
    int64_t due_us = hint_sender_due_us (fixture->sender);
    assert_true (due_us > now_us);
    assert_true (due_us <= now_us + 30 * INT64_C (1000000));
    assert_false (hint_sender_flush (fixture->sender));
}

/* A server that accepts and says nothing: the request ends at its deadline, plain and in the handshake of TLS, and
 * the message is sent again.  Between, the sender has nothing to do. */
static void test_mute (void **state)
{
    struct fixture *fixture = *state;
    fixture->options.deadline_ms = 300;
    for (int i = 0; i < 2; i++) {
        int steps = 0;
        fixture->options.url = i == 0 ? fixture->url : fixture->secure_url;
        start (fixture);
        news (fixture, "{\"news\":1}");
        int64_t end_us = clock_monotonic_us () + 100 * INT64_C (1000000);
        while (hint_sender_flush (fixture->sender) && clock_monotonic_us () < end_us) {
            struct epoll_event event;
            int64_t now_us = clock_monotonic_us ();
            if (epoll_wait (fixture->epoll, &event, 1, 1) > 0 ||
                hint_sender_due_us (fixture->sender) <= now_us) {
                hint_sender_step (fixture->sender, now_us);
                steps++;
            }
        }
        assert_false (hint_sender_flush (fixture->sender));
        assert_true (hint_sender_due_us (fixture->sender) < INT64_MAX);
        assert_in_range (steps, 1, 100);
        hint_sender_free (fixture->sender);
        fixture->sender = NULL;
    }
}

/* With TLS, several messages on one connection; a new certificate, which the sender finds in its file. */
static void test_tls (void **state)
{
    struct fixture *fixture = *state;
    fixture->options.url = fixture->secure_url;
    fixture->options.ca = fixture->cert;
    start (fixture);
    news (fixture, "{\"news\":1}");
    news (fixture, "{\"news\":2}");
    offer (fixture, "{\"hints\":1}");
    run_until (fixture, 3);
    assert_int_equal (http_server_counts (fixture->server).accepted, 1);
    struct tls tls = make_certificate (fixture, "127.0.0.1");
    assert_int_equal (http_server_set_tls (fixture->server, &tls, NULL), 0);
    tls_clear (&tls);
    /* The old connection serves one more request, then it is closed. */
    news (fixture, "{\"news\":3}");
    run_until (fixture, 4);
    assert_int_equal (http_server_counts (fixture->server).accepted, 1);
    news (fixture, "{\"news\":4}");
    run_until (fixture, 5);
    assert_int_equal (http_server_counts (fixture->server).accepted, 2);
    assert_int_equal (http_server_counts (fixture->server).connections, 1);
}

/* A server whose certificate is not the pinned one, or is for another address, gets nothing. */
static void test_tls_stranger (void **state)
{
    struct fixture *fixture = *state;
    fixture->options.url = fixture->secure_url;
    fixture->options.ca = fixture->cert;
    struct tls tls = make_certificate (fixture, "127.0.0.1"); /* the server has the one before */
    tls_clear (&tls);
    start (fixture);
    news (fixture, "{\"news\":1}");
    for (int i = 0; i < 200; i++)
        turn (fixture);
    assert_int_equal (fixture->count, 0);
    assert_false (hint_sender_flush (fixture->sender));
    tls = make_certificate (fixture, "192.0.2.1");
    assert_int_equal (http_server_set_tls (fixture->server, &tls, NULL), 0);
    tls_clear (&tls);
    later (fixture, 30);
    for (int i = 0; i < 200; i++)
        turn (fixture);
    assert_int_equal (fixture->count, 0);
    assert_int_equal (http_server_counts (fixture->server).requests, 0);
    tls = make_certificate (fixture, "127.0.0.1");
    assert_int_equal (http_server_set_tls (fixture->server, &tls, NULL), 0);
    tls_clear (&tls);
    later (fixture, 30);
    run_until (fixture, 1);
}

static void test_limits (void **state)
{
    static char large[RUN_MESSAGE_LIMIT + 1];
    static const char *const wrong[] = {"", "ftp://127.0.0.1:1", "127.0.0.1:1", "unix:socket"};
    struct fixture *fixture = *state;
    start (fixture);
    memset (large, 'x', sizeof (large));
    assert_int_equal (hint_sender_add_news (fixture->sender, large, sizeof (large)), -EFBIG);
    for (int i = 0; i < 16; i++)
        news (fixture, "{}");
    assert_int_equal (hint_sender_add_news (fixture->sender, "{}", 2), -ENOBUFS);
    run_until (fixture, 16);
    for (size_t i = 0; i < COUNT (wrong); i++) {
        struct hint_sender *sender = NULL;
        struct hint_sender_options options = fixture->options;
        options.url = wrong[i];
        assert_int_equal (hint_sender_new (&options, &sender, NULL), -EINVAL);
        assert_null (sender);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_unix, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_retry, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_sign, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_dead, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_mute, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_tls, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_tls_stranger, set_up, tear_down),
        cmocka_unit_test_setup_teardown (test_limits, set_up, tear_down),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
