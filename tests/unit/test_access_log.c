/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access log: what is in a line and what never is, its level, and the limit of lines for clients
 * without a token.
 */
#include "unit.h"
#include "api/tokens.h"
#include "daemon/access_log.h"

#include <jansson.h>
#include <unistd.h>

static const struct http_route read_route = {.method = HTTP_GET, .pattern = "/v1/jobs"};
static const struct http_route cancel_route = {.method = HTTP_POST,
                                               .pattern = "/v1/jobs/{name}/cancel"};
static const struct http_route report_route = {
    .method = HTTP_POST, .pattern = "/v1/jobs/{name}/hints", .flags = HTTP_FREQUENT};
static const struct http_identity ann = {.role = ROLE_USER, .name = "ann"};
static const struct http_identity unknown = {0};

/* What is written about these requests, which all come at one time. */
static const char *lines_of (struct logger logger, struct access_log *log,
                             const struct http_access *access, int count, int64_t now_us)
{
    static char lines[65536];
    int ends[2];
    assert_int_equal (pipe (ends), 0);
    logger.fd = ends[1];
    for (int i = 0; i < count; i++)
        access_log_write (log, &logger, access, now_us);
    close (ends[1]);
    ssize_t length = read (ends[0], lines, sizeof (lines) - 1);
    close (ends[0]);
    lines[length > 0 ? length : 0] = '\0';
    return lines;
}

static void a_line_tells_who_did_what (void **state)
{
    (void)state;
    struct access_log log = {0};
    struct http_access access = {.identity = &ann,
                                 .peer = "127.0.0.1",
                                 .method = "POST",
                                 .route = &cancel_route,
                                 .path = "/v1/jobs/a/cancel",
                                 .status = 202,
                                 .seconds = 0.25};
    struct logger plain = {.level = LOG_INFO, .format = LOG_JOURNALD};
    assert_string_equal (lines_of (plain, &log, &access, 1, 1),
                         "<6>request who=ann role=user from=127.0.0.1 method=POST "
                         "route=/v1/jobs/{name}/cancel path=/v1/jobs/a/cancel status=202 "
                         "seconds=0.25\n");
    struct logger json = {.level = LOG_INFO, .format = LOG_JSON};
    json_t *line = json_loads (lines_of (json, &log, &access, 1, 1), 0, NULL);
    assert_non_null (line);
    assert_string_equal (json_string_value (json_object_get (line, "who")), "ann");
    assert_string_equal (json_string_value (json_object_get (line, "from")), "127.0.0.1");
    assert_true (json_number_value (json_object_get (line, "status")) == 202);
    json_decref (line);
}

static void levels_follow_from_route_and_status (void **state)
{
    (void)state;
    static const struct {
        const struct http_route *route;
        int status;
        bool info; /* else debug */
    } cases[] = {
        {&read_route, 200, false},  {&read_route, 401, true},   {&report_route, 202, false},
        {&report_route, 409, true}, {&cancel_route, 202, true}, {NULL, 404, true},
        {&cancel_route, 403, true}, {&read_route, 503, true},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct access_log log = {0};
        struct http_access access = {.identity = &ann,
                                     .peer = "unix",
                                     .method = "GET",
                                     .route = cases[i].route,
                                     .path = "/",
                                     .status = cases[i].status};
        struct logger info = {.level = LOG_INFO}, debug = {.level = LOG_DEBUG};
        assert_int_equal (cases[i].info, lines_of (info, &log, &access, 1, 1)[0] != '\0');
        assert_int_equal (true, lines_of (debug, &log, &access, 1, 1)[0] != '\0');
    }
}

static int count_lines (const char *text)
{
    int count = 0;
    for (; (text = strchr (text, '\n')) != NULL; text++)
        count++;
    return count;
}

static void clients_without_a_token_are_limited (void **state)
{
    (void)state;
    struct access_log log = {0};
    struct logger logger = {.level = LOG_INFO, .format = LOG_JOURNALD};
    struct http_access access = {.identity = &unknown,
                                 .peer = "10.0.0.1",
                                 .method = "GET",
                                 .route = &read_route,
                                 .path = "/v1/jobs",
                                 .status = 401};
    const char *lines = lines_of (logger, &log, &access, ACCESS_LOG_UNKNOWN_LINES + 7, 5000000);
    assert_int_equal (ACCESS_LOG_UNKNOWN_LINES, count_lines (lines));
    assert_non_null (strstr (lines, "who=- role=- from=10.0.0.1"));
    lines = lines_of (logger, &log, &access, 1, 5999999);
    assert_string_equal ("", lines);
    lines = lines_of (logger, &log, &access, 1, 6000000);
    assert_int_equal (2, count_lines (lines));
    assert_non_null (strstr (lines, "<4>requests without a valid token were not logged count=8\n"));
    access.identity = &ann; /* no limit for a known token */
    lines = lines_of (logger, &log, &access, ACCESS_LOG_UNKNOWN_LINES + 7, 6000000);
    assert_int_equal (ACCESS_LOG_UNKNOWN_LINES + 7, count_lines (lines));
    access.identity = &unknown; /* the number is written when any client asks */
    lines_of (logger, &log, &access, ACCESS_LOG_UNKNOWN_LINES + 3, 7000000);
    access.identity = &ann;
    access.status = 200;
    lines = lines_of (logger, &log, &access, 1, 9000000);
    assert_string_equal ("<4>requests without a valid token were not logged count=3\n", lines);
}

static void paths_are_safe (void **state)
{
    (void)state;
    char token[TOKEN_SIZE], long_path[2000], with_token[200], got[HTTP_ACCESS_PATH];
    memset (token, 'a', sizeof (token) - 1);
    token[sizeof (token) - 1] = '\0';
    memset (long_path, '/', sizeof (long_path) - 1);
    long_path[sizeof (long_path) - 1] = '\0';
    snprintf (with_token, sizeof (with_token), "/v1/tokens/%s/x", token);
    const struct {
        const char *raw, *wanted;
    } cases[] = {
        {"/v1/jobs/a", "/v1/jobs/a"},           {"/a\nerror: b\x1b[2J", "/a%0Aerror:%20b%1B[2J"},
        {"/\xff\xc2\x85\x7f", "/%FF%C2%85%7F"}, {with_token, "/v1/tokens/.../x"},
        {"http://ann:password@host/v1", "..."}, {"", "..."},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        http_access_path (cases[i].raw, got);
        assert_string_equal (cases[i].wanted, got);
    }
    http_access_path (long_path, got);
    assert_int_equal (HTTP_ACCESS_PATH - 1, strlen (got));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_line_tells_who_did_what),
        cmocka_unit_test (levels_follow_from_route_and_status),
        cmocka_unit_test (clients_without_a_token_are_limited),
        cmocka_unit_test (paths_are_safe),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
