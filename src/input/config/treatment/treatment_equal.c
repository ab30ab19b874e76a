/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/treatment_equal.h"

#include <string.h>

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
