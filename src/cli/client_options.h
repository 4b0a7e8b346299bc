/* SPDX-License-Identifier: Apache-2.0 */
/* The options that all commands around the daemon share. */
#ifndef CLI_CLIENT_OPTIONS_H
#define CLI_CLIENT_OPTIONS_H

#include "base/options.h"
#include "cli/client.h"
#include "cli/command.h"

struct client_options {
    const char *server; /* NULL: as the environment says */
    bool json;
};

enum client_option_id {
    CLIENT_OPTION_SERVER = 1,
    CLIENT_OPTION_JSON,
    CLIENT_OPTION_NEXT, /* the first id for a command's own */
};

/* Rows for a command's table. */
#define CLIENT_OPTION_SERVER_ROW                                                                   \
    {                                                                                              \
        "server", "ADDRESS", CLIENT_OPTION_SERVER, "the daemon: HOST:PORT, a URL or unix:/PATH"    \
    }
#define CLIENT_OPTION_ROWS                                                                         \
    {"json", NULL, CLIENT_OPTION_JSON, "print the daemon's answer as JSON"},                       \
        CLIENT_OPTION_SERVER_ROW

/* Take the current option, whose id is one of those above, or the failure of options_next. */
int client_options_take (struct client_options *ret, const struct options *options, int id);

/* All options, of a command that has no others. */
int client_options_parse (struct options *options, struct client_options *ret,
                          struct pollux_error *err);

/* Refuse operands. */
int client_options_no_operand (const struct options *options, struct pollux_error *err);

#endif
