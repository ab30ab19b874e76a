/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/trainers/pytorch_treat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/treatment/row.h"
#include "input/config/treatment/treatment.h"

typedef struct writer {
    ms_arena *arena;
    const ms_treatments *treatments;
    uint32_t count; /* of layers */
    bool is_reentrant;
    const char *text; /* NULL: out of memory */
} writer;

static void append(writer *w, const char *more)
{
    if (w->text)
        w->text = more ? ms_arena_printf(w->arena, "%s%s", w->text, more) : NULL;
}

/* ---- which layers ---- */

/* Whether two treatments are alike in one respect: a part, the input's place, or the kind. */
enum { SAME_INPUT = MS_PART_COUNT, SAME_KIND };

static bool is_same(const ms_treatment *a, const ms_treatment *b, int respect)
{
    if (respect < MS_PART_COUNT)
        return a->parts[respect] == b->parts[respect];
    if (respect == SAME_INPUT)
        return a->input == b->input;
    ms_treatment other = *b;
    other.input = a->input;
    memcpy(other.parts, a->parts, sizeof other.parts);
    return ms_treatment_equal(a, &other);
}

static bool is_first_of_its_kind(const writer *w, uint32_t layer, int respect)
{
    for (uint32_t i = 0; i < layer; i++)
        if (is_same(&w->treatments->layers[i], &w->treatments->layers[layer], respect))
            return false;
    return true;
}

/* "range(0, 8)", or "(*range(0, 8), 9)", of those that are treated like `layer`. */
static const char *layer_set(writer *w, uint32_t layer, int respect)
{
    const ms_treatment *layers = w->treatments->layers;
    const char *set = "";
    uint32_t parts = 0;
    for (uint32_t i = layer, end; set && i < w->count; i = end) {
        for (end = i; end < w->count && is_same(&layers[layer], &layers[end], respect);)
            end++;
        if (end == i) {
            end++;
            continue;
        }
        if (end == i + 1)
            set = ms_arena_printf(w->arena, "%s%" PRIu32 ", ", set, i);
        else
            set = ms_arena_printf(w->arena, "%s*range(%" PRIu32 ", %" PRIu32 "), ", set, i, end);
        parts++;
    }
    if (!set)
        return NULL;
    size_t length = strlen(set) - 2; /* without the last comma and blank */
    if (parts == 1 && *set == '*')
        return ms_arena_printf(w->arena, "%.*s", (int)(length - 1), set + 1);
    return ms_arena_printf(w->arena, "(%.*s%s)", (int)length, set, parts == 1 ? "," : "");
}

/* ---- what becomes of them ---- */

/* As the dispatcher spells it. */
static const char *aten_name(const char *name)
{
    static const char *const names[][2] = {
        {"flash_attention", "_scaled_dot_product_flash_attention"},
        {"efficient_attention", "_scaled_dot_product_efficient_attention"},
        {"cudnn_attention", "_scaled_dot_product_cudnn_attention"},
        {"flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu"},
        {"layer_norm", "native_layer_norm"},
        {"softmax", "_softmax"},
        {"to", "_to_copy"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return name;
}

/* `call` with `more` in the place of its %s, if it has one. */
static const char *fill_in(writer *w, const char *call, const char *more)
{
    const char *gap = strstr(call, "%s");
    return gap ? ms_arena_printf(w->arena, "%.*s%s%s", (int)(gap - call), call, more, gap + 2)
               : call;
}

static const char *kept_list(writer *w, const ms_treatment *t)
{
    const char *list = "";
    for (uint32_t i = 0; list && i < t->kept_count; i++) {
        const char *name = aten_name(t->kept_ops[i].name);
        if (t->kept_ops[i].occurrence == UINT32_MAX)
            list = ms_arena_printf(w->arena, "%s, \"%s\"", list, name);
        else
            list = ms_arena_printf(w->arena, "%s, \"%s#%" PRIu32 "\"", list, name,
                                   t->kept_ops[i].occurrence);
    }
    return list;
}

/* The call for layers of this kind; "" when nothing is called, NULL when out of memory. */
static const char *kind_call(writer *w, const ms_treatment *t)
{
    const ms_kind_row *row = &ms_treatment_kinds[t->kind];
    const char *more = row->value == MS_KIND_OF_OPS_OR_SHARE ? kept_list(w, t)
                       : w->is_reentrant                     ? ", use_reentrant=True"
                                                             : "";
    if (!more || !row->code.call)
        return more ? "" : NULL;
    return fill_in(w, row->code.call, more);
}

static void write_loop(writer *w, const char *set, const char *call)
{
    if (!set || !call)
        w->text = NULL;
    else if (*call)
        append(w, ms_arena_printf(w->arena, "    for i in %s:\n        %s\n", set, call));
}

static const char *part_call(writer *w, int part, uint32_t value)
{
    char pieces[16];
    snprintf(pieces, sizeof pieces, "%" PRIu32, value);
    return fill_in(w, ms_treatment_parts[part]->code.call, pieces);
}

static void write_parts(writer *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        for (int part = 0; part < MS_PART_COUNT && w->text; part++) {
            uint32_t value = w->treatments->layers[i].parts[part];
            if (value > 0 && is_first_of_its_kind(w, i, part))
                write_loop(w, layer_set(w, i, part), part_call(w, part, value));
        }
}

static void write_kinds(writer *w)
{
    for (uint32_t i = 0; i < w->count && w->text; i++)
        if (is_first_of_its_kind(w, i, SAME_KIND))
            write_loop(w, layer_set(w, i, SAME_KIND), kind_call(w, &w->treatments->layers[i]));
}

/* "range(0, 8)" of the layers whose checkpoint's input goes to this place; "" when none does. */
static const char *input_set(writer *w, ms_input_place place)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->treatments->layers[i].input == place)
            return layer_set(w, i, SAME_INPUT);
    return "";
}

static void write_inputs(writer *w)
{
    for (int place = 0; place < MS_INPUT_PLACE_COUNT && w->text; place++) {
        const char *call = ms_input_places[place].code.call;
        const char *set = call ? input_set(w, (ms_input_place)place) : "";
        if (!set || *set)
            write_loop(w, set, call);
    }
}

static void write_offload(writer *w)
{
    const char *shares = "", *inputs = input_set(w, MS_INPUT_OFFLOADED);
    for (uint32_t i = 0; i < w->count && shares; i++) {
        const ms_treatment *t = &w->treatments->layers[i];
        if (t->kind != MS_TREAT_OFFLOAD || !is_first_of_its_kind(w, i, SAME_KIND))
            continue;
        const char *set = layer_set(w, i, SAME_KIND);
        shares = set ? ms_arena_printf(w->arena, "%s%s**dict.fromkeys(%s, %.9g)", shares,
                                       *shares ? ", " : "", set, t->share)
                     : NULL;
    }
    if (!shares || !inputs)
        w->text = NULL;
    else if (*shares || *inputs)
        append(w, ms_arena_printf(w->arena, "    Offload(layers, {%s}%s%s)\n", shares,
                                  *inputs ? ", inputs=" : "", inputs));
}

static void write_loss(writer *w)
{
    if (w->treatments->loss_chunks > 0)
        append(w, ms_arena_printf(w->arena, "    chunk_loss(model, %" PRIu32 ")\n",
                                  w->treatments->loss_chunks));
}

const char *ms_pytorch_treat(ms_arena *arena, const ms_treatments *treatments, uint32_t layers,
                             bool is_reentrant)
{
    writer w = {arena, treatments, layers, is_reentrant, ""};
    write_parts(&w);
    write_kinds(&w);
    write_inputs(&w);
    write_offload(&w);
    bool has_layers = w.text && *w.text;
    write_loss(&w);
    if (!w.text)
        return NULL;
    return ms_arena_printf(
        arena,
        "def treat(model):\n"
        "    \"\"\"Call once, before the first step; then train as before.\"\"\"\n"
        "%s%s",
        has_layers ? "    layers = layers_of(model)\n" : "", w.text);
}
