/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of single headers, without any knowledge of routes.
 *
 * A page of another site can make a browser of this machine send requests to 127.0.0.1.  It cannot
 * choose three headers: Host (its own name, also after that name has been rebound to our address),
 * Origin and Sec-Fetch-Site.  The token is a further protection: a browser never adds it by itself.
 */
#include "http/header_check.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "http/http.h"

enum { HOST_SIZE = 256 };

/* Copy NAME of NAME:PORT or [NAME]:PORT; false if host has neither form. */
static bool host_name (const char *host, char ret[HOST_SIZE])
{
    bool bracket = host[0] == '[';
    host += bracket;
    size_t length = strcspn (host, bracket ? "]" : ":");
    if (length == 0 || length >= HOST_SIZE || (bracket && host[length] != ']'))
        return false;
    memcpy (ret, host, length);
    ret[length] = '\0';
    host += length + bracket;
    if (*host == '\0')
        return true;
    size_t digits = strspn (host + 1, "0123456789");
    return *host == ':' && digits <= 5 && host[1 + digits] == '\0';
}

bool check_loopback (const char *name)
{
    struct in_addr four;
    struct in6_addr six;
    if (strcasecmp (name, "localhost") == 0)
        return true;
    if (inet_pton (AF_INET, name, &four) == 1)
        return ntohl (four.s_addr) >> 24 == 127;
    return inet_pton (AF_INET6, name, &six) == 1 && IN6_IS_ADDR_LOOPBACK (&six);
}

bool check_host (const char *host, const char *local, const char *const *names, int count)
{
    char name[HOST_SIZE];
    if (!host_name (host, name))
        return false;
    if (check_loopback (name) || strcasecmp (name, local) == 0)
        return true;
    for (int i = 0; i < count; i++)
        if (strcasecmp (name, names[i]) == 0)
            return true;
    return false;
}

bool check_site (const char *origin, const char *site, const char *host)
{
    /* "same-site" can be another port of this machine, of another user. */
    if (site != NULL && strcmp (site, "same-origin") != 0 && strcmp (site, "none") != 0)
        return false;
    if (origin == NULL)
        return true;
    /* Behind a TLS proxy the page's origin is https, with the same host. */
    if (strncasecmp (origin, "http://", 7) == 0)
        return strcasecmp (origin + 7, host) == 0;
    return strncasecmp (origin, "https://", 8) == 0 && strcasecmp (origin + 8, host) == 0;
}

bool check_opens_page (const char *origin, const char *mode, const char *destination)
{
    return origin == NULL && mode != NULL && strcmp (mode, "navigate") == 0 &&
           destination != NULL && strcmp (destination, "document") == 0;
}

/* Is the coding that begins at text refused by a weight of zero ("gzip;q=0.0")? */
static bool weight_is_zero (const char *text, size_t length)
{
    const char *end = text + length, *at = memchr (text, ';', length);
    if (at == NULL)
        return false;
    for (at++; at < end && strchr (" \t", *at) != NULL; at++)
        ;
    if (end - at < 3 || strncasecmp (at, "q=0", 3) != 0)
        return false;
    for (at += 3; at < end; at++)
        if (strchr ("123456789", *at) != NULL)
            return false;
    return true;
}

bool check_gzip (const char *accept)
{
    bool any = false; /* "*": all codings that are not named */
    for (size_t length; accept != NULL && *accept != '\0'; accept += length) {
        accept += strspn (accept, ", \t");
        length = strcspn (accept, ",");
        size_t name = strcspn (accept, ",; \t");
        bool zero = weight_is_zero (accept, length);
        if ((name == 4 && strncasecmp (accept, "gzip", 4) == 0) ||
            (name == 6 && strncasecmp (accept, "x-gzip", 6) == 0))
            return !zero;
        if (name == 1 && accept[0] == '*')
            any = !zero;
    }
    return any;
}

bool check_tag (const char *if_none_match, const char *tag)
{
    return if_none_match != NULL &&
           (strcmp (if_none_match, "*") == 0 || strstr (if_none_match, tag) != NULL);
}

bool check_name (const char *name)
{
    static const char legal[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return name[0] != '\0' && name[strspn (name, legal)] == '\0';
}

bool check_value (const char *value)
{
    for (; *value != '\0'; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

unsigned check_type (const char *type)
{
    static const struct {
        const char *name;
        unsigned flag;
    } types[] = {
        {"application/json", HTTP_JSON},   {"application/yaml", HTTP_YAML},
        {"application/x-yaml", HTTP_YAML}, {"text/yaml", HTTP_YAML},
        {"text/x-yaml", HTTP_YAML},
    };
    size_t length = strcspn (type, "; \t");
    for (size_t i = 0; i < sizeof (types) / sizeof (types[0]); i++)
        if (strlen (types[i].name) == length && strncasecmp (type, types[i].name, length) == 0)
            return types[i].flag;
    return 0;
}

const char *check_bearer (const char *authorization)
{
    if (authorization == NULL || strncasecmp (authorization, "Bearer ", 7) != 0)
        return NULL;
    authorization += 7 + strspn (authorization + 7, " ");
    return *authorization != '\0' ? authorization : NULL;
}
