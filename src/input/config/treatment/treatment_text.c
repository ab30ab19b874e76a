/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/treatment_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/treatment/row.h"
#include "input/config/treatment/treatment_equal.h"

static const char *share_text(const ms_treatment *t, ms_arena *arena)
{
    uint64_t parts = (uint64_t)(t->share * 1e6 + 0.5);
    char digits[16];
    snprintf(digits, sizeof digits, "%06" PRIu64, parts % 1000000);
    for (size_t i = strlen(digits); i > 0 && digits[i - 1] == '0'; i--)
        digits[i - 1] = '\0';
    return ms_arena_printf(arena, "%s:%" PRIu64 "%s%s", ms_treatment_kinds[t->kind].word,
                           parts / 1000000, *digits ? "." : "", digits);
}

static const char *kept_text(const ms_treatment *t, ms_arena *arena)
{
    const char *text = ms_arena_printf(arena, "%s:", ms_treatment_kinds[t->kind].word);
    for (uint32_t i = 0; text && i < t->kept_count; i++) {
        const ms_kept_op *op = &t->kept_ops[i];
        if (op->occurrence == UINT32_MAX)
            text = ms_arena_printf(arena, "%s%s%s", text, i ? "+" : "", op->name);
        else
            text = ms_arena_printf(arena, "%s%s%s#%" PRIu32, text, i ? "+" : "", op->name,
                                   op->occurrence);
    }
    return text;
}

/* "text+tile:4"; parts of a layer that is kept stand alone. */
static const char *with_part(const char *text, const ms_part_row *row, uint32_t count,
                             ms_arena *arena)
{
    if (!text || count == 0)
        return text;
    bool is_kept = strcmp(text, ms_treatment_kinds[MS_TREAT_KEEP].word) == 0;
    const char *before = is_kept ? "" : text, *plus = is_kept ? "" : "+";
    if (!row->has_pieces)
        return ms_arena_printf(arena, "%s%s%s", before, plus, row->word);
    return ms_arena_printf(arena, "%s%s%s:%" PRIu32, before, plus, row->word, count);
}

const char *ms_treatment_text(const ms_treatment *t, ms_arena *arena)
{
    const char *text = t->kept_count > 0 ? kept_text(t, arena)
                       : t->share > 0    ? share_text(t, arena)
                                         : ms_treatment_kinds[t->kind].word;
    if (text && t->input != MS_INPUT_ON_DEVICE)
        text = ms_arena_printf(arena, "%s+%s", text, ms_input_places[t->input].word);
    for (int i = 0; i < MS_PART_COUNT; i++)
        text = with_part(text, ms_treatment_parts[i], t->parts[i], arena);
    return text;
}

const char *ms_treatments_text(const ms_treatments *treatments, uint64_t num_layers,
                               ms_arena *arena)
{
    static const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    const char *text = "";
    for (uint64_t i = 0, end; text && i < num_layers; i = end) {
        const ms_treatment *t = &treatments->layers[i];
        for (end = i + 1; end < num_layers && ms_treatment_equal(t, &treatments->layers[end]);)
            end++;
        if (ms_treatment_equal(t, &keep))
            continue;
        const char *what = ms_treatment_text(t, arena), *comma = *text ? "," : "";
        if (!what)
            return NULL;
        if (end - i == 1)
            text = ms_arena_printf(arena, "%s%s%" PRIu64 "=%s", text, comma, i, what);
        else
            text = ms_arena_printf(arena, "%s%s%" PRIu64 "-%" PRIu64 "=%s", text, comma, i, end - 1,
                                   what);
    }
    if (!text || treatments->loss_chunks == 0)
        return text;
    return ms_arena_printf(arena, "%s%s%s=%s%" PRIu32, text, *text ? "," : "", MS_LOSS_WORD,
                           MS_CHUNK_WORD, treatments->loss_chunks);
}
