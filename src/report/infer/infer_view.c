/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/infer_view.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/resolve/resolve_images.h"
#include "base/text/number.h"

/* Whether the rows of a table have each their own. */
static bool differs(const ms_infer_view *v, const char *field)
{
    for (uint32_t i = 0; v->rows && i < v->rows->field_count; i++)
        if (strcmp(v->rows->fields[i], field) == 0)
            return true;
    return v->rows && strcmp(ms_infer_fit_names[v->settings->fit], field) == 0;
}

/* ", Q4_K_M" */
static const char *quant_of(const ms_infer_view *v)
{
    const ms_infer_result *result = v->answer ? &v->answer->result : NULL;
    const char *quant = v->settings->quant, *type = result ? result->weights_type : NULL;
    const ms_infer_engine *engine = v->rows ? v->rows->engine : v->answer->engine;
    if (!v->input->document || differs(v, "quant") || (!type && !engine->quants))
        return "";
    if (result && result->packed_type)
        type = result->packed_type;
    return ms_arena_printf(v->arena, ", %s", type ? type : quant ? quant : "f16");
}

/* " on 2 x rtx-4090" */
static const char *place_of(const ms_infer_view *v)
{
    const ms_infer_settings *s = v->settings;
    bool is_nearest =
        v->rows && !ms_infer_settings_has(s, "device") && (s->budget > 0 || differs(v, "budget"));
    bool has_gpus = s->gpus > 1 && !differs(v, "gpus");
    bool has_device = !differs(v, "device") && !is_nearest;
    const char *gpus = has_gpus ? ms_arena_printf(v->arena, "%" PRIu64 " x ", s->gpus) : "";
    if (!gpus || (!has_gpus && !has_device))
        return gpus;
    return ms_arena_printf(v->arena, " on %s%s", gpus, has_device ? s->device : "each device");
}

/* Tokens of one sequence; 0: not the same in all rows. */
static uint64_t context_of(const ms_infer_view *v)
{
    uint64_t context = 0;
    if (!v->rows)
        return v->answer->context;
    if (differs(v, "context"))
        return 0;
    for (uint32_t i = 0; i < v->rows->rows.count; i++) {
        const ms_infer_row *row = &v->rows->rows.items[i];
        if (!row->reason && context > 0 && row->context != context)
            return 0;
        context = row->reason ? context : row->context;
    }
    return context > 0 ? context : v->settings->context;
}

/* ", 4 x 32768 tokens" */
static const char *load_of(const ms_infer_view *v)
{
    const ms_infer_settings *s = v->settings;
    uint64_t context = context_of(v);
    bool is_chosen = s->llama.engine_fit != MS_LLAMA_ENGINE_FIT_NONE; /* row by row */
    bool has_context = context > 0, has_concurrency = !differs(v, "concurrency") && !is_chosen;
    if (s->llama.ctx_size && !differs(v, "ctx-size"))
        return ms_arena_printf(v->arena, ", %" PRIu64 " sequence%s, %" PRIu64 " cells",
                               s->concurrency, s->concurrency == 1 ? "" : "s", s->llama.ctx_size);
    if (has_context && has_concurrency)
        return ms_arena_printf(v->arena, ", %" PRIu64 " x %" PRIu64 " tokens", s->concurrency,
                               context);
    return has_context       ? ms_arena_printf(v->arena, ", %" PRIu64 " tokens each", context)
           : has_concurrency ? ms_arena_printf(v->arena, ", %" PRIu64 " at a time", s->concurrency)
                             : "";
}

const char *ms_infer_title(const ms_infer_view *v)
{
    const ms_infer_engine *engine = v->rows ? v->rows->engine : v->answer->engine;
    const char *quant = quant_of(v), *place = place_of(v), *load = load_of(v);
    if (!quant || !place || !load)
        return NULL;
    bool is_text_only = v->input->config && ms_is_text_only(v->input->config, NULL);
    return ms_arena_printf(v->arena, "%s%s: %s%s%s%s", v->input->name, quant, engine->name, place,
                           load, is_text_only ? " without images" : "");
}

/* ", of which 12.20 are cached by PyTorch's allocator and free for more"; "" for a small part. */
static const char *cached(const ms_infer_view *v, int device, uint64_t needed)
{
    enum { WORTH = 10 };
    char gib[MS_GIB_TEXT];
    const ms_infer_result *r = &v->answer->result;
    uint64_t bytes =
        ms_infer_part_total(r, device, MS_INFER_UNUSED, MS_INFER_IN(ms_infer_peak(r, device)))
            .expected;
    if (!v->answer->fits || bytes < needed / WORTH || bytes == 0)
        return "";
    return ms_arena_printf(v->arena,
                           ", of which %s are cached by PyTorch's allocator and free for reuse",
                           ms_gib(bytes, gib));
}

const char *ms_infer_verdict(const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    char needed[MS_GIB_TEXT], there[MS_GIB_TEXT], place[24] = "";
    int device = ms_infer_decisive(v->input, v->answer);
    ms_infer_bytes peak = ms_infer_total(r, device, ms_infer_peak(r, device));
    ms_gib(peak.expected, needed);
    ms_gib(v->input->budget_bytes, there);
    if (r->devices > 1)
        snprintf(place, sizeof place, " on device %d", device);
    if (v->input->budget_bytes == 0)
        return ms_arena_printf(v->arena, "needs %s GiB%s%s", needed, place,
                               device == MS_INFER_HOST ? " on the host" : "");
    if (r->refusal)
        return ms_arena_printf(v->arena, "does not fit: %s", r->refusal);
    static const char *const words[] = {[MS_VERDICT_NO] = "does not fit",
                                        [MS_VERDICT_TIGHT] = "fits, but only just",
                                        [MS_VERDICT_FITS] = "fits"};
    const char *word = words[ms_reason_verdict(ms_infer_reason(v->input, v->answer))];
    if (r->decision && v->answer->fits)
        return ms_arena_printf(v->arena, "%s: %s", word, r->decision);
    bool is_over = !v->answer->fits && peak.expected > v->input->budget_bytes;
    char over[MS_BYTES_TEXT] = "";
    if (is_over)
        ms_bytes_text(peak.expected - v->input->budget_bytes, over);
    const char *unused = cached(v, device, peak.expected);
    if (!unused)
        return NULL;
    return ms_arena_printf(v->arena, "%s: %s of %s GiB%s%s%s%s%s", word, needed, there, place,
                           is_over ? ", " : "", over, is_over ? " too much" : "", unused);
}

/* "; 148992 needs 23.70 GiB, 20.00 MiB too much" */
static const char *after_fit(const ms_infer_view *v, const ms_infer_fit *fit)
{
    char needed[MS_GIB_TEXT], over[MS_BYTES_TEXT];
    if (!fit->next)
        return fit->has_all ? ", and no larger one exists" : ", and no larger one was tried";
    if (fit->refusal)
        return ms_arena_printf(v->arena, "; %s is refused (%s)", fit->next, fit->refusal);
    if (fit->next_bytes <= v->input->budget_bytes)
        return ms_arena_printf(v->arena, "; %s does not", fit->next);
    return ms_arena_printf(v->arena, "; %s needs %s GiB, %s too much", fit->next,
                           ms_gib(fit->next_bytes, needed),
                           ms_bytes_text(fit->next_bytes - v->input->budget_bytes, over));
}

static const char *safe_fit(const ms_infer_view *v, const ms_infer_fit *fit)
{
    if (!fit->safe)
        return "; none fits by the upper end of the estimates";
    if (strcmp(fit->safe, fit->value) == 0)
        return "";
    return ms_arena_printf(v->arena, "; by the upper end of the estimates %s is the largest",
                           fit->safe);
}

/* ", in steps of 256": of values between them nothing is said. */
static const char *steps_of(const ms_infer_view *v, const ms_infer_fit *fit)
{
    return fit->step > 1 ? ms_arena_printf(v->arena, ", in steps of %" PRIu64, fit->step) : "";
}

const char *ms_infer_fit_sentence(const ms_infer_view *v, const ms_infer_fit *fit)
{
    const char *open = fit->has_all ? "" : "; not all larger ones were tried";
    const char *found = fit->has_all ? "" : " found";
    if (!fit->value)
        return ms_arena_printf(v->arena, "no %s fits, not even %s%s", fit->what, fit->least, open);
    if (!fit->next)
        open = "";
    const char *after = after_fit(v, fit), *safe = safe_fit(v, fit), *steps = steps_of(v, fit);
    if (!after || !safe || !steps)
        return NULL;
    return ms_arena_printf(v->arena, "%s %s is the largest%s that fits%s%s%s%s", fit->what,
                           fit->value, found, steps, after, safe, open);
}

/* The settings of which no smaller value makes it fit with the highest figures. */
static const char *no_lever(const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    const char *text = r->levers.count ? "no smaller" : "";
    for (uint32_t i = 0; text && i < r->levers.count; i++)
        text = ms_arena_printf(v->arena, "%s%s --%s", text, i ? " and no smaller" : "",
                               r->levers.items[i].field);
    return text && *text ? ms_arena_printf(v->arena, "%s makes it fit safely", text) : text;
}

/* A run that takes all there is, is only just safe. */
static const char *safely(const ms_infer_answer *a)
{
    return a->result.takes_all ? "" : " safely";
}

/* "it fits with --context 14176, or with --gpu-memory-utilization 0.95" */
static const char *what_fits(const ms_infer_view *v)
{
    const ms_infer_answer *a = v->answer;
    const char *text = "";
    if (a->lever)
        text = ms_arena_printf(v->arena, " with --%s %" PRIu64, a->lever, a->lever_value);
    if (text && a->other.field)
        text = ms_arena_printf(v->arena, "%s%s with --%s %s", text, *text ? ", or" : "",
                               a->other.field, a->other.value);
    if (!text || *text)
        return text ? ms_arena_printf(v->arena, "it fits%s%s", safely(a), text) : NULL;
    return a->result.hopeless ? a->result.hopeless : no_lever(v);
}

const char *ms_infer_next(const ms_infer_view *v)
{
    const ms_infer_answer *a = v->answer;
    if (a->fit.what) {
        const char *found = ms_infer_fit_sentence(v, &a->fit);
        if (!found || !a->other.field)
            return found;
        const char *other = what_fits(v);
        return other ? ms_arena_printf(v->arena, "%s; %s", found, other) : NULL;
    }
    if (!a->fits)
        return what_fits(v);
    if (!a->lever)
        return a->result.limit ? a->result.limit : "";
    const char *limit = a->result.limit ? a->result.limit : "";
    return ms_arena_printf(v->arena, "%s%sit fits%s up to --%s %" PRIu64, limit, *limit ? "; " : "",
                           safely(a), a->lever, a->lever_value);
}

const char *ms_infer_place_at(const ms_infer_view *v, uint32_t index, int *device)
{
    uint32_t devices = v->answer->result.devices;
    *device = index < devices ? (int)index : MS_INFER_HOST;
    if (index < devices)
        return ms_arena_printf(v->arena, "device %" PRIu32, index);
    return index == devices ? "host" : NULL;
}

/* The next buffer of a device, from `at` on; the count of buffers: there is none. */
static uint32_t next_of(const ms_infer_result *r, int device, uint32_t at)
{
    while (at < r->buffers.count && r->buffers.items[at].device != device)
        at++;
    return at;
}

/* Whether two devices have the same buffers, in the same order. */
static bool is_equal(const ms_infer_result *r, int a, int b)
{
    uint32_t i = next_of(r, a, 0), k = next_of(r, b, 0);
    for (; i < r->buffers.count && k < r->buffers.count;
         i = next_of(r, a, i + 1), k = next_of(r, b, k + 1)) {
        const ms_infer_buffer *x = &r->buffers.items[i], *y = &r->buffers.items[k];
        if (x->part != y->part || x->phases != y->phases || x->low != y->low ||
            x->bytes != y->bytes || x->high != y->high || x->cells != y->cells ||
            x->layers != y->layers)
            return false;
    }
    return i == k;
}

ms_infer_groups ms_infer_groups_of(const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    ms_infer_groups groups = {ms_arena_array(v->arena, ms_infer_group, r->devices + 1), 0};
    uint32_t end;
    for (uint32_t first = 0; first < r->devices && groups.items; first = end) {
        end = first + 1;
        while (end < r->devices && is_equal(r, (int)first, (int)end))
            end++;
        groups.items[groups.count++] = (ms_infer_group){
            (int)first, end - first > 1 ? ms_arena_printf(v->arena, "device %" PRIu32 "-%" PRIu32,
                                                          first, end - 1)
                                        : ms_arena_printf(v->arena, "device %" PRIu32, first)};
    }
    if (groups.items)
        groups.items[groups.count++] = (ms_infer_group){MS_INFER_HOST, "host"};
    if (ms_arena_has_failed(v->arena))
        groups = (ms_infer_groups){.items = NULL};
    return groups;
}

bool ms_infer_has_part(const ms_infer_view *v, ms_infer_part part)
{
    for (uint32_t i = 0; i < v->answer->result.buffers.count; i++)
        if (v->answer->result.buffers.items[i].part == part)
            return true;
    return false;
}
