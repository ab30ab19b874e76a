/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As torchtune 0.6 reads them, and torchtitan before its configurations became Python.
 */
#include "input/config/trainers/training_recipes.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_loss.h"
#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/sharding/training_mesh.h"
#include "input/config/trainers/training_loss.h"
#include "input/config/trainers/training_reading.h"

/* ---- titan checkpoints ---- */

/* activation_checkpoint in torchtitan's files of 2025. */

static const char mode_key[] = "/activation_checkpoint/mode";
static const char option_key[] = "/activation_checkpoint/selective_ac_option";

static bool is_chosen(const ms_training_ranks *t)
{
    const ms_run_draft *draft = t->r->draft;
    return ms_run_field_is_set(draft, "checkpointing") || ms_run_field_is_set(draft, "treat") ||
           ms_run_field_is_set(draft, "plan");
}

enum { MOST_LAYERS = 1 << 20 };

/* Each n-th layer, of layers that count from 1: "1,3,5". */
static ms_status set_every(const ms_training_ranks *t, uint64_t n)
{
    const char *layers = n > t->r->model->num_layers ? "none" : n <= 1 ? "all" : "";
    for (uint64_t i = n; layers && n > 1 && i <= t->r->model->num_layers; i += n)
        layers = ms_arena_printf(t->r->arena, "%s%s%" PRIu64, layers, *layers ? "," : "", i - 1);
    return ms_training_set_option(t, "checkpointing", layers);
}

/* Layers of seven products without a bias, in the order in which torchtitan's own run them. */
static bool has_seven_products(const ms_model_config *model)
{
    const ms_family_facts *facts = ms_family_facts_of(model->family);
    return facts->has_seven_matrices && !facts->has_fixed_biases && !model->attention_bias &&
           !model->mlp_bias && !model->num_experts;
}

/* The results of attention, and of each second product from the first on. */
static ms_status set_operators(const ms_training_ranks *t)
{
    static const char *const keeps_all[] = {"checkpointing", "none", NULL};
    static const char kept[] = "all=selective:cudnn_attention+mm#0+mm#2+mm#4+mm#6";
    ms_json_value value;
    ms_status status = MS_OK;
    if (has_seven_products(t->r->model) && !ms_training_on_cpu(t->r))
        return ms_training_set_option(t, "treat", kept);
    if (ms_json_find_pointer(t->root, option_key, &value))
        status = ms_training_add_read_key(
            t->r, value, NULL,
            (ms_read_key){.meaning = "operators whose results are kept; in the figures each layer "
                                     "is fully recomputed",
                          .reading = MS_KEY_NOT_PREDICTED,
                          .effect = MS_EFFECT_ADDS,
                          .other_end = keeps_all});
    return status == MS_OK ? ms_training_set_option(t, "checkpointing", "all") : status;
}

static ms_status set_selective(const ms_training_ranks *t)
{
    ms_json_value value;
    const char *option = "2";
    double number = 2;
    if (ms_json_find_pointer(t->root, option_key, &value)) {
        option = ms_training_value_text(value);
        number = ms_training_value_number(value);
    }
    if (is_chosen(t))
        return MS_OK;
    if (strcmp(option, "op") == 0)
        return set_operators(t);
    if (number < 0 || number > MOST_LAYERS || number != (double)(uint64_t)number)
        return ms_training_refuse(t, value, "expected op or a number of layers");
    return set_every(t, (uint64_t)number);
}

/* Sets the layers that are checkpointed, or the operators that they keep. Where these are not
 * predicted each layer is recomputed as a whole, and the key says so. */
static ms_status training_read_titan_checkpoints(const ms_training_ranks *t)
{
    ms_json_value value;
    bool is_said = ms_json_find_pointer(t->root, mode_key, &value);
    const char *mode = is_said ? ms_training_value_text(value) : "selective";
    if (strcmp(mode, "none") == 0)
        return ms_training_set_option(t, "checkpointing", "none");
    if (strcmp(mode, "full") == 0)
        return ms_training_set_option(t, "checkpointing", "all");
    if (strcmp(mode, "selective") == 0)
        return set_selective(t);
    return ms_training_refuse(t, value, "'%.20s': none, full and selective are predicted", mode);
}

/* ---- training tune ---- */

static bool has_ranks(const ms_training_reading *r)
{
    return r->draft->run.parallel.layout.kind != MS_PARALLEL_NONE;
}

/* ---- the loss ---- */

/* Models without the last layer hand their states on, and the loss applies it. */
static ms_status set_loss(ms_training_reading *r)
{
    const char *name = ms_training_last_name(ms_training_text(r, MS_TOPIC_LOSS, ""));
    if (!*name || strcmp(name, "CrossEntropyLoss") == 0 || ms_training_has_own_loss(r) ||
        ms_run_field_is_set(r->draft, "liger"))
        return MS_OK;
    if (strcmp(name, "LinearCrossEntropyLoss") == 0 &&
        !ms_loss_not_with(r->model, &r->draft->run, MS_LOSS_TORCHTUNE))
        return ms_training_offer(r, "loss", "torchtune", MS_TOPIC_LOSS);
    if (strcmp(name, "LinearCrossEntropyLoss") == 0)
        return ms_training_leave_out(
            r, MS_TOPIC_LOSS, MS_EFFECT_SAVES,
            "head and loss in pieces; the figures are for all tokens at once");
    if (strcmp(name, "CEWithChunkedOutputLoss") == 0)
        return ms_training_leave_out(
            r, MS_TOPIC_LOSS, MS_EFFECT_SAVES,
            "logits that are cast to fp32 piece by piece; the figures are for all at once");
    return ms_training_leave_out(r, MS_TOPIC_LOSS, MS_EFFECT_EITHER, "another loss");
}

/* ---- the optimizer ---- */

static ms_status set_in_backward(ms_training_reading *r)
{
    static const char field[] = "optimizer-in-backward";
    const ms_training_topic topic = MS_TOPIC_IN_BACKWARD;
    if (!ms_training_flag(r, topic, false) || ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (ms_training_has_adapter(r))
        return ms_training_leave_out(r, topic, MS_EFFECT_NONE,
                                     "recipes for adapters do not read it");
    if (has_ranks(r) || ms_training_on_cpu(r))
        return ms_training_leave_out(r, topic, MS_EFFECT_SAVES,
                                     "optimizer steps in the backward pass");
    return ms_training_offer(r, field, "yes", topic);
}

/* ---- saved tensors on the host ---- */

/* With a stream of its own, copies keep five tensors in forward; as many may come back. */
static uint64_t most_on_the_way(const ms_model_config *model, const struct ms_run_config *run)
{
    enum { STASH = 5, BACK = 5 };
    const ms_size tokens = ms_size_mul(ms_size_of(run->batch), run->seq_tokens);
    const ms_size input =
        ms_size_mul(ms_size_mul(tokens, model->hidden_size), ms_dtype_info_of(run->dtype)->bytes);
    return ms_size_capped(ms_size_mul(input, STASH + BACK));
}

static ms_status set_offloading(ms_training_reading *r)
{
    const ms_training_topic topic = MS_TOPIC_OFFLOADING;
    if (!ms_training_flag(r, topic, false))
        return MS_OK;
    if (!ms_training_flag(r, MS_TOPIC_CHECKPOINTING, false))
        return ms_training_fail(r, topic,
                                "torchtune refuses it without enable_activation_checkpointing");
    if (has_ranks(r) || ms_training_on_cpu(r) || ms_run_field_is_set(r->draft, "treat") ||
        ms_run_field_is_set(r->draft, "plan"))
        return ms_training_leave_out_host(r, topic, "saved tensors on the host");
    ms_status status = ms_training_offer_inputs_on_host(r, topic);
    if (status != MS_OK || !ms_training_flag(r, MS_TOPIC_STREAMS, true))
        return status;
    return ms_training_leave_out_bounded(
        r, topic,
        "inputs of layers on their way to the host or back: copies run on their own stream",
        most_on_the_way);
}

ms_status ms_training_set_tune(ms_training_reading *r)
{
    static ms_status (*const steps[])(ms_training_reading *) = {
        set_loss, set_in_backward, set_offloading, ms_training_expand_segments};
    ms_status status = MS_OK;
    bool is_tune = r->file.format == MS_TRAINING_TORCHTUNE;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && is_tune && status == MS_OK; i++)
        status = steps[i](r);
    return status;
}

/* ---- training recipes ---- */

/* A value, or false. */
static bool find(const ms_training_ranks *t, const char *pointer, ms_json_value *value)
{
    return ms_json_find_pointer(t->root, pointer, value);
}

static const char *text_of(const ms_training_ranks *t, const char *pointer, const char *absent,
                           ms_json_value *value)
{
    return find(t, pointer, value) ? ms_training_value_text(*value) : absent;
}

/* ---- ranks ---- */

/* A degree; -1 is what is left. 0: none that is known. */
static int64_t degree_of(const ms_training_ranks *t, const char *pointer, int64_t absent,
                         ms_json_value *value)
{
    if (!find(t, pointer, value))
        return absent;
    double number = ms_training_value_number(*value);
    bool is_degree = number == -1 || (number >= 1 && number <= MS_MOST_RANKS);
    return is_degree && number == (double)(int64_t)number ? (int64_t)number : 0;
}

ms_status ms_training_layout_of(const ms_training_ranks *t, const char *replicate,
                                const char *shard, const char **layout)
{
    ms_json_value value;
    uint64_t world = 0;
    int64_t copies = degree_of(t, replicate, 1, &value);
    if (copies < 1)
        return ms_training_refuse(t, value, "expected a number of copies");
    int64_t shards = degree_of(t, shard, -1, &value);
    const bool is_many = t->others > 1 && shards == 1;
    if (shards == 0 || (shards == 1 && !is_many))
        return ms_training_refuse(t, value, "only a sharded model is predicted");
    if (shards > 0 && t->others)
        shards *= (int64_t)t->others; /* both are bounded by the most ranks there can be */
    ms_status status = MS_OK;
    uint64_t count = (uint64_t)copies;
    if (shards < 0) {
        status = ms_training_world(t, &world);
        shards = (int64_t)(world / count);
    }
    if (status == MS_OK && world && (uint64_t)shards * count != world)
        return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu64 " ranks cannot be divided into %" PRIu64 " copies", world,
                            count);
    *layout = count > 1 ? ms_arena_printf(t->r->arena, "hsdp=%" PRIu64 "x%" PRId64, count, shards)
                        : ms_arena_printf(t->r->arena, "fsdp=%" PRId64, shards);
    return status;
}

/* Ranks that divide something else than the model's shards have shards in the figures, too. */
static ms_status take_degrees(ms_training_ranks *t, const char *const *pointers)
{
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; pointers[i] && status == MS_OK; i++) {
        int64_t degree = degree_of(t, pointers[i], 1, &value);
        if (degree == 1)
            continue;
        if (degree < 1)
            return ms_training_refuse(t, value, "%s: expected a number of ranks",
                                      ms_json_key(value));
        const bool is_ring = strstr(pointers[i], "context") != NULL;
        status = is_ring
                     ? ms_training_take_ring(t, value, (uint64_t)degree)
                     : ms_training_set_aside(t, value, MS_EFFECT_EITHER,
                                             "ranks that split more than the batch; in the figures "
                                             "they have shards and whole batches as well");
        bool is_in_others = strstr(pointers[i], "expert") != NULL; /* ranks of the shards */
        if (status == MS_OK && !is_in_others)
            status = ms_training_add_others(t, value, (uint64_t)degree);
    }
    return status;
}

/* ---- torchtune ---- */

static ms_status note_units(const ms_training_ranks *t)
{
    ms_json_value value;
    if (ms_json_find(t->root, "custom_sharded_layers", &value) && !ms_training_says_nothing(value))
        return ms_training_add_key(
            t->r, value, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_SAVES,
            "units of the model's ends, which are gathered only while they run");
    return MS_OK;
}

static ms_status set_recipe_options(const ms_training_ranks *t)
{
    static const struct {
        const char *key, *field, *text;
        bool when;
    } options[] = {
        {"fsdp_cpu_offload", "fsdp-offload", "yes", true},
        {"fsdp_reshard_after_forward", "reshard-after-forward", "no", false},
    };
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof options / sizeof *options && status == MS_OK; i++)
        if (ms_json_find(t->root, options[i].key, &value) &&
            ms_training_truth(value, !options[i].when) == options[i].when)
            status = ms_training_set_option(t, options[i].field, options[i].text);
    return status == MS_OK ? ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                                         "torchtune fills the shards tensor by tensor; the figures "
                                         "are for shards made on the meta device")
                           : status;
}

void ms_training_share_recipe(const ms_training_reading *r, ms_json_value root,
                              ms_sharding *sharding)
{
    ms_json_value value;
    bool has_world = ms_run_field_is_set(r->draft, "world") && r->draft->world > 1;
    if (!has_world || ms_run_field_is_set(r->draft, "parallel") ||
        !ms_json_find(root, "model", &value))
        return;
    *sharding = (ms_sharding){.kind = MS_SHARDING_SPLITS, .library = "FSDP", .value = value};
}

ms_status ms_training_read_recipe(ms_training_ranks *t, bool *is_read)
{
    static const char *const degrees[] = {"/tensor_parallel_dim", "/context_parallel_dim", NULL};
    const char *layout = NULL;
    ms_status status = take_degrees(t, degrees);
    if (status == MS_OK)
        status = note_units(t);
    if (status == MS_OK)
        status = ms_training_layout_of(t, "/data_parallel_replicate_dim",
                                       "/data_parallel_shard_dim", &layout);
    if (status == MS_OK)
        status = ms_training_set_layout(t, layout, is_read);
    return status == MS_OK && *is_read ? set_recipe_options(t) : status;
}

/* ---- torchtitan ---- */

static ms_status set_resharding(const ms_training_ranks *t)
{
    ms_json_value value;
    const char *policy = text_of(t, "/parallelism/fsdp_reshard_after_forward", "default", &value);
    if (strcmp(policy, "default") == 0)
        return MS_OK;
    if (strcmp(policy, "never") == 0)
        return ms_training_set_option(t, "reshard-after-forward", "no");
    return ms_training_refuse(t, value, "'%.20s': default and never are predicted", policy);
}

static ms_status set_optimizer(const ms_training_ranks *t)
{
    static const char *const names[][2] = {
        {"fused", "fused"}, {"foreach", "foreach"}, {"for-loop", "loop"}};
    ms_json_value value;
    const char *name = text_of(t, "/optimizer/name", "AdamW", &value);
    if (strcmp(name, "AdamW") != 0 && strcmp(name, "Adam") != 0)
        return ms_training_refuse(t, value, "'%.20s': AdamW and Adam are predicted", name);
    ms_status status =
        ms_training_set_option(t, "optimizer", strcmp(name, "Adam") ? "adamw" : "adam");
    const char *how = text_of(t, "/optimizer/implementation", "fused", &value);
    for (size_t i = 0; i < sizeof names / sizeof *names && status == MS_OK; i++)
        if (strcmp(names[i][0], how) == 0)
            return ms_training_set_option(t, "optimizer-impl", names[i][1]);
    if (status != MS_OK)
        return status;
    return ms_training_refuse(t, value, "expected fused, foreach or for-loop");
}

/* The batch of all ranks. */
static ms_status set_accumulation(const ms_training_ranks *t)
{
    ms_json_value value, local;
    double all =
        find(t, "/training/global_batch_size", &value) ? ms_training_value_number(value) : -1;
    double each =
        find(t, "/training/local_batch_size", &local) ? ms_training_value_number(local) : 8;
    if (all <= 0 || each <= 0)
        return MS_OK;
    double steps = all / (each * (double)ms_layout_world(&t->r->draft->run.parallel.layout));
    if (steps < 1 || steps != (double)(uint64_t)steps)
        return ms_training_refuse(t, value, "it is not a multiple of what the ranks take at once");
    return ms_training_set_option(t, "accumulate",
                                  ms_arena_printf(t->r->arena, "%" PRIu64, (uint64_t)steps));
}

/* The ends of a model that ties them are one unit here; of mixtures the layers alone are units. */
static ms_status set_units(const ms_training_ranks *t)
{
    ms_json_value value;
    const ms_model_config *model = t->r->model;
    bool is_tied = model->tie_word_embeddings && !model->num_experts;
    ms_status status = MS_OK;
    if (is_tied && find(t, "/model/flavor", &value))
        status = ms_training_add_key(t->r, value, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                                     "embeddings and head that are tied after both are sharded; in "
                                     "the figures they are one unit");
    const char *units = model->num_experts ? "layers" : is_tied ? "accelerate" : "torchtitan";
    return status == MS_OK ? ms_training_set_option(t, "fsdp-units", units) : status;
}

static ms_status set_options(const ms_training_ranks *t)
{
    ms_json_value value;
    ms_status status = set_units(t);
    if (status == MS_OK)
        status = set_resharding(t);
    if (status == MS_OK)
        status = set_accumulation(t);
    bool offloads =
        find(t, "/training/enable_cpu_offload", &value) && ms_training_truth(value, false);
    return status == MS_OK && offloads ? ms_training_set_option(t, "fsdp-offload", "yes") : status;
}

/* torchtitan sorts the tokens of experts, and runs grouped products of its own. */
static ms_status note_experts(const ms_training_ranks *t)
{
    ms_json_value value;
    if (!t->r->model->num_experts || !find(t, "/model/name", &value))
        return MS_OK;
    return ms_training_add_key(
        t->r, value, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
        "torchtitan's own code for experts; the figures are for that of transformers");
}

ms_status ms_training_read_titan_step(const ms_training_ranks *t)
{
    ms_status status = training_read_titan_checkpoints(t);
    if (status == MS_OK)
        status = note_experts(t);
    return status == MS_OK ? set_optimizer(t) : status;
}

ms_status ms_training_read_titan(ms_training_ranks *t, bool *is_read)
{
    static const char *const degrees[] = {
        "/parallelism/tensor_parallel_degree",        "/parallelism/pipeline_parallel_degree",
        "/parallelism/context_parallel_degree",       "/parallelism/expert_parallel_degree",
        "/parallelism/expert_tensor_parallel_degree", NULL};
    static const char *const reductions[] = {"float32", "bfloat16"};
    const char *layout = NULL;
    ms_json_value value;
    ms_status status = take_degrees(t, degrees);
    if (status == MS_OK)
        status = ms_training_layout_of(t, "/parallelism/data_parallel_replicate_degree",
                                       "/parallelism/data_parallel_shard_degree", &layout);
    if (status == MS_OK)
        status = ms_training_set_layout(t, layout, is_read);
    if (status == MS_OK && *is_read)
        status = set_options(t);
    if (status != MS_OK || !*is_read)
        return status;
    const char *reduce = text_of(t, "/training/mixed_precision_reduce", reductions[0], &value);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(reduce, reductions[i]) == 0)
            return ms_training_set_option(t, "reduce-dtype", i ? "bf16" : "fp32");
    return ms_training_refuse(t, value, "expected float32 or bfloat16");
}

ms_status ms_training_set_titan_types(ms_training_reading *r)
{
    bool shards = r->ranks == MS_PARALLEL_FSDP2;
    const char *computed = ms_training_text(r, MS_TOPIC_MIXED_PRECISION, "bfloat16");
    bool is_half = strcmp(computed, "bfloat16") == 0;
    if (!is_half && strcmp(computed, "float32") != 0)
        return ms_training_fail(r, MS_TOPIC_MIXED_PRECISION, "expected float32 or bfloat16");
    ms_status status = ms_training_offer(r, "dtype", ms_training_text(r, MS_TOPIC_DTYPE, "float32"),
                                         MS_TOPIC_DTYPE);
    if (status == MS_OK && shards)
        return ms_training_offer(r, "param-dtype", computed, MS_TOPIC_MIXED_PRECISION);
    return status == MS_OK ? ms_training_offer(r, "autocast", is_half ? "bf16" : "none",
                                               MS_TOPIC_MIXED_PRECISION)
                           : status;
}
