/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulates the automaton of a pattern with a set of states: after each character, the states that
 * can be reached. No state is entered twice per character.
 */
#include "base/text/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/pattern_code.h"
#include "base/text/pattern_read.h"
#include "base/text/plain_names.h"

struct ms_pattern {
    ms_pattern_code code;
    uint32_t *memory;     /* of the four lists */
    uint32_t *now, *next; /* states that take a character */
    uint32_t *waiting;    /* states to be followed */
    uint32_t *seen;       /* the round in which each was entered last */
    uint32_t round;
    uint64_t entered; /* states, in all rounds of a match */
};

/* Where in a subject. */
typedef struct place {
    const char *subject;
    size_t at, to;
} place;

static ms_status new_pattern(const char *text, ms_pattern_syntax syntax, ms_pattern **pattern,
                             ms_error *err)
{
    ms_pattern *made = calloc(1, sizeof *made);
    *pattern = NULL;
    if (!made)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a pattern");
    ms_status status = ms_pattern_read(text, syntax, &made->code, err);
    size_t count = made->code.states.count;
    if (status == MS_OK && !(made->memory = calloc(4 * count, sizeof *made->memory)))
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a pattern");
    if (status != MS_OK) {
        ms_pattern_free(made);
        return status;
    }
    made->now = made->memory;
    made->next = made->now + count;
    made->seen = made->next + count;
    made->waiting = made->seen + count;
    *pattern = made;
    return MS_OK;
}

ms_status ms_pattern_new(const char *text, ms_pattern **pattern, ms_error *err)
{
    return new_pattern(text, MS_PATTERN_PYTHON, pattern, err);
}

ms_status ms_pattern_new_ecmascript(const char *text, ms_pattern **pattern, ms_error *err)
{
    return new_pattern(text, MS_PATTERN_ECMASCRIPT, pattern, err);
}

void ms_pattern_free(ms_pattern *pattern)
{
    if (!pattern)
        return;
    ms_pattern_code_free(&pattern->code);
    free(pattern->memory);
    free(pattern);
}

ms_status ms_pattern_check(ms_json_value value, ms_json_part part, const char *text, size_t *states,
                           ms_error *err)
{
    ms_pattern_code code = {0};
    ms_error reason = {0};
    if (ms_name_is_plain(text))
        return MS_OK;
    ms_status status = ms_pattern_read(text, MS_PATTERN_PYTHON, &code, &reason);
    *states += code.states.count;
    ms_pattern_code_free(&code);
    if (status == MS_OK && *states > MS_PATTERN_MOST_TOGETHER)
        status = ms_fail(&reason, MS_ERR_CONFIG,
                         "more than %d characters of patterns, with their repeats expanded",
                         (int)MS_PATTERN_MOST_TOGETHER);
    if (status == MS_ERR_NOMEM)
        return ms_fail(err, status, "%s", reason.text);
    return status == MS_OK ? MS_OK : ms_json_fail(err, value, part, status, "%s", reason.text);
}

/* ---- matching ---- */

static void enter(ms_pattern *p, uint32_t state, uint32_t *waiting)
{
    if (p->seen[state] == p->round)
        return;
    p->seen[state] = p->round;
    p->waiting[(*waiting)++] = state;
    p->entered++;
}

/* Adds to `list` the states that take a character and are reached from one without any; true when
 * the pattern may end here. */
static bool follow(ms_pattern *p, uint32_t first, const place *here, uint32_t *list,
                   uint32_t *count)
{
    uint32_t waiting = 0;
    bool found = false;
    enter(p, first, &waiting);
    while (waiting > 0) {
        uint32_t i = p->waiting[--waiting];
        const ms_state *state = &p->code.states.items[i];
        uint32_t far = (uint32_t)((int32_t)i + state->offset);
        switch ((ms_state_kind)state->kind) {
        case MS_STATE_BYTE:
        case MS_STATE_ANY:
        case MS_STATE_SET:
            list[(*count)++] = i;
            break;
        case MS_STATE_SPLIT:
            enter(p, i + 1, &waiting);
            enter(p, far, &waiting);
            break;
        case MS_STATE_JUMP:
            enter(p, far, &waiting);
            break;
        case MS_STATE_BEGIN:
        case MS_STATE_END:
            if (here->at == (state->kind == MS_STATE_BEGIN ? 0 : here->to))
                enter(p, i + 1, &waiting);
            break;
        case MS_STATE_FOUND:
            found = true;
            break;
        }
    }
    return found;
}

static bool takes(const ms_pattern_code *code, const ms_state *state, uint8_t byte)
{
    if (state->kind == MS_STATE_SET)
        return ms_byte_set_has(&code->sets.items[state->set], byte);
    return state->kind == MS_STATE_ANY ? byte != '\n' : byte == state->byte;
}

/* A new round: nothing is entered yet. */
static void begin_round(ms_pattern *p)
{
    if (++p->round != 0)
        return;
    for (uint32_t i = 0; i < p->code.states.count; i++)
        p->seen[i] = 0;
    p->round = 1;
}

/* Takes one character: from the `count` states that are now to the next ones. */
static bool take(ms_pattern *p, place *here, uint32_t *count)
{
    uint8_t byte = (uint8_t)here->subject[here->at++];
    uint32_t *list = p->next, reached = 0;
    bool found = false;
    begin_round(p);
    for (uint32_t i = 0; i < *count; i++)
        if (takes(&p->code, &p->code.states.items[p->now[i]], byte))
            found |= follow(p, p->now[i] + 1, here, list, &reached);
    p->next = p->now;
    p->now = list;
    *count = reached;
    return found;
}

static bool pay(uint64_t *steps, uint64_t price)
{
    *steps = *steps > price ? *steps - price : 0;
    return *steps > 0;
}

bool ms_pattern_matches(ms_pattern *p, const char *subject, size_t from, size_t to, uint64_t *steps)
{
    place here = {subject, from, to};
    uint32_t count = 0;
    begin_round(p);
    p->entered = 0;
    bool found = follow(p, 0, &here, p->now, &count);
    while (here.at < to && count > 0 && pay(steps, count + p->entered)) {
        p->entered = 0;
        found = take(p, &here, &count);
    }
    return pay(steps, 1) && found && here.at == to;
}

/* A match may begin at each character: the first state is entered again in each round. */
bool ms_pattern_is_in(ms_pattern *p, const char *subject, uint64_t *steps)
{
    place here = {subject, 0, strlen(subject)};
    uint32_t count = 0;
    begin_round(p);
    p->entered = 0;
    bool found = follow(p, 0, &here, p->now, &count);
    while (!found && here.at < here.to && pay(steps, count + p->entered)) {
        p->entered = 0;
        found = take(p, &here, &count) || follow(p, 0, &here, p->now, &count);
    }
    return pay(steps, 1) && found;
}
