/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The coordinator of ZeRO-3's gathers: fetches what a module needs, prefetches what the trace has
 * next, and releases what it has not soon.
 */
#include "torch/parallel/zero/zero3.h"

#include <string.h>

#include "core/trace/build.h"

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
    ms_zero3_sort(tape, all, members, gather.count);
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
    if (ms_zero3_is_shared(tape, row))
        ms_zero3_part(tape, row);
    else if (all->is_rerun && is_saved(tape, row) && ms_zero3_is_trained(all, parameter))
        ms_zero3_hold(tape, row);
    else if (row->is_viewed || (row->is_packed && all->is_rerun))
        ms_zero3_keep(tape, all, row);
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
        bool stays = all->tracing == MS_ZERO3_KNOWS && ms_zero3_stays(tape, all, module, i);
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
    uint64_t room = ms_zero3_room(all);
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
        ms_zero3_pass_uses(all, first, count);
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
        ms_zero3_list_uses(tape, all);
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
