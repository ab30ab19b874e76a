/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/names/hub.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "input/config/names/model_name.h"

/* Same sizes and layout of layers, as the authors' config.json says. A preset is its first id, the
 * type of its weights included; what others have otherwise is in their rows. */
/* clang-format off */
static const struct {
    const char *preset;
    uint32_t positions; /* 0: as the preset */
    const char *stored; /* the torch_dtype of its weights; NULL: as the preset */
    const char *ids;    /* between blanks */
} rows[] = {
    {"afm-4.5b", 0, NULL, "arcee-ai/AFM-4.5B arcee-ai/AFM-4.5B-Base"},
    {"bert-base-uncased", 0, NULL, "google-bert/bert-base-uncased"},
    {"bert-large-uncased", 0, NULL, "google-bert/bert-large-uncased"},
    {"bloom-560m", 0, NULL, "bigscience/bloom-560m bigscience/bloomz-560m"},
    {"bloom-7b1", 0, NULL, "bigscience/bloom-7b1 bigscience/bloomz-7b1"},
    {"camembert-base", 0, NULL, "almanach/camembert-base"},
    {"cerebras-gpt-1.3b", 0, NULL, "cerebras/Cerebras-GPT-1.3B"},
    {"codellama-7b", 0, NULL, "codellama/CodeLlama-7b-hf codellama/CodeLlama-7b-Instruct-hf"},
    {"codellama-13b", 0, NULL, "codellama/CodeLlama-13b-hf codellama/CodeLlama-13b-Instruct-hf"},
    {"codellama-34b", 0, NULL, "codellama/CodeLlama-34b-hf codellama/CodeLlama-34b-Instruct-hf codellama/CodeLlama-34b-Python-hf"},
    {"cogito-v1-14b", 0, NULL, "deepcogito/cogito-v1-preview-qwen-14B"},
    {"command-r-v01", 0, NULL, "CohereForAI/c4ai-command-r-v01 CohereLabs/c4ai-command-r-v01"},
    {"command-r7b", 0, NULL, "CohereForAI/c4ai-command-r7b-12-2024 CohereLabs/c4ai-command-r7b-12-2024"},
    {"deepseek-r1-distill-qwen-1.5b", 0, NULL, "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"},
    {"deepseek-v2", 0, NULL, "deepseek-ai/DeepSeek-V2 deepseek-ai/DeepSeek-V2-Chat"},
    {"deepseek-v2-lite", 0, NULL, "deepseek-ai/DeepSeek-V2-Lite deepseek-ai/DeepSeek-V2-Lite-Chat"},
    {"deepseek-v3", 0, NULL, "deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V3-Base deepseek-ai/DeepSeek-V3-0324 deepseek-ai/DeepSeek-R1 deepseek-ai/DeepSeek-R1-0528"},
    {"deepseek-v3.2", 0, NULL, "deepseek-ai/DeepSeek-V3.2 deepseek-ai/DeepSeek-V3.2-Exp"},
    {"distilbert-base", 0, NULL, "distilbert/distilbert-base-uncased"},
    {"dots-llm1", 0, NULL, "rednote-hilab/dots.llm1.base rednote-hilab/dots.llm1.inst"},
    {"ernie-4.5-0.3b", 0, NULL, "baidu/ERNIE-4.5-0.3B-PT baidu/ERNIE-4.5-0.3B-Base-PT"},
    {"ernie-4.5-21b-a3b", 0, NULL, "baidu/ERNIE-4.5-21B-A3B-PT baidu/ERNIE-4.5-21B-A3B-Base-PT"},
    {"exaone-4.0-1.2b", 0, NULL, "LGAI-EXAONE/EXAONE-4.0-1.2B"},
    {"exaone-4.0-32b", 0, NULL, "LGAI-EXAONE/EXAONE-4.0-32B"},
    {"falcon-7b", 0, NULL, "tiiuae/falcon-7b tiiuae/falcon-7b-instruct"},
    {"falcon-40b", 0, NULL, "tiiuae/falcon-40b tiiuae/falcon-40b-instruct"},
    {"falcon-180b", 0, NULL, "tiiuae/falcon-180B tiiuae/falcon-180B-chat"},
    {"flan-t5-small", 0, NULL, "google/flan-t5-small google/t5-v1_1-small"},
    {"flan-t5-base", 0, NULL, "google/flan-t5-base google/t5-v1_1-base"},
    {"flan-t5-large", 0, NULL, "google/flan-t5-large google/t5-v1_1-large"},
    {"flan-t5-xl", 0, NULL, "google/flan-t5-xl google/t5-v1_1-xl"},
    {"flan-t5-xxl", 0, NULL, "google/flan-t5-xxl google/t5-v1_1-xxl"},
    {"gemma-2b", 0, NULL, "google/gemma-2b google/gemma-2b-it"},
    {"gemma-7b", 0, NULL, "google/gemma-7b google/gemma-7b-it"},
    {"gemma-2-2b", 0, NULL, "google/gemma-2-2b"},
    {"gemma-2-2b", 0, "bfloat16", "google/gemma-2-2b-it"},
    {"gemma-2-9b", 0, NULL, "google/gemma-2-9b"},
    {"gemma-2-9b", 0, "bfloat16", "google/gemma-2-9b-it"},
    {"gemma-2-27b", 0, NULL, "google/gemma-2-27b"},
    {"gemma-2-27b", 0, "bfloat16", "google/gemma-2-27b-it"},
    {"gemma-3-270m", 0, NULL, "google/gemma-3-270m google/gemma-3-270m-it"},
    {"gemma-3-1b", 0, NULL, "google/gemma-3-1b-pt google/gemma-3-1b-it"},
    {"gemma-3-4b", 0, NULL, "google/gemma-3-4b-pt google/gemma-3-4b-it"},
    {"gemma-3-12b", 0, NULL, "google/gemma-3-12b-pt google/gemma-3-12b-it"},
    {"gemma-3-27b", 0, NULL, "google/gemma-3-27b-pt google/gemma-3-27b-it"},
    {"gemma-4-e2b", 0, NULL, "google/gemma-4-E2B google/gemma-4-E2B-it"},
    {"gemma-4-e4b", 0, NULL, "google/gemma-4-E4B google/gemma-4-E4B-it"},
    {"gemma-4-26b-a4b", 0, NULL, "google/gemma-4-26B-A4B google/gemma-4-26B-A4B-it"},
    {"gemma-4-31b", 0, NULL, "google/gemma-4-31B google/gemma-4-31B-it"},
    {"glm-4-9b-chat", 0, NULL, "THUDM/glm-4-9b-chat-hf zai-org/glm-4-9b-chat-hf"},
    {"glm-4-9b-0414", 0, NULL, "THUDM/GLM-4-9B-0414 zai-org/GLM-4-9B-0414"},
    {"glm-4-32b-0414", 0, NULL, "THUDM/GLM-4-32B-0414 zai-org/GLM-4-32B-0414"},
    {"glm-4.5", 0, NULL, "zai-org/GLM-4.5"},
    {"glm-4.5", 202752, NULL, "zai-org/GLM-4.6"},
    {"glm-4.5-air", 0, NULL, "zai-org/GLM-4.5-Air"},
    {"gpt-j-6b", 0, NULL, "EleutherAI/gpt-j-6b EleutherAI/gpt-j-6B"},
    {"gpt-neox-20b", 0, NULL, "EleutherAI/gpt-neox-20b"},
    {"gpt-oss-20b", 0, NULL, "openai/gpt-oss-20b openai/gpt-oss-safeguard-20b"},
    {"gpt-oss-120b", 0, NULL, "openai/gpt-oss-120b openai/gpt-oss-safeguard-120b"},
    {"gpt-oss-20b-bf16", 0, NULL, "axolotl-ai-co/gpt-oss-20b-dequantized"},
    {"gpt-oss-120b-bf16", 0, NULL, "axolotl-ai-co/gpt-oss-120b-dequantized"},
    {"gpt2", 0, NULL, "openai-community/gpt2"},
    {"gpt2-medium", 0, NULL, "openai-community/gpt2-medium"},
    {"gpt2-large", 0, NULL, "openai-community/gpt2-large"},
    {"gpt2-xl", 0, NULL, "openai-community/gpt2-xl"},
    {"granite-3.3-8b", 0, NULL, "ibm-granite/granite-3.3-8b-instruct"},
    {"granite-4.0-micro", 0, NULL, "ibm-granite/granite-4.0-micro"},
    {"hunyuan-0.5b", 0, NULL, "tencent/Hunyuan-0.5B-Instruct"},
    {"lfm2-350m", 0, NULL, "LiquidAI/LFM2-350M"},
    {"lfm2-700m", 0, NULL, "LiquidAI/LFM2-700M"},
    {"lfm2-1.2b", 0, NULL, "LiquidAI/LFM2-1.2B"},
    {"llama-2-7b", 0, NULL, "meta-llama/Llama-2-7b-hf meta-llama/Llama-2-7b-chat-hf NousResearch/Llama-2-7b-hf NousResearch/Llama-2-7b-chat-hf lmsys/vicuna-7b-v1.5"},
    {"llama-2-13b", 0, NULL, "meta-llama/Llama-2-13b-hf meta-llama/Llama-2-13b-chat-hf NousResearch/Llama-2-13b-hf NousResearch/Llama-2-13b-chat-hf lmsys/vicuna-13b-v1.5"},
    {"llama-2-70b", 0, NULL, "meta-llama/Llama-2-70b-hf meta-llama/Llama-2-70b-chat-hf NousResearch/Llama-2-70b-hf NousResearch/Llama-2-70b-chat-hf"},
    {"llama-2-7b", 2048, NULL, "huggyllama/llama-7b lmsys/vicuna-7b-v1.3 openlm-research/open_llama_7b"},
    {"llama-2-13b", 2048, NULL, "huggyllama/llama-13b lmsys/vicuna-13b-v1.3 openlm-research/open_llama_13b"},
    {"llama-30b", 0, NULL, "huggyllama/llama-30b"},
    {"llama-65b", 0, NULL, "huggyllama/llama-65b"},
    {"llama-3.1-8b", 0, NULL, "meta-llama/Llama-3.1-8B meta-llama/Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-8B meta-llama/Meta-Llama-3.1-8B-Instruct "
                              "unsloth/Meta-Llama-3.1-8B unsloth/Meta-Llama-3.1-8B-Instruct unsloth/Llama-3.1-8B unsloth/Llama-3.1-8B-Instruct NousResearch/Meta-Llama-3.1-8B "
                              "NousResearch/Meta-Llama-3.1-8B-Instruct NousResearch/Hermes-3-Llama-3.1-8B deepseek-ai/DeepSeek-R1-Distill-Llama-8B"},
    {"llama-3.1-8b", 8192, NULL, "meta-llama/Meta-Llama-3-8B meta-llama/Meta-Llama-3-8B-Instruct NousResearch/Meta-Llama-3-8B NousResearch/Meta-Llama-3-8B-Instruct"},
    {"llama-3.1-70b", 0, NULL, "meta-llama/Llama-3.1-70B meta-llama/Llama-3.1-70B-Instruct meta-llama/Meta-Llama-3.1-70B meta-llama/Meta-Llama-3.1-70B-Instruct "
                               "meta-llama/Llama-3.3-70B-Instruct unsloth/Llama-3.3-70B-Instruct nvidia/Llama-3.1-Nemotron-70B-Instruct-HF deepseek-ai/DeepSeek-R1-Distill-Llama-70B"},
    {"llama-3.1-70b", 8192, NULL, "meta-llama/Meta-Llama-3-70B meta-llama/Meta-Llama-3-70B-Instruct"},
    {"llama-3.1-70b", 8192, "float16", "casperhansen/llama-3-70b-fp16"},
    {"llama-3.1-405b", 0, NULL, "meta-llama/Llama-3.1-405B meta-llama/Llama-3.1-405B-Instruct meta-llama/Meta-Llama-3.1-405B meta-llama/Meta-Llama-3.1-405B-Instruct"},
    {"llama-3.2-1b", 0, NULL, "meta-llama/Llama-3.2-1B meta-llama/Llama-3.2-1B-Instruct unsloth/Llama-3.2-1B unsloth/Llama-3.2-1B-Instruct"},
    {"llama-3.2-3b", 0, NULL, "meta-llama/Llama-3.2-3B meta-llama/Llama-3.2-3B-Instruct unsloth/Llama-3.2-3B unsloth/Llama-3.2-3B-Instruct"},
    {"llama-4-scout-17b-16e", 0, NULL, "meta-llama/Llama-4-Scout-17B-16E"},
    {"llama-4-scout-17b-16e", 10485760, NULL, "meta-llama/Llama-4-Scout-17B-16E-Instruct"},
    {"llama-4-maverick-17b-128e", 0, NULL, "meta-llama/Llama-4-Maverick-17B-128E"},
    {"llama-4-maverick-17b-128e", 1048576, NULL, "meta-llama/Llama-4-Maverick-17B-128E-Instruct"},
    {"llava-1.5-7b", 0, NULL, "llava-hf/llava-1.5-7b-hf"},
    {"llava-1.5-13b", 0, NULL, "llava-hf/llava-1.5-13b-hf"},
    {"mamba-130m", 0, NULL, "state-spaces/mamba-130m-hf"},
    {"mamba-370m", 0, NULL, "state-spaces/mamba-370m-hf"},
    {"mamba-790m", 0, NULL, "state-spaces/mamba-790m-hf"},
    {"mamba-1.4b", 0, NULL, "state-spaces/mamba-1.4b-hf"},
    {"mamba-2.8b", 0, NULL, "state-spaces/mamba-2.8b-hf"},
    {"mamba-codestral-7b", 0, NULL, "mistralai/Mamba-Codestral-7B-v0.1"},
    {"minimax-m2", 0, NULL, "MiniMaxAI/MiniMax-M2"},
    {"ministral-8b", 0, NULL, "mistralai/Ministral-8B-Instruct-2410"},
    {"mistral-7b-v0.1", 0, NULL, "mistralai/Mistral-7B-v0.1 mistralai/Mistral-7B-Instruct-v0.1 HuggingFaceH4/zephyr-7b-beta"},
    {"mistral-7b-v0.2", 0, NULL, "mistralai/Mistral-7B-Instruct-v0.2"},
    {"mistral-7b-v0.3", 0, NULL, "mistralai/Mistral-7B-v0.3 mistralai/Mistral-7B-Instruct-v0.3"},
    {"mistral-large-123b", 0, NULL, "mistralai/Mistral-Large-Instruct-2407"},
    {"mistral-nemo-12b", 0, NULL, "mistralai/Mistral-Nemo-Base-2407 mistralai/Mistral-Nemo-Instruct-2407"},
    {"mistral-small-24b", 0, NULL, "mistralai/Mistral-Small-24B-Base-2501 mistralai/Mistral-Small-24B-Instruct-2501"},
    {"mistral-small-24b", 131072, NULL, "mistralai/Devstral-Small-2505 mistralai/Devstral-Small-2507 mistralai/Magistral-Small-2506 mistralai/Magistral-Small-2507"},
    {"mixtral-8x7b", 0, NULL, "mistralai/Mixtral-8x7B-v0.1 mistralai/Mixtral-8x7B-Instruct-v0.1"},
    {"mixtral-8x22b-v0.1", 0, NULL, "mistralai/Mixtral-8x22B-v0.1 mistral-community/Mixtral-8x22B-v0.1"},
    {"modernbert-base", 0, NULL, "answerdotai/ModernBERT-base"},
    {"modernbert-large", 0, NULL, "answerdotai/ModernBERT-large"},
    {"nemotron-h-8b", 0, NULL, "nvidia/Nemotron-H-8B-Base-8K"},
    {"nemotron-nano-9b-v2", 0, NULL, "nvidia/NVIDIA-Nemotron-Nano-9B-v2"},
    {"nemotron-3-nano-30b-a3b", 0, NULL, "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-Base-BF16"},
    {"olmo-2-7b", 0, NULL, "allenai/OLMo-2-1124-7B allenai/OLMo-2-1124-7B-Instruct"},
    {"olmo-2-13b", 0, NULL, "allenai/OLMo-2-1124-13B allenai/OLMo-2-1124-13B-Instruct"},
    {"olmo-3-7b", 0, NULL, "allenai/Olmo-3-1025-7B"},
    {"olmo-3-32b", 0, NULL, "allenai/Olmo-3-1125-32B allenai/Olmo-3.1-32B-Instruct"},
    {"olmoe-1b-7b", 0, NULL, "allenai/OLMoE-1B-7B-0924 allenai/OLMoE-1B-7B-0924-Instruct"},
    {"open-llama-3b", 0, NULL, "openlm-research/open_llama_3b openlm-research/open_llama_3b_v2"},
    {"opt-125m", 0, NULL, "facebook/opt-125m"},
    {"opt-350m", 0, NULL, "facebook/opt-350m"},
    {"opt-1.3b", 0, NULL, "facebook/opt-1.3b"},
    {"opt-2.7b", 0, NULL, "facebook/opt-2.7b"},
    {"opt-6.7b", 0, NULL, "facebook/opt-6.7b"},
    {"opt-13b", 0, NULL, "facebook/opt-13b"},
    {"opt-30b", 0, NULL, "facebook/opt-30b"},
    {"opt-66b", 0, NULL, "facebook/opt-66b"},
    {"phi-1.5", 0, NULL, "microsoft/phi-1_5"},
    {"phi-2", 0, NULL, "microsoft/phi-2"},
    {"phi-3-mini-4k", 0, NULL, "microsoft/Phi-3-mini-4k-instruct"},
    {"phi-3.5-mini", 0, NULL, "microsoft/Phi-3.5-mini-instruct microsoft/Phi-3-mini-128k-instruct"},
    {"phi-4", 0, NULL, "microsoft/phi-4"},
    {"phi-4-mini", 0, NULL, "microsoft/Phi-4-mini-instruct"},
    {"pythia-70m", 0, NULL, "EleutherAI/pythia-70m EleutherAI/pythia-70m-deduped"},
    {"pythia-160m", 0, NULL, "EleutherAI/pythia-160m EleutherAI/pythia-160m-deduped"},
    {"pythia-410m", 0, NULL, "EleutherAI/pythia-410m EleutherAI/pythia-410m-deduped"},
    {"pythia-1b", 0, NULL, "EleutherAI/pythia-1b EleutherAI/pythia-1b-deduped"},
    {"pythia-1.4b", 0, NULL, "EleutherAI/pythia-1.4b EleutherAI/pythia-1.4b-deduped"},
    {"pythia-2.8b", 0, NULL, "EleutherAI/pythia-2.8b EleutherAI/pythia-2.8b-deduped"},
    {"pythia-6.9b", 0, NULL, "EleutherAI/pythia-6.9b EleutherAI/pythia-6.9b-deduped"},
    {"pythia-12b", 0, NULL, "EleutherAI/pythia-12b EleutherAI/pythia-12b-deduped"},
    {"qwen1.5-7b", 0, NULL, "Qwen/Qwen1.5-7B Qwen/Qwen1.5-7B-Chat"},
    {"qwen1.5-moe-a2.7b", 0, NULL, "Qwen/Qwen1.5-MoE-A2.7B Qwen/Qwen1.5-MoE-A2.7B-Chat"},
    {"qwen2.5-0.5b", 0, NULL, "Qwen/Qwen2.5-0.5B Qwen/Qwen2.5-0.5B-Instruct Qwen/Qwen2-0.5B-Instruct"},
    {"qwen2.5-0.5b", 131072, NULL, "Qwen/Qwen2-0.5B"},
    {"qwen2.5-1.5b", 0, NULL, "Qwen/Qwen2-1.5B Qwen/Qwen2.5-1.5B"},
    {"qwen2.5-1.5b", 32768, NULL, "Qwen/Qwen2-1.5B-Instruct Qwen/Qwen2.5-1.5B-Instruct Qwen/Qwen2.5-Coder-1.5B Qwen/Qwen2.5-Coder-1.5B-Instruct"},
    {"qwen2.5-3b", 0, NULL, "Qwen/Qwen2.5-3B Qwen/Qwen2.5-3B-Instruct"},
    {"qwen2.5-7b", 0, NULL, "Qwen/Qwen2-7B Qwen/Qwen2.5-7B deepseek-ai/DeepSeek-R1-Distill-Qwen-7B"},
    {"qwen2.5-7b", 32768, NULL, "Qwen/Qwen2-7B-Instruct Qwen/Qwen2.5-7B-Instruct Qwen/Qwen2.5-Coder-7B Qwen/Qwen2.5-Coder-7B-Instruct open-r1/Qwen2.5-Math-7B-RoPE-300k"},
    {"qwen2.5-7b", 4096, NULL, "Qwen/Qwen2.5-Math-7B Qwen/Qwen2.5-Math-7B-Instruct"},
    {"qwen2.5-14b", 0, NULL, "Qwen/Qwen2.5-14B deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"},
    {"qwen2.5-14b", 32768, NULL, "Qwen/Qwen2.5-14B-Instruct Qwen/Qwen2.5-Coder-14B Qwen/Qwen2.5-Coder-14B-Instruct"},
    {"qwen2.5-14b", 0, "float32", "agentica-org/DeepCoder-14B-Preview"},
    {"qwen2.5-32b", 0, NULL, "Qwen/Qwen2.5-32B deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"},
    {"qwen2.5-32b", 32768, NULL, "Qwen/Qwen2.5-32B-Instruct Qwen/Qwen2.5-Coder-32B Qwen/Qwen2.5-Coder-32B-Instruct"},
    {"qwen2.5-32b", 40960, NULL, "Qwen/QwQ-32B"},
    {"qwen2.5-72b", 0, NULL, "Qwen/Qwen2-72B Qwen/Qwen2.5-72B"},
    {"qwen2.5-72b", 32768, NULL, "Qwen/Qwen2-72B-Instruct Qwen/Qwen2.5-72B-Instruct"},
    {"qwen3-0.6b", 0, NULL, "Qwen/Qwen3-0.6B"},
    {"qwen3-0.6b", 32768, NULL, "Qwen/Qwen3-0.6B-Base"},
    {"qwen3-1.7b", 0, NULL, "Qwen/Qwen3-1.7B"},
    {"qwen3-1.7b", 32768, NULL, "Qwen/Qwen3-1.7B-Base"},
    {"qwen3-4b", 0, NULL, "Qwen/Qwen3-4B"},
    {"qwen3-4b", 32768, NULL, "Qwen/Qwen3-4B-Base"},
    {"qwen3-4b", 262144, NULL, "Qwen/Qwen3-4B-Instruct-2507 Qwen/Qwen3-4B-Thinking-2507"},
    {"qwen3-8b", 0, NULL, "Qwen/Qwen3-8B"},
    {"qwen3-8b", 32768, NULL, "Qwen/Qwen3-8B-Base"},
    {"qwen3-14b", 0, NULL, "Qwen/Qwen3-14B"},
    {"qwen3-14b", 32768, NULL, "Qwen/Qwen3-14B-Base"},
    {"qwen3-32b", 0, NULL, "Qwen/Qwen3-32B"},
    {"qwen3-30b-a3b", 0, NULL, "Qwen/Qwen3-30B-A3B"},
    {"qwen3-30b-a3b", 32768, NULL, "Qwen/Qwen3-30B-A3B-Base"},
    {"qwen3-30b-a3b", 262144, NULL, "Qwen/Qwen3-30B-A3B-Instruct-2507 Qwen/Qwen3-30B-A3B-Thinking-2507 Qwen/Qwen3-Coder-30B-A3B-Instruct"},
    {"qwen3-235b-a22b", 0, NULL, "Qwen/Qwen3-235B-A22B"},
    {"qwen3-235b-a22b", 262144, NULL, "Qwen/Qwen3-235B-A22B-Instruct-2507 Qwen/Qwen3-235B-A22B-Thinking-2507"},
    {"qwen3-next-80b-a3b", 0, NULL, "Qwen/Qwen3-Next-80B-A3B-Instruct Qwen/Qwen3-Next-80B-A3B-Thinking"},
    {"qwen3.5-4b", 0, NULL, "Qwen/Qwen3.5-4B Qwen/Qwen3.5-4B-Base"},
    {"qwen3.5-9b", 0, NULL, "Qwen/Qwen3.5-9B Qwen/Qwen3.5-9B-Base"},
    {"qwen3.5-27b", 0, NULL, "Qwen/Qwen3.5-27B"},
    {"qwen3.5-35b-a3b", 0, NULL, "Qwen/Qwen3.5-35B-A3B Qwen/Qwen3.5-35B-A3B-Base"},
    {"qwen3.5-122b-a10b", 0, NULL, "Qwen/Qwen3.5-122B-A10B"},
    {"qwen3.5-397b-a17b", 0, NULL, "Qwen/Qwen3.5-397B-A17B"},
    {"qwen2-vl-2b", 0, NULL, "Qwen/Qwen2-VL-2B Qwen/Qwen2-VL-2B-Instruct"},
    {"qwen2-vl-7b", 0, NULL, "Qwen/Qwen2-VL-7B Qwen/Qwen2-VL-7B-Instruct"},
    {"qwen2-vl-72b", 0, NULL, "Qwen/Qwen2-VL-72B Qwen/Qwen2-VL-72B-Instruct"},
    {"qwen2.5-vl-3b", 0, NULL, "Qwen/Qwen2.5-VL-3B-Instruct"},
    {"qwen2.5-vl-7b", 0, NULL, "Qwen/Qwen2.5-VL-7B-Instruct"},
    {"qwen3-vl-4b", 0, NULL, "Qwen/Qwen3-VL-4B-Instruct Qwen/Qwen3-VL-4B-Thinking"},
    {"qwen3-vl-8b", 0, NULL, "Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen3-VL-8B-Thinking"},
    {"qwen3-vl-30b-a3b", 0, NULL, "Qwen/Qwen3-VL-30B-A3B-Instruct Qwen/Qwen3-VL-30B-A3B-Thinking"},
    {"redpajama-incite-3b", 0, NULL, "togethercomputer/RedPajama-INCITE-Base-3B-v1 togethercomputer/RedPajama-INCITE-Chat-3B-v1 togethercomputer/RedPajama-INCITE-Instruct-3B-v1"},
    {"roberta-base", 0, NULL, "FacebookAI/roberta-base"},
    {"roberta-large", 0, NULL, "FacebookAI/roberta-large"},
    {"seed-oss-36b", 0, NULL, "ByteDance-Seed/Seed-OSS-36B-Instruct"},
    {"smollm2-135m", 0, NULL, "HuggingFaceTB/SmolLM2-135M HuggingFaceTB/SmolLM2-135M-Instruct"},
    {"smollm2-360m", 0, NULL, "HuggingFaceTB/SmolLM2-360M HuggingFaceTB/SmolLM2-360M-Instruct"},
    {"smollm2-1.7b", 0, NULL, "HuggingFaceTB/SmolLM2-1.7B HuggingFaceTB/SmolLM2-1.7B-Instruct"},
    {"smollm3-3b", 0, NULL, "HuggingFaceTB/SmolLM3-3B"},
    {"stablelm-2-1.6b", 0, NULL, "stabilityai/stablelm-2-1_6b"},
    {"stablelm-3b-4e1t", 0, NULL, "stabilityai/stablelm-3b-4e1t"},
    {"starcoder2-3b", 0, NULL, "bigcode/starcoder2-3b"},
    {"starcoder2-7b", 0, NULL, "bigcode/starcoder2-7b"},
    {"t5-small", 0, NULL, "google-t5/t5-small"},
    {"t5-base", 0, NULL, "google-t5/t5-base"},
    {"t5-large", 0, NULL, "google-t5/t5-large"},
    {"t5-3b", 0, NULL, "google-t5/t5-3b"},
    {"t5-11b", 0, NULL, "google-t5/t5-11b"},
    {"tinyllama-1.1b", 0, NULL, "TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T TinyLlama/TinyLlama_v1.1"},
    {"tinyllama-1.1b", 0, "bfloat16", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"},
    {"whisper-tiny", 0, NULL, "openai/whisper-tiny"},
    {"whisper-base", 0, NULL, "openai/whisper-base"},
    {"whisper-small", 0, NULL, "openai/whisper-small"},
    {"whisper-medium", 0, NULL, "openai/whisper-medium"},
    {"whisper-large-v2", 0, NULL, "openai/whisper-large openai/whisper-large-v2"},
    {"whisper-large-v3", 0, NULL, "openai/whisper-large-v3"},
    {"whisper-large-v3-turbo", 0, NULL, "openai/whisper-large-v3-turbo"},
    {"xgen-7b-8k", 0, NULL, "Salesforce/xgen-7b-8k-base"},
    {"xlm-roberta-base", 0, NULL, "FacebookAI/xlm-roberta-base"},
    {"xlm-roberta-large", 0, NULL, "FacebookAI/xlm-roberta-large"},
    {"yi-34b", 0, NULL, "01-ai/Yi-34B 01-ai/Yi-34B-Chat"},
};
/* clang-format on */

/* ---- ids ---- */

/* The id of so many bytes, or what follows its owner. */
static bool is_named(const char *id, size_t bytes, const char *wanted)
{
    const char *slash = memchr(id, '/', bytes);
    size_t owner = slash && !strchr(wanted, '/') ? (size_t)(slash + 1 - id) : 0;
    return strlen(wanted) == bytes - owner && strncasecmp(id + owner, wanted, bytes - owner) == 0;
}

static ms_hub_model model_of(size_t row, const char *id, size_t bytes)
{
    const char *title = (const char *)memchr(id, '/', bytes) + 1;
    return (ms_hub_model){.preset = rows[row].preset,
                          .title = title,
                          .title_bytes = bytes - (size_t)(title - id),
                          .positions = rows[row].positions,
                          .stored = rows[row].stored};
}

bool ms_hub_find(const char *wanted, ms_hub_model *model)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (const char *id = rows[i].ids; *id; id += strspn(id, " ")) {
            size_t bytes = strcspn(id, " ");
            if (is_named(id, bytes, wanted)) {
                *model = model_of(i, id, bytes);
                return true;
            }
            id += bytes;
        }
    return false;
}

/* Those who put up models of others with the same sizes, and the family that they convert to
 * another layout: unsloth's phi are llama and mistral, with projections of their own for queries,
 * keys and values. */
static const struct {
    const char *owner, *converted;
} owners[] = {{"unsloth/", "phi"}, {"NousResearch/", NULL}};

static bool is_of_owner(const char *name, size_t row)
{
    return strncasecmp(name, owners[row].owner, strlen(owners[row].owner)) == 0;
}

static bool copies_models(const char *name)
{
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        if (is_of_owner(name, i))
            return true;
    return !strchr(name, '/');
}

bool ms_hub_is_converted(const char *name)
{
    ms_model_name parts;
    bool is_read = ms_model_name_read(name, strlen(name), &parts);
    for (size_t i = 0; i < sizeof owners / sizeof owners[0] && is_read; i++)
        if (owners[i].converted && is_of_owner(name, i))
            return strcmp(parts.family, owners[i].converted) == 0;
    return false;
}

bool ms_hub_is_author(const char *name)
{
    const char *slash = strchr(name, '/');
    size_t owner = slash ? (size_t)(slash + 1 - name) : 0;
    for (size_t i = 0; owner > 0 && i < sizeof rows / sizeof rows[0]; i++)
        for (const char *id = rows[i].ids; *id; id += strspn(id, " ")) {
            if (strncasecmp(id, name, owner) == 0)
                return true;
            id += strcspn(id, " ");
        }
    return false;
}

bool ms_hub_find_by_parts(const char *name, ms_hub_model *model)
{
    ms_model_name wanted, known;
    size_t found = 0;
    if (!copies_models(name) || ms_hub_is_converted(name) ||
        !ms_model_name_read(name, strlen(name), &wanted) || wanted.packing)
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (const char *id = rows[i].ids; *id; id += strspn(id, " ")) {
            size_t bytes = strcspn(id, " ");
            if (ms_model_name_read(id, bytes, &known) &&
                ms_model_names_compare(&wanted, &known) == MS_NAMES_SAME && found != i + 1) {
                if (found > 0)
                    return false;
                *model = model_of(i, id, bytes);
                found = i + 1;
            }
            id += bytes;
        }
    return found > 0;
}

static size_t part_bytes(const char *text)
{
    size_t bytes = 0;
    while (isalnum((unsigned char)text[bytes]) || (text[bytes] && strchr("-_.", text[bytes])))
        bytes++;
    return bytes;
}

bool ms_hub_is_id(const char *text)
{
    size_t owner = part_bytes(text), name = text[owner] == '/' ? part_bytes(text + owner + 1) : 0;
    return owner > 0 && name > 0 && !text[owner + 1 + name] && text[0] != '.' &&
           text[owner + 1] != '.';
}

const char *ms_hub_id_of_address(ms_arena *arena, const char *text)
{
    static const char *const hosts[] = {"https://huggingface.co/", "http://huggingface.co/",
                                        "huggingface.co/", "https://hf.co/", "hf.co/"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t length = strlen(hosts[i]);
        if (strncmp(text, hosts[i], length) != 0)
            continue;
        const char *owner = text + length;
        size_t bytes = part_bytes(owner);
        size_t name = bytes > 0 && owner[bytes] == '/' ? part_bytes(owner + bytes + 1) : 0;
        const char *id =
            name > 0 ? ms_arena_printf(arena, "%.*s", (int)(bytes + 1 + name), owner) : NULL;
        return id && ms_hub_is_id(id) ? id : NULL;
    }
    return NULL;
}

/* ---- the cache ---- */

/* ".../models--owner--name/snapshots/COMMIT/config.json" */
const char *ms_hub_title_of_path(ms_arena *arena, const char *path)
{
    static const char begin[] = "models--", end[] = "/snapshots/";
    const char *folder = strstr(path, begin), *rest = folder ? strstr(folder, end) : NULL;
    const char *name = folder ? strstr(folder + sizeof begin - 1, "--") : NULL;
    if (!rest || !name || name >= rest || memchr(folder, '/', (size_t)(rest - folder)))
        return NULL;
    return ms_arena_printf(arena, "%.*s", (int)(rest - name - 2), name + 2);
}
