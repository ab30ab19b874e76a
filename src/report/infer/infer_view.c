/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/infer_view.h"

#include <inttypes.h>
#include <string.h>

#include "text/number.h"

const char *ms_infer_title(const ms_infer_view *v)
{
    const ms_infer_settings *s = v->settings;
    bool is_file = v->input->document == NULL;
    const char *many = s->gpus > 1 ? ms_arena_printf(v->arena, "%" PRIu64 " x ", s->gpus) : "";
    const char *quant =
        is_file ? "" : ms_arena_printf(v->arena, ", %s", s->quant ? s->quant : "f16");
    const char *context =
        s->llama.ctx_size ? ms_arena_printf(v->arena, "%" PRIu64 " sequences, %" PRIu64 " cells",
                                            s->concurrency, s->llama.ctx_size)
                          : ms_arena_printf(v->arena, "%" PRIu64 " x %" PRIu64 " tokens",
                                            s->concurrency, s->context);
    if (!many || !quant || !context)
        return NULL;
    return ms_arena_printf(v->arena, "%s%s: %s on %s%s, %s", v->input->name, quant,
                           v->answer->engine->name, many, v->input->device->name, context);
}

/* The device that decides: one that is full, else the one that needs most. */
static int decisive(const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    int most = v->input->device->is_cpu || r->devices == 0 ? MS_INFER_HOST : 0;
    if (!v->answer->fits)
        return v->answer->full;
    for (int device = 0; device < (int)r->devices; device++)
        if (ms_infer_total(r, device, ms_infer_peak(r, device)).expected >
            ms_infer_total(r, most, ms_infer_peak(r, most)).expected)
            most = device;
    return most;
}

const char *ms_infer_verdict(const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    char needed[MS_GIB_TEXT], there[MS_GIB_TEXT], place[24] = "";
    int device = decisive(v);
    ms_infer_bytes peak = ms_infer_total(r, device, ms_infer_peak(r, device));
    ms_gib(peak.expected, needed);
    ms_gib(v->input->budget_bytes, there);
    if (r->devices > 1)
        snprintf(place, sizeof place, " of device %d", device);
    if (v->input->budget_bytes == 0)
        return ms_arena_printf(v->arena, "needs %s GiB%s%s", needed, place,
                               device == MS_INFER_HOST ? " of the host" : "");
    const char *word = !v->answer->fits                     ? "does not fit"
                       : peak.high > v->input->budget_bytes ? "fits, but only just"
                                                            : "fits";
    return ms_arena_printf(v->arena, "%s: %s of %s GiB%s", word, needed, there, place);
}

const char *ms_infer_next(const ms_infer_view *v)
{
    const ms_infer_answer *a = v->answer;
    if (!a->fits && !a->lever)
        return "neither fewer layers on the device nor a shorter context make it fit";
    if (!a->lever)
        return "";
    return ms_arena_printf(v->arena,
                           a->fits ? "up to --%s %" PRIu64 " fits" : "it fits with --%s %" PRIu64,
                           a->lever, a->lever_value);
}

const char *ms_infer_place_at(const ms_infer_view *v, uint32_t index, int *device)
{
    uint32_t devices = v->answer->result.devices;
    *device = index < devices ? (int)index : MS_INFER_HOST;
    if (index < devices)
        return ms_arena_printf(v->arena, "device %" PRIu32, index);
    return index == devices ? "host" : NULL;
}

bool ms_infer_has_part(const ms_infer_view *v, ms_infer_part part)
{
    for (uint32_t i = 0; i < v->answer->result.buffers.count; i++)
        if (v->answer->result.buffers.items[i].part == part)
            return true;
    return false;
}
