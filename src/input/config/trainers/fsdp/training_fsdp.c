/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As accelerate 1.15, transformers 5.23 and axolotl 0.18 read them.
 */
#include "input/config/trainers/fsdp/training_fsdp.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/text/words.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/keys/versions.h"
#include "input/config/trainers/training_ranks.h"

/* ---- training fsdp keys ---- */

/* Keys of fsdp_config, by accelerate's names and by axolotl's. */

/* Whether the keys are axolotl's own, not those of the launcher's file beside it. */
static bool training_fsdp_is_axolotl(const ms_training_ranks *t)
{
    return t->r->file.format == MS_TRAINING_AXOLOTL && !t->is_launched;
}

/* Keys of fsdp_config that axolotl has too; some are of no consequence for memory. */
static const char common_keys[] =
    " version auto_wrap_policy transformer_layer_cls_to_wrap reshard_after_forward offload_params "
    "activation_checkpointing cpu_ram_efficient_loading use_orig_params mixed_precision_policy "
    "min_num_params sync_module_states cpu_offload_pin_memory state_dict_type "
    "final_state_dict_type ";
/* Keys that axolotl drops. */
static const char other_keys[] =
    " sharding_strategy cpu_offload backward_prefetch forward_prefetch limit_all_gathers "
    "ignored_modules activation_checkpointing_offload xla xla_fsdp_v2 xla_fsdp_settings "
    "xla_fsdp_grad_ckpt ";

static bool is_known(const ms_training_ranks *t, const char *name)
{
    return ms_words_have(common_keys, name) ||
           (!training_fsdp_is_axolotl(t) && ms_words_have(other_keys, name));
}

/* Notes keys that neither of them has. */
static ms_status training_fsdp_note_unknown(const ms_training_ranks *t)
{
    ms_json_value v;
    ms_status status = MS_OK;
    bool more = ms_json_kind_of(t->config) == MS_JSON_OBJECT && ms_json_first(t->config, &v);
    for (; more && status == MS_OK; more = ms_json_next(&v)) {
        const char *name = ms_json_key(v);
        const char *bare =
            name + (strncmp(name, "fsdp_", strlen("fsdp_")) == 0 ? strlen("fsdp_") : 0);
        if (ms_json_kind_of(v) != MS_JSON_NULL && !is_known(t, name) && !is_known(t, bare))
            status = ms_note_add(t->r->notes, t->r->arena, t->r->err,
                                 "'%.60s' of fsdp_config was ignored%s", name,
                                 training_fsdp_is_axolotl(t) ? ": axolotl drops it" : "");
    }
    return status;
}

/* Finds a key, with or without its prefix; null is none. */
static bool training_fsdp_find(const ms_training_ranks *t, const char *name, ms_json_value *value)
{
    char whole[64] = "fsdp_";
    strncat(whole, name, sizeof whole - sizeof "fsdp_");
    return is_known(t, name) &&
           (ms_json_find(t->config, whole, value) || ms_json_find(t->config, name, value)) &&
           ms_json_kind_of(*value) != MS_JSON_NULL;
}

/* Its truth; `absent` where it is not there. */
static bool training_fsdp_is_true(const ms_training_ranks *t, const char *name, bool absent)
{
    ms_json_value value;
    return training_fsdp_find(t, name, &value) ? ms_training_truth(value, absent) : absent;
}

/* Units of layers alone, where accelerate's are not predicted for this model and these ranks, which
 * a first attempt told. */
static ms_status training_fsdp_set_plain_units(const ms_training_ranks *t)
{
    ms_status status =
        ms_training_set_aside(t, t->sharding->value, MS_EFFECT_EITHER,
                              "accelerate's units of embeddings and head, and shards that rank 0 "
                              "sends; the figures are for layers as units");
    if (status == MS_OK)
        status = ms_training_set_option(t, "fsdp-units", "layers");
    return status == MS_OK ? ms_training_set_option(t, "build", "host") : status;
}

/* ---- version and strategy ---- */

enum { FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2, STRATEGIES };
static const char *const strategies[] = {"FULL_SHARD",   "SHARD_GRAD_OP",      "NO_SHARD",
                                         "HYBRID_SHARD", "HYBRID_SHARD_ZERO2", NULL};

typedef struct fsdp {
    bool is_first; /* FullyShardedDataParallel, not fully_shard */
    int strategy;
    bool is_packed; /* a quantised base, of which FSDP2 alone is predicted */
} fsdp;

static ms_status read_version(const ms_training_ranks *t, fsdp *f)
{
    ms_json_value value;
    f->is_first = t->is_launched || training_fsdp_is_axolotl(t);
    bool has_outer = training_fsdp_is_axolotl(t) && ms_json_find(t->root, "fsdp_version", &value) &&
                     ms_json_kind_of(value) != MS_JSON_NULL;
    if (!has_outer && !training_fsdp_find(t, "version", &value))
        return MS_OK;
    double version = ms_training_value_number(value);
    f->is_first = version == 1;
    return version == 1 || version == 2 ? MS_OK
                                        : ms_training_refuse(t, value, "expected version 1 or 2");
}

static ms_status offload(const ms_training_ranks *t, bool is_first, ms_json_value value)
{
    if (!is_first)
        return ms_training_set_option(t, "fsdp-offload", "yes");
    return ms_training_set_aside(t, value, MS_EFFECT_SAVES,
                                 "parameters, gradients and states of FSDP1 on the host");
}

/* A word of `fsdp` in TrainingArguments: "full_shard auto_wrap". */
static ms_status read_word(const ms_training_ranks *t, const char *word, size_t length, fsdp *f)
{
    char text[32];
    if (length >= sizeof text)
        length = sizeof text - 1;
    memcpy(text, word, length);
    text[length] = '\0';
    for (int i = 0; i < STRATEGIES; i++)
        if (strcasecmp(text, strategies[i]) == 0) {
            f->strategy = i;
            return MS_OK;
        }
    if (strcasecmp(text, "auto_wrap") == 0)
        return MS_OK;
    if (strcasecmp(text, "offload") == 0)
        return offload(t, f->is_first, t->sharding->value);
    return strcasecmp(text, "true") == 0
               ? MS_OK
               : ms_training_refuse(t, t->sharding->value, "'%s' is not an option of fsdp", text);
}

static ms_status read_words(const ms_training_ranks *t, fsdp *f)
{
    ms_json_value all, word;
    ms_status status = MS_OK;
    if (!ms_json_find(t->root, "fsdp", &all))
        return MS_OK;
    for (const char *at = ms_training_value_text(all); *at && status == MS_OK;) {
        size_t length = strcspn(at, " ,");
        if (length)
            status = read_word(t, at, length, f);
        at += length + (at[length] != '\0');
    }
    bool is_list = ms_json_kind_of(all) == MS_JSON_ARRAY;
    for (bool more = is_list && ms_json_first(all, &word); more && status == MS_OK;
         more = ms_json_next(&word))
        status =
            read_word(t, ms_training_value_text(word), strlen(ms_training_value_text(word)), f);
    return status;
}

/* The launcher always hands on fsdp_sharding_strategy, which FSDP1 prefers. */
static ms_status read_strategy(const ms_training_ranks *t, fsdp *f)
{
    ms_json_value value;
    const char *key = t->is_launched && f->is_first ? "sharding_strategy" : "reshard_after_forward";
    ms_status status = t->is_launched ? MS_OK : read_words(t, f);
    if (status != MS_OK || !training_fsdp_find(t, key, &value))
        return status;
    if (!f->is_first) {
        bool resets = ms_training_truth(value, true);
        if (resets != ms_training_truth(value, false))
            return ms_training_refuse(t, value, "expected true or false with FSDP2");
        f->strategy = resets ? FULL_SHARD : SHARD_GRAD_OP;
        return MS_OK;
    }
    f->strategy = ms_training_word_of(value, strategies);
    return f->strategy >= 0 ? MS_OK
                            : ms_training_refuse(t, value, "expected a sharding strategy of FSDP1");
}

/* ---- units ---- */

/* Whether the class is that of a model's layers, not of a part of them. */
static bool is_layer(const char *name)
{
    const char *end = strstr(name, "DecoderLayer");
    return (end && strcmp(end, "DecoderLayer") == 0) ||
           ms_words_have(" GPT2Block GPTNeoXLayer BertLayer ViTLayer ", name);
}

#define LAYERS_ALONE "units other than the layers; the figures are for layers as units"

/* The class of the layers; several would be units of their own. */
static ms_status check_classes(const ms_training_ranks *t)
{
    ms_json_value value, one;
    if (!training_fsdp_find(t, "transformer_layer_cls_to_wrap", &value))
        return MS_OK;
    one = value;
    bool is_list = ms_json_kind_of(value) == MS_JSON_ARRAY;
    if (is_list && (ms_json_length(value) != 1 || !ms_json_first(value, &one)))
        return ms_training_set_aside(t, value, MS_EFFECT_EITHER, LAYERS_ALONE);
    const char *name = ms_training_value_text(one);
    if (!*name && !is_list)
        return MS_OK;
    if (strchr(name, ',') || !is_layer(name))
        return ms_training_set_aside(t, value, MS_EFFECT_EITHER, LAYERS_ALONE);
    return MS_OK;
}

static ms_status check_wrapping(const ms_training_ranks *t)
{
    ms_json_value value;
    bool is_there = training_fsdp_find(t, "auto_wrap_policy", &value);
    if (!is_there && t->is_launched)
        return ms_training_add_key(
            t->r, t->sharding->value, "fsdp_auto_wrap_policy", MS_KEY_NOT_PREDICTED, MS_EFFECT_ADDS,
            "no units, because there is no policy; the figures are for layers as units");
    const char *policy = is_there ? ms_training_value_text(value) : "";
    const bool is_size = strcasecmp(policy, "SIZE_BASED_WRAP") == 0;
    if (is_size || strcasecmp(policy, "NO_WRAP") == 0)
        return ms_training_set_aside(t, value, is_size ? MS_EFFECT_EITHER : MS_EFFECT_ADDS,
                                     LAYERS_ALONE);
    if (is_there && strcasecmp(policy, "TRANSFORMER_BASED_WRAP") != 0)
        return ms_training_refuse(t, value,
                                  "'%.40s': expected TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP or "
                                  "NO_WRAP",
                                  policy);
    return check_classes(t);
}

/* ---- ranks ---- */

/* FSDP1 of a base in 4 bits is not predicted; FSDP2 comes near. */
static ms_status divide_packed(const ms_training_ranks *t, fsdp *f)
{
    static const char *const keys[] = {"load_in_4bit", "quantization_bit", "load_in_8bit"};
    ms_json_value value;
    bool is_packed = ms_json_find(t->root, "adapter", &value) &&
                     strcmp(ms_training_value_text(value), "qlora") == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !is_packed; i++)
        is_packed = ms_json_find(t->root, keys[i], &value) && !ms_training_says_nothing(value);
    f->is_packed = is_packed;
    if (!f->is_first || !is_packed || t->is_given)
        return MS_OK;
    f->is_first = false;
    f->strategy = f->strategy == SHARD_GRAD_OP || f->strategy == HYBRID_SHARD_ZERO2 ? SHARD_GRAD_OP
                                                                                    : FULL_SHARD;
    return ms_training_set_aside(t, value, MS_EFFECT_EITHER,
                                 "FSDP1 of a quantised base; the figures are for FSDP2");
}

static ms_status layout_of(const ms_training_ranks *t, const fsdp *f, const char **layout)
{
    ms_arena *arena = t->r->arena;
    uint64_t world = 0, copies = t->copies, shards = t->shards;
    if (t->others)
        shards *= t->others; /* both are bounded by the most ranks there can be */
    ms_status status = copies && shards ? MS_OK : ms_training_world(t, &world);
    if (status != MS_OK)
        return status;
    bool is_hybrid = f->is_first && f->strategy >= HYBRID_SHARD;
    ms_json_value machines;
    if (f->is_first && !t->is_given && (copies > 1 || shards > 1))
        return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "accelerate does not accept numbers of copies and shards with FSDP "
                            "version 1: set fsdp_version 2");
    if (is_hybrid) {
        bool is_there = ms_json_find(t->root, "num_machines", &machines);
        double count = is_there ? ms_training_value_number(machines) : 1;
        if (count < 2 || world % (uint64_t)count)
            return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                "%s on one machine is not predicted: give --parallel hsdp1=RxS",
                                strategies[f->strategy]);
        copies = (uint64_t)count;
    }
    if (!world)
        world = copies * shards;
    copies = copies ? copies : shards ? world / shards : 1;
    shards = shards ? shards : world / copies;
    if (copies * shards != world)
        return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu64 " copies of %" PRIu64 " shards do not make %" PRIu64
                            " ranks",
                            copies, shards, world);
    const char *first = f->is_first ? "1" : "";
    *layout = copies > 1
                  ? ms_arena_printf(arena, "hsdp%s=%" PRIu64 "x%" PRIu64, first, copies, shards)
                  : ms_arena_printf(arena, "fsdp%s=%" PRIu64, first, shards);
    return MS_OK;
}

/* ---- options ---- */

/* A key that these trainers know, but that says nothing where it stands. */
static ms_status note_unheard(const ms_training_ranks *t, const char *name, const char *by)
{
    return ms_note_add(t->r->notes, t->r->arena, t->r->err,
                       "%s of fsdp_config has no effect, because %s does not pass it on", name, by);
}

static ms_status set_first_options(const ms_training_ranks *t)
{
    static const char *const prefetches[] = {"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH", NULL};
    static const char *const names[] = {"pre", "post", "none"};
    ms_json_value value;
    bool is_there = training_fsdp_find(t, "backward_prefetch", &value);
    int prefetch = is_there ? ms_training_word_of(value, prefetches) : 2;
    if (prefetch < 0)
        return ms_training_refuse(t, value, "expected BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH");
    ms_status status = ms_training_set_option(t, "backward-prefetch", names[prefetch]);
    if (status == MS_OK && training_fsdp_is_true(t, "forward_prefetch", false))
        status = ms_training_set_option(t, "forward-prefetch", "yes");
    if (status == MS_OK && !training_fsdp_is_true(t, "use_orig_params", true))
        status = ms_training_set_option(t, "use-orig-params", "no");
    if (status != MS_OK || training_fsdp_is_true(t, "limit_all_gathers", true))
        return status;
    return t->is_launched ? note_unheard(t, "limit_all_gathers", "accelerate's launcher")
                          : ms_training_set_option(t, "limit-all-gathers", "no");
}

/* axolotl has its own in the place of accelerate's: it makes no units of the ends, and hands
 * reshard_after_forward on to the root. */
static ms_status read_axolotl(const ms_training_ranks *t, const fsdp *f)
{
    ms_json_value value;
    ms_status status = MS_OK;
    if (ms_json_find(t->root, "fp32_norms", &value) && !ms_training_says_nothing(value))
        status = ms_training_set_aside(t, value, MS_EFFECT_EITHER, "units of norms, in fp32");
    if (status == MS_OK && f->strategy != SHARD_GRAD_OP)
        status = ms_training_set_option(t, "reshard-root", "yes");
    if (status != MS_OK)
        return status;
    return ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                       "axolotl loads shards in its own way; the figures are for accelerate's way");
}

static ms_status set_second_options(const ms_training_ranks *t, const fsdp *f)
{
    const bool is_axolotl = training_fsdp_is_axolotl(t);
    const bool is_broadcast =
        !is_axolotl && training_fsdp_is_true(t, "cpu_ram_efficient_loading", t->is_launched);
    ms_run_draft *draft = t->r->draft;
    ms_status status = is_axolotl ? read_axolotl(t, f) : MS_OK;
    draft->has_end_units = !is_axolotl && !f->is_packed && !ms_run_field_is_set(draft, "build") &&
                           !ms_run_field_is_set(draft, "fsdp-units");
    if (draft->has_end_units && draft->has_plain_units)
        return training_fsdp_set_plain_units(t);
    if (status == MS_OK)
        status = ms_training_set_option(t, "fsdp-units", is_axolotl ? "layers" : "accelerate");
    const char *build = f->is_packed ? "device" : is_broadcast ? "broadcast" : "host";
    return status == MS_OK ? ms_training_set_option(t, "build", build) : status;
}

static ms_status set_checkpoints(const ms_training_ranks *t)
{
    if (!training_fsdp_is_true(t, "activation_checkpointing", false))
        return MS_OK;
    ms_status status = ms_training_set_option(t, "checkpointing", "all");
    return status == MS_OK ? ms_training_set_option(t, "checkpoint-kind", "non-reentrant") : status;
}

/* transformers has another name for it than accelerate. */
static ms_status set_offload(const ms_training_ranks *t, bool is_first)
{
    static const char *const names[] = {"cpu_offload", "offload_params"};
    bool is_own = t->is_launched || training_fsdp_is_axolotl(t);
    ms_json_value value;
    if (!training_fsdp_is_axolotl(t) && training_fsdp_is_true(t, names[!is_own], false))
        return note_unheard(t, names[!is_own], is_own ? "accelerate's launcher" : "transformers");
    if (!training_fsdp_is_true(t, names[is_own], false) ||
        !training_fsdp_find(t, names[is_own], &value))
        return MS_OK;
    return offload(t, is_first, value);
}

/* Keys that stand for what is not predicted, unless they say nothing. */
static ms_status check_keys(const ms_training_ranks *t, bool is_first)
{
    static const struct {
        const char *name;
        ms_key_effect effect;
        const char *meaning;
    } keys[] = {
        {"ignored_modules", MS_EFFECT_ADDS, "modules that are not sharded"},
        {"activation_checkpointing_offload", MS_EFFECT_SAVES, "inputs of checkpoints on the host"},
        {"xla", MS_EFFECT_EITHER, "FSDP of XLA"},
        {"mixed_precision_policy", MS_EFFECT_EITHER, "its own mixed-precision policy"},
    };
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == MS_OK; i++)
        if (training_fsdp_find(t, keys[i].name, &value) && !ms_training_says_nothing(value) &&
            ms_training_truth(value, true))
            status = ms_training_set_aside(t, value, keys[i].effect, keys[i].meaning);
    return status == MS_OK ? set_offload(t, is_first) : status;
}

static ms_status set_options(const ms_training_ranks *t, const fsdp *f)
{
    ms_status status = f->is_first ? set_first_options(t) : set_second_options(t, f);
    bool keeps = f->strategy == SHARD_GRAD_OP || f->strategy == HYBRID_SHARD_ZERO2;
    if (status == MS_OK && keeps)
        status = ms_training_set_option(t, "reshard-after-forward", "no");
    if (status == MS_OK)
        status = check_keys(t, f->is_first || f->is_packed);
    if (status == MS_OK)
        status = set_checkpoints(t);
    /* accelerate 1.11 is the first in which FSDP2 waits for the last micro-step */
    const bool waits = f->is_first || !ms_training_is_before(t->r, MS_FRAMEWORK_ACCELERATE, 1, 11);
    return status == MS_OK && waits ? ms_training_set_option(t, "no-sync", "yes") : status;
}

/* accelerate prefers the strategy that its launcher always hands on, FULL_SHARD unless
 * fsdp_sharding_strategy says otherwise. transformers sets reshard_after_forward alone. */
static ms_status note_strategy(const ms_training_ranks *t, fsdp *f)
{
    ms_json_value value;
    bool has_own = t->is_launched && training_fsdp_find(t, "sharding_strategy", &value);
    int said = f->strategy;
    if (!f->is_first || has_own)
        return MS_OK;
    if (t->is_launched && training_fsdp_find(t, "reshard_after_forward", &value))
        said = ms_training_word_of(value, strategies);
    f->strategy = FULL_SHARD;
    if (said <= FULL_SHARD)
        return MS_OK;
    return ms_note_add(t->r->notes, t->r->arena, t->r->err,
                       "%s has no effect: accelerate uses FULL_SHARD for FSDP1 unless "
                       "fsdp_sharding_strategy in its own file says otherwise",
                       strategies[said]);
}

ms_status ms_training_read_fsdp(ms_training_ranks *t, bool *is_read)
{
    fsdp f = {.strategy = FULL_SHARD};
    const char *layout = NULL;
    bool has_none = ms_json_kind_of(t->config) != MS_JSON_OBJECT || !ms_json_length(t->config);
    *is_read = !(training_fsdp_is_axolotl(t) && has_none);
    if (!*is_read && t->is_given)
        return MS_OK;
    if (!*is_read)
        return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "fsdp_config, by which axolotl shards with FSDP, is missing or empty");
    ms_status status = read_version(t, &f);
    if (status == MS_OK)
        status = read_strategy(t, &f);
    if (status == MS_OK && !f.is_first && f.strategy >= NO_SHARD)
        return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%s is an option of FSDP1: set version 1 in fsdp_config",
                            strategies[f.strategy]);
    if (status == MS_OK)
        status = note_strategy(t, &f);
    if (status == MS_OK)
        status = divide_packed(t, &f);
    if (status == MS_OK)
        status = layout_of(t, &f, &layout);
    if (status == MS_OK)
        status = ms_training_set_layout(t, layout, is_read);
    if (status != MS_OK || !*is_read)
        return status;
    status = check_wrapping(t);
    if (status == MS_OK)
        status = training_fsdp_note_unknown(t);
    return status == MS_OK ? set_options(t, &f) : status;
}
