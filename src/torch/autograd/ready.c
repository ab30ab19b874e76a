/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/autograd/ready.h"

void ms_ready_push(ms_tape *tape, uint32_t base, uint32_t node)
{
    if (!ms_vec_push(&tape->ready, node)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    uint32_t *heap = tape->ready.items + base;
    for (uint32_t i = tape->ready.count - base - 1; i && heap[(i - 1) / 2] < heap[i];
         i = (i - 1) / 2) {
        uint32_t parent = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = heap[i];
        heap[i] = parent;
    }
}

uint32_t ms_ready_pop(ms_tape *tape, uint32_t base)
{
    uint32_t *heap = tape->ready.items + base;
    uint32_t top = heap[0], count = --tape->ready.count - base;
    heap[0] = heap[count];
    for (uint32_t i = 0;;) {
        uint32_t child = 2 * i + 1;
        if (child >= count)
            break;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[i] >= heap[child])
            break;
        uint32_t swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
    return top;
}
