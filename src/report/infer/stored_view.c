/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/stored_view.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text/number.h"

bool ms_infer_has_stored(const ms_infer_view *v)
{
    return v->input->stored.checkpoint.files > 0;
}

const char *ms_infer_stored_text(const ms_infer_view *v)
{
    const ms_stored_weights *c = &v->input->stored.checkpoint;
    return ms_arena_printf(v->arena, "%" PRIu64 " tensor%s in %" PRIu32 " file%s", c->tensors,
                           c->tensors == 1 ? "" : "s", c->files, c->files == 1 ? "" : "s");
}

const char *ms_infer_stored_kind(const ms_infer_view *v, uint32_t index)
{
    const ms_stored *s = &v->input->stored;
    if (index >= s->kinds.count)
        return NULL;
    const ms_stored_kind *k = &s->kinds.items[index];
    return ms_arena_printf(v->arena, "%s%s%s", k->name, k->role == MS_ROLE_WEIGHT ? "" : " ",
                           k->role == MS_ROLE_WEIGHT ? "" : ms_stored_role_names[k->role]);
}

/* Small ones are left out beside large ones. */
static bool is_worth_saying(const ms_stored_causes *causes, uint32_t index)
{
    enum { SHARE = 1000 };
    return index == 0 || llabs(causes->items[index].bytes) >= llabs(causes->items[0].bytes) / SHARE;
}

const char *ms_infer_loaded_text(const ms_infer_view *v)
{
    const ms_stored_causes *causes = &v->answer->causes;
    const char *text = causes->count ? "" : "as stored";
    for (uint32_t i = 0; i < causes->count && text; i++) {
        char bytes[MS_BYTES_TEXT];
        const ms_stored_cause *c = &causes->items[i];
        if (is_worth_saying(causes, i))
            text = ms_arena_printf(v->arena, "%s%s%s, %s %s", text, i ? "; " : "", c->text,
                                   ms_bytes_text((uint64_t)llabs(c->bytes), bytes),
                                   c->bytes < 0 ? "less" : "more");
    }
    return text;
}

static const ms_words role_names = {ms_stored_role_names, MS_ROLE_OTHER + 1, 0, 0};

#define KIND(...) MS_MEMBER(ms_stored_kind, __VA_ARGS__)
static const ms_member kind_members[] = {
    KIND("type", name),
    KIND("role", role, .words = &role_names),
    KIND("tensors", tensors),
    KIND("bytes", bytes),
};
static const ms_members kind_table = MS_MEMBERS(ms_stored_kind, kind_members, .is_inline = true);

static const ms_member cause_members[] = {
    MS_MEMBER(ms_stored_cause, "cause", name),
    MS_MEMBER(ms_stored_cause, "text", text),
    MS_MEMBER(ms_stored_cause, "bytes", bytes),
};
static const ms_members cause_table = MS_MEMBERS(ms_stored_cause, cause_members);

#define OF_INPUT .from = MS_FROM(ms_infer_view, input)
#define INPUT(...) MS_MEMBER(ms_infer_input, __VA_ARGS__, OF_INPUT)
#define OF_ANSWER .from = MS_FROM(ms_infer_view, answer)
static const ms_member stored_members[] = {
    INPUT("files", stored.checkpoint.files),
    INPUT("tensors", stored.checkpoint.tensors),
    INPUT("bytes", stored.checkpoint.tensor_bytes),
    MS_ROWS(ms_infer_input, "types", stored.kinds.items, stored.kinds.count, &kind_table, OF_INPUT),
    MS_MEMBER(ms_infer_answer, "loaded_bytes", loaded_bytes, OF_ANSWER),
    MS_ROWS(ms_infer_answer, "differences", causes.items, causes.count, &cause_table, OF_ANSWER),
};
const ms_members ms_infer_stored_table = MS_MEMBERS(ms_infer_view, stored_members);
