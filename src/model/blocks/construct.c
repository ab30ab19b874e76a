/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Creating parameters and buffers, in the order and with the temporaries of the framework's
 * constructors: they determine where the allocator places tensors.
 */
#include "model/blocks/construct.h"

#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"
#include "model/blocks/packed/quantized.h"
#include "model/blocks/tensor_parallel.h"
#include "torch/ops/ops.h"

/* Enters a module into the model's list. */
static void list_leaf(ms_model *model, ms_leaf_module leaf)
{
    if (!ms_vec_push(&model->leaves, leaf))
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
}

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static bool is_quantized(const ms_model *model)
{
    return ms_is_packed(&model->run->quantization);
}

/* Whether the loader packs the layer; its name is the module's. */
static bool is_converted(ms_model *model, uint32_t scope, bool is_head)
{
    enum { MAX_PATH = 256 };
    const ms_quantization *quantization = &model->run->quantization;
    char path[MAX_PATH];
    ms_error err = {0};
    if (!quantization->exceptions && !quantization->converted)
        return !is_head;
    (void)ms_trace_scope_path(model->tape->trace, scope, path, sizeof path);
    if (!model->exceptions && model->tape->status == MS_OK &&
        ms_exceptions_new(quantization, &model->exceptions, &err) != MS_OK)
        ms_tape_fail(model->tape, MS_ERR_NOMEM); /* the reader has seen that they are patterns */
    return model->exceptions && ms_exceptions_convert(model->exceptions, path, is_head);
}

/* NULL: the layer is not packed, or out of memory. */
static struct ms_quantized *new_packed(ms_model *model, uint32_t scope, ms_dim in, ms_dim out,
                                       bool is_head)
{
    if (!is_quantized(model) || !is_converted(model, scope, is_head))
        return NULL;
    struct ms_quantized *quantized = ms_quantized_new(model, scope, out, in);
    if (!quantized)
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
    return quantized;
}

static ms_dtype bias_dtype(const ms_model *model, const struct ms_quantized *quantized)
{
    return quantized && quantized->packing->is_half ? MS_DTYPE_F16 : model->run->dtype;
}

static ms_linear_module new_linear(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                                   ms_dim out, bool bias, bool is_head)
{
    ms_linear_module module = {.scope = child(model, parent, name)};
    ms_plan_shard(model, name, &out, &in);
    struct ms_quantized *quantized = new_packed(model, module.scope, in, out, is_head);
    if (quantized) {
        module.weight = quantized->weight;
    } else {
        module.weight = ms_parameter_new(model, module.scope, "weight", MS_SHAPE(out, in));
    }
    if (bias)
        module.bias = ms_parameter_of(model, module.scope, "bias", MS_SHAPE(out),
                                      bias_dtype(model, quantized));
    list_leaf(model, (ms_leaf_module){.kind = MS_LEAF_LINEAR,
                                      .scope = module.scope,
                                      .weight = module.weight,
                                      .bias = module.bias,
                                      .is_head = is_head,
                                      .quantized = quantized});
    return module;
}

ms_linear_module ms_linear_new(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                               ms_dim out, bool bias)
{
    return new_linear(model, parent, name, in, out, bias, false);
}

ms_linear_module ms_conv1d_new(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                               ms_dim out)
{
    ms_linear_module module = {.scope = child(model, parent, name)};
    struct ms_quantized *quantized = new_packed(model, module.scope, in, out, false);
    module.weight = quantized ? quantized->weight
                              : ms_parameter_new(model, module.scope, "weight", MS_SHAPE(in, out));
    module.bias =
        ms_parameter_of(model, module.scope, "bias", MS_SHAPE(out), bias_dtype(model, quantized));
    list_leaf(model, (ms_leaf_module){.kind = MS_LEAF_CONV1D,
                                      .scope = module.scope,
                                      .weight = module.weight,
                                      .bias = module.bias,
                                      .quantized = quantized});
    return module;
}

/* torch.nn.LayerNorm's weight; other norms have no bias. */
static void mark_layer_norm(ms_tape *tape, ms_tensor weight)
{
    if (weight && !ms_idle(tape))
        tape->parameters.items[ms_info(tape, weight)->leaf].is_layer_norm = true;
}

ms_norm_module ms_norm_new(ms_model *model, uint32_t parent, const char *name, ms_dim width,
                           bool bias)
{
    return ms_shaped_norm_new(model, parent, name, MS_SHAPE(width), bias);
}

ms_norm_module ms_layer_norm_new(ms_model *model, uint32_t parent, const char *name, ms_dim width,
                                 bool bias)
{
    ms_norm_module module = ms_norm_new(model, parent, name, width, bias);
    mark_layer_norm(model->tape, module.weight);
    return module;
}

ms_tensor ms_norm_weight_new(ms_model *model, uint32_t scope, const char *name, ms_dim width)
{
    ms_tensor weight = ms_parameter_new(model, scope, name, MS_SHAPE(width));
    list_leaf(model, (ms_leaf_module){.kind = MS_LEAF_NORM, .scope = scope, .weight = weight});
    return weight;
}

ms_norm_module ms_shaped_norm_new(ms_model *model, uint32_t parent, const char *name,
                                  ms_shape shape, bool bias)
{
    ms_norm_module module = {.scope = child(model, parent, name)};
    module.weight = ms_parameter_new(model, module.scope, "weight", shape);
    if (bias) {
        module.bias = ms_parameter_new(model, module.scope, "bias", shape);
        mark_layer_norm(model->tape, module.weight);
    }
    list_leaf(model, (ms_leaf_module){.kind = MS_LEAF_NORM,
                                      .scope = module.scope,
                                      .weight = module.weight,
                                      .bias = module.bias});
    return module;
}

ms_tensor ms_embedding_new(ms_model *model, uint32_t parent, const char *name, ms_dim rows,
                           ms_dim width)
{
    uint32_t scope = child(model, parent, name);
    ms_plan_shard(model, name, &rows, &width);
    ms_tensor weight = ms_parameter_new(model, scope, "weight", MS_SHAPE(rows, width));
    if (weight && !ms_idle(model->tape))
        model->tape->parameters.items[ms_info(model->tape, weight)->leaf].is_embedding = true;
    list_leaf(model, (ms_leaf_module){.kind = MS_LEAF_EMBEDDING, .scope = scope, .weight = weight});
    return weight;
}

ms_linear_module ms_head_named(ms_model *model, ms_tensor embedding, const char *name)
{
    if (ms_idle(model->tape))
        return (ms_linear_module){0};
    const ms_shape shape = ms_info(model->tape, embedding)->shape;
    if (model->config->head == MS_HEAD_LAST_TOKEN)
        return ms_linear_new(model, MS_NONE, "score", shape.dims[1], model->labels, false);
    if (!model->config->tie_word_embeddings)
        return new_linear(model, MS_NONE, name, shape.dims[1], shape.dims[0], false, true);
    ms_linear_module module = {.scope = child(model, MS_NONE, name), .weight = embedding};
    if (!ms_is_made_on_host(model))
        ms_consume(model->tape, ms_empty(model->tape, shape, model->run->dtype));
    list_leaf(model, (ms_leaf_module){.kind = MS_LEAF_LINEAR,
                                      .scope = module.scope,
                                      .weight = embedding,
                                      .is_head = true});
    return module;
}

ms_tensor ms_inverse_powers(ms_model *model, ms_shape shape, ms_tensor places)
{
    ms_tape *tape = model->tape;
    ms_tensor exponent = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_consume(tape, places);
    ms_tensor power = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_transient(tape, 8, MS_DTYPE_F64);
    ms_consume(tape, exponent);
    ms_tensor reciprocal = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_tensor result = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_consume(tape, reciprocal);
    ms_consume(tape, power);
    return result;
}

ms_tensor ms_inverse_frequencies(ms_model *model, ms_dim count)
{
    const ms_shape shape = MS_SHAPE(count);
    return ms_inverse_powers(model, shape, ms_empty(model->tape, shape, MS_DTYPE_F32));
}

ms_tensor ms_buffer_of(ms_model *model, ms_tensor tensor, const char *name)
{
    ms_retain(model->tape, tensor);
    ms_name_storage(model->tape, tensor, name, MS_CATEGORY_BUFFER);
    if (tensor && !ms_vec_push(&model->tape->module_buffers, tensor))
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
    return tensor;
}

ms_tensor ms_buffer_new(ms_model *model, ms_shape shape, ms_dtype dtype, const char *name)
{
    return ms_buffer_of(model, ms_empty(model->tape, shape, dtype), name);
}

/* Inverse frequencies and their copy. */
static ms_tensor rotary_table(ms_model *model, ms_tensor *original)
{
    ms_tape *tape = model->tape;
    ms_dim count = ms_dim_half(&tape->trace->symbols, model->rotary_dim);
    ms_shape shape = MS_SHAPE(count);
    bool on_host = ms_is_made_on_host(model);
    ms_dtype dtype = on_host ? model->run->dtype : MS_DTYPE_F32;
    ms_tensor made = on_host ? ms_empty(tape, shape, dtype) : ms_inverse_frequencies(model, count);
    ms_tensor inv_freq = ms_buffer_of(model, made, "inv_freq");
    *original = ms_buffer_new(model, shape, dtype, "inv_freq");
    return inv_freq;
}

/* On the device made twice: by the constructor, and again (and dropped) when weights are
 * initialised. */
void ms_rotary_new(ms_model *model, uint32_t parent, uint32_t tables, ms_tensor *inv_freq,
                   ms_tensor *originals)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, child(model, parent, "rotary_emb"));
    for (uint32_t i = 0; i < tables; i++)
        inv_freq[i] = rotary_table(model, &originals[i]);
    for (uint32_t i = 0; i < tables && !ms_is_made_on_host(model); i++)
        ms_consume(tape, ms_inverse_frequencies(
                             model, ms_dim_half(&tape->trace->symbols, model->rotary_dim)));
    tape->scope = previous;
}
