/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The coordinator of ZeRO-3's gathers: fetches what a module needs, prefetches what the trace has
 * next, and releases what it has not soon.
 */
#include "torch/parallel/zero/zero3_gather.h"

#include <string.h>

#include "core/trace/build.h"
#include "torch/autograd/graph.h"
#include "torch/parallel/zero/zero3.h"

/* ---- zero3 modules ---- */

/* Which parameters a module has that ZeRO-3 gathers before it is called, and their memory. */

uint32_t ms_zero3_whole(const ms_zero3 *all)
{
    return all->module_first.count;
}

uint32_t ms_zero3_base_in(const ms_zero3 *all, uint32_t scope)
{
    return 2 * ms_zero3_whole(all) + 1 + scope;
}

uint32_t ms_zero3_own_parameters(const ms_zero3 *all, uint32_t scope, uint32_t *first)
{
    *first = all->module_first.items[scope];
    return *first == MS_NONE ? 0 : all->module_count.items[scope];
}

bool ms_zero3_is_leaf(const ms_zero3 *all, uint32_t module)
{
    return module < all->leaf_of.count && all->leaf_of.items[module] == module;
}

/* The parameters of this module and all modules in it. */
static uint32_t parameters_below(const ms_zero3 *all, uint32_t module, uint32_t *first)
{
    if (module < all->below_first.count) {
        *first = all->below_first.items[module];
        return all->below_count.items[module];
    }
    *first = 0;
    return module == ms_zero3_whole(all) || module > 4 * ms_zero3_whole(all) ? all->parameters.count
                                                                             : 0;
}

bool ms_zero3_is_adapted(const ms_zero3 *all, uint32_t scope)
{
    return scope < all->external.count && all->external.items[scope] != MS_NONE;
}

/* The same without, or with, those of the modules in it. */
static uint32_t zero3_parameters_in(const ms_zero3 *all, uint32_t module, bool with_those_below,
                                    uint32_t *first)
{
    uint32_t scopes = all->module_first.count, base = ms_zero3_base_in(all, 0), count = 0;
    if (module == all->tied_head) {
        *first = all->tied_to;
        return 1;
    }
    if (with_those_below && (module < base || module >= base + scopes))
        return parameters_below(all, module, first);
    if (ms_zero3_is_adapted(all, module)) {
        *first = all->external.items[module];
        return all->is_known.items[module];
    }
    if (module < scopes)
        count = ms_zero3_own_parameters(all, module, first);
    else if (module >= base && module < base + scopes)
        count = ms_zero3_own_parameters(all, module - base, first);
    if (!count)
        *first = 0;
    return count;
}

uint32_t ms_zero3_parameters_of(const ms_zero3 *all, uint32_t module, uint32_t *first)
{
    return zero3_parameters_in(all, module, ms_zero3_is_leaf(all, module), first);
}

/* DeepSpeed's order is that in which parameters became its own: under zero.Init an adapter's are
 * made last. */
static bool is_made_before(const ms_tape *tape, const ms_zero3 *all, uint32_t a, uint32_t b)
{
    bool has_added = tape->in_order.count && all->parallel->zero.init;
    bool is_added = has_added && ms_zero3_is_trained(all, a);
    bool is_other_added = has_added && ms_zero3_is_trained(all, b);
    return is_added != is_other_added ? is_other_added : a < b;
}

/* Sorts parameters by when they were made. */
static void zero3_sort(const ms_tape *tape, const ms_zero3 *all, uint32_t *members, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && is_made_before(tape, all, members[k], members[k - 1]); k--) {
            uint32_t member = members[k];
            members[k] = members[k - 1];
            members[k - 1] = member;
        }
}

/* The memory that the parameter gives up, in a tensor that the caller owns; the parameter stays
 * without. */
static ms_tensor take_memory(ms_tape *tape, const ms_zero3_parameter *row)
{
    ms_tensor parameter = row->placed.tensor;
    const ms_shape shape = ms_info(tape, parameter)->shape;
    uint64_t bytes = tape->trace->storages.items[ms_info(tape, parameter)->storage].bytes;
    bool was_meta = tape->is_meta;
    tape->is_meta = true;
    ms_tensor held = ms_empty(tape, shape, (ms_dtype)ms_info(tape, parameter)->dtype);
    if (held)
        ms_storage_empty(tape, held);
    tape->is_meta = was_meta;
    if (!held)
        return 0;
    uint32_t storage = ms_info(tape, held)->storage;
    ms_trace_resize(tape->trace, storage, bytes);
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_WEIGHT);
    ms_trace_label(tape->trace, storage, row->placed.name, row->placed.scope);
    ms_storage_swap(tape, parameter, held);
    ms_retain(tape, held);
    return held;
}

/* Whether the graph has views of the parameter's memory, as products of stacked experts save them;
 * then they keep what it gives up. */
static bool zero3_is_shared(const ms_tape *tape, const ms_zero3_parameter *row)
{
    uint32_t storage = tape->tensors.items[row->placed.tensor].storage;
    return (tape->storage_refs.items[storage] & ~MS_STORAGE_EMPTY) > 1;
}

static void zero3_part(ms_tape *tape, const ms_zero3_parameter *row)
{
    ms_release(tape, take_memory(tape, row));
}

/* A tensor that a recomputation has saved keeps the memory that the parameter gives up. */
static void zero3_hold(ms_tape *tape, ms_zero3_parameter *row)
{
    ms_tensor held = take_memory(tape, row);
    ms_release(tape, row->held);
    row->held = held;
}

/* The node of a product with a packed weight has a view of its memory, which no hook of saved
 * tensors sees: it stays as long as the graph, that of a recomputation until backward goes on. */
static void zero3_keep(ms_tape *tape, ms_zero3 *all, ms_zero3_parameter *row)
{
    ms_tensor kept = take_memory(tape, row);
    bool is_graphs = row->is_viewed;
    row->is_viewed = false;
    if (!is_graphs) {
        if (!ms_vec_push(&all->kept, kept))
            ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    ms_graph_hold(tape, kept);
    ms_release(tape, kept);
}

void ms_zero3_drop_kept(ms_tape *tape, ms_zero3 *all)
{
    while (all->kept.count)
        ms_release(tape, all->kept.items[--all->kept.count]);
}

/* ---- zero3 trace ---- */

/* The trace of ZeRO-3: the modules of the first pass in the order in which they ran, and what it
 * says of the uses of parameters that are still to come. */

/* The trace (zero3_trace.c): all uses of parameters by the modules in it. */
static void zero3_list_uses(ms_tape *tape, ms_zero3 *all)
{
    for (uint32_t i = 0; i < all->modules.count; i++) {
        uint32_t first, count = ms_zero3_parameters_of(all, all->modules.items[i], &first);
        for (uint32_t k = first; k < first + count; k++)
            if (!ms_vec_push(&all->uses, (ms_zero3_use){k, i}))
                ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* The uses of the parameters of the module that runs leave the queue. */
static void zero3_pass_uses(ms_zero3 *all, uint32_t first, uint32_t count)
{
    uint32_t wanted = 0;
    for (uint32_t i = first; i < first + count; i++)
        wanted += all->parameters.items[i].fetched_for < all->step;
    for (; wanted && all->next_use < all->uses.count; wanted--) {
        const ms_zero3_use *use = &all->uses.items[all->next_use++];
        all->parameters.items[use->parameter].fetched_for = use->step;
    }
}

/* A leaf module that is left counts all parameters in the modules that come, others each module's
 * own. */
static bool is_used_soon(const ms_zero3 *all, uint32_t module, uint32_t parameter)
{
    if (all->parameters.items[parameter].fetched_for > all->step)
        return true;
    bool is_leaf = ms_zero3_is_leaf(all, module);
    uint64_t passed = 0;
    for (uint32_t i = (uint32_t)all->step; i < all->modules.count; i++) {
        if (passed >= all->parallel->zero.max_reuse_distance)
            return false;
        uint32_t first;
        uint32_t count = zero3_parameters_in(all, all->modules.items[i], is_leaf, &first);
        for (uint32_t k = first; k < first + count; k++) {
            if (k == parameter)
                return true;
            passed += all->parameters.items[k].elements;
        }
    }
    return false;
}

/* The first decision of a step that is not before this one. */
static uint32_t first_of_step(const ms_zero3 *all, int64_t step)
{
    uint32_t low = 0, high = all->decisions.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->decisions.items[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a parameter stays when a module is left: the trace has another use within the distance,
 * or a prefetch passed over one. DeepSpeed remembers what it decided for the module and the step,
 * also for an evaluation, before which other things were fetched. */
static bool zero3_stays(ms_tape *tape, ms_zero3 *all, uint32_t module, uint32_t parameter)
{
    const int64_t step = all->step;
    uint32_t count = all->decisions.count;
    for (uint32_t i = first_of_step(all, step); i < count; i++) {
        const ms_zero3_decision *d = &all->decisions.items[i];
        if (d->step != step)
            break;
        if (d->module == module && d->parameter == parameter)
            return d->stays;
    }
    const bool stays =
        all->parameters.items[parameter].persists || is_used_soon(all, module, parameter);
    const ms_zero3_decision made = {step, module, parameter, stays};
    const bool is_next = !count || all->decisions.items[count - 1].step <= step;
    if (is_next && !ms_vec_push(&all->decisions, made))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return stays;
}

/* How many elements may still be gathered. */
static uint64_t zero3_room(const ms_zero3 *all)
{
    uint64_t most = all->parallel->zero.max_live_parameters;
    if (all->available <= 0)
        return most;
    uint64_t live = (uint64_t)all->available;
    return most > live ? most - live : 0;
}

/* ---- zero3 events ---- */

void ms_zero3_limit(ms_tape *tape, ms_zero3_events *events)
{
    enum { MOST_AHEAD = 2 };
    ms_zero_indices *numbers = &events->numbers;
    while (events->first < numbers->count && numbers->items[events->first] < tape->host_done)
        events->first++;
    if (numbers->count - events->first > MOST_AHEAD)
        ms_host_waits_for(tape, numbers->items[events->first++]);
    if (events->first == numbers->count)
        events->first = numbers->count = 0;
}

void ms_zero3_note(ms_tape *tape, ms_zero3_events *events)
{
    if (!ms_idle(tape) && !ms_vec_push(&events->numbers, ms_host_event(tape)))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- zero3 gather ---- */

static ms_zero3_parameter *row_of(const ms_zero3 *all, uint32_t parameter)
{
    return &all->parameters.items[parameter];
}

static ms_tensor tensor_of(const ms_zero3 *all, uint32_t parameter)
{
    return row_of(all, parameter)->placed.tensor;
}

/* ---- gathers ---- */

void ms_zero3_pad(ms_tape *tape, ms_zero3 *all, uint32_t parameter, bool is_padded)
{
    ms_zero3_parameter *row = row_of(all, parameter);
    if (!row->other || row->is_padded == is_padded || ms_idle(tape))
        return;
    ms_storage_swap(tape, tensor_of(all, parameter), row->other);
    row->is_padded = is_padded;
}

static void refill(ms_tape *tape, ms_zero3 *all, uint32_t parameter, uint32_t stream)
{
    if (ms_zero3_views_shards(all))
        return;
    tape->stream = stream;
    ms_storage_refill(tape, tensor_of(all, parameter));
    tape->stream = MS_STREAM_OPERATORS;
    row_of(all, parameter)->is_from_gathers = stream != MS_STREAM_OPERATORS;
}

void ms_zero3_gather_alone(ms_tape *tape, ms_zero3 *all, uint32_t parameter)
{
    ms_zero3_parameter *row = row_of(all, parameter);
    if (row->status != MS_ZERO3_AWAY || ms_idle(tape))
        return;
    ms_zero3_pad(tape, all, parameter, true);
    refill(tape, all, parameter, MS_STREAM_OPERATORS);
    row->status = MS_ZERO3_HERE;
}

/* A shard that comes from the host for a gather, and goes when it has begun. */
static void bring(ms_tape *tape, const ms_zero3 *all, uint32_t parameter, ms_zero_tensors *brought)
{
    const ms_zero3_parameter *row = row_of(all, parameter);
    if (!all->parallel->zero.offloads_parameters)
        return;
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, row->shard * ms_dtype_bytes(row->dtype)));
    ms_tensor shard = ms_zero_vector(tape, row->shard, row->dtype, "shard", MS_CATEGORY_TEMPORARY);
    if (!ms_vec_push(brought, shard))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void drop_brought(ms_tape *tape, ms_zero_tensors *brought)
{
    while (brought->count)
        ms_release(tape, brought->items[--brought->count]);
    ms_vec_free(brought);
}

/* Which of the flat tensors: that of the model's type, or of bytes. */
static uint32_t place_of(const ms_zero3 *all, const ms_zero3_parameter *row)
{
    return row->dtype != all->dtype;
}

/* The members of one type; several have a flat tensor. */
static void begin_type(ms_tape *tape, ms_zero3 *all, ms_zero3_gather *gather, uint32_t place)
{
    uint64_t ranks = all->parallel->layout.shards, shards = 0;
    const uint32_t *members = all->gathered.items + gather->first;
    ms_dtype dtype = all->dtype;
    for (uint32_t i = 0; i < gather->count; i++)
        if (place_of(all, row_of(all, members[i])) == place) {
            shards += row_of(all, members[i])->shard;
            dtype = row_of(all, members[i])->dtype;
        }
    gather->work[place] = MS_NONE;
    if (!shards || ms_zero3_views_shards(all))
        return;
    if (gather->count == 1) {
        ms_zero3_pad(tape, all, members[0], true);
        refill(tape, all, members[0], all->gather_pool);
    } else {
        tape->stream = all->gather_pool;
        gather->flat[place] = ms_zero_vector(tape, shards * ranks, dtype, "gathered parameters",
                                             MS_CATEGORY_TEMPORARY);
    }
    ms_zero_tensors brought = {0};
    tape->stream = all->gather_pool;
    for (uint32_t i = 0; i < gather->count; i++)
        if (place_of(all, row_of(all, members[i])) == place)
            bring(tape, all, members[i], &brought);
    drop_brought(tape, &brought);
    tape->stream = MS_STREAM_OPERATORS;
    gather->work[place] = ms_collective(tape, MS_WORK_ALL_GATHER, all->gather_stream,
                                        shards * ms_dtype_bytes(dtype) * (ranks - 1));
}

/* all_gather_coalesced of parameters that are away: the last of `gathered`, from `first`. */
static void begin_gather(ms_tape *tape, ms_zero3 *all, uint32_t first)
{
    ms_zero3_gather gather = {.first = first, .count = all->gathered.count - first};
    if (!gather.count || ms_idle(tape))
        return;
    uint32_t *members = all->gathered.items + first;
    zero3_sort(tape, all, members, gather.count);
    for (uint32_t i = 0; i < gather.count; i++) {
        ms_zero3_parameter *row = row_of(all, members[i]);
        row->status = MS_ZERO3_COMING;
        row->gather = all->gathers.count;
        all->available += (int64_t)row->elements;
    }
    for (uint32_t place = 0; place < MS_ZERO3_TYPES; place++)
        begin_type(tape, all, &gather, place);
    if (!ms_vec_push(&all->gathers, gather))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void add_to_gather(ms_tape *tape, ms_zero3 *all, uint32_t parameter)
{
    if (!ms_vec_push(&all->gathered, parameter))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* Copies the parameters of one type out of their flat tensor. */
static void copy_out(ms_tape *tape, ms_zero3 *all, const ms_zero3_gather *gather, uint32_t place)
{
    if (gather->work[place] != MS_NONE)
        ms_work_wait(tape, gather->work[place]);
    for (uint32_t i = 0; i < gather->count && !ms_idle(tape); i++) {
        uint32_t member = all->gathered.items[gather->first + i];
        if (place_of(all, row_of(all, member)) != place)
            continue;
        if (gather->flat[place]) {
            ms_zero3_pad(tape, all, member, false);
            refill(tape, all, member, all->gather_pool);
        }
        row_of(all, member)->status = MS_ZERO3_HERE;
    }
}

/* The first wait copies all parameters of a gather out of its flat tensors. */
static void wait_for(ms_tape *tape, ms_zero3 *all, uint32_t parameter)
{
    ms_zero3_gather *gather = &all->gathers.items[row_of(all, parameter)->gather];
    for (uint32_t place = 0; place < MS_ZERO3_TYPES && !gather->is_done; place++)
        copy_out(tape, all, gather, place);
    gather->is_done = true;
    row_of(all, parameter)->gather = MS_NONE;
    if (++gather->asked_for < gather->count)
        return;
    for (uint32_t place = 0; place < MS_ZERO3_TYPES; place++) {
        ms_release(tape, gather->flat[place]);
        gather->flat[place] = 0;
    }
}

/* ---- release ---- */

static void drop_held(ms_tape *tape, ms_zero3_parameter *row)
{
    ms_release(tape, row->held);
    row->held = 0;
}

/* Whether a recomputation's graph has the parameter itself: functions save their biases, and norms
 * may save a copy of their weight. */
static bool is_saved(ms_tape *tape, const ms_zero3_parameter *row)
{
    const ms_trace *trace = tape->trace;
    bool is_bias = strcmp(trace->names.items[row->placed.name], "bias") == 0;
    return is_bias || trace->storages.items[ms_info(tape, row->placed.tensor)->storage].saved;
}

static void release_parameter(ms_tape *tape, ms_zero3 *all, uint32_t parameter)
{
    ms_zero3_parameter *row = row_of(all, parameter);
    if (row->status != MS_ZERO3_HERE || row->user_count || ms_idle(tape))
        return;
    row->status = MS_ZERO3_AWAY;
    all->available -= (int64_t)row->elements;
    if (ms_zero3_views_shards(all))
        return;
    ms_tensor tensor = tensor_of(all, parameter);
    uint32_t storage = ms_info(tape, tensor)->storage;
    if (row->is_from_gathers &&
        ms_trace_add_use(tape->trace, storage, MS_STREAM_OPERATORS) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (zero3_is_shared(tape, row))
        zero3_part(tape, row);
    else if (all->is_rerun && is_saved(tape, row) && ms_zero3_is_trained(all, parameter))
        zero3_hold(tape, row);
    else if (row->is_viewed || (row->is_packed && all->is_rerun))
        zero3_keep(tape, all, row);
    else
        ms_storage_empty(tape, tensor);
}

static void drop_user(ms_zero3_parameter *row, uint32_t module)
{
    for (uint32_t i = 0; i < row->user_count; i++)
        if (row->users[i] == module)
            row->users[i--] = row->users[--row->user_count];
}

void ms_zero3_release(ms_tape *tape, ms_zero3 *all, uint32_t module)
{
    uint32_t first, count = ms_zero3_parameters_of(all, module, &first);
    for (uint32_t i = first; i < first + count; i++) {
        ms_zero3_parameter *row = row_of(all, i);
        bool stays = all->tracing == MS_ZERO3_KNOWS && zero3_stays(tape, all, module, i);
        drop_user(row, module);
        row->is_viewed |= row->is_packed && !tape->in_backward && !all->is_rerun;
        if (!all->is_rerun)
            drop_held(tape, row);
        if (!stays)
            release_parameter(tape, all, i);
    }
}

void ms_zero3_release_attributed(ms_tape *tape, ms_zero3 *all, uint32_t module)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->attributed.count; i++) {
        const ms_zero3_use use = all->attributed.items[i];
        if (use.step != module) {
            all->attributed.items[kept++] = use;
            continue;
        }
        ms_zero3_parameter *row = row_of(all, use.parameter);
        drop_user(row, module);
        if (!row->persists)
            release_parameter(tape, all, use.parameter);
    }
    all->attributed.count = kept;
}

void ms_zero3_release_leftovers(ms_tape *tape, ms_zero3 *all)
{
    all->attributed.count = 0;
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        ms_zero3_parameter *row = row_of(all, i);
        if (!row->user_count)
            continue;
        row->user_count = 0;
        if (!row->persists)
            release_parameter(tape, all, i);
    }
}

void ms_zero3_release_all(ms_tape *tape, ms_zero3 *all)
{
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        ms_zero3_parameter *row = row_of(all, i);
        if (row->gather != MS_NONE)
            wait_for(tape, all, i);
        row->user_count = 0;
        row->is_viewed = false; /* the graph has gone */
        release_parameter(tape, all, i);
    }
}

/* _allgather_params_coalesced: each has a flat tensor of its own, from the operators' pool. */
void ms_zero3_gather_persistent(ms_tape *tape, ms_zero3 *all)
{
    ms_zero_tensors brought = {0};
    for (uint32_t i = 0; i < all->parameters.count; i++)
        if (row_of(all, i)->persists)
            bring(tape, all, i, &brought);
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        ms_zero3_parameter *row = row_of(all, i);
        if (!row->persists || row->status != MS_ZERO3_AWAY)
            continue;
        ms_zero3_pad(tape, all, i, true);
        refill(tape, all, i, MS_STREAM_OPERATORS);
        row->status = MS_ZERO3_HERE;
    }
    drop_brought(tape, &brought);
}

/* ---- fetch ---- */

static void add_user(ms_tape *tape, ms_zero3_parameter *row, uint32_t module)
{
    drop_user(row, module);
    if (row->user_count < MS_ZERO3_USERS)
        row->users[row->user_count++] = module;
    else
        ms_tape_refuse(tape, "more modules share one parameter than ZeRO-3 is predicted with");
}

/* A frozen parameter that a recomputation uses stays for the module that is last in backward. */
static void attribute(ms_tape *tape, ms_zero3 *all, uint32_t parameter)
{
    if (!all->is_rerun || !all->backward.count || ms_zero3_is_trained(all, parameter))
        return;
    uint32_t owner = all->backward.modules[all->backward.count - 1];
    add_user(tape, row_of(all, parameter), owner);
    if (!ms_vec_push(&all->attributed, (ms_zero3_use){parameter, owner}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void prefetch(ms_tape *tape, ms_zero3 *all)
{
    const ms_zero *zero = &all->parallel->zero;
    uint64_t room = zero3_room(all);
    uint64_t most = room < zero->prefetch_bucket_size ? room : zero->prefetch_bucket_size;
    uint64_t elements = 0;
    uint32_t first = all->gathered.count;
    while (all->next_use < all->uses.count && elements < most && !ms_idle(tape)) {
        const ms_zero3_use *use = &all->uses.items[all->next_use++];
        ms_zero3_parameter *row = row_of(all, use->parameter);
        if (use->step > row->fetched_for)
            row->fetched_for = use->step;
        bool is_new = row->status == MS_ZERO3_AWAY;
        for (uint32_t i = first; i < all->gathered.count; i++)
            is_new &= all->gathered.items[i] != use->parameter;
        if (!is_new)
            continue;
        add_to_gather(tape, all, use->parameter);
        elements += row->elements;
    }
    begin_gather(tape, all, first);
}

void ms_zero3_fetch(ms_tape *tape, ms_zero3 *all, uint32_t module)
{
    if (ms_idle(tape))
        return;
    uint32_t first, count = ms_zero3_parameters_of(all, module, &first);
    if (all->tracing == MS_ZERO3_RECORDS && !ms_vec_push(&all->modules, module))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    uint32_t begin = all->gathered.count;
    for (uint32_t i = first; i < first + count; i++)
        if (row_of(all, i)->status == MS_ZERO3_AWAY)
            add_to_gather(tape, all, i);
    begin_gather(tape, all, begin);
    for (uint32_t i = first; i < first + count && !ms_idle(tape); i++) {
        add_user(tape, row_of(all, i), module);
        attribute(tape, all, i);
        if (row_of(all, i)->gather == MS_NONE)
            continue;
        ms_zero3_limit(tape, &all->fetched);
        wait_for(tape, all, i);
        ms_zero3_note(tape, &all->fetched);
    }
    if (all->tracing == MS_ZERO3_KNOWS) {
        zero3_pass_uses(all, first, count);
        if (all->parallel->zero.prefetch_bucket_size)
            prefetch(tape, all);
    }
    all->step++;
}

/* ---- passes ---- */

/* reset_step: the first pass of all is recorded, later ones know what comes. */
void ms_zero3_begin_pass(ms_tape *tape, ms_zero3 *all)
{
    if (all->tracing == MS_ZERO3_RECORDS) {
        zero3_list_uses(tape, all);
        all->tracing = MS_ZERO3_KNOWS;
    } else if (all->tracing == MS_ZERO3_IDLE) {
        all->tracing = MS_ZERO3_RECORDS;
    }
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        ms_zero3_parameter *row = row_of(all, i);
        row->is_viewed = false; /* the graph has gone */
        if (row->gather != MS_NONE) {
            wait_for(tape, all, i);
            release_parameter(tape, all, i);
        }
        row->fetched_for = INT64_MIN;
    }
    all->gathers.count = all->gathered.count = 0;
    all->next_use = 0;
    all->step = 0;
    all->available = 0;
}
