/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Converts adapters and quantised bases of TRL, axolotl, LLaMA-Factory, ms-swift and torchtune to
 * values of `--lora` and `--quantize`. TRL 1.16 has them in its ModelConfig.
 */
#include "config/trainers/training_adapter.h"

#include <string.h>

#include "config/trainers/others/training_swift.h"
#include "config/trainers/others/training_v1.h"
#include "config/trainers/training_reading.h"

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

/* Joins names by '+'. */
static const char *join(ms_training_reading *r, const char *so_far, const char *name)
{
    return so_far ? ms_arena_printf(r->arena, "%s%s%s", so_far, *so_far ? "+" : "", name) : NULL;
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
        const char *name = ms_arena_printf(r->arena, "%.*s", (int)length, text);
        names = name && length > 0 ? join(r, names, name) : name ? names : NULL;
        text += length;
        text += strspn(text, ", ");
    }
    return names;
}

/* Names as `--lora` has them: what is no name of a module would be taken for something else. */
static ms_status check_name(ms_training_reading *r, ms_training_topic topic, const char *name)
{
    if (!name[strcspn(name, "+=/|*^$()[]\\")])
        return MS_OK;
    return ms_training_fail(
        r, topic, "'%.40s' is not a module name; patterns go into a file for --adapter", name);
}

static ms_status names_of(ms_training_reading *r, ms_training_topic topic, const char **names)
{
    ms_json_value value = r->file.values[topic], v;
    ms_status status = MS_OK;
    *names = "";
    if (ms_json_kind_of(value) == MS_JSON_STRING) {
        const char *text = ms_training_text(r, topic, "");
        *names = split(r, text);
        return check_name(r, topic, text);
    }
    for (bool more = ms_json_first(value, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        const char *name = "";
        (void)ms_json_get_string(v, &name, NULL);
        status = check_name(r, topic, name);
        if (status == MS_OK && strchr(name, ','))
            status = ms_training_fail(r, topic, "'%.40s': a comma in a name", name);
        *names = join(r, *names, common_name(r, name));
    }
    return status;
}

static ms_status add_targets(writer *w)
{
    ms_training_reading *r = w->r;
    const ms_training_format format = r->file.format;
    bool is_factory = format == MS_TRAINING_FACTORY,
         is_swift = format == MS_TRAINING_SWIFT || format == MS_TRAINING_V1;
    bool knows_all = is_factory || is_swift || format == MS_TRAINING_HF;
    const char *names = is_factory || is_swift ? "all" : "";
    if (ms_training_flag(r, MS_TOPIC_ALL_LINEAR, false)) {
        add(w, "targets", "all-linear");
        return MS_OK;
    }
    ms_status status =
        r->file.given[MS_TOPIC_TARGETS] ? names_of(r, MS_TOPIC_TARGETS, &names) : MS_OK;
    if (status != MS_OK)
        return status;
    if (names && knows_all && (strcmp(names, "all") == 0 || strcmp(names, "all-linear") == 0))
        names = "all-linear";
    if (ms_training_flag(r, MS_TOPIC_MLP, false))
        names = join(r, names, "gate_proj+up_proj+down_proj");
    if (ms_training_flag(r, MS_TOPIC_HEAD, false))
        names = join(r, names, "lm_head");
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
    add_number(&w, "dropout", MS_TOPIC_DROPOUT);
    if ((is_trl || is_swift) && !r->file.given[MS_TOPIC_DROPOUT])
        add(&w, "dropout", "0.05");
    if (ms_training_flag(r, MS_TOPIC_DORA, false))
        add(&w, "dora", "");
    if (status == MS_OK && r->file.given[MS_TOPIC_SAVED]) {
        status = names_of(r, MS_TOPIC_SAVED, &saved);
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
    const char *type = ms_training_text(r, MS_TOPIC_QUANTIZE_TYPE, "nf4");
    if (!r->file.given[MS_TOPIC_BITS])
        return MS_OK;
    ms_status status = ms_json_get_count(r->file.values[MS_TOPIC_BITS], 1, 64, &bits, r->err);
    if (status == MS_OK && bits != 4 && bits != 8)
        return ms_training_fail(r, MS_TOPIC_BITS,
                                "quantisation to %u bits is not supported; to 4 and 8 bits it is",
                                (unsigned)bits);
    if (bits == 8) {
        *kind = "int8";
        return status;
    }
    *kind = ms_arena_printf(r->arena, "%s%s:%s", type,
                            ms_training_flag(r, MS_TOPIC_DOUBLE, true) ? ":double" : "",
                            factory_storage(r));
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
        *kind =
            ms_arena_printf(r->arena, "%s%s", ms_training_text(r, MS_TOPIC_QUANTIZE_TYPE, "nf4"),
                            ms_training_flag(r, MS_TOPIC_DOUBLE, false) ? ":double" : "");
        return MS_OK;
    }
    if (ms_training_flag(r, MS_TOPIC_FOUR_BITS, is_qlora) ||
        ms_training_flag(r, MS_TOPIC_QUANTIZE_BASE, false))
        *kind = "nf4:double";
    if (r->file.format == MS_TRAINING_TORCHTUNE)
        *topic = r->file.given[MS_TOPIC_QUANTIZE_BASE] ? MS_TOPIC_QUANTIZE_BASE : MS_TOPIC_MODEL;
    return MS_OK;
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
