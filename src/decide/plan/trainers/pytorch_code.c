/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch code for any treatments: the files of python/memscope/pytorch that they need, and the
 * function that applies them to a model.
 */
#include "decide/plan/trainers/pytorch_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json/embedded.h"
#include "decide/plan/trainers/expressible.h"
#include "decide/plan/trainers/ranks_text.h"
#include "input/config/model/model_config.h"
#include "input/config/treatment/row.h"

/* ---- pytorch treat ---- */

typedef struct pytorch_treat_writer {
    ms_arena *arena;
    const ms_treatments *treatments;
    uint32_t count; /* of layers */
    bool is_reentrant;
    const char *text; /* NULL: out of memory */
} pytorch_treat_writer;

static void pytorch_treat_append(pytorch_treat_writer *w, const char *more)
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

static bool is_first_of_its_kind(const pytorch_treat_writer *w, uint32_t layer, int respect)
{
    for (uint32_t i = 0; i < layer; i++)
        if (is_same(&w->treatments->layers[i], &w->treatments->layers[layer], respect))
            return false;
    return true;
}

/* "range(0, 8)", or "(*range(0, 8), 9)", of those that are treated like `layer`. */
static const char *layer_set(pytorch_treat_writer *w, uint32_t layer, int respect)
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
static const char *fill_in(pytorch_treat_writer *w, const char *call, const char *more)
{
    const char *gap = strstr(call, "%s");
    return gap ? ms_arena_printf(w->arena, "%.*s%s%s", (int)(gap - call), call, more, gap + 2)
               : call;
}

static const char *kept_list(pytorch_treat_writer *w, const ms_treatment *t)
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
static const char *kind_call(pytorch_treat_writer *w, const ms_treatment *t)
{
    const ms_kind_row *row = &ms_treatment_kinds[t->kind];
    const char *more = row->value == MS_KIND_OF_OPS_OR_SHARE ? kept_list(w, t)
                       : w->is_reentrant                     ? ", use_reentrant=True"
                                                             : "";
    if (!more || !row->code.call)
        return more ? "" : NULL;
    return fill_in(w, row->code.call, more);
}

static void write_loop(pytorch_treat_writer *w, const char *set, const char *call)
{
    if (!set || !call)
        w->text = NULL;
    else if (*call)
        pytorch_treat_append(
            w, ms_arena_printf(w->arena, "    for i in %s:\n        %s\n", set, call));
}

static const char *part_call(pytorch_treat_writer *w, int part, uint32_t value)
{
    char pieces[16];
    snprintf(pieces, sizeof pieces, "%" PRIu32, value);
    return fill_in(w, ms_treatment_parts[part]->code.call, pieces);
}

static void write_parts(pytorch_treat_writer *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        for (int part = 0; part < MS_PART_COUNT && w->text; part++) {
            uint32_t value = w->treatments->layers[i].parts[part];
            if (value > 0 && is_first_of_its_kind(w, i, part))
                write_loop(w, layer_set(w, i, part), part_call(w, part, value));
        }
}

static void write_kinds(pytorch_treat_writer *w)
{
    for (uint32_t i = 0; i < w->count && w->text; i++)
        if (is_first_of_its_kind(w, i, SAME_KIND))
            write_loop(w, layer_set(w, i, SAME_KIND), kind_call(w, &w->treatments->layers[i]));
}

/* "range(0, 8)" of the layers whose checkpoint's input goes to this place; "" when none does. */
static const char *input_set(pytorch_treat_writer *w, ms_input_place place)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->treatments->layers[i].input == place)
            return layer_set(w, i, SAME_INPUT);
    return "";
}

static void write_inputs(pytorch_treat_writer *w)
{
    for (int place = 0; place < MS_INPUT_PLACE_COUNT && w->text; place++) {
        const char *call = ms_input_places[place].code.call;
        const char *set = call ? input_set(w, (ms_input_place)place) : "";
        if (!set || *set)
            write_loop(w, set, call);
    }
}

static void write_offload(pytorch_treat_writer *w)
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
        pytorch_treat_append(w, ms_arena_printf(w->arena, "    Offload(layers, {%s}%s%s)\n", shares,
                                                *inputs ? ", inputs=" : "", inputs));
}

static void write_loss(pytorch_treat_writer *w)
{
    if (w->treatments->loss_chunks > 0)
        pytorch_treat_append(w, ms_arena_printf(w->arena, "    chunk_loss(model, %" PRIu32 ")\n",
                                                w->treatments->loss_chunks));
}

const char *ms_pytorch_treat(ms_arena *arena, const ms_treatments *treatments, uint32_t layers,
                             bool is_reentrant)
{
    pytorch_treat_writer w = {arena, treatments, layers, is_reentrant, ""};
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

/* ---- pytorch code ---- */

typedef struct writer {
    ms_arena *arena;
    const ms_treatments *treatments;
    uint32_t count; /* of layers */
    bool is_reentrant;
    double fraction;  /* of the device's memory that the allocator is held to; 0: it is not */
    const char *text; /* NULL: out of memory */
} writer;

static void append(writer *w, const char *more)
{
    if (w->text)
        w->text = more ? ms_arena_printf(w->arena, "%s%s", w->text, more) : NULL;
}

/* ---- the pieces ---- */

enum { MOST_FILES = 16 };

/* Files of python/memscope/pytorch, each behind those that it uses. */
typedef struct needs {
    const char *files[MOST_FILES];
    uint32_t file_count;
    bool layers; /* any layer is treated */
} needs;

/* Those that others use, and some more, come first, in this order; then the others. */
static uint32_t rank_of(const char *file)
{
    static const char *const first[] = {
        "layers", "checkpoint_layer", "selective",       "save_on_cpu", "offload", "pieces",
        "again",  "tiled_mlp",        "tiled_attention", "loss"};
    uint32_t i = 0;
    while (i < sizeof first / sizeof *first && strcmp(first[i], file) != 0)
        i++;
    return i;
}

static void need(needs *n, const char *const *files, uint32_t count)
{
    for (uint32_t i = 0; i < count && files[i]; i++) {
        uint32_t at = 0, rank = rank_of(files[i]);
        while (at < n->file_count && strcmp(n->files[at], files[i]) != 0)
            at++;
        if (at < n->file_count || at == MOST_FILES)
            continue;
        for (n->file_count++; at > 0 && rank_of(n->files[at - 1]) > rank; at--)
            n->files[at] = n->files[at - 1];
        n->files[at] = files[i];
    }
}

static void need_code(needs *n, const ms_treatment_code *code)
{
    need(n, code->pieces, MS_MOST_CODE_PIECES);
    n->layers |= code->pieces[0] != NULL;
}

static needs needs_of(const writer *w)
{
    static const char *const layers[] = {"layers"}, *const loss[] = {"layers", "pieces", "loss"};
    needs n = {0};
    if (w->treatments->loss_chunks > 0)
        need(&n, loss, 3);
    for (uint32_t i = 0; i < w->count; i++) {
        const ms_treatment *t = &w->treatments->layers[i];
        need_code(&n, &ms_treatment_kinds[t->kind].code);
        need_code(&n, &ms_input_places[t->input].code);
        for (int part = 0; part < MS_PART_COUNT; part++)
            if (t->parts[part])
                need_code(&n, &ms_treatment_parts[part]->code);
    }
    if (n.layers)
        need(&n, layers, 1);
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

/* Of another piece, which is in the same text. */
static bool is_of_a_piece(const char *line)
{
    return strncmp(line, "from .", 6) == 0;
}

static bool is_third_party(const char *line)
{
    return strstr(line, "torch") || strstr(line, "transformers");
}

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
                if (copy && (is_of_a_piece(copy) || is_third_party(copy) != of_torch ||
                             strstr(imports, copy)))
                    continue;
                imports = copy ? ms_arena_printf(w->arena, "%s%s", imports, copy) : NULL;
            }
    append(w, imports);
    if (w->fraction > 0 && imports && !strstr(imports, "import torch\n"))
        append(w, "import torch\n");
}

const char *ms_pytorch_limit_call(ms_arena *arena, double fraction)
{
    return ms_arena_printf(arena, "torch.cuda.set_per_process_memory_fraction(%.9g)", fraction);
}

static void write_limit(writer *w)
{
    const char *call = w->fraction > 0 ? ms_pytorch_limit_call(w->arena, w->fraction) : "";
    if (!call || *call)
        append(w, call ? ms_arena_printf(
                             w->arena,
                             "\n# The plan counts on an allocator that reserves no more than this "
                             "share of the device's memory.\n"
                             "# Run it before the first allocation.\n%s\n",
                             call)
                       : NULL);
}

static void write_pieces(writer *w, const needs *n)
{
    const char *pieces[MOST_FILES];
    for (uint32_t i = 0; i < n->file_count; i++)
        pieces[i] = ms_embedded_code_find(n->files[i]);
    write_imports(w, pieces, n->file_count);
    write_limit(w);
    for (uint32_t i = 0; i < n->file_count; i++)
        append(w, body_of(pieces[i]));
}

/* The whole text: the pieces, and `treat`. */
static void write_all(writer *w, const char *treat)
{
    w->text = ms_arena_printf(w->arena,
                              "# SPDX-License-Identifier: GPL-3.0-or-later\n"
                              "# Written by memscope, for a Hugging Face causal language model:\n"
                              "# %s\n",
                              *treat ? treat : "every layer keeps what autograd saves");
    needs n = needs_of(w);
    write_pieces(w, &n);
    if (n.file_count == 0)
        return;
    append(w, "\n\n");
    append(w, ms_pytorch_treat(w->arena, w->treatments, w->count, w->is_reentrant));
}

static void write_ranks(writer *w, const ms_run_config *run)
{
    const char *text = NULL;
    if (ms_ranks_pytorch(w->arena, run, false, &text, NULL) != MS_OK)
        text = NULL;
    append(w, text ? "\n\n" : NULL);
    append(w, text);
    append(w, "\n");
}

const char *ms_pytorch_code(ms_arena *arena, const ms_step_task *task,
                            const ms_treatments *treatments)
{
    return ms_pytorch_held_code(arena, task, treatments, 0);
}

const char *ms_pytorch_held_code(ms_arena *arena, const ms_step_task *task,
                                 const ms_treatments *treatments, double fraction)
{
    writer w = {.arena = arena,
                .treatments = treatments,
                .count = (uint32_t)task->model->num_layers,
                .is_reentrant = task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT,
                .fraction = fraction};
    const char *treat = ms_treatments_text(treatments, w.count, arena);
    if (!treat)
        return NULL;
    const bool has_ranks = task->run->parallel.layout.kind != MS_PARALLEL_NONE;
    if (!*treat && !(fraction > 0) && !has_ranks)
        return "# Nothing to change: every layer keeps what autograd saves.";
    write_all(&w, treat);
    if (has_ranks)
        write_ranks(&w, task->run);
    return w.text ? ms_arena_printf(arena, "%.*s", (int)strlen(w.text) - 1, w.text) : NULL;
}
