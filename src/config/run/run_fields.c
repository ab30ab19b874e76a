/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/run/run_fields.h"

#include <inttypes.h>

#include "config/adapter/adapter.h"
#include "config/adapter/adapter_text.h"
#include "config/model/unsupported.h"
#include "config/run/attention.h"
#include "config/run/experts.h"
#include "config/run/run_kinds.h"

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

static void show_mfu(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    double mfu = ((const ms_run_seen *)source)->run->device->mfu;
    (void)arena;
    if (mfu > 0)
        *shown = (ms_config_shown){.form = MS_SHOWN_NUMBER, .number = mfu};
}

static void show_torch(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_config *run = ((const ms_run_seen *)source)->run;
    show_text(shown,
              ms_arena_printf(arena, "%" PRIu32 ".%" PRIu32, run->torch_major, run->torch_minor));
}

/* ---- several ranks: only what the layout uses is shown ---- */

static const ms_parallel *parallel_of(const void *source)
{
    return &((const ms_run_seen *)source)->run->parallel;
}

static bool is_kind(const void *source, ms_parallel_kind kind)
{
    return parallel_of(source)->layout.kind == kind;
}

static void show_parallel(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    if (!is_kind(source, MS_PARALLEL_NONE))
        show_text(shown, ms_layout_text(arena, &parallel_of(source)->layout));
}

static void show_rank(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (!is_kind(source, MS_PARALLEL_NONE))
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = parallel_of(source)->rank};
}

/* The weights' own type, which is not that of the computation where they are sharded. */
static void show_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_config *run = ((const ms_run_seen *)source)->run;
    (void)arena;
    ms_dtype dtype =
        ms_layout_shards(&run->parallel.layout) ? run->parallel.shard_dtype : run->dtype;
    show_text(shown, ms_dtype_weight_names[dtype]);
}

static void show_load_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_parallel *parallel = parallel_of(source);
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1) && parallel->load_dtype != parallel->shard_dtype)
        show_text(shown, ms_dtype_weight_names[parallel->load_dtype]);
}

static void show_param_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_text(shown, ms_dtype_weight_names[parallel_of(source)->param_dtype]);
}

static void show_reduce_dtype(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_text(shown, ms_dtype_weight_names[parallel_of(source)->reduce_dtype]);
}

static void show_answer(ms_config_shown *shown, bool answer)
{
    *shown = (ms_config_shown){.form = MS_SHOWN_BOOL, .count = answer};
}

static void show_reshards(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_answer(shown, !parallel_of(source)->keeps_unsharded);
}

static void show_reshard_ranks(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->reshard_ranks)
        *shown =
            (ms_config_shown){.form = MS_SHOWN_COUNT, .count = parallel_of(source)->reshard_ranks};
}

static void show_reshards_after_backward(const void *source, ms_arena *arena,
                                         ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2))
        show_answer(shown, !parallel_of(source)->keeps_after_backward);
}

static void show_fsdp_units(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2))
        show_text(shown, ms_fsdp_unit_names[parallel_of(source)->units]);
}

static void show_fsdp_build(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (ms_layout_shards(&parallel_of(source)->layout))
        show_text(shown, ms_fsdp_build_names[parallel_of(source)->build]);
}

static void show_fsdp_offload(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP2))
        show_answer(shown, parallel_of(source)->offloads);
}

static void show_orig_params(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_answer(shown, !parallel_of(source)->has_flat_parameters);
}

static void show_forward_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_answer(shown, parallel_of(source)->prefetches_forward);
}

static void show_backward_prefetch(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_text(shown, ms_prefetch_names[parallel_of(source)->backward_prefetch]);
}

static void show_limits(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_FSDP1))
        show_answer(shown, parallel_of(source)->limits_all_gathers);
}

static void show_bucket_cap(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        *shown =
            (ms_config_shown){.form = MS_SHOWN_COUNT, .count = parallel_of(source)->bucket_cap_mb};
}

static void show_zero_optimizer(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_zero_optimizer);
}

static void show_parameter_views(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP) && parallel_of(source)->has_zero_optimizer)
        show_answer(shown, parallel_of(source)->has_parameter_views);
}

static void show_bucket_views(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_bucket_views);
}

static void show_static_graph(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_DDP))
        show_answer(shown, parallel_of(source)->has_static_graph);
}

static void show_no_sync(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    const ms_run_seen *seen = source;
    (void)arena;
    if (!is_kind(source, MS_PARALLEL_NONE) && seen->run->training.accumulate > 1)
        show_answer(shown, parallel_of(source)->syncs_last_only);
}

static void show_splits_sequence(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->layout.tensor > 1)
        show_answer(shown, parallel_of(source)->splits_sequence);
}

static void show_splits_loss(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (parallel_of(source)->layout.tensor > 1)
        show_answer(shown, parallel_of(source)->splits_loss);
}

/* ---- DeepSpeed ZeRO ---- */

static void show_zero_count(const void *source, bool from_stage, uint64_t count,
                            ms_config_shown *shown)
{
    bool is_used = is_kind(source, MS_PARALLEL_ZERO) &&
                   (!from_stage || parallel_of(source)->layout.stage == 3);
    if (is_used)
        *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = count};
}

#define SHOW_ZERO_COUNT(function, from_stage, member)                                              \
    static void function(const void *source, ms_arena *arena, ms_config_shown *shown)              \
    {                                                                                              \
        (void)arena;                                                                               \
        show_zero_count(source, from_stage, parallel_of(source)->zero.member, shown);              \
    }
SHOW_ZERO_COUNT(show_zero_bucket, false, reduce_bucket_size)
SHOW_ZERO_COUNT(show_zero_prefetch, true, prefetch_bucket_size)
SHOW_ZERO_COUNT(show_zero_live, true, max_live_parameters)
SHOW_ZERO_COUNT(show_zero_reuse, true, max_reuse_distance)
SHOW_ZERO_COUNT(show_zero_threshold, true, param_persistence_threshold)

static void show_zero_overlap(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO))
        show_answer(shown, parallel_of(source)->zero.overlap_comm);
}

static void show_zero_contiguous(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO))
        show_answer(shown, parallel_of(source)->zero.contiguous_gradients);
}

static void show_zero_init(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO) && parallel_of(source)->layout.stage == 3)
        show_answer(shown, parallel_of(source)->zero.init);
}

static void show_offload_param(const void *source, ms_arena *arena, ms_config_shown *shown)
{
    (void)arena;
    if (is_kind(source, MS_PARALLEL_ZERO) && parallel_of(source)->layout.stage == 3)
        show_answer(shown, parallel_of(source)->zero.offloads_parameters);
}

/* ---- the rows ---- */

static const char *const types[][2] = {
    {"float32", "fp32"}, {"bfloat16", "bf16"}, {"float16", "fp16"}, {NULL, NULL}};

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

const ms_config_table ms_run_table = {texts, rows, MS_RUN_FIELD_COUNT,
                                      offsetof(ms_run_draft, is_set), ms_unsupported_setting};

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
