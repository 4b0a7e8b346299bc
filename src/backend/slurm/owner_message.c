/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode and decode the messages of the root process.  A reader and a writer move over a buffer; the
 * first thing that does not fit makes all later calls do nothing, so that only the end is checked.
 */
#define _GNU_SOURCE /* memfd_create */
#include "backend/slurm/owner_message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "wire/submission.h"

static const char request_magic[4] = "PlxR", answer_magic[4] = "PlxA";

const char *const owner_request_names[] = {"lookup", "submit", "signal", "cancel",
                                           "log",    "read",   "remove"};
_Static_assert(sizeof (owner_request_names) / sizeof (owner_request_names[0]) ==
                   OWNER_REQUEST_KINDS,
               "a name each");

bool owner_code_is_transient (int code)
{
    static const int codes[] = {-EAGAIN, -EIO,    -ESTALE, -ETIMEDOUT,       -EINTR,
                                -ENOMEM, -EMFILE, -ENFILE, OWNER_NO_PROCESS, OWNER_LOOKUP_FAILED};
    for (size_t i = 0; i < sizeof (codes) / sizeof (codes[0]); i++)
        if (codes[i] == code)
            return true;
    return false;
}

bool owner_file_is_sealed (int file)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl (file, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted;
}

/* ---- Names -------------------------------------------------------------------------------- */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

bool owner_name_is_valid (const char *name)
{
    size_t length = strnlen (name, NAME_SIZE);
    return length > 0 && length < NAME_SIZE && strspn (name, LETTERS) > 0 &&
           strspn (name, LETTERS ".-@+") == length;
}

bool owner_file_is_valid (const char *name)
{
    size_t length = strnlen (name, OWNER_FILE_SIZE);
    return length > 0 && length < OWNER_FILE_SIZE && strspn (name, LETTERS) > 0 &&
           strspn (name, LETTERS ".-") == length;
}

bool owner_word_is_valid (const char *word)
{
    static const char *const refused[] = {"--uid", "--gid"};
    size_t length = strcspn (word, "=");
    if (strncmp (word, "--", 2) != 0 || length < 4)
        return false;
    /* getopt takes a beginning of a name for the name. */
    for (size_t i = 0; i < sizeof (refused) / sizeof (refused[0]); i++)
        if (strncmp (word, refused[i], length) == 0)
            return false;
    for (const unsigned char *at = (const unsigned char *)word; *at; at++)
        if (*at < 32 || *at == 127)
            return false;
    return true;
}

/* ---- Writing ------------------------------------------------------------------------------ */

struct writer {
    uint8_t *data;
    size_t length, limit;
    bool full;
};

static void put_bytes (struct writer *writer, const void *bytes, size_t length)
{
    if (writer->full || length > writer->limit - writer->length) {
        writer->full = true;
        return;
    }
    memcpy (writer->data + writer->length, bytes, length);
    writer->length += length;
}

static void put_number (struct writer *writer, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put_bytes (writer, bytes, size);
}

static void put_text (struct writer *writer, const char *text)
{
    size_t length = strlen (text);
    if (length > UINT16_MAX)
        writer->full = true;
    put_number (writer, length, 2);
    put_bytes (writer, text, length);
}

static int written (const struct writer *writer, struct pollux_error *err)
{
    return writer->full ? fail (err, -EINVAL, "the message for the root process is too long")
                        : (int)writer->length;
}

/* ---- Reading ------------------------------------------------------------------------------ */

struct reader {
    const uint8_t *data;
    size_t at, size;
    bool bad;
};

static const uint8_t *get_bytes (struct reader *reader, size_t length)
{
    if (reader->bad || length > reader->size - reader->at) {
        reader->bad = true;
        return NULL;
    }
    reader->at += length;
    return reader->data + reader->at - length;
}

static uint64_t get_number (struct reader *reader, size_t size)
{
    const uint8_t *bytes = get_bytes (reader, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes && i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* A text without NUL that fits into `size` bytes with its NUL. */
static void get_text (struct reader *reader, char *ret, size_t size)
{
    size_t length = (size_t)get_number (reader, 2);
    const uint8_t *bytes = get_bytes (reader, length);
    *ret = '\0';
    if (!bytes || length >= size || memchr (bytes, 0, length)) {
        reader->bad = true;
        return;
    }
    memcpy (ret, bytes, length);
    ret[length] = '\0';
}

static void expect (struct reader *reader, const char magic[4])
{
    const uint8_t *bytes = get_bytes (reader, 4);
    reader->bad |= !bytes || memcmp (bytes, magic, 4) != 0;
    reader->bad |= get_number (reader, 2) != OWNER_VERSION;
}

/* ---- Requests ----------------------------------------------------------------------------- */

/* The fields that each kind has; those that it does not have are empty. */
static bool request_is_valid (const struct owner_request *request)
{
    bool names_file = request->kind == OWNER_LOG || request->kind == OWNER_READ;
    bool names_run = request->kind == OWNER_SUBMIT || request->kind == OWNER_REMOVE || names_file;
    bool names_job = request->kind == OWNER_SIGNAL || request->kind == OWNER_CANCEL;
    if (!owner_name_is_valid (request->owner))
        return false;
    if (names_run ? !wire_is_job (request->job) || request->generation < 1
                  : request->job[0] || request->generation != 0)
        return false;
    if (names_file ? request->rank < -1 || !owner_file_is_valid (request->file)
                   : request->rank != 0 || request->file[0])
        return false;
    const struct log_position *from = &request->from;
    if (request->kind == OWNER_LOG ? request->lines < -1 || from->offset < 0
                                   : request->lines != 0 || from->inode != 0 || from->device != 0 ||
                                         from->born_ns != 0 || from->offset != 0)
        return false;
    if (names_job ? request->slurm_job == 0 : request->slurm_job != 0)
        return false;
    if (request->kind == OWNER_SIGNAL ? request->signal < 1 || request->signal > 31
                                      : request->signal != 0)
        return false;
    if (request->word_count < 0 || request->word_count > OWNER_WORDS ||
        (request->kind != OWNER_SUBMIT && request->word_count != 0))
        return false;
    for (int i = 0; i < request->word_count; i++)
        if (!owner_word_is_valid (request->words[i]))
            return false;
    return true;
}

int owner_request_encode (const struct owner_request *request, uint8_t *ret,
                          struct pollux_error *err)
{
    struct writer writer = {.data = ret, .limit = OWNER_MESSAGE_LIMIT};
    if (!request_is_valid (request))
        return fail (err, -EINVAL, "a request to %s for owner %s is not valid",
                     owner_request_names[request->kind], request->owner);
    put_bytes (&writer, request_magic, sizeof (request_magic));
    put_number (&writer, OWNER_VERSION, 2);
    put_number (&writer, request->number, 8);
    put_number (&writer, (uint64_t)request->kind, 1);
    put_text (&writer, request->owner);
    put_text (&writer, request->job);
    put_number (&writer, (uint64_t)request->generation, 4);
    put_number (&writer, (uint32_t)request->rank, 4);
    put_text (&writer, request->file);
    put_number (&writer, (uint64_t)request->lines, 8);
    put_number (&writer, request->from.device, 8);
    put_number (&writer, request->from.inode, 8);
    put_number (&writer, (uint64_t)request->from.born_ns, 8);
    put_number (&writer, (uint64_t)request->from.offset, 8);
    put_number (&writer, request->slurm_job, 4);
    put_number (&writer, (uint64_t)request->signal, 1);
    put_number (&writer, (uint64_t)request->word_count, 2);
    for (int i = 0; i < request->word_count; i++)
        put_text (&writer, request->words[i]);
    return written (&writer, err);
}

int owner_request_peek (const uint8_t *data, size_t size, uint64_t *ret_number)
{
    struct reader reader = {.data = data, .size = size};
    expect (&reader, request_magic);
    uint64_t number = get_number (&reader, 8);
    if (reader.bad)
        return -EINVAL;
    *ret_number = number;
    return 0;
}

static void get_words (struct reader *reader, struct owner_request *request)
{
    size_t used = 0;
    uint64_t count = get_number (reader, 2);
    if (count > OWNER_WORDS) {
        reader->bad = true;
        return;
    }
    for (uint64_t i = 0; i < count && !reader->bad; i++) {
        char *word = request->storage + used;
        get_text (reader, word, sizeof (request->storage) - used);
        used += strlen (word) + 1;
        request->words[request->word_count++] = word;
    }
}

int owner_request_decode (const uint8_t *data, size_t size, struct owner_request *ret,
                          struct pollux_error *err)
{
    struct reader reader = {.data = data, .size = size};
    memset (ret, 0, sizeof (*ret));
    if (size > OWNER_MESSAGE_LIMIT)
        return fail (err, -EINVAL, "the request is too long");
    expect (&reader, request_magic);
    ret->number = get_number (&reader, 8);
    uint64_t kind = get_number (&reader, 1);
    ret->kind = (enum owner_request_kind) (kind < OWNER_REQUEST_KINDS ? kind : 0);
    get_text (&reader, ret->owner, sizeof (ret->owner));
    get_text (&reader, ret->job, sizeof (ret->job));
    ret->generation = (int)(uint32_t)get_number (&reader, 4);
    ret->rank = (int)(uint32_t)get_number (&reader, 4);
    get_text (&reader, ret->file, sizeof (ret->file));
    ret->lines = (int64_t)get_number (&reader, 8);
    ret->from.device = get_number (&reader, 8);
    ret->from.inode = get_number (&reader, 8);
    ret->from.born_ns = (int64_t)get_number (&reader, 8);
    ret->from.offset = (int64_t)get_number (&reader, 8);
    ret->slurm_job = (uint32_t)get_number (&reader, 4);
    ret->signal = (int)get_number (&reader, 1);
    get_words (&reader, ret);
    if (reader.bad || reader.at != size || kind >= OWNER_REQUEST_KINDS)
        return fail (err, -EINVAL, "the request is damaged or has an unknown version");
    if (!request_is_valid (ret))
        return fail (err, -EINVAL, "the request to %s has a name or a number that is not allowed",
                     owner_request_names[ret->kind]);
    return 0;
}

/* ---- Answers ------------------------------------------------------------------------------ */

int owner_answer_encode (const struct owner_answer *answer, uint8_t *ret, struct pollux_error *err)
{
    struct writer writer = {.data = ret, .limit = OWNER_MESSAGE_LIMIT};
    put_bytes (&writer, answer_magic, sizeof (answer_magic));
    put_number (&writer, OWNER_VERSION, 2);
    put_number (&writer, answer->number, 8);
    put_number (&writer, (uint32_t)-answer->code, 4);
    put_text (&writer, answer->text);
    put_text (&writer, answer->output);
    return written (&writer, err);
}

int owner_answer_decode (const uint8_t *data, size_t size, struct owner_answer *ret,
                         struct pollux_error *err)
{
    struct reader reader = {.data = data, .size = size};
    struct owner_answer answer = {0};
    expect (&reader, answer_magic);
    answer.number = get_number (&reader, 8);
    uint64_t code = get_number (&reader, 4);
    get_text (&reader, answer.text, sizeof (answer.text));
    get_text (&reader, answer.output, sizeof (answer.output));
    if (reader.bad || reader.at != size || code > 4095) /* errno values are below 4096 */
        return fail (err, -EINVAL, "the answer is damaged or has an unknown version");
    answer.code = -(int)code;
    *ret = answer;
    return 0;
}

/* ---- Payloads ----------------------------------------------------------------------------- */

int owner_payload_write (const struct owner_file *files, int count, struct pollux_error *err)
{
    size_t total = 0;
    int code = 0;
    int memory = memfd_create ("pollux-payload", MFD_CLOEXEC);
    if (memory < 0)
        return fail (err, -errno, "cannot make a file in memory: %s", strerror (errno));
    for (int i = 0; code == 0 && i < count; i++) {
        uint8_t head[2 + OWNER_FILE_SIZE + 4];
        struct writer writer = {.data = head, .limit = sizeof (head)};
        put_text (&writer, files[i].name);
        put_number (&writer, files[i].length, 4);
        total += writer.length + files[i].length;
        if (writer.full || total > OWNER_PAYLOAD_LIMIT || count > OWNER_PAYLOAD_FILES)
            code = fail (err, -EFBIG, "the descriptions of the replicas are too large");
        if (code == 0)
            code = file_write_all (memory, head, writer.length);
        if (code == 0)
            code = file_write_all (memory, files[i].text, files[i].length);
        if (code < 0 && code != -EFBIG)
            fail (err, code, "cannot write to a file in memory: %s", strerror (-code));
    }
    if (code == 0)
        return memory;
    close (memory);
    return code;
}

int owner_payload_next (const uint8_t *data, size_t size, size_t *at, struct owner_file *ret,
                        struct pollux_error *err)
{
    struct reader reader = {.data = data, .at = *at, .size = size};
    struct owner_file file = {0};
    if (*at == size)
        return 0;
    get_text (&reader, file.name, sizeof (file.name));
    file.length = (size_t)get_number (&reader, 4);
    file.text = (const char *)get_bytes (&reader, file.length);
    if (reader.bad)
        return fail (err, -EINVAL, "the payload of the request is damaged");
    /* The first one, and only the first one, has no name. */
    if (*at == 0 ? file.name[0] != '\0' : !owner_file_is_valid (file.name))
        return fail (err, -EINVAL, "the payload has a file whose name is not allowed");
    *at = reader.at;
    *ret = file;
    return 1;
}

/* ---- Accounts ----------------------------------------------------------------------------- */

/* One field per line: no field of passwd(5) has a line break. */
int owner_account_encode (const struct owner_account *account, char ret[OWNER_OUTPUT_SIZE])
{
    if (strchr (account->home, '\n') || strchr (account->shell, '\n') ||
        strchr (account->directory, '\n'))
        return -EINVAL;
    snprintf (ret, OWNER_OUTPUT_SIZE, "%u\n%u\n%s\n%s\n%s\n", account->uid, account->gid,
              account->home, account->shell, account->directory);
    return 0;
}

/* Copy the next line; NULL: it is missing or too long. */
static const char *take_line (const char *at, char *ret, size_t size)
{
    size_t length = at ? strcspn (at, "\n") : 0;
    if (!at || at[length] != '\n' || length >= size)
        return NULL;
    memcpy (ret, at, length);
    ret[length] = '\0';
    return at + length + 1;
}

int owner_account_decode (const char *text, struct owner_account *ret)
{
    struct owner_account account;
    char number[2][16];
    int64_t uid, gid;
    text = take_line (text, number[0], sizeof (number[0]));
    text = take_line (text, number[1], sizeof (number[1]));
    text = take_line (text, account.home, sizeof (account.home));
    text = take_line (text, account.shell, sizeof (account.shell));
    text = take_line (text, account.directory, sizeof (account.directory));
    if (!text || *text || number_int64 (number[0], &uid) < 0 || uid < 0 || uid > UINT32_MAX ||
        number_int64 (number[1], &gid) < 0 || gid < 0 || gid > UINT32_MAX)
        return -EINVAL;
    account.uid = (unsigned)uid;
    account.gid = (unsigned)gid;
    *ret = account;
    return 0;
}
