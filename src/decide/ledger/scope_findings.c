/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/scope_findings.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_images.h"
#include "base/text/size.h"

/* ---- no images ---- */

bool ms_finding_of_text_only(const ms_ledger *ledger, ms_finding *finding)
{
    static const char *const texts[] = {
        "the prediction is for text only: no images pass through the vision tower, which counts "
        "only as weights; a step with images needs more memory",
        "the prediction is for text only: no sound passes through the audio tower, which counts "
        "only as weights; a step with sound needs more memory",
        "the prediction is for text only: no images or sound pass through their towers, which "
        "count only as weights; a step with them needs more memory"};
    const ms_model_config *model = ledger->model;
    int which = model->audio.hidden_size == 0 ? 0 : model->vision.hidden_size == 0 ? 1 : 2;
    *finding = (ms_finding){.name = "text-only", .text = texts[which]};
    return ms_is_text_only(ledger->model, ledger->run);
}

/* ---- several GPUs ---- */

static const char *buckets_text(const ms_ledger *ledger, ms_arena *arena)
{
    const ms_summary *s = ledger->summary;
    char text[MS_SIZE_TEXT_BYTES];
    bool is_too_much = s->fits && s->budget_bytes > 0 &&
                       s->grad_memory_bytes > s->budget_bytes - s->expected_device_bytes;
    return ms_arena_printf(arena, "%s: buckets of %s%s", ledger->run->several_gpus.text,
                           ms_size_format(s->grad_memory_bytes, text, sizeof text),
                           is_too_much ? ", and with these it does not fit" : "");
}

bool ms_finding_of_several_gpus(const ms_ledger *ledger, ms_arena *arena, ms_finding *finding)
{
    const ms_several_gpus *several = &ledger->run->several_gpus;
    *finding = (ms_finding){.name = "data-parallel", .text = several->text};
    if (several->is_ignored)
        finding->name = "ignored-sharding";
    if (several->has_buckets) {
        finding->bytes = ledger->summary->grad_memory_bytes;
        finding->text = buckets_text(ledger, arena);
    }
    return several->text != NULL;
}

/* ---- parameters without a gradient ---- */

static const char *names_of_unreached(const ms_ledger *ledger, ms_arena *arena)
{
    const ms_unreached *u = &ledger->simulation->unreached;
    const ms_trace *trace = &ledger->simulation->trace;
    const char *text = "";
    char path[256];
    for (uint32_t i = 0; text && i < u->count && i < MS_UNREACHED_SHOWN; i++) {
        ms_trace_scope_path(trace, u->first[i].scope, path, sizeof path);
        text = ms_arena_printf(arena, "%s%s%s%s%s", text, i ? ", " : "", path, *path ? "." : "",
                               trace->names.items[u->first[i].name]);
    }
    if (text && u->count > MS_UNREACHED_SHOWN)
        text =
            ms_arena_printf(arena, "%s and %" PRIu32 " more", text, u->count - MS_UNREACHED_SHOWN);
    return text;
}

bool ms_finding_of_unreached(const ms_ledger *ledger, ms_arena *arena, ms_finding *finding)
{
    const ms_unreached *u = &ledger->simulation->unreached;
    if (u->count == 0)
        return false;
    const char *names = names_of_unreached(ledger, arena);
    *finding = (ms_finding){.name = "no-gradient", .bytes = u->bytes};
    if (names)
        finding->text = ms_arena_printf(arena,
                                        "%" PRIu64 " of the trained parameters get no gradient, so "
                                        "the optimizer has no states for them: %s",
                                        u->elements, names);
    return true;
}
