/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/why.h"
#include "input/config/model/model_config.h"
#include "input/config/treatment/treatment.h"

#include <inttypes.h>
#include <string.h>

/* Parts that are less than this of the peak explain nothing. */
enum { WORTH_PERMILLE = 50, MOST_PARTS = 4 };

static const char *none(const ms_view *v)
{
    (void)v;
    return "";
}

static const char *of_weights(const ms_view *v)
{
    const ms_simulation *s = v->ledger->simulation;
    const uint64_t frozen = s->param_count - s->trainable_param_count;
    if (frozen > s->param_count / 2)
        return " (most of them frozen)";
    return frozen > s->param_count / 20 ? " (some of them frozen)" : "";
}

static const char *of_gradients(const ms_view *v)
{
    return v->ledger->run->training.accumulate > 1 ? " (micro-batches accumulate them)"
                                                   : " (kept until the optimizer's step)";
}

static const char *of_states(const ms_view *v)
{
    return ms_arena_printf(v->arena, " (%s keeps them from step to step)",
                           ms_optimizer_traits_of(v->ledger->run->training.optimizer)->name);
}

static const char *of_activations(const ms_view *v)
{
    const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    const ms_treatment *layers = v->ledger->run->treatments.layers;
    uint64_t kept = 0, count = v->ledger->model->num_layers;
    for (uint64_t i = 0; i < count; i++)
        kept += ms_treatment_equal(&layers[i], &keep);
    if (kept == 0)
        return " (kept for backward: inputs of checkpointed layers, and everything outside these "
               "layers)";
    if (kept == count)
        return " (kept for backward, as no layer is checkpointed)";
    return ms_arena_printf(
        v->arena, " (kept for backward: %" PRIu64 " of %" PRIu64 " layers keep all of theirs)",
        kept, count);
}

static const char *of_temporaries(const ms_view *v)
{
    return *v->peak_operator ? " (tensors that this operator reads and writes)" : "";
}

static const char *(*const reasons[MS_CATEGORY_COUNT])(const ms_view *v) = {
    [MS_CATEGORY_WEIGHT] = of_weights,
    [MS_CATEGORY_BUFFER] = none,
    [MS_CATEGORY_GRADIENT] = of_gradients,
    [MS_CATEGORY_OPTIMIZER_STATE] = of_states,
    [MS_CATEGORY_INPUT] = none,
    [MS_CATEGORY_ACTIVATION] = of_activations,
    [MS_CATEGORY_TEMPORARY] = of_temporaries,
    [MS_CATEGORY_WORKSPACE] = none,
};

static const char *reason_of(const ms_view *v, const char *label)
{
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        if (strcmp(ms_category_name((ms_category)c), label) == 0)
            return reasons[c](v);
    return "";
}

/* "29.92 GiB optimizer states (...), 14.96 GiB weights": the largest first. */
static const char *parts(const ms_view *v)
{
    const uint64_t peak_bytes = v->ledger->peak->bytes;
    const char *text = "";
    for (uint32_t i = 0; i < v->category_count && i < MOST_PARTS && text; i++) {
        const ms_view_row *row = &v->categories[i];
        char size[MS_BYTES_TEXT];
        if (ms_permille(row->bytes, peak_bytes) < WORTH_PERMILLE)
            break;
        const char *reason = reason_of(v, row->label);
        if (!reason)
            return NULL;
        text = ms_arena_printf(v->arena, "%s%s%s %s%s", text, i ? ", " : "",
                               ms_bytes_text(row->bytes, size), row->label, reason);
    }
    return text;
}

/* "; the allocator adds 1.39 GiB (1.8 %)" */
static const char *added(const ms_view *v)
{
    const ms_summary *s = v->summary;
    char size[MS_BYTES_TEXT];
    if (v->ledger->run->allocator.kind == MS_ALLOCATOR_RAW ||
        s->reserved_memory_bytes <= s->peak_memory_bytes)
        return "";
    uint64_t bytes = s->reserved_memory_bytes - s->peak_memory_bytes;
    uint32_t permille = ms_permille(bytes, s->peak_memory_bytes);
    return ms_arena_printf(v->arena, "; the allocator adds %s (%" PRIu32 ".%" PRIu32 " %%)",
                           ms_bytes_text(bytes, size), permille / 10, permille % 10);
}

/* The phase before the steady step in which most is reserved; NULL where that is not a phase's. */
static const ms_phase_usage *first_phase(const ms_view *v)
{
    const ms_usage *usage = v->ledger->usage;
    for (uint32_t i = 0; i < usage->first_steady_phase; i++)
        if (usage->phases.items[i].peak_reserved_bytes == v->summary->first_step_reserved_bytes)
            return &usage->phases.items[i];
    return NULL;
}

/* "; the first step reserves 16.00 MiB more, in optimizer: at most 5.00 GiB, ..." */
static const char *of_first_step(const ms_view *v)
{
    const ms_summary *s = v->summary;
    const ms_phase_usage *phase = first_phase(v);
    char more[MS_BYTES_TEXT], most[MS_BYTES_TEXT];
    if (s->first_step_reserved_bytes <= s->reserved_memory_bytes || !phase)
        return "";
    ms_bytes_text(s->first_step_reserved_bytes - s->reserved_memory_bytes, more);
    ms_bytes_text(phase->peak_bytes, most);
    const char *cause = phase->peak_bytes > s->peak_memory_bytes
                            ? "more than in later steps"
                            : "in blocks that the allocator splits differently in later steps";
    return ms_arena_printf(v->arena, "; the %s step reserves %s more, in %s: its peak is %s, %s",
                           phase->step == 1 ? "first" : "second", more,
                           ms_phase_name((ms_phase)phase->phase), most, cause);
}

const char *ms_why_job_part(const ms_summary *s)
{
    if (strcmp(s->job_peak_stage, "evaluation") == 0)
        return "in the evaluation";
    return strcmp(s->job_peak_stage, "build") == 0 ? "when the model is built"
                                                   : "in the first step";
}

/* "; the job's peak is 2.18 GiB, in the evaluation" */
static const char *of_evaluation(const ms_view *v)
{
    const ms_summary *s = v->summary;
    char most[MS_BYTES_TEXT];
    if (strcmp(s->job_peak_stage, "evaluation") != 0)
        return "";
    return ms_arena_printf(v->arena, "; the job's peak is %s, in the evaluation",
                           ms_bytes_text(s->job_peak_memory_bytes, most));
}

const char *ms_why_text(const ms_view *v)
{
    char size[MS_BYTES_TEXT];
    const char *alive = parts(v), *more = added(v), *first = of_first_step(v),
               *evaluation = of_evaluation(v);
    if (!alive || !more || !first || !evaluation)
        return NULL;
    return ms_arena_printf(v->arena, "the peak of %s is in %s%s%s%s%s%s%s%s",
                           ms_bytes_text(v->summary->peak_memory_bytes, size),
                           v->summary->peak_stage, *v->peak_operator ? ", in " : "",
                           v->peak_operator, *alive ? ": " : "", alive, more, first, evaluation);
}
