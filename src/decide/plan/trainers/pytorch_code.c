/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch code for any treatments: the files of python/memscope/pytorch that they need, and the
 * function that applies them to a model.
 */
#include <stdio.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/treatment/row.h"
#include "input/config/treatment/treatment.h"
#include "base/json/embedded.h"
#include "decide/plan/trainers/expressible.h"
#include "decide/plan/trainers/pytorch_treat.h"
#include "decide/plan/trainers/ranks_text.h"

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
