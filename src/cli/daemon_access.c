/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's address and the token.  Only this file reads the environment for them.
 *
 *     state directory   POLLUX_STATE, /var/lib/pollux for root, else $XDG_STATE_HOME/pollux or
 *                       ~/.local/state/pollux
 *     address           --server, POLLUX_SERVER, STATE/address (written by a daemon on another
 *                       port), http://127.0.0.1:7467
 *     certificates      --ca, POLLUX_CA, STATE/tls.pem if the address is STATE/address; the system's
 *     token             the file POLLUX_TOKEN_FILE, or STATE/admin.token
 *     how               POLLUX_AUTH: auto, token or munge
 */
#include "cli/daemon_access.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/home.h"

#define DEFAULT_PORT ":7467"
#define DEFAULT_ADDRESS "http://127.0.0.1" DEFAULT_PORT

static const char *variable (const char *name)
{
    const char *value = getenv (name);
    return value && *value ? value : NULL;
}

/* The first line of a small file, without the blanks at its end. */
static int read_line (const char *path, char *ret, size_t size, struct pollux_error *err)
{
    char *text;
    size_t length;
    int rc = file_read (path, 4096, &text, &length, err);
    if (rc < 0)
        return rc;
    size_t end = strcspn (text, "\r\n");
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    if (end == 0 || end >= size)
        rc = fail (err, -EINVAL, "%s: expected one line of 1 to %zu characters",
                   file_name (path).text, size - 1);
    else
        snprintf (ret, size, "%.*s", (int)end, text);
    explicit_bzero (text, length);
    free (text);
    return rc;
}

static bool starts (const char *text, const char *with)
{
    return strncmp (text, with, strlen (with)) == 0;
}

/* Printable, without blanks.  curl checks the host. */
static bool is_plain (const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~')
            return false;
    }
    return true;
}

/* The length of HOST, which may be an IPv6 address in brackets, at the start of a text. */
static size_t host_length (const char *host)
{
    size_t length = strcspn (host, host[0] == '[' ? "]" : ":/");
    return length + (host[length] == ']');
}

/* Set the URL or the socket of an address. */
static int understand (struct daemon_access *access, struct pollux_error *err)
{
    const char *address = access->address;
    if (starts (address, "unix:")) {
        const char *path = address + strlen ("unix:");
        if (*path != '/' || strlen (path) >= sizeof (access->socket))
            return fail (err, -EINVAL, "address %s: expected unix:/PATH of at most %zu characters",
                         quote (address).text, sizeof (access->socket) - 1);
        snprintf (access->socket, sizeof (access->socket), "%s", path);
        snprintf (access->url, sizeof (access->url), "http://localhost");
        return 0;
    }
    bool scheme = starts (address, "http://") || starts (address, "https://");
    const char *host = scheme ? strstr (address, "://") + 3 : address;
    size_t end = strlen (address);
    while (end > 0 && address[end - 1] == '/')
        end--;
    if (!is_plain (address) || !(isalnum ((unsigned char)*host) || *host == '[') ||
        strchr (host, '@') || strchr (host, '?') || (!scheme && strstr (address, "://")))
        return fail (
            err, -EINVAL,
            "address %s: expected HOST[:PORT], http://HOST[:PORT], https://HOST or unix:/PATH",
            quote (address).text);
    /* The default port is polluxd's, except for https, where a proxy listens. */
    size_t name = (size_t)(host - address) + host_length (host), rest = end - name;
    bool lacks_port = address[name] != ':' && !starts (address, "https://");
    snprintf (access->url, sizeof (access->url), "%s%.*s%s%.*s", scheme ? "" : "http://", (int)name,
              address, lacks_port ? DEFAULT_PORT : "", (int)rest, address + name);
    return 0;
}

/* The admin token is sent to daemons of this machine only, never to a mistyped address. */
static bool is_here (const struct daemon_access *access)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
    if (access->socket[0])
        return true;
    const char *host = strstr (access->url, "://") + 3;
    size_t length = host_length (host);
    for (size_t i = 0; i < sizeof (hosts) / sizeof (hosts[0]); i++) {
        if (strlen (hosts[i]) == length && strncmp (host, hosts[i], length) == 0)
            return true;
    }
    return false;
}

/* Warn about a token file that others can read. */
static void warn_if_open (const char *path)
{
    struct stat status;
    if (stat (path, &status) == 0 && S_ISREG (status.st_mode) && (status.st_mode & 044))
        fprintf (stderr,
                 "pollux: warning: POLLUX_TOKEN_FILE: %s can be read by others (mode %04o); "
                 "chmod 600 it\n",
                 file_name (path).text, (unsigned)status.st_mode & 07777);
}

static int find_auth (struct daemon_access *access, struct pollux_error *err)
{
    static const char *const names[] = {"auto", "token", "munge"};
    _Static_assert(sizeof (names) / sizeof (names[0]) == DAEMON_AUTHS, "a name for each");
    const char *given = variable ("POLLUX_AUTH");
    for (int i = 0; i < DAEMON_AUTHS; i++)
        if (!given || strcmp (given, names[i]) == 0) {
            access->auth = (enum daemon_auth)i;
            return 0;
        }
    return fail (err, -EINVAL, "POLLUX_AUTH: expected auto, token or munge, got %s",
                 quote (given).text);
}

static int find_token (struct daemon_access *access, struct pollux_error *err)
{
    int code = find_auth (access, err);
    if (code < 0 || access->auth == DAEMON_AUTH_MUNGE)
        return code;
    const char *given = variable ("POLLUX_TOKEN_FILE");
    char path[PATH_MAX + 32];
    snprintf (path, sizeof (path), "%s/admin.token", access->state);
    bool own = access->from_state && access->ca[0] && starts (access->url, "https://");
    if (!given && !own && !is_here (access)) {
        snprintf (access->no_token, sizeof (access->no_token),
                  "POLLUX_TOKEN_FILE is not set, and this is another machine's daemon");
        return 0;
    }
    struct pollux_error reason = {.text = ""};
    int rc = read_line (given ? given : path, access->token, sizeof (access->token), &reason);
    if (rc == 0 && !is_plain (access->token)) {
        explicit_bzero (access->token, sizeof (access->token));
        rc = fail (&reason, -EINVAL, "%s: does not contain a token",
                   file_name (given ? given : path).text);
    }
    if (rc < 0 && given)
        return fail (err, rc, "POLLUX_TOKEN_FILE: %s", reason.text);
    if (given)
        warn_if_open (given);
    if (rc == 0 && !is_here (access) && !starts (access->url, "https://"))
        fprintf (
            stderr,
            "pollux: warning: the token is sent to %s without TLS, so others on the network can "
            "read it; use https://\n",
            quote (access->address).text);
    if (rc < 0)
        snprintf (access->no_token, sizeof (access->no_token),
                  "POLLUX_TOKEN_FILE is not set, and %.140s", reason.text);
    return 0;
}

static int find_ca (struct daemon_access *ret, const char *given, struct pollux_error *err)
{
    char path[PATH_MAX + 32];
    ret->ca_from = given ? "--ca" : "POLLUX_CA";
    if (!given)
        given = variable ("POLLUX_CA");
    snprintf (path, sizeof (path), "%s/tls.pem", ret->state);
    if (!given && ret->from_state && starts (ret->url, "https://") && access (path, R_OK) == 0) {
        ret->ca_from = "the state directory's";
        given = path;
    }
    if (given && strlen (given) >= sizeof (ret->ca))
        return fail (err, -EINVAL, "%s: the path is too long", ret->ca_from);
    snprintf (ret->ca, sizeof (ret->ca), "%s", given ? given : "");
    return 0;
}

int daemon_access_find (const char *server, const char *ca, struct daemon_access *ret,
                        struct pollux_error *err)
{
    memset (ret, 0, sizeof (*ret));
    const char *address = server ? server : variable ("POLLUX_SERVER");
    char path[PATH_MAX + 32];
    int rc = home_state (ret->state, err);
    if (rc < 0)
        return rc;
    snprintf (path, sizeof (path), "%s/address", ret->state);
    if (address && strlen (address) >= sizeof (ret->address))
        return fail (err, -EINVAL, "address %s: it is too long", quote (address).text);
    if (address)
        snprintf (ret->address, sizeof (ret->address), "%s", address);
    else if (read_line (path, ret->address, sizeof (ret->address), NULL) == 0)
        ret->from_state = true;
    else
        snprintf (ret->address, sizeof (ret->address), "%s", DEFAULT_ADDRESS);
    rc = understand (ret, err);
    if (rc == 0)
        rc = find_ca (ret, ca, err);
    return rc < 0 ? rc : find_token (ret, err);
}
