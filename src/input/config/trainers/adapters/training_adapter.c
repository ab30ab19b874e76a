/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts adapters and quantised bases of TRL, axolotl, LLaMA-Factory, ms-swift and torchtune to
 * values of `--lora` and `--quantize`. TRL 1.16 has them in its ModelConfig.
 */
#include "input/config/trainers/adapters/training_adapter.h"

#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/trainers/adapters/training_bits.h"
#include "input/config/trainers/others/training_swift.h"
#include "input/config/trainers/others/training_v1.h"

/* ---- training targets ---- */

/* Modules that an adapter of a trainer's file takes or saves, as `--lora` names them: joined by
 * '+'. NULL in the place of names: out of memory. */

/* "q_proj" and "v_proj": "q_proj+v_proj"; the arena owns it. */
static const char *training_join_name(const ms_training_reading *r, const char *so_far,
                                      const char *name)
{
    return so_far && name ? ms_arena_printf(r->arena, "%s%s%s", so_far, *so_far ? "+" : "", name)
                          : NULL;
}

/* torchtune's names of modules that transformers calls otherwise. */
static const char *common_name(const ms_training_reading *r, const char *name)
{
    return r->file.format == MS_TRAINING_TORCHTUNE && strcmp(name, "output_proj") == 0 ? "o_proj"
                                                                                       : name;
}

/* "q_proj,v_proj" of LLaMA-Factory is a list. */
static const char *split(ms_training_reading *r, const char *text)
{
    const char *names = "";
    while (names && *text) {
        size_t length = strcspn(text, ", ");
        if (length > 0)
            names =
                training_join_name(r, names, ms_arena_printf(r->arena, "%.*s", (int)length, text));
        text += length;
        text += strspn(text, ", ");
    }
    return names;
}

/* ---- patterns ---- */

/* Linear layers of decoders, as their families call them. */
static const char *const linear_names[] = {
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",
};

/* What is before them, of models of text and of those that see. */
static const char *const places[] = {"model.layers.0.", "model.language_model.layers.0.",
                                     "language_model.model.layers.0.",
                                     "base_model.model.model.layers.0."};

/* Whether a pattern takes that layer in one of the places. */
static ms_status is_taken(const ms_training_reading *r, ms_adapter_matcher *matcher,
                          const char *name, bool *is_it)
{
    *is_it = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && !*is_it; i++) {
        const char *path = ms_arena_printf(r->arena, "%s%s", places[i], name);
        if (!path)
            return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the name of a module");
        *is_it = ms_adapter_takes(matcher, path, true, false);
    }
    return MS_OK;
}

static ms_status names_of_pattern(ms_training_reading *r, ms_training_topic topic,
                                  const char *pattern, const char **names)
{
    const ms_adapter adapter = {.rank = 1, .targets = {.pattern = pattern}};
    ms_adapter_matcher *matcher = NULL;
    ms_error reason = {0};
    ms_status status = ms_adapter_matcher_new(&adapter, r->model->family, &matcher, &reason);
    bool is_it = false;
    for (size_t i = 0; i < sizeof linear_names / sizeof *linear_names && status == MS_OK; i++) {
        status = is_taken(r, matcher, linear_names[i], &is_it);
        if (status == MS_OK && is_it)
            *names = training_join_name(r, *names, strchr(linear_names[i], '.') + 1);
    }
    ms_adapter_matcher_free(matcher);
    if (status == MS_ERR_NOMEM)
        return ms_fail(r->err, status, "out of memory for a pattern of modules");
    if (status == MS_OK && r->lacks_model)
        return MS_OK;
    if (status == MS_OK && *names && !**names)
        return ms_training_fail(
            r, topic, "'%.40s' is not a module name; patterns go into a file for --adapter",
            pattern);
    if (status != MS_OK)
        return ms_training_fail(r, topic, "%s", reason.text);
    return ms_training_leave_out(r, topic, MS_EFFECT_EITHER,
                                 "a pattern; the figures are for the modules with these names");
}

/* ---- names ---- */

static bool is_pattern(const char *name)
{
    return name[strcspn(name, "+=/|*^$()[]\\")] != '\0';
}

/* Those of a given topic: a text or a list. Of a pattern, which `--lora` does not have, the last
 * parts of the names that it matches, left out of the figures as coming near. */
static ms_status training_module_names(ms_training_reading *r, ms_training_topic topic,
                                       const char **names)
{
    ms_json_value value = r->file.values[topic], v;
    *names = "";
    if (ms_json_kind_of(value) == MS_JSON_STRING) {
        const char *text = ms_training_text(r, topic, "");
        if (is_pattern(text))
            return names_of_pattern(r, topic, text, names);
        *names = split(r, text);
        return MS_OK;
    }
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v)) {
        const char *name = "";
        (void)ms_json_get_string(v, &name, NULL);
        if (is_pattern(name) || strchr(name, ','))
            return ms_training_fail(
                r, topic, "'%.40s' is not a module name; patterns go into a file for --adapter",
                name);
        *names = training_join_name(r, *names, common_name(r, name));
    }
    return MS_OK;
}

/* ---- names that are left out ---- */

/* The names that `stays` holds of. */
static const char *filter(const ms_training_reading *r, const char *names,
                          bool (*stays)(const ms_training_reading *r, const char *name))
{
    const char *kept = "";
    while (*names && kept) {
        size_t length = strcspn(names, "+");
        const char *name = ms_arena_printf(r->arena, "%.*s", (int)length, names);
        if (!name)
            return NULL;
        if (stays(r, name))
            kept = training_join_name(r, kept, name);
        names += length;
        names += *names == '+';
    }
    return kept;
}

static bool is_no_expert(const ms_training_reading *r, const char *name)
{
    return !ms_adapter_exchanges_name(r->model->family, name);
}

static bool is_untied(const ms_training_reading *r, const char *name)
{
    static const char *const ends[] = {"embed_tokens", "lm_head", "wte", "embed_in", "embed_out"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (r->model->tie_word_embeddings && strcmp(dot ? dot + 1 : name, ends[i]) == 0)
            return false;
    return true;
}

/* Leaves out of the figures targets that PEFT exchanges for stacked experts, which are not
 * predicted; the rest remain, or attention of all-linear. */
static ms_status training_leave_experts(ms_training_reading *r, const char **names)
{
    const bool is_all = *names && strcmp(*names, "all-linear") == 0;
    if (!*names || !ms_adapter_exchanges(r->model->family))
        return MS_OK;
    const char *rest = is_all ? "q_proj+k_proj+v_proj+o_proj" : filter(r, *names, is_no_expert);
    if (rest && strcmp(rest, *names) == 0)
        return MS_OK;
    *names = rest && !*rest ? "q_proj+k_proj+v_proj+o_proj" : rest;
    return ms_training_note_key(
        r, MS_TOPIC_TARGETS, "lora_target", MS_EFFECT_ADDS,
        "adapters of stacked experts; the figures are for attention's adapters");
}

/* Leaves out of the figures saved modules whose weight another one shares, and all in ZeRO-3. */
static ms_status training_leave_saved(ms_training_reading *r, const char **names)
{
    const bool divides = ms_training_is_zero3(r);
    const char *rest = divides ? "" : *names ? filter(r, *names, is_untied) : NULL;
    if (!rest || !*names || strcmp(rest, *names) == 0)
        return MS_OK;
    *names = rest;
    return ms_training_leave_out(r, MS_TOPIC_SAVED, MS_EFFECT_ADDS,
                                 divides ? "modules that are fully trained beside an adapter"
                                         : "copies of embeddings and head that share their weight");
}

/* ---- whether ---- */

static bool is_torchtune_adapter(const ms_training_reading *r)
{
    return r->file.given[MS_TOPIC_TARGETS] || r->file.given[MS_TOPIC_RANK] ||
           strstr(ms_training_text(r, MS_TOPIC_MODEL, ""), "lora_") != NULL;
}

bool ms_training_has_adapter(const ms_training_reading *r)
{
    switch (r->file.format) {
    case MS_TRAINING_AXOLOTL:
        return *ms_training_text(r, MS_TOPIC_ADAPTER, "") != '\0';
    case MS_TRAINING_FACTORY:
    case MS_TRAINING_SWIFT:
        return strcmp(ms_training_text(r, MS_TOPIC_ADAPTER, "lora"), "full") != 0;
    case MS_TRAINING_V1:
        return strcmp(ms_training_text(r, MS_TOPIC_ADAPTER, ""), "lora") == 0;
    case MS_TRAINING_TORCHTUNE:
        return is_torchtune_adapter(r);
    case MS_TRAINING_HF:
        return ms_training_flag(r, MS_TOPIC_ADAPTER, false);
    case MS_TRAINING_TITAN:
    case MS_TRAINING_FORMAT_COUNT:
        break;
    }
    return false;
}

/* Kinds of adapters that are none of ours. */
static ms_status check_kind(ms_training_reading *r)
{
    const char *kind = ms_training_text(r, MS_TOPIC_ADAPTER, "lora");
    bool is_axolotl = r->file.format == MS_TRAINING_AXOLOTL;
    if (r->file.format == MS_TRAINING_HF || strcmp(kind, "lora") == 0 ||
        (r->file.format == MS_TRAINING_V1 && strcmp(kind, "freeze") == 0) || /* see its keys */
        (is_axolotl && strcmp(kind, "qlora") == 0) || (!is_axolotl && strcmp(kind, "full") == 0))
        return MS_OK;
    return ms_training_fail(r, MS_TOPIC_ADAPTER, "'%.40s' is not supported; %s", kind,
                            is_axolotl ? "lora and qlora are" : "lora and full are");
}

/* ---- the text ---- */

/* What is written, as long as nothing has failed. */
typedef struct writer {
    ms_training_reading *r;
    const char *text; /* NULL: out of memory */
} writer;

static void add(writer *w, const char *name, const char *value)
{
    if (w->text && value)
        w->text = ms_arena_printf(w->r->arena, "%s%s%s%s%s", w->text, *w->text ? "," : "", name,
                                  *value ? "=" : "", value);
    else
        w->text = NULL;
}

static void add_number(writer *w, const char *name, ms_training_topic topic)
{
    if (w->r->file.given[topic])
        add(w, name, ms_training_number(w->r, topic));
}

static ms_status add_targets(writer *w)
{
    ms_training_reading *r = w->r;
    const ms_training_format format = r->file.format;
    bool is_factory = format == MS_TRAINING_FACTORY,
         is_swift = format == MS_TRAINING_SWIFT || format == MS_TRAINING_V1;
    bool knows_all = is_factory || is_swift || format == MS_TRAINING_HF;
    const char *names = is_factory || is_swift ? "all" : "";
    ms_status status = r->file.given[MS_TOPIC_TARGETS]
                           ? training_module_names(r, MS_TOPIC_TARGETS, &names)
                           : MS_OK;
    if (status != MS_OK)
        return status;
    if (names && knows_all && (strcmp(names, "all") == 0 || strcmp(names, "all-linear") == 0))
        names = "all-linear";
    if (ms_training_flag(r, MS_TOPIC_ALL_LINEAR, false))
        names = "all-linear";
    if (ms_training_flag(r, MS_TOPIC_MLP, false))
        names = training_join_name(r, names, "gate_proj+up_proj+down_proj");
    if (ms_training_flag(r, MS_TOPIC_HEAD, false))
        names = training_join_name(r, names, "lm_head");
    status = training_leave_experts(r, &names);
    if (status != MS_OK)
        return status;
    if (!names || *names)
        add(w, "targets", names);
    return MS_OK;
}

/* Where they stand; a later failure is reported for the adapter as a whole. */
static ms_status check_numbers(ms_training_reading *r)
{
    enum { MOST_RANK = 1 << 16 };
    uint64_t rank;
    double dropout;
    const ms_training_file *file = &r->file;
    ms_status status = MS_OK;
    if (file->given[MS_TOPIC_RANK])
        status = ms_json_get_count(file->values[MS_TOPIC_RANK], 1, MOST_RANK, &rank, r->err);
    if (status == MS_OK && file->given[MS_TOPIC_DROPOUT])
        status = ms_json_get_number(file->values[MS_TOPIC_DROPOUT], 0, 1, &dropout, r->err);
    return status;
}

static bool is_packed_in_bits(const ms_training_reading *r)
{
    return ms_training_flag(r, MS_TOPIC_FOUR_BITS, false) ||
           ms_training_flag(r, MS_TOPIC_EIGHT_BITS, false);
}

/* ZeRO-3 divides adapters without a dropout alone, unless their base is packed. */
static ms_status add_dropout(writer *w)
{
    const ms_training_reading *r = w->r;
    const bool is_given = r->file.given[MS_TOPIC_DROPOUT];
    const bool has_own = r->file.format == MS_TRAINING_HF || r->file.format == MS_TRAINING_SWIFT ||
                         r->file.format == MS_TRAINING_V1;
    const bool has_some = is_given ? ms_training_is_some(r, MS_TOPIC_DROPOUT) : has_own; /* 0.05 */
    if (has_some && ms_training_is_zero3(r) && !is_packed_in_bits(r))
        return ms_training_note_key(w->r, MS_TOPIC_DROPOUT, "lora_dropout", MS_EFFECT_ADDS,
                                    "an adapter's dropout in ZeRO-3; the figures are without it");
    if (is_given)
        add_number(w, "dropout", MS_TOPIC_DROPOUT);
    else if (has_some)
        add(w, "dropout", "0.05");
    return MS_OK;
}

static ms_status set_lora(ms_training_reading *r)
{
    writer w = {r, ""};
    const char *saved = "";
    const bool is_trl = r->file.format == MS_TRAINING_HF;
    const bool is_swift = r->file.format == MS_TRAINING_SWIFT || r->file.format == MS_TRAINING_V1;
    ms_status status = check_numbers(r);
    if ((is_trl || is_swift) && !r->file.given[MS_TOPIC_RANK])
        add(&w, "r", is_trl ? "16" : "8"); /* their own, as the dropout below */
    add_number(&w, "r", MS_TOPIC_RANK);
    if (status == MS_OK)
        status = add_targets(&w);
    if (status == MS_OK)
        status = add_dropout(&w);
    if (ms_training_flag(r, MS_TOPIC_DORA, false))
        add(&w, "dora", "");
    if (status == MS_OK && r->file.given[MS_TOPIC_SAVED]) {
        status = training_module_names(r, MS_TOPIC_SAVED, &saved);
        if (status == MS_OK)
            status = training_leave_saved(r, &saved);
        if (!saved || *saved)
            add(&w, "save", saved);
    }
    if (status != MS_OK)
        return status;
    if (w.text && !*w.text)
        add(&w, "r", "8"); /* PEFT's own */
    bool by_rank = r->file.given[MS_TOPIC_RANK] && !r->file.given[MS_TOPIC_ADAPTER];
    status = ms_training_offer(r, "lora", w.text, by_rank ? MS_TOPIC_RANK : MS_TOPIC_ADAPTER);
    /* torchtune's are of the model's own type. */
    if (status == MS_OK && r->file.format == MS_TRAINING_TORCHTUNE)
        status = ms_training_offer(r, "adapter-dtype", ms_training_text(r, MS_TOPIC_DTYPE, "bf16"),
                                   MS_TOPIC_DTYPE);
    if (status == MS_OK && is_swift)
        status = ms_training_set_swift_adapter(r);
    /* TRL takes those on a quantised base to bf16, but for DoRA's vectors. */
    if (status == MS_OK && is_trl && is_packed_in_bits(r))
        status = ms_training_flag(r, MS_TOPIC_DORA, false)
                     ? ms_training_leave_out(r, MS_TOPIC_DORA, MS_EFFECT_SAVES,
                                             "DoRA's matrices in bf16 beside vectors in fp32")
                     : ms_training_offer(r, "adapter-dtype", "bf16", MS_TOPIC_ADAPTER);
    return status;
}

/* ---- quantised bases ---- */

/* The type that LLaMA-Factory computes in, of which it makes the numbers that hold packed weights.
 */
static const char *factory_storage(const ms_training_reading *r)
{
    bool has_half = r->model->has_dtype && r->model->dtype != MS_DTYPE_BF16;
    if (ms_training_flag(r, MS_TOPIC_BF16, false) || ms_training_flag(r, MS_TOPIC_PURE_BF16, false))
        return "bf16";
    return ms_training_flag(r, MS_TOPIC_FP16, false) || has_half ? "fp16" : "bf16";
}

static ms_status factory_bits(ms_training_reading *r, const char **kind)
{
    uint64_t bits = 0;
    ms_status status = ms_training_read_bits(r, &bits);
    if (status == MS_OK && bits)
        *kind = bits == 8 ? "int8" : ms_training_four_bits(r, true, factory_storage(r));
    return status;
}

static ms_status quantize_kind(ms_training_reading *r, const char **kind, ms_training_topic *topic)
{
    *kind = "";
    *topic = MS_TOPIC_FOUR_BITS;
    if (r->file.format == MS_TRAINING_V1) {
        *topic = MS_TOPIC_QUANTIZE_METHOD;
        return ms_training_v1_bits(r, kind);
    }
    if (r->file.format == MS_TRAINING_FACTORY || r->file.format == MS_TRAINING_SWIFT) {
        *topic = MS_TOPIC_BITS;
        return r->file.format == MS_TRAINING_SWIFT ? ms_training_swift_bits(r, kind)
                                                   : factory_bits(r, kind);
    }
    if (ms_training_flag(r, MS_TOPIC_EIGHT_BITS, false)) {
        *kind = "int8";
        *topic = MS_TOPIC_EIGHT_BITS;
        return MS_OK;
    }
    bool is_qlora = strcmp(ms_training_text(r, MS_TOPIC_ADAPTER, ""), "qlora") == 0 ||
                    strstr(ms_training_text(r, MS_TOPIC_MODEL, ""), ".qlora_") != NULL;
    if (r->file.format == MS_TRAINING_HF && ms_training_flag(r, MS_TOPIC_FOUR_BITS, false)) {
        *kind = ms_training_four_bits(r, false, "");
        return MS_OK;
    }
    if (ms_training_flag(r, MS_TOPIC_FOUR_BITS, is_qlora) ||
        ms_training_flag(r, MS_TOPIC_QUANTIZE_BASE, false))
        *kind = "nf4:double";
    if (r->file.format == MS_TRAINING_TORCHTUNE)
        *topic = r->file.given[MS_TOPIC_QUANTIZE_BASE] ? MS_TOPIC_QUANTIZE_BASE : MS_TOPIC_MODEL;
    return MS_OK;
}

/* fully_shard divides numbers that hold bits, as axolotl and TRL make of them, and torchao's
 * tensors as they are, to which these come near. */
static ms_status divide_bits(ms_training_reading *r, const char **kind, ms_training_topic topic)
{
    const bool is_bare = *kind && (strcmp(*kind, "nf4") == 0 || strcmp(*kind, "nf4:double") == 0 ||
                                   strcmp(*kind, "fp4") == 0 || strcmp(*kind, "fp4:double") == 0);
    if (!is_bare)
        return MS_OK;
    *kind = ms_arena_printf(r->arena, "%s:bf16", *kind);
    if (r->file.format != MS_TRAINING_TORCHTUNE)
        return MS_OK;
    return ms_training_note_key(
        r, topic, "quantize_base", MS_EFFECT_EITHER,
        "torchao's packed weights, which are sharded; the figures are for bitsandbytes'");
}

/* None of them trains the upcast weights that PEFT prepares: axolotl casts them back, and TRL does
 * without that preparation. */
static ms_status set_quantization(ms_training_reading *r)
{
    const char *kind;
    ms_training_topic topic;
    ms_status status = quantize_kind(r, &kind, &topic);
    bool said = ms_run_field_is_set(r->draft, "quantize");
    if (status != MS_OK || said || (kind && !*kind))
        return status;
    if (r->ranks == MS_PARALLEL_FSDP2)
        status = divide_bits(r, &kind, topic);
    if (status != MS_OK)
        return status;
    status = ms_training_offer(r, "quantize", kind, topic);
    return status == MS_OK ? ms_training_offer(r, "upcast", "no", topic) : status;
}

ms_status ms_training_set_adapter(ms_training_reading *r)
{
    bool said = ms_run_field_is_set(r->draft, "adapter") || ms_run_field_is_set(r->draft, "lora");
    ms_status status = check_kind(r);
    if (status == MS_OK && ms_training_has_adapter(r) && !said)
        status = set_lora(r);
    return status == MS_OK ? set_quantization(r) : status;
}
