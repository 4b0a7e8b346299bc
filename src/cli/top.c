/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux top: a live view of the cluster.
 *
 * One loop waits for keys and for the daemon.  If the daemon does not answer, requests are repeated;
 * meanwhile the last state stays on the screen, with its age.
 */
#include <curses.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/answer_text.h"
#include "cli/client_options.h"
#include "cli/node_text.h"
#include "cli/terminal.h"
#include "cli/top_view.h"

enum { TOP_ONCE = CLIENT_OPTION_NEXT, TOP_INTERVAL };

static const struct command_option top_options[] = {
    {"interval", "SECONDS", TOP_INTERVAL, "time between refreshes (2)"},
    {"once", NULL, TOP_ONCE, "print the view once, as text"},
    CLIENT_OPTION_SERVER_ROW,
};

/* The requests of one refresh, in this order. */
enum top_request { REQUEST_STATUS, REQUEST_NODES, REQUEST_GROUPS, REQUEST_JOBS, REQUESTS };
static const char *const request_paths[REQUESTS] = {"/v1/status", "/v1/nodes", "/v1/groups",
                                                    "/v1/jobs?phase=live&limit=250"};

struct top {
    struct client *client;
    struct top_state state;
    struct top_choice choice;
    double interval_s;
    enum top_request current; /* REQUESTS: no request until next_s */
    double next_s, answered_s;
    bool silent; /* the last request failed */
};

static double now_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Answers ---------------------------------------------------------------------------------- */

static void replace (json_t **value, json_t *by)
{
    json_incref (by);
    json_decref (*value);
    *value = by;
}

static void drop_off (json_t *nodes)
{
    for (size_t i = json_array_size (nodes); i-- > 0;)
        if (node_is_off (json_array_get (nodes, i)))
            json_array_remove (nodes, i);
}

/* Store an answer, and take it over. */
static int take_answer (struct top_state *state, enum top_request request, json_t *answer,
                        struct pollux_error *err)
{
    int rc = answer_disarm (answer, err);
    if (rc == 0 && request == REQUEST_STATUS)
        replace (&state->status, answer);
    if (rc == 0 && request == REQUEST_NODES) {
        drop_off (json_object_get (answer, "nodes"));
        replace (&state->nodes, json_object_get (answer, "nodes"));
    }
    if (rc == 0 && request == REQUEST_GROUPS)
        replace (&state->groups, answer);
    if (rc == 0 && request == REQUEST_JOBS) {
        replace (&state->jobs, json_object_get (answer, "jobs"));
        state->more = json_is_string (json_object_get (answer, "next"));
        top_keys_update (&state->keys, state->jobs);
    }
    json_decref (answer);
    return rc;
}

static void state_clear (struct top_state *state)
{
    json_decref (state->status);
    json_decref (state->nodes);
    json_decref (state->groups);
    json_decref (state->jobs);
}

/* ---- Once ------------------------------------------------------------------------------------- */

static int print_once (struct top *top, FILE *out, struct pollux_error *err)
{
    struct terminal terminal = terminal_of (out);
    struct screen_buffer screen = {0};
    int rc = 0;
    for (int i = 0; rc == 0 && i < REQUESTS; i++) {
        json_t *answer = NULL;
        rc = client_get (top->client, request_paths[i], &answer, err);
        if (rc == 0)
            rc = take_answer (&top->state, (enum top_request)i, answer, err);
    }
    top->state.silent_s = -1;
    if (rc == 0)
        rc = screen_buffer_new (terminal.width, top_lines (&top->state, terminal.width), &screen,
                                err);
    if (rc == 0)
        rc = top_draw (&top->state, &top->choice, &screen, err);
    if (rc == 0)
        screen_buffer_print (&screen, out);
    screen_buffer_clear (&screen);
    return rc;
}

/* ---- The screen ------------------------------------------------------------------------------- */

static attr_t attributes_of (struct screen_style style, bool colours)
{
    attr_t attributes = A_NORMAL;
    attributes |= style.bold ? A_BOLD : 0;
    attributes |= style.reverse ? A_REVERSE : 0;
    return colours && style.colour ? attributes | (attr_t)COLOR_PAIR (style.colour) : attributes;
}

static void show_screen (const struct screen_buffer *screen, bool colours)
{
    erase ();
    for (int line = 0; line < screen->height; line++) {
        for (int column = 0; column < screen->width; column++) {
            const struct screen_cell *cell = screen_buffer_at (screen, line, column);
            if (!cell->text[0] || (strcmp (cell->text, " ") == 0 && !cell->style.reverse))
                continue;
            attrset ((int)attributes_of (cell->style, colours));
            mvaddstr (line, column, cell->text);
        }
    }
    attrset (A_NORMAL);
    refresh ();
}

static int draw (struct top *top, bool colours, struct pollux_error *err)
{
    struct screen_buffer screen;
    int height, width;
    getmaxyx (stdscr, height, width);
    /* A request takes some time: show silence only after more than two intervals. */
    double silent_s = now_s () - top->answered_s;
    top->state.silent_s = top->silent || silent_s > 2 * top->interval_s + 1 ? silent_s : -1;
    int rc = screen_buffer_new (width, height, &screen, err);
    if (rc < 0)
        return rc;
    rc = top_draw (&top->state, &top->choice, &screen, err);
    if (rc == 0)
        show_screen (&screen, colours);
    screen_buffer_clear (&screen);
    return rc;
}

/* Handle a key.  False: quit. */
static bool take_key (struct top_choice *choice, int key, int count)
{
    int page = LINES / 2, to = choice->selected;
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case KEY_UP:
    case 'k':
        to--;
        break;
    case KEY_DOWN:
    case 'j':
        to++;
        break;
    case KEY_PPAGE:
        to -= page;
        break;
    case KEY_NPAGE:
        to += page;
        break;
    case KEY_HOME:
        to = 0;
        break;
    case KEY_END:
        to = count - 1;
        break;
    case 'l' & 0x1f: /* control-L */
        clearok (curscr, TRUE);
        return true;
    default:
        for (int i = 0; i < TOP_ORDERS; i++) {
            if (key == top_order_keys[i])
                choice->order = (enum top_order)i;
        }
        return true;
    }
    to = to >= count ? count - 1 : to;
    choice->selected = to < 0 && count > 0 ? 0 : to;
    return true;
}

/* ---- The loop --------------------------------------------------------------------------------- */

/* Handle the result of the request, then start the next one or a pause. */
static int advance (struct top *top, int rc, json_t *answer, struct pollux_error *err)
{
    if (rc == 1) {
        rc = take_answer (&top->state, top->current, answer, err);
        if (rc < 0)
            return rc;
        top->answered_s = now_s ();
        top->current++;
        top->state.failure[0] = '\0';
        top->silent = false;
    } else if (rc < 0) {
        top->silent = rc == -EHOSTUNREACH;
        snprintf (top->state.failure, sizeof (top->state.failure), "%s",
                  top->silent ? "" : err->text);
        top->current = REQUESTS;
    } else {
        return 0;
    }
    if (top->current < REQUESTS)
        return client_begin (top->client, request_paths[top->current], err);
    top->next_s = now_s () + top->interval_s;
    return 0;
}

/* Wait for a key or an answer, at most a second, because ages on the screen change. */
static int wait_step (struct top *top, struct pollux_error *err)
{
    json_t *answer = NULL;
    double left_s = top->next_s - now_s ();
    if (top->current == REQUESTS && left_s <= 0) {
        top->current = REQUEST_STATUS;
        int rc = client_begin (top->client, request_paths[top->current], err);
        if (rc < 0)
            return rc;
    }
    double wait_s = top->current < REQUESTS || left_s > 1 ? 1 : left_s;
    int rc =
        client_poll (top->client, STDIN_FILENO, (int)ceil (1000 * fmax (wait_s, 0)), &answer, err);
    return advance (top, rc, answer, err);
}

static int loop (struct top *top, bool colours, struct pollux_error *err)
{
    top->answered_s = now_s ();
    top->current = REQUESTS;
    for (;;) {
        int rc = draw (top, colours, err), key;
        if (rc == 0)
            rc = wait_step (top, err);
        if (rc < 0)
            return rc;
        while ((key = getch ()) != ERR) {
            if (!take_key (&top->choice, key, (int)json_array_size (top->state.jobs)))
                return 0;
        }
        if (!isatty (STDIN_FILENO))
            return 0; /* the terminal was closed */
    }
}

static bool start_colours (struct terminal terminal)
{
    static const short colours[] = {COLOR_CYAN, COLOR_YELLOW,  COLOR_GREEN,
                                    COLOR_BLUE, COLOR_MAGENTA, COLOR_RED};
    if (!terminal.colour || !has_colors () || start_color () == ERR)
        return false;
    short ground = use_default_colors () == OK ? -1 : COLOR_BLACK;
    for (short i = 0; i < (short)(sizeof (colours) / sizeof (colours[0])); i++)
        init_pair ((short)(i + 1), colours[i], ground);
    return true;
}

static int run_screen (struct top *top, FILE *out, struct pollux_error *err)
{
    static const char advice[] = "; 'pollux list --watch' and 'pollux top --once' need none";
    if (!isatty (STDIN_FILENO) || !isatty (fileno (out)))
        return fail (err, -ENOTTY, "the output is not a terminal%s", advice);
    SCREEN *screen = newterm (NULL, out, stdin);
    if (!screen)
        return fail (err, -ENOTTY, "unknown terminal type %s%s",
                     getenv ("TERM") ? getenv ("TERM") : "(TERM is not set)", advice);
    bool colours = start_colours (terminal_of (out));
    cbreak ();
    noecho ();
    curs_set (0);
    set_escdelay (25);
    keypad (stdscr, TRUE);
    nodelay (stdscr, TRUE);
    int rc = loop (top, colours, err);
    endwin ();
    delscreen (screen);
    return rc;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct client_options request = {0};
    struct top top = {.interval_s = 2, .choice = {.selected = -1}};
    bool once = false;
    int id, rc = 0;
    while (rc == 0 && (id = options_next (options, err)) != 0) {
        once |= id == TOP_ONCE;
        if (id == TOP_INTERVAL)
            rc = options_double (options, 0.2, 3600, &top.interval_s, err);
        else
            rc = client_options_take (&request, options, id);
    }
    if (rc == 0)
        rc = client_options_connect (options, &request, &top.client, err);
    top.choice.unicode = terminal_of (out).unicode;
    top.choice.keys = !once;
    if (rc == 0)
        rc = once ? print_once (&top, out, err) : run_screen (&top, out, err);
    state_clear (&top.state);
    client_close (top.client);
    return rc;
}

const struct command top_command = {
    .name = "top",
    .operands = "",
    .summary = "show the cluster on the whole screen, live",
    .description =
        "Shows the nodes, a letter and a colour for each slot that a job uses, and below them the\n"
        "jobs: replicas, batch, goodput, efficiency, time left, restarts and age.  Arrows select "
        "a\n"
        "job; s n r g e sort by submission, name, replicas, goodput and ETA; q quits.",
    COMMAND_OPTIONS (top_options),
    .run = run,
};
