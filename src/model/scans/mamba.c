/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba: each channel has states of its own, which go from token to token in a loop.
 */
#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/family.h"
#include "model/blocks/cache.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/recurrent/mamba_model.h"
#include "model/recurrent/selective_scan.h"
#include "model/recurrent/state_cache.h"
#include "torch/ops/ops.h"

enum { MOST_STATES = 1 << 14 };

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50280, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 768, MAX_HIDDEN),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("state_size", state_size, 16, MOST_STATES),
    COUNT("expand", expansion, 2, MAX_HEADS),
    COUNT("conv_kernel", convolution_width, 4, MAX_HEAD_DIM),
    { .name = "time_step_rank", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(step_rank),
      .null_kind = MS_DEFAULT_VALUE, .minimum = 1, .maximum = MAX_HIDDEN, .may_be_text = true },
    BOOL("use_bias", mlp_bias, false),
    BOOL("use_conv_bias", convolution_bias, true),
    BOOL("residual_in_fp32", residual_in_fp32, true),
    FIXED("use_mambapy", false),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    PAD_TOKEN_OR(0),
    DECODER_IGNORED, IGNORED("layer_norm_epsilon"), IGNORED("time_step_scale"),
    IGNORED("time_step_min"), IGNORED("time_step_max"), IGNORED("time_step_floor"),
    IGNORED("time_step_init_scheme"), IGNORED("rescale_prenorm_residual"),
    IGNORED("use_associative_scan"), IGNORED("intermediate_size"), IGNORED("d_model"),
    IGNORED("d_inner"), IGNORED("n_layer"), IGNORED("ssm_cfg"), IGNORED("rms_norm"),
    IGNORED("fused_add_norm"), IGNORED("pad_vocab_size_multiple"),
};
/* clang-format on */

typedef struct mixer {
    uint32_t scope;
    ms_convolution_module convolution;
    ms_linear_module in_proj, x_proj, dt_proj, out_proj;
    ms_tensor decay, direct; /* A_log, [inner, N], and D, [inner] */
    ms_dim inner, states, rank;
} mixer;

/* ---- construction ---- */

static ms_tensor own_parameter(ms_model *model, const mixer *m, const char *name, ms_shape shape,
                               uint32_t place)
{
    ms_tensor out = ms_parameter_new(model, m->scope, name, shape);
    ms_parameter_move_last(model, place);
    return out;
}

static void *build_mixer(ms_model *model, uint32_t parent)
{
    const ms_model_config *c = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    mixer *m = ms_arena_array(model->arena, mixer, 1);
    if (!m)
        return NULL;
    uint32_t first = model->tape->parameters.count;
    m->inner = model->intermediate;
    m->states = ms_dim_name(s, "N", c->state_size);
    m->rank = ms_dim_name(s, "Rt", c->step_rank);
    m->scope = ms_scope_add(model->tape, parent, "mixer", MS_NONE);
    ms_dim two = ms_dim_number(s, 2), width = ms_dim_number(s, c->convolution_width);
    m->convolution =
        ms_convolution_new(model, m->scope, "conv1d", m->inner, width, c->convolution_bias);
    m->in_proj = ms_linear_new(model, m->scope, "in_proj", model->hidden,
                               ms_dim_mul(s, two, m->inner), c->mlp_bias);
    ms_dim parts = ms_dim_add(s, m->rank, ms_dim_mul(s, two, m->states));
    m->x_proj = ms_linear_new(model, m->scope, "x_proj", m->inner, parts, false);
    m->dt_proj = ms_linear_new(model, m->scope, "dt_proj", m->rank, m->inner, true);
    m->decay = own_parameter(model, m, "A_log", MS_SHAPE(m->inner, m->states), first);
    m->direct = own_parameter(model, m, "D", MS_SHAPE(m->inner), first + 1);
    m->out_proj = ms_linear_new(model, m->scope, "out_proj", m->inner, model->hidden, c->mlp_bias);
    return m;
}

/* ---- the mixer ---- */

/* Arguments in fp32 of mamba_inner_fn, which does nothing without its kernel. */
static void call_nothing(ms_model *model, const mixer *m)
{
    ms_tape *tape = model->tape;
    if (tape->is_evaluating)
        return;
    const ms_tensor from[] = {m->out_proj.bias, m->direct, m->dt_proj.bias};
    ms_locals f = ms_locals_begin(tape);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        ms_local(&f, ms_in_fp32(tape, from[i]));
    ms_locals_end(&f, NULL);
}

/* dt_proj.weight @ step.transpose(1, 2): [B, inner, S]. Where the weight is trained, a product of
 * the rows of all sequences, turned and copied; else one for each sequence. */
static ms_tensor project_step(ms_model *model, const mixer *m, ms_tensor step)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !step)
        return 0;
    if (ms_info(tape, m->dt_proj.weight)->requires_grad)
        return ms_contiguous(tape,
                             ms_transpose(tape, ms_linear(tape, step, m->dt_proj.weight, 0), 1, 2));
    ms_tensor weight = ms_expand(tape, ms_unsqueeze(tape, m->dt_proj.weight, 0),
                                 MS_SHAPE(model->batch, m->inner, m->rank));
    return ms_bmm(tape, weight, ms_transpose(tape, step, 1, 2));
}

/* The mixer's locals, in the function's order. */
typedef struct call {
    ms_tensor *hidden, *projected, *decay, *mixed, *gate, *step, *key, *query, *step_bias, *output,
        *result;
} call;

static uint64_t layer_of(const ms_model *model, const mixer *m)
{
    return ms_scope_layer(model->tape, m->scope);
}

static void project(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    ms_tensor halves[2], parts[3];
    const ms_dim lengths[] = {m->rank, m->states, m->states};
    ms_tensor all = ms_linear_call(model, &m->in_proj, *t->hidden);
    t->projected = ms_local(f, ms_idle(tape) ? 0 : ms_transpose(tape, all, 1, 2));
    t->decay = ms_local(f, ms_neg(tape, ms_exp(tape, ms_in_fp32(tape, m->decay))));
    call_nothing(model, m);
    ms_split(tape, *t->projected, 1, m->inner, 2, halves);
    t->mixed = ms_local(f, halves[0]);
    t->gate = ms_local(f, halves[1]);
    ms_state_convolve(model, layer_of(model, m), &m->convolution, model->config->activation, f,
                      t->mixed);
    ms_assign(f, t->mixed, ms_idle(tape) ? 0 : ms_transpose(tape, *t->mixed, 1, 2));
    ms_split_into(tape, ms_linear_call(model, &m->x_proj, *t->mixed), 3, lengths, parts);
    t->step = ms_local(f, parts[0]);
    t->key = ms_local(f, parts[1]);
    t->query = ms_local(f, parts[2]);
    ms_assign(f, t->step, project_step(model, m, *t->step));
    t->step_bias = ms_local(f, ms_in_fp32(tape, m->dt_proj.bias));
}

/* One token's, [B, inner, 1]. */
static ms_tensor continue_scan(ms_model *model, const mixer *m, const call *t)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_selective_inputs in = {.hidden = ms_select(tape, *t->mixed, 1),
                                    .step = ms_select(tape, *t->step, 2),
                                    .decay = *t->decay,
                                    .key = ms_select(tape, *t->key, 1),
                                    .query = ms_select(tape, *t->query, 1),
                                    .direct = m->direct,
                                    .gate = ms_select(tape, *t->gate, 2),
                                    .step_bias = *t->step_bias};
    const ms_tensor state = model->cache->layers[layer_of(model, m)].values;
    return ms_unsqueeze(tape, ms_selective_update(model, &in, state), 2);
}

static void run_scan(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    ms_tensor state = 0;
    if (ms_idle(tape))
        return;
    if (ms_state_is_continued(model, layer_of(model, m))) {
        ms_assign(f, t->output, continue_scan(model, m, t));
        return;
    }
    const ms_selective_inputs in = {.hidden = ms_transpose(tape, *t->mixed, 1, 2),
                                    .step = *t->step,
                                    .decay = *t->decay,
                                    .key = *t->key,
                                    .query = *t->query,
                                    .direct = ms_in_fp32(tape, m->direct),
                                    .gate = *t->gate,
                                    .step_bias = *t->step_bias};
    t->result = ms_local(f, ms_selective_scan(model, &in, &state));
    ms_state_keep(model, layer_of(model, m), f, state);
    ms_assign(f, t->output, *t->result);
}

static ms_tensor run_mixer(ms_model *model, const void *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const mixer *m = module;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    const ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    call t = {.hidden = ms_argument(&f, x)};
    project(model, m, &f, &t);
    t.output = ms_local(&f, 0);
    run_scan(model, m, &f, &t);
    ms_locals outer = ms_locals_begin(tape);
    ms_tensor *cast = ms_local(
        &outer, ms_idle(tape) ? 0 : ms_to(tape, ms_transpose(tape, *t.output, 1, 2), dtype));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &m->out_proj, *cast));
    ms_locals_end(&outer, NULL);
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- the family ---- */

static const ms_mixer_kind kind = {build_mixer, run_mixer};

static bool build(ms_model *model)
{
    return ms_mamba_build(model, &kind);
}

static ms_status derive(ms_model_config *config, ms_error *err)
{
    enum { HIDDEN_PER_RANK = 16 };
    (void)err;
    config->num_heads = config->num_kv_heads = 1;
    config->head_dim = config->state_size;
    config->intermediate_size = config->hidden_size * config->expansion;
    if (config->step_rank == 0)
        config->step_rank = (config->hidden_size + HIDDEN_PER_RANK - 1) / HIDDEN_PER_RANK;
    return MS_OK;
}

static const ms_model_program program = {build, ms_mamba_forward};

static const ms_family_facts facts = {
    .peft = {.usual_lora = "in_proj",
             .refused = {{"out_proj", "PEFT refuses to adapt it", "in_proj"},
                         {"dt_proj", "the mixer reads its weight without calling it", "in_proj"}}},
};

const ms_family ms_family_mamba = {.model_type = "mamba",
                                   .facts = &facts,
                                   .classes = {{"MambaForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .keys = keys,
                                   .key_count = sizeof keys / sizeof *keys,
                                   .derive = derive,
                                   .scales_logits = true, /* to fp32 */
                                   .has_no_attention = true,
                                   .has_no_rotary = true,
                                   .has_no_mlp_module = true,
                                   .unpredicted =
                                       MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_PADDING,
                                   .takes_cache = true,
                                   .program = &program};
