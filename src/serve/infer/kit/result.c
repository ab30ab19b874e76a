/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/kit/result.h"

const char *const ms_infer_phase_names[] = {"load", "profile", "prefill", "decode", NULL};
const char *const ms_infer_part_names[] = {"weights", "cache",   "state", "activations",
                                           "output",  "compute", "pool",  "workspace",
                                           "unused",  "context", NULL};
_Static_assert(sizeof ms_infer_phase_names / sizeof ms_infer_phase_names[0] == MS_INFER_PHASES + 1,
               "a phase has no name");
_Static_assert(sizeof ms_infer_part_names / sizeof ms_infer_part_names[0] == MS_INFER_PARTS + 1,
               "a part has no name");

bool ms_infer_add(ms_infer_result *result, ms_infer_buffer buffer)
{
    return buffer.high == 0 || ms_vec_push(&result->buffers, buffer);
}

bool ms_infer_add_exact(ms_infer_result *result, ms_infer_part part, const char *place, int device,
                        uint64_t bytes)
{
    return ms_infer_add(result, (ms_infer_buffer){.part = part,
                                                  .place = place,
                                                  .device = device,
                                                  .phases = MS_INFER_IN(MS_INFER_LOAD) |
                                                            MS_INFER_IN(MS_INFER_PREFILL) |
                                                            MS_INFER_IN(MS_INFER_DECODE),
                                                  .low = bytes,
                                                  .bytes = bytes,
                                                  .high = bytes});
}

bool ms_infer_figure_add(ms_infer_result *result, const char *name, uint64_t value)
{
    return ms_vec_push(&result->figures, (ms_infer_figure){name, value});
}

ms_status ms_infer_no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a prediction of inference");
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

ms_infer_bytes ms_infer_part_total(const ms_infer_result *result, int device, ms_infer_part part,
                                   unsigned phases)
{
    ms_infer_bytes sum = {0, 0, 0};
    for (uint32_t i = 0; i < result->buffers.count; i++) {
        const ms_infer_buffer *b = &result->buffers.items[i];
        bool counts = (part == MS_INFER_PARTS || b->part == part) && b->device == device;
        if (!counts || !(b->phases & phases))
            continue;
        sum.low = plus(sum.low, b->low);
        sum.expected = plus(sum.expected, b->bytes);
        sum.high = plus(sum.high, b->high);
    }
    return sum;
}

ms_infer_bytes ms_infer_total(const ms_infer_result *result, int device, ms_infer_phase phase)
{
    return ms_infer_part_total(result, device, MS_INFER_PARTS, MS_INFER_IN(phase));
}

ms_infer_phase ms_infer_peak(const ms_infer_result *result, int device)
{
    ms_infer_phase peak = MS_INFER_LOAD;
    for (int phase = 0; phase < MS_INFER_PHASES; phase++)
        if (ms_infer_total(result, device, (ms_infer_phase)phase).expected >
            ms_infer_total(result, device, peak).expected)
            peak = (ms_infer_phase)phase;
    return peak;
}

void ms_infer_result_free(ms_infer_result *result)
{
    ms_vec_free(&result->buffers);
    ms_vec_free(&result->figures);
    ms_vec_free(&result->levers);
    ms_vec_free(&result->notes);
    ms_vec_free(&result->causes);
    ms_vec_free(&result->remedies);
}
