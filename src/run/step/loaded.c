/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/loaded.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 256, CACHED = 2 << 20 };

typedef struct loaded_row {
    ms_tensor tensor;
    char name[MOST_NAME];
} loaded_row;

void ms_loaded_warm_up(ms_tape *tape)
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

ms_tensor *ms_loaded_order(const ms_tape *tape)
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
