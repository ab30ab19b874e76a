/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/whole_norms.h"

#include "model/blocks/cache.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_tables.h"
#include "torch/ops/ops.h"

typedef struct whole_norm_attention {
    ms_projections proj;
    ms_norm_module q_norm, k_norm;
} whole_norm_attention;

void *ms_whole_norm_attention_new(ms_model *model, const ms_decoder *d, uint32_t parent,
                                  uint32_t number)
{
    (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    whole_norm_attention *a = ms_arena_array(model->arena, whole_norm_attention, 1);
    if (!a)
        return NULL;
    ms_dim q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, model->kv_heads, model->head_dim);
    a->proj = ms_projections_new(model, d, parent);
    a->q_norm = ms_norm_new(model, a->proj.scope, "q_norm", q, false);
    a->k_norm = ms_norm_new(model, a->proj.scope, "k_norm", kv, false);
    a->q_norm.place = a->k_norm.place = MS_LIGER_NORM_OF_HEADS;
    return a;
}

ms_tensor ms_whole_norm_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                                  ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const whole_norm_attention *a = layer->attention;
    const ms_projections *p = &a->proj;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query =
        ms_local(&f, d->style.norm(model, &a->q_norm, ms_linear_call(model, &p->q_proj, *hidden)));
    ms_tensor *key =
        ms_local(&f, d->style.norm(model, &a->k_norm, ms_linear_call(model, &p->k_proj, *hidden)));
    ms_tensor *value = ms_local(&f, ms_linear_call(model, &p->v_proj, *hidden));
    ms_split_heads(model, &f, query, key, value);
    ms_apply_rotary(model, &f, layer, query, key);
    ms_cache_append(model, &f, layer->number, key, value);
    ms_tensor result =
        ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                              ms_decoder_mask(model, d, layer->number), &p->o_proj, weights);
    tape->scope = previous;
    return result;
}
