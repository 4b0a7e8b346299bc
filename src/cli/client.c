/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the daemon, by libcurl.  The connection is kept between requests; one request runs
 * at a time.  No proxy, no redirects, no other protocols: the token is sent to the given address
 * only.
 */
#include "cli/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/curl_handles.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "cli/daemon_access.h"
#include "cli/request_signer.h"

/* A page of 1000 jobs is about a megabyte. */
#define ANSWER_LIMIT ((size_t)64 << 20)

/* Longer than any round keeps the daemon busy. */
enum { CONNECT_MS = 5000, ANSWER_MS = 30000 };

struct client {
    struct daemon_access access;
    struct request_signer signer;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    char reason[CURL_ERROR_SIZE];
    bool under_way, changes; /* a request runs; it is not a GET */

    char *answer; /* the body received so far; not of a stream */
    size_t length, capacity;
    struct client_sink sink; /* take NULL: none */
    int sink_code;
    struct pollux_error sink_error;
    json_t *problems;
};

/* ---- The beginning and the end ---------------------------------------------------------------- */

static size_t take_bytes (char *bytes, size_t size, size_t count, void *self);

static int set_up (struct client *client, struct pollux_error *err)
{
    CURL *easy = client->easy;
    curl_easy_setopt (easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt (easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt (easy, CURLOPT_ERRORBUFFER, client->reason);
    curl_easy_setopt (easy, CURLOPT_USERAGENT, "pollux/" POLLUX_VERSION);
    curl_easy_setopt (easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt (easy, CURLOPT_WRITEDATA, client);
    if (client->access.socket[0])
        curl_easy_setopt (easy, CURLOPT_UNIX_SOCKET_PATH, client->access.socket);
    const char *ca = client->access.ca, *token = client->access.token;
    return curl_handles_secure (easy, *ca ? ca : NULL, *token ? token : NULL, err);
}

int client_open (const struct client_server *server, struct client **ret, struct pollux_error *err)
{
    struct client *client = calloc (1, sizeof (*client));
    if (!client)
        return fail (err, -ENOMEM, "not enough memory for a connection");
    int rc = daemon_access_find (server->address, server->ca, &client->access, err);
    if (rc == 0)
        rc = curl_handles_new (&client->easy, &client->multi, err);
    if (rc == 0)
        rc = set_up (client, err);
    if (rc < 0) {
        client_close (client);
        return rc;
    }
    *ret = client;
    return 0;
}

static void give_up (struct client *client)
{
    if (client->under_way)
        curl_multi_remove_handle (client->multi, client->easy);
    client->under_way = false;
    curl_slist_free_all (client->headers);
    client->headers = NULL;
    free (client->answer);
    client->answer = NULL;
    client->length = client->capacity = 0;
}

void client_close (struct client *client)
{
    if (!client)
        return;
    give_up (client);
    json_decref (client->problems);
    if (client->easy)
        curl_easy_cleanup (client->easy);
    if (client->multi)
        curl_multi_cleanup (client->multi);
    request_signer_clear (&client->signer);
    explicit_bzero (&client->access, sizeof (client->access));
    free (client);
}

const char *client_address (const struct client *client)
{
    return client->access.address;
}

const json_t *client_problems (const struct client *client)
{
    return client->problems;
}

/* Names have at most 63 bytes: a longer one, cut here, is unknown to the daemon. */
struct client_path client_path (const char *before, const char *name, const char *after)
{
    static const char digits[] = "0123456789ABCDEF", plain[] = "-._~";
    struct client_path path;
    char encoded[3 * 200 + 1];
    size_t used = 0;
    for (const char *at = name; *at && used + 3 < sizeof (encoded); at++) {
        unsigned char byte = (unsigned char)*at;
        bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                      (byte >= '0' && byte <= '9') || strchr (plain, byte);
        if (!letter)
            encoded[used++] = '%';
        if (!letter)
            encoded[used++] = digits[byte >> 4];
        encoded[used++] = letter ? (char)byte : digits[byte & 15];
    }
    encoded[used] = '\0';
    snprintf (path.text, sizeof (path.text), "%s%s%s", before, encoded, after);
    return path;
}

/* ---- Sending ---------------------------------------------------------------------------------- */

static size_t keep_bytes (struct client *client, const char *bytes, size_t length)
{
    if (length > ANSWER_LIMIT - client->length) {
        snprintf (client->reason, sizeof (client->reason), "the answer is too long");
        return 0;
    }
    if (client->length + length + 1 > client->capacity) {
        size_t capacity = 2 * client->capacity + length + 1;
        char *answer = realloc (client->answer, capacity);
        if (!answer)
            return 0;
        client->answer = answer;
        client->capacity = capacity;
    }
    memcpy (client->answer + client->length, bytes, length);
    client->length += length;
    client->answer[client->length] = '\0';
    return length;
}

static long status_of (const struct client *client)
{
    long status = 0;
    curl_easy_getinfo (client->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Called by curl; any value but the length ends the request.  The body of a refusal is JSON, also for
 * a stream. */
static size_t take_bytes (char *bytes, size_t size, size_t count, void *self)
{
    struct client *client = self;
    size_t length = size * count;
    if (!client->sink.take || status_of (client) != 200)
        return keep_bytes (client, bytes, length);
    client->sink_code = client->sink.take (client->sink.self, bytes, length, &client->sink_error);
    return client->sink_code == 0 ? length : 0;
}

struct request {
    const char *method, *path, *type, *body; /* type and body NULL: none */
    size_t length;
    struct client_sink sink;
};

/* Append the signature to the headers, if requests of this client are signed. */
static int sign (struct client *client, const struct request *request, struct pollux_error *err)
{
    char *header = NULL;
    int rc = request_signer_find (&client->signer, &client->access, client->easy, err);
    if (rc == 0)
        rc = request_signer_sign (&client->signer, request->method, request->path, request->body,
                                  request->length, &header, err);
    if (rc < 0 || !header)
        return rc;
    struct curl_slist *headers = curl_slist_append (client->headers, header);
    free (header);
    if (!headers)
        return fail (err, -ENOMEM, "not enough memory for a request");
    client->headers = headers;
    return 0;
}

static int begin (struct client *client, const struct request *request, struct pollux_error *err)
{
    CURL *easy = client->easy;
    char url[sizeof (client->access.url) + sizeof (struct client_path)], type[128];
    give_up (client);
    json_decref (client->problems);
    client->problems = NULL;
    client->reason[0] = '\0';
    client->changes = strcmp (request->method, "GET") != 0;
    client->sink = request->sink;
    client->sink_code = 0;
    snprintf (url, sizeof (url), "%s%s", client->access.url, request->path);
    /* Without a type, suppress curl's default type. */
    snprintf (type, sizeof (type), "Content-Type:%s%s", request->type ? " " : "",
              request->type ? request->type : "");
    struct curl_slist *headers = curl_slist_append (NULL, "Expect:");
    client->headers = headers;
    if (headers)
        headers = curl_slist_append (headers, type);
    int rc = headers ? sign (client, request, err) : 0;
    if (rc < 0)
        return rc;
    curl_easy_setopt (easy, CURLOPT_CUSTOMREQUEST, NULL);
    curl_easy_setopt (easy, CURLOPT_HTTPGET, 1L);
    if (request->body) {
        curl_easy_setopt (easy, CURLOPT_POST, 1L);
        curl_easy_setopt (easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
        curl_easy_setopt (easy, CURLOPT_POSTFIELDS, request->body);
    } else {
        curl_easy_setopt (easy, CURLOPT_CUSTOMREQUEST, request->method);
    }
    curl_easy_setopt (easy, CURLOPT_HTTPHEADER, client->headers);
    curl_easy_setopt (easy, CURLOPT_TIMEOUT_MS, request->sink.take ? 0L : (long)ANSWER_MS);
    if (!headers || curl_easy_setopt (easy, CURLOPT_URL, url) != CURLE_OK ||
        curl_multi_add_handle (client->multi, easy) != CURLM_OK)
        return fail (err, -ENOMEM, "not enough memory for a request");
    client->under_way = true;
    return 0;
}

/* ---- What came of it -------------------------------------------------------------------------- */

/* The server has no certificate that is trusted, or no TLS. */
static int fail_tls (const struct client *client, CURLcode code, const char *reason,
                     struct pollux_error *err)
{
    const struct daemon_access *access = &client->access;
    if (code == CURLE_SSL_CACERT_BADFILE)
        return fail (err, -EINVAL, "%s %s: expected certificates in PEM (%.90s)", access->ca_from,
                     file_name (access->ca).text, reason);
    if (code == CURLE_SSL_CONNECT_ERROR)
        return fail (err, -EHOSTUNREACH, "no TLS with %s (%.90s); does it serve https?",
                     quote (access->address).text, reason);
    if (access->ca[0])
        return fail (err, -EHOSTUNREACH,
                     "the certificate of %s does not match %s %s (%.90s); nothing was sent to it",
                     quote (access->address).text, access->ca_from, file_name (access->ca).text,
                     reason);
    return fail (err, -EHOSTUNREACH,
                 "the certificate of %s is not trusted (%.90s); nothing was sent to it; name the "
                 "file of its issuer with --ca FILE or POLLUX_CA",
                 quote (access->address).text, reason);
}

static int fail_unreachable (const struct client *client, CURLcode code, struct pollux_error *err)
{
    const char *reason = client->reason[0] ? client->reason : curl_easy_strerror (code);
    if (code == CURLE_OUT_OF_MEMORY)
        return fail (err, -ENOMEM, "not enough memory for an answer");
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return fail (err, -EINVAL, "address %s: %s", quote (client->access.address).text, reason);
    if (code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CONNECT_ERROR ||
        code == CURLE_PEER_FAILED_VERIFICATION)
        return fail_tls (client, code, reason, err);
    bool plain = strncmp (client->access.url, "http://", 7) == 0 && !client->access.socket[0];
    if (code == CURLE_GOT_NOTHING && plain && !client->changes)
        return fail (err, -EHOSTUNREACH,
                     "no answer from %s, which has closed the connection; if it serves TLS, use "
                     "https://",
                     quote (client->access.address).text);
    if (client->changes && code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST)
        return fail (
            err, -EHOSTUNREACH,
            "no answer from %s (%.90s); the request may have been carried out: check before you "
            "repeat it",
            quote (client->access.address).text, reason);
    return fail (err, -EHOSTUNREACH,
                 "no answer from %s (%.90s); is polluxd running? start it with 'systemctl start "
                 "polluxd' or 'polluxd'",
                 quote (client->access.address).text, reason);
}

/* The sentence in a refusal. */
static int fail_refused (struct client *client, long status, struct pollux_error *err)
{
    json_t *body = json_loadb (client->answer ? client->answer : "", client->length, 0, NULL);
    const char *sentence = json_string_value (json_object_get (body, "error"));
    json_t *problems = json_object_get (body, "problems");
    bool wrong = status == 400 || status == 413 || status == 414 || status == 415 || status == 422;
    int rc = wrong ? -EINVAL : -EREMOTEIO;
    if (json_is_array (problems) && json_array_size (problems) > 0)
        client->problems = json_incref (problems);
    bool is_signed = request_signer_active (&client->signer);
    if (status == 401 && !client->access.token[0] && !is_signed)
        fail (err, rc, "the daemon requires a token: %s", client->access.no_token);
    else if (status == 401 && !is_signed)
        fail (err, rc, "the daemon refuses this token: %s", sentence ? sentence : "HTTP 401");
    else if (sentence)
        fail (err, rc, "%s", sentence);
    else
        rc = fail (err, -EHOSTUNREACH, "%s answers with HTTP %ld and no reason; is that a polluxd?",
                   quote (client->access.address).text, status);
    json_decref (body);
    return rc;
}

/* The answer of a completed request; ret NULL: a stream. */
static int conclude (struct client *client, CURLcode code, json_t **ret, struct pollux_error *err)
{
    long status = status_of (client);
    curl_multi_remove_handle (client->multi, client->easy);
    client->under_way = false;
    if (client->sink_code != 0) {
        if (err)
            *err = client->sink_error;
        return client->sink_code;
    }
    if (code != CURLE_OK)
        return fail_unreachable (client, code, err);
    if (status < 200 || status > 299)
        return fail_refused (client, status, err);
    if (!ret)
        return 0;
    json_t *answer =
        client->length == 0 ? json_object () : json_loadb (client->answer, client->length, 0, NULL);
    if (!answer)
        return fail (err, -EHOSTUNREACH, "the answer of %s is no JSON; is that a polluxd?",
                     quote (client->access.address).text);
    *ret = answer;
    return 0;
}

/* 1 if the request has ended; *ret is curl's code. */
static int step (struct client *client, int fd, int timeout_ms, CURLcode *ret,
                 struct pollux_error *err)
{
    struct curl_waitfd input = {.fd = fd, .events = CURL_WAIT_POLLIN};
    int running = 0, left;
    CURLMcode code = curl_multi_perform (client->multi, &running);
    if (code == CURLM_OK && (running || !client->under_way))
        code = curl_multi_poll (client->multi, &input, fd >= 0, timeout_ms, NULL);
    if (code == CURLM_OK)
        code = curl_multi_perform (client->multi, &running);
    if (code != CURLM_OK)
        return fail (err, -ENOMEM, "cannot wait for an answer: %s", curl_multi_strerror (code));
    for (CURLMsg *message; (message = curl_multi_info_read (client->multi, &left));) {
        if (message->msg == CURLMSG_DONE) {
            *ret = message->data.result;
            return 1;
        }
    }
    return 0;
}

static int perform (struct client *client, const struct request *request, json_t **ret,
                    struct pollux_error *err)
{
    CURLcode code = CURLE_OK;
    int rc = begin (client, request, err);
    while (rc == 0)
        rc = step (client, -1, 1000, &code, err);
    return rc < 0 ? rc : conclude (client, code, ret, err);
}

int client_get (struct client *client, const char *path, json_t **ret, struct pollux_error *err)
{
    return perform (client, &(struct request){.method = "GET", .path = path}, ret, err);
}

int client_delete (struct client *client, const char *path, json_t **ret, struct pollux_error *err)
{
    return perform (client, &(struct request){.method = "DELETE", .path = path}, ret, err);
}

int client_send (struct client *client, const char *path, const char *type, const char *body,
                 size_t length, json_t **ret, struct pollux_error *err)
{
    return perform (
        client,
        &(struct request){
            .method = "POST", .path = path, .type = type, .body = body, .length = length},
        ret, err);
}

int client_post (struct client *client, const char *path, const json_t *body, json_t **ret,
                 struct pollux_error *err)
{
    if (!body)
        return client_send (client, path, NULL, "", 0, ret, err);
    char *text = json_dumps (body, JSON_COMPACT);
    if (!text)
        return fail (err, -ENOMEM, "not enough memory for a request");
    int rc = client_send (client, path, "application/json", text, strlen (text), ret, err);
    free (text);
    return rc;
}

int client_stream (struct client *client, const char *path, struct client_sink sink,
                   struct pollux_error *err)
{
    return perform (client, &(struct request){.method = "GET", .path = path, .sink = sink}, NULL,
                    err);
}

int client_begin (struct client *client, const char *path, struct pollux_error *err)
{
    return begin (client, &(struct request){.method = "GET", .path = path}, err);
}

int client_poll (struct client *client, int fd, int timeout_ms, json_t **ret,
                 struct pollux_error *err)
{
    CURLcode code = CURLE_OK;
    int rc = step (client, fd, timeout_ms, &code, err);
    if (rc <= 0)
        return rc;
    rc = conclude (client, code, ret, err);
    return rc < 0 ? rc : 1;
}
