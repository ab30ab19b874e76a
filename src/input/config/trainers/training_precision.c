/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dtypes of weights and of autocast that files of training settings state or imply.
 */
#include "input/config/trainers/training_precision.h"

#include <string.h>

#include "base/size.h"
#include "input/config/model/model_config.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/keys/versions.h"
#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/adapters/training_bits.h"
#include "input/config/trainers/others/training_axolotl.h"
#include "input/config/trainers/others/training_swift.h"
#include "input/config/trainers/others/training_v1.h"
#include "input/config/trainers/training_recipes.h"
#include "input/config/trainers/training_zero.h"
#include "input/config/trainers/training_reading.h"
#include "input/config/model/unsupported.h"

/* accelerate's word for it, where TrainingArguments have none of their own. It runs fp8 within
 * autocast in bf16. */
static ms_status accelerate_precision(ms_training_reading *r, const char **autocast)
{
    ms_training_topic topic = MS_TOPIC_MIXED_PRECISION;
    const char *word = ms_training_text(r, topic, "no");
    const char *reason = ms_unsupported_type(word);
    if (strcmp(word, "bf16") == 0 || strcmp(word, "fp16") == 0)
        *autocast = word;
    else if (reason) {
        *autocast = "bf16";
        return ms_training_leave_out(r, topic, MS_EFFECT_EITHER,
                                     "fp8 training; the step is run in bf16 autocast");
    } else if (strcmp(word, "no") != 0 || ms_training_flag(r, topic, false))
        return ms_training_fail(r, topic, "expected no, fp16, bf16 or fp8");
    return MS_OK;
}

/* The type of autocast, by bf16 and fp16. */
static ms_status mixed_precision(ms_training_reading *r, const char **autocast)
{
    bool is_axolotl = r->file.format == MS_TRAINING_AXOLOTL;
    bool fp16 = ms_training_flag(r, MS_TOPIC_FP16, false);
    /* axolotl's "auto": bf16 unless fp16 is set */
    bool automatic = is_axolotl && (!r->file.given[MS_TOPIC_BF16] ||
                                    strcmp(ms_training_text(r, MS_TOPIC_BF16, ""), "auto") == 0);
    bool is_text = is_axolotl && *ms_training_text(r, MS_TOPIC_BF16, "");
    bool usual = r->is_sft && !fp16; /* TRL's own */
    if (r->file.format == MS_TRAINING_SWIFT)
        return ms_training_swift_autocast(r, autocast);
    bool bf16 = automatic ? !fp16 : is_text || ms_training_flag(r, MS_TOPIC_BF16, usual);
    if (is_text && !automatic && strcmp(ms_training_text(r, MS_TOPIC_BF16, ""), "full") != 0)
        return ms_training_fail(r, MS_TOPIC_BF16, "'%.40s': expected true, false, auto or full",
                                ms_training_text(r, MS_TOPIC_BF16, ""));
    if (bf16 && fp16 && !is_axolotl)
        return ms_training_fail(r, MS_TOPIC_FP16, "fp16 and bf16 are both set; give one of them");
    /* "full" is the type of the weights, without mixed precision; autocast changes none of them */
    bool is_full = is_text && !automatic && r->ranks != MS_PARALLEL_NONE;
    *autocast = is_full ? "none" : bf16 ? "bf16" : fp16 ? "fp16" : "none";
    return bf16 || fp16 ? MS_OK : accelerate_precision(r, autocast);
}

/* Trainer leaves the weights as they were loaded, and from_pretrained takes the type the config
 * says. */
static ms_status hf_weights(ms_training_reading *r, const char **dtype)
{
    const bool widens = r->is_sft || ms_training_is_before(r, MS_FRAMEWORK_TRANSFORMERS, 5, 0);
    *dtype = ms_training_text(r, MS_TOPIC_DTYPE, widens ? "fp32" : "auto");
    if (strcmp(*dtype, "auto") != 0)
        return MS_OK;
    *dtype = ms_training_stored_type(r);
    if (ms_run_field_is_set(r->draft, "dtype") || r->ranks != MS_PARALLEL_NONE)
        return MS_OK; /* FSDP and DeepSpeed change them */
    return ms_note_add(r->notes, r->arena, r->err,
                       "the weights are %s, %s; Trainer trains them in the type in which they are "
                       "loaded (--dtype)",
                       *dtype,
                       r->model->has_dtype ? "as in the model's config"
                                           : "as the model's config has no type");
}

static const char *axolotl_weights(const ms_training_reading *r, const char *autocast)
{
    if (ms_training_flag(r, MS_TOPIC_WEIGHTS_BF16, false) || strcmp(autocast, "bf16") == 0 ||
        strcmp(ms_training_text(r, MS_TOPIC_BF16, ""), "full") == 0)
        return "bf16";
    bool half = ms_training_flag(r, MS_TOPIC_WEIGHTS_FP16, false) || strcmp(autocast, "fp16") == 0;
    return half ? "fp16" : "fp32";
}

/* What is trained as a whole goes to fp32, unless pure_bf16. */
static const char *factory_weights(const ms_training_reading *r, const char *autocast)
{
    if (ms_training_flag(r, MS_TOPIC_PURE_BF16, false))
        return "bf16";
    if (!ms_training_has_adapter(r))
        return "fp32";
    return strcmp(autocast, "none") == 0 ? ms_training_stored_type(r) : autocast;
}

/* Of each element 2 further bytes as weight, gradient and two states, and autocast's copy of it. */
static uint64_t of_wide_ends(const ms_model_config *model, const ms_run_config *run)
{
    enum { MATRICES = 2, NORMS = 8, BYTES = 2 * 5 };
    (void)run;
    ms_size elements = ms_size_mul(ms_size_of(model->vocab_size), MATRICES);
    elements = ms_size_add(elements, NORMS * model->num_layers);
    const ms_size bytes = ms_size_mul(ms_size_mul(elements, model->hidden_size), BYTES);
    return ms_size_capped(bytes);
}

/* Without an adapter, axolotl casts them back only where attention or the loss needs it. */
static ms_status note_axolotl_weights(ms_training_reading *r, const char *dtype)
{
    if (ms_training_has_adapter(r) || r->ranks != MS_PARALLEL_NONE ||
        r->file.given[MS_TOPIC_ATTENTION] || ms_training_flag(r, MS_TOPIC_FLASH, false) ||
        ms_training_has_cut_loss(r->root) || strcmp(dtype, "fp32") == 0)
        return MS_OK;
    return ms_training_add_read_key(
        r, r->root, "base_model",
        (ms_read_key){.value = "by default",
                      .meaning = "axolotl keeps embeddings, head and norms in fp32 here",
                      .reading = MS_KEY_NOT_PREDICTED,
                      .effect = MS_EFFECT_ADDS,
                      .bound = of_wide_ends});
}

/* ---- FSDP ---- */

static bool has_adapter(const ms_training_reading *r)
{
    return ms_training_has_adapter(r) || ms_run_has_lora(r->draft) ||
           ms_run_field_is_set(r->draft, "adapter");
}

/* Under mixed precision accelerate casts what is trained to fp32: FSDP2's on the host, FSDP1's
 * parts. FSDP1 runs under autocast besides. axolotl's own FSDP2 casts nothing, and makes units of
 * adapters. `autocast` is the mixed precision of the file, `dtype` the type in which it loads
 * weights. */
static ms_status set_fsdp_types(ms_training_reading *r, const char *dtype, const char *autocast)
{
    bool is_first = r->draft->run.parallel.layout.kind == MS_PARALLEL_FSDP1;
    if (ms_run_field_is_set(r->draft, "dtype"))
        dtype = ms_dtype_weight_names[r->draft->run.dtype];
    bool is_mixed = strcmp(autocast, "none") != 0;
    bool is_own = r->file.format == MS_TRAINING_AXOLOTL && !is_first;
    bool widens = is_mixed && !has_adapter(r) && !is_own;
    const struct {
        const char *field, *text;
        bool is_set;
    } types[] = {
        {"dtype", widens ? "fp32" : dtype, true},
        {"load-dtype", dtype, widens && is_first},
        {"param-dtype", autocast, is_mixed},
        {"reduce-dtype", autocast, is_mixed},
        {"autocast", is_first ? autocast : "none", true},
    };
    ms_training_topic from =
        r->file.given[MS_TOPIC_BF16] ? MS_TOPIC_BF16 : MS_TOPIC_MIXED_PRECISION;
    ms_status status = MS_OK;
    if (widens && ms_run_field_is_set(r->draft, "dtype"))
        ms_run_field_unset(r->draft, "dtype"); /* it is the type that is loaded */
    if (is_own && has_adapter(r))
        status = ms_training_note_key(r, MS_TOPIC_ADAPTER, "fsdp_version", MS_EFFECT_EITHER,
                                      "axolotl's FSDP2, which makes units of an adapter's "
                                      "matrices");
    if (status != MS_OK)
        return status;
    if (strcmp(autocast, "fp16") == 0)
        return ms_training_fail(r, r->file.given[MS_TOPIC_FP16] ? MS_TOPIC_FP16 : from,
                                "FSDP with fp16 scales the loss, which is not predicted");
    for (size_t i = 0; i < sizeof types / sizeof *types && status == MS_OK; i++)
        if (types[i].is_set)
            status = ms_training_offer(r, types[i].field, types[i].text, from);
    return status;
}

/* ---- all of it ---- */

ms_status ms_training_set_precision(ms_training_reading *r)
{
    const char *autocast = "none", *dtype = NULL;
    if (r->file.format == MS_TRAINING_TITAN)
        return ms_training_set_titan_types(r);
    ms_status status = mixed_precision(r, &autocast);
    if (status != MS_OK)
        return status;
    ms_training_topic from = MS_TOPIC_BF16;
    switch (r->file.format) {
    case MS_TRAINING_AXOLOTL:
        dtype = axolotl_weights(r, autocast);
        status = note_axolotl_weights(r, dtype);
        break;
    case MS_TRAINING_FACTORY:
        dtype = factory_weights(r, autocast);
        break;
    case MS_TRAINING_SWIFT:
        dtype = ms_training_swift_dtype(r);
        from = MS_TOPIC_DTYPE;
        break;
    case MS_TRAINING_V1:
        return r->ranks == MS_PARALLEL_ZERO ? ms_training_set_zero_types(r, "bf16")
                                            : ms_training_set_v1_types(r);
    case MS_TRAINING_TORCHTUNE:
        dtype = ms_training_text(r, MS_TOPIC_DTYPE, "bf16");
        from = MS_TOPIC_DTYPE;
        break;
    case MS_TRAINING_TITAN: /* above */
    case MS_TRAINING_HF:
    case MS_TRAINING_FORMAT_COUNT:
        status = hf_weights(r, &dtype);
        from = MS_TOPIC_DTYPE;
        break;
    }
    if (r->type != MS_TRAINING_TYPE_NONE && strcmp(autocast, "none") == 0) /* DeepSpeed's own */
        autocast = r->type == MS_TRAINING_TYPE_BF16 ? "bf16" : "fp16";
    if (status == MS_OK && (r->ranks == MS_PARALLEL_FSDP1 || r->ranks == MS_PARALLEL_FSDP2))
        return set_fsdp_types(r, dtype, autocast);
    if (status == MS_OK && r->ranks == MS_PARALLEL_ZERO)
        return ms_training_set_zero_types(r, autocast);
    if (status == MS_OK)
        status = ms_training_offer(r, "dtype", dtype, from);
    return status == MS_OK
               ? ms_training_offer(r, "autocast", autocast,
                                   strcmp(autocast, "fp16") == 0 ? MS_TOPIC_FP16 : MS_TOPIC_BF16)
               : status;
}
