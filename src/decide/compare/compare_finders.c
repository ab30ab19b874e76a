/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causes in what a step is given and in how it is computed.
 */
#include "decide/compare/compare_finders.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- inputs ---- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static const char *size_text(ms_compare_evidence *e, const ms_recorded_step *s, bool has_batch,
                             bool has_seq)
{
    const char *up_to = s->has_other_inputs ? "up to " : "";
    if (has_batch && has_seq)
        return ms_compare_text(e, "%s%" PRIu64 " x %" PRIu64 " tokens a micro-batch", up_to,
                               s->batch, s->seq);
    if (has_seq)
        return ms_compare_text(e, "%s%" PRIu64 " token%s a sequence", up_to, s->seq,
                               plural(s->seq));
    return ms_compare_text(e, "%sa batch of %" PRIu64, up_to, s->batch);
}

bool ms_compare_find_inputs(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    bool has_batch = a->batch > 0 && b->batch > 0 && a->batch != b->batch;
    bool has_seq = a->seq > 0 && b->seq > 0 && a->seq != b->seq;
    if ((!has_batch && !has_seq) || !ms_compare_differs(e, MS_IN_INPUT | MS_IN_COMPUTED))
        return false;
    double of_batch = has_batch ? (double)b->batch / (double)a->batch : 1;
    double of_seq = has_seq ? (double)b->seq / (double)a->seq : 1;
    double ratio = of_batch * of_seq; /* unfused attention grows with the square of the length */
    double steep = ratio > 1 ? fmax(ratio, ratio * of_seq) : fmin(ratio, ratio * of_seq);
    double before = e->first_bytes[MS_COMPARE_ACTIVATION] + e->first_bytes[MS_COMPARE_TEMPORARY];
    double after = e->second_bytes[MS_COMPARE_ACTIVATION] + e->second_bytes[MS_COMPARE_TEMPORARY];
    double base = fmax(before, after / ratio);
    cause->name = has_batch && has_seq ? "batch_and_sequence_length"
                  : has_seq            ? "sequence_length"
                                       : "batch";
    cause->first = size_text(e, a, has_batch, has_seq);
    cause->second = size_text(e, b, has_batch, has_seq);
    if (has_batch != has_seq && !a->has_other_inputs)
        cause->brief =
            ms_compare_text(e, "%s%" PRIu64, has_seq ? "" : "of ", has_seq ? a->seq : a->batch);
    cause->touches = MS_IN_INPUT | MS_IN_COMPUTED;
    cause->signed_by = MS_IN_COMPUTED;
    cause->sign = ratio > 1 ? 1 : ratio < 1 ? -1 : 0;
    e->known_bytes = (ratio - 1) * base;
    cause->bytes = fabs(e->known_bytes);
    cause->most = fabs(steep - 1) * base;
    return true;
}

/* ---- what is computed, and kept ---- */

static const char *recomputed_text(ms_compare_evidence *e, const ms_recorded_step *s)
{
    if (s->recomputed_layers == 0)
        return "no layer checkpointed";
    return ms_compare_text(e, "%" PRIu64 " of %" PRIu64 " layers checkpointed",
                           s->recomputed_layers, s->layers);
}

/* Layers are counted where both have some: 15 of 30 and 8 of 16 are the same kind of step. */
bool ms_compare_find_checkpointing(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!a->knows_recomputed || !b->knows_recomputed || a->layers == 0 || b->layers == 0)
        return false;
    double share_a = (double)a->recomputed_layers / (double)a->layers;
    double share_b = (double)b->recomputed_layers / (double)b->layers;
    if (fabs(share_a - share_b) < 1e-9 || !ms_compare_differs(e, MS_IN_COMPUTED))
        return false;
    cause->name = "checkpointing";
    cause->first = recomputed_text(e, a);
    cause->second = recomputed_text(e, b);
    if (a->recomputed_layers == 0)
        cause->brief = "none";
    cause->touches = MS_IN_COMPUTED;
    cause->signed_by = MS_IN_SAVED;
    cause->sign = share_b > share_a ? -1 : 1;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_COMPUTED) - e->known_bytes);
    return true;
}

static bool is_unfused(const char *attention)
{
    return strcmp(attention, "eager") == 0 || strcmp(attention, "math") == 0 ||
           strcmp(attention, "unfused") == 0;
}

static bool is_same_attention(const char *a, const char *b)
{
    bool is_open = strcmp(a, "unfused") == 0 || strcmp(b, "unfused") == 0;
    return strcmp(a, b) == 0 || (is_open && is_unfused(a) && is_unfused(b));
}

/* PyTorch chooses one of its own by the dtype: that one is another is no cause of its own then. */
static bool is_chosen(const ms_recorded_step *s)
{
    static const char *const own[] = {"flash", "efficient", "cudnn", "math"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(s->attention[0], own[i]) == 0)
            return true;
    return false;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static const char *attention_text(ms_compare_evidence *e, const ms_recorded_step *s)
{
    return ms_compare_text(e, "%.40s%s%.40s attention", s->attention[0],
                           s->attention_count > 1 ? " and " : "",
                           s->attention_count > 1 ? s->attention[1] : "");
}

bool ms_compare_find_attention(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (a->attention_count == 0 || b->attention_count == 0 ||
        !ms_compare_differs(e, MS_IN_COMPUTED))
        return false;
    for (uint32_t i = 0; i < a->attention_count; i++)
        for (uint32_t k = 0; k < b->attention_count; k++)
            if (is_same_attention(a->attention[i], b->attention[k]))
                return false;
    bool is_same_dtype = is_same_text(a->dtype, b->dtype) && is_same_text(a->autocast, b->autocast);
    if (!is_same_dtype && is_chosen(a) && is_chosen(b))
        return false;
    bool was_unfused = is_unfused(a->attention[0]), is_now = is_unfused(b->attention[0]);
    cause->name = "attention";
    cause->first = attention_text(e, a);
    cause->second = attention_text(e, b);
    cause->touches = MS_IN_COMPUTED;
    cause->signed_by = MS_IN_COMPUTED;
    cause->sign = is_now - was_unfused;
    e->known_bytes += e->attention_bytes;
    cause->bytes = fabs(e->attention_bytes);
    if (cause->bytes > 0)
        cause->most = cause->bytes;
    return true;
}

static const char *autocast_text(ms_compare_evidence *e, const char *dtype)
{
    return strcmp(dtype, "none") == 0 ? "no autocast"
                                      : ms_compare_text(e, "autocast to %.20s", dtype);
}

bool ms_compare_find_autocast(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const char *a = e->first->autocast, *b = e->second->autocast;
    if (!a || !b || strcmp(a, b) == 0 || !ms_compare_differs(e, MS_IN_COMPUTED))
        return false;
    cause->name = "autocast";
    cause->first = autocast_text(e, a);
    cause->second = autocast_text(e, b);
    cause->touches = MS_IN_COMPUTED;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_COMPUTED) - e->known_bytes);
    return true;
}

bool ms_compare_find_compilation(ms_compare_evidence *e, ms_compare_cause *cause)
{
    bool a = e->first->is_compiled, b = e->second->is_compiled;
    if (a == b || !ms_compare_differs(e, MS_IN_COMPUTED))
        return false;
    cause->name = "compilation";
    cause->first = a ? "parts that are compiled" : "no parts that are compiled";
    cause->second = b ? "parts that are compiled" : "no parts that are compiled";
    cause->brief = a ? cause->first : "none";
    cause->touches = MS_IN_COMPUTED;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_COMPUTED) - e->known_bytes);
    return true;
}

bool ms_compare_find_evaluation(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    bool is_second = b->is_evaluating;
    if (a->is_evaluating == b->is_evaluating || !ms_compare_differs(e, MS_IN_SAVED))
        return false;
    const char *idle = ms_compare_text(e, "a model in evaluation mode, whose dropout does nothing");
    cause->name = "evaluation_mode";
    cause->first = is_second ? "a model in training mode" : idle;
    cause->second = is_second ? idle : "a model in training mode";
    cause->brief = is_second ? "one in training mode" : NULL;
    cause->touches = MS_IN_COMPUTED;
    cause->signed_by = MS_IN_SAVED;
    cause->sign = is_second ? -1 : 1;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_SAVED) - e->known_bytes);
    return true;
}

/* ---- passes and steps ---- */

static const char *micro_steps_text(ms_compare_evidence *e, const ms_recorded_step *s)
{
    return ms_compare_text(e, "%" PRIu64 " micro-batch%s a step", s->micro_steps,
                           s->micro_steps == 1 ? "" : "es");
}

bool ms_compare_find_accumulation(ms_compare_evidence *e, ms_compare_cause *cause)
{
    uint64_t a = e->first->micro_steps, b = e->second->micro_steps;
    bool has_stages = e->first->has_stages || e->second->has_stages;
    if (a == 0 || b == 0 || a == b || has_stages || !ms_compare_differs(e, MS_IN_GRADIENT))
        return false;
    cause->name = "accumulation";
    cause->first = micro_steps_text(e, e->first);
    cause->second = micro_steps_text(e, e->second);
    cause->brief = ms_compare_text(e, "%" PRIu64, a);
    cause->touches = MS_IN_GRADIENT | MS_IN_INPUT | MS_IN_TEMPORARY;
    cause->signed_by = MS_IN_GRADIENT;
    cause->sign = a > 1 && b > 1 ? 0 : b > a ? 1 : -1;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_GRADIENT));
    cause->most = 2 * cause->bytes; /* what is added to them is a temporary */
    return true;
}

bool ms_compare_find_backward(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded *a = e->view->first, *b = e->view->second;
    bool is_second = e->second->micro_steps == 0;
    if (a->phase_count == 0 || b->phase_count == 0 || (e->first->micro_steps == 0) == is_second)
        return false;
    cause->name = "backward";
    cause->first = is_second ? "a backward pass" : "no backward pass";
    cause->second = is_second ? "no backward pass" : "a backward pass";
    cause->brief = is_second ? "one" : "none";
    cause->touches = MS_IN_ANY;
    cause->bytes = fabs((double)e->view->residual);
    return true;
}

/* Before the optimizer runs for the first time there are no states. */
static bool is_first_step(const ms_recorded *r, double states_at_peak)
{
    return !r->is_static && r->steps == 1 && r->step.optimizer_bytes > 0 &&
           states_at_peak < 0.5 * (double)r->step.optimizer_bytes;
}

bool ms_compare_find_first_step(ms_compare_evidence *e, ms_compare_cause *cause)
{
    static const char early[] = "a first step, in which the optimizer's states do not exist yet";
    bool a = is_first_step(e->view->first, e->first_bytes[MS_COMPARE_STATE]);
    bool b = is_first_step(e->view->second, e->second_bytes[MS_COMPARE_STATE]);
    if (a == b || !ms_compare_differs(e, MS_IN_STATE))
        return false;
    cause->name = "first_step";
    cause->first = a ? early : "a later step";
    cause->second = b ? early : "a later step";
    cause->touches = MS_IN_STATE;
    cause->signed_by = MS_IN_STATE;
    cause->sign = b ? -1 : 1;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_STATE));
    return true;
}

/* That a norm is there counts only where it is the peak. */
bool ms_compare_find_clipping(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_compare_row *clip = ms_compare_phase(e, "clip");
    if (!clip || clip->has_first == clip->has_second ||
        !ms_compare_has_peak_in(clip->has_first ? e->view->first : e->view->second, "clip"))
        return false;
    cause->name = "clipping";
    cause->first = clip->has_first ? "clipped gradients" : "gradients that are not clipped";
    cause->second = clip->has_second ? "clipped gradients" : "gradients that are not clipped";
    cause->touches = MS_IN_TEMPORARY;
    cause->bytes = fabs(ms_compare_sum(e, MS_IN_TEMPORARY));
    return true;
}
