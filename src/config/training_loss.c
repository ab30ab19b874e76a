/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What files of training settings say of the loss, of Liger's kernels, and of what happens between
 * steps. What the run's model or device cannot have is listed as left out.
 */
#include <inttypes.h>
#include <string.h>

#include "config/liger.h"
#include "config/nearest.h"
#include "config/training_reading.h"

static bool is_on_cpu(const ms_training_reading *r)
{
    return ms_run_field_said(r->draft, "device") && ms_name_equal(r->draft->device, "cpu");
}

static ms_status leave_out(ms_training_reading *r, ms_training_topic topic, const char *text)
{
    ms_error at = {0};
    ms_json_value value = r->file.values[topic];
    ms_json_error_set(&at, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    return ms_note_add(r->left_out, r->arena, r->err, "%s (line %u of the training arguments): %s",
                       ms_json_key(value), at.line, text);
}

/* Given, and no 0. */
static bool is_some(const ms_training_reading *r, ms_training_topic topic)
{
    double x;
    return r->file.given[topic] &&
           ms_json_get_number(r->file.values[topic], 0, 0, &x, NULL) != MS_OK;
}

static ms_status set_label_smoothing(ms_training_reading *r)
{
    static const char field[] = "label-smoothing";
    ms_training_topic topic = MS_TOPIC_LABEL_SMOOTHING;
    if (!is_some(r, topic) || ms_run_field_said(r->draft, field))
        return MS_OK;
    if (r->model->head != MS_HEAD_CAUSAL_LM || r->model->outputs_router_logits)
        return leave_out(r, topic, "the loss with label smoothing");
    return ms_training_offer(r, field, ms_training_number(r, topic), topic);
}

/* ---- Liger ---- */

static const struct {
    ms_training_topic topic;
    ms_liger bit;
} kernels[] = {
    {MS_TOPIC_LIGER_ROPE, MS_LIGER_ROPE},
    {MS_TOPIC_LIGER_RMS_NORM, MS_LIGER_RMS_NORM},
    {MS_TOPIC_LIGER_SWIGLU, MS_LIGER_SWIGLU},
    {MS_TOPIC_LIGER_LOSS, MS_LIGER_LOSS},
};

/* Of the kernels the file names, and the topic that says so; `usual` are those it need not name. */
static uint64_t liger_kernels(const ms_training_reading *r, uint64_t usual,
                              ms_training_topic *topic)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        uint64_t bit = (uint64_t)kernels[i].bit;
        bool has = ms_training_flag(r, kernels[i].topic, (usual & bit) != 0);
        bits |= has ? bit : 0;
        if (has && r->file.given[kernels[i].topic])
            *topic = kernels[i].topic;
    }
    return bits;
}

static ms_status set_liger(ms_training_reading *r)
{
    static const char field[] = "liger";
    bool is_axolotl = r->file.format == MS_TRAINING_AXOLOTL;
    ms_training_topic topic = MS_TOPIC_LIGER;
    if (!is_axolotl && !ms_training_flag(r, MS_TOPIC_LIGER, false))
        return MS_OK;
    uint64_t bits = liger_kernels(r, is_axolotl ? 0 : MS_LIGER_ALL, &topic);
    /* Families whose gate is a GELU have their own word, and Liger passes over the other. */
    if (!is_axolotl && r->model->activation != MS_ACTIVATION_SILU) {
        bits &= ~(uint64_t)MS_LIGER_SWIGLU;
        bits |= ms_training_flag(r, MS_TOPIC_LIGER_GEGLU, true) ? MS_LIGER_SWIGLU : 0;
    }
    if (!bits || ms_run_field_said(r->draft, field))
        return MS_OK;
    const ms_liger_family *family = ms_liger_family_of(r->model);
    bits &= family ? family->kernels : 0;
    if (!bits)
        return leave_out(r, topic, "Liger has no kernels for this family, and nothing changes");
    if (is_on_cpu(r) || r->model->head != MS_HEAD_CAUSAL_LM)
        return leave_out(r, topic, "Liger's kernels; logits and the loss are those of PyTorch");
    return ms_training_offer(r, field, ms_liger_text(r->arena, bits), topic);
}

/* ---- between steps ---- */

static ms_status set_empty_cache(ms_training_reading *r)
{
    ms_training_topic topic = MS_TOPIC_EMPTY_CACHE;
    if (!r->file.given[topic])
        return MS_OK;
    if (is_on_cpu(r))
        return leave_out(r, topic, "emptying the cache between steps: the cpu has none");
    return ms_training_offer(r, "empty-cache-steps", ms_training_number(r, topic), topic);
}

/* The topic that turns an evaluation on; MS_TOPIC_COUNT: nothing does. */
static ms_training_topic evaluating_topic(const ms_training_reading *r)
{
    const char *strategy = ms_training_text(r, MS_TOPIC_EVAL_STRATEGY, "");
    bool is_off = strcmp(strategy, "no") == 0;
    if (r->file.format == MS_TRAINING_AXOLOTL)
        return is_some(r, MS_TOPIC_VALIDATION) && !is_off ? MS_TOPIC_VALIDATION : MS_TOPIC_COUNT;
    if (*strategy && !is_off)
        return MS_TOPIC_EVAL_STRATEGY;
    if (ms_training_flag(r, MS_TOPIC_DO_EVAL, false))
        return MS_TOPIC_DO_EVAL;
    return ms_training_flag(r, MS_TOPIC_EVAL_ON_START, false) ? MS_TOPIC_EVAL_ON_START
                                                              : MS_TOPIC_COUNT;
}

/* What a batch of the evaluation has when the file does not say. */
static const char *usual_eval_batch(const ms_training_reading *r)
{
    return r->file.format == MS_TRAINING_AXOLOTL
               ? ms_arena_printf(r->arena, "%" PRIu64, r->draft->batch)
               : "8";
}

static ms_status set_evaluation(ms_training_reading *r)
{
    static const char field[] = "eval-batch";
    ms_training_topic on = evaluating_topic(r), topic = MS_TOPIC_EVAL_BATCH;
    bool is_given = r->file.given[topic];
    if (on == MS_TOPIC_COUNT || ms_run_field_said(r->draft, field))
        return MS_OK;
    bool on_host = ms_run_field_said(r->draft, "parameter-device") && r->draft->parameter_device;
    if (r->model->head != MS_HEAD_CAUSAL_LM || r->model->outputs_router_logits || on_host)
        return leave_out(r, on, "evaluation between steps and the logits it keeps");
    ms_status status =
        ms_training_offer(r, field, is_given ? ms_training_number(r, topic) : usual_eval_batch(r),
                          is_given ? topic : on);
    if (status != MS_OK || ms_run_field_said(r->draft, "eval-logits") ||
        ms_training_flag(r, MS_TOPIC_LOSS_ONLY, false))
        return status;
    return ms_note_add(r->notes, r->arena, r->err,
                       "the evaluation is taken to want the loss alone: with compute_metrics the "
                       "device keeps logits too (--eval-logits)");
}

ms_status ms_training_set_loss(ms_training_reading *r)
{
    static ms_status (*const steps[])(ms_training_reading *) = {set_label_smoothing, set_liger,
                                                                set_empty_cache, set_evaluation};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == MS_OK; i++)
        status = steps[i](r);
    return status;
}
