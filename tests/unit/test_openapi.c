/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/openapi.json and the table of routes agree: every path and method of one is in the other,
 * with the same query parameters, bodies and need of a token.  tests/cli/openapi.sh compares the
 * answers of a daemon with the schemas.
 */
#include "unit.h"

#include <ctype.h>
#include <strings.h>
#include <jansson.h>

#include "api/api.h"

static json_t *read_openapi (void)
{
    json_error_t error;
    json_t *document = json_load_file ("docs/openapi.json", JSON_REJECT_DUPLICATES, &error);
    if (!document)
        fail_msg ("docs/openapi.json:%d: %s", error.line, error.text);
    return document;
}

/* The operation of a route; NULL if there is none. */
static json_t *operation_of (const json_t *document, const struct http_route *route)
{
    char method[16];
    snprintf (method, sizeof (method), "%s", http_method_names[route->method]);
    for (char *at = method; *at; at++)
        *at = (char)tolower (*at);
    json_t *path = json_object_get (json_object_get (document, "paths"), route->pattern);
    return json_object_get (path, method);
}

/* "limit after": the query parameters, in their order. */
static void queries_of (const json_t *operation, char *ret, size_t size)
{
    json_t *parameter;
    size_t i;
    ret[0] = '\0';
    json_array_foreach (json_object_get (operation, "parameters"), i, parameter)
    {
        size_t used = strlen (ret);
        if (strcmp (json_string_value (json_object_get (parameter, "in")), "query") == 0)
            snprintf (ret + used, size - used, "%s%s", used ? " " : "",
                      json_string_value (json_object_get (parameter, "name")));
    }
}

static void every_route_is_documented (void **state)
{
    (void)state;
    int count = 0;
    json_t *document = read_openapi ();
    const struct http_route *routes = api_routes (&count);
    assert_true (count > 0);
    for (int i = 0; i < count; i++) {
        const struct http_route *route = &routes[i];
        json_t *operation = operation_of (document, route);
        if (!operation)
            fail_msg ("%s is not in docs/openapi.json", route->pattern);
        char queries[256];
        queries_of (operation, queries, sizeof (queries));
        assert_string_equal (queries, route->queries ? route->queries : "");
        json_t *content = json_object_get (json_object_get (operation, "requestBody"), "content");
        assert_int_equal (json_object_get (content, "application/json") != NULL,
                          (route->flags & HTTP_JSON) != 0);
        assert_int_equal (json_object_get (content, "application/yaml") != NULL,
                          (route->flags & HTTP_YAML) != 0);
        json_t *security = json_object_get (operation, "security");
        assert_int_equal (security && json_array_size (security) == 0, route->roles == 0);
        json_t *answers = json_object_get (operation, "responses");
        assert_int_equal (json_object_get (answers, "401") != NULL, route->roles != 0);
        if (route->flags & HTTP_DURABLE)
            assert_non_null (json_object_get (answers, "507"));
    }
    json_decref (document);
}

static void every_documented_path_is_a_route (void **state)
{
    (void)state;
    int count = 0;
    json_t *document = read_openapi (), *path, *operation;
    const struct http_route *routes = api_routes (&count);
    const char *pattern, *method;
    json_object_foreach (json_object_get (document, "paths"), pattern, path)
    {
        json_object_foreach (path, method, operation)
        {
            bool found = strcmp (method, "parameters") == 0;
            for (int i = 0; i < count; i++)
                found = found || (strcmp (routes[i].pattern, pattern) == 0 &&
                                  strcasecmp (http_method_names[routes[i].method], method) == 0);
            if (!found)
                fail_msg ("docs/openapi.json has %s %s, which is no route", method, pattern);
        }
    }
    json_decref (document);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_route_is_documented),
        cmocka_unit_test (every_documented_path_is_a_route),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
