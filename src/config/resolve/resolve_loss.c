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
    if (c->run->training.logits_to_keep && c->model->sharing_layers)
        return ms_resolve_fail(c, "logits-to-keep",
                               "layers that share keys would run on the kept tokens alone, which "
                               "is not supported");
    return c->run->training.logits_to_keep ? check_head(c, "logits-to-keep") : MS_OK;
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

ms_status ms_resolve_loss(const ms_resolving *c)
{
    ms_status status = resolve_liger(c);
    if (status == MS_OK)
        status = resolve_label_smoothing(c);
    return status == MS_OK ? resolve_logits_to_keep(c) : status;
}
