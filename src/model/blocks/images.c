/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/images.h"

#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "torch/ops/ops.h"

ms_attention ms_tower_backend(const ms_model *model)
{
    ms_model_config heads = *model->config;
    heads.num_heads = heads.num_kv_heads = model->config->vision.num_heads;
    heads.head_dim = model->config->vision.hidden_size / heads.num_heads;
    heads.attention_dropout = 0;
    return ms_attention_choose(&heads, model->run);
}

void ms_count_image_tokens(ms_tape *tape, ms_locals *f, ms_tensor mask, bool compares)
{
    ms_tensor *count = ms_local(f, ms_count_mask(tape, mask));
    if (compares) {
        ms_consume(tape, ms_compare(tape, ms_mul_scalar(tape, *count), 0));
        ms_host_waits(tape);
    }
}

ms_tensor ms_image_token_mask(ms_model *model, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_dim one = {.value = 1};
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *mask = ms_local(&f, ms_compare(tape, ids, 0));
    ms_count_image_tokens(tape, &f, *mask, true);
    ms_assign(&f, mask, ms_view(tape, *mask, MS_SHAPE(model->batch, model->seq, one)));
    return ms_locals_end(&f, mask);
}

uint32_t ms_image_count(const ms_model *model)
{
    return (uint32_t)(model->run->batch * model->run->images.count);
}

ms_tensor ms_join_images(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t images = ms_image_count(model);
    ms_tensor *parts = ms_arena_array(model->arena, ms_tensor, images);
    ms_dim *lengths = ms_arena_array(model->arena, ms_dim, images);
    if (!parts || !lengths)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (ms_idle(tape) || !x)
        return 0;
    for (uint32_t i = 0; i < images; i++)
        lengths[i] = ms_dim_number(&tape->trace->symbols, model->run->images.grid.tokens);
    ms_split_sizes(tape, x, 0, images, lengths, parts);
    return ms_idle(tape) ? 0 : ms_cat_list(tape, images, parts, 0);
}

ms_tensor ms_join_pictures(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t count = ms_image_count(model);
    ms_tensor *parts = ms_arena_array(model->arena, ms_tensor, count);
    if (!parts)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (ms_idle(tape) || !x)
        return 0;
    ms_unbind(tape, x, 0, count, parts);
    return ms_cat_list(tape, count, parts, 0);
}
