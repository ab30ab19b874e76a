/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mesh of ranks: sizes of accelerate's parallelism_config, and of axolotl's file.
 */
#include "input/config/trainers/sharding/training_mesh.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "input/config/trainers/keys/key_walk.h"

/* Sizes of accelerate's parallelism_config and of axolotl's file. */
#define NO_TENSORS "tensor parallelism by transformers' plan"
#define NO_EXPERTS "expert parallelism"
static const struct {
    const char *key;
    enum { COPIES, SHARDS, RINGS, OTHERS } use;
    const char *meaning; /* of others, which the figures leave out */
} sizes[] = {
    {"dp_replicate_size", COPIES, NULL},
    {"dp_shard_size", SHARDS, NULL},
    {"tp_size", OTHERS, NO_TENSORS},
    {"tensor_parallel_size", OTHERS, NO_TENSORS},
    {"cp_size", RINGS, NULL},
    {"context_parallel_size", RINGS, NULL},
    {"sequence_parallel_degree", RINGS, NULL},
    {"sp_size", RINGS, NULL},
    {"ep_size", OTHERS, NO_EXPERTS},
    {"expert_parallel_size", OTHERS, NO_EXPERTS},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool is_axolotl(const ms_training_ranks *t)
{
    return t->r->file.format == MS_TRAINING_AXOLOTL;
}

static ms_status take_size(ms_training_ranks *t, ms_json_value value, size_t i, bool *is_read)
{
    double number = ms_training_value_number(value);
    bool is_count = number >= 1 && number <= MS_MOST_RANKS && number == (double)(uint64_t)number;
    if (ms_json_kind_of(value) == MS_JSON_NULL || (number == 0 && is_axolotl(t)))
        return MS_OK;
    if (!is_count)
        return ms_training_refuse(t, value, "%s: expected a number of ranks", sizes[i].key);
    if (sizes[i].use == COPIES || sizes[i].use == SHARDS)
        *(sizes[i].use == COPIES ? &t->copies : &t->shards) = (uint64_t)number;
    else if (number > 1 && t->is_given)
        *is_read = false;
    else if (number > 1) {
        const bool is_ring = sizes[i].use == RINGS;
        t->splits = t->splits || !is_ring;
        ms_status status = ms_training_add_others(t, value, (uint64_t)number);
        if (status != MS_OK)
            return status;
        return is_ring ? ms_training_take_ring(t, value, (uint64_t)number)
                       : ms_training_set_aside(t, value, MS_EFFECT_EITHER, sizes[i].meaning);
    }
    return MS_OK;
}

/* Settings of techniques that the figures are without where they are in use. */
static ms_status note_mesh_key(const ms_training_ranks *t, const char *name)
{
    static const char *const idle[] = {"cp_backend",
                                       "cp_comm_strategy",
                                       "cp_handler",
                                       "sp_backend",
                                       "sp_handler",
                                       "sp_seq_length",
                                       "tp_handler",
                                       "sp_seq_length_is_variable",
                                       "sp_attn_implementation"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (strcmp(idle[i], name) == 0)
            return MS_OK;
    return ms_note_add(t->r->notes, t->r->arena, t->r->err,
                       "'%.60s' of parallelism_config was ignored", name);
}

ms_status ms_training_read_mesh(ms_training_ranks *t, bool *is_read)
{
    static const char prefix[] = "parallelism_config_";
    ms_json_value mesh = t->root, v;
    ms_status status = MS_OK;
    *is_read = true;
    if (ms_json_find_pointer(t->root, "/model_init_kwargs/tp_plan", &v) &&
        !ms_training_says_nothing(v)) {
        t->splits = true; /* among how many, the launch says */
        *is_read = !t->is_given;
        status = t->is_given ? MS_OK : ms_training_set_aside(t, v, MS_EFFECT_EITHER, NO_TENSORS);
    }
    if (!is_axolotl(t) && !ms_json_find(t->root, "parallelism_config", &mesh))
        return MS_OK;
    for (bool more = ms_json_first(mesh, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        const char *name = ms_json_key(v);
        size_t i = 0;
        if (!is_axolotl(t) && strncmp(name, prefix, sizeof prefix - 1) == 0)
            name += sizeof prefix - 1;
        while (i < SIZES && strcmp(sizes[i].key, name) != 0)
            i++;
        if (i < SIZES)
            status = take_size(t, v, i, is_read);
        else if (!is_axolotl(t))
            status = note_mesh_key(t, name);
    }
    return status;
}

/* ---- ranks that share sequences ---- */

ms_status ms_training_take_ring(const ms_training_ranks *t, ms_json_value value, uint64_t ranks)
{
    t->r->rings = ranks;
    t->r->ring = value;
    return MS_OK;
}

ms_status ms_training_leave_out_ring(ms_training_reading *r)
{
    enum { ONE_SETTING = 3 };
    if (!r->rings)
        return MS_OK;
    const uint64_t tokens = r->draft->run.seq_tokens / r->rings;
    const char *part = ms_arena_printf(r->arena, "%" PRIu64, tokens);
    const char **other = ms_arena_array(r->arena, const char *, ONE_SETTING);
    if (!part || !other)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for ranks that share sequences");
    other[0] = "seq";
    other[1] = part;
    other[2] = NULL;
    const bool is_known = ms_run_field_is_set(r->draft, "seq") && tokens > 1;
    return ms_training_add_read_key(
        r, r->ring, NULL,
        (ms_read_key){
            .meaning =
                "ranks that share each sequence; in the figures each rank has whole sequences",
            .reading = MS_KEY_NOT_PREDICTED,
            .effect = MS_EFFECT_EITHER,
            .other_end = is_known ? other : NULL});
}

/* ---- what does not shard, or is not read ---- */

#define INSTEAD                                                                                    \
    "give the layout (--parallel fsdp=8), or --ignore-sharding for one device that holds "         \
    "everything"

/* Megatron's keys, as many as fit a sentence. */
static ms_status refuse_megatron(const ms_training_ranks *t)
{
    enum { MOST = 4 };
    static const char prefix[] = "megatron_lm_";
    ms_json_value settings, v;
    const char *names = "";
    uint32_t count = 0;
    bool has_some = ms_json_find(t->root, "megatron_lm_config", &settings);
    for (bool more = has_some && ms_json_first(settings, &v); more && names;
         more = ms_json_next(&v)) {
        const char *name = ms_json_key(v);
        if (strncmp(name, prefix, sizeof prefix - 1) == 0)
            name += sizeof prefix - 1;
        if (count++ < MOST)
            names = ms_arena_printf(t->r->arena, "%s%s%.30s", names, *names ? ", " : "", name);
    }
    if (!names)
        return ms_fail(t->r->err, MS_ERR_NOMEM, "out of memory for the names of keys");
    return ms_training_refuse(t, t->sharding->value,
                              "Megatron-LM is not predicted%s%s%s%s: " INSTEAD,
                              count ? ", and its keys are not read (" : "", names,
                              count > MOST ? ", ..." : "", count ? ")" : "");
}

/* Of ranks that divide layers or experts, and shard nothing: FSDP2 over them. Those that share
 * sequences alone have the whole model each. */
static ms_status share_alone(ms_training_ranks *t)
{
    uint64_t world = ms_training_given_world(t->r);
    bool is_read = false;
    world = world ? world : t->sharding->processes ? t->sharding->processes : t->others;
    if (world < 2)
        return MS_OK;
    const char *layout =
        ms_arena_printf(t->r->arena, t->splits ? "fsdp=%" PRIu64 : "dp=%" PRIu64, world);
    ms_status status = ms_training_set_layout(t, layout, &is_read);
    if (status == MS_OK && is_read)
        t->r->ranks = t->r->draft->run.parallel.layout.kind;
    return status;
}

ms_status ms_training_share_otherwise(ms_training_ranks *t)
{
    ms_json_value value = t->sharding->value;
    ms_json_kind kind = ms_json_kind_of(value);
    bool is_container = kind == MS_JSON_OBJECT || kind == MS_JSON_ARRAY, is_read;
    ms_status status = ms_training_read_mesh(t, &is_read);
    if (status != MS_OK)
        return status;
    if ((t->splits || t->others > 1) && t->shards <= 1)
        return share_alone(t);
    if (strcasecmp(ms_training_value_text(value), "MEGATRON_LM") == 0)
        return refuse_megatron(t);
    if (t->shards > 1)
        return ms_json_fail(t->r->err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%.40s shards only with FSDP2, which this file does not set: " INSTEAD,
                            ms_json_key(value));
    return ms_json_fail(t->r->err, value, is_container ? MS_JSON_AT_KEY : MS_JSON_AT_VALUE,
                        MS_ERR_CONFIG, "this file shards over GPUs: " INSTEAD);
}
