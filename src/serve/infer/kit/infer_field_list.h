/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of inference, one row each (see input/config/fields/field.h). `scope` is 0 for
 * settings of every engine, else the engines that take it (MS_INFER_OF_...).
 */
#ifndef MS_SERVE_INFER_KIT_INFER_FIELD_LIST_H
#define MS_SERVE_INFER_KIT_INFER_FIELD_LIST_H

/* clang-format off */
#define MS_INFER_FIELD_LIST(X) \
    X("engine", "NAME", "the program that runs the model: llama.cpp, hf or vllm", "llama.cpp", \
      "Inference", word, AT(engine)) \
    X("device", "NAME", "a device of `memscope devices`", "h100-80gb", \
      "Inference", word, AT(device)) \
    X("budget", "SIZE", "memory of each device", "the device's", \
      "Inference", size, AT(budget), .minimum = 1, .default_is_words = true) \
    X("gpus", "N", "number of devices", "1", \
      "Inference", count, AT(gpus), .minimum = 1, .maximum = 16) \
    X("context", "N", "tokens per sequence: prompt and answer", "4096", \
      "Inference", tokens, AT(context), .minimum = 1, .maximum = 1 << 28) \
    X("concurrency", "N", "sequences served at the same time", "1", \
      "Inference", count, AT(concurrency), .minimum = 1, .maximum = 1 << 20) \
    X("prompt", "N", "tokens of the first prompt", "512", \
      "Inference", tokens, AT(prompt), .minimum = 1, .maximum = 1 << 28) \
    X("quant", "NAME", "weight type for a config.json: f16, q8_0, q4_k_m, ...", "f16; mxfp4 for gpt-oss", \
      "Inference", word, AT(quant), .default_is_words = true) \
    X("fit", "WHAT", "find the largest context, concurrency, gpu-layers or quant that fits", "none", \
      "Inference", choice, AT(fit), .choices = ms_infer_fit_names) \
    X("dtype", "TYPE", "weight type: bf16, fp16 or fp32", "the config's", \
      "Inference", word, AT(dtype), .default_is_words = true, \
      .scope = MS_INFER_OF_HF | MS_INFER_OF_VLLM) \
    X("family", "FILE", "a text that describes a family of models, for model types of your own", "none", \
      "Inference", file, AT(family), .default_is_words = true) \
    X("families", "DIR", "a folder of such texts, named MODEL_TYPE.family", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings", \
      "Inference", file, AT(families), .default_is_words = true) \
    X("gpu-layers", "N", "number of layers on the device; the output head counts as one layer", "all", \
      "Inference", count, AT(gpu_layers), .maximum = 1 << 20, .default_is_words = true, \
      .scope = MS_INFER_OF_LLAMA_CPP | MS_INFER_OF_HF) \
    X("ctx-size", "N", "cache cells for all sequences together, as -c of llama.cpp; 0: the model's context", "context x concurrency", \
      "llama.cpp", count, AT(llama.ctx_size), .minimum = 0, .maximum = 1 << 28, .default_is_words = true, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("split-mode", "NAME", "how several devices share the model: layer or none", "layer", \
      "llama.cpp", choice, AT(llama.split_mode), .choices = ms_llama_split_names, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("tensor-split", "LIST", "share of the model on each device, such as 3/1", "by free memory", \
      "llama.cpp", text, AT(llama.tensor_split), .default_is_words = true, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("override-tensor", "LIST", "where to place tensors that match a regular expression, such as exps=CPU", "none", \
      "llama.cpp", text, AT(llama.override_tensor), .default_is_words = true, .added_after = ',', \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("engine-fit", "PROGRAM", "show what llama.cpp's own --fit sets when this program starts: server or fit-params", "none", \
      "llama.cpp", choice, AT(llama.engine_fit), .choices = ms_llama_engine_fit_names, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("free-memory", "LIST", "free memory of each device before llama.cpp loads, such as 22GiB/23GiB", \
      "budget less the driver's context", \
      "llama.cpp", text, AT(llama.free_memory), .default_is_words = true, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("fit-target", "LIST", "MiB that llama.cpp's own --fit leaves free on each device, such as 1024/2048", "1024", \
      "llama.cpp", text, AT(llama.fit_target), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("fit-ctx", "N", "smallest context that llama.cpp's own --fit sets, in tokens", "4096", \
      "llama.cpp", count, AT(llama.fit_ctx), .minimum = 1, .maximum = 1 << 28, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("batch-size", "N", "maximum tokens per call", "2048", \
      "llama.cpp", count, AT(llama.batch), .minimum = 1, .maximum = 1 << 28, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("ubatch-size", "N", "maximum tokens computed together", "512", \
      "llama.cpp", count, AT(llama.ubatch), .minimum = 1, .maximum = 1 << 18, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("cache-type-k", "TYPE", "type of cached keys: f32, f16, bf16, q8_0, q4_0, ...", "f16", \
      "llama.cpp", word, AT(llama.type_k), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("cache-type-v", "TYPE", "type of cached values", "f16", "llama.cpp", word, AT(llama.type_v), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("flash-attn", "WHEN", "flash attention: auto, on or off", "auto", \
      "llama.cpp", choice, AT(llama.flash_attention), .choices = ms_llama_flash_names, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("kv-unified", "YES", "share one cache between all sequences", "no", \
      "llama.cpp", answer, AT(llama.kv_unified), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("swa-full", "YES", "cache the whole context in layers with a sliding window", "no", \
      "llama.cpp", answer, AT(llama.swa_full), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("kv-offload", "YES", "keep each layer's cache on the device of the layer", "yes", \
      "llama.cpp", answer, AT(llama.kv_offload), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("op-offload", "YES", "run large matrix products of layers on the host on the device", "yes", \
      "llama.cpp", answer, AT(llama.op_offload), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("outputs", "N", "maximum tokens per call that need logits", "batch-size", \
      "llama.cpp", count, AT(llama.outputs), .minimum = 1, .maximum = 1 << 28, .default_is_words = true, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("embeddings", "YES", "compute embeddings as well as logits", "no", \
      "llama.cpp", answer, AT(llama.embeddings), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("mmap", "YES", "map weights on the host from the file", "yes", "llama.cpp", answer, AT(llama.mmap), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("repack", "YES", "rearrange weights on the host where the CPU has kernels for it", \
      "yes", "llama.cpp", answer, AT(llama.repack), \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("host-bandwidth", "SIZE", "memory bandwidth of the host in bytes per second; limits the speed of layers there", \
      "not known", "llama.cpp", size, AT(llama.host_bytes_per_s), .default_is_words = true, \
      .scope = MS_INFER_OF_LLAMA_CPP) \
    X("batch", "N", "same as --concurrency", "1", \
      "hf", count, AT(concurrency), .minimum = 1, .maximum = 1 << 20, \
      .scope = MS_INFER_OF_HF) \
    X("generate", "N", "tokens generated after the prompt", "context minus prompt", \
      "hf", tokens, AT(hf.generate), .minimum = 1, .maximum = 1 << 28, .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("cache", "NAME", "cache of keys and values: dynamic, static, quanto or fp8 (quantised)", "dynamic", \
      "hf", choice, AT(hf.cache), .choices = ms_hf_cache_names, \
      .scope = MS_INFER_OF_HF) \
    X("cache-bits", "N", "bits per element of the quanto cache: 2 or 4", "4", \
      "hf", tokens, AT(hf.cache_bits), .minimum = 2, .maximum = 4, \
      .scope = MS_INFER_OF_HF) \
    X("cache-group", "N", "elements that share a scale in the quanto cache", "64", \
      "hf", tokens, AT(hf.cache_group), .minimum = 1, .maximum = 1 << 20, \
      .scope = MS_INFER_OF_HF) \
    X("residual-length", "N", "number of tokens that the quanto cache packs at a time", "128", \
      "hf", tokens, AT(hf.residual_length), .minimum = 1, .maximum = 1 << 28, \
      .scope = MS_INFER_OF_HF) \
    X("loop", "NAME", "loop that calls the model for each token: forward (your own) or generate", "forward", \
      "hf", choice, AT(hf.loop), .choices = ms_hf_loop_names, \
      .scope = MS_INFER_OF_HF) \
    X("quantize", "KIND", "how linear weights are quantised: nf4, fp4, nf4:double, fp4:double, int8, gptq:4:128, awq:4:128, fp8-block or mxfp4", \
      "as in the config", \
      "hf", word, AT(hf.quantize), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("compute-dtype", "TYPE", "type for computing with 4-bit weights (bnb_4bit_compute_dtype): bf16, fp16 or fp32", \
      "the config's, else dtype", \
      "hf", word, AT(hf.compute_dtype), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("attention", "NAME", "sdpa, eager, or one kernel of sdpa: flash, efficient, cudnn or math", "sdpa", \
      "hf", word, AT(hf.attention), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("experts", "NAME", "how mixtures of experts run: auto, grouped or eager", "auto", \
      "hf", word, AT(hf.experts), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("torch", "X.Y", "version of PyTorch", "2.11", \
      "hf", word, AT(hf.torch), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("allocator", "NAME", "cuda or cuda-expandable", "cuda", \
      "hf", word, AT(hf.allocator), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("addresses", "NAME", "direction in which the driver places new segments: up, or down as on an H200", "up", \
      "hf", word, AT(hf.addresses), .default_is_words = true, \
      .scope = MS_INFER_OF_HF) \
    X("vllm-version", "NAME", "vLLM version to follow: 0.20.2 or 0.25.1", "0.25.1", \
      "vllm", choice, AT(vllm.version), .choices = ms_vllm_version_names, \
      .scope = MS_INFER_OF_VLLM) \
    X("usage", "NAME", "serve (the server) or llm (the class LLM); their defaults differ", "serve", \
      "vllm", choice, AT(vllm.usage), .choices = ms_vllm_usage_names, \
      .scope = MS_INFER_OF_VLLM) \
    X("gpu-memory-utilization", "SHARE", "share of the device's memory that the engine may take", "0.92", \
      "vllm", part, AT(vllm.utilization), .minimum = 0, .maximum = 1, \
      .scope = MS_INFER_OF_VLLM) \
    X("max-num-seqs", "N", "maximum sequences per step", "by device", \
      "vllm", count, AT(vllm.seqs), .minimum = 1, .maximum = 1 << 16, .default_is_words = true, \
      .scope = MS_INFER_OF_VLLM) \
    X("max-num-batched-tokens", "N", "maximum tokens per step", "by device", \
      "vllm", count, AT(vllm.batched_tokens), .minimum = 1, .maximum = 1 << 20, .default_is_words = true, \
      .scope = MS_INFER_OF_VLLM) \
    X("tensor-parallel-size", "N", "devices that share each layer", "gpus / pipeline-parallel-size", \
      "vllm", count, AT(vllm.tensor_parallel), .minimum = 1, .maximum = 16, .default_is_words = true, \
      .scope = MS_INFER_OF_VLLM) \
    X("pipeline-parallel-size", "N", "pipeline stages", "1", \
      "vllm", count, AT(vllm.pipeline_parallel), .minimum = 1, .maximum = 16, \
      .scope = MS_INFER_OF_VLLM) \
    X("quantization", "NAME", "weight quantisation: auto (as in the config), or fp8, applied on loading", "auto", \
      "vllm", choice, AT(vllm.quantization), .choices = ms_vllm_quantization_names, \
      .scope = MS_INFER_OF_VLLM) \
    X("kv-cache-dtype", "NAME", "type of cached keys and values: auto or fp8", "auto", \
      "vllm", choice, AT(vllm.kv_dtype), .choices = ms_vllm_kv_dtype_names, \
      .scope = MS_INFER_OF_VLLM) \
    X("enforce-eager", "YES", "use neither torch.compile nor CUDA graphs", "no", \
      "vllm", answer, AT(vllm.enforce_eager), \
      .scope = MS_INFER_OF_VLLM) \
    X("non-torch-memory", "SIZE", "memory in use outside PyTorch, as in vLLM's log", \
      "a range", "vllm", size, AT(vllm.non_torch), .default_is_words = true, \
      .scope = MS_INFER_OF_VLLM) \
    X("model-runner", "NAME", "auto, v1 or v2", "auto", \
      "vllm", choice, AT(vllm.runner), .choices = ms_vllm_runner_names, \
      .scope = MS_INFER_OF_VLLM) \
    X("flashinfer-sampler", "YES", "sample with FlashInfer where it can", "yes", \
      "vllm", answer, AT(vllm.flashinfer_sampler), \
      .scope = MS_INFER_OF_VLLM)
/* clang-format on */

#endif
