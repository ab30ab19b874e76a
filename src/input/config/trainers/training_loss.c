/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loop, loss and Liger kernels in files of training settings. Settings that the run's model or
 * device does not support are listed as unsupported.
 */
#include "input/config/trainers/training_loss.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/run/liger.h"
#include "input/config/trainers/others/training_sft.h"
#include "input/config/trainers/training_reading.h"

static ms_status set_label_smoothing(ms_training_reading *r)
{
    static const char field[] = "label-smoothing";
    ms_training_topic topic = MS_TOPIC_LABEL_SMOOTHING;
    if (!ms_training_is_some(r, topic) || ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (r->model->head != MS_HEAD_CAUSAL_LM || r->model->outputs_router_logits)
        return ms_training_leave_out(r, topic, MS_EFFECT_ADDS, "the loss with label smoothing");
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
    if (!bits || ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (r->is_sft) /* whose head stays */
        bits &= ~(uint64_t)MS_LIGER_LOSS;
    const ms_liger_family *family = ms_liger_family_of(r->model);
    bits &= family ? family->kernels : 0;
    if (!bits)
        return ms_training_leave_out(r, topic, MS_EFFECT_NONE,
                                     "Liger has no kernels for this family, so nothing changes");
    if (ms_training_on_cpu(r) || r->model->head != MS_HEAD_CAUSAL_LM ||
        r->ranks == MS_PARALLEL_ZERO)
        return ms_training_leave_out(r, topic, MS_EFFECT_SAVES,
                                     "Liger's kernels; logits and loss are those of PyTorch");
    return ms_training_offer(r, field, ms_liger_text(r->arena, bits), topic);
}

/* axolotl, LLaMA-Factory and ms-swift run transformers' Trainer. */
static ms_status set_loop(ms_training_reading *r)
{
    static const bool is_trainer[MS_TRAINING_FORMAT_COUNT] = {[MS_TRAINING_HF] = true,
                                                              [MS_TRAINING_AXOLOTL] = true,
                                                              [MS_TRAINING_FACTORY] = true,
                                                              [MS_TRAINING_SWIFT] = true};
    if (r->file.format == MS_TRAINING_V1)
        return ms_training_offer(r, "loop", "loader", MS_TOPIC_BATCH);
    return is_trainer[r->file.format] ? ms_training_offer(r, "loop", "trainer", MS_TOPIC_BATCH)
                                      : MS_OK;
}

ms_status ms_training_set_loss(ms_training_reading *r)
{
    static ms_status (*const steps[])(ms_training_reading *) = {set_label_smoothing, set_liger,
                                                                set_loop, ms_training_set_sft_loss};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == MS_OK; i++)
        status = steps[i](r);
    return status;
}

bool ms_training_has_own_loss(const ms_training_reading *r)
{
    const char *treat = ms_run_field_is_set(r->draft, "treat") ? r->draft->run.treat : "";
    return ms_run_field_is_set(r->draft, "loss") || strstr(treat, "loss=");
}
