/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selective checkpoints: a checkpoint whose forward keeps the results of some operators
 * (torch.utils.checkpoint.create_selective_checkpoint_contexts). What an operator has allocated and
 * saved, or not freed when it ends, is its result. When the region runs again, such an operator
 * does not: it allocates nothing, and what was kept stands for its results, from then on held as
 * any other result is.
 */
#include "tape/engine.h"

#include <string.h>

/* The number of times an operator of this name ran before in the region. */
static uint32_t count_op(ms_tape *tape, const char *name)
{
    for (uint32_t i = 0; i < tape->op_counts.count; i++)
        if (strcmp(tape->op_counts.items[i].name, name) == 0)
            return tape->op_counts.items[i].count++;
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
    if (checkpoint->kept_op_count == 0)
        return;
    mark->is_kept = is_kept(checkpoint, op->name, count_op(tape, op->name));
    mark->first_storage = tape->trace->storages.count;
    tape->muted = mark->is_kept && tape->recompute_frame != MS_NONE;
    tape->keeping_from = mark->is_kept && !tape->muted ? tape->trace->storages.count : MS_NONE;
}

static void keep(ms_tape *tape, ms_checkpoint *checkpoint, uint32_t storage)
{
    ms_storage *row = &tape->trace->storages.items[storage];
    if (row->category == MS_CATEGORY_WORKSPACE)
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
    row->saved = true;
    if (row->category == MS_CATEGORY_TEMPORARY)
        row->category = MS_CATEGORY_ACTIVATION;
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
