/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/run.h"

#include "input/config/model/model_config.h"
#include "torch/autograd/tape.h"
#include "input/config/quantize/quantize.h"
#include "model/blocks/adapter.h"
#include "model/blocks/packed/quantized.h"
#include "model/blocks/tensor_parallel.h"
#include "torch/ops/attention/ring.h"
#include "torch/ops/ops.h"
#include "run/step/moved.h"
#include "core/trace/build.h"
#include "torch/treatments/selective.h"

typedef struct state {
    const ms_run_config *run;
} state;

static const ms_state_kind kind = {.bytes = sizeof(state)};

bool ms_step_set_run(ms_tape *tape, const ms_run_config *run)
{
    state *s = ms_hooks_state(tape, &kind);
    if (s)
        s->run = run;
    return s != NULL;
}

const ms_run_config *ms_step_run(const ms_tape *tape)
{
    const state *s = ms_hooks_find_state(tape, &kind);
    return s->run;
}

void ms_step_mark(ms_tape *tape, bool begin, ms_phase phase, uint16_t step, uint32_t micro_step)
{
    tape->phase = (uint8_t)phase;
    const ms_mark row = {.begin = begin,
                         .phase = (uint8_t)phase,
                         .step = step,
                         .micro_step = micro_step,
                         .repeats = tape->repeats};
    tape->host_done = tape->host_events; /* as measured: the host waits where a phase ends */
    if (ms_trace_add_mark(tape->trace, row) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* model.to(dtype), the type of sharded weights where they are: buffers are made in fp32. Of
 * accelerate FSDP1 casts them to the type of the computation. */
static void cast_buffers(ms_model *model)
{
    ms_tape *tape = model->tape;
    const ms_run_config *run = model->run;
    const ms_layout *layout = &run->parallel.layout;
    bool shards = ms_layout_shards(layout) && !run->parallel.casts_buffers;
    ms_dtype dtype = shards ? run->parallel.shard_dtype : run->dtype;
    for (uint32_t i = 0; i < tape->module_buffers.count; i++) {
        ms_tensor tensor = tape->module_buffers.items[i];
        if (ms_dtype_info_of((ms_dtype)ms_info(tape, tensor)->dtype)->floating)
            ms_module_cast(model, tensor, dtype);
    }
}

void ms_step_build_model(ms_model *model, bool casts_buffers, ms_error *err)
{
    ms_tape *tape = model->tape;
    ms_moved moved = ms_moved_begin(model);
    if (!model->config->family->program->build(model))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_moved_list(&moved, model);
    if (model->exceptions && ms_exceptions_gave_up(model->exceptions))
        ms_tape_fail(tape, ms_fail(err, MS_ERR_CONFIG,
                                   "quantization_config: the patterns of unquantised modules take "
                                   "too long to match on this model; write simpler ones"));
    if (casts_buffers)
        cast_buffers(model);
    if (!ms_model_index_leaves(model))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_quantized_finish(model);
    ms_tensor_parallel_attach(model);
    const ms_layout *layout = &model->run->parallel.layout;
    if (layout->context > 1)
        ms_ring_begin(tape, layout->context, model->run->parallel.rank % layout->context);
    const bool is_by_engine = layout->kind == MS_PARALLEL_ZERO;
    if (model->run->upcast || model->run->parallel.casts_back)
        ms_upcast(model);
    const ms_build place = model->run->parallel.build;
    if (place == MS_BUILD_HOST_BASE || place == MS_BUILD_DEVICE_MAP)
        ms_moved_end(&moved, model);
    ms_status attached = ms_adapter_attach(model, err);
    if (attached != MS_OK)
        ms_tape_fail(tape, attached);
    ms_parameters_settle(model);
    ms_moved_end(&moved, model);
    if (is_by_engine && ms_is_packed(&model->run->quantization))
        ms_cast_back(model);
}

/* Of what does not count tokens: the weights' own, whatever FSDP gathers them in. */
static ms_dtype input_dtype(const ms_run_config *run)
{
    return ms_layout_shards(&run->parallel.layout) ? run->parallel.shard_dtype : run->dtype;
}

/* Pictures, the frames of sounds, or the ids of tokens, by the name that the class has for them. */
static ms_tensor new_input(const ms_model *model, const char **name)
{
    ms_tape *tape = model->tape;
    const ms_model_config *config = model->config;
    ms_symbols *s = &tape->trace->symbols;
    if (config->image_tokens) {
        *name = "pixel_values";
        return ms_empty(tape,
                        MS_SHAPE(model->batch, ms_dim_number(s, config->num_channels),
                                 ms_dim_number(s, config->image_sides[0]),
                                 ms_dim_number(s, config->image_sides[1])),
                        input_dtype(model->run));
    }
    if (config->mel_bins) {
        *name = "input_features";
        ms_dim frames = ms_dim_mul(s, ms_dim_number(s, 2), model->source);
        return ms_empty(tape, MS_SHAPE(model->batch, ms_dim_name(s, "M", config->mel_bins), frames),
                        input_dtype(model->run));
    }
    *name = "input_ids";
    ms_dim tokens = config->is_encoder_decoder ? model->source : model->seq;
    return ms_empty(tape, MS_SHAPE(model->batch, tokens), MS_DTYPE_I64);
}

ms_tensor ms_step_new_input(ms_model *model)
{
    ms_tape *tape = model->tape;
    const char *name = "";
    ms_tensor input = new_input(model, &name);
    ms_retain(tape, input);
    ms_name_storage(tape, input, name, MS_CATEGORY_INPUT);
    return input;
}

static ms_tensor new_named(ms_model *model, const char *name, ms_shape shape, ms_dtype dtype)
{
    ms_tensor input = ms_empty(model->tape, shape, dtype);
    ms_retain(model->tape, input);
    ms_name_storage(model->tape, input, name, MS_CATEGORY_INPUT);
    return input;
}

ms_tensor ms_step_new_mask(ms_model *model)
{
    ms_dim tokens = model->config->is_encoder_decoder ? model->source : model->seq;
    if (model->run->padding.simulated == MS_PADDING_NO || model->run->documents)
        return 0;
    return new_named(model, "attention_mask", MS_SHAPE(model->batch, tokens), MS_DTYPE_I64);
}

ms_packed_rows ms_step_new_packed_rows(ms_model *model)
{
    const uint64_t documents = model->run->documents;
    const ms_shape places = MS_SHAPE(model->batch, model->seq);
    ms_packed_rows rows = {0};
    if (!documents)
        return rows;
    const ms_shape ends = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, documents + 1));
    rows.position_ids = new_named(model, "position_ids", places, MS_DTYPE_I64);
    rows.bounds[0] = new_named(model, "cu_seq_lens_q", ends, MS_DTYPE_I32);
    rows.bounds[1] = new_named(model, "cu_seq_lens_k", ends, MS_DTYPE_I32);
    rows.numbers = new_named(model, "seq_idx", places, MS_DTYPE_I32);
    return rows;
}

void ms_step_drop_packed_rows(ms_model *model, ms_packed_rows *rows)
{
    ms_release(model->tape, rows->position_ids);
    ms_release(model->tape, rows->bounds[0]);
    ms_release(model->tape, rows->bounds[1]);
    ms_release(model->tape, rows->numbers);
    *rows = (ms_packed_rows){0};
}

static bool has_classes(ms_head_kind head)
{
    return head != MS_HEAD_CAUSAL_LM && head != MS_HEAD_MASKED_LM;
}

ms_tensor ms_step_new_labels(ms_model *model)
{
    const ms_head_kind head = model->config->head;
    if (!has_classes(head) && model->run->training.loop == MS_LOOP_FIXED)
        return 0;
    bool is_one = has_classes(head) && head != MS_HEAD_EACH_TOKEN && head != MS_HEAD_TARGET_LM;
    ms_shape shape = MS_SHAPE(model->batch, model->seq);
    shape.rank = is_one ? 1 : 2;
    return new_named(model, "labels", shape, MS_DTYPE_I64);
}

/* Of the tower's size. */
static void new_pictures(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim side = ms_dim_number(s, vision->image_size);
    ms_dim count = ms_dim_number(s, model->run->batch * model->run->images.count);
    model->pixel_values =
        new_named(model, "pixel_values",
                  MS_SHAPE(count, ms_dim_number(s, vision->channels), side, side), MS_DTYPE_F32);
}

static void new_pictures_with_kinds(ms_model *model)
{
    new_named(model, "token_type_ids", MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64);
    new_pictures(model);
}

static void new_patches(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_run_images *images = &model->run->images;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t count = model->run->batch * images->count;
    uint64_t width = vision->channels * vision->frames * vision->patch_size * vision->patch_size;
    ms_dim patches = ms_dim_number(s, count * images->grid.rows * images->grid.columns);
    new_named(model, "mm_token_type_ids", MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64);
    model->pixel_values =
        new_named(model, "pixel_values", MS_SHAPE(patches, ms_dim_number(s, width)), MS_DTYPE_F32);
    new_named(model, "image_grid_thw", MS_SHAPE(ms_dim_number(s, count), ms_dim_number(s, 3)),
              MS_DTYPE_I64);
}

static void new_padded_patches(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_run_images *images = &model->run->images;
    uint64_t side = model->config->vision.patch_size;
    ms_dim count = ms_dim_number(s, model->run->batch * images->count);
    ms_dim stored = ms_dim_number(s, images->grid.stored);
    new_named(model, "mm_token_type_ids", MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64);
    model->pixel_values =
        new_named(model, "pixel_values", MS_SHAPE(count, stored, ms_dim_number(s, 3 * side * side)),
                  MS_DTYPE_F32);
    model->image_places = new_named(model, "image_position_ids",
                                    MS_SHAPE(count, stored, ms_dim_number(s, 2)), MS_DTYPE_I64);
}

void ms_step_new_images(ms_model *model)
{
    static void (*const makers[])(ms_model * model) = {
        [MS_IMAGES_AS_PATCHES] = new_patches,
        [MS_IMAGES_WITH_KINDS] = new_pictures_with_kinds,
        [MS_IMAGES_AS_PICTURES] = new_pictures,
        [MS_IMAGES_PADDED] = new_padded_patches,
    };
    makers[model->config->family->image_input](model);
}

ms_status ms_step_explain(const ms_tape *tape, ms_status status, ms_error *err)
{
    if (status == MS_ERR_CONFIG && tape->failure) {
        if (err && err->status == MS_OK)
            *err = *tape->failure;
        return status;
    }
    if (status == MS_ERR_CONFIG) { /* without such an operator an adapter was refused, in words */
        (void)ms_selective_complain(tape, ms_step_run(tape)->treat_place, err);
        return status;
    }
    if (status == MS_ERR_LIMIT && tape->reason)
        return ms_fail(err, status, "%s", tape->reason);
    if (status == MS_ERR_LIMIT)
        return ms_fail(err, status,
                       "the step allocates and frees more than %d million times: simulate fewer "
                       "layers or micro-steps",
                       MS_MOST_EVENTS / 2000000);
    if (status == MS_ERR_OVERFLOW)
        return ms_fail(err, status, "a tensor of this model and batch has more than 2^62 bytes");
    return ms_fail(err, status, "out of memory while simulating the step");
}
