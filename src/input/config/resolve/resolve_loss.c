/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Head and loss: settings that change the model's own, and whether this model supports them.
 */
#include "input/config/resolve/resolve_loss.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "input/config/resolve/resolving.h"
#include "input/config/run/liger.h"
#include "input/config/run/run_config.h"

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
                               "it is not supported with output_router_logits, because Trainer's "
                               "loss omits the routers' auxiliary loss");
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
        return ms_resolve_fail(
            c, field,
            "layers that share keys would run on the kept tokens only, which is not supported");
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

/* Where the head is whole while it runs: the ends of FSDP2's model are gathered for it. */
static bool has_whole_head(const ms_run_config *run, ms_loss loss)
{
    const ms_layout *layout = &run->parallel.layout;
    const bool is_tunes = loss == MS_LOSS_TORCHTUNE;
    if (layout->kind == MS_PARALLEL_ZERO)
        return layout->stage < 3 && !is_tunes;
    if (layout->kind == MS_PARALLEL_FSDP2)
        return layout->tensor <= 1 && layout->context <= 1 && !ms_layout_has_stages(layout) &&
               (run->parallel.units == MS_UNITS_LAYERS || !is_tunes);
    return layout->kind == MS_PARALLEL_NONE || layout->kind == MS_PARALLEL_DDP;
}

/* TRL's head scales and caps what it makes; what the others take no logits of, NULL: nothing. */
static const char *logits_of(const ms_model_config *model)
{
    if (model->caps_logits)
        return "models that cap their logits";
    if (model->family->scales_logits)
        return "models that scale their logits";
    return model->outputs_router_logits ? "the routers' loss of output_router_logits" : NULL;
}

const char *ms_loss_not_with(const ms_model_config *model, const ms_run_config *run, ms_loss loss)
{
    if (model->head != MS_HEAD_CAUSAL_LM || model->is_encoder_decoder)
        return "models that are not causal language models";
    if (loss != MS_LOSS_TRL && logits_of(model))
        return logits_of(model);
    if (run->training.label_smoothing > 0)
        return "label-smoothing";
    if (run->training.logits_to_keep)
        return "logits-to-keep";
    if (run->liger & MS_LIGER_LOSS)
        return "Liger's loss";
    if (run->treatments.loss_chunks > 1)
        return "a loss in chunks";
    return has_whole_head(run, loss) ? NULL : "parts of the model on several GPUs";
}

/* Its kernels take 16 bits. */
static ms_status check_cut_loss(const ms_resolving *c)
{
    static const char field[] = "loss";
    enum { AMPERE = 80 };
    if (c->run->device->is_cpu || c->run->device->compute_capability < AMPERE)
        return ms_resolve_fail(c, field,
                               "the kernels of cut cross entropy need an NVIDIA GPU of compute "
                               "capability 8.0 or more");
    return c->run->dtype == MS_DTYPE_F32
               ? ms_resolve_fail(c, field,
                                 "cut cross entropy needs weights in bf16 or fp16, but the run is "
                                 "fp32")
               : MS_OK;
}

static ms_status check_labels(const ms_resolving *c)
{
    static const char field[] = "labels";
    const uint64_t labels = c->run->training.labels, most = ms_run_most_labels(c->run);
    if (!labels)
        return MS_OK;
    if (c->run->training.loss != MS_LOSS_TRL && c->run->training.loss != MS_LOSS_CUT)
        return ms_resolve_fail(c, field,
                               "they are counted only with --loss trl and cut-cross-entropy");
    return labels <= most
               ? MS_OK
               : ms_resolve_fail(c, field, "a micro-batch has at most %" PRIu64 " of them", most);
}

ms_status ms_resolve_own_loss(const ms_resolving *c)
{
    static const char field[] = "loss";
    ms_status status = check_labels(c);
    if (status != MS_OK || c->run->training.loss == MS_LOSS_MODEL)
        return status;
    static const char *const names[] = {[MS_LOSS_TRL] = "TRL's head",
                                        [MS_LOSS_CUT] = "cut cross entropy",
                                        [MS_LOSS_TORCHTUNE] = "torchtune's head"};
    const ms_loss loss = c->run->training.loss;
    const char *what = ms_loss_not_with(c->model, c->run, loss);
    if (what)
        return ms_resolve_fail(c, field, "%s is not predicted with %s", names[loss], what);
    if (loss != MS_LOSS_TRL)
        return loss == MS_LOSS_CUT ? check_cut_loss(c) : MS_OK;
    if (c->run->batch == 1 || !ms_may_be_padded(c->run))
        return MS_OK;
    return ms_note_add(c->notes, c->arena, c->err,
                       "TRL pads to the longest sequence of each batch, and batches of other "
                       "lengths leave blocks in PyTorch's cache, so more may be reserved (in 14 "
                       "runs of small models these figures were up to 39 %% too low)");
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
