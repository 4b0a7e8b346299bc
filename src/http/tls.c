/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates, by GnuTLS.  The text of a key is erased before its memory is freed.
 *
 * A made certificate is its own issuer.  Clients pin it: they trust this file and no other issuer.  So no
 * authority has to be asked, and the file must come to the clients by a safe way, as the state directory
 * on a shared file system is.
 */
#define _GNU_SOURCE
#include "http/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

#define DAY_S INT64_C (86400)
enum {
    FILE_LIMIT = 1 << 20, /* a chain of 100 certificates is 200 KiB */
    CHAIN_LIMIT = 100,
    VALID_DAYS = 365,
    LEAST_DAYS = 30, /* a made certificate is replaced when fewer are left */
    SKEW_DAYS = 1,   /* valid before now, for clients whose clock is late */
};

void tls_clear (struct tls *tls)
{
    if (tls->key)
        explicit_bzero (tls->key, strlen (tls->key));
    free (tls->key);
    free (tls->cert);
    *tls = (struct tls){0};
}

/* ---- Reading ---------------------------------------------------------------------------------- */

/* Refuse a key that other users can read. */
static int check_mode (const char *path, struct pollux_error *err)
{
    struct stat status;
    if (stat (path, &status) < 0)
        return fail (err, -errno, "TLS key %s: %s", file_name (path).text, strerror (errno));
    if (!S_ISREG (status.st_mode))
        return fail (err, -EINVAL, "TLS key %s: expected a regular file", file_name (path).text);
    if (status.st_mode & 077)
        return fail (
            err, -EACCES,
            "TLS key %s: other users can read or change it (mode %04o); chmod 600 it, and give "
            "it to polluxd's user",
            file_name (path).text, (unsigned)status.st_mode & 07777);
    return 0;
}

static gnutls_datum_t datum (const char *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen (text)};
}

/* Do certificate and key belong together? */
static int check_pair (const struct tls *tls, const char *cert, const char *key,
                       struct pollux_error *err)
{
    gnutls_certificate_credentials_t pair;
    gnutls_datum_t cert_text = datum (tls->cert), key_text = datum (tls->key);
    if (gnutls_certificate_allocate_credentials (&pair) < 0)
        return fail (err, -ENOMEM, "not enough memory for a certificate");
    int code = gnutls_certificate_set_x509_key_mem2 (pair, &cert_text, &key_text,
                                                     GNUTLS_X509_FMT_PEM, NULL, 0);
    gnutls_certificate_free_credentials (pair);
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return fail (err, -EINVAL, "TLS key %s does not belong to the certificate %s",
                     file_name (key).text, file_name (cert).text);
    return code < 0
               ? fail (err, -EINVAL, "TLS key %s: expected a key in PEM, without a password: %s",
                       file_name (key).text, gnutls_strerror (code))
               : 0;
}

/* The first certificate of the text, the caller's; a negative number of GnuTLS. */
static int first_certificate (const char *text, gnutls_x509_crt_t *ret)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    gnutls_datum_t source = datum (text);
    int code = gnutls_x509_crt_list_import2 (&list, &count, &source, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0)
        return code;
    for (unsigned i = 1; i < count; i++)
        gnutls_x509_crt_deinit (list[i]);
    *ret = list[0];
    gnutls_free (list);
    return 0;
}

static int read_times (struct tls *tls, const char *path, struct pollux_error *err)
{
    gnutls_x509_crt_t certificate;
    int code = first_certificate (tls->cert, &certificate);
    if (code < 0)
        return fail (err, -EINVAL, "TLS certificate %s: expected a certificate in PEM: %s",
                     file_name (path).text, gnutls_strerror (code));
    tls->from_s = gnutls_x509_crt_get_activation_time (certificate);
    tls->until_s = gnutls_x509_crt_get_expiration_time (certificate);
    gnutls_x509_crt_deinit (certificate);
    return 0;
}

int tls_read (const char *cert, const char *key, struct tls *ret, struct pollux_error *err)
{
    struct tls tls = {0};
    struct pollux_error why = {.text = ""};
    size_t length;
    int code = file_read (cert, FILE_LIMIT, &tls.cert, &length, &why);
    if (code < 0)
        fail (err, code, "TLS certificate: %s", why.text);
    if (code == 0)
        code = check_mode (key, err);
    if (code == 0 && (code = file_read (key, FILE_LIMIT, &tls.key, &length, &why)) < 0)
        fail (err, code, "TLS key: %s", why.text);
    if (code == 0)
        code = read_times (&tls, cert, err);
    if (code == 0)
        code = check_pair (&tls, cert, key, err);
    if (code < 0)
        tls_clear (&tls);
    else
        *ret = tls;
    return code;
}

/* ---- Making ----------------------------------------------------------------------------------- */

/* The bytes of an address in ret; 0: it is a name. */
static unsigned address_bytes (const char *name, unsigned char ret[16])
{
    return inet_pton (AF_INET, name, ret) == 1 ? 4 : inet_pton (AF_INET6, name, ret) == 1 ? 16 : 0;
}

/* Is the text a certificate for all names? */
static bool covers (const char *text, const char *const *names, int count)
{
    gnutls_x509_crt_t certificate;
    bool all = true;
    if (first_certificate (text, &certificate) < 0)
        return false;
    for (int i = 0; i < count && all; i++) {
        unsigned char bytes[16];
        unsigned size = address_bytes (names[i], bytes);
        all = size ? gnutls_x509_crt_check_ip (certificate, bytes, size, 0)
                   : gnutls_x509_crt_check_hostname2 (certificate, names[i], 0);
    }
    gnutls_x509_crt_deinit (certificate);
    return all;
}

static int add_names (gnutls_x509_crt_t certificate, const char *const *names, int count)
{
    int code = 0;
    for (int i = 0; i < count && code >= 0; i++) {
        unsigned char bytes[16];
        unsigned size = address_bytes (names[i], bytes);
        code = size ? gnutls_x509_crt_set_subject_alt_name (certificate, GNUTLS_SAN_IPADDRESS,
                                                            bytes, size, GNUTLS_FSAN_APPEND)
                    : gnutls_x509_crt_set_subject_alt_name (certificate, GNUTLS_SAN_DNSNAME,
                                                            names[i], (unsigned)strlen (names[i]),
                                                            GNUTLS_FSAN_APPEND);
    }
    return code;
}

static int fill (gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, const char *const *names,
                 int count, int64_t now_s)
{
    static const char common_name[] = "polluxd";
    unsigned char serial[16], id[64];
    size_t id_size = sizeof (id);
    if (getrandom (serial, sizeof (serial), 0) != (ssize_t)sizeof (serial))
        return GNUTLS_E_RANDOM_FAILED;
    serial[0] = (serial[0] & 0x7f) | 0x40; /* a positive number of constant length */
    int codes[] = {
        gnutls_x509_crt_set_version (certificate, 3),
        gnutls_x509_crt_set_key (certificate, key),
        gnutls_x509_crt_set_serial (certificate, serial, sizeof (serial)),
        gnutls_x509_crt_set_activation_time (certificate, (time_t)(now_s - SKEW_DAYS * DAY_S)),
        gnutls_x509_crt_set_expiration_time (certificate, (time_t)(now_s + VALID_DAYS * DAY_S)),
        gnutls_x509_crt_set_dn_by_oid (certificate, GNUTLS_OID_X520_COMMON_NAME, 0, common_name,
                                       sizeof (common_name) - 1),
        add_names (certificate, names, count),
        gnutls_x509_crt_set_basic_constraints (certificate, 0, -1),
        gnutls_x509_crt_set_key_usage (certificate, GNUTLS_KEY_DIGITAL_SIGNATURE),
        gnutls_x509_crt_set_key_purpose_oid (certificate, GNUTLS_KP_TLS_WWW_SERVER, 0),
        gnutls_x509_crt_get_key_id (certificate, 0, id, &id_size),
        gnutls_x509_crt_set_subject_key_id (certificate, id, id_size),
        gnutls_x509_crt_set_authority_key_id (certificate, id, id_size),
        gnutls_x509_crt_sign2 (certificate, certificate, key, GNUTLS_DIG_SHA256, 0),
    };
    for (size_t i = 0; i < sizeof (codes) / sizeof (codes[0]); i++)
        if (codes[i] < 0)
            return codes[i];
    return 0;
}

/* A new key and a certificate, each as text that gnutls_free frees. */
static int generate (const char *const *names, int count, int64_t now_s, gnutls_datum_t *ret_cert,
                     gnutls_datum_t *ret_key)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t certificate = NULL;
    unsigned bits = GNUTLS_CURVE_TO_BITS (GNUTLS_ECC_CURVE_SECP256R1);
    int code = gnutls_x509_privkey_init (&key);
    if (code >= 0)
        code = gnutls_x509_privkey_generate (key, GNUTLS_PK_ECDSA, bits, 0);
    if (code >= 0)
        code = gnutls_x509_crt_init (&certificate);
    if (code >= 0)
        code = fill (certificate, key, names, count, now_s);
    if (code >= 0)
        code = gnutls_x509_crt_export2 (certificate, GNUTLS_X509_FMT_PEM, ret_cert);
    if (code >= 0)
        code = gnutls_x509_privkey_export2_pkcs8 (key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                                  ret_key);
    if (certificate)
        gnutls_x509_crt_deinit (certificate);
    if (key)
        gnutls_x509_privkey_deinit (key);
    return code;
}

/* Write a file with mode 0600, atomically. */
static int write_file (const char *directory, const char *name, const gnutls_datum_t *text,
                       struct pollux_error *err)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    snprintf (path, sizeof (path), "%s/%s", directory, name);
    snprintf (temporary, sizeof (temporary), "%s/.%s.new", directory, name);
    unlink (temporary);
    int fd = open (temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && fchmod (fd, 0600) == 0 &&
              write (fd, text->data, text->size) == (ssize_t)text->size && fsync (fd) == 0;
    int code = ok ? 0 : errno ? -errno : -EIO;
    if (fd >= 0)
        close (fd);
    if (code == 0 && rename (temporary, path) < 0)
        code = -errno;
    if (code < 0)
        unlink (temporary);
    return code < 0
               ? fail (err, code, "cannot write %s: %s", file_name (path).text, strerror (-code))
               : 0;
}

static bool can_be_kept (const char *directory, const char *const *names, int count, int64_t now_s)
{
    char cert[PATH_MAX], key[PATH_MAX];
    struct tls tls;
    snprintf (cert, sizeof (cert), "%s/%s", directory, TLS_CERT_NAME);
    snprintf (key, sizeof (key), "%s/%s", directory, TLS_KEY_NAME);
    if (tls_read (cert, key, &tls, NULL) < 0)
        return false;
    bool kept = covers (tls.cert, names, count) && tls.from_s <= now_s &&
                tls.until_s >= now_s + LEAST_DAYS * DAY_S;
    tls_clear (&tls);
    return kept;
}

int tls_make (const char *directory, const char *const *names, int count, int64_t now_s,
              struct pollux_error *err)
{
    gnutls_datum_t cert = {0}, key = {0};
    if (strlen (directory) + 16 > PATH_MAX)
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", file_name (directory).text);
    if (can_be_kept (directory, names, count, now_s))
        return 0;
    int made = generate (names, count, now_s, &cert, &key);
    int code = made < 0 ? fail (err, -EIO, "cannot make a certificate: %s", gnutls_strerror (made))
                        : write_file (directory, TLS_KEY_NAME, &key, err);
    /* If this process dies here, key and certificate do not belong together, and both are made again. */
    if (code == 0)
        code = write_file (directory, TLS_CERT_NAME, &cert, err);
    if (key.data)
        explicit_bzero (key.data, key.size);
    gnutls_free (key.data);
    gnutls_free (cert.data);
    return code < 0 ? code : 1;
}
