/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/finding.h"

#include "base/text/size.h"

const char *ms_telling_size(const ms_telling *f, uint64_t bytes)
{
    char text[MS_SIZE_TEXT_BYTES];
    const char *kept = ms_arena_strdup(f->arena, ms_size_format(bytes, text, sizeof text));
    return kept ? kept : "";
}

const char *ms_telling_remedies(const ms_telling *f)
{
    const char *text = "";
    for (uint32_t i = 0; i < f->found.remedy_count && text; i++) {
        const ms_remedy *r = &f->found.remedies[i];
        int64_t saved = r->saved_device_bytes;
        const char *much = saved == 0  ? "as much"
                           : saved > 0 ? ms_telling_size(f, (uint64_t)saved)
                                       : ms_telling_size(f, (uint64_t)-saved);
        text = ms_arena_printf(f->arena, "%s%s%s needs %s%s", text, i ? ", " : "", r->option, much,
                               saved == 0  ? ""
                               : saved > 0 ? " less"
                                           : " more");
    }
    return text ? text : "";
}
