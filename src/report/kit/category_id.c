/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/category_id.h"

#include "trace/trace.h"

/* clang-format off */
static const char *const category_ids[] = {
    [MS_CATEGORY_WEIGHT]          = "weight",
    [MS_CATEGORY_BUFFER]          = "buffer",
    [MS_CATEGORY_GRADIENT]        = "gradient",
    [MS_CATEGORY_OPTIMIZER_STATE] = "optimizer_state",
    [MS_CATEGORY_INPUT]           = "input",
    [MS_CATEGORY_ACTIVATION]      = "activation",
    [MS_CATEGORY_TEMPORARY]       = "temporary",
    [MS_CATEGORY_WORKSPACE]       = "workspace",
};
/* clang-format on */
_Static_assert(sizeof category_ids / sizeof *category_ids == MS_CATEGORY_COUNT,
               "a category has no id");

const char *ms_json_category(uint8_t category)
{
    return category_ids[category];
}
