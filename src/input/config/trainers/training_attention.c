/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kernels of the package flash-attn allocate what PyTorch's flash attention does, as long as no
 * token is padding: output and log-sum-exp forward, three gradients backward. Of a padded batch
 * transformers 5.24 gathers queries, keys and values without the padding, and spreads the output
 * again: _upad_input and pad_input in modeling_flash_attention_utils.
 */
#include "input/config/trainers/training_attention.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "input/config/model/family.h"
#include "core/tensor/dtype.h"

static const struct {
    const char *name, *attention; /* NULL: what the run takes by itself */
} attentions[] = {{"auto", NULL}, {"sdpa", "auto"}, {"eager", "eager"}, {"disabled", "eager"}};

/* Names of the package's kernels, also as they come from the Hub; they end in a version. */
static bool is_flash_name(const char *name)
{
    static const char *const flash[] = {"flash_attention_",
                                        "kernels-community/flash-attn",
                                        "kernels-community/vllm-flash-attn",
                                        "flash_attn",
                                        "fa2",
                                        "fa3"};
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

/* Of a family whose own attention is eager, the figures have weights of attention, which the
 * kernels do not make; what a padded batch adds to these may be more. */
static ms_status take_flash(ms_training_reading *r, ms_training_topic topic)
{
    if (r->model->family->eager_only)
        return ms_training_leave_out(r, topic, is_packed(r) ? MS_EFFECT_SAVES : MS_EFFECT_EITHER,
                                     "flash-attn's kernels; the figures are for eager attention, "
                                     "which stores attention weights");
    return ms_training_leave_out_bounded(
        r, topic, "flash-attn's kernels, which need the same as PyTorch's if nothing is padded",
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

/* Masks of families whose padded batches are not predicted are left out: of what is padded or kept
 * apart, as not predicted. */
static ms_status offer_padding(ms_training_reading *r, const char *padding, ms_training_topic topic)
{
    const bool is_known = !(r->model->family->unpredicted & MS_UNPREDICTED_PADDING);
    if (is_known || strcmp(padding, "yes") != 0)
        return ms_training_offer(r, "padding", is_known ? padding : "unknown", topic);
    ms_status status = ms_training_note_key(r, topic, "packing", MS_EFFECT_ADDS,
                                            "masks of this family; the figures are without them");
    return status == MS_OK ? ms_training_offer(r, "padding", "unknown", topic) : status;
}

/* TRL and ms-swift join all sequences of a batch to one row; documents are kept apart by a mask, as
 * padded ones are, or by flash-attn. Whether that can be simulated, and how many tokens it has. */
static bool is_one_row(const ms_training_reading *r, uint64_t *tokens)
{
    const ms_run_config *run = &r->draft->run;
    const uint64_t learned = ms_model_learned_positions(r->model);
    const ms_size row = ms_size_mul(ms_size_of(run->batch), run->seq_tokens);
    *tokens = row.bytes;
    bool joins = r->is_sft || r->file.format == MS_TRAINING_SWIFT;
    return joins && ms_run_field_is_set(r->draft, "seq") && !row.overflow &&
           (!learned || row.bytes <= learned);
}

/* A row that TRL packs has as many documents as sequences were joined at least, of which the mask
 * comes of two or more. */
static ms_status offer_documents(ms_training_reading *r, const char *padding)
{
    const ms_family *family = r->model->family;
    const ms_run_config *run = &r->draft->run;
    const bool is_masked = ms_run_field_is_set(r->draft, "padding")
                               ? run->padding.given == MS_PADDING_YES
                               : strcmp(padding, "yes") == 0;
    if (!r->is_sft || !is_masked || ms_run_field_is_set(r->draft, "documents") ||
        (family->unpredicted & MS_UNPREDICTED_PADDING) ||
        (family->unpredicted & MS_UNPREDICTED_DOCUMENTS))
        return MS_OK;
    const uint64_t least = run->joined > 2 ? run->joined : 2;
    const char *count = ms_arena_printf(r->arena, "%" PRIu64, least);
    if (!count)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the training arguments");
    r->draft->run.has_fewest_documents = true;
    return ms_run_field_set(r->draft, r->arena, "documents", count, r->err);
}

static ms_status join_batch(ms_training_reading *r, uint64_t tokens, const char *padding)
{
    const char *seq = ms_arena_printf(r->arena, "%" PRIu64, tokens);
    if (!seq)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the training arguments");
    ms_status status = MS_OK;
    r->draft->run.joined = r->draft->run.batch;
    if (r->draft->run.batch > 1)
        status = ms_note_add(r->notes, r->arena, r->err,
                             "%s joins the %" PRIu64 " sequences of a batch into one of %" PRIu64
                             " tokens",
                             r->is_sft ? "TRL" : ms_training_format_name(r->file.format),
                             r->draft->run.batch, tokens);
    if (status == MS_OK)
        status = ms_run_field_set(r->draft, r->arena, "seq", seq, r->err);
    if (status == MS_OK)
        status = ms_run_field_set(r->draft, r->arena, "batch", "1", r->err);
    if (status == MS_OK)
        status = offer_documents(r, padding);
    return status == MS_OK ? offer_padding(r, padding, MS_TOPIC_PACKED) : status;
}

/* ms-swift packs for flash-attn alone, which sees where documents begin. */
static ms_status take_packing_of_swift(ms_training_reading *r, bool is_flash)
{
    const ms_training_topic topic =
        ms_training_flag(r, MS_TOPIC_PACKED, false) ? MS_TOPIC_PACKED : MS_TOPIC_PADDING_FREE;
    uint64_t tokens;
    if (!is_flash && !ms_run_field_is_set(r->draft, "attention"))
        return ms_training_fail(
            r, topic,
            "ms-swift joins sequences only for flash-attn: set attn_impl to flash_attention_2");
    return is_one_row(r, &tokens)
               ? join_batch(r, tokens, "ones")
               : ms_training_leave_out(r, topic, MS_EFFECT_EITHER, "joined sequences");
}

/* Rows that are cut wherever they are full have neither padding nor documents. */
static bool is_wrapped(const ms_training_reading *r)
{
    return r->is_sft && strcmp(ms_training_text(r, MS_TOPIC_PACKING_STRATEGY, ""), "wrapped") == 0;
}

static ms_status check_strategy(ms_training_reading *r)
{
    const char *name = ms_training_text(r, MS_TOPIC_PACKING_STRATEGY, "bfd");
    bool is_known =
        strcmp(name, "bfd") == 0 || strcmp(name, "bfd_split") == 0 || strcmp(name, "wrapped") == 0;
    return is_known || !r->is_sft
               ? MS_OK
               : ms_training_fail(r, MS_TOPIC_PACKING_STRATEGY,
                                  "found '%s', expected bfd, bfd_split or wrapped", name);
}

static ms_status take_packing_of_trl(ms_training_reading *r, uint64_t tokens)
{
    if (ms_training_flag(r, MS_TOPIC_PACKED, false))
        return join_batch(r, tokens, "yes");
    ms_status status = ms_training_leave_out(
        r, MS_TOPIC_PADDING_FREE, MS_EFFECT_EITHER,
        "joined sequences, which TRL does not truncate to max_length unless it packs");
    return status == MS_OK ? join_batch(r, tokens, "yes") : status;
}

/* Packed rows are kept apart by position ids, which flash-attn takes as they are; other kernels get
 * a mask of documents. LLaMA-Factory's plain packing keeps nothing apart, and axolotl leaves
 * PyTorch's attention as it is unless it is asked for. */
static ms_status take_packing(ms_training_reading *r, bool is_flash)
{
    const ms_training_topic topic =
        r->file.given[MS_TOPIC_PADDING_FREE] ? MS_TOPIC_PADDING_FREE : MS_TOPIC_PACKED;
    const bool is_apart = r->file.format == MS_TRAINING_HF || topic == MS_TOPIC_PADDING_FREE ||
                          r->file.given[MS_TOPIC_ATTENTION];
    uint64_t tokens;
    ms_status status = check_strategy(r);
    if (status != MS_OK)
        return status;
    if (is_wrapped(r))
        return offer_padding(r, "ones", MS_TOPIC_PACKING_STRATEGY);
    if (is_flash || !is_apart)
        return MS_OK;
    if (is_one_row(r, &tokens))
        return take_packing_of_trl(r, tokens);
    return ms_training_leave_out(r, topic, MS_EFFECT_EITHER,
                                 "documents packed into a row and kept apart by a mask");
}

/* The collators of these pass a mask, and fill up shorter sequences where they do not pack; others'
 * batches are packed, or no mask of padding is made of them. flash-attn sees no mask. */
static ms_status set_padding(ms_training_reading *r, bool is_flash)
{
    const ms_training_format format = r->file.format;
    bool pads = format != MS_TRAINING_TORCHTUNE && format != MS_TRAINING_TITAN;
    if (!pads)
        return MS_OK;
    if (is_packed(r) && format == MS_TRAINING_SWIFT)
        return take_packing_of_swift(r, is_flash);
    if (is_packed(r))
        return take_packing(r, is_flash);
    const bool is_alone = (r->is_sft || format == MS_TRAINING_SWIFT || format == MS_TRAINING_V1) &&
                          r->draft->run.batch == 1; /* they pad to the longest */
    r->draft->run.padding.is_alone =
        is_alone && !is_flash && !ms_run_field_is_set(r->draft, "padding");
    return offer_padding(r, is_flash || is_alone ? "ones" : "unknown", MS_TOPIC_PACKED);
}

ms_status ms_training_set_attention(ms_training_reading *r)
{
    const ms_training_topic flash = flash_topic(r);
    ms_status status = set_attention(r, flash);
    return status == MS_OK ? set_padding(r, flash != MS_TOPIC_COUNT) : status;
}
