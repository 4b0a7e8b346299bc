/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings on which security depends are here, once for supervisors and for the command.
 */
#include "backend/curl_handles.h"

#include <errno.h>

#include "base/error.h"

static int no_memory (struct pollux_error *err)
{
    return fail (err, -ENOMEM, "not enough memory for a connection");
}

int curl_handles_new (CURL **ret_easy, CURLM **ret_multi, struct pollux_error *err)
{
    if (curl_global_init (CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return no_memory (err);
    CURL *easy = curl_easy_init ();
    CURLM *multi = curl_multi_init ();
    if (!easy || !multi) {
        curl_easy_cleanup (easy);
        curl_multi_cleanup (multi);
        return no_memory (err);
    }
    curl_easy_setopt (easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt (easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt (easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt (easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    *ret_easy = easy;
    *ret_multi = multi;
    return 0;
}

int curl_handles_secure (CURL *easy, const char *ca, const char *token, struct pollux_error *err)
{
    CURLcode code = CURLE_OK;
    if (ca) { /* these issuers only */
        curl_easy_setopt (easy, CURLOPT_CAPATH, NULL);
        code = curl_easy_setopt (easy, CURLOPT_CAINFO, ca);
    }
    if (code == CURLE_OK && token) {
        curl_easy_setopt (easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        code = curl_easy_setopt (easy, CURLOPT_XOAUTH2_BEARER, token);
    }
    return code == CURLE_OK ? 0 : no_memory (err);
}
