/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the HTTP server that need no socket: targets and patterns, checks of headers,
 * addresses, token buckets, and the queue of deadlines against a plain list.  (With sockets:
 * test_http_server.c, test_http_hostile.c, test_http_stream.c.)
 */
#include "unit.h"

#include <errno.h>
#include <netinet/in.h>

#include "http/rate_limit.h"
#include "http/header_check.h"
#include "http/deadline.h"
#include "http/listen.h"
#include "http/target.h"

static void test_decode (void **state)
{
    static const struct {
        const char *text, *decoded; /* NULL: refused */
    } cases[] = {
        {"", ""},         {"abc", "abc"},     {"a%41", "aA"},   {"%c3%A9", "\xc3\xa9"},
        {"%", NULL},      {"%4", NULL},       {"%4g", NULL},    {"%g4", NULL},
        {"%00", NULL},    {"a%0ab", NULL},    {"\x7f", NULL},   {"%c3", NULL},
        {"%ff", NULL},    {"\xc3\x28", NULL}, {"%2541", "%41"}, {"%ed%a0%80", NULL},
        {"%c0%af", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        char text[64];
        strcpy (text, cases[i].text);
        bool ok = target_decode (text, strlen (text), false);
        assert_int_equal (ok, cases[i].decoded != NULL);
        if (ok)
            assert_string_equal (text, cases[i].decoded);
    }
    char plus[] = "a+b%2bc";
    assert_true (target_decode (plus, strlen (plus), true));
    assert_string_equal (plus, "a b+c");
}

static void test_targets (void **state)
{
    static const char *const refused[] = {
        "",
        "a",
        "*",
        "http://a/b",
        "//",
        "/a//b",
        "/a/",
        "/.",
        "/a/..",
        "/a/../b",
        "/a/%2e%2e/b",
        "/a/%2E%2e",
        "/a%2fb",
        "/a%00b",
        "/a%",
        "/a?b=%zz",
        "/a?=1",
        "/a?b=1&b=2",
        "/a?b&%62",
        "/1/2/3/4/5/6/7/8/9",
        "/a?%0a=1",
        "/a?1&2&3&4&5&6&7&8&9&10&11&12&13&14&15&16&17",
    };
    struct target target;
    struct pollux_error err;
    (void)state;
    for (size_t i = 0; i < COUNT (refused); i++) {
        char text[128];
        strcpy (text, refused[i]);
        err.text[0] = '\0';
        assert_false (target_parse (text, &target, &err));
        assert_string_not_equal (err.text, "");
    }
    char longest[HTTP_PARAM_SIZE + 2];
    memset (longest, 'a', sizeof (longest));
    longest[0] = '/';
    longest[HTTP_PARAM_SIZE] = '\0';
    assert_true (target_parse (longest, &target, NULL));
    memset (longest, 'a', sizeof (longest));
    longest[0] = '/';
    longest[HTTP_PARAM_SIZE + 1] = '\0';
    assert_false (target_parse (longest, &target, NULL));

    char text[] = "/v1/jobs/caf%C3%A9%20x/limits?a=1&&b=x%26y+z&c&d=";
    assert_true (target_parse (text, &target, NULL));
    assert_int_equal (target.segment_count, 4);
    assert_string_equal (target.segments[2], "caf\xc3\xa9 x");
    assert_string_equal (target_query (&target, "a"), "1");
    assert_string_equal (target_query (&target, "b"), "x&y z");
    assert_string_equal (target_query (&target, "c"), "");
    assert_string_equal (target_query (&target, "d"), "");
    assert_null (target_query (&target, "e"));
    assert_string_equal (target_unknown (&target, "a b d"), "c");
    assert_string_equal (target_unknown (&target, NULL), "a");
    assert_null (target_unknown (&target, " d  c b a"));
    assert_true (target_matches (&target, "/v1/jobs/{name}/limits"));
    assert_false (target_matches (&target, "/v1/jobs/{name}"));
    assert_false (target_matches (&target, "/v1/jobs/{name}/limits/x"));
    assert_false (target_matches (&target, "/v1/job/{name}/limits"));
    assert_false (target_matches (&target, "/v1/jobss/{name}/limits"));
    assert_false (target_matches (&target, "/"));
    assert_string_equal (target_param (&target, "/v1/jobs/{name}/limits", "name"), "caf\xc3\xa9 x");
    assert_null (target_param (&target, "/v1/jobs/{name}/limits", "jobs"));
    assert_null (target_param (&target, "/v1/jobs/{name}/limits", "nam"));
    char root[] = "/?a";
    assert_true (target_parse (root, &target, NULL));
    assert_true (target_matches (&target, "/"));
    assert_false (target_matches (&target, "/a"));
}

static void test_patterns (void **state)
{
    static const char *const good[] = {"/", "/a", "/v1/jobs/{name}/x-y.z_", "/{a}/{b}"};
    static const char *const bad[] = {"", "a", "//", "/a/", "/{}", "/{a", "/a}", "/x{a}", "/a b"};
    (void)state;
    for (size_t i = 0; i < COUNT (good); i++)
        assert_true (target_is_pattern (good[i]));
    for (size_t i = 0; i < COUNT (bad); i++)
        assert_false (target_is_pattern (bad[i]));
}

static void test_hosts (void **state)
{
    static const char *const names[] = {"pollux.example", "gpu1"};
    static const char *const good[] = {
        "localhost",  "LocalHost:7467", "127.0.0.1",        "127.0.0.1:1", "127.1.2.3",  "[::1]",
        "[::1]:7467", "10.0.0.5:7467",  "pollux.example:1", "GPU1",        "localhost:",
    };
    static const char *const bad[] = {
        "",
        ":7467",
        "evil.example",
        "localhost.evil.example",
        "10.0.0.6",
        "::1",
        "[::1",
        "[::1]x",
        "localhost:a",
        "localhost:1234567",
        "gpu1.evil",
        "127.0.0.1.nip.io",
        "[]",
        "128.0.0.1",
        "localhost:80:80",
        "xlocalhost",
        " localhost",
    };
    (void)state;
    for (size_t i = 0; i < COUNT (good); i++)
        assert_true (check_host (good[i], "10.0.0.5", names, 2));
    for (size_t i = 0; i < COUNT (bad); i++)
        assert_false (check_host (bad[i], "10.0.0.5", names, 2));
    char long_one[600];
    memset (long_one, 'a', sizeof (long_one));
    long_one[sizeof (long_one) - 1] = '\0';
    assert_false (check_host (long_one, "", names, 2));
}

static void test_sites (void **state)
{
    static const struct {
        const char *origin, *site;
        bool ok;
    } cases[] = {
        {NULL, NULL, true},
        {NULL, "same-origin", true},
        {NULL, "none", true},
        {NULL, "same-site", false},
        {NULL, "cross-site", false},
        {NULL, "", false},
        {"http://localhost:7467", NULL, true},
        {"https://localhost:7467", "same-origin", true},
        {"http://localhost:7467", "cross-site", false},
        {"http://localhost:8000", NULL, false},
        {"http://localhost", NULL, false},
        {"http://localhost:7467.evil", NULL, false},
        {"http://evil.example", NULL, false},
        {"null", NULL, false},
        {"", NULL, false},
        {"ftp://localhost:7467", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT (cases); i++)
        assert_int_equal (check_site (cases[i].origin, cases[i].site, "localhost:7467"),
                          cases[i].ok);
}

static void test_page_headers (void **state)
{
    static const struct {
        const char *origin, *mode, *destination;
        bool ok;
    } opens[] = {
        {NULL, "navigate", "document", true}, {NULL, "navigate", "iframe", false},
        {NULL, "navigate", NULL, false},      {NULL, "cors", "empty", false},
        {NULL, NULL, "document", false},      {"http://a", "navigate", "document", false},
    };
    static const struct {
        const char *accept;
        bool ok;
    } codings[] = {
        {NULL, false},
        {"", false},
        {"gzip", true},
        {"GZip", true},
        {"deflate, gzip;q=1.0, *;q=0.5", true},
        {"br , x-gzip", true},
        {"gzip;q=0.001", true},
        {"gzip; q=0", false},
        {"gzip;q=0.000, *", false},
        {"*", true},
        {"*;q=0", false},
        {"*;q=0, gzip", true},
        {"br,,", false},
        {"gzipx", false},
        {"identity;q=1", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT (opens); i++)
        assert_int_equal (check_opens_page (opens[i].origin, opens[i].mode, opens[i].destination),
                          opens[i].ok);
    for (size_t i = 0; i < COUNT (codings); i++)
        if (check_gzip (codings[i].accept) != codings[i].ok)
            fail_msg ("Accept-Encoding: %s", codings[i].accept);
    assert_true (check_tag ("\"a\"", "\"a\""));
    assert_true (check_tag ("\"b\", W/\"a\"", "\"a\""));
    assert_true (check_tag ("*", "\"a\""));
    assert_false (check_tag ("\"ab\"", "\"a\""));
    assert_false (check_tag (NULL, "\"a\""));
}

static void test_types (void **state)
{
    (void)state;
    assert_int_equal (check_type ("application/json"), HTTP_JSON);
    assert_int_equal (check_type ("Application/JSON; charset=utf-8"), HTTP_JSON);
    assert_int_equal (check_type ("application/yaml"), HTTP_YAML);
    assert_int_equal (check_type ("application/x-yaml;x"), HTTP_YAML);
    assert_int_equal (check_type ("text/plain"), 0);
    assert_int_equal (check_type ("application/jsonx"), 0);
    assert_int_equal (check_type ("application/jso"), 0);
    assert_int_equal (check_type (""), 0);
    assert_string_equal (check_bearer ("Bearer x"), "x");
    assert_string_equal (check_bearer ("bearer   x y"), "x y");
    assert_null (check_bearer ("Bearer "));
    assert_null (check_bearer ("Bearer"));
    assert_null (check_bearer ("Basic x"));
    assert_null (check_bearer (NULL));
}

static void test_addresses (void **state)
{
    static const struct {
        const char *text;
        int family; /* 0: refused */
    } cases[] = {
        {"127.0.0.1:7467", AF_INET},
        {"0.0.0.0:0", AF_INET},
        {"localhost:1", AF_INET},
        {"[::1]:7467", AF_INET6},
        {"[::]:65535", AF_INET6},
        {"unix:/run/x.sock", AF_UNIX},
        {"", 0},
        {"7467", 0},
        {":7467", 0},
        {"127.0.0.1", 0},
        {"127.0.0.1:", 0},
        {"127.0.0.1:65536", 0},
        {"127.0.0.1:-1", 0},
        {"127.0.0.1:1x", 0},
        {"::1:7467", 0},
        {"[::1]", 0},
        {"[::1:7467", 0},
        {"[127.0.0.1]:1", 0},
        {"example.org:80", 0},
        {"unix:relative", 0},
        {"unix:", 0},
        {"127.0.0.1:99999999999999999999", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct address address;
        struct pollux_error err;
        int code = address_parse (cases[i].text, &address, &err);
        assert_int_equal (code, cases[i].family != 0 ? 0 : -EINVAL);
        if (code == 0)
            assert_int_equal (address.sockaddr.ss_family, cases[i].family);
    }
    char path[200] = "unix:/";
    memset (path + 6, 'x', 150);
    assert_int_equal (address_parse (path, &(struct address){.length = 0}, NULL), -EINVAL);
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};
    mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
    mapped.sin6_addr.s6_addr[12] = 127;
    mapped.sin6_addr.s6_addr[15] = 1;
    assert_string_equal (address_host ((struct sockaddr *)&mapped).text, "127.0.0.1");
}

static void test_buckets (void **state)
{
    struct rate_limit *buckets = rate_limit_new (10, 5, 42);
    int64_t now_us = 7;
    (void)state;
    assert_non_null (buckets);
    for (int i = 0; i < 5; i++)
        assert_true (rate_limit_take (buckets, "a", 1, now_us));
    assert_false (rate_limit_take (buckets, "a", 1, now_us));
    assert_true (rate_limit_take (buckets, "b", 1, now_us));
    assert_false (rate_limit_take (buckets, "a", 1, now_us + 99999));
    assert_true (rate_limit_take (buckets, "a", 1, now_us + 100001));
    assert_false (rate_limit_take (buckets, "a", 1, now_us + 100001));
    assert_false (rate_limit_take (buckets, "a", 1, now_us)); /* an earlier time adds no tokens */
    now_us += 1000 * 1000 * 1000;
    for (int i = 0; i < 5; i++) /* never more than the burst */
        assert_true (rate_limit_take (buckets, "a", 1, now_us));
    assert_false (rate_limit_take (buckets, "a", 1, now_us));
    /* With any number of clients, one within the rate is never refused. */
    for (uint32_t i = 0; i < 10 * RATE_LIMIT_BUCKETS; i++)
        assert_true (rate_limit_take (buckets, &i, sizeof (i), now_us));
    assert_true (rate_limit_take (buckets, "fresh", 5, now_us));
    rate_limit_free (buckets);
}

static void test_deadlines (void **state)
{
    enum { N = 60 };
    struct deadline deadlines[N] = {{.due_us = 0}};
    struct deadlines queue = {.heap = NULL};
    struct rng rng = rng_seed (5);
    (void)state;
    assert_int_equal (deadlines_reserve (&queue, N), 0);
    assert_null (deadlines_first (&queue));
    for (int round = 0; round < soak_count (200000); round++) {
        struct deadline *some = &deadlines[rng_below (&rng, N)];
        if (rng_below (&rng, 3) == 0)
            deadline_clear (&queue, some);
        else
            deadline_set (&queue, some, (int64_t)rng_below (&rng, 1000));
        const struct deadline *first = NULL;
        for (int i = 0; i < N; i++)
            if (deadlines[i].place != 0 && (first == NULL || deadlines[i].due_us < first->due_us))
                first = &deadlines[i];
        const struct deadline *found = deadlines_first (&queue);
        assert_int_equal (found != NULL, first != NULL);
        if (found != NULL)
            assert_int_equal (found->due_us, first->due_us);
    }
    deadlines_clear (&queue);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_decode),   cmocka_unit_test (test_targets),
        cmocka_unit_test (test_patterns), cmocka_unit_test (test_hosts),
        cmocka_unit_test (test_sites),    cmocka_unit_test (test_page_headers),
        cmocka_unit_test (test_types),    cmocka_unit_test (test_addresses),
        cmocka_unit_test (test_buckets),  cmocka_unit_test (test_deadlines),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
