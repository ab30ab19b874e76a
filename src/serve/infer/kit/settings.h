/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of the settings of inference, and those that were set.
 */
#ifndef MS_SERVE_INFER_KIT_SETTINGS_H
#define MS_SERVE_INFER_KIT_SETTINGS_H

#include <stdbool.h>

#include "input/config/fields/field.h"
#include "serve/infer/kit/infer_field_list.h"

/* Engines that have settings of their own: bits of a row's scope. */
enum { MS_INFER_OF_LLAMA_CPP = 1, MS_INFER_OF_VLLM = 2, MS_INFER_OF_HF = 4 };

enum {
    MS_INFER_FIELD_COUNT = 0
#define MS_ONE_MORE(...) +1
    MS_INFER_FIELD_LIST(MS_ONE_MORE)
#undef MS_ONE_MORE
};

typedef enum ms_llama_split { MS_LLAMA_SPLIT_LAYER, MS_LLAMA_SPLIT_NONE } ms_llama_split;
typedef enum ms_llama_flash {
    MS_LLAMA_FLASH_AUTO,
    MS_LLAMA_FLASH_ON,
    MS_LLAMA_FLASH_OFF
} ms_llama_flash;

/* Whose start llama.cpp's own --fit is followed for. */
typedef enum ms_llama_engine_fit {
    MS_LLAMA_ENGINE_FIT_NONE,
    MS_LLAMA_ENGINE_FIT_SERVER,
    MS_LLAMA_ENGINE_FIT_PARAMS
} ms_llama_engine_fit;

typedef enum ms_infer_fit_kind {
    MS_INFER_FIT_NONE,
    MS_INFER_FIT_CONTEXT,
    MS_INFER_FIT_CONCURRENCY,
    MS_INFER_FIT_GPU_LAYERS,
    MS_INFER_FIT_QUANT
} ms_infer_fit_kind;
extern const char *const ms_infer_fit_names[]; /* "none", then the setting's; ends with NULL */

/* 0 or NULL: not given, where the row's default is words. */
typedef struct ms_llama_settings {
    uint64_t ctx_size, batch, ubatch, outputs;
    ms_llama_split split_mode;
    const char *tensor_split, *override_tensor, *type_k, *type_v;
    ms_llama_flash flash_attention;
    ms_llama_engine_fit engine_fit;
    const char *free_memory, *fit_target;
    uint64_t fit_ctx;
    uint64_t host_bytes_per_s; /* 0: not given */
    bool kv_unified, swa_full, kv_offload, op_offload, embeddings, mmap, repack;
} ms_llama_settings;

typedef enum ms_hf_cache {
    MS_HF_CACHE_DYNAMIC,
    MS_HF_CACHE_STATIC,
    MS_HF_CACHE_QUANTO,
    MS_HF_CACHE_FP8
} ms_hf_cache;

typedef enum ms_hf_loop { MS_HF_LOOP_FORWARD, MS_HF_LOOP_GENERATE } ms_hf_loop;

typedef struct ms_hf_settings {
    uint64_t generate;
    uint64_t cache_bits, cache_group, residual_length;
    ms_hf_cache cache;
    ms_hf_loop loop;
    const char *quantize, *compute_dtype;
    const char *attention, *experts, *torch, *allocator, *addresses; /* as a run's */
} ms_hf_settings;

typedef enum ms_vllm_version { MS_VLLM_0_20, MS_VLLM_0_25 } ms_vllm_version;
typedef enum ms_vllm_runner {
    MS_VLLM_RUNNER_AUTO,
    MS_VLLM_RUNNER_V1,
    MS_VLLM_RUNNER_V2
} ms_vllm_runner;
typedef enum ms_vllm_usage { MS_VLLM_SERVE, MS_VLLM_LLM } ms_vllm_usage;
typedef enum ms_vllm_quantization {
    MS_VLLM_QUANTIZATION_AUTO,
    MS_VLLM_QUANTIZATION_FP8
} ms_vllm_quantization;
typedef enum ms_vllm_kv_dtype { MS_VLLM_KV_AUTO, MS_VLLM_KV_FP8 } ms_vllm_kv_dtype;

/* 0: not given, where the row's default is words. */
typedef struct ms_vllm_settings {
    ms_vllm_version version;
    ms_vllm_runner runner;
    ms_vllm_usage usage;
    double utilization;
    uint64_t seqs, batched_tokens, tensor_parallel, pipeline_parallel, non_torch;
    ms_vllm_quantization quantization;
    ms_vllm_kv_dtype kv_dtype;
    bool enforce_eager, flashinfer_sampler;
} ms_vllm_settings;

typedef struct ms_infer_settings {
    uint64_t is_set[MS_CONFIG_WORDS(MS_INFER_FIELD_COUNT)];
    const char *engine, *device, *quant, *dtype, *family, *families;
    uint64_t budget, gpus, context, concurrency, prompt, gpu_layers;
    ms_infer_fit_kind fit;
    ms_llama_settings llama;
    ms_hf_settings hf;
    ms_vllm_settings vllm;
} ms_infer_settings;

extern const ms_config_table ms_infer_table;

/* Sets all to their defaults. */
ms_status ms_infer_settings_init(ms_infer_settings *settings, ms_arena *arena, ms_error *err);
/* Sets one. Refuses an unknown field and an invalid value. Text is copied into the arena. */
ms_status ms_infer_settings_set(ms_infer_settings *settings, ms_arena *arena, const char *field,
                                const char *value, ms_error *err);
bool ms_infer_settings_has(const ms_infer_settings *settings, const char *field);
/* Refuses a setting of another engine than those of `scope`. */
ms_status ms_infer_settings_check(const ms_infer_settings *settings, const char *engine, int scope,
                                  ms_error *err);

#endif
