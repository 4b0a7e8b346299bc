/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is built in one buffer and written with one call, so that lines of several writers do not mix.
 * Values may be text of clients: a value that is no plain word is quoted, and control characters are
 * escaped.
 */
#include "daemon/logger.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const log_level_names[] = {"error", "warning", "info", "debug"};
_Static_assert(sizeof (log_level_names) / sizeof (log_level_names[0]) == LOG_LEVELS, "a name each");

/* Longer lines are cut at this size. */
enum { LINE_SIZE = 4096 };

struct line {
    size_t length;
    char text[LINE_SIZE];
};

__attribute__ ((format (printf, 2, 3))) static void add (struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start (arguments, format);
    size_t room = sizeof (line->text) - 1 - line->length; /* the last byte is the line break's */
    int length = vsnprintf (line->text + line->length, room, format, arguments);
    va_end (arguments);
    if (length > 0)
        line->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void add_quoted (struct line *line, const char *text)
{
    add (line, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            add (line, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            add (line, "\\u%04x", *at);
        else
            add (line, "%c", *at);
    }
    add (line, "\"");
}

static bool is_word (const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at <= ' ' || *at == '"' || *at == '\\' || *at == '=' || *at == 0x7f)
            return false;
    return *text;
}

static void add_number (struct line *line, double number, bool json)
{
    if (json && !isfinite (number))
        add (line, "null");
    else
        add (line, "%.15g", number);
}

static void add_time (struct line *line)
{
    struct timespec now;
    struct tm parts;
    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &parts);
    char text[32];
    strftime (text, sizeof (text), "%Y-%m-%dT%H:%M:%S", &parts);
    add (line, "%s.%03ldZ", text, now.tv_nsec / 1000000);
}

static void make_json (struct line *line, enum log_level level, const char *message,
                       const struct log_field *fields, int count)
{
    add (line, "{\"time\":\"");
    add_time (line);
    add (line, "\",\"level\":\"%s\",\"message\":", log_level_names[level]);
    add_quoted (line, message);
    for (int i = 0; i < count; i++) {
        add (line, ",\"%s\":", fields[i].name);
        if (fields[i].text)
            add_quoted (line, fields[i].text);
        else
            add_number (line, fields[i].number, true);
    }
    add (line, "}");
}

static void make_plain (struct line *line, const struct logger *logger, enum log_level level,
                        const char *message, const struct log_field *fields, int count)
{
    static const int priorities[LOG_LEVELS] = {3, 4, 6, 7}; /* syslog's */
    if (logger->format == LOG_JOURNALD) {
        add (line, "<%d>%s", priorities[level], message);
    } else {
        add_time (line);
        add (line, " %s %s", log_level_names[level], message);
    }
    for (int i = 0; i < count; i++) {
        add (line, " %s=", fields[i].name);
        if (!fields[i].text)
            add_number (line, fields[i].number, false);
        else if (is_word (fields[i].text))
            add (line, "%s", fields[i].text);
        else
            add_quoted (line, fields[i].text);
    }
}

void logger_write (const struct logger *logger, enum log_level level, const char *message,
                   const struct log_field *fields, int count)
{
    if (level > logger->level)
        return;
    struct line line = {.length = 0};
    if (logger->format == LOG_JSON)
        make_json (&line, level, message, fields, count);
    else
        make_plain (&line, logger, level, message, fields, count);
    line.text[line.length++] = '\n';
    ssize_t written = write (logger->fd, line.text, line.length);
    (void)written; /* there is no other place to report a failure */
}

struct logger logger_stderr (enum log_level level)
{
    bool journald = getenv ("JOURNAL_STREAM") != NULL;
    return (struct logger){
        .fd = STDERR_FILENO, .level = level, .format = journald ? LOG_JOURNALD : LOG_PLAIN};
}
