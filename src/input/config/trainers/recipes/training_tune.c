/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/recipes/training_tune.h"

#include <string.h>

#include "base/size.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_loss.h"
#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/training_loss.h"

static bool has_ranks(const ms_training_reading *r)
{
    return r->draft->run.parallel.layout.kind != MS_PARALLEL_NONE;
}

/* ---- the loss ---- */

/* Models without the last layer hand their states on, and the loss applies it. */
static ms_status set_loss(ms_training_reading *r)
{
    const char *name = ms_training_last_name(ms_training_text(r, MS_TOPIC_LOSS, ""));
    if (!*name || strcmp(name, "CrossEntropyLoss") == 0 || ms_training_has_own_loss(r) ||
        ms_run_field_is_set(r->draft, "liger"))
        return MS_OK;
    if (strcmp(name, "LinearCrossEntropyLoss") == 0 &&
        !ms_loss_not_with(r->model, &r->draft->run, MS_LOSS_TORCHTUNE))
        return ms_training_offer(r, "loss", "torchtune", MS_TOPIC_LOSS);
    if (strcmp(name, "LinearCrossEntropyLoss") == 0)
        return ms_training_leave_out(r, MS_TOPIC_LOSS, MS_EFFECT_SAVES,
                                     "head and loss in pieces; here they are of all tokens at "
                                     "once");
    if (strcmp(name, "CEWithChunkedOutputLoss") == 0)
        return ms_training_leave_out(r, MS_TOPIC_LOSS, MS_EFFECT_SAVES,
                                     "logits that are widened piece by piece; here all at once");
    return ms_training_leave_out(r, MS_TOPIC_LOSS, MS_EFFECT_EITHER, "another loss");
}

/* ---- the optimizer ---- */

static ms_status set_in_backward(ms_training_reading *r)
{
    static const char field[] = "optimizer-in-backward";
    const ms_training_topic topic = MS_TOPIC_IN_BACKWARD;
    if (!ms_training_flag(r, topic, false) || ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (ms_training_has_adapter(r))
        return ms_training_leave_out(r, topic, MS_EFFECT_NONE,
                                     "recipes for adapters do not read it");
    if (has_ranks(r) || ms_training_on_cpu(r))
        return ms_training_leave_out(r, topic, MS_EFFECT_SAVES,
                                     "optimizer steps in the backward pass");
    return ms_training_offer(r, field, "yes", topic);
}

/* ---- saved tensors on the host ---- */

/* With a stream of its own, copies keep five tensors in forward; as many may come back. */
static uint64_t most_on_the_way(const ms_model_config *model, const struct ms_run_config *run)
{
    enum { STASH = 5, BACK = 5 };
    const ms_size tokens = ms_size_mul(ms_size_of(run->batch), run->seq_tokens);
    const ms_size input =
        ms_size_mul(ms_size_mul(tokens, model->hidden_size), ms_dtype_info_of(run->dtype)->bytes);
    return ms_size_capped(ms_size_mul(input, STASH + BACK));
}

static ms_status set_offloading(ms_training_reading *r)
{
    const ms_training_topic topic = MS_TOPIC_OFFLOADING;
    if (!ms_training_flag(r, topic, false))
        return MS_OK;
    if (!ms_training_flag(r, MS_TOPIC_CHECKPOINTING, false))
        return ms_training_fail(r, topic,
                                "torchtune refuses it without enable_activation_checkpointing");
    if (has_ranks(r) || ms_training_on_cpu(r) || ms_run_field_is_set(r->draft, "treat") ||
        ms_run_field_is_set(r->draft, "plan"))
        return ms_training_leave_out_host(r, topic, "saved tensors on the host");
    ms_status status = ms_training_offer_inputs_on_host(r, topic);
    if (status != MS_OK || !ms_training_flag(r, MS_TOPIC_STREAMS, true))
        return status;
    return ms_training_leave_out_bounded(r, topic,
                                         "inputs of layers that are on their way to the host or "
                                         "back: copies have a stream of their own",
                                         most_on_the_way);
}

ms_status ms_training_set_tune(ms_training_reading *r)
{
    static ms_status (*const steps[])(ms_training_reading *) = {
        set_loss, set_in_backward, set_offloading, ms_training_expand_segments};
    ms_status status = MS_OK;
    bool is_tune = r->file.format == MS_TRAINING_TORCHTUNE;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && is_tune && status == MS_OK; i++)
        status = steps[i](r);
    return status;
}
