/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Units of the two ends of a model, as torchtitan and accelerate make them: the embeddings, and the
 * last norm with the head, which is not resharded after its forward. accelerate makes one of both
 * where they are tied, which is the root's but for where its backward begins. Their modules have no
 * hooks of their own: the embedding's ends with its operator; the head's begins where the last
 * layer ends, and its backward with its own product.
 */
#include <string.h>

#include "torch/parallel/fsdp.h"

static ms_fsdp_unit *embeddings(const ms_fsdp *all)
{
    return &all->units.items[0];
}

static ms_fsdp_unit *head(const ms_fsdp *all)
{
    return &all->units.items[all->units.count - 2];
}

bool ms_fsdp_is_last_layer(const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    return all->parallel->has_end_units && unit + 1 == head(all);
}

/* ---- forward ---- */

void ms_fsdp_ends_begin_forward(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_unshard(tape, all, embeddings(all));
    ms_fsdp_wait_for_unshard(tape, all, embeddings(all), true);
}

void ms_fsdp_ends_begin_head(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_unshard(tape, all, head(all));
    ms_fsdp_wait_for_unshard(tape, all, head(all), true);
}

/* ---- backward ---- */

void ms_fsdp_ends_finish_head(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_post_backward(tape, all, head(all));
}

void ms_fsdp_ends_begin_embedding(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_unshard(tape, all, embeddings(all));
    ms_fsdp_wait_for_unshard(tape, all, embeddings(all), false);
}

/* Embeddings have no input with a gradient, so they are reduced when backward has ended. */
void ms_fsdp_ends_finish(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_post_backward(tape, all, embeddings(all));
}

/* ---- operators ---- */

static void op_begins(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    ms_fsdp *all = context;
    (void)number;
    if (tape->module != MS_NONE)
        return;
    if (!tape->in_backward) {
        all->is_embedding = strcmp(op->name, "embedding") == 0;
        return;
    }
    bool is_product = strcmp(op->name, "mm") == 0 || strcmp(op->name, "addmm") == 0;
    if (is_product && !all->has_head_begun) {
        all->has_head_begun = true;
        const ms_fsdp_unit *unit = all->parallel->has_tied_ends ? ms_fsdp_root(all) : head(all);
        ms_fsdp_unshard(tape, all, &all->units.items[unit - all->units.items - 1]);
    }
}

static void op_ends(ms_tape *tape, void *context, uint32_t number)
{
    ms_fsdp *all = context;
    (void)number;
    bool ends_embedding = all->is_embedding && all->parallel->has_end_units;
    if (ends_embedding && !all->parallel->keeps_unsharded)
        ms_fsdp_reshard(tape, all, embeddings(all));
    all->is_embedding = false;
}

void ms_fsdp_ends_install(ms_tape *tape, ms_fsdp *all)
{
    ms_hooks_push_op(tape, (ms_op_hooks){.begin = op_begins, .end = op_ends, .context = all});
}
