/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/ranks.h"

#include <inttypes.h>

#include "base/threads.h"
#include "base/vec.h"
#include "input/config/model/model_config.h"
#include "input/config/run/layout.h"
#include "input/config/run/run_config.h"
#include "input/config/treatment/treatment.h"
#include "run/simulate/padding.h"
#include "run/simulate/variation.h"

/* ---- equal ranks ---- */

/* Ranks of a pipeline that do the same: they have as many layers of the same kind, neither end
 * of the model more than the other, and the schedule runs the same passes in the same order. */

static bool are_equal_layers(const ms_model_config *model, const ms_run_config *run, uint64_t a,
                             uint64_t b)
{
    const ms_treatment *layers = run->treatments.layers;
    return (!model->layer_kinds || model->layer_kinds[a] == model->layer_kinds[b]) &&
           ms_treatment_equal(&layers[a], &layers[b]);
}

static bool are_equal_stages(const ms_model_config *model, const ms_run_config *run,
                             const ms_pipeline_stage *a, const ms_pipeline_stage *b)
{
    if (a->is_first != b->is_first || a->is_last != b->is_last ||
        a->end - a->first != b->end - b->first)
        return false;
    for (uint64_t i = 0; i < a->end - a->first; i++)
        if (!are_equal_layers(model, run, a->first + i, b->first + i))
            return false;
    return true;
}

/* Whether the ranks, numbered as in ms_parallel.rank, are known to need the same: of other layouts
 * than pipelines none are. */
static bool ranks_are_equal(const ms_model_config *model, const ms_run_config *run, uint64_t a,
                            uint64_t b)
{
    const ms_layout *layout = &run->parallel.layout;
    const ms_pipeline_layout *pipeline = &layout->pipeline;
    if (!ms_layout_has_stages(layout) || !ms_pipeline_traits_of(pipeline->kind)->is_same)
        return false;
    uint64_t of_stage = layout->shards * layout->tensor, first = a / of_stage,
             second = b / of_stage;
    if (a % of_stage != b % of_stage)
        return false;
    for (uint64_t i = 0; i < pipeline->stages; i++) {
        const ms_pipeline_stage x = ms_pipeline_stage_of(pipeline, first, i, model->num_layers),
                                y = ms_pipeline_stage_of(pipeline, second, i, model->num_layers);
        if (!are_equal_stages(model, run, &x, &y))
            return false;
    }
    return true;
}

/* ---- ranks ---- */

/* So many ranks are simulated, at most, where nobody asked; and where somebody did. Of all of them,
 * so many passes of layers, each some 30 us; of ranks that shard, or whose passes are no copies of
 * others (step/pipeline), five times as long. To build a layer on no device takes an eighth. */
enum { MOST_UNASKED = 64, MOST_ASKED = 8192 };
enum { MOST_PASSES_UNASKED = 250000, MOST_PASSES_ASKED = 500000 };
enum { COST_OF_OTHERS = 5, BUILDS_OF_PASS = 8 };

typedef struct rank_class {
    ms_rank_need need;
    uint32_t equal; /* the first class that is known to need the same; itself if there is none */
    ms_status status;
    ms_error err;
} rank_class;

typedef struct finding {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_vec(rank_class) classes;
    uint64_t most, most_passes;
    uint64_t built; /* layers, so far */
    bool is_too_many;
    ms_error *err;
} finding;

static ms_job job_of(const finding *f, uint64_t rank, ms_variation *v)
{
    *v = ms_vary_run(f->model, f->run, NULL);
    v->run.parallel.rank = rank;
    return ms_variation_job(v);
}

static ms_status add(finding *f, uint64_t rank, uint64_t count)
{
    if (f->classes.count >= f->most) {
        f->is_too_many = true;
        return MS_OK;
    }
    const rank_class one = {.need = {.rank = rank, .count = count}};
    return ms_vec_push(&f->classes, one) ? MS_OK
                                         : ms_fail(f->err, MS_ERR_NOMEM, "out of memory for ranks");
}

/* ---- classes ---- */

/* Bytes of the parameters that a rank holds. */
static ms_status held_bytes(finding *f, uint64_t rank, uint64_t *bytes)
{
    ms_variation v;
    ms_simulated simulated;
    const ms_job job = job_of(f, rank, &v);
    f->built += f->model->num_layers;
    f->is_too_many = f->is_too_many || f->built / BUILDS_OF_PASS > f->most_passes;
    ms_status status = ms_simulate(&job, MS_SIMULATE_MODEL, &simulated, f->err);
    if (status != MS_OK)
        return status;
    *bytes = simulated.simulation.weight_bytes + simulated.simulation.host_weight_bytes;
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* The shards of each parameter get smaller from rank to rank (torch.chunk): between two ranks that
 * hold as many bytes all ranks hold the same. The first, `base`, holds `high` bytes, the shard
 * `last` holds `low`; `stride` ranks in a row hold the same shard. */
static ms_status split(finding *f, uint64_t base, uint64_t high, uint64_t last, uint64_t low,
                       uint64_t stride)
{
    uint64_t first = 0;
    while (high != low && !f->is_too_many) {
        uint64_t same = first,
                 other = last; /* the last that holds as much, and one that does not */
        while (other - same > 1 && !f->is_too_many) {
            uint64_t middle = same + (other - same) / 2, bytes = 0;
            ms_status status = held_bytes(f, base + middle * stride, &bytes);
            if (status != MS_OK)
                return status;
            if (bytes == high)
                same = middle;
            else
                other = middle;
        }
        ms_status status = add(f, base + first * stride, (same - first + 1) * stride);
        if (status == MS_OK)
            status = held_bytes(f, base + other * stride, &high);
        if (status != MS_OK)
            return status;
        first = other;
    }
    return add(f, base + first * stride, (last - first + 1) * stride);
}

/* The shards from rank `base` on. Neighbours that split each product (tensor parallelism) hold
 * equal parts of it. */
static ms_status add_shards(finding *f, const ms_layout *layout, uint64_t base)
{
    uint64_t high = 0, low = 0, last = layout->shards - 1;
    if (last == 0)
        return add(f, base, layout->tensor);
    ms_status status = held_bytes(f, base, &high);
    if (status == MS_OK)
        status = held_bytes(f, base + last * layout->tensor, &low);
    return status == MS_OK ? split(f, base, high, last, low, layout->tensor) : status;
}

static ms_status add_each(finding *f, uint64_t count)
{
    ms_status status = MS_OK;
    for (uint64_t i = 0; status == MS_OK && i < count && !f->is_too_many; i++)
        status = add(f, i, 1);
    return status;
}

/* The ranks of a stage are neighbours, and hold shards of its layers. */
static ms_status add_stages(finding *f, const ms_layout *layout)
{
    uint64_t same = layout->shards * layout->tensor, ranks = layout->pipeline.ranks * same;
    ms_status status = MS_OK;
    for (uint64_t first = 0; status == MS_OK && first < ranks && !f->is_too_many; first += same)
        status = add_shards(f, layout, first);
    return status;
}

static ms_status find_classes(finding *f)
{
    const ms_parallel *parallel = &f->run->parallel;
    const ms_layout *layout = &parallel->layout;
    uint64_t world = ms_layout_world(layout);
    if (ms_layout_has_stages(layout))
        return add_stages(f, layout);
    switch (layout->kind) {
    case MS_PARALLEL_PP: /* it has stages */
    case MS_PARALLEL_DDP:
        return parallel->has_zero_optimizer ? add_each(f, world) : add(f, 0, world);
    case MS_PARALLEL_ZERO: /* stage 3 divides each parameter evenly, with padding */
        return layout->stage < 3 ? add_each(f, world) : add(f, 0, world);
    case MS_PARALLEL_FSDP1: /* parts of a flat parameter, which begin and end anywhere */
        return add_each(f, layout->shards);
    case MS_PARALLEL_FSDP2: /* the ranks of a sequence have other parts of its attention */
        return layout->context > 1 ? add_each(f, layout->shards) : add_shards(f, layout, 0);
    case MS_PARALLEL_TP:
        return add(f, 0, world);
    case MS_PARALLEL_NONE:
        break;
    }
    return MS_OK;
}

/* ---- what each needs ---- */

static void work(void *context, uint32_t index)
{
    finding *f = context;
    rank_class *c = &f->classes.items[index];
    ms_variation v;
    ms_simulated simulated;
    if (c->equal != index)
        return;
    const ms_job job = job_of(f, c->need.rank, &v);
    c->status = ms_simulate(&job, MS_SIMULATE_FIT, &simulated, &c->err);
    if (c->status != MS_OK)
        return;
    c->need.weight_bytes = simulated.simulation.weight_bytes;
    c->need.peak_bytes = simulated.usage.peak_bytes;
    c->need.reserved_bytes = ms_simulated_wanted_bytes(&simulated);
    c->need.device_bytes = simulated.judgement.device_bytes.expected;
    ms_simulated_free(&simulated);
}

static void find_equals(finding *f)
{
    for (uint32_t i = 0; i < f->classes.count; i++) {
        rank_class *c = f->classes.items;
        for (c[i].equal = 0; c[i].equal < i; c[i].equal++)
            if (c[c[i].equal].equal == c[i].equal &&
                ranks_are_equal(f->model, f->run, c[i].need.rank, c[c[i].equal].need.rank))
                break;
    }
}

/* Passes through layers of the ranks that are simulated. */
static uint64_t passes_of(const finding *f)
{
    const ms_layout *layout = &f->run->parallel.layout;
    const ms_pipeline_layout *pipeline = &layout->pipeline;
    uint64_t ranks = 0, layers = f->model->num_layers;
    for (uint32_t i = 0; i < f->classes.count; i++)
        ranks += f->classes.items[i].equal == i;
    if (!ms_layout_has_stages(layout))
        return ranks * 2 * layers;
    uint64_t stages = pipeline->ranks * pipeline->stages;
    return ranks * 2 * pipeline->micro_batches * pipeline->stages *
           ((layers + stages - 1) / stages);
}

static uint64_t most_passes(const ms_layout *layout, bool is_asked)
{
    uint64_t most = is_asked ? MOST_PASSES_ASKED : MOST_PASSES_UNASKED;
    bool has_copies = ms_layout_has_stages(layout) && !ms_layout_shards(layout) &&
                      !ms_pipeline_traits_of(layout->pipeline.kind)->is_split;
    return has_copies ? most : most / COST_OF_OTHERS;
}

/* What the class needs; its rank and their number stay. */
static ms_rank_need need_of(const finding *f, const rank_class *c)
{
    ms_rank_need need = f->classes.items[c->equal].need;
    need.rank = c->need.rank;
    need.count = c->need.count;
    return need;
}

static bool needs_more(const ms_rank_need *a, const ms_rank_need *b)
{
    return a->device_bytes != b->device_bytes ? a->device_bytes > b->device_bytes
                                              : a->peak_bytes > b->peak_bytes;
}

/* Neighbours that need the same become one row. */
static bool is_same(const ms_rank_need *a, const ms_rank_need *b)
{
    return a->device_bytes == b->device_bytes && a->peak_bytes == b->peak_bytes &&
           a->reserved_bytes == b->reserved_bytes && a->weight_bytes == b->weight_bytes;
}

static ms_status measure(finding *f, ms_arena *arena, ms_rank_table *table)
{
    bool is_sharded = ms_layout_shards(&f->run->parallel.layout);
    uint64_t copies = is_sharded ? f->run->parallel.layout.copies : 1;
    if (f->classes.count > 1)
        ms_threads_run(f->classes.count, work, f);
    ms_rank_need *rows = ms_arena_array(arena, ms_rank_need, f->classes.count);
    if (!rows)
        return ms_fail(f->err, MS_ERR_NOMEM, "out of memory for ranks");
    for (uint32_t i = 0; i < f->classes.count; i++) {
        rank_class *c = &f->classes.items[i];
        if (c->status != MS_OK)
            return ms_fail(f->err, c->status, "%s", c->err.text);
        c->need = need_of(f, c);
        c->need.count *= copies;
        if (table->count && is_same(&rows[table->count - 1], &c->need))
            rows[table->count - 1].count += c->need.count;
        else
            rows[table->count++] = c->need;
        if (needs_more(&rows[table->count - 1], &rows[table->worst]))
            table->worst = table->count - 1;
    }
    table->items = rows;
    return MS_OK;
}

static ms_status settle(finding *f, ms_arena *arena, ms_rank_table *table)
{
    const ms_layout *layout = &f->run->parallel.layout;
    ms_status status = find_classes(f);
    if (status != MS_OK)
        return status;
    find_equals(f);
    bool is_one = f->classes.count == 1 && !f->is_too_many;
    if (is_one || (!f->is_too_many && passes_of(f) <= f->most_passes))
        return measure(f, arena, table);
    if (f->run->parallel.choice.kind == MS_RANK_ANY)
        return MS_OK;
    return ms_fail(
        f->err, MS_ERR_USAGE,
        "rank: %s has too many ranks to simulate them all (at most %d that differ, and %" PRIu64
        " passes through a layer): give a rank, such as --rank 0",
        ms_layout_name(layout), MOST_ASKED, f->most_passes);
}

static ms_status settle_rank(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                             ms_error *err)
{
    ms_parallel *parallel = &run->parallel;
    ms_rank_kind kind = parallel->choice.kind;
    if (parallel->layout.kind == MS_PARALLEL_NONE || kind == MS_RANK_ONE)
        return MS_OK;
    finding f = {.model = model,
                 .run = run,
                 .most = kind == MS_RANK_ANY ? MOST_UNASKED : MOST_ASKED,
                 .most_passes = most_passes(&parallel->layout, kind != MS_RANK_ANY),
                 .err = err};
    ms_rank_table table = {.count = 0};
    ms_status status = settle(&f, arena, &table);
    ms_vec_free(&f.classes);
    if (status != MS_OK)
        return status;
    parallel->ranks = table;
    parallel->rank = table.count ? table.items[table.worst].rank : 0;
    return MS_OK;
}

ms_status ms_ranks_settle(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                          ms_error *err)
{
    ms_padding_needs needs;
    ms_status status = settle_rank(arena, model, run, err);
    return status == MS_OK ? ms_padding_settle(model, run, &needs, err) : status;
}

/* In hundredths of a GiB. */
static uint64_t hundredths(uint64_t bytes)
{
    return ((bytes >> 10) * 100 + (1 << 19)) >> 20;
}

/* Which of the two the figures are of, and what the other would need. */
static ms_status note_padding(ms_arena *arena, const ms_run_config *run,
                              const ms_padding_needs *needs, ms_notes *notes, ms_error *err)
{
    bool is_padded = run->padding.simulated == MS_PADDING_YES;
    uint64_t own = needs->device_bytes[run->padding.simulated];
    uint64_t other = needs->device_bytes[is_padded ? MS_PADDING_ONES : MS_PADDING_YES];
    if (!needs->is_known || own == other)
        return MS_OK;
    own = hundredths(own);
    other = hundredths(other);
    return ms_note_add(notes, arena, err,
                       "whether a batch is padded depends on the data: the figures are for %s, "
                       "which needs %" PRIu64 ".%02" PRIu64 " GiB; %s needs %" PRIu64 ".%02" PRIu64
                       " (--padding yes, --padding ones)",
                       is_padded ? "a padded one" : "one without padding", own / 100, own % 100,
                       is_padded ? "one without padding" : "a padded one", other / 100,
                       other % 100);
}

ms_status ms_ranks_settle_noted(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                                ms_notes *notes, ms_error *err)
{
    ms_padding_needs needs = {0};
    ms_status status = settle_rank(arena, model, run, err);
    const ms_parallel *parallel = &run->parallel;
    bool is_unknown = parallel->layout.kind != MS_PARALLEL_NONE &&
                      parallel->choice.kind == MS_RANK_ANY && parallel->ranks.count == 0;
    if (status == MS_OK && is_unknown)
        status = ms_note_add(
            notes, arena, err,
            "other ranks may need more than rank 0: --rank worst simulates all of them");
    if (status == MS_OK)
        status = ms_padding_settle(model, run, &needs, err);
    return status == MS_OK ? note_padding(arena, run, &needs, notes, err) : status;
}
