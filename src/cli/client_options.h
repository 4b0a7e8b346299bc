/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all commands that talk to the daemon. */
#ifndef CLI_CLIENT_OPTIONS_H
#define CLI_CLIENT_OPTIONS_H

#include "base/options.h"
#include "cli/client.h"
#include "cli/command.h"

struct client_options {
    struct client_server server;
    bool json;
};

enum client_option_id {
    CLIENT_OPTION_SERVER = 1,
    CLIENT_OPTION_CA,
    CLIENT_OPTION_JSON,
    CLIENT_OPTION_NEXT, /* first id of a command's own options */
};

/* Rows for a command's table. */
#define CLIENT_OPTION_SERVER_ROW                                                                   \
    {"server", "ADDRESS", CLIENT_OPTION_SERVER, "the daemon: HOST:PORT, a URL or unix:/PATH"},     \
    {                                                                                              \
        "ca", "FILE", CLIENT_OPTION_CA, "the certificates that an https address is checked with"   \
    }
#define CLIENT_OPTION_ROWS                                                                         \
    {"json", NULL, CLIENT_OPTION_JSON, "print the daemon's answer as JSON"},                       \
        CLIENT_OPTION_SERVER_ROW

/* Take the current option, whose id is one of those above; a negative id is passed on as the
 * failure of options_next. */
int client_options_take (struct client_options *ret, const struct options *options, int id);

/* Parse all options of a command that has only these. */
int client_options_parse (struct options *options, struct client_options *ret,
                          struct pollux_error *err);

/* Refuse operands. */
int client_options_no_operand (const struct options *options, struct pollux_error *err);
/* Refuse operands, and connect.  *ret belongs to the caller (client_close). */
int client_options_connect (const struct options *options, const struct client_options *given,
                            struct client **ret, struct pollux_error *err);

#endif
