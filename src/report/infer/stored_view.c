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
    const char *text = causes->count ? "" : "as they are stored";
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

void ms_infer_stored_json(ms_json_writer *w, const ms_infer_view *v)
{
    const ms_stored *s = &v->input->stored;
    ms_json_object(w, "stored");
    ms_json_uint(w, "files", s->checkpoint.files);
    ms_json_uint(w, "tensors", s->checkpoint.tensors);
    ms_json_uint(w, "bytes", s->checkpoint.tensor_bytes);
    ms_json_array(w, "types");
    for (uint32_t i = 0; i < s->kinds.count; i++) {
        const ms_stored_kind *k = &s->kinds.items[i];
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "type", k->name);
        ms_json_string(w, "role", ms_stored_role_names[k->role]);
        ms_json_uint(w, "tensors", k->tensors);
        ms_json_uint(w, "bytes", k->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_uint(w, "loaded_bytes", v->answer->loaded_bytes);
    ms_json_array(w, "differences");
    for (uint32_t i = 0; i < v->answer->causes.count; i++) {
        const ms_stored_cause *c = &v->answer->causes.items[i];
        ms_json_object(w, NULL);
        ms_json_string(w, "cause", c->name);
        ms_json_string(w, "text", c->text);
        ms_json_int(w, "bytes", c->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_close(w);
}
