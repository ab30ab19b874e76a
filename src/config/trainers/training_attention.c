/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of the package flash-attn allocate what PyTorch's flash attention does, as long as no
 * token is padding: output and log-sum-exp forward, three gradients backward. Of a padded batch
 * transformers 5.24 gathers queries, keys and values without the padding, and spreads the output
 * again: _upad_input and pad_input in modeling_flash_attention_utils.
 */
#include "config/trainers/training_attention.h"

#include <string.h>

#include "base/size.h"
#include "tensor/dtype.h"

static const struct {
    const char *name, *attention; /* NULL: what the run takes by itself */
} attentions[] = {{"auto", NULL}, {"sdpa", "auto"}, {"eager", "eager"}, {"disabled", "eager"}};

/* Names of the package's kernels, also as they come from the Hub; they end in a version. */
static bool is_flash_name(const char *name)
{
    static const char *const flash[] = {"flash_attention_", "kernels-community/flash-attn",
                                        "kernels-community/vllm-flash-attn", "fa2", "fa3"};
    for (size_t i = 0; i < sizeof flash / sizeof *flash; i++)
        if (strncmp(name, flash[i], strlen(flash[i])) == 0)
            return true;
    return false;
}

static const char *name_of(const ms_training_reading *r)
{
    return ms_training_text(r, MS_TOPIC_ATTENTION, "auto");
}

/* The topic that asks for the package; MS_TOPIC_COUNT: none does. */
static ms_training_topic flash_topic(const ms_training_reading *r)
{
    if (ms_run_field_is_set(r->draft, "attention"))
        return MS_TOPIC_COUNT;
    if (is_flash_name(name_of(r)))
        return MS_TOPIC_ATTENTION;
    return ms_training_flag(r, MS_TOPIC_FLASH, false) ? MS_TOPIC_FLASH : MS_TOPIC_COUNT;
}

/* ---- the package flash-attn ---- */

/* In each layer whose tensors are kept the output is there twice, and the places of tokens, which
 * four gathers save; in one layer also queries, keys and values are. */
static uint64_t added_by_padding(const ms_model_config *model, const ms_run_config *run)
{
    enum { GATHERS = 4, PLACE_BYTES = 8 };
    const uint64_t element = ms_dtype_info_of(run->dtype)->bytes;
    const ms_size tokens = ms_size_mul(ms_size_of(run->batch), run->seq_tokens);
    uint64_t layers = 1; /* the one that is recomputed */
    for (uint64_t i = 0; i < model->num_layers; i++)
        layers += run->treatments.layers[i].kind != MS_TREAT_CHECKPOINT;
    ms_size kept = ms_size_mul(ms_size_of(model->num_heads), ms_value_dim(model));
    kept = ms_size_add(ms_size_mul(kept, element), GATHERS * PLACE_BYTES);
    ms_size once = ms_size_mul(ms_size_of(model->num_heads + 2 * model->num_kv_heads), element);
    once = ms_size_mul(ms_size_mul(once, model->head_dim), tokens.bytes);
    const ms_size all =
        ms_size_add(ms_size_mul(ms_size_mul(kept, layers), tokens.bytes), once.bytes);
    return all.overflow || once.overflow || tokens.overflow ? UINT64_MAX : all.bytes;
}

static uint64_t adds_nothing(const ms_model_config *model, const ms_run_config *run)
{
    (void)model, (void)run;
    return 0;
}

static bool is_packed(const ms_training_reading *r)
{
    return ms_training_flag(r, MS_TOPIC_PACKED, false) ||
           ms_training_flag(r, MS_TOPIC_PADDING_FREE, false);
}

static ms_status take_flash(ms_training_reading *r, ms_training_topic topic)
{
    return ms_training_leave_out_bounded(
        r, topic, "flash-attn's kernels, which need what PyTorch's do where nothing is padded",
        is_packed(r) ? adds_nothing : added_by_padding);
}

static ms_status set_attention(ms_training_reading *r, ms_training_topic flash)
{
    const char *name = name_of(r);
    if (ms_training_flag(r, MS_TOPIC_EAGER, false))
        return ms_training_offer(r, "attention", "eager", MS_TOPIC_EAGER);
    if (flash != MS_TOPIC_COUNT)
        return take_flash(r, flash);
    for (size_t i = 0; i < sizeof attentions / sizeof attentions[0]; i++)
        if (strcmp(attentions[i].name, name) == 0)
            return attentions[i].attention
                       ? ms_training_offer(r, "attention", attentions[i].attention,
                                           MS_TOPIC_ATTENTION)
                       : MS_OK;
    return ms_training_leave_out(r, MS_TOPIC_ATTENTION, MS_EFFECT_EITHER,
                                 "kernels of attention other than PyTorch's");
}

/* ---- packing and padding ---- */

/* Packed rows are kept apart by position ids, which flash-attn takes as they are; other kernels get
 * a mask of documents. LLaMA-Factory's plain packing keeps nothing apart, and axolotl leaves
 * PyTorch's attention as it is unless it is asked for. */
static ms_status take_packing(ms_training_reading *r, bool is_flash)
{
    const ms_training_topic topic =
        r->file.given[MS_TOPIC_PADDING_FREE] ? MS_TOPIC_PADDING_FREE : MS_TOPIC_PACKED;
    const bool is_apart = r->file.format == MS_TRAINING_HF || topic == MS_TOPIC_PADDING_FREE ||
                          r->file.given[MS_TOPIC_ATTENTION];
    if (is_flash || !is_apart)
        return MS_OK;
    return ms_training_leave_out(r, topic, MS_EFFECT_EITHER,
                                 "documents that are packed into a row and kept apart by a mask");
}

/* The collators of these pass a mask, and fill up shorter sequences where they do not pack; others'
 * batches are packed, or no mask of padding is made of them. flash-attn sees no mask. */
static ms_status set_padding(ms_training_reading *r, bool is_flash)
{
    const ms_training_format format = r->file.format;
    bool pads =
        format == MS_TRAINING_HF || format == MS_TRAINING_AXOLOTL || format == MS_TRAINING_FACTORY;
    if (!pads)
        return MS_OK;
    if (is_packed(r))
        return take_packing(r, is_flash);
    return ms_training_offer(r, "padding", is_flash ? "ones" : "unknown", MS_TOPIC_PACKED);
}

ms_status ms_training_set_attention(ms_training_reading *r)
{
    const ms_training_topic flash = flash_topic(r);
    ms_status status = set_attention(r, flash);
    return status == MS_OK ? set_padding(r, flash != MS_TOPIC_COUNT) : status;
}
