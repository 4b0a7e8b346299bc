/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux token: create, list and revoke tokens.  A new token is printed once, alone, to be redirected
 * into a file.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"
#include "cli/table.h"

enum { TOKEN_ROLE = CLIENT_OPTION_NEXT, TOKEN_EXPIRES };

static const struct command_option token_options[] = {
    {"role", "user|read-only|admin", TOKEN_ROLE, "role of a new token (user)"},
    {"expires", "TIME", TOKEN_EXPIRES, "lifetime of a new token: 30d, 12h, 90m, 60s (unlimited)"},
    CLIENT_OPTION_ROWS,
};
static const char *const roles[] = {"user", "read-only", "admin"};

struct token_request {
    struct client_options client;
    size_t role;
    bool has_role;
    int64_t expires_s; /* 0: it does not expire */
};

/* The argument of --expires: a whole number and s, m, h or d; at most ten years. */
static int take_expiry (const struct options *options, int64_t *ret_s, struct pollux_error *err)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    static const int64_t most_s = INT64_C (3650) * 86400;
    const char *text = options->argument;
    size_t length = strlen (text);
    char digits[12] = "";
    int64_t count;
    if (length >= 2 && length <= sizeof (digits)) {
        memcpy (digits, text, length - 1);
        for (size_t i = 0; i < sizeof (units) / sizeof (units[0]); i++)
            if (text[length - 1] == units[i].letter && number_int64 (digits, &count) == 0 &&
                count >= 1 && count <= most_s / units[i].seconds) {
                *ret_s = count * units[i].seconds;
                return 0;
            }
    }
    return fail (err, -EINVAL,
                 "--expires: expected a time such as 30d, 12h, 90m or 60s, at most 3650d, got %s",
                 quote (text).text);
}

static int parse (struct options *options, struct token_request *ret, struct pollux_error *err)
{
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        ret->has_role |= id == TOKEN_ROLE;
        if (id == TOKEN_ROLE)
            rc = options_choice (options, roles, 3, &ret->role, err);
        else if (id == TOKEN_EXPIRES)
            rc = take_expiry (options, &ret->expires_s, err);
        else
            rc = client_options_take (&ret->client, options, id);
    }
    return rc;
}

static int new_token (struct client *client, const char *name, const struct token_request *request,
                      FILE *out, struct pollux_error *err)
{
    json_t *answer = NULL,
           *body = json_pack ("{s:s, s:s}", "name", name, "role", roles[request->role]);
    if (!body)
        return fail (err, -EINVAL, "%s cannot be a token's name: it is not UTF-8",
                     quote (name).text);
    /* Left out otherwise: an earlier polluxd refuses it. */
    if (request->expires_s > 0 &&
        json_object_set_new (body, "expires_s", json_integer (request->expires_s)) < 0) {
        json_decref (body);
        return fail (err, -ENOMEM, "not enough memory for the request");
    }
    int rc = client_post (client, "/v1/tokens", body, &answer, err);
    json_decref (body);
    if (rc == 0 && request->client.json)
        rc = answer_json (json_incref (answer), out, err);
    else if (rc == 0 && (rc = answer_disarm (answer, err)) == 0)
        fprintf (out, "%s\n", answer_text (answer, "token"));
    json_decref (answer);
    return rc;
}

static int list_tokens (struct client *client, bool json, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<name", "<role", "<expires"};
    struct table table = TABLE_START (titles);
    json_t *answer = NULL, *token;
    size_t i;
    int rc = client_get (client, "/v1/tokens", &answer, err);
    if (rc == 0 && json)
        return answer_json (answer, out, err);
    if (rc == 0)
        rc = answer_disarm (answer, err);
    const json_t *tokens = json_object_get (answer, "tokens");
    if (rc == 0 && json_array_size (tokens) == 0) {
        fputs ("No tokens besides the daemon's own admin.token.\n", out);
    } else if (rc == 0) {
        json_array_foreach (tokens, i, token)
        {
            table_cell (&table, "%s", answer_text (token, "name"));
            table_cell (&table, "%s", answer_text (token, "role"));
            double expires_at = answer_number (token, "expires_at");
            table_cell (&table, "%s%s",
                        isfinite (expires_at) ? answer_time (expires_at).text : "never",
                        answer_true (token, "expired") ? " (expired)" : "");
        }
        rc = table_end (&table, terminal_of (out), out, err);
    }
    json_decref (answer);
    return rc;
}

static int revoke_token (struct client *client, const char *name, bool json, FILE *out,
                         struct pollux_error *err)
{
    json_t *answer = NULL;
    int rc = client_delete (client, client_path ("/v1/tokens/", name, "").text, &answer, err);
    if (rc == 0 && json)
        return answer_json (answer, out, err);
    if (rc == 0)
        fprintf (out, "The token of %s is revoked.\n", name);
    json_decref (answer);
    return rc;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct token_request request = {0};
    struct client *client = NULL;
    char **words;
    int rc = parse (options, &request, err);
    if (rc < 0)
        return rc;
    int count = options_operands (options, &words);
    const char *verb = count > 0 ? words[0] : "";
    bool makes = strcmp (verb, "new") == 0, lists = strcmp (verb, "list") == 0,
         revokes = strcmp (verb, "revoke") == 0;
    if ((!makes && !lists && !revokes) || count != (lists ? 1 : 2))
        return fail (err, -EINVAL,
                     "expected 'new NAME', 'list' or 'revoke NAME'; see 'pollux token "
                     "--help'");
    if ((request.has_role || request.expires_s > 0) && !makes)
        return fail (err, -EINVAL, "%s is for 'pollux token new'",
                     request.has_role ? "--role" : "--expires");
    rc = client_open (&request.client.server, &client, err);
    if (rc == 0 && makes)
        rc = new_token (client, words[1], &request, out, err);
    else if (rc == 0 && lists)
        rc = list_tokens (client, request.client.json, out, err);
    else if (rc == 0)
        rc = revoke_token (client, words[1], request.client.json, out, err);
    client_close (client);
    return rc;
}

const struct command token_command = {
    .name = "token",
    .operands = "new NAME | list | revoke NAME",
    .summary = "make, list and revoke tokens (admin)",
    .description = "'new' makes a token and prints it, once: keep it in a file that only its owner "
                   "can read, and\n"
                   "name that file in POLLUX_TOKEN_FILE.  The name becomes the owner of the jobs "
                   "submitted with\n"
                   "it.  'list' prints names, roles and times of expiry, 'revoke' makes a token "
                   "worthless.",
    COMMAND_OPTIONS (token_options),
    .run = run,
};
