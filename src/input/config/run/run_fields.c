/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/run_fields.h"

#include <inttypes.h>

#include "base/text/nearest.h"
#include "input/config/adapter/adapter.h"
#include "input/config/adapter/adapter_text.h"
#include "input/config/model/model_config.h"
#include "input/config/model/unsupported.h"
#include "input/config/run/attention.h"
#include "input/config/run/experts.h"
#include "input/config/run/liger.h"
#include "input/config/run/run_kinds.h"
#include "input/config/run/show_parallel.h"
#include "memscope/field.h"

/* ---- run words ---- */

/* The word means the field; it is a flag, for that value; its value is part of the field's. */
#define IS(word, field)                                                                            \
    {                                                                                              \
        word, field, NULL, NULL, "it is " field " here", NULL                                      \
    }
#define FLAG(word, field, value)                                                                   \
    {                                                                                              \
        word, field, value, NULL, "it is " field " " value " here", NULL                           \
    }
#define PART(word, field, prefix)                                                                  \
    {                                                                                              \
        word, field, NULL, prefix, "it is " field " " prefix "... here", NULL                      \
    }

/* A word with two rows: of training, then of inference. */
static const ms_run_word words[] = {
    IS("batch-size", "batch"),
    IS("per-device-train-batch-size", "batch"),
    IS("train-batch-size", "batch"),
    IS("micro-batch-size", "batch"),
    IS("train-micro-batch-size-per-gpu", "batch"),
    IS("bs", "batch"),
    IS("mbs", "batch"),
    IS("seq-len", "seq"),
    IS("seq-length", "seq"),
    IS("sequence-len", "seq"),
    IS("sequence-length", "seq"),
    IS("max-seq-len", "seq"),
    IS("max-seq-length", "seq"),
    IS("max-length", "seq"),
    IS("block-size", "seq"),
    IS("cutoff-len", "seq"),
    IS("gradient-accumulation-steps", "accumulate"),
    IS("gradient-accumulation", "accumulate"),
    IS("grad-accumulation-steps", "accumulate"),
    IS("grad-accum", "accumulate"),
    IS("accumulation-steps", "accumulate"),
    IS("accumulate-grad-batches", "accumulate"),
    FLAG("gradient-checkpointing", "checkpointing", "all"),
    FLAG("grad-checkpointing", "checkpointing", "all"),
    FLAG("activation-checkpointing", "checkpointing", "all"),
    IS("optim", "optimizer"),
    IS("attn-implementation", "attention"),
    IS("attn", "attention"),
    IS("quantization", "quantize"),
    FLAG("load-in-4bit", "quantize", "nf4"),
    FLAG("load-in-8bit", "quantize", "int8"),
    PART("lora-r", "lora", "r="),
    PART("lora-rank", "lora", "r="),
    IS("max-grad-norm", "clip"),
    IS("clip-grad-norm", "clip"),
    IS("gradient-clipping", "clip"),
    IS("gradient-clip-val", "clip"),
    IS("torch-dtype", "dtype"),
    IS("gpu", "device"),
    IS("gpu-type", "device"),
    IS("gpu-name", "device"),
    IS("vram", "budget"),
    IS("gpu-memory", "budget"),
    IS("memory-limit", "budget"),
    IS("memory", "budget"),
    IS("ctx", "seq"),
    FLAG("bf16", "autocast", "bf16"), /* as trainers mean it: the weights stay what they are */
    FLAG("fp16", "autocast", "fp16"),
    FLAG("amp", "autocast", "bf16"),
    FLAG("pure-bf16", "dtype", "bf16"),
    FLAG("half", "dtype", "fp16"),
    FLAG("flash-attention", "attention", "flash"),
    FLAG("flash-attn", "attention", "flash"),
    FLAG("use-lora", "lora", "r=16"),
    FLAG("use-peft", "lora", "r=16"),
    {"qlora", "quantize", "nf4:double", NULL,
     "use quantize nf4:double, autocast bf16, checkpointing all and lora r=16,targets=all-linear",
     "autocast=bf16 lora=r=16,targets=all-linear checkpointing=all"},
    IS("quantization-bit", "quantize"),
    FLAG("use-liger-kernel", "liger", "all"),
    FLAG("use-liger", "liger", "all"),
    FLAG("enable-liger-kernel", "liger", "all"),
    IS("model-max-length", "seq"),
    FLAG("cpu-offload", "optimizer-device", "host"),
    FLAG("offload-optimizer", "optimizer-device", "host"),
    IS("fsdp-build", "build"),
    IS("model-name-or-path", "config"),
    IS("model-name", "config"),
    IS("model-id", "config"),
    IS("model", "config"),
    IS("seq", "context"),
    IS("seq-len", "context"),
    IS("max-seq-len", "context"),
    IS("max-model-len", "context"),
    IS("context-length", "context"),
    IS("context-size", "context"),
    IS("n-ctx", "context"),
    IS("ctx", "context"),
    IS("users", "concurrency"),
    IS("requests", "concurrency"),
    IS("input-len", "prompt"),
    IS("prompt-len", "prompt"),
    FLAG("bf16", "dtype", "bf16"),
    FLAG("fp16", "dtype", "fp16"),
    IS("num-ctx", "context"),
    IS("num-gpu", "gpu-layers"),
    IS("num-parallel", "concurrency"),
    IS("n-parallel", "concurrency"),
    IS("max-new-tokens", "generate"),
    IS("output-len", "generate"),
    IS("ngl", "gpu-layers"),
    IS("n-gpu-layers", "gpu-layers"),
    IS("tp", "tensor-parallel-size"),
    IS("pp", "pipeline-parallel-size"),
    IS("num-gpus", "gpus"),
    IS("n-gpus", "gpus"),
    IS("c", "ctx-size"),
    IS("b", "batch-size"),
    IS("ub", "ubatch-size"),
    IS("ubatch", "ubatch-size"),
    IS("ctk", "cache-type-k"),
    IS("ctv", "cache-type-v"),
    IS("fa", "flash-attn"),
    IS("np", "concurrency"),
    IS("parallel", "concurrency"),
    IS("ts", "tensor-split"),
    IS("sm", "split-mode"),
    IS("ot", "override-tensor"),
    FLAG("cpu-moe", "override-tensor", "exps=CPU"),
    FLAG("cmoe", "override-tensor", "exps=CPU"),
    FLAG("no-kv-offload", "kv-offload", "no"),
    FLAG("nkvo", "kv-offload", "no"),
    FLAG("kvu", "kv-unified", "yes"),
};

const ms_run_word *ms_run_words_row(size_t index)
{
    return index < sizeof words / sizeof words[0] ? &words[index] : NULL;
}

/* The row of a word, ignoring case and treating `_` as `-`; NULL when it is unknown. */
static const ms_run_word *run_word_find(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ms_name_equal(words[i].word, word))
            return &words[i];
    return NULL;
}

/* ---- what reports say of options that take more than their member ---- */

static void show_text(ms_config_shown *shown, const char *text)
{
    *shown = (ms_config_shown){.form = MS_SHOWN_TEXT, .text = text};
}

static void show_liger(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    show_text(shown, ms_liger_text(arena, seen->run->liger));
}

static void show_adapter(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_adapter *adapter = ((const ms_run_seen *)source)->run->adapter;
    show_text(shown, adapter ? ms_adapter_text(arena, adapter) : "none");
}

static void show_quantize(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    show_text(shown, ms_quantization_text(arena, &seen->run->quantization));
}

static void show_upcast(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (ms_is_packed(&seen->run->quantization))
        show_text(shown, seen->run->upcast ? "yes" : "no");
}

static void show_attention(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    show_text(shown, ms_attention_names[seen->attention]);
}

static void show_source(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (seen->model->is_encoder_decoder)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = ms_source_tokens(seen->run)};
}

static void show_padding(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    ms_padding padding = ((const ms_run_seen *)source)->run->padding.given;
    (void)arena;
    if (padding != MS_PADDING_NO)
        show_text(shown, ms_padding_names[padding]);
}

static void show_documents(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const uint64_t documents = ((const ms_run_seen *)source)->run->documents;
    (void)arena;
    if (documents)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = documents};
}

static void show_labels(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const uint64_t labels = ((const ms_run_seen *)source)->run->training.labels;
    (void)arena;
    if (labels)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = labels};
}

/* Where they are not those of a benchmark. */
static void show_loop(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_loop loop = ((const ms_run_seen *)source)->run->training.loop;
    (void)arena;
    if (loop != MS_LOOP_FIXED)
        show_text(shown, ms_loop_names[loop]);
}

static void show_loss(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_loss loss = ((const ms_run_seen *)source)->run->training.loss;
    (void)arena;
    if (loss != MS_LOSS_MODEL)
        show_text(shown, ms_loss_names[loss]);
}

static void show_experts(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (seen->model->num_experts)
        show_text(shown, ms_experts_names[seen->run->experts]);
}

static void show_routing(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (seen->model->num_experts && seen->run->experts == MS_EXPERTS_EAGER)
        show_text(shown, ms_routing_names[seen->run->routing]);
}

static void show_addresses(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    ms_address_order order = ((const ms_run_seen *)source)->run->allocator.addresses;
    (void)arena;
    if (order != MS_ADDRESSES_UP)
        show_text(shown, ms_address_order_names[order]);
}

static void show_device(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    show_text(shown, seen->run->device->name);
}

static void show_device_title(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    show_text(shown, seen->run->device->title);
}

static void show_calibration(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_calibration *calibration = ((const ms_run_seen *)source)->run->calibration;
    if (calibration)
        show_text(shown, ms_arena_printf(arena, "%" PRIu32 " measured step%s", calibration->points,
                                         calibration->points == 1 ? "" : "s"));
}

static void show_price(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    double price = ((const ms_run_seen *)source)->run->device->usd_per_hour;
    (void)arena;
    if (price > 0)
        *shown = (ms_config_shown){.form = MS_SHOWN_NUMBER, .number = price};
}

static void show_mfu(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    double mfu = ((const ms_run_seen *)source)->run->device->mfu;
    (void)arena;
    if (mfu > 0)
        *shown = (ms_config_shown){.form = MS_SHOWN_NUMBER, .number = mfu};
}

static void show_network(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    double rate = ((const ms_run_seen *)source)->run->device->network_bytes_per_s;
    (void)arena;
    if (rate > 0)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = (uint64_t)rate};
}

static void show_torch(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_config *run = ((const ms_run_seen *)source)->run;
    show_text(shown,
              ms_arena_printf(arena, "%" PRIu32 ".%" PRIu32, run->torch_major, run->torch_minor));
}

/* Where there are images. */
static void show_images(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    uint64_t count = ((const ms_run_seen *)source)->run->images.count;
    (void)arena;
    if (count)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = count};
}

static void show_image_size(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_images *images = &((const ms_run_seen *)source)->run->images;
    if (images->count && images->sides[0])
        show_text(shown, ms_arena_printf(arena, "%" PRIu64 "x%" PRIu64, images->sides[0],
                                         images->sides[1]));
}

static void show_freeze_vision(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_images *images = &((const ms_run_seen *)source)->run->images;
    (void)arena;
    if (images->count)
        *shown = (ms_config_shown){.form = MS_SHOWN_BOOL, .count = images->frozen};
}

/* ---- the rows ---- */

static const char *const types[][2] = {
    {"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {NULL, NULL}};

/* torch's function takes the kernel that "auto" takes. */
static const char *const attentions[][2] = {{"sdpa", "auto"}, {NULL, NULL}};

/* What Hugging Face's Trainer calls them. */
static const char *const optimizers[][2] = {{"adamw-torch", "adamw"},
                                            {"adamw-bnb-8bit", "adamw-8bit"},
                                            {"paged-adamw-32bit", "paged-adamw"},
                                            {"lion-32bit", "lion"},
                                            {"paged-lion-32bit", "paged-lion"},
                                            {NULL, NULL}};

/* PyTorch refuses a max_split_size_mb of 20 or less: its large segments have that size. */
#define LEAST_SPLIT_BYTES ((UINT64_C(20) << 20) + 1)
#define AT(member)                                                                                 \
    .offset = offsetof(ms_run_draft, member), .bytes = sizeof((ms_run_draft *)NULL)->member

static const ms_run_field texts[] = {
#define TEXTS(name, value_name, help, default_text, group, ...)                                    \
    {name, value_name, help, default_text, group},
    MS_RUN_FIELD_LIST(TEXTS)
#undef TEXTS
};

static const ms_config_field rows[] = {
#define ROW(row_name, value_name, help, default_text, group, row_kind, ...)                        \
    {.name = row_name, .kind = &ms_config_kind_##row_kind, __VA_ARGS__},
    MS_RUN_FIELD_LIST(ROW)
#undef ROW
};

static const char *why_not(const char *name)
{
    const char *why = ms_unsupported_setting(name);
    const ms_run_word *word = why ? NULL : run_word_find(name);
    return word && ms_run_field_find(word->field) >= 0 ? word->why : why;
}

const ms_config_table ms_run_table = {texts, rows, MS_RUN_FIELD_COUNT,
                                      offsetof(ms_run_draft, is_set), why_not};

_Static_assert(offsetof(ms_run_draft, run) == 0, "reports read members of a resolved run");

_Static_assert(sizeof((ms_run_draft *)NULL)->is_set * 8 >= MS_RUN_FIELD_COUNT,
               "a field has no bit");

int ms_run_field_find(const char *name)
{
    return ms_config_field_find(&ms_run_table, name);
}

const char *ms_run_field_name(size_t index)
{
    return index < MS_RUN_FIELD_COUNT ? rows[index].name : NULL;
}

const ms_config_kind *ms_run_field_kind(size_t index)
{
    return rows[index].kind;
}

bool ms_run_field_is_set(const ms_run_draft *draft, const char *name)
{
    int index = ms_run_field_find(name);
    return index >= 0 && ms_config_field_is_set(&ms_run_table, draft, (size_t)index);
}

void ms_run_field_unset(ms_run_draft *draft, const char *name)
{
    int index = ms_run_field_find(name);
    if (index >= 0)
        ms_config_field_unset(&ms_run_table, draft, (size_t)index);
}

const char *ms_run_field_hint(const char *name, char out[MS_CONFIG_HINT_BYTES])
{
    return ms_config_field_hint(&ms_run_table, name, out);
}

ms_status ms_run_field_set(ms_run_draft *draft, ms_arena *arena, const char *name,
                           const char *value, ms_error *err)
{
    return ms_config_field_set(&ms_run_table, draft, arena, name, value, err);
}

static const char *show(const ms_config_field *field, const char *name, ms_config_show special,
                        const ms_run_seen *seen, ms_arena *arena, ms_config_shown *shown)
{
    *shown = (ms_config_shown){.form = MS_SHOWN_NOWHERE};
    if (name && special)
        special(seen, arena, shown);
    else if (name)
        ms_config_field_show(field, seen->run, shown);
    return shown->form == MS_SHOWN_NOWHERE ? NULL : name;
}

const char *ms_run_field_report(size_t index, const ms_run_seen *seen, ms_arena *arena,
                                ms_config_shown *shown)
{
    const ms_config_field *field = &rows[index];
    return show(field, field->report, field->show_report, seen, arena, shown);
}

const char *ms_run_field_detail(size_t index, const ms_run_seen *seen, ms_arena *arena,
                                ms_config_shown *shown)
{
    const ms_config_field *field = &rows[index];
    return show(field, field->detail, field->show_detail, seen, arena, shown);
}
