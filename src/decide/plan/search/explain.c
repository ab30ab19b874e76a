/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/treatment/row.h"
#include "input/config/treatment/treatment.h"
#include "decide/plan/costs/copies.h"

/* Layers with one option, side by side. */
typedef struct group {
    uint32_t first, last, option;
    int64_t freed_bytes;
    uint64_t host_bytes;
    double added_ms, recompute_ms, exposed_ms;
    bool tells_time;
} group;

/* waits: per layer and step, for its copies in this plan; NULL: as each option has it beside
 * itself. */
static group sum_group(const ms_cost_model *costs, const double *waits, uint32_t first,
                       uint32_t last, uint32_t option)
{
    group g = {.first = first, .last = last, .option = option};
    for (uint32_t i = first; i <= last; i++) {
        const ms_layer_cost *kept = &costs->options[0].layers[i];
        const ms_layer_cost *now = &costs->options[option].layers[i];
        g.freed_bytes += ms_layer_saved(kept, 0) - ms_layer_saved(now, 0);
        g.host_bytes += now->host_bytes;
        double exposed_ms = waits ? waits[i] : now->exposed_ms;
        g.added_ms += now->ms - now->exposed_ms + exposed_ms - kept->ms;
        g.recompute_ms += now->recompute_ms;
        g.exposed_ms += exposed_ms;
    }
    return g;
}

/* The parts of a layer that run again, in pieces or whole: "MLP and attention"; "" for none. */
typedef struct parts {
    char text[64];
    bool are_many;
    uint32_t pieces;
} parts;

static parts list_parts(const ms_treatment *t, bool in_pieces)
{
    parts p = {0};
    for (int i = 0; i < MS_PART_COUNT; i++) {
        const ms_part_row *row = ms_treatment_parts[i];
        if (!t->parts[i] || row->has_pieces != in_pieces)
            continue;
        size_t used = strlen(p.text);
        p.are_many = used > 0 || row->is_plural;
        snprintf(p.text + used, sizeof p.text - used, "%s%s", used ? " and " : "", row->noun);
        p.pieces = p.pieces ? p.pieces : t->parts[i];
    }
    return p;
}

static double layers_of(const group *g)
{
    return g->last - g->first + 1;
}

/* Of each layer's copies. */
static double shown_ms(const group *g)
{
    return g->exposed_ms / layers_of(g);
}

/* ", 1.25 ms" to recompute each layer, or "" when times are not known; NULL: no memory. */
static const char *again(ms_arena *arena, const group *g)
{
    return g->tells_time ? ms_arena_printf(arena, ", %.2f ms", g->recompute_ms / layers_of(g)) : "";
}

/* "; 0.25 ms of its copies are exposed", where the input is on the host and waited for; else "". */
static const char *shown_copies(ms_arena *arena, const ms_treatment *t, const group *g)
{
    if (t->input == MS_INPUT_ON_DEVICE || !g->tells_time || shown_ms(g) < 0.005)
        return "";
    return ms_arena_printf(arena, "; %.2f ms of its copies are exposed", shown_ms(g));
}

static const char *why_checkpoint(ms_arena *arena, const ms_treatment *t, const group *g)
{
    const char *ms = again(arena, g), *copies = shown_copies(arena, t, g);
    parts tiled = list_parts(t, true);
    bool is_tiled = *tiled.text != '\0';
    if (!ms || !copies)
        return NULL;
    return ms_arena_printf(
        arena, "only the input is kept%s; backward recomputes each layer%s%s%s%s%s",
        t->input == MS_INPUT_ON_DEVICE ? "" : ", on the host", ms, is_tiled ? ", its " : "",
        tiled.text, is_tiled ? " in tiles" : "", copies);
}

static const char *why_selective(ms_arena *arena, const ms_treatment *t, const group *g)
{
    const char *copies = shown_copies(arena, t, g);
    const char *input = t->input == MS_INPUT_ON_DEVICE ? "" : ", the input on the host";
    if (!copies)
        return NULL;
    if (!g->tells_time)
        return ms_arena_printf(arena,
                               "the results of %" PRIu32
                               " operators are kept%s; backward recomputes the others",
                               t->kept_count, input);
    return ms_arena_printf(arena,
                           "the results of %" PRIu32 " operators are kept%s, so that recomputing a "
                           "layer takes %.2f ms%s",
                           t->kept_count, input, g->recompute_ms / layers_of(g), copies);
}

static const char *why_offload(ms_arena *arena, const ms_treatment *t, const group *g)
{
    (void)t;
    if (!g->tells_time)
        return ms_arena_strdup(arena, "saved tensors are kept on the host");
    if (shown_ms(g) < 0.005)
        return ms_arena_strdup(arena, "the copies are fully hidden");
    return ms_arena_printf(
        arena, "%.2f ms of each layer's copies are exposed: its neighbours finish sooner",
        shown_ms(g));
}

/* Of a layer that is kept but for parts of it. */
static const char *why_parts(ms_arena *arena, const ms_treatment *t, const group *g)
{
    parts whole = list_parts(t, false), tiled = list_parts(t, true);
    const char *text = "", *ms = again(arena, g);
    if (*whole.text)
        text = ms_arena_printf(arena, "the %s %s recomputed", whole.text,
                               whole.are_many ? "are" : "is");
    if (text && *tiled.text)
        text = ms_arena_printf(arena, "%s%sthe %s %s recomputed in %" PRIu32 " tiles", text,
                               *text ? ", " : "", tiled.text, tiled.are_many ? "are" : "is",
                               tiled.pieces);
    if (!text || !ms)
        return NULL;
    return ms_arena_printf(arena, "%s%s%s", text, ms, *ms ? " per layer" : "");
}

typedef const char *(*why_fn)(ms_arena *arena, const ms_treatment *t, const group *g);

static const why_fn reasons[MS_TREAT_KIND_COUNT] = {
    [MS_TREAT_KEEP] = why_parts,
    [MS_TREAT_CHECKPOINT] = why_checkpoint,
    [MS_TREAT_SELECTIVE] = why_selective,
    [MS_TREAT_OFFLOAD] = why_offload,
};

static ms_status add(ms_step_plan *plan, const ms_decision *decision, ms_error *err)
{
    if (!decision->treatment || !decision->why || !ms_vec_push(&plan->decisions, *decision))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's reasons");
    return MS_OK;
}

static ms_status add_loss(ms_arena *arena, const ms_cost_model *costs, uint32_t loss,
                          ms_step_plan *plan, ms_error *err)
{
    const ms_outer_cost *whole = &costs->losses[0], *chunked = &costs->losses[loss];
    int64_t freed = whole->loss_backward_peak[0] - chunked->loss_backward_peak[0];
    const ms_decision decision = {
        .first_layer = MS_NONE,
        .last_layer = MS_NONE,
        .treatment = ms_arena_printf(arena, "chunk:%" PRIu32, chunked->loss_chunks),
        .freed_bytes = freed > 0 ? (uint64_t)freed : 0,
        .added_ms = chunked->ms - whole->ms,
        .why = ms_arena_printf(arena,
                               "logits of 1/%" PRIu32 " of the tokens at a time, recomputed in "
                               "backward; the bytes are those of the loss itself",
                               chunked->loss_chunks)};
    return add(plan, &decision, err);
}

static int by_freed_bytes(const void *a, const void *b)
{
    const ms_decision *x = a, *y = b;
    if (x->freed_bytes != y->freed_bytes)
        return x->freed_bytes > y->freed_bytes ? -1 : 1;
    return x->first_layer < y->first_layer ? -1 : x->first_layer > y->first_layer;
}

/* Of a step, per layer; *waits: NULL where they are counted layer by layer. */
static ms_status read_waits(ms_arena *arena, const ms_cost_model *costs, const uint32_t *options,
                            double **waits, ms_error *err)
{
    *waits = NULL;
    if (!costs->has_exact_waits)
        return MS_OK;
    *waits = ms_arena_array(arena, double, costs->layer_count);
    if (!*waits)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's reasons");
    ms_copies_waits(costs, options, *waits);
    return MS_OK;
}

ms_status ms_explain(ms_arena *arena, const ms_cost_model *costs, const ms_assignment *assignment,
                     bool tells_time, ms_step_plan *plan, ms_error *err)
{
    double *waits;
    ms_status status = read_waits(arena, costs, assignment->options, &waits, err);
    plan->decisions.count = 0;
    for (uint32_t i = 0, last; i < costs->layer_count && status == MS_OK; i = last + 1) {
        uint32_t option = assignment->options[i];
        for (last = i; last + 1 < costs->layer_count && assignment->options[last + 1] == option;)
            last++;
        if (option == 0)
            continue;
        group g = sum_group(costs, waits, i, last, option);
        g.tells_time = tells_time;
        const ms_treatment *t = &costs->options[option].treatment;
        const ms_decision decision = {.first_layer = i,
                                      .last_layer = last,
                                      .treatment = ms_treatment_text(t, arena),
                                      .freed_bytes =
                                          g.freed_bytes > 0 ? (uint64_t)g.freed_bytes : 0,
                                      .host_bytes = g.host_bytes,
                                      .added_ms = g.added_ms,
                                      .why = reasons[t->kind](arena, t, &g)};
        status = add(plan, &decision, err);
    }
    if (status == MS_OK && assignment->loss > 0)
        status = add_loss(arena, costs, assignment->loss, plan, err);
    if (plan->decisions.count > 1)
        qsort(plan->decisions.items, plan->decisions.count, sizeof *plan->decisions.items,
              by_freed_bytes);
    return status;
}
