/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the target of a request, and its headers.  An accepted target has no segment ".." and no
 * encoded slash; an accepted header value has no control characters.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "http/header_check.h"
#include "http/listen.h"
#include "http/target.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static void must_be_harmless (const char *text)
{
    must (utf8_valid (text, strlen (text)) == strlen (text));
    for (; *text != '\0'; text++)
        must ((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void try_target (char *text)
{
    static const char *const patterns[] = {"/", "/v1/jobs", "/v1/jobs/{name}", "/v1/{a}/{b}/logs"};
    struct target target;
    struct pollux_error err = {.text = ""};
    if (!target_parse (text, &target, &err)) {
        must (err.text[0] != '\0');
        return;
    }
    int matches = 0;
    for (int i = 0; i < target.segment_count; i++) {
        const char *segment = target.segments[i];
        must_be_harmless (segment);
        must (segment[0] != '\0' && strlen (segment) < HTTP_PARAM_SIZE);
        must (strchr (segment, '/') == NULL && strcmp (segment, ".") != 0 &&
              strcmp (segment, "..") != 0);
    }
    for (int i = 0; i < target.query_count; i++) {
        must_be_harmless (target.queries[i].name);
        must_be_harmless (target.queries[i].value);
        must (target_query (&target, target.queries[i].name) == target.queries[i].value);
    }
    for (size_t i = 0; i < sizeof (patterns) / sizeof (patterns[0]); i++)
        matches += target_matches (&target, patterns[i]);
    must (matches <= 1);
    if (target_matches (&target, patterns[3]))
        must (target_param (&target, patterns[3], "b") == target.segments[2]);
    target_unknown (&target, "limit after a");
}

static void try_headers (const char *text)
{
    static const char *const names[] = {"gpu1"};
    struct address address;
    if (check_host (text, "10.0.0.5", names, 1))
        must (strlen (text) < 300 && strchr (text, '/') == NULL);
    check_site (text, NULL, "localhost");
    if (!check_site (NULL, text, "localhost"))
        must (strcmp (text, "none") != 0 && strcmp (text, "same-origin") != 0);
    check_type (text);
    check_bearer (text);
    check_gzip (text);
    check_tag (text, "\"a\"");
    check_opens_page (NULL, text, text);
    if (address_parse (text, &address, NULL) == 0) {
        must (strcmp (address.text, text) == 0);
        address_host ((struct sockaddr *)&address.sockaddr);
    }
    target_is_pattern (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = malloc (size + 1); /* of exact size, so that the sanitizer detects an overrun */
    if (size > 0)
        memcpy (text, data, size);
    text[size] = '\0';
    try_headers (text);
    try_target (text);
    free (text);
    return 0;
}
