/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by show, explain, drain and resume: one operand, one request, one answer.
 */
#include "cli/simple_request.h"

#include "cli/answer_text.h"

int simple_request_send (const struct simple_request *request, struct options *options, FILE *out,
                         struct pollux_error *err)
{
    struct client_options common = {0};
    struct client *client = NULL;
    const char *name = NULL;
    json_t *answer = NULL;
    int rc = client_options_parse (options, &common, err);
    if (rc == 0)
        rc = options_operand (options, &name, err);
    if (rc == 0)
        rc = client_open (&common.server, &client, err);
    if (rc == 0) {
        struct client_path path = client_path (request->before, name, request->after);
        rc = request->changes ? client_post (client, path.text, NULL, &answer, err)
                              : client_get (client, path.text, &answer, err);
    }
    if (rc == 0 && common.json)
        rc = answer_json (json_incref (answer), out, err);
    else if (rc == 0 && (rc = answer_disarm (answer, err)) == 0)
        rc = request->print (answer, out, err);
    json_decref (answer);
    client_close (client);
    return rc;
}
