/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by show, explain, drain, groups and the like: one request, one answer.
 */
#include "cli/simple_request.h"

#include "cli/answer_text.h"

int simple_request_path (const struct client_options *given, const char *path, bool changes,
                         const json_t *body, answer_printer *print, FILE *out,
                         struct pollux_error *err)
{
    struct client *client = NULL;
    json_t *answer = NULL;
    int rc = client_open (&given->server, &client, err);
    if (rc == 0)
        rc = changes ? client_post (client, path, body, &answer, err)
                     : client_get (client, path, &answer, err);
    if (rc == 0 && given->json)
        rc = answer_json (json_incref (answer), out, err);
    else if (rc == 0 && (rc = answer_disarm (answer, err)) == 0)
        rc = print (answer, out, err);
    json_decref (answer);
    client_close (client);
    return rc;
}

int simple_request_run (struct options *options, FILE *out, struct pollux_error *err)
{
    const struct simple_request *request = options->command->subject;
    struct client_options common = {0};
    const char *name = NULL;
    int rc = client_options_parse (options, &common, err);
    if (rc == 0)
        rc = options_operand (options, &name, err);
    if (rc < 0)
        return rc;
    return simple_request_path (&common, client_path (request->before, name, request->after).text,
                                request->changes, NULL, request->print, out, err);
}
