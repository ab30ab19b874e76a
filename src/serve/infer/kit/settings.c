/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/kit/settings.h"

#include "input/config/fields/kinds.h"

const char *const ms_infer_fit_names[] = {"none",       "context", "concurrency",
                                          "gpu-layers", "quant",   NULL};
static const char *const ms_llama_split_names[] = {"layer", "none", NULL};
static const char *const ms_hf_cache_names[] = {"dynamic", "static", "quanto", "fp8", NULL};
static const char *const ms_hf_loop_names[] = {"forward", "generate", NULL};
static const char *const ms_llama_flash_names[] = {"auto", "on", "off", NULL};
static const char *const ms_llama_engine_fit_names[] = {"none", "server", "fit-params", NULL};
static const char *const ms_vllm_version_names[] = {"0.20.2", "0.25.1", NULL};
static const char *const ms_vllm_runner_names[] = {"auto", "v1", "v2", NULL};
static const char *const ms_vllm_usage_names[] = {"serve", "llm", NULL};
static const char *const ms_vllm_quantization_names[] = {"auto", "fp8", NULL};
static const char *const ms_vllm_kv_dtype_names[] = {"auto", "fp8", NULL};

#define AT(member)                                                                                 \
    .offset = offsetof(ms_infer_settings, member),                                                 \
    .bytes = sizeof((ms_infer_settings *)NULL)->member

static const ms_run_field texts[] = {
#define TEXTS(name, value_name, help, default_text, group, ...)                                    \
    {name, value_name, help, default_text, group},
    MS_INFER_FIELD_LIST(TEXTS)
#undef TEXTS
};

static const ms_config_field rows[] = {
#define ROW(row_name, value_name, help, default_text, group, row_kind, ...)                        \
    {.name = row_name, .kind = &ms_config_kind_##row_kind, __VA_ARGS__},
    MS_INFER_FIELD_LIST(ROW)
#undef ROW
};

const ms_config_table ms_infer_table = {.texts = texts,
                                        .rows = rows,
                                        .count = MS_INFER_FIELD_COUNT,
                                        .is_set = offsetof(ms_infer_settings, is_set)};

ms_status ms_infer_settings_init(ms_infer_settings *settings, ms_arena *arena, ms_error *err)
{
    *settings = (ms_infer_settings){0};
    return ms_config_field_fill(&ms_infer_table, settings, arena, err);
}

ms_status ms_infer_settings_set(ms_infer_settings *settings, ms_arena *arena, const char *field,
                                const char *value, ms_error *err)
{
    return ms_config_field_set(&ms_infer_table, settings, arena, field, value, err);
}

bool ms_infer_settings_has(const ms_infer_settings *settings, const char *field)
{
    int row = ms_config_field_find(&ms_infer_table, field);
    return row >= 0 && ms_config_field_is_set(&ms_infer_table, settings, (size_t)row);
}

ms_status ms_infer_settings_check(const ms_infer_settings *settings, const char *engine, int scope,
                                  ms_error *err)
{
    for (size_t i = 0; i < ms_infer_table.count; i++)
        if (rows[i].scope && !(rows[i].scope & scope) &&
            ms_config_field_is_set(&ms_infer_table, settings, i))
            return rows[i].scope & (rows[i].scope - 1)
                       ? ms_fail(err, MS_ERR_USAGE, "%s is not a setting of engine %s",
                                 rows[i].name, engine)
                       : ms_fail(err, MS_ERR_USAGE, "%s is a setting of %s, but the engine is %s",
                                 rows[i].name, texts[i].group, engine);
    return MS_OK;
}
