/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/engines.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "serve/infer/hf/hf.h"
#include "serve/infer/llamacpp/fit.h"
#include "serve/infer/llamacpp/llama.h"
#include "serve/infer/llama/model.h"
#include "serve/infer/llama/sizes.h"
#include "serve/infer/speed/config_work.h"
#include "serve/infer/speed/llama_work.h"
#include "serve/infer/vllm/vllm.h"
#include "base/text/nearest.h"
#include "base/text/values.h"

static const ms_infer_engine engines[] = {
    {.name = "llama.cpp",
     .also = (const char *const[]){"llamacpp", "llama-cpp", "llama-server", NULL},
     .about = "llama.cpp of October 2026 (ggml 0.25.3)",
     .phases =
         MS_INFER_IN(MS_INFER_LOAD) | MS_INFER_IN(MS_INFER_PREFILL) | MS_INFER_IN(MS_INFER_DECODE),
     .scope = MS_INFER_OF_LLAMA_CPP,
     .quants = ms_llama_quants,
     .most_sequences = MS_LLAMA_MOST_SEQUENCES,
     .takes = ms_llama_takes,
     .run = ms_llama_infer,
     .choose = ms_llama_choose,
     .work = ms_llama_work},
    {.name = "hf",
     .also = (const char *const[]){"transformers", "huggingface", NULL},
     .about = "transformers 5.23, PyTorch 2.11",
     .phases =
         MS_INFER_IN(MS_INFER_LOAD) | MS_INFER_IN(MS_INFER_PREFILL) | MS_INFER_IN(MS_INFER_DECODE),
     .scope = MS_INFER_OF_HF,
     .loading = "buffers are made, and blocks rounded up to 512 bytes",
     .is_slow = true,
     .reads_inventory = true,
     .takes = ms_hf_takes,
     .run = ms_hf_infer,
     .work = ms_config_work_as_loaded},
    {.name = "vllm",
     .about = "vLLM 0.25.1 or 0.20.2 with PyTorch 2.11",
     .phases = MS_INFER_IN(MS_INFER_LOAD) | MS_INFER_IN(MS_INFER_PROFILE) |
               MS_INFER_IN(MS_INFER_PREFILL) | MS_INFER_IN(MS_INFER_DECODE),
     .scope = MS_INFER_OF_VLLM,
     .loading = "tables, padding and each device's own copies",
     .reads_inventory = true,
     .takes = ms_vllm_takes,
     .run = ms_vllm_infer,
     .work = ms_config_work},
};

const ms_infer_engine *ms_infer_engine_at(size_t index)
{
    return index < sizeof engines / sizeof engines[0] ? &engines[index] : NULL;
}

static const char *name_at(const void *list, size_t index)
{
    (void)list;
    const ms_infer_engine *engine = ms_infer_engine_at(index);
    return engine ? engine->name : NULL;
}

ms_status ms_infer_engine_find(const char *name, const ms_infer_engine **engine, ms_error *err)
{
    int choice = 0;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        for (const char *const *also = engines[i].also; also && *also; also++)
            if (ms_name_equal(*also, name))
                name = engines[i].name;
    ms_status status = ms_value_choice_of("engine", name, name_at, NULL, &choice, err);
    *engine = &engines[choice];
    return status;
}

void ms_infer_engine_takers(const ms_model_config *config, const char *between,
                            char out[MS_INFER_TAKERS_SIZE])
{
    const ms_infer_engine *engine;
    int used = 0;
    *out = 0;
    for (size_t i = 0; (engine = ms_infer_engine_at(i)) != NULL; i++)
        if (engine->takes(config) == MS_INFER_TAKES_CONFIG && used < MS_INFER_TAKERS_SIZE)
            used += snprintf(out + used, (size_t)(MS_INFER_TAKERS_SIZE - used), "%s%s",
                             used > 0 ? between : "", engine->name);
}

ms_status ms_infer_engine_check(const ms_infer_engine *engine, const ms_model_config *config,
                                ms_error *err)
{
    const char *type = config->family->model_type;
    ms_infer_takes takes = engine->takes(config);
    char takers[MS_INFER_TAKERS_SIZE];
    ms_infer_engine_takers(config, " or ", takers);
    if (takes == MS_INFER_TAKES_CONFIG)
        return MS_OK;
    if (takes == MS_INFER_TAKES_GGUF)
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine %s: a config.json of type %.60s cannot be converted; give the "
                       "model's GGUF file%s%s",
                       engine->name, type, *takers ? ", or try --engine " : "", takers);
    if (*takers && config->family->user_text)
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine %s has its own code for each family, and none for type %.60s; a "
                       "family text that changes no module of the family it imports can name that "
                       "family (known_as = \"llama\"); or try --engine %s",
                       engine->name, type, takers);
    if (*takers)
        return ms_fail(err, MS_ERR_CONFIG,
                       "engine %s: this model of type %.60s is not predicted; try --engine %s",
                       engine->name, type, takers);
    return ms_fail(err, MS_ERR_CONFIG,
                   "models of type %.60s are not predicted with any engine; memscope analyze "
                   "predicts their training",
                   type);
}
