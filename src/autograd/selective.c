/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selective checkpoints: a checkpoint whose forward keeps the results of some operators
 * (torch.utils.checkpoint.create_selective_checkpoint_contexts). What an operator has allocated and
 * saved, or not freed when it ends, is its result. When the region runs again, such an operator
 * does not: it allocates nothing, and what was kept stands for its results, from then on held as
 * any other result is.
 */
#include "autograd/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/nearest.h"
#include "trace/build.h"

static ms_op_count *find_count(const ms_op_counts *counts, const char *name)
{
    for (uint32_t i = 0; i < counts->count; i++)
        if (strcmp(counts->items[i].name, name) == 0)
            return &counts->items[i];
    return NULL;
}

/* The number of times an operator of this name ran before in the region. */
static uint32_t count_op(ms_tape *tape, const char *name)
{
    ms_op_count *before = find_count(&tape->op_counts, name);
    if (before)
        return before->count++;
    if (!ms_vec_push(&tape->op_counts, (ms_op_count){name, 1}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return 0;
}

static bool is_kept(const ms_checkpoint *checkpoint, const char *name, uint32_t occurrence)
{
    for (uint32_t i = 0; i < checkpoint->kept_op_count; i++) {
        const ms_kept_op *kept = &checkpoint->kept_ops[i];
        if ((kept->occurrence == UINT32_MAX || kept->occurrence == occurrence) &&
            strcmp(kept->name, name) == 0)
            return true;
    }
    return false;
}

static ms_checkpoint *running(ms_tape *tape)
{
    bool again = tape->recompute_frame != MS_NONE;
    return &tape->checkpoints.items[again ? tape->recompute_frame : tape->saving_frame];
}

void ms_selective_begin(ms_tape *tape, const ms_op *op, ms_op_mark *mark)
{
    const ms_checkpoint *checkpoint = running(tape);
    if (checkpoint->kept_op_count == 0 && !tape->counts_layers)
        return;
    uint32_t before = count_op(tape, op->name);
    if (checkpoint->kept_op_count == 0)
        return;
    mark->is_kept = is_kept(checkpoint, op->name, before);
    mark->first_storage = tape->trace->storages.count;
    tape->muted = mark->is_kept && tape->recompute_frame != MS_NONE;
    tape->keeping_from = mark->is_kept && !tape->muted ? tape->trace->storages.count : MS_NONE;
}

static void keep(ms_tape *tape, ms_checkpoint *checkpoint, uint32_t storage)
{
    if (tape->trace->storages.items[storage].category == MS_CATEGORY_WORKSPACE)
        return;
    for (uint32_t i = checkpoint->first_kept; i < tape->kept.count; i++)
        if (tape->kept.items[i] == storage)
            return;
    if (!ms_vec_push(&tape->kept, storage)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    /* In the order in which they were made: so recomputation meets them. */
    for (uint32_t i = tape->kept.count - 1;
         i > checkpoint->first_kept && tape->kept.items[i - 1] > storage; i--) {
        tape->kept.items[i] = tape->kept.items[i - 1];
        tape->kept.items[i - 1] = storage;
    }
    ms_storage_retain(tape, storage);
    checkpoint->kept_count++;
    ms_trace_save(tape->trace, storage);
}

void ms_selective_save(ms_tape *tape, ms_tensor tensor)
{
    uint32_t storage = ms_info(tape, tensor)->storage;
    if (tape->keeping_from != MS_NONE && storage >= tape->keeping_from)
        keep(tape, running(tape), storage);
}

static void take(ms_tape *tape, ms_checkpoint *checkpoint, uint32_t storage)
{
    if (checkpoint->taken_count == checkpoint->kept_count)
        return;
    uint32_t kept = tape->kept.items[checkpoint->first_kept + checkpoint->taken_count++];
    if (!ms_vec_push(&tape->backings, (ms_backing){storage, kept}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_selective_end(ms_tape *tape, ms_op_mark mark)
{
    ms_checkpoint *checkpoint = running(tape);
    bool again = tape->recompute_frame != MS_NONE;
    tape->muted = false;
    tape->keeping_from = MS_NONE;
    for (uint32_t i = mark.first_storage; i < tape->trace->storages.count; i++) {
        if (tape->storage_refs.items[i] == 0)
            continue;
        if (again)
            take(tape, checkpoint, i);
        else
            keep(tape, checkpoint, i);
    }
}

void ms_selective_drop(ms_tape *tape, ms_checkpoint *checkpoint)
{
    while (checkpoint->taken_count < checkpoint->kept_count)
        ms_storage_release(tape,
                           tape->kept.items[checkpoint->first_kept + checkpoint->taken_count++]);
}

/* ---- operators that no layer runs ---- */

void ms_selective_watch(ms_tape *tape, uint64_t layers)
{
    for (uint64_t i = 0; i < layers; i++)
        if (tape->run->treatments.layers[i].kept_count > 0)
            tape->counts_layers = true;
}

void ms_selective_count(ms_tape *tape, const ms_op *op)
{
    (void)count_op(tape, op->name);
}

void ms_selective_count_begin(ms_tape *tape)
{
    if (tape->counts_layers)
        tape->op_counts.count = 0;
}

void ms_selective_count_end(ms_tape *tape)
{
    for (uint32_t i = 0; tape->counts_layers && i < tape->op_counts.count; i++) {
        ms_op_count *ran = &tape->op_counts.items[i];
        ms_op_count *most = find_count(&tape->most_ops, ran->name);
        if (most && most->count < ran->count)
            most->count = ran->count;
        else if (!most && !ms_vec_push(&tape->most_ops, *ran))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static bool is_run(const ms_tape *tape, const ms_kept_op *kept)
{
    const ms_op_count *most = find_count(&tape->most_ops, kept->name);
    return most && (kept->occurrence == UINT32_MAX || kept->occurrence < most->count);
}

void ms_selective_check(ms_tape *tape, uint64_t layers)
{
    const ms_treatment *treatments = tape->run->treatments.layers;
    for (uint64_t i = 0; tape->counts_layers && i < layers && tape->status == MS_OK; i++)
        for (uint32_t k = 0; k < treatments[i].kept_count && tape->status == MS_OK; k++)
            if (!is_run(tape, &treatments[i].kept_ops[k])) {
                tape->missing_op = &treatments[i].kept_ops[k];
                ms_tape_fail(tape, MS_ERR_CONFIG);
            }
    tape->counts_layers = false;
}

enum { MOST_NAMED = 3 };

/* The names nearest to `wanted`, nearest first; of equals the one that runs first. */
static uint32_t list_nearest(const ms_tape *tape, const char *wanted, const char **names)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tape->most_ops.count; i++) {
        const char *name = tape->most_ops.items[i].name;
        uint32_t at = count < MOST_NAMED ? count++ : MOST_NAMED;
        size_t distance = ms_name_distance(wanted, name);
        for (; at > 0 && ms_name_distance(wanted, names[at - 1]) > distance; at--)
            if (at < MOST_NAMED)
                names[at] = names[at - 1];
        if (at < MOST_NAMED)
            names[at] = name;
    }
    return count;
}

ms_status ms_selective_complain(const ms_tape *tape, ms_error *err)
{
    const ms_kept_op *op = tape->missing_op;
    const ms_op_count *most = find_count(&tape->most_ops, op->name);
    const ms_error *place = tape->run->treat_place;
    const char *before = place ? "" : "treat: ", *names[MOST_NAMED];
    char list[128] = "";
    uint32_t count = most ? 0 : list_nearest(tape, op->name, names);
    for (uint32_t i = 0, used = 0; i < count && used < sizeof list; i++)
        used += (uint32_t)snprintf(list + used, sizeof list - used, "%s%.30s",
                                   i == 0           ? ""
                                   : i + 1 == count ? " and "
                                                    : ", ",
                                   names[i]);
    ms_status status =
        most ? ms_fail(err, MS_ERR_CONFIG,
                       "%sa layer runs %.40s %" PRIu32
                       " times, numbered from 0: there is no %.40s#%" PRIu32,
                       before, op->name, most->count, op->name, op->occurrence)
             : ms_fail(err, MS_ERR_CONFIG,
                       "%sno layer runs an operator '%.40s'; the nearest that layers run are %s",
                       before, op->name, list);
    ms_error_copy_place(err, place);
    return status;
}
