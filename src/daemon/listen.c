/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the daemon listens, with which certificate, and the address that clients find in the state directory.
 *
 *     unix:/PATH, loopback   plain: the bytes do not leave this machine
 *     other addresses        TLS, with the configured certificate or one that is made in the state directory;
 *                            without one they are refused, unless the configuration says `insecure`, or
 *                            munge signs requests: then tokens are refused there
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/number.h"
#include "api/tokens.h"
#include "daemon/daemon_private.h"
#include "http/listen.h"

static int count_strings (char *const *strings)
{
    int count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

static bool has_tls (const struct wire_config *config)
{
    return config->tls_cert || config->tls_self_signed;
}

/* 0.0.0.0 and [::] mean all addresses of this machine. */
static bool is_wildcard (const struct address_host *host)
{
    return strcmp (host->text, "0.0.0.0") == 0 || strcmp (host->text, "::") == 0;
}

/* Replicas on other nodes report to the first address. */
static int check_reports (const struct wire_config *config, struct pollux_error *err)
{
    const struct backend_ops *backend;
    struct address address;
    const char *first = config->listen[0];
    if (!first || backend_find (config->backend, &backend, NULL) < 0 || !backend->remote ||
        address_parse (first, &address, NULL) < 0 || strncmp (first, "unix:", 5) == 0)
        return 0;
    struct address_host host = address_host ((const struct sockaddr *)&address.sockaddr);
    if (!is_wildcard (&host))
        return 0;
    return fail (
        err, -EINVAL,
        "--listen %s: jobs report to the first address from other nodes: give one address of "
        "this machine that they reach, such as 10.1.0.5:7467",
        quote (first).text);
}

int daemon_check_listen (const struct wire_config *config, struct pollux_error *err)
{
    if (!config->tls_cert != !config->tls_key)
        return fail (err, -EINVAL,
                     "--tls-cert and --tls-key (tls_cert, tls_key): expected both or none");
    if (config->tls_cert && config->tls_self_signed)
        return fail (err, -EINVAL, "--tls-self-signed: expected no --tls-cert besides");
    for (int i = 0; config->listen[i]; i++) {
        struct address address;
        int code = address_parse (config->listen[i], &address, err);
        if (code < 0)
            return code;
        bool open = !has_tls (config) && config->auth != WIRE_AUTH_MUNGE && !config->insecure;
        if (open && !address_is_local (&address))
            return fail (
                err, -EINVAL,
                "--listen %s: other machines reach this address, and tokens would be sent to it "
                "readable: give --tls-cert and --tls-key, or permit it with --insecure",
                quote (config->listen[i]).text);
    }
    return check_reports (config, err);
}

/* ---- The certificate ---- */

/* The host of an address to listen on, as a certificate names it; false: it is local, or a wildcard. */
static bool certificate_name (const char *listen, struct address_host *ret)
{
    struct address address;
    if (address_parse (listen, &address, NULL) < 0 || address_is_local (&address))
        return false;
    *ret = address_host ((const struct sockaddr *)&address.sockaddr);
    return !is_wildcard (ret);
}

/* Make the certificate, for all addresses and the configured names. */
static int make_certificate (struct daemon *daemon, const struct wire_config *config,
                             struct pollux_error *err)
{
    int listens = count_strings (config->listen), hosts = count_strings (config->host_names);
    int count = 0;
    const char **names = calloc ((size_t)(listens + hosts) + 1, sizeof (names[0]));
    struct address_host *addresses = calloc ((size_t)listens + 1, sizeof (addresses[0]));
    int code = names && addresses ? 0 : fail (err, -ENOMEM, "no memory for a certificate");
    for (int i = 0; code == 0 && i < listens; i++)
        if (certificate_name (config->listen[i], &addresses[i]))
            names[count++] = addresses[i].text;
    for (int i = 0; code == 0 && i < hosts; i++)
        names[count++] = config->host_names[i];
    if (code == 0 && count == 0)
        code =
            fail (err, -EINVAL,
                  "--tls-self-signed: a certificate needs a name: list names or addresses of this "
                  "machine under host_names, or listen on one address instead of all");
    if (code == 0)
        code = tls_make (daemon->state.path, names, count, clock_wall_us () / 1000000, err);
    free (names);
    free (addresses);
    if (code == 1)
        say (&daemon->logger, LOG_INFO, "a new certificate was made",
             LOG_TEXT ("file", daemon->state.path));
    return code < 0 ? code : 0;
}

int certificate_load (struct daemon *daemon, const struct wire_config *config, struct tls *ret,
                      struct pollux_error *err)
{
    *ret = (struct tls){0};
    if (!has_tls (config))
        return 0;
    if (!config->tls_self_signed)
        return tls_read (config->tls_cert, config->tls_key, ret, err);
    int code = make_certificate (daemon, config, err);
    char *cert = state_path (&daemon->state, TLS_CERT_NAME);
    char *key = state_path (&daemon->state, TLS_KEY_NAME);
    if (code == 0)
        code = cert && key ? tls_read (cert, key, ret, err) : fail (err, -ENOMEM, "no memory");
    free (cert);
    free (key);
    return code;
}

/* Log until when the certificate is valid. */
static void log_certificate (const struct logger *logger, const struct tls *tls)
{
    char until[32];
    struct tm tm;
    time_t end = (time_t)tls->until_s;
    int64_t now_s = clock_wall_us () / 1000000;
    strftime (until, sizeof (until), "%Y-%m-%dT%H:%M:%SZ", gmtime_r (&end, &tm));
    if (now_s < tls->from_s || now_s > tls->until_s)
        say (logger, LOG_WARNING, "clients will refuse the TLS certificate: it is not valid now",
             LOG_TEXT ("until", until));
    else
        say (logger, LOG_INFO, "TLS certificate", LOG_TEXT ("until", until));
}

void certificate_use (struct daemon *daemon, const struct tls *tls)
{
    struct pollux_error err;
    if (!tls->cert || !has_tls (&daemon->config))
        return;
    if (http_server_set_tls (daemon->http, tls, &err) < 0)
        say (&daemon->logger, LOG_ERROR, "the TLS certificate stays as it was",
             LOG_TEXT ("why", err.text));
    else
        log_certificate (&daemon->logger, tls);
}

/* ---- Listening ---- */

void socket_address (const struct daemon *daemon, char *ret, size_t size)
{
    *ret = '\0';
    if (daemon->state.epoch.number > 0)
        return;
    int length = snprintf (ret, size, "unix:%s/pollux.sock", daemon->state.path);
    if (length < 0 || (size_t)length >= sizeof (((struct sockaddr_un *)0)->sun_path))
        *ret = '\0';
}

static void log_access (void *self, const struct http_access *access)
{
    struct daemon *daemon = self;
    if (daemon->config.access_log)
        access_log_write (&daemon->access_log, &daemon->logger, access, clock_monotonic_us ());
}

static int new_server (struct daemon *daemon, const char *const *listen, int count,
                       const struct tls *tls, struct pollux_error *err)
{
    const struct wire_config *config = &daemon->config;
    struct http_options options = {
        .listen = listen,
        .listen_count = count,
        .tls = tls,
        .insecure = config->insecure,
        .hosts = (const char *const *)config->host_names,
        .host_count = count_strings (config->host_names),
        .limits = {.body_bytes = (size_t)config->max_body,
                   .connections = config->connections,
                   .per_address = config->connections_per_address,
                   .rate = config->rate,
                   .burst = config->burst},
        .authorize = api_authorize,
        .scheme = "Munge",
        .challenge = daemon->munge ? daemon->challenge : NULL,
        .verify = daemon->munge ? api_verify : NULL,
        .role_name = role_name,
        .self = daemon->api,
        .access = log_access,
        .access_self = daemon,
    };
    options.routes = api_routes (&options.route_count);
    return http_server_new (&options, clock_monotonic_us (), &daemon->http, err);
}

static int listen_once (struct daemon *daemon, struct pollux_error *err)
{
    const struct wire_config *config = &daemon->config;
    struct tls tls;
    int count = count_strings (config->listen);
    const char **listen = calloc ((size_t)count + 1, sizeof (listen[0]));
    if (!listen)
        return fail (err, -ENOMEM, "no memory to listen");
    for (int i = 0; i < count; i++)
        listen[i] = config->listen[i];
    char address[256];
    socket_address (daemon, address, sizeof (address));
    if (*address)
        listen[count++] = address;
    int rc = certificate_load (daemon, config, &tls, err);
    if (rc == 0 && tls.cert)
        log_certificate (&daemon->logger, &tls);
    if (rc == 0)
        rc = new_server (daemon, listen, count, tls.cert ? &tls : NULL, err);
    tls_clear (&tls);
    free (listen);
    return rc;
}

/* The port of STATE/address, if it is on this host; 0: none. */
static int last_port (const struct daemon *daemon, const char *host, size_t length)
{
    char *path = state_path (&daemon->state, "address"), *text = NULL;
    size_t size = 0;
    int64_t port = 0;
    if (path && file_read (path, 512, &text, &size, NULL) == 0) {
        char *end = strchr (text, '\n'), *at = strstr (text, "://");
        if (end)
            *end = '\0';
        if (!at || strncmp (at + 3, host, length) != 0 || at[3 + length] != ':' ||
            number_int64 (at + 4 + length, &port) < 0 || port < 0 || port > 65535)
            port = 0;
    }
    free (text);
    free (path);
    return (int)port;
}

/* Listen.  Supervisors on other machines know the port, so a daemon that may choose it takes the one
 * of the daemon before it, unless another program has it. */
int listen_all (struct daemon *daemon, struct pollux_error *err)
{
    char **first = &daemon->config.listen[0], *chosen = *first, *colon = strrchr (chosen, ':');
    int port = daemon->backend->remote && colon && strcmp (colon, ":0") == 0
                   ? last_port (daemon, chosen, (size_t)(colon - chosen))
                   : 0;
    if (port == 0)
        return listen_once (daemon, err);
    if (asprintf (first, "%.*s:%d", (int)(colon - chosen), chosen, port) < 0) {
        *first = chosen;
        return fail (err, -ENOMEM, "no memory to listen");
    }
    int rc = listen_once (daemon, err);
    free (*first);
    *first = chosen;
    return rc == -EADDRINUSE ? listen_once (daemon, err) : rc;
}

/* Which address do clients of this state directory use?  The first one, if they can: a loopback address or a
 * socket, or one that the made certificate beside it names.  Otherwise the socket of the state directory,
 * which is the last. */
static int client_address (const struct daemon *daemon)
{
    struct address_host host;
    struct address address;
    const char *first = daemon->config.listen[0];
    bool local = address_parse (first, &address, NULL) == 0 && address_is_local (&address);
    bool named = daemon->config.tls_self_signed && certificate_name (first, &host);
    char socket[256];
    socket_address (daemon, socket, sizeof (socket));
    return local || named || !*socket ? 0 : count_strings (daemon->config.listen);
}

/* Is the text of STATE/address this one? */
static bool has_address (struct daemon *daemon, const char *text)
{
    char *path = state_path (&daemon->state, "address"), *found = NULL;
    size_t length = 0;
    bool same = path && file_read (path, 1000, &found, &length, NULL) == 0 &&
                length == strlen (text) && memcmp (found, text, length) == 0;
    free (path);
    free (found);
    return same;
}

int write_address (struct daemon *daemon, struct pollux_error *err)
{
    char text[300];
    int i = client_address (daemon);
    snprintf (text, sizeof (text), "%s%s\n", http_server_scheme (daemon->http, i),
              http_server_address (daemon->http, i));
    return has_address (daemon, text) ? 0 : state_write (&daemon->state, "address", text, err);
}
