/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts that are changed in place: x[...] = y and x[...] += y of tensors, d["a"] = y of dicts; and
 * the dict that layers share.
 */
#include <string.h>

#include "model/evaluator/evaluate.h"
#include "torch/ops/parts.h"
#include "torch/treatments/recompute.h"

/* ---- dicts ---- */

static void drop_dict(ms_tape *tape, void *own)
{
    ms_family_program *program = own;
    const ms_value dict = {.kind = MS_VALUE_LIST, .items = program->shared};
    program->shared = NULL;
    if (dict.items)
        ms_value_release(tape, &program->pool, dict);
}

void ms_dict_share(ms_frame *f, const ms_text_node *node, ms_region *region, ms_items *dict)
{
    ms_family_program *program = ms_frame_program(f);
    ms_shared_arguments *shared = &f->model->shared;
    if (region->shared) {
        ms_frame_fail(f, node, "a layer has one dict among its arguments");
        return;
    }
    if (program->shared != dict && shared->references > 0) { /* of a pass whose graph was dropped */
        shared->references = 1;
        ms_shared_release(f->model->tape, shared);
    }
    if (!program->shared) {
        ms_value_retain(f->model->tape, (ms_value){.kind = MS_VALUE_LIST, .items = dict});
        program->shared = dict;
    }
    shared->drop = drop_dict;
    shared->own = program;
    region->shared = shared;
}

/* What the graph of a recomputation has saved lives as long as tensors of it that are kept. */
static void keep_graph(ms_frame *f, ms_value value)
{
    ms_tensor tensors[2] = {0};
    bool are_tensors = value.kind == MS_VALUE_LIST && value.items->count == 2;
    for (uint32_t i = 0; i < 2 && are_tensors; i++) {
        are_tensors = value.items->values[i].kind == MS_VALUE_TENSOR;
        tensors[i] = value.items->values[i].tensor;
    }
    if (are_tensors)
        ms_checkpoint_keep_graph(f->model->tape, tensors, &f->model->shared);
}

static void set_value(ms_frame *f, const ms_text_node *target, ms_items *dict, ms_value value)
{
    ms_tape *tape = f->model->tape;
    const ms_value name = ms_frame_value(f, target->items[1]);
    uint32_t i = 0;
    if (name.kind != MS_VALUE_TEXT || target->count != 2) {
        ms_frame_fail(f, target, "a value of a dict has a text as its name");
        return;
    }
    while (i < dict->count && strcmp(dict->names[i], name.text) != 0)
        i++;
    const bool is_set = i < dict->count
                            ? ms_items_set(tape, ms_frame_pool(f), dict, i, value)
                            : ms_items_add(tape, ms_frame_pool(f), dict, value, name.text);
    if (!is_set)
        ms_frame_fail(
            f, target,
            "a dict may have at most %d values, and lists within lists may not contain lists",
            MS_ITEMS_MOST);
    if (dict == ms_frame_program(f)->shared)
        keep_graph(f, value);
}

/* ---- tensors ---- */

/* x[...] += y adds to the part; then Python sets the part to what it is. */
static ms_tensor add_to_part(ms_frame *f, const ms_text_node *target, ms_tensor base,
                             ms_tensor added)
{
    ms_tape *tape = f->model->tape;
    const bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false; /* of the part only its place is wanted */
    const ms_value part = ms_index_value(f, target, ms_value_of_tensor(base));
    tape->grad_enabled = grad_enabled;
    if (ms_idle(tape) || !ms_check_broadcast(f, target, part.tensor, added))
        return 0;
    const ms_tensor_info info = *ms_info(tape, part.tensor), whole_info = *ms_info(tape, base);
    if (info.storage != whole_info.storage || !ms_is_contiguous(&whole_info) ||
        !ms_check_covers(f, part.tensor, added)) {
        ms_frame_fail(f, target,
                      "what is added to a part of a contiguous tensor must fit the part");
        return 0;
    }
    ms_strided place = {.shape = info.shape};
    memcpy(place.strides, info.strides, sizeof place.strides);
    ms_consume(tape, part.tensor);
    const ms_tensor whole = ms_add_to_part(tape, base, &place, added);
    ms_retain(tape, whole);
    const ms_tensor out = ms_copy_into(tape, whole, ms_part_of(tape, whole, &place));
    ms_release(tape, whole);
    return out;
}

/* The name gets the tensor that the change made of it. */
void ms_frame_set_items(ms_frame *f, const ms_text_statement *s)
{
    const ms_text_node *target = s->targets[0], *name = target->items[0];
    ms_tape *tape = f->model->tape;
    const ms_value source = ms_frame_value(f, s->value), base = ms_frame_value(f, name);
    if (ms_idle(tape))
        return;
    if (base.kind == MS_VALUE_LIST && base.items->is_dict && s->kind == MS_STATEMENT_SET) {
        set_value(f, target, base.items, source);
        return;
    }
    if (name->kind != MS_NODE_LOCAL || source.kind != MS_VALUE_TENSOR ||
        base.kind != MS_VALUE_TENSOR) {
        ms_frame_fail(f, target,
                      "a part of a tensor can only be set to a tensor, through a local name");
        return;
    }
    const ms_tensor whole = s->kind == MS_STATEMENT_SET
                                ? ms_copy_into(tape, base.tensor, source.tensor)
                                : add_to_part(f, target, base.tensor, source.tensor);
    ms_frame_bind(f, name->index, ms_value_of_tensor(whole));
}
