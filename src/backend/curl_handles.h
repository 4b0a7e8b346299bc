/* SPDX-License-Identifier: Apache-2.0 */
/* The handles of curl with which programs talk to the daemon, and what is the same for all of them. */
#ifndef BACKEND_CURL_HANDLES_H
#define BACKEND_CURL_HANDLES_H

#include <curl/curl.h>

#include "pollux/pollux.h"

/* Make both.  No signals, no proxy, HTTP only, TLS from 1.2 on.  On success they belong to the caller
 * (curl_easy_cleanup, curl_multi_cleanup).  -ENOMEM */
int curl_handles_new (CURL **ret_easy, CURLM **ret_multi, struct pollux_error *err);

/* Trust the issuers of this file only, and send this token.  NULL: the system's issuers; no token. */
int curl_handles_secure (CURL *easy, const char *ca, const char *token, struct pollux_error *err);

#endif
