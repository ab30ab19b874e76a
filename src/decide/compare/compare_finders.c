/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causes in what a step is given and in how it is computed.
 */
#include "decide/compare/compare_finders.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- compare finders model ---- */

/* Causes in the model's parameters and in their optimizer. */

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

/* ---- compare finders ranks ---- */

/* Causes in how ranks share a step: how many they are, which one it is, what they share. */

static uint64_t world_of(const ms_recorded *r)
{
    return r->world_size > 0 ? r->world_size : 1;
}

/* Sharing reaches into all categories, and either way. */
static void fill(ms_compare_evidence *e, ms_compare_cause *cause, const char *name)
{
    cause->name = name;
    cause->touches = MS_IN_ANY;
    cause->bytes = fabs((double)e->view->residual);
}

static const char *world_text(ms_compare_evidence *e, uint64_t world)
{
    return world == 1 ? "one rank" : ms_compare_text(e, "%" PRIu64 " ranks", world);
}

static bool is_replica(const ms_recorded_step *s)
{
    return s->data_parallel && strcmp(s->data_parallel, "DistributedDataParallel") == 0;
}

/* More ranks have smaller shards; replicas are as large whatever their number. What a rank computes
 * is another part only where a prediction says that layers, tokens or widths are divided, or none
 * says how. */
bool ms_compare_find_world_size(ms_compare_evidence *e, ms_compare_cause *cause)
{
    uint64_t a = world_of(e->view->first), b = world_of(e->view->second);
    bool has_layout = e->first->layout || e->second->layout;
    bool splits = e->first->splits_work || e->second->splits_work;
    if (a == b || (is_replica(e->first) && is_replica(e->second) && !splits) ||
        !ms_compare_differs(e, MS_IN_WEIGHT | MS_IN_GRADIENT | MS_IN_STATE | MS_IN_TEMPORARY))
        return false;
    fill(e, cause, "world_size");
    if (has_layout && !splits)
        cause->touches = MS_IN_ANY & ~(uint32_t)MS_IN_SAVED;
    cause->signed_by = MS_IN_WEIGHT | MS_IN_STATE;
    cause->sign = b > a ? -1 : 1;
    cause->bytes = ms_compare_size_of(e, cause->touches);
    cause->first = world_text(e, a);
    cause->second = world_text(e, b);
    cause->brief = a == 1 ? "one" : ms_compare_text(e, "%" PRIu64, a);
    return true;
}

bool ms_compare_find_rank(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded *a = e->view->first, *b = e->view->second;
    bool has_stages = e->first->has_stages || e->second->has_stages;
    if (!a->has_rank || !b->has_rank || a->rank == b->rank || world_of(a) != world_of(b) ||
        !ms_compare_differs(e, MS_IN_WEIGHT | MS_IN_STATE))
        return false;
    fill(e, cause, "rank");
    cause->bytes = ms_compare_size_of(e, MS_IN_WEIGHT | MS_IN_GRADIENT | MS_IN_STATE);
    if (!has_stages) /* shards that are not of one size */
        cause->most = cause->bytes;
    cause->first = ms_compare_text(e, "rank %" PRIu64, a->rank);
    cause->second = ms_compare_text(e, "rank %" PRIu64, b->rank);
    return true;
}

static const char *strategy_text(const char *name)
{
    return strcmp(name, "none") == 0 ? "no data parallelism" : name;
}

/* Two predictions state their whole layouts; a capture the data parallelism that it saw. */
bool ms_compare_find_strategy(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    bool has_layouts = a->layout && b->layout;
    const char *before = has_layouts ? a->layout : a->data_parallel;
    const char *after = has_layouts ? b->layout : b->data_parallel;
    uint64_t world_a = world_of(e->view->first), world_b = world_of(e->view->second);
    bool is_same = !before || !after || strcmp(before, after) == 0;
    if (is_same || world_a == 1 || world_b == 1 ||
        (world_a != world_b && strcmp(a->data_parallel, b->data_parallel) == 0))
        return false; /* the layouts may differ by the number of ranks alone */
    fill(e, cause, "strategy");
    cause->first = ms_compare_text(e, "%.120s", strategy_text(before));
    cause->second = ms_compare_text(e, "%.120s", strategy_text(after));
    return true;
}

bool ms_compare_find_resharding(ms_compare_evidence *e, ms_compare_cause *cause)
{
    const ms_recorded_step *a = e->first, *b = e->second;
    if (!a->knows_resharding || !b->knows_resharding || a->reshards == b->reshards ||
        !a->data_parallel || !b->data_parallel || strcmp(a->data_parallel, b->data_parallel) != 0)
        return false;
    static const char stay[] = "parameters that stay gathered after forward";
    static const char go[] = "parameters that are resharded after forward";
    fill(e, cause, "resharding");
    cause->first = a->reshards ? go : stay;
    cause->second = b->reshards ? go : stay;
    cause->brief = a->reshards ? "resharded ones" : "ones that stay";
    cause->bytes = ms_compare_size_of(e, MS_IN_WEIGHT | MS_IN_COMPUTED);
    return true;
}

#undef DECLARE

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
