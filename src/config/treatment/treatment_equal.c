/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comparing treatments, and the names of operators that they keep.
 */
#include "config/treatment/treatment.h"

#include <string.h>

#include "config/treatment/row.h"

bool ms_treatment_sends(const ms_treatment *treatment)
{
    return treatment->kind == MS_TREAT_OFFLOAD || treatment->input != MS_INPUT_ON_DEVICE;
}

static bool is_gpu_attention(const char *name)
{
    return strcmp(name, "flash_attention") == 0 || strcmp(name, "efficient_attention") == 0 ||
           strcmp(name, CUDNN_ATTENTION) == 0;
}

bool ms_kept_name_means(const char *kept, const char *op)
{
    bool has_cudnn = strcmp(kept, CUDNN_ATTENTION) == 0 || strcmp(op, CUDNN_ATTENTION) == 0;
    return strcmp(kept, op) == 0 || (has_cudnn && is_gpu_attention(kept) && is_gpu_attention(op));
}

bool ms_treatment_equal(const ms_treatment *a, const ms_treatment *b)
{
    if (a->kind != b->kind || a->input != b->input ||
        memcmp(a->parts, b->parts, sizeof a->parts) != 0 || a->kept_count != b->kept_count ||
        a->share < b->share || a->share > b->share)
        return false;
    for (uint32_t i = 0; i < a->kept_count; i++)
        if (strcmp(a->kept_ops[i].name, b->kept_ops[i].name) != 0 ||
            a->kept_ops[i].occurrence != b->kept_ops[i].occurrence)
            return false;
    return true;
}
