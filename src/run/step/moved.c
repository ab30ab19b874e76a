/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/moved.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "torch/autograd/tape.h"

/* ---- loaded ---- */

/* A model that from_pretrained(device_map="auto") loads onto the device (transformers 5.24,
 * modeling_utils.py and core_model_loading.py): one block of the size of all weights, less what is
 * cached, is made and freed, so that the cache has a segment for them, and the weights come in the
 * order of their names. Their threads may swap neighbours. */

enum { MOST_NAME = 256, CACHED = 2 << 20 };

typedef struct loaded_row {
    ms_tensor tensor;
    char name[MOST_NAME];
} loaded_row;

/* The block for the weights. */
static void loaded_warm_up(ms_tape *tape)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_tensor_info *info = ms_info(tape, tape->parameters.items[i].tensor);
        bytes += tape->trace->storages.items[info->storage].bytes;
    }
    /* accelerate asks for the device's memory by a number there, whose segment stays */
    ms_consume(tape, ms_empty_bytes(tape, ms_dtype_bytes(MS_DTYPE_I64), MS_DTYPE_I64));
    if (bytes > 2 * (uint64_t)CACHED)
        ms_consume(tape, ms_empty_bytes(tape, bytes - CACHED, MS_DTYPE_U8));
}

/* ---- in the order of names ---- */

/* Whether the part of a name that begins there is a number, and which. */
static bool is_number(const char *part, unsigned long *number)
{
    char *end = NULL;
    *number = 0;
    if (!isdigit((unsigned char)*part))
        return false;
    *number = strtoul(part, &end, 10);
    return *end == '.' || *end == '\0';
}

static int compare_parts(const char *a, const char *b)
{
    unsigned long x, y;
    bool is_x = is_number(a, &x), is_y = is_number(b, &y);
    if (is_x != is_y)
        return is_x ? -1 : 1; /* numbers come first */
    if (is_x && x != y)
        return x < y ? -1 : 1;
    size_t bytes = strcspn(a, "."), others = strcspn(b, ".");
    int order = is_x ? 0 : strncmp(a, b, bytes < others ? bytes : others);
    return order || is_x || bytes == others ? order : bytes < others ? -1 : 1;
}

/* Part by part, numbers by their value: "layers.2" before "layers.10". */
static int compare_names(const void *left, const void *right)
{
    const char *a = ((const loaded_row *)left)->name, *b = ((const loaded_row *)right)->name;
    int order = 0;
    while (order == 0 && *a && *b) {
        order = compare_parts(a, b);
        a += strcspn(a, ".");
        b += strcspn(b, ".");
        a += *a == '.';
        b += *b == '.';
    }
    return order ? order : (*a != '\0') - (*b != '\0');
}

static loaded_row row_of(const ms_tape *tape, const ms_parameter *parameter)
{
    loaded_row row = {.tensor = parameter->tensor};
    const char *name = tape->trace->names.items[parameter->name];
    uint32_t used = parameter->scope == MS_NONE
                        ? 0
                        : ms_trace_scope_path(tape->trace, parameter->scope, row.name, MOST_NAME);
    if (used > 0 && used + 1 < MOST_NAME)
        row.name[used++] = '.';
    for (; *name && used + 1 < MOST_NAME; name++)
        row.name[used++] = *name;
    return row;
}

/* The parameters in the order in which they are loaded, to be freed; NULL: out of memory. */
static ms_tensor *loaded_order(const ms_tape *tape)
{
    const size_t count = tape->parameters.count;
    loaded_row *rows = calloc(count + 1, sizeof *rows);
    ms_tensor *order = calloc(count + 1, sizeof *order);
    if (!rows || !order) {
        free(rows);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = row_of(tape, &tape->parameters.items[i]);
    qsort(rows, count, sizeof *rows, compare_names);
    for (size_t i = 0; i < count; i++)
        order[i] = rows[i].tensor;
    free(rows);
    return order;
}

/* ---- moved ---- */

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
    ms_tensor *order = loaded_order(tape);
    if (!order)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    else
        loaded_warm_up(tape);
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
