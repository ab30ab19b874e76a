/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The constants are those of the rule engine in several trainers; see docs/design/planning.md.
 */
#include "decide/plan/search/rules.h"

#include <stdlib.h>

#include "input/config/treatment/row.h"
#include "decide/plan/choose/choose.h"

static const double target_utilisation = 0.85, exit_below = 0.7, tile_saving = 0.6,
                    offload_headroom = 1.2, flops_per_byte = 1e6;
enum { TILE_BYTES = 16 << 20 };

typedef struct mode_row {
    double threshold; /* of the target: work goes on until the estimate is below */
    uint64_t least_layer_bytes, least_activation_bytes;
} mode_row;

static const mode_row modes[] = {
    [MS_RULES_CONSERVATIVE] = {0.90, 4 << 20, 1 << 20},
    [MS_RULES_BALANCED] = {0.75, 1 << 20, 512 << 10},
    [MS_RULES_AGGRESSIVE] = {0.50, 256 << 10, 64 << 10},
};

typedef enum technique { CHECKPOINT, OFFLOAD, TILE, TECHNIQUE_COUNT } technique;

static const double overheads[TECHNIQUE_COUNT] = {
    [CHECKPOINT] = 0.25, [OFFLOAD] = 0.05, [TILE] = 0.10};

typedef struct layer_row {
    uint32_t layer;
    uint64_t bytes, activation_bytes;
    double flops;
} layer_row;

typedef struct engine {
    const ms_step_task *task;
    const ms_cost_model *costs;
    const mode_row *mode;
    uint64_t host_left_bytes;
    double all_flops;
    ms_rules_answer *answer;
} engine;

static int largest_first(const void *a, const void *b)
{
    const layer_row *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static layer_row *list_layers(ms_arena *arena, engine *e)
{
    layer_row *rows = ms_arena_array(arena, layer_row, e->costs->layer_count);
    for (uint32_t i = 0; rows && i < e->costs->layer_count; i++) {
        const ms_layer_cost *cost = &e->costs->options[0].layers[i];
        int64_t saved = cost->bytes[0].forward_end, left = saved + cost->bytes[0].backward_end;
        rows[i] = (layer_row){.layer = i,
                              .bytes = left > 0 ? (uint64_t)left : 0, /* gradients: its weights */
                              .activation_bytes = saved > 0 ? (uint64_t)saved : 0,
                              .flops = cost->forward_flops};
        e->all_flops += cost->forward_flops;
    }
    if (rows)
        qsort(rows, e->costs->layer_count, sizeof *rows, largest_first);
    return rows;
}

static bool may(const engine *e, technique t)
{
    static const uint32_t bits[TECHNIQUE_COUNT] = {
        [CHECKPOINT] = MS_MAY_CHECKPOINT, [OFFLOAD] = MS_MAY_OFFLOAD, [TILE] = MS_MAY_TILE};
    return (e->task->techniques & bits[t]) != 0;
}

/* The option of the cost model that a technique stands for; the number of options when it has none.
 */
static uint32_t option_of(const ms_cost_model *costs, technique t)
{
    uint32_t i = 0;
    for (; i < costs->option_count; i++) {
        const ms_treatment *o = &costs->options[i].treatment;
        bool plain = !ms_treatment_has_parts(o, true) && o->input == MS_INPUT_ON_DEVICE;
        if ((t == CHECKPOINT && o->kind == MS_TREAT_CHECKPOINT && plain) ||
            (t == OFFLOAD && o->kind == MS_TREAT_OFFLOAD && plain && o->share >= 1) ||
            (t == TILE && o->kind == MS_TREAT_KEEP && ms_treatment_tiles_mlp_alone(o)))
            break;
    }
    return i;
}

/* The first rule that applies; TECHNIQUE_COUNT: none. */
static technique decide(const engine *e, const layer_row *row)
{
    double density = row->activation_bytes ? row->flops / (double)row->activation_bytes : 0;
    if (may(e, CHECKPOINT) && density > flops_per_byte)
        return CHECKPOINT;
    if (may(e, OFFLOAD) &&
        offload_headroom * (double)row->activation_bytes <= (double)e->host_left_bytes)
        return OFFLOAD;
    if (may(e, TILE) && row->activation_bytes > TILE_BYTES)
        return TILE;
    return may(e, CHECKPOINT) ? CHECKPOINT : TECHNIQUE_COUNT;
}

static void apply(engine *e, const layer_row *row)
{
    technique t = decide(e, row);
    uint32_t option = t == TECHNIQUE_COUNT ? e->costs->option_count : option_of(e->costs, t);
    if (option == e->costs->option_count)
        return;
    uint64_t saved = row->activation_bytes;
    if (t == TILE)
        saved = (uint64_t)((double)saved * tile_saving);
    if (t == OFFLOAD)
        e->host_left_bytes -= saved;
    e->answer->assignment.options[row->layer] = option;
    e->answer->estimate_bytes -= saved < e->answer->estimate_bytes ? saved : 0;
    if (e->all_flops > 0)
        e->answer->estimate_overhead += overheads[t] * row->flops / e->all_flops;
}

ms_status ms_rules_choose(ms_arena *arena, const ms_step_task *task, const ms_cost_model *costs,
                          uint64_t need_bytes, uint64_t budget_bytes, ms_rules_answer *answer,
                          ms_error *err)
{
    engine e = {.task = task,
                .costs = costs,
                .mode = &modes[task->rules_mode],
                .host_left_bytes = task->max_host_bytes,
                .answer = answer};
    *answer = (ms_rules_answer){.estimate_bytes = need_bytes};
    answer->assignment.options = ms_arena_array(arena, uint32_t, costs->layer_count);
    layer_row *rows = list_layers(arena, &e);
    if (!answer->assignment.options || !rows)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the rules");
    double target = target_utilisation * (double)budget_bytes;
    if ((double)need_bytes < exit_below * target)
        return MS_OK;
    for (uint32_t i = 0; i < costs->layer_count; i++) {
        if ((double)answer->estimate_bytes <= e.mode->threshold * target)
            break;
        if (rows[i].bytes >= e.mode->least_layer_bytes &&
            rows[i].activation_bytes >= e.mode->least_activation_bytes)
            apply(&e, &rows[i]);
    }
    return MS_OK;
}
