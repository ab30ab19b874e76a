/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Phi-3 and Phi-4: query, key and value in one product, gate and up in another; no biases; dropout
 * on the residual branches.
 */
#include "model/blocks/cache.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/decoder_tables.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32064, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 3072, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 8192, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 1),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    NO_SLIDING_WINDOW,
    FRACTION("resid_pdrop", residual_dropout, 0),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(32000),
    IGNORED("embd_pdrop"), /* the class has it and applies it nowhere */
    IGNORED("original_max_position_embeddings"),
    DECODER_IGNORED,
};
/* clang-format on */

typedef struct attention {
    uint32_t scope;
    ms_linear_module o_proj, qkv_proj;
} attention;

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    attention *a = ms_arena_array(model->arena, attention, 1);
    if (!a)
        return NULL;
    ms_dim q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, ms_dim_number(s, 2), ms_dim_mul(s, model->kv_heads, model->head_dim));
    a->scope = ms_scope_add(model->tape, parent, "self_attn", MS_NONE);
    a->o_proj = ms_linear_new(model, a->scope, "o_proj", q, model->hidden, false);
    a->qkv_proj =
        ms_linear_new(model, a->scope, "qkv_proj", model->hidden, ms_dim_add(s, q, kv), false);
    return a;
}

static ms_tensor part_of(ms_model *model, ms_tensor qkv, ms_dim heads)
{
    ms_dim width = ms_dim_mul(&model->tape->trace->symbols, heads, model->head_dim);
    return ms_slice_last(model->tape, qkv, width);
}

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const attention *a = layer->attention;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *qkv = ms_local(&f, ms_linear_call(model, &a->qkv_proj, *hidden));
    ms_tensor *query = ms_local(&f, part_of(model, *qkv, model->heads));
    ms_tensor *key = ms_local(&f, part_of(model, *qkv, model->kv_heads));
    ms_tensor *value = ms_local(&f, part_of(model, *qkv, model->kv_heads));
    ms_split_heads(model, &f, query, key, value);
    ms_apply_rotary(model, &f, layer, query, key);
    ms_cache_append(model, &f, layer->number, key, value);
    ms_tensor result =
        ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                              ms_decoder_mask(model, d, layer->number), &a->o_proj, weights);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.build_attention = build_attention,
                                                      .attention = attend,
                                                      .rotary = ms_rotary_part_at_once,
                                                      .build_mlp = ms_fused_mlp_new,
                                                      .mlp = ms_fused_mlp,
                                                      .position_ids_first = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_DROPOUTS | MS_BLOCK_TWO_NORMS | MS_BLOCK_JOINED | MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .peft = {.usual_lora = "qkv_proj"},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "phi3",
    .vllm = &(const ms_vllm_arch){.norms = 2, .mlp_rows = 3, .tie = MS_VLLM_TIE_DROPS},
    .has_code_of_its_own = true,
};

const ms_family ms_family_phi3 = {.model_type = "phi3",
                                  .facts = &facts,
                                  .classes = {{"Phi3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .keys = keys,
                                  .key_count = sizeof keys / sizeof *keys,
                                  .takes_cache = true,
                                  .program = &program};
