/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llamacpp/layout.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct spill {
    const char *pattern; /* behind "blk\.N\." */
    const char *about;
} spill;

static const spill spills[MS_LLAMA_SPILLS] = {
    [MS_LLAMA_SPILL_EXPERTS] = {"ffn_(up|down|gate_up|gate)_(ch|)exps", "experts"},
    [MS_LLAMA_SPILL_MLP] = {"ffn_(gate|up|gate_up|down).*", "the MLP"},
    [MS_LLAMA_SPILL_GATE_DOWN] = {"ffn_(gate|gate_up|down).*", "gate and down"},
    [MS_LLAMA_SPILL_DOWN] = {"ffn_down.*", "down"},
};

ms_llama_layout ms_llama_layout_empty(uint32_t devices)
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
            const spill *what = &spills[layer == first ? s->first : MS_LLAMA_SPILL_EXPERTS];
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

const char *ms_llama_layout_experts_on_host(void)
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
