/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_HEADER_CHECK_H
#define HTTP_HEADER_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Is this localhost, an IPv4 address of 127.0.0.0/8, or ::1? */
bool check_loopback (const char *name);

/* Is the Host header's value (NAME, NAME:PORT, 127.0.0.1:PORT, [::1]:PORT) a name of this server:
 * a loopback one, local (the address that the client has connected to, without port or brackets;
 * "" if there is none), or one of the names? */
bool check_host (const char *host, const char *local, const char *const *names, int count);

/* Does the request come from a page of this server, or from no page?  origin and site are the values of
 * Origin and Sec-Fetch-Site, NULL if missing; host is the value of Host, after check_host. */
bool check_site (const char *origin, const char *site, const char *host);

/* Does a client open a page, by its address or by a link: no part of another page and no script?  The values
 * of Origin, Sec-Fetch-Mode and Sec-Fetch-Dest, NULL if missing. */
bool check_opens_page (const char *origin, const char *mode, const char *destination);

/* Does the value of Accept-Encoding (NULL if missing) admit gzip? */
bool check_gzip (const char *accept);

/* Does the value of If-None-Match (NULL if missing) have this tag, given with its quotes and without W/? */
bool check_tag (const char *if_none_match, const char *tag);

/* Is this the name of a header: letters, digits and some marks, no blank, not empty? */
bool check_name (const char *name);

/* True if the value of a header has no control characters, except tabs. */
bool check_value (const char *value);

/* The kind of a Content-Type's value: HTTP_JSON, HTTP_YAML, or 0 for any other. */
unsigned check_type (const char *type);

/* The token in the value of an Authorization header, "Bearer TOKEN"; NULL if it has another form. */
const char *check_bearer (const char *authorization);

#endif
