/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch code for any treatments: the pieces of src/plan/pytorch that they need, and a function
 * that says which layer gets what.
 */
#include <inttypes.h>
#include <string.h>

#include "json/embedded.h"
#include "plan/trainers/shapes.h"

typedef struct writer {
    ms_arena *arena;
    const ms_step_task *task;
    const ms_treatments *treatments;
    uint32_t count;   /* of layers */
    const char *text; /* NULL: out of memory */
} writer;

static void append(writer *w, const char *more)
{
    if (w->text)
        w->text = more ? ms_arena_printf(w->arena, "%s%s", w->text, more) : NULL;
}

/* ---- which layers ---- */

typedef bool (*same_fn)(const ms_treatment *a, const ms_treatment *b);

static bool same_tiles(const ms_treatment *a, const ms_treatment *b)
{
    return a->tiles == b->tiles;
}

static bool same_attention_tiles(const ms_treatment *a, const ms_treatment *b)
{
    return a->attention_tiles == b->attention_tiles;
}

/* All but the tiles and the place of the input. */
static bool same_kind(const ms_treatment *a, const ms_treatment *b)
{
    ms_treatment other = *b;
    other.tiles = a->tiles;
    other.input = a->input;
    other.attention_tiles = a->attention_tiles;
    return ms_treatment_equal(a, &other);
}

static bool is_first_of_its_kind(const writer *w, uint32_t layer, same_fn same)
{
    for (uint32_t i = 0; i < layer; i++)
        if (same(&w->treatments->layers[i], &w->treatments->layers[layer]))
            return false;
    return true;
}

/* "range(0, 8)", or "(*range(0, 8), 9)", of those that are treated like `layer`. */
static const char *layer_set(writer *w, uint32_t layer, same_fn same)
{
    const ms_treatment *layers = w->treatments->layers;
    const char *set = "";
    uint32_t parts = 0;
    for (uint32_t i = layer, end; set && i < w->count; i = end) {
        for (end = i; end < w->count && same(&layers[layer], &layers[end]);)
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

/* The call for layers of this kind; "" when nothing is called. */
static const char *kind_call(writer *w, const ms_treatment *t)
{
    bool is_reentrant = w->task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    switch (t->kind) {
    case MS_TREAT_CHECKPOINT:
        return is_reentrant ? "recompute(layers[i], use_reentrant=True)" : "recompute(layers[i])";
    case MS_TREAT_SELECTIVE: {
        const char *list = kept_list(w, t);
        return list ? ms_arena_printf(w->arena, "recompute_but(layers[i]%s)", list) : NULL;
    }
    case MS_TREAT_KEEP:
    case MS_TREAT_OFFLOAD:
    case MS_TREAT_KIND_COUNT:
        break;
    }
    return "";
}

static void write_loop(writer *w, const char *set, const char *call)
{
    if (!set || !call)
        w->text = NULL;
    else if (*call)
        append(w, ms_arena_printf(w->arena, "    for i in %s:\n        %s\n", set, call));
}

static void write_tiles(writer *w)
{
    for (uint32_t i = 0; i < w->count && w->text; i++) {
        const ms_treatment *t = &w->treatments->layers[i];
        if (t->tiles > 0 && is_first_of_its_kind(w, i, same_tiles))
            write_loop(w, layer_set(w, i, same_tiles),
                       ms_arena_printf(w->arena, "tile(layers[i].mlp, %" PRIu32 ")", t->tiles));
        if (t->attention_tiles > 0 && is_first_of_its_kind(w, i, same_attention_tiles))
            write_loop(w, layer_set(w, i, same_attention_tiles),
                       ms_arena_printf(w->arena, "tile_attention(layers[i], %" PRIu32 ")",
                                       t->attention_tiles));
    }
}

static void write_kinds(writer *w)
{
    for (uint32_t i = 0; i < w->count && w->text; i++)
        if (is_first_of_its_kind(w, i, same_kind))
            write_loop(w, layer_set(w, i, same_kind), kind_call(w, &w->treatments->layers[i]));
}

static bool same_input(const ms_treatment *a, const ms_treatment *b)
{
    return a->input == b->input;
}

/* "range(0, 8)" of the layers whose checkpoint's input goes to this place; "" when none does. */
static const char *input_set(writer *w, ms_input_place place)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->treatments->layers[i].input == place)
            return layer_set(w, i, same_input);
    return "";
}

static void write_saved_on_cpu(writer *w)
{
    const char *set = input_set(w, MS_INPUT_SAVED_ON_CPU);
    if (!set || *set)
        write_loop(w, set, "save_input_on_cpu(layers[i])");
}

static void write_offload(writer *w)
{
    const char *shares = "", *inputs = input_set(w, MS_INPUT_OFFLOADED);
    for (uint32_t i = 0; i < w->count && shares; i++) {
        const ms_treatment *t = &w->treatments->layers[i];
        if (t->kind != MS_TREAT_OFFLOAD || !is_first_of_its_kind(w, i, same_kind))
            continue;
        const char *set = layer_set(w, i, same_kind);
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

static void write_layers(writer *w)
{
    append(w, "\n\ndef treat(model):\n"
              "    \"\"\"Call once, when the model is on its device; then train as before.\"\"\"\n"
              "    decoder = model.get_decoder()\n"
              "    layers = decoder.layers if hasattr(decoder, \"layers\") else decoder.h\n");
    write_tiles(w);
    write_kinds(w);
    write_saved_on_cpu(w);
    write_offload(w);
}

static void write_loss(writer *w)
{
    append(w, ms_arena_printf(
                  w->arena,
                  "\n\ndef loss_of(model, input_ids, labels):\n"
                  "    \"\"\"Use instead of model(input_ids=input_ids, labels=labels).loss.\"\"\"\n"
                  "    return chunked_loss(model.get_decoder(), model.get_output_embeddings(), "
                  "%" PRIu32 ", input_ids, labels%s)\n",
                  w->treatments->loss_chunks,
                  w->task->model->caps_logits ? ", model.config.final_logit_softcapping" : ""));
}

/* ---- the pieces ---- */

typedef struct needs {
    bool recompute, selective, save_on_cpu, offload, tile, tile_attention, loss;
} needs;

static needs needs_of(const writer *w)
{
    needs n = {.loss = w->treatments->loss_chunks > 0};
    for (uint32_t i = 0; i < w->count; i++) {
        const ms_treatment *t = &w->treatments->layers[i];
        n.selective |= t->kind == MS_TREAT_SELECTIVE;
        n.recompute |= t->kind == MS_TREAT_CHECKPOINT || t->kind == MS_TREAT_SELECTIVE;
        n.save_on_cpu |= t->input == MS_INPUT_SAVED_ON_CPU;
        n.offload |= t->kind == MS_TREAT_OFFLOAD || t->input == MS_INPUT_OFFLOADED;
        n.tile |= t->tiles > 0;
        n.tile_attention |= t->attention_tiles > 0;
    }
    return n;
}

static bool is_import(const char *line)
{
    return strncmp(line, "import ", 7) == 0 || strncmp(line, "from ", 5) == 0;
}

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* A piece begins with its licence line and its imports. */
static const char *body_of(const char *piece)
{
    do
        piece = next_line(piece);
    while (is_import(piece));
    return piece;
}

static bool is_third_party(const char *line)
{
    return strstr(line, "torch") || strstr(line, "transformers");
}

enum { MOST_PIECES = 9 };

/* Each import once; those of Python itself first. */
static void write_imports(writer *w, const char *const *pieces, uint32_t count)
{
    const char *imports = "";
    for (int of_torch = 0; of_torch < 2; of_torch++)
        for (uint32_t i = 0; i < count; i++)
            for (const char *line = next_line(pieces[i]); imports && is_import(line);
                 line = next_line(line)) {
                const char *copy =
                    ms_arena_printf(w->arena, "%.*s", (int)(next_line(line) - line), line);
                if (copy && (is_third_party(copy) != of_torch || strstr(imports, copy)))
                    continue;
                imports = copy ? ms_arena_printf(w->arena, "%s%s", imports, copy) : NULL;
            }
    append(w, imports);
}

static void write_pieces(writer *w, needs n)
{
    const struct {
        bool is_needed;
        const char *name;
    } all[MOST_PIECES] = {
        {n.recompute, "recompute"},
        {n.selective, "selective"},
        {n.save_on_cpu, "save_on_cpu"},
        {n.offload, "offload"},
        {n.tile || n.loss, "pieces"},
        {n.tile || n.tile_attention, "again"},
        {n.tile, "tile"},
        {n.tile_attention, "tile_attention"},
        {n.loss, "loss"},
    };
    const char *pieces[MOST_PIECES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < MOST_PIECES; i++)
        if (all[i].is_needed)
            pieces[count++] = ms_embedded_code_find(all[i].name);
    write_imports(w, pieces, count);
    for (uint32_t i = 0; i < count; i++)
        append(w, body_of(pieces[i]));
}

const char *ms_pytorch_code(ms_arena *arena, const ms_step_task *task,
                            const ms_treatments *treatments)
{
    writer w = {arena, task, treatments, (uint32_t)task->model->num_layers, NULL};
    const char *treat = ms_treatments_text(treatments, w.count, arena);
    if (!treat)
        return NULL;
    if (!*treat)
        return "# Nothing to change: every layer keeps what autograd saves.";
    w.text = ms_arena_printf(arena,
                             "# SPDX-License-Identifier: GPL-3.0-or-later\n"
                             "# Written by memscope, for a Hugging Face causal language model:\n"
                             "# %s\n",
                             treat);
    needs n = needs_of(&w);
    write_pieces(&w, n);
    if (n.recompute || n.offload || n.tile || n.tile_attention)
        write_layers(&w);
    if (n.loss)
        write_loss(&w);
    if (!w.text)
        return NULL;
    return ms_arena_printf(arena, "%.*s", (int)strlen(w.text) - 1, w.text);
}
