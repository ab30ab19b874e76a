/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Head and loss: settings that change the model's own, and whether this model supports them.
 */
#include "config/resolve/resolve_loss.h"

#include "config/resolve/resolving.h"

static ms_status check_head(const ms_resolving *c, const char *field)
{
    return c->model->head == MS_HEAD_CAUSAL_LM
               ? MS_OK
               : ms_resolve_fail(c, field, "it is supported for causal language models only");
}

static ms_status resolve_label_smoothing(const ms_resolving *c)
{
    static const char field[] = "label-smoothing";
    if (c->run->training.label_smoothing <= 0)
        return MS_OK;
    if (c->model->outputs_router_logits)
        return ms_resolve_fail(c, field,
                               "Trainer's loss omits the routers' auxiliary loss: not supported "
                               "with output_router_logits");
    return check_head(c, field);
}

static ms_status resolve_logits_to_keep(const ms_resolving *c)
{
    static const char field[] = "logits-to-keep";
    if (!c->run->training.logits_to_keep)
        return MS_OK;
    if (c->model->family->has_no_attention)
        return ms_resolve_fail(c, field, "it is not predicted for %s", c->model->model_type);
    if (c->model->sharing_layers)
        return ms_resolve_fail(c, field,
                               "layers that share keys would run on the kept tokens alone, which "
                               "is not supported");
    return check_head(c, field);
}

static ms_status resolve_liger(const ms_resolving *c)
{
    static const char field[] = "liger";
    const ms_model_config *model = c->model;
    if (!c->run->liger)
        return MS_OK;
    if (c->run->device->is_cpu)
        return ms_resolve_fail(c, field, "its kernels run on GPUs only, but the device is the cpu");
    const ms_liger_family *family = c->run->liger_family = ms_liger_family_of(model);
    if (!family)
        return ms_resolve_fail(c, field, "Liger has no kernels for %s", model->family->model_type);
    uint64_t missing = c->run->liger & ~family->kernels;
    if (missing && c->run->liger != MS_LIGER_ALL)
        return ms_resolve_fail(c, field, "Liger has no %s for %s, only %s",
                               ms_liger_text(c->arena, missing), model->family->model_type,
                               ms_liger_text(c->arena, family->kernels));
    c->run->liger &= family->kernels;
    if ((c->run->liger & MS_LIGER_SWIGLU) && model->num_experts &&
        ms_is_packed(&c->run->quantization) && c->run->quantization.kind == MS_QUANTIZE_FP8_BLOCK)
        return ms_resolve_fail(c, field, "Liger's experts cannot read weights in fp8-block");
    if (ms_liger_fuses_head(c->run->liger, family) && c->run->training.logits_to_keep)
        return ms_resolve_fail(c, "logits-to-keep",
                               "Liger's loss needs the hidden states of all tokens");
    return check_head(c, field);
}

/* What the heads of trainers are not predicted with; NULL: nothing. */
static const char *without(const ms_run_config *run)
{
    if (run->training.label_smoothing > 0)
        return "label-smoothing";
    if (run->training.logits_to_keep)
        return "logits-to-keep";
    if (run->liger & MS_LIGER_LOSS)
        return "Liger's loss";
    if (run->treatments.loss_chunks > 1)
        return "a loss in chunks";
    const ms_layout *layout = &run->parallel.layout;
    bool is_whole = layout->kind == MS_PARALLEL_NONE || layout->kind == MS_PARALLEL_DDP;
    bool shards = run->training.loss == MS_LOSS_TORCHTUNE && layout->kind == MS_PARALLEL_FSDP2 &&
                  layout->tensor == 1 && layout->context == 1 && !ms_layout_has_stages(layout) &&
                  run->parallel.units == MS_UNITS_LAYERS;
    return is_whole || shards ? NULL : "parts of the model on several GPUs";
}

static ms_status resolve_tune_loss(const ms_resolving *c)
{
    static const char field[] = "loss";
    const ms_model_config *model = c->model;
    bool is_plain = !model->caps_logits && !model->family->scales_logits &&
                    !model->outputs_router_logits && !model->is_encoder_decoder;
    return is_plain ? check_head(c, field)
                    : ms_resolve_fail(c, field, "torchtune's head is not predicted for %s",
                                      model->model_type);
}

/* It reads hidden states and the head's weight as they are. */
static ms_status resolve_cut_loss(const ms_resolving *c)
{
    static const char field[] = "loss";
    const ms_model_config *model = c->model;
    const ms_run_config *run = c->run;
    if (run->device->is_cpu)
        return ms_resolve_fail(c, field, "its kernels run on GPUs only, but the device is the cpu");
    if (run->dtype != MS_DTYPE_BF16 && run->dtype != MS_DTYPE_F16)
        return ms_resolve_fail(c, field, "cut cross entropy needs weights in bf16 or fp16");
    bool is_plain = !model->caps_logits && !model->family->scales_logits &&
                    !model->outputs_router_logits && !model->is_encoder_decoder;
    return is_plain ? check_head(c, field)
                    : ms_resolve_fail(c, field, "cut cross entropy is not predicted for %s",
                                      model->model_type);
}

/* Whose head it is, by ms_loss. */
static const char *const owners[] = {[MS_LOSS_MODEL] = "",
                                     [MS_LOSS_TRL] = "TRL's head",
                                     [MS_LOSS_TORCHTUNE] = "torchtune's head",
                                     [MS_LOSS_CUT] = "cut cross entropy"};

ms_status ms_resolve_trl_loss(const ms_resolving *c)
{
    static const char field[] = "loss";
    if (c->run->training.loss == MS_LOSS_MODEL)
        return MS_OK;
    const char *by = without(c->run);
    if (by)
        return ms_resolve_fail(c, field, "%s is not predicted with %s",
                               owners[c->run->training.loss], by);
    if (c->run->training.loss == MS_LOSS_TORCHTUNE)
        return resolve_tune_loss(c);
    if (c->run->training.loss == MS_LOSS_CUT)
        return resolve_cut_loss(c);
    ms_status status = check_head(c, field);
    if (status != MS_OK || c->run->batch == 1 || !ms_may_be_padded(c->run))
        return status;
    return ms_note_add(c->notes, c->arena, c->err,
                       "TRL pads to the longest sequence of each batch: batches of other lengths "
                       "leave blocks in PyTorch's cache, so that more may be reserved (in 14 runs "
                       "of small models these figures were up to 39 %% too low)");
}

ms_status ms_resolve_loss(const ms_resolving *c)
{
    ms_status status = resolve_liger(c);
    if (status == MS_OK)
        status = resolve_label_smoothing(c);
    return status == MS_OK ? resolve_logits_to_keep(c) : status;
}

/* What the batches of a loop are not predicted for; NULL: they are. */
static const char *fixed_for(const ms_resolving *c)
{
    const ms_layout *layout = &c->run->parallel.layout;
    if (c->model->is_encoder_decoder || c->model->image_tokens || c->model->mel_bins)
        return c->model->model_type;
    if (c->run->images.count)
        return "images";
    if (ms_layout_has_stages(layout))
        return "pipelines";
    return layout->context > 1 ? "context parallelism" : NULL;
}

ms_status ms_resolve_loop(const ms_resolving *c)
{
    const char *what = fixed_for(c);
    if (c->run->training.loop == MS_LOOP_FIXED || !what)
        return MS_OK;
    const ms_loop asked = c->run->training.loop;
    c->run->training.loop = MS_LOOP_FIXED;
    return ms_note_add(
        c->notes, c->arena, c->err,
        "the batches of a loop (%s) are not predicted for %s: one batch stays on the "
        "device",
        ms_loop_names[asked], what);
}
