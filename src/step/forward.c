/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/forward.h"

#include "model/blocks/blocks.h"
#include "model/families.h"
#include "ops/ops.h"

/* What accelerate makes of outputs: what ran under autocast is handed on in fp32. */
static ms_tensor handed_on(ms_tape *tape, ms_tensor output)
{
    if (tape->run->autocast == MS_AUTOCAST_NONE || !output)
        return output;
    ms_tensor wide = ms_to(tape, ms_unown(tape, output), MS_DTYPE_F32);
    ms_retain(tape, wide);
    return wide;
}

static ms_tensor run_program(ms_model *model, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    tape->has_autocast = tape->run->autocast != MS_AUTOCAST_NONE;
    tape->autocast_dtype = tape->run->autocast == MS_AUTOCAST_F16 ? MS_DTYPE_F16 : MS_DTYPE_BF16;
    ms_tensor out = model->config->family->program->forward(model, ids, ids);
    ms_retain(tape, out);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    tape->has_autocast = false;
    return out;
}

ms_outputs ms_forward(ms_model *model, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_outputs out = {.loss = run_program(model, ids)};
    if (model->run->label_smoothing > 0) {
        ms_tensor logits = handed_on(tape, out.loss);
        out.loss = ms_smoothed_loss(model, logits, ids);
        ms_retain(tape, out.loss);
        if (model->keeps_logits)
            out.logits = logits;
        else
            ms_release(tape, logits);
        return out;
    }
    if (model->keeps_logits)
        out.logits = handed_on(tape, model->output_logits);
    model->output_logits = 0;
    return out;
}
