/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/category_id.h"

#include "core/trace/words.h"

const char *ms_json_category(uint8_t category)
{
    return ms_category_words.items[category];
}
