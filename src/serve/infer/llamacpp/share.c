/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llamacpp/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serve/infer/llama/buffers.h"
#include "serve/infer/llama/compute.h"

/* ---- layout ---- */

typedef struct spill_row {
    const char *pattern; /* behind "blk\.N\." */
    const char *about;
} spill_row;

static const spill_row spills[MS_LLAMA_SPILLS] = {
    [MS_LLAMA_SPILL_EXPERTS] = {"ffn_(up|down|gate_up|gate)_(ch|)exps", "experts"},
    [MS_LLAMA_SPILL_MLP] = {"ffn_(gate|up|gate_up|down).*", "the MLP"},
    [MS_LLAMA_SPILL_GATE_DOWN] = {"ffn_(gate|gate_up|down).*", "gate and down"},
    [MS_LLAMA_SPILL_DOWN] = {"ffn_down.*", "down"},
};

/* No layers on any device. */
static ms_llama_layout llama_layout_empty(uint32_t devices)
{
    ms_llama_layout layout = {.devices = devices};
    for (uint32_t i = 0; i < devices; i++)
        layout.shares[i].to = MS_INFER_HOST;
    return layout;
}

uint32_t ms_llama_layout_layers(const ms_llama_layout *l)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < l->devices; i++)
        sum += l->shares[i].layers;
    return sum;
}

/* The first layer of a device that has weights elsewhere; the following ones have them too. */
static uint32_t first_parted(const ms_llama_layout *l, uint64_t n_layer, uint32_t device)
{
    uint32_t at = (uint32_t)n_layer + 1 - ms_llama_layout_layers(l);
    for (uint32_t i = 0; i < device; i++)
        at += l->shares[i].layers;
    return at + l->shares[device].layers - l->shares[device].parted;
}

static const char *split_of(const ms_llama_layout *l, ms_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < l->devices && text; i++)
        text = ms_arena_printf(arena, "%s%s%" PRIu32, text, i ? "/" : "", l->shares[i].layers);
    return text;
}

/* One rule for each layer that has weights elsewhere; "" where none has. */
static const char *overrides_of(const ms_llama_layout *l, uint64_t n_layer, ms_arena *arena)
{
    enum { MOST_OF_RULE = 80 };
    size_t size = MOST_OF_RULE * ((size_t)n_layer + 2) * l->devices, used = 0;
    char *text = ms_arena_array(arena, char, size);
    if (!text)
        return NULL;
    text[0] = '\0';
    for (uint32_t i = 0; i < l->devices; i++) {
        const ms_llama_share *s = &l->shares[i];
        uint32_t first = first_parted(l, n_layer, i);
        for (uint32_t layer = first; layer < first + s->parted; layer++) {
            const spill_row *what = &spills[layer == first ? s->first : MS_LLAMA_SPILL_EXPERTS];
            int place = layer == first ? s->to : MS_INFER_HOST;
            used += (size_t)snprintf(text + used, size - used, "%sblk\\.%" PRIu32 "\\.%s=%s",
                                     used ? "," : "", layer, what->pattern,
                                     ms_llama_device_name(place));
        }
    }
    return text;
}

static bool set(ms_infer_settings *settings, ms_arena *arena, const char *field, const char *value)
{
    ms_error err = {.status = MS_OK};
    return value && ms_infer_settings_set(settings, arena, field, value, &err) == MS_OK;
}

bool ms_llama_layout_set(const ms_llama_layout *l, uint64_t n_layer, ms_arena *arena,
                         ms_infer_settings *settings)
{
    uint32_t layers = ms_llama_layout_layers(l);
    const char *overrides = overrides_of(l, n_layer, arena);
    bool ok =
        overrides && set(settings, arena, "gpu-layers", ms_arena_printf(arena, "%" PRIu32, layers));
    if (ok && *overrides)
        ok = set(settings, arena, "override-tensor", overrides);
    if (ok && l->devices > 1 && layers > 0)
        ok = set(settings, arena, "tensor-split", split_of(l, arena));
    return ok;
}

/* override-tensor for all experts on the host. */
static const char *llama_layout_experts_on_host(void)
{
    return "blk\\.\\d+\\.ffn_(up|down|gate_up|gate)_(ch|)exps=CPU";
}

/* ---- for people ---- */

static const char *range_of(ms_arena *arena, uint32_t first, uint32_t count)
{
    return count == 1
               ? ms_arena_printf(arena, "layer %" PRIu32, first)
               : ms_arena_printf(arena, "layers %" PRIu32 " to %" PRIu32, first, first + count - 1);
}

/* ", gate and down of layer 3 on CUDA1, experts of layers 4 to 31 on the host"; the head, which is
 * counted, has none. */
static const char *parted_text(const ms_llama_layout *l, uint64_t n_layer, uint32_t device,
                               ms_arena *arena)
{
    const ms_llama_share *s = &l->shares[device];
    uint32_t first = first_parted(l, n_layer, device), end = first + s->parted;
    bool is_apart = s->first != MS_LLAMA_SPILL_EXPERTS || s->to != MS_INFER_HOST;
    const char *text = "";
    end = end < n_layer ? end : (uint32_t)n_layer;
    if (end <= first)
        return text;
    if (is_apart)
        text =
            ms_arena_printf(arena, ", %s of layer %" PRIu32 " on %s", spills[s->first].about, first,
                            s->to == MS_INFER_HOST ? "the host" : ms_llama_device_name(s->to));
    first += is_apart;
    const char *rest = first < end ? range_of(arena, first, end - first) : "";
    if (!text || !rest || !*rest)
        return rest ? text : NULL;
    return ms_arena_printf(arena, "%s, experts of %s on the host", text, rest);
}

/* " (12 on CUDA0, 21 on CUDA1)"; "" for one device. */
static const char *shares_text(const ms_llama_layout *l, ms_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < l->devices && l->devices > 1 && text; i++)
        text = ms_arena_printf(arena, "%s%s%" PRIu32 " on %s", text, i ? ", " : " (",
                               l->shares[i].layers, ms_llama_device_name((int)i));
    return text && *text ? ms_arena_printf(arena, "%s)", text) : text;
}

const char *ms_llama_layout_text(const ms_llama_layout *l, uint64_t n_layer, ms_arena *arena)
{
    const char *shares = shares_text(l, arena), *text = NULL;
    if (shares)
        text = ms_arena_printf(arena, "%" PRIu32 " of %" PRIu64 " layers on devices%s",
                               ms_llama_layout_layers(l), n_layer + 1, shares);
    for (uint32_t i = 0; i < l->devices && text; i++) {
        const char *parts = parted_text(l, n_layer, i, arena);
        text = parts ? ms_arena_printf(arena, "%s%s", text, parts) : NULL;
    }
    return text;
}

/* ---- estimate ---- */

static void add_buffers(const ms_infer_result *result, int place, ms_llama_estimate *to)
{
    for (uint32_t i = 0; i < result->buffers.count; i++) {
        const ms_infer_buffer *b = &result->buffers.items[i];
        bool counts = b->device == place && strcmp(b->place, "CPU_REPACK") != 0;
        to->all += counts ? (int64_t)b->bytes : 0;
        to->weights += counts && b->part == MS_INFER_WEIGHTS ? (int64_t)b->bytes : 0;
    }
}

static ms_status estimate(const ms_llama_run *r, ms_infer_result *result,
                          ms_llama_estimate *estimates, ms_error *err)
{
    uint64_t compute[MS_LLAMA_MAX_DEVICES + 1] = {0};
    uint32_t devices = r->is_cuda ? r->devices : 0;
    ms_status status = ms_llama_weights_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_caches_add(r, result, err);
    if (status == MS_OK)
        status = ms_llama_compute_estimate(r, compute, err);
    for (uint32_t i = 0; i < (devices ? devices : 1) && status == MS_OK; i++) {
        estimates[i] = (ms_llama_estimate){.all = (int64_t)compute[i]};
        add_buffers(result, devices ? (int)i : MS_INFER_HOST, &estimates[i]);
    }
    return status;
}

/* Of each device in use; without one, of the host: what the CPU rearranges is not in it.
 * The settings are those of the job. */
static ms_status llama_estimate_make(const ms_infer_job *job, const ms_llama_model *model,
                                     ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES],
                                     ms_error *err)
{
    ms_infer_settings settings = *job->settings;
    ms_infer_job measured = *job;
    ms_infer_result result = {.devices = 0};
    ms_llama_run run;
    settings.llama.mmap = false;
    measured.settings = &settings;
    measured.arena = ms_arena_create(0);
    if (!measured.arena)
        return ms_infer_no_memory(err);
    ms_status status = ms_llama_run_resolve(&measured, model, &run, err);
    if (status == MS_OK)
        status = ms_llama_flash_resolve(&run, err);
    if (status == MS_OK)
        status = estimate(&run, &result, estimates, err);
    ms_infer_result_free(&result);
    ms_arena_free(measured.arena);
    return status;
}

/* ---- share ---- */

/* A layout, what its devices need by llama.cpp's estimate, and the first device of which all layers
 * are without experts. */
typedef struct point {
    ms_llama_layout layout;
    int64_t used[MS_LLAMA_MAX_DEVICES];
    uint32_t dense;
} point;

typedef struct sharing {
    ms_llama_search *s;
    int64_t target[MS_LLAMA_MAX_DEVICES]; /* the most of each device */
    bool is_mixture;
    point at; /* the best that fits */
    ms_error *err;
} sharing;

ms_status ms_llama_share_estimate(ms_llama_search *s, const ms_infer_settings *settings,
                                  ms_llama_estimate *estimates, ms_error *err)
{
    ms_infer_job job = *s->job;
    job.settings = settings;
    s->trials++;
    return llama_estimate_make(&job, s->model, estimates, err);
}

static ms_status measure(sharing *f, point *p)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES] = {{0}};
    ms_infer_settings settings = f->s->settings;
    ms_arena *arena = ms_arena_create(0);
    bool ok = arena && ms_llama_layout_set(&p->layout, f->s->model->n_layer, arena, &settings);
    ms_status status = ok ? ms_llama_share_estimate(f->s, &settings, estimates, f->err)
                          : ms_infer_no_memory(f->err);
    for (uint32_t i = 0; i < f->s->devices && status == MS_OK; i++)
        p->used[i] = estimates[i].all;
    ms_arena_free(arena);
    return status;
}

static bool fits(const sharing *f, const point *p, uint32_t device)
{
    return p->used[device] <= f->target[device];
}

/* Layers to try, by a straight line between a point that fits and one that does not; llama.cpp
 * keeps 32 bits of the quotient. */
static ms_status step_of(sharing *f, const point *high, uint32_t device, uint32_t delta,
                         uint32_t *step)
{
    int64_t rise = high->used[device] - f->at.used[device];
    int64_t room = f->target[device] - f->at.used[device];
    if (rise == 0)
        return ms_fail(f->err, MS_ERR_CONFIG,
                       "engine-fit: the layers take no memory, so llama.cpp would divide by 0");
    uint32_t guess = (uint32_t)((int64_t)delta * room / rise);
    guess = guess > 1 ? guess : 1;
    *step = guess < delta - 1 ? guess : delta - 1;
    return MS_OK;
}

/* ---- layers, of a mixture without experts: from the last device on ---- */

static uint32_t unassigned(const sharing *f, uint32_t device)
{
    uint32_t left = (uint32_t)f->s->model->n_layer + 1;
    for (uint32_t i = device + 1; i < f->s->devices; i++)
        left -= f->at.layout.shares[i].layers;
    return left;
}

/* The head is the last layer, and whole. */
static void add_layers(const sharing *f, point *p, uint32_t device, uint32_t count)
{
    ms_llama_share *share = &p->layout.shares[device];
    bool has_head = device + 1 == f->s->devices && share->parted == 0;
    share->layers += count;
    if (f->is_mixture)
        share->parted += has_head ? count - 1 : count;
}

static ms_status fill(sharing *f, uint32_t device)
{
    point high = f->at, test;
    uint32_t count = unassigned(f, device);
    if (count == 0)
        return MS_OK;
    high.layout.shares[device] = (ms_llama_share){.to = MS_INFER_HOST};
    add_layers(f, &high, device, count);
    ms_status status = measure(f, &high);
    if (status == MS_OK && fits(f, &high, device)) {
        f->at = high;
        return MS_OK;
    }
    for (uint32_t delta = count, step; delta > 1 && status == MS_OK;) {
        status = step_of(f, &high, device, delta, &step);
        test = f->at;
        add_layers(f, &test, device, status == MS_OK ? step : 1);
        if (status == MS_OK)
            status = measure(f, &test);
        if (status == MS_OK && fits(f, &test, device))
            f->at = test;
        else
            high = test;
        delta = high.layout.shares[device].layers - f->at.layout.shares[device].layers;
    }
    return status;
}

/* ---- experts: from the first device on ---- */

static uint32_t whole(const point *p, uint32_t device)
{
    return p->layout.shares[device].layers - p->layout.shares[device].parted;
}

/* All layers behind, but the head, with their experts. */
static point all_on(const sharing *f, uint32_t device)
{
    point p = f->at;
    ms_llama_share *shares = p.layout.shares;
    for (uint32_t i = f->at.dense; i < f->s->devices; i++) {
        uint32_t count = shares[i].layers - (i + 1 == f->s->devices ? 1 : 0);
        shares[device].layers += count;
        shares[i].layers -= count;
        shares[i].parted = 0;
    }
    p.dense = f->s->devices - 1;
    return p;
}

/* The next `count` layers without experts get theirs, on the device. */
static point more_on(const sharing *f, uint32_t device, uint32_t count)
{
    point p = f->at;
    ms_llama_share *shares = p.layout.shares;
    for (uint32_t moved = 0; p.dense < f->s->devices; p.dense++) {
        ms_llama_share *from = &shares[p.dense];
        uint32_t part = count - moved < from->parted ? count - moved : from->parted;
        from->layers -= part;
        from->parted -= part;
        shares[device].layers += part;
        moved += part;
        if (from->parted > 0)
            break;
    }
    return p;
}

static ms_status fill_whole(sharing *f, uint32_t device)
{
    point high = all_on(f, device);
    ms_status status = measure(f, &high);
    if (status == MS_OK && fits(f, &high, device)) {
        f->at = high;
        return MS_OK;
    }
    uint32_t delta = whole(&high, device) - whole(&f->at, device), step;
    while (delta > 1 && status == MS_OK) {
        status = step_of(f, &high, device, delta, &step);
        if (status != MS_OK)
            break;
        point test = more_on(f, device, step);
        status = measure(f, &test);
        if (status == MS_OK && fits(f, &test, device))
            f->at = test;
        else
            high = test;
        delta = whole(&high, device) - whole(&f->at, device);
    }
    return status;
}

/* Takes a point where it leaves room on the device, and on the next one, which gets what spills. */
static ms_status try_part(sharing *f, point *test, uint32_t device, ms_llama_spill spill,
                          bool *is_taken)
{
    test->layout.shares[device].first = spill;
    ms_status status = measure(f, test);
    bool has_next = device + 1 < f->s->devices;
    *is_taken = status == MS_OK && test->used[device] < f->target[device] &&
                (!has_next || test->used[device + 1] < f->target[device + 1]);
    if (*is_taken)
        f->at = *test;
    return status;
}

/* A part of one more layer. */
static ms_status fill_part(sharing *f, uint32_t device)
{
    uint32_t devices = f->s->devices, least = device + 1 < devices ? 0 : 1;
    point test = f->at;
    bool is_taken = false;
    if (test.dense >= devices || test.layout.shares[test.dense].layers <= least)
        return MS_OK;
    ms_llama_share *from = &test.layout.shares[test.dense];
    from->layers--;
    from->parted--;
    test.dense += from->parted == 0;
    test.layout.shares[device].layers++;
    test.layout.shares[device].parted++;
    int next = device + 1 < devices ? (int)device + 1 : MS_INFER_HOST;
    test.layout.shares[device].to = next;
    ms_status status = try_part(f, &test, device, MS_LLAMA_SPILL_GATE_DOWN, &is_taken);
    if (status == MS_OK)
        status = try_part(f, &test, device, is_taken ? MS_LLAMA_SPILL_DOWN : MS_LLAMA_SPILL_MLP,
                          &is_taken);
    return status;
}

static ms_status fill_experts(sharing *f)
{
    ms_status status = MS_OK;
    f->at.dense = f->s->devices;
    while (f->at.dense > 0 && f->at.layout.shares[f->at.dense - 1].layers > 0)
        f->at.dense--;
    for (uint32_t i = 0; status == MS_OK && i <= f->at.dense && f->at.dense < f->s->devices; i++) {
        status = fill_whole(f, i);
        if (status == MS_OK)
            status = fill_part(f, i);
    }
    return status;
}

/* ---- all ---- */

/* Whether all but experts fits the devices together. */
static ms_status has_room_for_dense(sharing *f, bool *has_room)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES] = {{0}};
    ms_infer_settings settings = f->s->settings;
    int64_t left = 0;
    settings.llama.override_tensor = llama_layout_experts_on_host();
    ms_status status = ms_llama_share_estimate(f->s, &settings, estimates, f->err);
    for (uint32_t i = 0; i < f->s->devices && status == MS_OK; i++)
        left += f->target[i] - estimates[i].all;
    *has_room = left > 0;
    return status;
}

ms_status ms_llama_share_layers(ms_llama_search *s, ms_error *err)
{
    sharing f = {.s = s, .is_mixture = s->model->experts > 0, .err = err};
    bool has_room = false;
    ms_status status = MS_OK;
    f.at.layout = llama_layout_empty(s->devices);
    for (uint32_t i = 0; i < s->devices; i++)
        f.target[i] = s->free[i] - s->margin[i];
    if (f.is_mixture)
        status = has_room_for_dense(&f, &has_room);
    if (status == MS_OK)
        status = measure(&f, &f.at);
    for (uint32_t i = s->devices; i-- > 0 && status == MS_OK;)
        status = fill(&f, i);
    if (status == MS_OK && has_room)
        status = fill_experts(&f);
    s->layout = f.at.layout;
    return status;
}
