/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode and parse manifests.  The parser compares each byte with the one form that the encoder
 * writes, and returns a manifest only if the checksum at the end is right.
 */
#include "agent/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

static const char head[] = "pollux-checkpoint 2\nchecksum xxh3-64\n";
static const char head_version1[] = "pollux-checkpoint 1\n";

/* The checksum of a manifest's own text. */
static uint64_t text_checksum (enum checksum_algorithm algorithm, const char *text, size_t length)
{
    return algorithm == CHECKSUM_VERSION1 ? bytes_checksum ((const uint8_t *)text, length)
                                          : checksum_of (text, length);
}

void manifest_free (struct manifest *manifest)
{
    free (manifest->files);
    *manifest = (struct manifest){0};
}

bool manifest_is_name (const char *name)
{
    size_t length = strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-");
    return length >= 1 && length <= MANIFEST_NAME_LIMIT && !name[length] && name[0] != '.' &&
           strcmp (name, MANIFEST_NAME) != 0;
}

const struct manifest_file *manifest_find (const struct manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->count; i++)
        if (strcmp (manifest->files[i].name, name) == 0)
            return &manifest->files[i];
    return NULL;
}

/* Make room for one more file. */
static int grow (struct manifest *manifest, struct pollux_error *err)
{
    if (manifest->count == POLLUX_CHECKPOINT_FILES)
        return fail (err, -E2BIG, "more than %d files", POLLUX_CHECKPOINT_FILES);
    if (manifest->count < manifest->capacity)
        return 0;
    size_t capacity = manifest->capacity ? 2 * manifest->capacity : 16;
    struct manifest_file *files = realloc (manifest->files, capacity * sizeof (files[0]));
    if (!files)
        return fail (err, -ENOMEM, "no memory for %zu files", capacity);
    manifest->files = files;
    manifest->capacity = capacity;
    return 0;
}

static int append (struct manifest *manifest, const struct manifest_file *file,
                   struct pollux_error *err)
{
    int code = grow (manifest, err);
    if (code == 0)
        manifest->files[manifest->count++] = *file;
    return code;
}

int manifest_set (struct manifest *manifest, const char *name, int64_t size, uint64_t checksum,
                  struct pollux_error *err)
{
    struct manifest_file file = {.size = size, .checksum = checksum};
    snprintf (file.name, sizeof (file.name), "%s", name);
    const struct manifest_file *known = manifest_find (manifest, name);
    if (!known)
        return append (manifest, &file, err);
    manifest->files[known - manifest->files] = file;
    return 0;
}

int manifest_encode (const struct manifest *manifest, char **ret, size_t *ret_length,
                     struct pollux_error *err)
{
    if (manifest->algorithm != CHECKSUM_XXH3_64)
        return fail (err, -EINVAL, MANIFEST_NAME ": version 1 is not written any more");
    size_t size = sizeof (head) + 64;
    for (size_t i = 0; i < manifest->count; i++)
        size += strlen (manifest->files[i].name) + 48;
    char *text = malloc (size);
    if (!text)
        return fail (err, -ENOMEM, "no memory for a list of %zu files", manifest->count);
    size_t length = (size_t)snprintf (text, size, "%s", head);
    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        length += (size_t)snprintf (text + length, size - length, "file %016llx %lld %s\n",
                                    (unsigned long long)file->checksum, (long long)file->size,
                                    file->name);
    }
    length += (size_t)snprintf (text + length, size - length, "end %zu ", manifest->count);
    uint64_t checksum = text_checksum (manifest->algorithm, text, length);
    length +=
        (size_t)snprintf (text + length, size - length, "%016llx\n", (unsigned long long)checksum);
    *ret = text;
    *ret_length = length;
    return 0;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* The part of the text that is not parsed yet. */
struct cursor {
    const char *at, *end;
};

static bool take_text (struct cursor *cursor, const char *text)
{
    size_t length = strlen (text);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp (cursor->at, text, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* Sixteen hexadecimal digits in lower case. */
static bool take_hex (struct cursor *cursor, uint64_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    if (cursor->end - cursor->at < 16)
        return false;
    uint64_t value = 0;
    for (int i = 0; i < 16; i++) {
        const char *digit = memchr (digits, *cursor->at++, 16);
        if (!digit)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *ret = value;
    return true;
}

/* A decimal number below 2^62 without leading zeros. */
static bool take_number (struct cursor *cursor, int64_t *ret)
{
    const char *start = cursor->at;
    int64_t value = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        if (value > ((int64_t)1 << 58))
            return false;
        value = 10 * value + (*cursor->at - '0');
    }
    *ret = value;
    return cursor->at > start && (*start != '0' || cursor->at == start + 1);
}

/* A legal name and the end of its line. */
static bool take_name (struct cursor *cursor, char ret[MANIFEST_NAME_LIMIT + 1])
{
    const char *end = memchr (cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    if (!end || end - cursor->at > MANIFEST_NAME_LIMIT)
        return false;
    size_t length = (size_t)(end - cursor->at);
    memcpy (ret, cursor->at, length);
    ret[length] = '\0';
    cursor->at = end + 1;
    return strlen (ret) == length && manifest_is_name (ret);
}

static int parse_files (struct cursor *cursor, struct manifest *manifest, struct pollux_error *err)
{
    int code = 0;
    while (code == 0 && take_text (cursor, "file ")) {
        struct manifest_file file = {.size = 0};
        if (!take_hex (cursor, &file.checksum) || !take_text (cursor, " ") ||
            !take_number (cursor, &file.size) || !take_text (cursor, " ") ||
            !take_name (cursor, file.name))
            return fail (err, -EBADMSG, MANIFEST_NAME ": the line of file %zu is damaged",
                         manifest->count + 1);
        code = append (manifest, &file, err);
    }
    return code;
}

/* The version and, since version 2, the name of the algorithm. */
static int parse_head (struct cursor *cursor, enum checksum_algorithm *ret,
                       struct pollux_error *err)
{
    if (take_text (cursor, head)) {
        *ret = CHECKSUM_XXH3_64;
        return 0;
    }
    if (take_text (cursor, head_version1)) {
        *ret = CHECKSUM_VERSION1;
        return 0;
    }
    return fail (err, -EBADMSG,
                 MANIFEST_NAME ": expected version 1, or version 2 with checksum xxh3-64; a "
                               "newer Pollux may be able to read it");
}

static int parse_all (struct cursor *cursor, struct manifest *manifest, struct pollux_error *err)
{
    int64_t count;
    uint64_t checksum;
    const char *start = cursor->at;
    int code = parse_head (cursor, &manifest->algorithm, err);
    if (code == 0)
        code = parse_files (cursor, manifest, err);
    if (code < 0)
        return code;
    if (!take_text (cursor, "end ") || !take_number (cursor, &count) || !take_text (cursor, " ") ||
        (size_t)count != manifest->count)
        return fail (err, -EBADMSG, MANIFEST_NAME ": cut or damaged after %zu files",
                     manifest->count);
    size_t covered = (size_t)(cursor->at - start);
    if (!take_hex (cursor, &checksum) || !take_text (cursor, "\n") || cursor->at != cursor->end ||
        checksum != text_checksum (manifest->algorithm, start, covered))
        return fail (err, -EBADMSG, MANIFEST_NAME ": damaged (wrong checksum)");
    return 0;
}

int manifest_parse (const char *text, size_t length, struct manifest *ret, struct pollux_error *err)
{
    struct manifest manifest = {0};
    struct cursor cursor = {text, text + length};
    int code = length > MANIFEST_LIMIT
                   ? fail (err, -EBADMSG, MANIFEST_NAME ": %zu bytes, more than 16 MiB", length)
                   : parse_all (&cursor, &manifest, err);
    if (code < 0)
        manifest_free (&manifest);
    else
        *ret = manifest;
    return code;
}
