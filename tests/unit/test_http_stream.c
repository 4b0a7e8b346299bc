/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: chunks as they are pushed, both kinds of end, clients that disconnect in every state,
 * and clients that read too slowly.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "http_fixture.h"

#define HOST "Host: localhost\r\n"
#define STREAM(who) "GET /stream HTTP/1.1\r\n" HOST "Authorization: Bearer " who "\r\n\r\n"

static int open_stream (struct http_fixture *fixture, int address)
{
    int client = http_fixture_connect (fixture, address);
    http_fixture_send (client, STREAM ("ann"));
    http_fixture_receive (fixture, client, "\r\n\r\n");
    assert_non_null (fixture->stream);
    return client;
}

static void test_chunks (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = open_stream (fixture, 0);
    assert_non_null (strstr (fixture->received, "Content-Type: text/event-stream\r\n"));
    assert_non_null (strstr (fixture->received, "Transfer-Encoding: chunked\r\n"));
    assert_int_equal (http_server_counts (fixture->server).streams, 1);
    assert_true (http_server_due_us (fixture->server) == INT64_MAX); /* it may be silent */
    for (int i = 0; i < 20; i++) {
        assert_int_equal (http_stream_push (fixture->stream, "data: x\n\n", 9), 0);
        assert_true (http_server_due_us (fixture->server) < fixture->now_us);
        assert_string_equal (http_fixture_receive (fixture, client, "x\n\n\r\n"),
                             "9\r\ndata: x\n\n\r\n");
        assert_int_equal (fixture->drained, i + 1);
        fixture->now_us += 1000LL * 1000000;
    }
    http_stream_push (fixture->stream, "bye", 3);
    http_stream_end (fixture->stream);
    assert_string_equal (http_fixture_receive (fixture, client, "0\r\n\r\n"),
                         "3\r\nbye\r\n0\r\n\r\n");
    assert_int_equal (fixture->gone, 0);
    assert_int_equal (http_server_counts (fixture->server).streams, 0);
    /* The connection can be used for another request. */
    http_fixture_send (client, "GET /open HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_receive (fixture, client, "open");
    close (client);
}

/* Decompress what came behind the head of an answer; whole: to its end, where the sum is compared. */
static void expand (const struct http_fixture *fixture, bool whole, char *ret, size_t size)
{
    const char *body = strstr (fixture->received, "\r\n\r\n");
    assert_non_null (body);
    size_t length = fixture->received_length - (size_t)(body + 4 - fixture->received);
    z_stream stream = {.next_in = (Bytef *)body + 4,
                       .avail_in = (uInt)length,
                       .next_out = (Bytef *)ret,
                       .avail_out = (uInt)size - 1};
    assert_int_equal (inflateInit2 (&stream, 15 + 16), Z_OK);
    assert_int_equal (inflate (&stream, Z_SYNC_FLUSH), whole ? Z_STREAM_END : Z_OK);
    ret[stream.total_out] = '\0';
    assert_int_equal (stream.avail_in, 0);
    inflateEnd (&stream);
}

/* Two clients get the same packets, one of them compressed. */
static void test_packets (void **state)
{
#define PACKETS "GET /packets HTTP/1.0\r\n" HOST "Authorization: Bearer ann\r\n"
    enum { LARGE = 300000 };
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int plain = http_fixture_connect (fixture, 0), packed = http_fixture_connect (fixture, 0);
    http_fixture_send (plain, PACKETS "\r\n");
    http_fixture_receive (fixture, plain, "\r\n\r\n");
    assert_null (strstr (fixture->received, "Content-Encoding"));
    struct http_stream *first = fixture->stream;
    http_fixture_send (packed, PACKETS "Accept-Encoding: gzip, br\r\n\r\n");
    while (fixture->opened < 2)
        http_fixture_run (fixture);
    struct http_stream *second = fixture->stream;
    char *large = malloc (LARGE + 1), *text = malloc (2 * LARGE + 1);
    memset (large, 'y', LARGE);
    large[LARGE] = '\0';
    struct http_packet *packets[] = {http_packet_new (strdup ("data: one\n\n"), 11),
                                     http_packet_new (strdup (large), LARGE)};
    assert_null (http_packet_new (NULL, 3));
    assert_int_equal (http_stream_push (first, "x", 1), -ENOBUFS);
    assert_int_equal (http_stream_send (first, packets[0]), 0);
    assert_int_equal (http_stream_send (second, packets[0]), 0);
    assert_string_equal (http_fixture_receive (fixture, plain, "\n\n"), "data: one\n\n");
    http_fixture_poll (fixture, packed);
    assert_non_null (strstr (fixture->received, "Content-Encoding: gzip\r\n"));
    assert_non_null (strstr (fixture->received, "Vary: Accept-Encoding\r\n"));
    expand (fixture, false, text, 2 * LARGE + 1); /* a packet can be read as soon as it has come */
    assert_string_equal (text, "data: one\n\n");
    assert_false (http_stream_is_busy (first));
    for (int i = 0; i < HTTP_PACKETS_MAX; i++)
        assert_int_equal (http_stream_send (first, packets[1]), 0);
    assert_int_equal (http_stream_send (first, packets[1]), -ENOBUFS);
    assert_true (http_stream_is_busy (first));
    for (int i = 0; i < 2; i++)
        http_packet_free (packets[i]);
    http_stream_end (first);
    http_stream_end (second);
    close (plain);
    /* The whole of a compressed stream. */
    close (packed);
    packed = http_fixture_connect (fixture, 0);
    http_fixture_send (packed, PACKETS "Accept-Encoding: gzip\r\n\r\n");
    while (fixture->opened < 3)
        http_fixture_run (fixture);
    struct http_packet *again = http_packet_new (strdup (large), LARGE);
    assert_int_equal (http_stream_send (fixture->stream, again), 0);
    assert_int_equal (http_stream_send (fixture->stream, again), 0);
    http_packet_free (again);
    http_stream_end (fixture->stream);
    http_fixture_receive (fixture, packed, NULL);
    assert_true (fixture->received_length < 10000);
    expand (fixture, true, text, 2 * LARGE + 1);
    assert_int_equal (strspn (text, "y"), 2 * LARGE);
    close (packed);
    free (large);
    free (text);
}

static void test_json (void **state)
{
    struct http_fixture *fixture = *state;
    char text[6000];
    http_fixture_start (fixture);
    const char *answer =
        http_fixture_ask (fixture, "GET /json HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\n\r\n");
    assert_non_null (strstr (answer, "Content-Encoding: gzip\r\n"));
    assert_non_null (strstr (answer, "Vary: Accept-Encoding\r\n"));
    assert_true (fixture->received_length < 500);
    expand (fixture, true, text, sizeof (text));
    assert_int_equal (strlen (text), 5000);
    answer = http_fixture_ask (fixture, "GET /json HTTP/1.1\r\n" HOST "\r\n");
    assert_null (strstr (answer, "Content-Encoding"));
    assert_non_null (strstr (answer, "Content-Length: 5000\r\n"));
}

static void test_old_client (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /stream HTTP/1.0\r\n" HOST "Authorization: Bearer ann\r\n\r\n");
    http_fixture_receive (fixture, client, "\r\n\r\n");
    assert_null (strstr (fixture->received, "chunked"));
    http_stream_push (fixture->stream, "words", 5);
    http_fixture_receive (fixture, client, "words");
    http_stream_end (fixture->stream);
    http_fixture_receive (fixture, client, NULL);
    assert_int_equal (fixture->gone, 0);
    close (client);
}

static void test_drop (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    int client = open_stream (fixture, 0);
    http_stream_push (fixture->stream, "half a sen", 10);
    http_stream_drop (fixture->stream);
    http_fixture_receive (fixture, client, NULL);
    assert_null (strstr (fixture->received, "\r\n0\r\n")); /* no regular end of the stream */
    assert_int_equal (fixture->gone, 0);
    assert_int_equal (http_server_counts (fixture->server).streams, 0);
    close (client);
}

/* The client disconnects: while the stream is silent, with unread bytes, half closed, by a reset,
 * and before it has received anything. */
static void test_client_disconnects (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    for (int i = 0; i < 9; i++) {
        int client;
        if (i < 8) {
            client = open_stream (fixture, i % 2);
        } else {
            client = http_fixture_connect (fixture, 0);
            http_fixture_send (client, STREAM ("ann"));
        }
        if (i / 2 == 1)
            http_stream_push (fixture->stream, "unread", 6);
        if (i / 2 == 2)
            shutdown (client, SHUT_WR);
        if (i / 2 == 3) {
            struct linger reset = {.l_onoff = 1, .l_linger = 0};
            setsockopt (client, SOL_SOCKET, SO_LINGER, &reset, sizeof (reset));
        }
        if (i / 2 != 2)
            close (client);
        for (int turns = 0; turns < 1000 && fixture->gone == i; turns++) {
            http_fixture_run (fixture);
            usleep (100);
        }
        assert_int_equal (fixture->opened, i + 1);
        assert_int_equal (fixture->gone, i + 1);
        assert_null (fixture->stream);
        if (i / 2 == 2)
            close (client);
    }
    http_fixture_run (fixture);
    assert_int_equal (http_server_counts (fixture->server).streams, 0);
    assert_int_equal (http_server_counts (fixture->server).connections, 0);
}

/* One client disconnects while a chunk is pushed to another, and requests of a third keep the
 * server busy, so that the step may end before the first stream is removed.  All such orders are
 * tried. */
static void test_one_of_two_disconnects (void **state)
{
    struct http_fixture *fixture = *state;
    http_fixture_start (fixture);
    for (int round = 0; round < 96; round++) {
        int first = open_stream (fixture, 0), second = open_stream (fixture, 1);
        struct http_stream *stays = fixture->stream;
        int busy = http_fixture_connect (fixture, 0);
        for (int i = 0; i < round % 24; i++)
            http_fixture_send (busy, "GET /open HTTP/1.1\r\n" HOST "\r\n");
        close (first);
        for (int i = 0; i < round / 24; i++)
            http_server_step (fixture->server, fixture->now_us);
        http_stream_push (stays, "stays", 5);
        http_fixture_receive (fixture, second, "stays");
        http_stream_end (stays);
        http_fixture_receive (fixture, second, "0\r\n\r\n");
        for (int turns = 0; turns < 1000 && fixture->gone <= round; turns++) {
            http_fixture_run (fixture);
            usleep (100);
        }
        assert_int_equal (fixture->gone, round + 1);
        close (second);
        close (busy);
    }
}

/* The client does not read: the buffer fills, and after a minute without progress the client is
 * disconnected. */
static void test_no_reader (void **state)
{
    struct http_fixture *fixture = *state;
    char block[10000];
    memset (block, 'x', sizeof (block));
    fixture->options.limits.stream_bytes = 100000;
    http_fixture_start (fixture);
    int client = open_stream (fixture, 0), small = 1000;
    setsockopt (client, SOL_SOCKET, SO_RCVBUF, &small, sizeof (small));
    assert_int_equal (http_stream_room (fixture->stream), 100000);
    size_t pushed = 0;
    int code;
    while ((code = http_stream_push (fixture->stream, block, sizeof (block))) == 0) {
        pushed += sizeof (block);
        http_fixture_run (fixture);
        assert_true (pushed < 100u << 20);
    }
    assert_int_equal (code, -ENOBUFS);
    assert_true (http_stream_room (fixture->stream) < sizeof (block));
    int64_t due_us = http_server_due_us (fixture->server);
    assert_true (due_us > fixture->now_us && due_us <= fixture->now_us + 60 * 1000000);
    fixture->now_us = due_us - 1;
    http_fixture_run (fixture);
    assert_int_equal (fixture->gone, 0);
    fixture->now_us = due_us;
    http_fixture_run (fixture);
    assert_int_equal (fixture->gone, 1);
    close (client);
}

/* A slow reader that makes progress every minute stays connected, and receives all bytes once and
 * in order. */
static void test_slow_reader (void **state)
{
    enum { TOTAL = 6 << 20, PIECE = 256 << 10 };
    struct http_fixture *fixture = *state;
    unsigned char block[5003], *got = malloc (PIECE);
    size_t pushed = 0, received = 0;
    fixture->options.limits.stream_bytes = 60000;
    http_fixture_start (fixture);
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, "GET /stream HTTP/1.0\r\n" HOST "Authorization: Bearer ann\r\n\r\n");
    http_fixture_receive (fixture, client, "\r\n\r\n");
    while (received < TOTAL) {
        for (;;) {
            size_t length = pushed + sizeof (block) <= TOTAL ? sizeof (block) : TOTAL - pushed;
            for (size_t i = 0; i < length; i++)
                block[i] = (unsigned char)((pushed + i) % 251);
            if (length == 0 || http_stream_push (fixture->stream, block, length) < 0)
                break;
            pushed += length;
            http_fixture_run (fixture);
        }
        ssize_t length = recv (client, got, PIECE, MSG_DONTWAIT);
        for (ssize_t i = 0; i < length; i++)
            assert_int_equal (got[i], (received + (size_t)i) % 251);
        received += length > 0 ? (size_t)length : 0;
        if (length > 0) /* otherwise the bytes are on their way, on a busy machine */
            fixture->now_us += 20 * 1000000;
        http_fixture_run (fixture);
        assert_int_equal (fixture->gone, 0);
    }
    http_stream_end (fixture->stream);
    http_fixture_receive (fixture, client, NULL);
    close (client);
    free (got);
}

static void test_limits (void **state)
{
    struct http_fixture *fixture = *state;
    int clients[4];
    fixture->options.limits.streams = 4;
    fixture->options.limits.streams_per_name = 3;
    http_fixture_start (fixture);
    for (size_t i = 0; i < 3; i++)
        clients[i] = open_stream (fixture, 0);
    int client = http_fixture_connect (fixture, 0);
    http_fixture_send (client, STREAM ("ann"));
    http_fixture_receive (fixture, client, "HTTP/1.1 429 ");
    clients[3] = http_fixture_connect (fixture, 0);
    http_fixture_send (clients[3], STREAM ("eve"));
    http_fixture_receive (fixture, clients[3], "HTTP/1.1 200 ");
    http_fixture_send (client, STREAM ("eve"));
    http_fixture_receive (fixture, client, "HTTP/1.1 503 ");
    close (clients[0]);
    while (fixture->gone == 0)
        http_fixture_run (fixture);
    http_fixture_send (client, STREAM ("ann"));
    http_fixture_receive (fixture, client, "HTTP/1.1 200 ");
    assert_int_equal (fixture->opened, 5);
    close (client);
    for (size_t i = 1; i < 4; i++)
        close (clients[i]);
}

int main (void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown (name, http_fixture_set_up, http_fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (test_chunks),
        TEST (test_packets),
        TEST (test_json),
        TEST (test_old_client),
        TEST (test_drop),
        TEST (test_client_disconnects),
        TEST (test_one_of_two_disconnects),
        TEST (test_no_reader),
        TEST (test_slow_reader),
        TEST (test_limits),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
