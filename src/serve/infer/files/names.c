/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/files/names.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 512 };

const char *const ms_stored_role_names[] = {"weights", "packed", "scales", "other", NULL};

static bool ends_with(const char *text, size_t length, const char *ending, size_t cut)
{
    return length >= cut && memcmp(text + length - cut, ending, cut) == 0;
}

/* ---- quantised weights ---- */

/* How the name of a weight ends that is stored so: GPTQ and AWQ, compressed-tensors, blocks of fp8,
 * ModelOpt, bitsandbytes, mxfp4. */
static const struct form {
    const char *ending, *of; /* in place of it, the weight's own */
    ms_stored_role role;
} forms[] = {
    {".qweight", ".weight", MS_ROLE_PACKED},
    {".weight_packed", ".weight", MS_ROLE_PACKED},
    {"_blocks", "", MS_ROLE_PACKED},
    {".qzeros", ".weight", MS_ROLE_SCALE},
    {".scales", ".weight", MS_ROLE_SCALE},
    {".g_idx", ".weight", MS_ROLE_SCALE},
    {"_scales", "", MS_ROLE_SCALE},
    {"_scale_inv", "", MS_ROLE_SCALE},
    {"_scale", "", MS_ROLE_SCALE},
    {".weight_scale_2", ".weight", MS_ROLE_SCALE},
    {".weight_zero_point", ".weight", MS_ROLE_SCALE},
    {".weight_shape", ".weight", MS_ROLE_SCALE},
    {".weight_g_idx", ".weight", MS_ROLE_SCALE},
    {".weight_format", ".weight", MS_ROLE_SCALE},
    {".SCB", ".weight", MS_ROLE_SCALE},
    {".absmax", "", MS_ROLE_SCALE},
    {".quant_map", "", MS_ROLE_SCALE},
    {".nested_absmax", "", MS_ROLE_SCALE},
    {".nested_quant_map", "", MS_ROLE_SCALE},
    {".quant_state.bitsandbytes__nf4", "", MS_ROLE_SCALE},
    {".quant_state.bitsandbytes__fp4", "", MS_ROLE_SCALE},
};

/* Changes the name to that of the weight itself. */
static ms_stored_role take_form(char *name, size_t *length)
{
    static const char plain[] = ".weight", bias[] = ".bias";
    if (ends_with(name, *length, plain, sizeof plain - 1) ||
        ends_with(name, *length, bias, sizeof bias - 1))
        return MS_ROLE_WEIGHT;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t cut = strlen(forms[i].ending), more = strlen(forms[i].of);
        if (!ends_with(name, *length, forms[i].ending, cut) || *length - cut + more >= NAME_BYTES)
            continue;
        memcpy(name + *length - cut, forms[i].of, more + 1);
        *length = *length - cut + more;
        return forms[i].role;
    }
    return MS_ROLE_WEIGHT;
}

/* ---- names that are renamed ---- */

/* In the order in which they are replaced; '^' stands for the beginning. */
static const struct renaming {
    const char *from, *to;
} renamings[] = {
    {"^language_model.lm_head.", "lm_head."},
    {"^language_model.", "model.language_model."},
    {"model.language_model.model.", "model.language_model."},
    {"^vision_tower.", "model.vision_tower."},
    {"model.vision_tower.vision_model.", "model.vision_tower."},
    {"^multi_modal_projector.", "model.multi_modal_projector."},
    {"^visual.", "model.visual."},
    {"^embed_out.", "lm_head."},
    {"block_sparse_moe.input_linear.weight", "mlp.experts.gate_up_proj"},
    {"block_sparse_moe.output_linear.weight", "mlp.experts.down_proj"},
    {"block_sparse_moe.", "mlp."},
    {"encoder.layer.", "layers."},
    {"attention.attention.query", "attention.q_proj"},
    {"attention.attention.key", "attention.k_proj"},
    {"attention.attention.value", "attention.v_proj"},
    {"attention.output.dense", "attention.o_proj"},
    {"intermediate.dense", "mlp.fc1"},
    {"output.dense", "mlp.fc2"},
    {"LayerNorm.gamma", "LayerNorm.weight"},
    {"LayerNorm.beta", "LayerNorm.bias"},
};

/* Replaces `from` by `to`; a name that would be too long stays. */
static void replace(char *name, const char *from, const char *to)
{
    char changed[NAME_BYTES];
    bool is_first = *from == '^';
    from += is_first;
    size_t cut = strlen(from);
    const char *at = is_first ? (strncmp(name, from, cut) == 0 ? name : NULL) : strstr(name, from);
    if (!at)
        return;
    int length =
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - name), name, to, at + cut);
    if (length > 0 && (size_t)length < sizeof changed)
        memcpy(name, changed, (size_t)length + 1);
}

static uint32_t find_text(const ms_inventory *v, const char *name)
{
    return ms_inventory_find(v, name, strlen(name));
}

/* The same with another beginning. */
static uint32_t find_with(const ms_inventory *v, const char *from, const char *to, const char *name)
{
    char changed[NAME_BYTES];
    size_t cut = strlen(from);
    if (strncmp(name, from, cut) != 0)
        return UINT32_MAX;
    int length = snprintf(changed, sizeof changed, "%s%s", to, name + cut);
    return length > 0 && (size_t)length < sizeof changed ? find_text(v, changed) : UINT32_MAX;
}

/* Files of a model without a head lack the first part; text models lie in larger ones, or the
 * reverse. */
static uint32_t find_elsewhere(const ms_inventory *v, const char *name)
{
    char first[NAME_BYTES];
    const char *dot = v->weights.count ? strchr(v->weights.items[0].name, '.') : NULL;
    uint32_t found = UINT32_MAX;
    if (!dot || dot - v->weights.items[0].name >= NAME_BYTES - 1)
        return found;
    snprintf(first, sizeof first, "%.*s", (int)(dot - v->weights.items[0].name + 1),
             v->weights.items[0].name);
    const struct {
        const char *from, *to;
    } ways[] = {{"", first},
                {"model.language_model.", "model."},
                {"model.", "model.language_model."},
                {"", "model.language_model."}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && found == UINT32_MAX; i++)
        found = find_with(v, ways[i].from, ways[i].to, name);
    return found;
}

/* May change the name. */
static uint32_t find(const ms_inventory *v, char *name, size_t length)
{
    uint32_t found = ms_inventory_find(v, name, length);
    if (found != UINT32_MAX)
        return found;
    for (size_t i = 0; i < sizeof renamings / sizeof renamings[0]; i++)
        replace(name, renamings[i].from, renamings[i].to);
    found = find_text(v, name);
    return found != UINT32_MAX ? found : find_elsewhere(v, name);
}

/* ---- experts ---- */

enum { GATE_UP, DOWN };
static const char *const fused_names[] = {".experts.gate_up_proj", ".experts.down_proj"};

static const struct expert_part {
    const char *name;
    int fused;
    uint64_t parts; /* of each expert in the fused tensor */
} expert_parts[] = {
    {".gate_proj.weight", GATE_UP, 2}, {".up_proj.weight", GATE_UP, 2},
    {".down_proj.weight", DOWN, 1},    {".w1.weight", GATE_UP, 2},
    {".w3.weight", GATE_UP, 2},        {".w2.weight", DOWN, 1},
};

static void look_up(ms_stored_names *n, const char *name, size_t before)
{
    n->before_bytes = before;
    memcpy(n->before, name, before);
    for (int i = GATE_UP; i <= DOWN; i++) {
        char fused[NAME_BYTES];
        int length = snprintf(fused, sizeof fused, "%.*s%s", (int)before, name, fused_names[i]);
        n->fused[i] = find(n->inventory, fused, (size_t)length);
    }
}

/* "X.experts.7.up_proj.weight": of X.experts.gate_up_proj. */
static bool take_expert(ms_stored_names *n, const char *name, ms_stored_place *place)
{
    static const char experts[] = ".experts.";
    const char *at = strstr(name, experts);
    size_t before = at ? (size_t)(at - name) : 0;
    if (!at || before >= sizeof n->before)
        return false;
    const char *digit = at + sizeof experts - 1, *first = digit;
    for (; *digit >= '0' && *digit <= '9' && digit - first < 9; digit++)
        place->expert = place->expert * 10 + (uint64_t)(*digit - '0');
    for (size_t i = 0; digit > first && i < sizeof expert_parts / sizeof expert_parts[0]; i++) {
        if (strcmp(digit, expert_parts[i].name) != 0)
            continue;
        if (n->before_bytes != before || memcmp(n->before, name, before) != 0)
            look_up(n, name, before);
        place->weight = n->fused[expert_parts[i].fused];
        if (place->weight == UINT32_MAX)
            return false;
        place->parts = expert_parts[i].parts * n->inventory->weights.items[place->weight].shape[0];
        return true;
    }
    return false;
}

/* ---- all ---- */

ms_stored_place ms_stored_place_of(ms_stored_names *n, const char *name, bool has_bits)
{
    ms_stored_place place = {.weight = UINT32_MAX, .role = MS_ROLE_OTHER, .parts = 1};
    char own[NAME_BYTES];
    size_t length = strlen(name);
    if (length >= sizeof own)
        return place;
    place.weight = ms_inventory_find(n->inventory, name, length);
    ms_stored_role role = MS_ROLE_WEIGHT;
    if (place.weight == UINT32_MAX) {
        memcpy(own, name, length + 1);
        role = take_form(own, &length);
        if (!take_expert(n, own, &place)) {
            place.expert = 0;
            place.weight = find(n->inventory, own, length);
        }
    }
    if (place.weight != UINT32_MAX)
        place.role = role == MS_ROLE_WEIGHT && has_bits ? MS_ROLE_PACKED : role;
    else if (role == MS_ROLE_SCALE)
        place.role = role; /* of an activation, or of the cache */
    return place;
}
