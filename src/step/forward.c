/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/forward.h"

#include "autograd/rerun.h"
#include "model/blocks/blocks.h"
#include "model/families.h"
#include "ops/ops.h"

/* What accelerate makes of outputs: what ran under autocast is handed on in fp32. */
static ms_tensor handed_on(const ms_model *model, ms_tensor output)
{
    ms_tape *tape = model->tape;
    if (model->run->autocast == MS_AUTOCAST_NONE || !output)
        return output;
    ms_tensor wide = ms_to(tape, ms_unown(tape, output), MS_DTYPE_F32);
    ms_retain(tape, wide);
    return wide;
}

/* Trainer gives a model no labels where it smooths them itself. */
static ms_model_outputs run_program(ms_model *model, ms_tensor ids, bool keeps_logits)
{
    ms_tape *tape = model->tape;
    const ms_model_inputs in = {.ids = ids,
                                .labels = model->run->training.label_smoothing > 0 ? 0 : ids,
                                .kept_logits = model->run->training.logits_to_keep,
                                .keeps_logits = keeps_logits};
    ms_model_outputs out = {0};
    tape->has_autocast = model->run->autocast != MS_AUTOCAST_NONE;
    tape->autocast_dtype = model->run->autocast == MS_AUTOCAST_F16 ? MS_DTYPE_F16 : MS_DTYPE_BF16;
    ms_model_forward(model, &in, &out);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    tape->has_autocast = false;
    return out;
}

ms_model_outputs ms_forward(ms_model *model, ms_tensor ids, bool keeps_logits)
{
    ms_tape *tape = model->tape;
    ms_model_outputs out = run_program(model, ids, keeps_logits);
    out.logits = handed_on(model, out.logits);
    if (model->run->training.label_smoothing > 0) {
        out.loss = ms_hand_out(
            tape, ms_smoothed_loss(model, out.logits, ids, model->run->training.logits_to_keep));
        ms_release(tape, out.auxiliary);
        out.auxiliary = 0;
    }
    if (!keeps_logits) {
        ms_release(tape, out.logits);
        out.logits = 0;
    }
    return out;
}
