/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/images.h"

#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "torch/ops/attention/attention.h"
#include "torch/ops/ops.h"

ms_backends ms_tower_backends(const ms_model *model)
{
    const ms_vision_config *vision = &model->config->vision;
    ms_model_config heads = *model->config;
    ms_backends backends[2];
    heads.num_heads = vision->num_heads;
    heads.num_kv_heads = vision->num_kv_heads ? vision->num_kv_heads : vision->num_heads;
    heads.head_dim = vision->head_dim ? vision->head_dim : vision->hidden_size / heads.num_heads;
    heads.wide_head_dim = heads.wide_kv_heads = 0;
    heads.attention_dropout = 0;
    ms_attention_backends(&heads, model->run, backends);
    return backends[0];
}

ms_attention ms_tower_backend(const ms_model *model)
{
    return ms_tower_backends(model).plain;
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

void ms_image_video_masks(ms_model *model, ms_locals *f, ms_tensor ids, ms_tensor *image,
                          ms_tensor *video)
{
    ms_tape *tape = model->tape;
    ms_dim one = {.value = 1};
    ms_tensor of_images = ms_compare(tape, ids, 0), of_videos;
    ms_retain(tape, of_images);
    of_videos = ms_compare(tape, ids, 0);
    ms_retain(tape, of_videos);
    ms_locals counts = ms_locals_begin(tape);
    ms_count_image_tokens(tape, &counts, of_images, true);
    ms_count_image_tokens(tape, &counts, of_videos, false);
    ms_locals_end(&counts, NULL);
    ms_shape shape = MS_SHAPE(model->batch, model->seq, one);
    ms_assign(f, image, ms_view(tape, ms_unown(tape, of_images), shape));
    ms_assign(f, video, ms_unown(tape, of_videos));
}

static ms_tensor eager(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v)
{
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, q)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor product = ms_matmul(tape, q, ms_transpose(tape, k, 2, 3));
    ms_tensor *weights = ms_local(&f, ms_mul_scalar(tape, product));
    ms_assign(&f, weights, ms_to(tape, ms_softmax_last(tape, *weights, MS_DTYPE_F32), dtype));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *weights, v));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

static ms_tensor fused(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k, ms_tensor v)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *out = ms_local(&f, ms_sdpa_both_ways(tape, backend, q, k, v, 0));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

ms_tensor ms_tower_attend(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                          ms_tensor v)
{
    return backend == MS_ATTENTION_EAGER ? eager(tape, q, k, v) : fused(tape, backend, q, k, v);
}

/* ---- windows ---- */

static uint64_t window_of(const ms_vision_config *vision)
{
    return vision->window_size / vision->merge_size / vision->patch_size;
}

ms_qwen_windows ms_qwen_windows_of(const ms_vision_config *vision, const ms_image_grid *grid)
{
    uint64_t window = window_of(vision), rows = grid->rows / vision->merge_size;
    uint64_t columns = grid->columns / vision->merge_size;
    return (ms_qwen_windows){.rows = (rows + window - 1) / window,
                             .columns = (columns + window - 1) / window,
                             .listed = (rows / window + 1) * (columns / window + 1)};
}

static uint64_t part_of(uint64_t length, uint64_t window, uint64_t number)
{
    uint64_t rest = length - number * window;
    return rest < window ? rest : window;
}

uint64_t ms_qwen_window_patches(const ms_vision_config *vision, const ms_image_grid *grid,
                                uint64_t row, uint64_t column)
{
    uint64_t merge = vision->merge_size, window = window_of(vision);
    return part_of(grid->rows / merge, window, row) *
           part_of(grid->columns / merge, window, column) * merge * merge;
}

/* ---- positions ---- */

ms_tensor ms_image_grid_places(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_image_grid *grid = &model->run->images.grid;
    ms_dim patches = ms_dim_number(s, grid->rows * grid->columns), two = ms_dim_number(s, 2);
    const uint32_t count = ms_image_count(model);
    ms_tensor *kept = ms_arena_array(model->arena, ms_tensor, count);
    if (!kept)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *rows = ms_local(&f, 0), *columns = ms_local(&f, 0);
    for (uint32_t i = 0; i < count && !ms_idle(tape); i++) {
        ms_tensor along_rows = ms_empty(tape, MS_SHAPE(ms_dim_number(s, grid->rows)), MS_DTYPE_I64);
        ms_tensor along_columns =
            ms_empty(tape, MS_SHAPE(ms_dim_number(s, grid->columns)), MS_DTYPE_I64);
        ms_assign(&f, rows, 0);
        ms_assign(&f, columns, 0);
        ms_assign(&f, rows, ms_empty(tape, MS_SHAPE(patches), MS_DTYPE_I64));
        ms_consume(tape, along_rows);
        ms_assign(&f, columns, ms_empty(tape, MS_SHAPE(patches), MS_DTYPE_I64));
        ms_consume(tape, along_columns);
        ms_tensor pairs = ms_empty(tape, MS_SHAPE(patches, two), MS_DTYPE_I64);
        kept[i] = ms_empty(tape, MS_SHAPE(patches, two), MS_DTYPE_I64);
        ms_retain(tape, kept[i]);
        ms_consume(tape, pairs);
    }
    ms_tensor all = ms_idle(tape) ? 0 : ms_cat_list(tape, count, kept, 0);
    ms_retain(tape, all);
    for (uint32_t i = count; i-- > 0 && kept;)
        ms_release(tape, kept[i]);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, all);
}

/* arange(length) + start, in three rows. */
static ms_tensor text_positions(ms_tape *tape, uint64_t length)
{
    ms_symbols *s = &tape->trace->symbols;
    ms_tensor range = ms_empty(tape, MS_SHAPE(ms_dim_number(s, length)), MS_DTYPE_I64);
    ms_tensor out =
        ms_empty(tape, MS_SHAPE(ms_dim_number(s, 3), ms_dim_number(s, length)), MS_DTYPE_I64);
    ms_consume(tape, range);
    return out;
}

static ms_tensor image_positions(ms_tape *tape, uint64_t tokens)
{
    ms_symbols *s = &tape->trace->symbols;
    return ms_empty(tape, MS_SHAPE(ms_dim_number(s, 3), ms_dim_number(s, tokens)), MS_DTYPE_I64);
}

/* The positions of one sequence: lists, the last of which stays until the next is made. */
typedef struct sequence_places {
    ms_tensor *parts; /* retained, or 0 */
    uint64_t count;
    ms_tensor *image, *places; /* locals: of the last image, and of the sequence */
} sequence_places;

static void drop_places(ms_tape *tape, const sequence_places *p)
{
    for (uint64_t i = p->count; i-- > 0;) {
        ms_release(tape, p->parts[i]);
        p->parts[i] = 0;
    }
}

/* A token of text before each image, and what is left after the last. */
static void place_sequence(ms_model *model, ms_locals *f, const sequence_places *p)
{
    ms_tape *tape = model->tape;
    uint64_t images = model->run->images.count, tokens = model->run->images.grid.tokens;
    uint64_t rest = model->seq.value - images * tokens - images;
    drop_places(tape, p);
    for (uint64_t i = 0; i < p->count; i++) {
        bool is_image = i % 2 == 1;
        p->parts[i] = is_image ? image_positions(tape, tokens)
                               : text_positions(tape, i == 2 * images ? rest : 1);
        ms_retain(tape, p->parts[i]);
        if (is_image)
            ms_assign(f, p->image, p->parts[i]);
    }
    ms_dim three = ms_dim_number(&tape->trace->symbols, 3);
    ms_assign(f, p->places, ms_empty(tape, MS_SHAPE(three, model->seq), MS_DTYPE_I64));
}

static sequence_places places_of(ms_model *model, ms_locals *f)
{
    uint64_t images = model->run->images.count;
    bool has_rest = model->seq.value > images * (model->run->images.grid.tokens + 1);
    sequence_places p = {.count = 2 * images + (has_rest ? 1 : 0)};
    p.parts = ms_arena_array(model->arena, ms_tensor, p.count);
    if (!p.parts)
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
    p.image = ms_local(f, 0);
    p.places = ms_local(f, 0);
    return p;
}

ms_tensor ms_qwen_positions(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_dim three = ms_dim_number(&tape->trace->symbols, 3);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *ids =
        ms_local(&f, ms_empty(tape, MS_SHAPE(three, model->batch, model->seq), MS_DTYPE_I64));
    const sequence_places p = places_of(model, &f);
    for (uint64_t i = 0; i < model->batch.value && !ms_idle(tape); i++)
        place_sequence(model, &f, &p);
    ms_tensor moved = ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64);
    ms_retain(tape, moved);
    if (p.parts)
        drop_places(tape, &p);
    ms_tensor result = ms_locals_end(&f, ids);
    ms_release(tape, model->position_shift);
    model->position_shift = moved;
    ms_host_waits(tape); /* it reads the grids */
    return result;
}
