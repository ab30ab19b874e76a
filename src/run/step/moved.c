/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/moved.h"

#include <stdlib.h>

#include "torch/autograd/tape.h"
#include "run/step/loaded.h"

ms_moved ms_moved_begin(const ms_model *model)
{
    const ms_parallel *parallel = &model->run->parallel;
    ms_moved moved = {.is_waiting =
                          ms_build_moves(parallel->build) && !ms_layout_shards(&parallel->layout)};
    if (moved.is_waiting)
        model->tape->is_meta = true;
    return moved;
}

static void list(ms_moved *moved, ms_tape *tape, ms_tensor tensor)
{
    if (tape->status == MS_OK && !ms_vec_push(&moved->made, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* A buffer stands where it was made among the parameters. */
void ms_moved_list(ms_moved *moved, const ms_model *model)
{
    ms_tape *tape = model->tape;
    uint32_t buffer = 0;
    if (!moved->is_waiting)
        return;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        ms_tensor parameter = tape->parameters.items[i].tensor;
        for (; buffer < tape->module_buffers.count; buffer++) {
            ms_tensor next = tape->module_buffers.items[buffer];
            if (ms_info(tape, next)->storage > ms_info(tape, parameter)->storage)
                break;
            list(moved, tape, next);
        }
        list(moved, tape, parameter);
    }
    for (; buffer < tape->module_buffers.count; buffer++)
        list(moved, tape, tape->module_buffers.items[buffer]);
}

/* The number of parameters, and each of them in the order of modules. */
static uint32_t parameter_count(const ms_tape *tape)
{
    return (uint32_t)(tape->in_order.count ? tape->in_order.count : tape->parameters.count);
}

static ms_tensor parameter_at(const ms_tape *tape, uint32_t i)
{
    return tape->in_order.count ? tape->in_order.items[i].tensor : tape->parameters.items[i].tensor;
}

static void move(ms_tape *tape, bool *is_moved, ms_tensor tensor)
{
    if (is_moved[tensor] || tape->status != MS_OK)
        return;
    is_moved[tensor] = true;
    tape->is_meta = true;
    ms_storage_empty(tape, tensor);
    tape->is_meta = false;
    ms_storage_refill(tape, tensor);
}

/* place[t]: one more than where the constructors made t; 0: an adapter's. */
static void move_all(const ms_moved *moved, ms_tape *tape, const uint32_t *place, bool *is_moved)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < parameter_count(tape); i++) {
        ms_tensor parameter = parameter_at(tape, i);
        for (; next < place[parameter]; next++)
            move(tape, is_moved, moved->made.items[next]);
        move(tape, is_moved, parameter);
    }
    for (; next < moved->made.count; next++)
        move(tape, is_moved, moved->made.items[next]);
}

static void load_all(const ms_moved *moved, ms_tape *tape, bool *is_moved)
{
    ms_tensor *order = ms_loaded_order(tape);
    if (!order)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    else
        ms_loaded_warm_up(tape);
    for (uint32_t i = 0; order && i < tape->parameters.count; i++)
        move(tape, is_moved, order[i]);
    for (uint32_t i = 0; i < moved->made.count; i++)
        move(tape, is_moved, moved->made.items[i]);
    free(order);
}

void ms_moved_end(ms_moved *moved, const ms_model *model)
{
    ms_tape *tape = model->tape;
    if (!moved->is_waiting)
        return;
    moved->is_waiting = tape->is_meta = false;
    uint32_t *place = calloc(tape->tensors.count + 1, sizeof *place);
    bool *is_moved = calloc(tape->tensors.count + 1, sizeof *is_moved);
    if (!place || !is_moved)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    for (uint32_t i = 0; place && i < moved->made.count; i++)
        place[moved->made.items[i]] = i + 1;
    if (tape->status == MS_OK && model->run->parallel.build == MS_BUILD_DEVICE_MAP)
        load_all(moved, tape, is_moved);
    else if (tape->status == MS_OK)
        move_all(moved, tape, place, is_moved);
    free(place);
    free(is_moved);
    ms_vec_free(&moved->made);
}
