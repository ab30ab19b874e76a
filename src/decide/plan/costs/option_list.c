/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/option_list.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "decide/plan/solver/knapsack.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "input/config/run/run_config.h"
#include "input/config/run/treated_layer.h"
#include "input/config/treatment/row.h"
#include "input/config/treatment/technique.h"
#include "input/config/treatment/treatment.h"
#include "run/measure/playback.h"

/* ---- layouts ---- */

/* Copies to the host share the step with other ranks, and their waits are not counted exactly. */
static const uint32_t without_clock = MS_MAY_OFFLOAD;

/* The end of "parallel: PIPELINE has no plans: ..."; NULL: it has. */
static const char *why_not(const ms_layout *layout)
{
    if (ms_layout_has_stages(layout))
        return "micro-batches of several stages are in flight, so the time of a step is not known";
    if (layout->kind == MS_PARALLEL_ZERO && layout->stage == 3)
        return "modules are prefetched across layers, so what a layer needs depends on the others";
    return NULL;
}

ms_status ms_layout_check_plan(const ms_run_config *run, ms_error *err)
{
    const ms_layout *layout = &run->parallel.layout;
    const char *why = why_not(layout);
    if (!why)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE, "parallel: %s has no plans: %s", ms_layout_name(layout), why);
}

uint32_t ms_plan_techniques(const ms_run_config *run)
{
    uint32_t known = ms_parallel_techniques(&run->parallel);
    if (run->parallel.layout.tensor > 1) /* not all operators of a DTensor are PyTorch's own */
        known &= ~(uint32_t)MS_MAY_SELECT;
    return run->parallel.layout.kind == MS_PARALLEL_NONE ? known : known & ~without_clock;
}

/* ---- op list ---- */

static bool is_in_layer(const ms_trace *trace, const ms_op_exec *op, ms_pass pass, uint32_t layer)
{
    return op->pass == pass && op->scope != MS_NONE &&
           trace->scopes.items[op->scope].layer == layer;
}

/* One from the middle of the layers; the last one's recomputation may stop elsewhere. */
static uint32_t choose_layer(const ms_trace *trace)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < trace->scopes.count; i++)
        if (trace->scopes.items[i].layer != MS_NONE && trace->scopes.items[i].layer > last)
            last = trace->scopes.items[i].layer;
    return last < 2 ? 0 : 2;
}

/* It writes to what was made before, so it has to run again. */
static bool is_in_place(const char *name)
{
    return name[0] && name[strlen(name) - 1] == '_';
}

static uint32_t occurrence_of(const ms_op_list *list, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        count += strcmp(list->items[i].name, name) == 0;
    return count;
}

/* The operators of one layer in a pass. */
static ms_status read_pass(const ms_trace *trace, ms_pass pass, const ms_device *device,
                           ms_op_list *list, ms_error *err)
{
    uint32_t layer = choose_layer(trace);
    ms_recomputed_op *current = NULL;
    uint32_t running = MS_NONE;
    bool is_done = false; /* of several micro-steps the first */
    list->count = 0;
    list->items = ms_arena_array(list->arena, ms_recomputed_op, MS_MOST_RECOMPUTED_OPS);
    if (!list->items)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a layer's operators");
    for (uint32_t i = 0; i < trace->events.count && !is_done; i++) {
        ms_event e = trace->events.items[i];
        switch ((ms_event_kind)e.kind) {
        case MS_EVENT_OP_BEGIN: {
            const ms_op_exec *op = &trace->ops.items[e.id];
            if (!is_in_layer(trace, op, pass, layer) || list->count == MS_MOST_RECOMPUTED_OPS)
                break;
            current = &list->items[list->count];
            *current = (ms_recomputed_op){.name = op->name,
                                          .occurrence = occurrence_of(list, op->name),
                                          .is_random = op->is_random,
                                          .is_changed = is_in_place(op->name),
                                          .ms = ms_clock_op_ms(device, op)};
            running = e.id;
            list->count++;
            break;
        }
        case MS_EVENT_OP_END:
            current = NULL;
            break;
        case MS_EVENT_ALLOC:
            if (current) {
                current->bytes += trace->storages.items[e.id].bytes;
                current->is_changed |= trace->storages.items[e.id].is_changed;
            }
            break;
        case MS_EVENT_FREE:
            if (current && trace->storages.items[e.id].op == running)
                current->bytes -= trace->storages.items[e.id].bytes;
            break;
        case MS_EVENT_MARK:
            is_done = !trace->marks.items[e.id].begin && list->count > 0;
            break;
        case MS_EVENT_LAYER:
        case MS_EVENT_WORK:
        case MS_EVENT_WAIT:
        case MS_EVENT_RECORD:
        case MS_EVENT_HOST_EVENT:
        case MS_EVENT_HOST_WAIT:
        case MS_EVENT_EMPTY_CACHE:
            break;
        }
    }
    return MS_OK;
}

/* Whether an operator of forward must be recomputed: recomputation may end before what it made is
 * changed. */
static bool is_changed_in(const ms_op_list *forward, const ms_recomputed_op *op)
{
    for (uint32_t i = 0; i < forward->count; i++)
        if (forward->items[i].occurrence == op->occurrence &&
            strcmp(forward->items[i].name, op->name) == 0)
            return forward->items[i].is_changed;
    return false;
}

/* What draws random numbers must run again for those that draw after it, so the last one need not;
 * attention may be one, and dropouts are always recomputed. */
static void let_last_be_kept(const ms_op_list *list)
{
    for (uint32_t i = list->count; i-- > 0;)
        if (list->items[i].is_random) {
            list->items[i].is_random = strstr(list->items[i].name, "dropout") != NULL;
            return;
        }
}

ms_status ms_op_list_read(const ms_trace *trace, const ms_device *device, ms_op_list *list,
                          ms_error *err)
{
    ms_op_list forward = {.arena = list->arena};
    ms_status status = read_pass(trace, MS_PASS_RECOMPUTE, device, list, err);
    if (status == MS_OK)
        status = read_pass(trace, MS_PASS_FORWARD, device, &forward, err);
    for (uint32_t i = 0; i < list->count && status == MS_OK; i++)
        list->items[i].is_changed |= is_changed_in(&forward, &list->items[i]);
    if (status == MS_OK)
        let_last_be_kept(list);
    return status;
}

static bool is_of(const ms_kept_op *kept, const ms_recomputed_op *op)
{
    return ms_kept_name_means(kept->name, op->name) &&
           (kept->occurrence == UINT32_MAX || kept->occurrence == op->occurrence);
}

bool ms_op_list_may_keep(const ms_op_list *list, const ms_kept_op *kept, uint32_t count)
{
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = 0; k < count; k++)
            if ((list->items[i].is_changed || list->items[i].is_random) &&
                is_of(&kept[k], &list->items[i]))
                return false;
    return true;
}

/* ---- selective ---- */

static bool add(ms_option_list *list, const ms_treatment *treatment, uint32_t most)
{
    for (uint32_t i = 0; i < list->option_count; i++)
        if (ms_treatment_equal(treatment, &list->options[i]))
            return true;
    if (list->option_count >= most)
        return false;
    list->options[list->option_count++] = *treatment;
    return true;
}

static ms_status keep_taken(ms_arena *arena, const ms_op_list *ops, const bool *taken,
                            ms_treatment *treatment, ms_error *err)
{
    ms_kept_op *kept = ms_arena_array(arena, ms_kept_op, ops->count);
    if (!kept)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for kept operators");
    *treatment = (ms_treatment){.kind = MS_TREAT_SELECTIVE, .kept_ops = kept};
    for (uint32_t i = 0; i < ops->count; i++)
        if (taken[i])
            kept[treatment->kept_count++] =
                (ms_kept_op){ops->items[i].name, ops->items[i].occurrence};
    if (treatment->kept_count == 0)
        treatment->kind = MS_TREAT_CHECKPOINT;
    return MS_OK;
}

static double bytes_of(const ms_op_list *ops)
{
    double bytes = 0;
    for (uint32_t i = 0; i < ops->count; i++)
        bytes += (double)ops->items[i].bytes;
    return bytes;
}

ms_status ms_selective_of_share(ms_arena *arena, const ms_op_list *ops, double share,
                                ms_treatment *treatment, ms_error *err)
{
    ms_item *items = ms_arena_array(arena, ms_item, ops->count);
    bool *taken = ms_arena_array(arena, bool, ops->count), proven;
    if (!items || !taken)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for kept operators");
    for (uint32_t i = 0; i < ops->count; i++) {
        const ms_recomputed_op *op = &ops->items[i];
        items[i] = (ms_item){(double)op->bytes, op->is_random || op->is_changed ? 0 : op->ms};
    }
    const double all = bytes_of(ops);
    ms_status status = ms_knapsack(items, ops->count, share * all, NULL, taken, &proven, err);
    return status == MS_OK ? keep_taken(arena, ops, taken, treatment, err) : status;
}

/* Each set of operators makes so many times the bytes of the one before, and at least this share of
 * a kept layer's more: near the smallest budgets small sets matter. */
static const double set_growth = 1.4, set_step = 1.0 / 30;

static bool is_worth_more(const ms_recomputed_op *op, const ms_recomputed_op *other)
{
    double gain = op->ms * (double)other->bytes, others = other->ms * (double)op->bytes;
    return gain > others || (gain >= others && op->bytes < other->bytes);
}

/* The next operator to keep: the most time for its bytes, or ops->count. */
static uint32_t next_worth_keeping(const ms_op_list *ops, const bool *taken)
{
    uint32_t best = ops->count;
    for (uint32_t i = 0; i < ops->count; i++) {
        const ms_recomputed_op *op = &ops->items[i];
        if (taken[i] || op->is_random || op->is_changed || !(op->ms > 0))
            continue;
        if (best == ops->count || is_worth_more(op, &ops->items[best]))
            best = i;
    }
    return best;
}

/* Operators are kept in the order of the time that a byte of theirs saves. Layers with two of these
 * sets save, between them, as much as layers with any other set of as many bytes; beyond what a
 * kept layer saves nothing is won. */
static ms_status add_selective(ms_arena *arena, const ms_cost_model *costs, ms_option_list *list,
                               uint32_t most, ms_error *err)
{
    const ms_op_list *ops = &costs->ops;
    const ms_layer_cost *kept = &costs->options[MS_OPTION_KEEP].layers[costs->layer_count / 2];
    const double saved = (double)ms_layer_saved(kept, 0);
    double bytes = 0, last = 0;
    bool *taken = ms_arena_array(arena, bool, ops->count);
    ms_status status = MS_OK;
    if (!taken && ops->count > 0)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for kept operators");
    for (uint32_t i; status == MS_OK && (i = next_worth_keeping(ops, taken)) < ops->count;) {
        ms_treatment t;
        taken[i] = true;
        bytes += (double)ops->items[i].bytes;
        if (bytes > saved)
            break;
        if (bytes < fmax(last + saved * set_step, last * set_growth))
            continue;
        last = bytes;
        status = keep_taken(arena, ops, taken, &t, err);
        if (status == MS_OK && t.kept_count > 0)
            (void)add(list, &t, most);
    }
    return status;
}

/* ---- offload ---- */

/* All of what a layer saves; once that is measured, ms_option_list_make_shares adds the others. */
static void add_offload(ms_option_list *list, uint32_t most)
{
    (void)add(list, &(ms_treatment){.kind = MS_TREAT_OFFLOAD, .share = 1}, most);
}

/* What leaves with that share, a bit for each storage, as torch/treatments/offload.c decides. */
static uint64_t sent_with(const ms_layer_copies *all, double share, double *sent_ms)
{
    uint64_t set = 0;
    double seen = 0;
    *sent_ms = 0;
    for (uint32_t i = 0; i < all->send_count && i < 64; i++) {
        seen += all->sends[i].copy_ms;
        if (*sent_ms + all->sends[i].copy_ms > share * seen)
            continue;
        *sent_ms += all->sends[i].copy_ms;
        set |= (uint64_t)1 << i;
    }
    return set;
}

static const ms_layer_copies *find_whole_offload(const ms_cost_model *costs)
{
    for (uint32_t o = 0; o < costs->option_count; o++) {
        const ms_treatment *t = &costs->options[o].treatment;
        if (t->kind == MS_TREAT_OFFLOAD && t->share >= 1 && !ms_treatment_has_parts(t, true))
            return &costs->options[o].layers[costs->layer_count / 2].copies[0];
    }
    return NULL;
}

/* Of the shares with which different storages leave, MOST_SHARES that are apart in bytes. */
enum { MOST_SHARES = 14, SHARES_TRIED = 100 };

void ms_option_list_make_shares(const ms_cost_model *costs, ms_option_list *list)
{
    const ms_layer_copies *all = find_whole_offload(costs);
    uint32_t most = MS_COST_MOST_OPTIONS - MS_COST_TRAINERS_OPTIONS - costs->option_count;
    uint64_t last = 0;
    double whole_ms, last_ms = 0;
    *list = (ms_option_list){0};
    if (!all || all->send_count == 0)
        return;
    (void)sent_with(all, 1, &whole_ms);
    for (uint32_t i = 1; i < SHARES_TRIED && list->option_count < MOST_SHARES; i++) {
        double share = (double)i / SHARES_TRIED, sent_ms;
        uint64_t set = sent_with(all, share, &sent_ms);
        if (set == last || sent_ms < last_ms + whole_ms / (MOST_SHARES + 2))
            continue;
        last = set;
        last_ms = sent_ms;
        (void)add(list, &(ms_treatment){.kind = MS_TREAT_OFFLOAD, .share = share}, most);
    }
}

/* ---- parts of a layer ---- */

/* Attention whose scores are tensors: their bytes grow with the square of the sequence. Fused
 * kernels keep none, so nothing is won in pieces. */
static bool has_scores(const ms_model_config *model, const ms_run_config *run)
{
    if (model->family->always_masks || model->family->is_bidirectional || model->family->has_sinks)
        return false; /* not supported in tiles */
    if (model->family->has_no_attention || model->family->has_lone_mixers)
        return false;
    if (ms_may_be_padded(run))
        return false; /* nor for padded batches */
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        return false; /* among ranks, the MLP in tiles is known alone */
    bool has_window =
        ms_model_has_layers(model, MS_LAYER_SLIDES) && run->seq_tokens >= model->sliding_window;
    ms_backends backends[2];
    ms_attention_backends(model, run, backends);
    return backends[0].plain == MS_ATTENTION_EAGER || backends[0].plain == MS_ATTENTION_MATH ||
           (has_window && backends[0].masked == MS_ATTENTION_MATH);
}

/* A mixture of experts takes its tokens in one. */
static bool is_dense(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return !ms_model_has_layers(model, MS_LAYER_SPARSE);
}

static uint64_t all_tokens(const ms_run_config *run)
{
    return run->batch * run->seq_tokens;
}

static uint64_t queries(const ms_run_config *run)
{
    return run->seq_tokens;
}

/* Where parts in pieces are of use, and in how many pieces; NULL: only what a target asks for. */
typedef struct offer {
    bool (*is_of_use)(const ms_model_config *model, const ms_run_config *run);
    uint64_t (*most_pieces)(const ms_run_config *run);
} offer;

static const offer offers[MS_PART_COUNT] = {
    [MS_PART_TILE] = {is_dense, all_tokens},
    [MS_PART_TILE_ATTENTION] = {has_scores, queries},
};

/* Those that have pieces and are of use, a bit each. */
static uint32_t list_useful(const ms_model_config *model, const ms_run_config *run,
                            uint32_t techniques)
{
    uint32_t parts = 0;
    for (uint32_t i = 0; i < MS_PART_COUNT; i++)
        if (ms_treatment_parts[i]->has_pieces && offers[i].is_of_use &&
            (ms_treatment_parts[i]->techniques & ~techniques) == 0 &&
            offers[i].is_of_use(model, run))
            parts |= 1U << i;
    return parts;
}

static bool set_parts(const ms_run_config *run, uint32_t parts, uint32_t pieces, ms_treatment *t)
{
    *t = (ms_treatment){.kind = MS_TREAT_KEEP};
    for (uint32_t i = 0; i < MS_PART_COUNT; i++) {
        if (!(parts & 1U << i))
            continue;
        t->parts[i] = pieces;
        if (offers[i].most_pieces && pieces > offers[i].most_pieces(run))
            return false;
    }
    return true;
}

/* Kept and checkpointed layers with every choice of the parts in pieces. */
static void add_pieces(const ms_model_config *model, const ms_run_config *run, uint32_t techniques,
                       ms_option_list *list, uint32_t most)
{
    static const uint32_t pieces[] = {4, 16};
    const uint32_t all = list_useful(model, run, techniques);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        for (uint32_t parts = 1; parts <= all; parts++) {
            ms_treatment t;
            if ((parts & all) != parts || !set_parts(run, parts, pieces[i], &t))
                continue;
            (void)add(list, &t, most);
            t.kind = MS_TREAT_CHECKPOINT;
            if (techniques & MS_MAY_CHECKPOINT)
                (void)add(list, &t, most);
        }
}

/* Every checkpoint once more, with its input on the host. That nothing is held beside the copies is
 * for where no byte is left: there a selective checkpoint is too much. */
static void add_inputs(uint32_t techniques, ms_option_list *list, uint32_t most)
{
    uint32_t count = list->option_count;
    for (uint32_t place = MS_INPUT_OFFLOADED; place < MS_INPUT_PLACE_COUNT; place++) {
        ms_treatment t = {.kind = MS_TREAT_CHECKPOINT, .input = (ms_input_place)place};
        if (techniques & MS_MAY_CHECKPOINT)
            (void)add(list, &t, most);
        for (uint32_t i = 0; i < count; i++) {
            t = list->options[i];
            t.input = (ms_input_place)place;
            if (t.kind == MS_TREAT_CHECKPOINT ||
                (t.kind == MS_TREAT_SELECTIVE && place == MS_INPUT_OFFLOADED))
                (void)add(list, &t, most);
        }
    }
}

uint32_t ms_techniques_impossible(const ms_model_config *model, const ms_run_config *run)
{
    const ms_family *family = model->family;
    /* What adds to gradients piece by piece leaves no moment to step in backward. */
    const bool steps_in_backward = run->training.optimizer_in_backward;
    bool no_tiles = family->has_no_mlp_module || steps_in_backward;
    uint32_t unknown = MS_MAY_ALL & ~ms_plan_techniques(run);
    bool no_chunks = model->head != MS_HEAD_CAUSAL_LM || family->scales_logits ||
                     !ms_loss_is_plain(run) || steps_in_backward;
    if (model->is_encoder_decoder)
        return MS_MAY_ALL & ~(uint32_t)MS_MAY_CHECKPOINT;
    if (ms_layers_share_states(model))
        unknown |= MS_MAY_SELECT | MS_MAY_OFFLOAD;
    return unknown | (no_tiles ? MS_MAY_TILE : 0u) | (no_chunks ? MS_MAY_CHUNK_LOSS : 0u);
}

ms_status ms_option_list_make(ms_arena *arena, const ms_model_config *model,
                              const ms_run_config *run, uint32_t techniques,
                              const ms_cost_model *costs, ms_option_list *list, ms_error *err)
{
    static const uint32_t chunks[] = {2, 4, 8, 16, 32, 64};
    uint32_t most = MS_COST_MOST_OPTIONS - MS_COST_TRAINERS_OPTIONS - costs->option_count;
    uint64_t tokens = run->batch * run->seq_tokens;
    ms_status status = MS_OK;
    *list = (ms_option_list){0};
    if ((techniques & MS_MAY_SELECT) && run->checkpoint_kind == MS_CHECKPOINT_NON_REENTRANT)
        status = add_selective(arena, costs, list, most, err);
    if ((techniques & MS_MAY_OFFLOAD) && !run->device->is_cpu)
        add_offload(list, most);
    add_pieces(model, run, techniques, list, most);
    if ((techniques & MS_MAY_OFFLOAD) && !run->device->is_cpu &&
        run->checkpoint_kind == MS_CHECKPOINT_NON_REENTRANT)
        add_inputs(techniques, list, most);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
        if ((techniques & MS_MAY_CHUNK_LOSS) && chunks[i] <= tokens)
            list->losses[list->loss_count++] = chunks[i];
    return status;
}
