/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/adapters/training_bits.h"

#include <string.h>

#include "input/config/model/model_config.h"

/* ---- types ---- */

const char *ms_training_short_type(const char *name)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return name;
}

const char *ms_training_type_of(ms_dtype dtype)
{
    return dtype == MS_DTYPE_BF16 ? "bf16" : dtype == MS_DTYPE_F16 ? "fp16" : "fp32";
}

const char *ms_training_stored_type(const ms_training_reading *r)
{
    return ms_training_type_of(r->model->has_dtype ? r->model->dtype : MS_DTYPE_F32);
}

/* ---- packed weights ---- */

ms_status ms_training_read_bits(ms_training_reading *r, uint64_t *bits)
{
    if (!r->file.given[MS_TOPIC_BITS])
        return MS_OK;
    ms_status status = ms_json_get_count(r->file.values[MS_TOPIC_BITS], 1, 64, bits, r->err);
    if (status != MS_OK || *bits == 4 || *bits == 8)
        return status;
    return ms_training_fail(r, MS_TOPIC_BITS,
                            "quantisation to %u bits is not supported; to 4 and 8 bits it is",
                            (unsigned)*bits);
}

const char *ms_training_four_bits(const ms_training_reading *r, bool doubles, const char *storage)
{
    return ms_arena_printf(r->arena, "%s%s%s%s", ms_training_text(r, MS_TOPIC_QUANTIZE_TYPE, "nf4"),
                           ms_training_flag(r, MS_TOPIC_DOUBLE, doubles) ? ":double" : "",
                           *storage ? ":" : "", storage);
}

ms_status ms_training_check_computing(ms_training_reading *r, ms_training_topic topic,
                                      const char *computed, const char *weights)
{
    return strcmp(computed, weights) == 0
               ? MS_OK
               : ms_training_leave_out(
                     r, topic, MS_EFFECT_EITHER,
                     "matrix products of packed weights in a type other than the rest");
}
