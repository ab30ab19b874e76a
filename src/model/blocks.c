/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls of the shared modules.
 */
#include "model/blocks.h"

#include "ops/ops.h"

void ms_model_init(ms_model *model, ms_tape *tape, ms_arena *arena, const ms_model_config *config,
                   const ms_run_config *run)
{
    ms_symbols *s = &tape->trace->symbols;
    *model = (ms_model){.tape = tape,
                        .arena = arena,
                        .config = config,
                        .run = run,
                        .batch = ms_dim_name(s, "B", run->batch),
                        .seq = ms_dim_name(s, "S", run->seq_tokens),
                        .hidden = ms_dim_name(s, "H", config->hidden_size),
                        .intermediate = ms_dim_name(s, "I", config->intermediate_size),
                        .vocab = ms_dim_name(s, "V", config->vocab_size),
                        .heads = ms_dim_name(s, "Hq", config->num_heads),
                        .kv_heads = ms_dim_name(s, "Hk", config->num_kv_heads),
                        .head_dim = ms_dim_name(s, "D", config->head_dim)};
}

ms_tensor ms_layer_call(ms_model *model, const ms_region *region, ms_tensor hidden)
{
    if (model->run->checkpoint_layer[region->number])
        return ms_checkpoint_run(model->tape, region, hidden);
    return region->run(model->tape, region->context, region->number, hidden);
}

ms_tensor ms_linear_call(ms_model *model, const ms_linear_module *module, ms_tensor x)
{
    uint32_t previous = ms_scope_enter(model->tape, module->scope);
    ms_tensor out = ms_linear(model->tape, x, module->weight, module->bias);
    model->tape->scope = previous;
    return out;
}

ms_tensor ms_layer_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    uint32_t previous = ms_scope_enter(model->tape, module->scope);
    ms_tensor out = ms_layer_norm(model->tape, x, module->weight, module->bias);
    model->tape->scope = previous;
    return out;
}

ms_tensor ms_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_dtype input_dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, ms_pow(tape, *hidden)));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, scale));
    ms_tensor out = ms_mul(tape, module->weight, ms_to(tape, *hidden, input_dtype));
    ms_retain(tape, out);
    ms_frame_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

/* 0.5 * x * (1 + tanh(c * (x + c * x**3))), operator by operator */
static ms_tensor gelu_new(ms_tape *tape, ms_tensor x)
{
    ms_tensor half = ms_mul_scalar(tape, x);
    ms_tensor cubic = ms_mul_scalar(tape, ms_pow(tape, x));
    ms_tensor inner = ms_mul_scalar(tape, ms_add(tape, x, cubic));
    ms_tensor outer = ms_add_scalar(tape, ms_tanh(tape, inner));
    return ms_mul(tape, half, outer);
}

ms_tensor ms_activation_call(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_retain(tape, x);
    ms_tensor out = 0;
    switch (model->config->activation) {
    case MS_ACTIVATION_SILU:
        out = ms_silu(tape, x);
        break;
    case MS_ACTIVATION_GELU:
    case MS_ACTIVATION_GELU_TANH:
        out = ms_gelu(tape, x);
        break;
    case MS_ACTIVATION_GELU_NEW:
        out = gelu_new(tape, x);
        break;
    case MS_ACTIVATION_RELU:
    case MS_ACTIVATION_COUNT:
        out = ms_relu(tape, x);
        break;
    }
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

ms_tensor ms_causal_lm_loss(ms_model *model, ms_tensor logits, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !logits)
        return 0;
    ms_frame f = ms_frame_begin(tape);
    ms_symbols *s = &tape->trace->symbols;
    ms_dim tokens = ms_dim_mul(s, model->batch, model->seq);
    ms_dim padded = ms_dim_add(s, model->seq, ms_dim_number(s, 1));
    ms_tensor *scores = ms_local(&f, ms_to(tape, logits, MS_DTYPE_F32));
    ms_tensor *shifted_from = ms_local(&f, labels);
    ms_assign(&f, shifted_from, ms_empty(tape, MS_SHAPE(model->batch, padded), MS_DTYPE_I64));
    ms_tensor *shifted =
        ms_local(&f, ms_contiguous(tape, ms_narrow(tape, *shifted_from, 1, model->seq)));
    ms_assign(&f, scores, ms_view(tape, *scores, MS_SHAPE(tokens, model->vocab)));
    ms_assign(&f, shifted, ms_view(tape, *shifted, MS_SHAPE(tokens)));
    ms_tensor loss = ms_cross_entropy(tape, *scores, *shifted);
    ms_retain(tape, loss);
    ms_frame_end(&f, NULL);
    return ms_unown(tape, loss);
}
