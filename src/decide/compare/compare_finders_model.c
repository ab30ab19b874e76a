/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causes in the model's parameters and in their optimizer.
 */
#include "decide/compare/compare_finders.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Figures of one rank stand for a share of the model, and packed weights for several each. */
static bool has_counts(const ms_compare_evidence *e)
{
    bool is_one = e->view->first->world_size <= 1 && e->view->second->world_size <= 1;
    return is_one && !e->first->is_quantized && !e->second->is_quantized &&
           e->first->parameters > 0 && e->second->parameters > 0;
}

/* ---- weights ---- */

bool ms_compare_find_quantization(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!a->knows_weights || !b->knows_weights || a->is_quantized == b->is_quantized ||
        !ms_compare_differs(e, MS_IN_WEIGHT))
        return false;
    cause->name = "quantization";
    cause->first = a->is_quantized ? "quantized weights" : "weights that are not quantized";
    cause->second = b->is_quantized ? "quantized weights" : "weights that are not quantized";
    cause->touches = MS_IN_ANY;
    cause->signed_by = MS_IN_WEIGHT;
    cause->sign = b->is_quantized ? -1 : 1;
    cause->bytes = ms_compare_size_of(e, MS_IN_WEIGHT | MS_IN_GRADIENT | MS_IN_STATE);
    return true;
}

static int bytes_of(const char *dtype)
{
    if (strcmp(dtype, "fp32") == 0)
        return 4;
    return strcmp(dtype, "bf16") == 0 || strcmp(dtype, "fp16") == 0 ? 2 : 0;
}

bool ms_compare_find_dtype(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!a->knows_weights || !b->knows_weights || a->is_quantized || b->is_quantized ||
        strcmp(a->dtype, b->dtype) == 0 || bytes_of(a->dtype) == bytes_of(b->dtype) ||
        !ms_compare_differs(e, MS_IN_WEIGHT))
        return false;
    cause->name = "dtype";
    cause->first = ms_compare_text(e, "weights of %.20s", a->dtype);
    cause->second = ms_compare_text(e, "weights of %.20s", b->dtype);
    cause->brief = ms_compare_text(e, "of %.20s", a->dtype);
    cause->touches = MS_IN_ANY;
    cause->signed_by = MS_IN_WEIGHT;
    bool is_known = bytes_of(a->dtype) > 0 && bytes_of(b->dtype) > 0;
    cause->sign = !is_known ? 0 : bytes_of(b->dtype) > bytes_of(a->dtype) ? 1 : -1;
    cause->bytes = ms_compare_size_of(e, MS_IN_WEIGHT | MS_IN_GRADIENT | MS_IN_STATE);
    return true;
}

static const char *model_text(ms_compare_evidence *e, const ms_recorded_step *s, uint64_t count,
                              bool has_layers)
{
    if (has_layers)
        return ms_compare_text(e, "%" PRIu64 " layers and %" PRIu64 " parameters", s->layers,
                               count);
    return ms_compare_text(e, "%" PRIu64 " parameters", count);
}

/* Those of adapters are not the model's. */
bool ms_compare_find_model(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!has_counts(e) || !a->knows_adapter || !b->knows_adapter ||
        !ms_compare_differs(e, MS_IN_WEIGHT) || a->adapter_parameters >= a->parameters ||
        b->adapter_parameters >= b->parameters)
        return false;
    uint64_t before = a->parameters - a->adapter_parameters;
    uint64_t after = b->parameters - b->adapter_parameters;
    if (before == after)
        return false;
    bool has_layers = a->layers > 0 && b->layers > 0 && a->layers != b->layers;
    double change = fabs((double)after / (double)before - 1);
    cause->name = "model";
    cause->first = model_text(e, a, before, has_layers);
    cause->second = model_text(e, b, after, has_layers);
    if (!has_layers)
        cause->brief = ms_compare_text(e, "%" PRIu64, before);
    cause->touches = MS_IN_ANY;
    cause->signed_by = MS_IN_WEIGHT;
    cause->sign = after > before ? 1 : -1;
    cause->bytes = change * (double)e->view->first->peak_bytes;
    if (!has_layers) /* other widths: activations grow less than weights */
        cause->most = 2 * cause->bytes;
    return true;
}

static const char *trained_text(ms_compare_evidence *e, const ms_recorded_step *s)
{
    const char *lora = s->adapter_parameters > 0 ? " (LoRA)" : "";
    if (s->trainable == s->parameters)
        return "all parameters trained";
    return ms_compare_text(e, "%" PRIu64 " of %" PRIu64 " parameters trained%s", s->trainable,
                           s->parameters, lora);
}

/* Frozen parameters, adapters: a share that differs by at least a hundredth of all. */
bool ms_compare_find_frozen(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!has_counts(e) || !ms_compare_differs(e, MS_IN_GRADIENT | MS_IN_STATE | MS_IN_SAVED))
        return false;
    double before = (double)a->trainable / (double)a->parameters;
    double after = (double)b->trainable / (double)b->parameters;
    bool is_other_adapter = a->knows_adapter && b->knows_adapter && a->trainable != b->trainable &&
                            a->adapter_parameters != b->adapter_parameters;
    if (fabs(after - before) < 0.01 && !is_other_adapter)
        return false;
    cause->name = "trained_parameters";
    cause->first = trained_text(e, a);
    cause->second = trained_text(e, b);
    cause->brief = a->trainable == a->parameters ? "all" : NULL;
    cause->touches = MS_IN_ANY;
    cause->signed_by = MS_IN_GRADIENT | MS_IN_STATE;
    cause->sign = a->parameters > 0 && fabs(after - before) < 0.01 ? 0 : after > before ? 1 : -1;
    cause->bytes = ms_compare_size_of(e, MS_IN_GRADIENT | MS_IN_STATE);
    return true;
}

/* ---- the optimizer ---- */

/* Bytes of states for each byte of weights that are trained; NaN: not known. */
static double states_of(const ms_recorded_step *s)
{
    int size = s->dtype ? bytes_of(s->dtype) : 0;
    if (size == 0 || s->trainable == 0)
        return (double)NAN;
    return (double)s->optimizer_bytes / ((double)s->trainable * size);
}

static bool is_adam(const char *name)
{
    return strcmp(name, "adam") == 0 || strcmp(name, "adamw") == 0;
}

/* Two whose states are equally large are no cause. */
bool ms_compare_find_optimizer(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const char *a = e->first->optimizer, *b = e->second->optimizer;
    if (!a || !b || strcmp(a, b) == 0 || (is_adam(a) && is_adam(b)) ||
        !ms_compare_differs(e, MS_IN_STATE))
        return false;
    double before = states_of(e->first), after = states_of(e->second);
    if (fabs(after - before) <= 0.01 * fmax(before, after))
        return false;
    cause->name = "optimizer";
    cause->first = ms_compare_text(e, "%.80s as its optimizer", a);
    cause->second = ms_compare_text(e, "%.80s as its optimizer", b);
    cause->brief = a;
    cause->touches = MS_IN_STATE | MS_IN_TEMPORARY;
    cause->signed_by = MS_IN_STATE;
    cause->sign = after > before ? 1 : after < before ? -1 : 0;
    cause->bytes = ms_compare_size_of(e, MS_IN_STATE);
    return true;
}

/* It decides what the optimizer needs while it runs, which counts where that is the peak. */
bool ms_compare_find_implementation(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    const ms_compare_row *phase = ms_compare_phase(e, "optimizer");
    if (!a->optimizer_impl || !b->optimizer_impl || !a->optimizer || !b->optimizer ||
        strcmp(a->optimizer, b->optimizer) != 0 ||
        strcmp(a->optimizer_impl, b->optimizer_impl) == 0)
        return false;
    bool is_higher = e->view->residual > 0;
    const ms_recorded *high = is_higher ? e->view->second : e->view->first;
    if (!phase || phase->residual == 0 || (phase->residual > 0) != is_higher ||
        !ms_compare_has_peak_in(high, "optimizer"))
        return false;
    cause->name = "optimizer_implementation";
    cause->first = ms_compare_text(e, "a %.10s optimizer", a->optimizer_impl);
    cause->second = ms_compare_text(e, "a %.10s optimizer", b->optimizer_impl);
    cause->brief = ms_compare_text(e, "a %.10s one", a->optimizer_impl);
    cause->touches = MS_IN_TEMPORARY;
    cause->bytes = fabs((double)e->view->residual);
    return true;
}
