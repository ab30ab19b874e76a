/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/collectives.h"

#include <math.h>

/* ---- playing ---- */

/* Works of a queue that may still be waited for. */
enum { DEPTH = 256 };

typedef struct queue {
    uint32_t count;
    double ready_ms, ends_ms[DEPTH]; /* of the last ones, by number */
} queue;

_Static_assert(sizeof(queue) * MS_COST_MOST_STREAMS < 16384, "queues are on the stack");

typedef struct player {
    queue queues[MS_COST_MOST_STREAMS];
    double now_ms, waited_ms;
} player;

static double end_of(const player *p, ms_turn_work work)
{
    const queue *q = &p->queues[work.stream];
    return q->ends_ms[(q->count - 1 - work.behind) % DEPTH];
}

static void play_work(player *p, const ms_turn *turn)
{
    queue *q = &p->queues[turn->stream];
    double begin = fmax(q->ready_ms, p->now_ms);
    if (turn->of.stream != MS_NONE)
        begin = fmax(begin, end_of(p, turn->of));
    q->ready_ms = begin + turn->work_ms;
    q->ends_ms[q->count++ % DEPTH] = q->ready_ms;
}

static void play_wait(player *p, const ms_turn *turn)
{
    double end = end_of(p, turn->of);
    if (turn->stream != MS_NONE) {
        p->queues[turn->stream].ready_ms = fmax(p->queues[turn->stream].ready_ms, end);
    } else if (end > p->now_ms) {
        p->waited_ms += end - p->now_ms;
        p->now_ms = end;
    }
}

static void play(player *p, const ms_program *program)
{
    double done = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        const ms_turn *turn = &program->turns[i];
        p->now_ms += turn->compute_ms - done;
        done = turn->compute_ms;
        if (turn->is_wait)
            play_wait(p, turn);
        else
            play_work(p, turn);
    }
    p->now_ms += program->compute_ms - done;
}

static void play_micro_step(const ms_cost_model *costs, const uint32_t *options, uint32_t m,
                            player *p)
{
    const ms_collectives *c = costs->collectives;
    p->waited_ms = 0;
    play(p, &c->head[m]);
    for (uint32_t i = 0; i < costs->layer_count; i++)
        play(p, &costs->options[options[i]].layers[i].programs->forward[m]);
    play(p, &c->middle[m]);
    for (uint32_t i = costs->layer_count; i-- > 0;)
        play(p, &costs->options[options[i]].layers[i].programs->backward[m]);
    play(p, &c->tail[m]);
}

static double sure_wait(const ms_cost_model *costs, const uint32_t *options)
{
    double sum = 0;
    for (uint32_t i = 0; i < costs->layer_count; i++)
        sum += costs->options[options[i]].layers[i].sure_wait_ms;
    return sum;
}

double ms_collectives_wait_ms(const ms_cost_model *costs, const uint32_t *options, double most)
{
    const ms_collectives *c = costs->collectives;
    double sum = sure_wait(costs, options);
    if (!c->is_exact || sum > most)
        return sum;
    player p;
    for (uint32_t s = 0; s < MS_COST_MOST_STREAMS; s++) {
        p.queues[s].count = 0;
        p.queues[s].ready_ms = 0;
    }
    p.now_ms = 0;
    sum = -c->sure_wait_ms;
    for (uint32_t m = 0; m < c->count && sum <= most; m++) {
        play_micro_step(costs, options, m, &p);
        sum += p.waited_ms * c->repeats[m];
    }
    return sum;
}

/* ---- what is never faster ---- */

static const double rounding_ms = 1e-9;

/* With the same turns, and no less between any two. */
static bool is_no_faster(const ms_program *a, const ms_program *kept)
{
    double before = 0, kept_before = 0;
    if (a->count != kept->count)
        return false;
    for (uint32_t i = 0; i <= a->count; i++) {
        double at = i < a->count ? a->turns[i].compute_ms : a->compute_ms;
        double kept_at = i < a->count ? kept->turns[i].compute_ms : kept->compute_ms;
        if (at - before < kept_at - kept_before - rounding_ms)
            return false;
        before = at;
        kept_before = kept_at;
    }
    return true;
}

bool ms_collectives_keep_is_fastest(const ms_cost_model *costs)
{
    bool yes = costs->collectives != NULL;
    for (uint32_t l = 1; l < costs->loss_count; l++)
        yes = yes && costs->losses[l].ms >= costs->losses[0].ms;
    for (uint32_t o = 1; o < costs->option_count; o++)
        for (uint32_t i = 0; i < costs->layer_count && yes; i++) {
            const ms_layer_programs *a = costs->options[o].layers[i].programs;
            const ms_layer_programs *kept = costs->options[MS_OPTION_KEEP].layers[i].programs;
            for (uint32_t m = 0; m < costs->collectives->count && yes; m++)
                yes = is_no_faster(&a->forward[m], &kept->forward[m]) &&
                      is_no_faster(&a->backward[m], &kept->backward[m]);
        }
    return yes;
}

/* ---- parts of a step ---- */

typedef enum part_kind {
    PART_NONE,
    PART_HEAD,
    PART_FORWARD,
    PART_MIDDLE,
    PART_BACKWARD,
    PART_TAIL
} part_kind;

/* Spans next to each other. */
typedef struct part {
    part_kind kind;
    uint32_t layer;         /* PART_FORWARD, PART_BACKWARD; else 0 */
    uint32_t m, micro_step; /* number among those that are simulated; as the profile has it */
    uint32_t begin, end;    /* spans */
} part;

/* What lies between two layers is the first one's. */
static part_kind kind_of(const ms_profile_span *s, const part *before, bool is_new, uint64_t layers)
{
    if (s->phase == MS_PHASE_FORWARD) {
        if (s->layer != MS_NONE)
            return PART_FORWARD;
        bool is_past = before->kind == PART_FORWARD && before->layer + 1 == layers;
        return is_new ? PART_HEAD : is_past ? PART_MIDDLE : before->kind;
    }
    if (s->phase != MS_PHASE_BACKWARD)
        return PART_TAIL;
    if (s->layer != MS_NONE)
        return PART_BACKWARD;
    if (before->kind == PART_BACKWARD)
        return before->layer == 0 ? PART_TAIL : PART_BACKWARD;
    return before->kind == PART_TAIL ? PART_TAIL : PART_MIDDLE;
}

/* The part behind *p; false: there is none. Begin with zeros. */
static bool find_next(const ms_profile *profile, uint64_t layers, part *p)
{
    part now = *p;
    p->begin = p->end;
    for (; p->end < profile->spans.count; p->end++) {
        const ms_profile_span *s = &profile->spans.items[p->end];
        bool is_new = s->phase == MS_PHASE_FORWARD &&
                      (now.kind == PART_NONE || s->micro_step != now.micro_step);
        part next = now;
        next.kind = kind_of(s, &now, is_new, layers);
        if (is_new) {
            next.m += now.kind != PART_NONE;
            next.micro_step = s->micro_step;
        }
        bool is_layer = next.kind == PART_FORWARD || next.kind == PART_BACKWARD;
        next.layer = is_layer ? (s->layer != MS_NONE ? s->layer : now.layer) : 0;
        bool is_same = next.kind == now.kind && next.layer == now.layer && next.m == now.m;
        if (!is_same && p->end > p->begin)
            break;
        now = next;
    }
    bool is_any = p->end > p->begin;
    now.begin = p->begin;
    now.end = p->end;
    *p = now;
    return is_any;
}

/* ---- reading ---- */

/* The stream's number; MS_NONE: operators, or no stream. */
static uint32_t number_of(ms_collectives *c, uint32_t stream)
{
    if (stream == MS_NONE || stream == MS_STREAM_OPERATORS)
        return MS_NONE;
    for (uint32_t s = 0; s < c->stream_count; s++)
        if (c->streams[s] == stream)
            return s;
    if (c->stream_count == MS_COST_MOST_STREAMS) {
        c->is_exact = false;
        return 0;
    }
    c->streams[c->stream_count] = stream;
    return c->stream_count++;
}

/* The turns of a part, which begin at *next of the profile's. */
static ms_status read_part(ms_arena *arena, const ms_profile *profile, const part *p,
                           ms_collectives *c, uint32_t *next, ms_program *program, ms_error *err)
{
    uint32_t first = *next, span = p->begin;
    while (*next < profile->turns.count && profile->turns.items[*next].span < p->end)
        (*next)++;
    ms_turn *turns = ms_arena_array(arena, ms_turn, (size_t)(*next - first) + 1);
    if (!turns)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a step's collectives");
    double before = 0;
    for (uint32_t i = first; i < *next; i++) {
        ms_turn *turn = &turns[i - first];
        *turn = profile->turns.items[i];
        while (span < turn->span)
            before += profile->spans.items[span++].compute_ms;
        turn->compute_ms += before;
        turn->stream = number_of(c, turn->stream);
        turn->of.stream = number_of(c, turn->of.stream);
        c->is_exact = c->is_exact && turn->of.behind < DEPTH;
    }
    while (span < p->end)
        before += profile->spans.items[span++].compute_ms;
    *program = (ms_program){turns, *next - first, before};
    return MS_OK;
}

/* Where the work that is waited for begins, if it does so in the program: its index; else count. */
static uint32_t begin_of(const ms_program *program, uint32_t wait)
{
    const ms_turn_work of = program->turns[wait].of;
    uint32_t behind = of.behind;
    for (uint32_t i = wait; i-- > 0;) {
        const ms_turn *turn = &program->turns[i];
        if (turn->is_wait || turn->stream != of.stream)
            continue;
        if (behind-- == 0)
            return i;
    }
    return program->count;
}

/* From where a work begins to where it is waited for, a step takes as long as the work at the
 * least. Such times that do not overlap add up. */
static double sure_wait_of(const ms_program *program)
{
    double sum = 0;
    uint32_t from = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        const ms_turn *wait = &program->turns[i];
        uint32_t begin =
            wait->is_wait && wait->stream == MS_NONE ? begin_of(program, i) : program->count;
        if (begin == program->count || begin < from)
            continue;
        const ms_turn *work = &program->turns[begin];
        double least = work->work_ms - (wait->compute_ms - work->compute_ms);
        if (least <= 0)
            continue;
        sum += least;
        from = i;
    }
    return sum;
}

/* Where the part's program goes; NULL: nowhere. */
static ms_program *place_of(const part *p, ms_collectives *ends, ms_layer_programs *layers)
{
    switch (p->kind) {
    case PART_HEAD:
        return ends ? &ends->head[p->m] : NULL;
    case PART_MIDDLE:
        return ends ? &ends->middle[p->m] : NULL;
    case PART_TAIL:
        return ends ? &ends->tail[p->m] : NULL;
    case PART_FORWARD:
        return layers ? &layers[p->layer].forward[p->m] : NULL;
    case PART_BACKWARD:
        return layers ? &layers[p->layer].backward[p->m] : NULL;
    case PART_NONE:
        break;
    }
    return NULL;
}

/* Reads the ends or the layers' parts; the other is NULL. */
static ms_status read_parts(ms_arena *arena, const ms_profile *profile, uint64_t count,
                            ms_collectives *c, ms_collectives *ends, ms_layer_programs *layers,
                            ms_error *err)
{
    uint32_t next = 0;
    part p = {.kind = PART_NONE};
    while (find_next(profile, count, &p)) {
        ms_program program, *place;
        ms_status status = read_part(arena, profile, &p, c, &next, &program, err);
        if (status != MS_OK)
            return status;
        if (p.m >= MS_COST_MOST_TURNS) {
            c->is_exact = false;
            continue;
        }
        place = place_of(&p, ends, layers);
        if (place)
            *place = program;
        if (ends) {
            ends->count = p.m + 1;
            ends->repeats[p.m] = profile->spans.items[p.begin].repeats;
        }
    }
    return MS_OK;
}

static bool works_with_others(const ms_profile *profile)
{
    for (uint32_t i = 0; i < MS_WORK_KINDS; i++)
        for (uint32_t link = 0; link < MS_LINK_COUNT; link++)
            if (profile->communication[i][link].calls > 0)
                return true;
    return false;
}

ms_status ms_collectives_begin(ms_arena *arena, const ms_profile *whole, uint64_t layers,
                               ms_cost_model *costs, ms_error *err)
{
    costs->collectives = NULL;
    if (!works_with_others(whole))
        return MS_OK;
    ms_collectives *c = ms_arena_array(arena, ms_collectives, 1);
    if (!c)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a step's collectives");
    c->is_exact = true;
    ms_status status = read_parts(arena, whole, layers, c, c, NULL, err);
    for (uint32_t m = 0; m < c->count; m++)
        c->sure_wait_ms +=
            c->repeats[m] *
            (sure_wait_of(&c->head[m]) + sure_wait_of(&c->middle[m]) + sure_wait_of(&c->tail[m]));
    costs->collectives = c;
    return status;
}

ms_status ms_collectives_read(ms_arena *arena, const ms_profile *profile, uint64_t layers,
                              ms_cost_model *costs, ms_layer_cost *read_costs, ms_error *err)
{
    ms_collectives *c = costs->collectives;
    if (!c)
        return MS_OK;
    ms_layer_programs *programs = ms_arena_array(arena, ms_layer_programs, layers);
    if (!programs)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the layers' collectives");
    ms_status status = read_parts(arena, profile, layers, c, NULL, programs, err);
    for (uint64_t i = 0; i < layers; i++) {
        ms_layer_cost *cost = &read_costs[i];
        cost->programs = &programs[i];
        cost->ms -= cost->exposed_ms;
        cost->exposed_ms = cost->steady_exposed_ms = 0;
        for (uint32_t m = 0; m < c->count; m++)
            cost->sure_wait_ms += c->repeats[m] * (sure_wait_of(&programs[i].forward[m]) +
                                                   sure_wait_of(&programs[i].backward[m]));
    }
    return status;
}
