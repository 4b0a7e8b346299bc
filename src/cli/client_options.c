/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of all commands that talk to the daemon: --server, --ca and --json.
 */
#include "cli/client_options.h"

#include <errno.h>

#include "base/error.h"
#include "base/excerpt.h"

int client_options_take (struct client_options *ret, const struct options *options, int id)
{
    if (id == CLIENT_OPTION_SERVER)
        ret->server.address = options->argument;
    else if (id == CLIENT_OPTION_CA)
        ret->server.ca = options->argument;
    else if (id == CLIENT_OPTION_JSON)
        ret->json = true;
    return id < 0 ? id : 0;
}

static int take (void *ret, int id, const struct options *options, struct pollux_error *err)
{
    (void)err;
    return client_options_take (ret, options, id);
}

int client_options_parse (struct options *options, struct client_options *ret,
                          struct pollux_error *err)
{
    return options_each (options, take, ret, err);
}

int client_options_no_operand (const struct options *options, struct pollux_error *err)
{
    char **operands;
    if (options_operands (options, &operands) > 0)
        return fail (err, -EINVAL, "unexpected argument %s; see 'pollux %s --help'",
                     quote (operands[0]).text, options->command->name);
    return 0;
}

int client_options_connect (const struct options *options, const struct client_options *given,
                            struct client **ret, struct pollux_error *err)
{
    int rc = client_options_no_operand (options, err);
    return rc < 0 ? rc : client_open (&given->server, ret, err);
}
