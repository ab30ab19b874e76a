/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/adapter_order.h"

#include "model/blocks/adapter.h"

/* After a module's own parameters come its adapter's. */
typedef struct ordering {
    ms_tape *tape;
    const ms_parameter *all;
    uint32_t count;
    uint32_t *next;    /* of each parameter: the leaf whose last one it is, plus 1; or 0 */
    bool *is_adapters; /* placed with its module */
} ordering;

static void place(ordering *o, ms_tensor tensor)
{
    if (!tensor)
        return;
    const ms_parameter *parameter = &o->all[ms_info(o->tape, tensor)->leaf];
    const ms_placed row = {.tensor = tensor,
                           .name = parameter->name,
                           .scope = parameter->scope,
                           .parameter = MS_NONE,
                           .is_embedding = parameter->is_embedding};
    if (!ms_vec_push(&o->tape->in_order, row))
        ms_tape_fail(o->tape, MS_ERR_NOMEM);
}

static void note_leaf(ordering *o, const ms_leaf_module *leaf, uint32_t number)
{
    const struct ms_adapted *adapted = leaf->adapted;
    ms_tensor last = leaf->bias ? leaf->bias : leaf->weight;
    if (!adapted || !last)
        return;
    const ms_tensor added[] = {adapted->lora_a.weight, adapted->lora_b.weight, adapted->lora_b.bias,
                               adapted->magnitude, adapted->scale};
    o->next[ms_info(o->tape, last)->leaf] = number + 1;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (added[i])
            o->is_adapters[ms_info(o->tape, added[i])->leaf] = true;
}

static void place_all(ordering *o, const ms_model *model)
{
    for (uint32_t i = 0; i < model->leaves.count; i++)
        note_leaf(o, &model->leaves.items[i], i);
    for (uint32_t i = 0; i < o->count && o->tape->status == MS_OK; i++) {
        if (o->is_adapters[i])
            continue;
        place(o, o->all[i].tensor);
        if (o->next[i] == 0)
            continue;
        const struct ms_adapted *adapted = model->leaves.items[o->next[i] - 1].adapted;
        place(o, adapted->lora_a.weight);
        place(o, adapted->lora_b.weight);
        place(o, adapted->lora_b.bias);
        place(o, adapted->magnitude);
        place(o, adapted->scale);
    }
}

void ms_adapter_order(ms_model *model, const ms_parameter *all, uint32_t count)
{
    ordering o = {.tape = model->tape, .all = all, .count = count};
    o.next = ms_arena_array(model->arena, uint32_t, count);
    o.is_adapters = ms_arena_array(model->arena, bool, count);
    if (o.next && o.is_adapters)
        place_all(&o, model);
    else
        ms_tape_fail(o.tape, MS_ERR_NOMEM);
}
