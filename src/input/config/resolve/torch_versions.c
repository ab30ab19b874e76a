/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/torch_versions.h"

/* Minor versions of 2, in order; NULL: measured and predicted. Those after the last are as that. */
static const struct {
    uint32_t last; /* of those that the row is of; the first follows the row before */
    const char *text;
} rows[] = {
    {9, "torch before 2.10: the figures are for 2.10, the oldest predicted version; with 2.6 and "
        "2.8 measured peaks differed by up to 0.15 %"},
    {11, NULL},
    {12, "torch 2.12 was not measured: the figures follow the rules of 2.11 and 2.13"},
    {15, NULL},
    {UINT32_MAX, "torch after 2.15 was not measured: the figures are for 2.15"},
};

const char *ms_torch_unmeasured(const ms_run_config *run)
{
    size_t i = 0;
    while (rows[i].last < run->torch_minor)
        i++;
    return rows[i].text;
}
