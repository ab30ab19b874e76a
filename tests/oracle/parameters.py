#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write parameters.json: published parameter counts of real checkpoints, with their shapes.

Marks: published = the count is stated by a source independent of memscope (safetensors totals on the
Hugging Face Hub, model cards, published recounts); counted = recounted by hand from the class's rules.
"""
import json
import os

LLAMA = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim".split()
MOE = LLAMA + "num_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size".split()
DEEPSEEK = LLAMA[:-2] + "n_routed_experts moe_intermediate_size n_shared_experts num_experts_per_tok first_k_dense_replace q_lora_rank".split()
HYBRID = LLAMA + "linear_num_key_heads linear_num_value_heads".split()
SHAPES = {"lfm2": LLAMA[:-1], "qwen2_vl": LLAMA[:-1], "qwen2_5_vl": LLAMA[:-1], "qwen3_next": HYBRID + "num_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size".split(),
          "minimax_m2": LLAMA + "num_local_experts num_experts_per_tok".split(),
          "dots1": LLAMA[:-1] + "n_routed_experts num_experts_per_tok moe_intermediate_size n_shared_experts first_k_dense_replace".split(),
          "ernie4_5_moe": LLAMA + "moe_num_experts moe_k moe_intermediate_size moe_num_shared_experts".split(),
          "mamba": "vocab_size hidden_size num_hidden_layers state_size time_step_rank".split(),
          "mamba2": "vocab_size hidden_size num_hidden_layers num_heads head_dim state_size n_groups".split(),
          "nemotron_h": "vocab_size hidden_size intermediate_size num_attention_heads num_key_value_heads mamba_num_heads mamba_head_dim".split(),
          "olmoe": LLAMA[:-1] + "num_experts num_experts_per_tok".split(),
          "glm4_moe": LLAMA + "n_routed_experts num_experts_per_tok moe_intermediate_size first_k_dense_replace".split(),
          "gpt2": "n_embd n_layer n_head".split(), "qwen2_moe": MOE, "qwen3_moe": MOE,
          "mixtral": LLAMA[:-1] + "num_local_experts num_experts_per_tok".split(),
          "gpt_oss": LLAMA + "num_local_experts num_experts_per_tok".split(), "deepseek_v2": DEEPSEEK, "deepseek_v3": DEEPSEEK,
          "deepseek_v32": DEEPSEEK + "index_n_heads index_head_dim".split(),
          "gpt_neox": "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads".split(),
          "opt": "hidden_size ffn_dim num_hidden_layers num_attention_heads word_embed_proj_dim".split(),
          **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "modernbert"), "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads".split()),
          "whisper": ("vocab_size num_mel_bins d_model encoder_layers decoder_layers encoder_attention_heads decoder_attention_heads "
                      "encoder_ffn_dim decoder_ffn_dim").split(),
          "t5": "d_model d_ff num_layers num_heads d_kv".split(),
          "falcon": "vocab_size hidden_size num_hidden_layers num_attention_heads num_kv_heads".split()}
TIED, UNTIED = True, False
# The MLP of T5 1.1.
GATED = {"feed_forward_proj": "gated-gelu"}
# The tower of the larger Gemma 3 models.
SIGLIP = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
          "image_size": 896, "patch_size": 14, "vision_use_head": False}
# LLaVA's.
CLIP = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336, "patch_size": 14}

# name, model_type, tied, shapes (a missing head_dim = hidden_size / heads), parameters or those and the active ones, mark, other keys
ROWS = [
    ("llama-2-7b", "llama", UNTIED, "32000/4096/11008/32/32/32", 6738415616, "published"),
    ("llama-2-13b", "llama", UNTIED, "32000/5120/13824/40/40/40", 13015864320, "published"),
    ("llama-2-70b", "llama", UNTIED, "32000/8192/28672/80/64/8", 68976648192, "counted"),
    ("llama-3.1-8b", "llama", UNTIED, "128256/4096/14336/32/32/8", 8030261248, "published"),
    ("llama-3.3-70b", "llama", UNTIED, "128256/8192/28672/80/64/8", 70553706496, "published"),
    ("llama-3.1-405b", "llama", UNTIED, "128256/16384/53248/126/128/8", 405853388800, "counted"),
    ("llama-3.2-1b", "llama", TIED, "128256/2048/8192/16/32/8/64", 1235814400, "published"),
    ("llama-3.2-3b", "llama", TIED, "128256/3072/8192/28/24/8/128", 3212749824, "published"),
    ("codellama-7b", "llama", UNTIED, "32016/4096/11008/32/32/32", 6738546688, "published"),
    ("codellama-13b", "llama", UNTIED, "32016/5120/13824/40/40/40", 13016028160, "published"),
    ("codellama-34b", "llama", UNTIED, "32000/8192/22016/48/64/8", 33743970304, "published"),
    ("open-llama-3b", "llama", UNTIED, "32000/3200/8640/26/32/32", 3426473600, "published"),
    ("yi-34b", "llama", UNTIED, "64000/7168/20480/60/56/8", 34388917248, "published"),
    ("xgen-7b-8k", "llama", UNTIED, "51200/4096/11008/32/32/32", 6895702016, "counted"),
    ("tinyllama-1.1b", "llama", UNTIED, "32000/2048/5632/22/32/4", 1100048384, "counted"),
    ("smollm2-135m", "llama", TIED, "49152/576/1536/30/9/3", 134515008, "published"),
    ("mistral-7b-v0.1", "mistral", UNTIED, "32000/4096/14336/32/32/8", 7241732096, "published"),
    ("mistral-7b-v0.3", "mistral", UNTIED, "32768/4096/14336/32/32/8", 7248023552, "published"),
    ("ministral-8b", "mistral", UNTIED, "131072/4096/12288/36/32/8/128", 8019808256, "published"),
    ("mistral-small-24b", "mistral", UNTIED, "131072/5120/32768/40/32/8/128", 23572403200, "published"),
    ("mistral-nemo-12b", "mistral", UNTIED, "131072/5120/14336/40/32/8/128", 12247782400, "published"),
    ("qwen2.5-0.5b", "qwen2", TIED, "151936/896/4864/24/14/2", 494032768, "published"),
    ("qwen2.5-1.5b", "qwen2", TIED, "151936/1536/8960/28/12/2", 1543714304, "published"),
    ("deepseek-r1-distill-qwen-1.5b", "qwen2", UNTIED, "151936/1536/8960/28/12/2", 1777088000, "published"),
    ("cogito-v1-14b", "qwen2", UNTIED, "151665/5120/13824/48/40/8", 14765947904, "counted"),
    ("qwen2.5-3b", "qwen2", TIED, "151936/2048/11008/36/16/2", 3085938688, "published"),
    ("qwen2.5-7b", "qwen2", UNTIED, "152064/3584/18944/28/28/4", 7615616512, "published"),
    ("qwen2.5-14b", "qwen2", UNTIED, "152064/5120/13824/48/40/8", 14770033664, "counted"),
    ("qwen2.5-32b", "qwen2", UNTIED, "152064/5120/27648/64/40/8", 32763876352, "counted"),
    ("qwen2.5-72b", "qwen2", UNTIED, "152064/8192/29568/80/64/8", 72706203648, "published"),
    ("qwen3-0.6b", "qwen3", TIED, "151936/1024/3072/28/16/8/128", 596049920, "published"),
    ("qwen3-1.7b", "qwen3", TIED, "151936/2048/6144/28/16/8/128", 1720574976, "published"),
    ("qwen3-4b", "qwen3", TIED, "151936/2560/9728/36/32/8/128", 4022468096, "published"),
    ("qwen3-8b", "qwen3", UNTIED, "151936/4096/12288/36/32/8/128", 8190735360, "published"),
    ("qwen3-32b", "qwen3", UNTIED, "151936/5120/25600/64/64/8/128", 32762123264, "published"),
    ("gemma-2b", "gemma", TIED, "256000/2048/16384/18/8/1/256", 2506172416, "counted"),
    ("gemma-7b", "gemma", TIED, "256000/3072/24576/28/16/16/256", 8537680896, "counted"),
    ("gemma-2-2b", "gemma2", TIED, "256000/2304/9216/26/8/4/256", 2614341888, "published"),
    ("gemma-2-9b", "gemma2", TIED, "256000/3584/14336/42/16/8/256", 9241705984, "published"),
    ("gemma-2-27b", "gemma2", TIED, "256000/4608/36864/46/32/16/128", 27227128320, "published"),
    ("gemma-3-270m", "gemma3_text", TIED, "262144/640/2048/18/4/1/256", 268098176, "published"),
    ("gemma-3-1b", "gemma3_text", TIED, "262144/1152/6912/26/4/1/256", 999885952, "published"),
    ("gemma-3-4b-text", "gemma3_text", TIED, "262208/2560/10240/34/8/4/256", 3880263168, "published"),
    ("gemma-3-12b-text", "gemma3_text", TIED, "262208/3840/15360/48/16/8/256", 11766034176, "published"),
    ("gemma-3-27b-text", "gemma3_text", TIED, "262208/5376/21504/62/32/16/128", 27009346304, "published"),
    ("gemma-3-4b", "gemma3", TIED, "262208/2560/10240/34/8/4/256", 4300079472, "published"),
    ("gemma-3-12b", "gemma3", TIED, "262208/3840/15360/48/16/8/256", 12187325040, "published"),
    ("gemma-3-27b", "gemma3", TIED, "262208/5376/21504/62/32/16/128", 27432406640, "published"),
    # Without the keys and values of layers that share them, which are in the checkpoints but not in the class.
    ("gemma-3n-e2b", "gemma3n_text", TIED, "262400/2048/8192/30/8/2/256", 4435182688, "counted", {"num_kv_shared_layers": 10}),
    ("gemma-3n-e4b", "gemma3n_text", TIED, "262400/2048/16384/35/8/2/256", 6835235568, "counted"),
    ("mixtral-8x7b", "mixtral", UNTIED, "32000/4096/14336/32/32/8/8/2", (46702792704, 12879925248), "published"),
    ("mixtral-8x22b-v0.1", "mixtral", UNTIED, "32000/6144/16384/56/48/8/8/2", (140620634112, None), "counted"),
    ("qwen1.5-moe-a2.7b", "qwen2_moe", UNTIED, "151936/2048/5632/24/16/16/128/60/4/1408/5632", (14315784192, 2689173504), "published"),
    ("qwen3-30b-a3b", "qwen3_moe", UNTIED, "151936/2048/6144/48/32/4/128/128/8/768", (30532122624, 3353032704), "published"),
    ("qwen3-235b-a22b", "qwen3_moe", UNTIED, "151936/4096/12288/94/64/4/128/128/8/1536", (235093634560, None), "published"),
    ("gpt-oss-20b", "gpt_oss", UNTIED, "201088/2880/2880/24/64/8/64/32/4", (20914757184, 4187440704), "published"),
    ("gpt-oss-120b", "gpt_oss", UNTIED, "201088/2880/2880/36/64/8/64/128/4", (116829156672, 5711982912), "published"),
    ("deepseek-v2-lite", "deepseek_v2", UNTIED, "102400/2048/10944/27/16/64/1408/2/6/1/null", (15706484224, 2661150208), "published"),
    ("deepseek-v2", "deepseek_v2", UNTIED, "102400/5120/12288/60/128/160/1536/2/6/1/1536", (235741434880, None), "counted"),
    ("deepseek-v3.2", "deepseek_v32", UNTIED, "129280/7168/18432/61/128/256/2048/1/8/3/1536/64/128", (671877929216, 38403807488), "published"),
    ("deepseek-v3", "deepseek_v3", UNTIED, "129280/7168/18432/61/128/256/2048/1/8/3/1536", (671026404352, 37552282624), "published"),
    ("gpt2", "gpt2", TIED, "768/12/12", 124439808, "published"),
    ("gpt2-medium", "gpt2", TIED, "1024/24/16", 354823168, "counted"),
    ("gpt2-large", "gpt2", TIED, "1280/36/20", 774030080, "counted"),
    ("gpt2-xl", "gpt2", TIED, "1600/48/25", 1557611200, "counted"),
    ("cerebras-gpt-1.3b", "gpt2", TIED, "2048/24/16", 1315723264, "counted", {"n_positions": 2048, "n_inner": 8192}),
    ("phi-3-mini", "phi3", UNTIED, "32064/3072/8192/32/32/32", 3821079552, "published"),
    ("phi-4", "phi3", UNTIED, "100352/5120/17920/40/40/10", 14659507200, "published"),
    ("phi-4-mini", "phi3", TIED, "200064/3072/8192/32/24/8", 3836021760, "published"),
    ("gpt-neox-20b", "gpt_neox", UNTIED, "50432/6144/24576/44/64", 20554567680, "published"),
    ("redpajama-incite-3b", "gpt_neox", UNTIED, "50432/2560/10240/32/32", 2775864320, "counted"),
    ("pythia-70m", "gpt_neox", UNTIED, "50304/512/2048/6/8", 70426624, "counted"),
    ("pythia-160m", "gpt_neox", UNTIED, "50304/768/3072/12/12", 162322944, "counted"),
    ("pythia-410m", "gpt_neox", UNTIED, "50304/1024/4096/24/16", 405334016, "counted"),
    ("pythia-1b", "gpt_neox", UNTIED, "50304/2048/8192/16/8", 1011781632, "counted"),
    ("pythia-1.4b", "gpt_neox", UNTIED, "50304/2048/8192/24/16", 1414647808, "counted"),
    ("pythia-2.8b", "gpt_neox", UNTIED, "50304/2560/10240/32/32", 2775208960, "counted"),
    ("pythia-6.9b", "gpt_neox", UNTIED, "50432/4096/16384/32/32", 6857302016, "counted"),
    ("pythia-12b", "gpt_neox", UNTIED, "50688/5120/20480/36/40", 11846072320, "counted"),
    ("smollm3-3b", "smollm3", TIED, "128256/2048/11008/36/16/4", 3075098624, "counted"),
    ("granite-3.3-8b", "granite", TIED, "49159/4096/12800/40/32/8", 8170864640, "counted"),
    ("granite-4.0-micro", "granitemoehybrid", TIED, "100352/2560/8192/40/40/8", 3402836480, "counted",
     {"shared_intermediate_size": 8192, "num_local_experts": 0, "position_embedding_type": "rope", "layer_types": ["attention"] * 40}),
    ("olmo-2-7b", "olmo2", UNTIED, "100352/4096/11008/32/32/32", 7298617344, "counted"),
    ("olmo-2-13b", "olmo2", UNTIED, "100352/5120/13824/40/40/40", 13716198400, "counted"),
    ("olmo-3-7b", "olmo3", UNTIED, "100278/4096/11008/32/32/32", 7298011136, "counted"),
    ("olmo-3-32b", "olmo3", UNTIED, "100278/5120/27648/64/40/8", 32233522176, "counted"),
    ("olmoe-1b-7b", "olmoe", UNTIED, "50304/2048/1024/16/16/16/64/8", (6919161856, 1282017280), "published"),
    ("exaone-4.0-1.2b", "exaone4", TIED, "102400/2048/4096/30/32/8/64", 1279391488, "published", {"sliding_window": None, "layer_types": ["full_attention"] * 30}),
    ("exaone-4.0-32b", "exaone4", UNTIED, "102400/5120/27392/64/40/8/128", 32003216384, "counted"),
    ("ernie-4.5-0.3b", "ernie4_5", TIED, "103424/1024/3072/18/16/2/128", 360748032, "published"),
    ("glm-4.5-air", "glm4_moe", UNTIED, "151552/4096/10944/46/96/8/128/128/8/1408/1", (106852245504, 13424123904), "counted", {"attention_bias": True}),
    ("glm-4.5", "glm4_moe", UNTIED, "151552/5120/12288/92/96/8/128/160/8/1536/3", (352797814784, 33632251904), "counted",
     {"attention_bias": True, "use_qk_norm": True}),
    ("qwen3-next-80b-a3b", "qwen3_next", UNTIED, "151936/2048/5120/48/16/2/256/16/32/512/10/512/512", (79674391296, 3874929408), "counted"),
    ("minimax-m2", "minimax_m2", UNTIED, "200064/3072/1536/62/48/8/128/256/8", (228689748992, 11030537216), "counted"),
    ("ernie-4.5-21b-a3b", "ernie4_5_moe", TIED, "103424/2560/12288/28/20/4/128/64/6/1536/2", (21825437888, 3352150208), "counted"),
    ("dots-llm1", "dots1", UNTIED, "152064/4096/10944/62/32/32/128/6/1408/2/1", (142774373888, 14016581120), "counted", {"sliding_window": None}),
    ("afm-4.5b", "arcee", UNTIED, "128004/2560/18432/36/20/4/128", 4619184640, "counted"),
    ("hunyuan-0.5b", "hunyuan_v1_dense", TIED, "120818/1024/3584/24/16/8/128", 539010048, "published"),
    ("lfm2-350m", "lfm2", TIED, "65536/1024/6656/16/16/8", 354483968, "published", {"full_attn_idxs": [2, 5, 8, 10, 12, 14]}),
    ("lfm2-700m", "lfm2", TIED, "65536/1536/10240/16/24/8", 742489344, "published", {"full_attn_idxs": [2, 5, 8, 10, 12, 14]}),
    ("lfm2-1.2b", "lfm2", TIED, "65536/2048/12288/16/32/8", 1170340608, "published", {"full_attn_idxs": [2, 5, 8, 10, 12, 14]}),
    ("llava-1.5-7b", "llava", UNTIED, "32064/4096/11008/32/32/32", 7063427072, "published"),
    ("llava-1.5-13b", "llava", UNTIED, "32064/5120/13824/40/40/40", 13351494656, "counted"),
    ("qwen2-vl-2b", "qwen2_vl", TIED, "151936/1536/8960/28/12/2", 2208985600, "published", {"vision_config": {"hidden_size": 1536}}),
    ("qwen2-vl-7b", "qwen2_vl", UNTIED, "152064/3584/18944/28/28/4", 8291375616, "published", {"vision_config": {"hidden_size": 3584}}),
    ("qwen2-vl-72b", "qwen2_vl", UNTIED, "152064/8192/29568/80/64/8", 73405560320, "published", {"vision_config": {"hidden_size": 8192}}),
    ("qwen2.5-vl-3b", "qwen2_5_vl", TIED, "151936/2048/11008/36/16/2", 3754622976, "published",
     {"vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 2048}}),
    ("qwen2.5-vl-7b", "qwen2_5_vl", UNTIED, "152064/3584/18944/28/28/4", 8292166656, "published",
     {"vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 3584}}),
    ("qwen3-vl-4b", "qwen3_vl", TIED, "151936/2560/9728/36/32/8/128", 4437815808, "published",
     {"vision_config": {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "out_hidden_size": 2560, "deepstack_visual_indexes": [5, 11, 17]}}),
    ("qwen3-vl-8b", "qwen3_vl", UNTIED, "151936/4096/12288/36/32/8/128", 8767123696, "published", {"vision_config": {"out_hidden_size": 4096}}),
    ("phi-1.5", "phi", UNTIED, "51200/2048/8192/24/32/32", 1418270720, "counted"),
    ("phi-2", "phi", UNTIED, "51200/2560/10240/32/32/32", 2779683840, "counted"),
    ("starcoder2-3b", "starcoder2", TIED, "49152/3072/12288/30/24/2", 3030371328, "counted"),
    ("starcoder2-7b", "starcoder2", TIED, "49152/4608/18432/32/36/4", 7173923840, "counted"),
    ("stablelm-3b-4e1t", "stablelm", UNTIED, "50304/2560/6912/32/32/32", 2795443200, "counted"),
    ("stablelm-2-1.6b", "stablelm", UNTIED, "100352/2048/5632/24/32/32", 1644515328, "counted", {"use_qkv_bias": True}),
    ("glm-4-9b-chat", "glm", UNTIED, "151552/4096/13696/40/32/2/128", 9399951360, "counted"),
    ("seed-oss-36b", "seed_oss", UNTIED, "155136/5120/27648/64/80/8/128", 36151104512, "counted"),
    ("command-r-v01", "cohere", TIED, "256000/8192/22528/40/64/64", 34980831232, "counted"),
    ("command-r7b", "cohere2", TIED, "256000/4096/14336/32/32/8", 8028033024, "counted"),
    ("glm-4-9b-0414", "glm4", UNTIED, "151552/4096/13696/40/32/2/128", 9400279040, "published"),
    ("glm-4-32b-0414", "glm4", UNTIED, "151552/6144/23040/61/48/2/128", 32566081536, "counted", {"attention_bias": False}),
    ("bert-base-uncased", "bert", TIED, "30522/768/3072/12/12", 109514298, "counted"),
    ("bert-large-uncased", "bert", TIED, "30522/1024/4096/24/16", 335174458, "counted"),
    ("roberta-base", "roberta", TIED, "50265/768/3072/12/12", 124697433, "counted", {"max_position_embeddings": 514, "type_vocab_size": 1}),
    ("roberta-large", "roberta", TIED, "50265/1024/4096/24/16", 355412057, "counted", {"max_position_embeddings": 514, "type_vocab_size": 1}),
    ("xlm-roberta-base", "xlm-roberta", TIED, "250002/768/3072/12/12", 278295186, "counted", {"max_position_embeddings": 514, "type_vocab_size": 1}),
    ("xlm-roberta-large", "xlm-roberta", TIED, "250002/1024/4096/24/16", 560142482, "counted", {"max_position_embeddings": 514, "type_vocab_size": 1}),
    ("camembert-base", "camembert", TIED, "32005/768/3072/12/12", 110655493, "counted", {"max_position_embeddings": 514, "type_vocab_size": 1}),
    ("modernbert-base", "modernbert", TIED, "50368/768/1152/22/12", 149655232, "counted"),
    ("modernbert-large", "modernbert", TIED, "50368/1024/2624/28/16", 395881664, "counted"),
    ("opt-125m", "opt", TIED, "768/3072/12/12/768", 125239296, "counted"),
    ("opt-350m", "opt", TIED, "1024/4096/24/16/512", 331196416, "counted", {"do_layer_norm_before": False}),
    ("opt-1.3b", "opt", TIED, "2048/8192/24/32/2048", 1315758080, "counted"),
    ("opt-2.7b", "opt", TIED, "2560/10240/32/32/2560", 2651596800, "counted"),
    ("opt-6.7b", "opt", TIED, "4096/16384/32/32/4096", 6658473984, "counted"),
    ("opt-13b", "opt", TIED, "5120/20480/40/40/5120", 12853473280, "counted"),
    ("opt-30b", "opt", TIED, "7168/28672/48/56/7168", 29974540288, "counted"),
    ("opt-66b", "opt", TIED, "9216/36864/64/72/9216", 65719701504, "counted"),
    ("falcon-7b", "falcon", TIED, "65024/4544/32/71/71", 6921720704, "published"),
    ("falcon-40b", "falcon", TIED, "65024/8192/60/128/8", 41303293952, "counted", {"new_decoder_architecture": True}),
    ("falcon-40b-untied", "falcon", UNTIED, "65024/8192/60/128/8", 41835970560, "counted", {"new_decoder_architecture": True}),
    ("falcon-180b", "falcon", TIED, "65024/14848/80/232/8", 178557088768, "counted", {"new_decoder_architecture": True}),
    ("mamba-130m", "mamba", TIED, "50280/768/24/16/48", 129135360, "published"),
    ("mamba-370m", "mamba", TIED, "50280/1024/48/16/64", 371516416, "published"),
    ("mamba-790m", "mamba", TIED, "50280/1536/48/16/96", 793204224, "published"),
    ("mamba-1.4b", "mamba", TIED, "50280/2048/48/16/128", 1372178432, "published"),
    ("mamba-2.8b", "mamba", TIED, "50280/2560/64/16/160", 2768345600, "published"),
    ("mamba-codestral-7b", "mamba2", UNTIED, "32768/4096/64/128/64/128/8", 7285403648, "published"),
    ("nemotron-h-8b", "nemotron_h", UNTIED, "131072/4096/21504/32/8/128/64", 8100852736, "counted", {"hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"}),
    ("nemotron-nano-9b-v2", "nemotron_h", UNTIED, "131072/4480/15680/40/8/128/80", 8888227328, "published", {"hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"}),
    ("nemotron-3-nano-30b-a3b", "nemotron_h", UNTIED, "131072/2688/1856/32/2/64/64", (31577937344, 3580073408), "published",
     {"hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
      "moe_shared_expert_intermediate_size": 3712}),
    ("falcon-180b-untied", "falcon", UNTIED, "65024/14848/80/232/8", 179522565120, "counted", {"new_decoder_architecture": True}),
    ("t5-small", "t5", TIED, "512/2048/6/8/64", 60506624, "published"),
    ("t5-base", "t5", TIED, "768/3072/12/12/64", 222903552, "published"),
    ("t5-large", "t5", TIED, "1024/4096/24/16/64", 737668096, "published"),
    ("t5-3b", "t5", TIED, "1024/16384/24/32/128", 2851598336, "published"),
    ("t5-11b", "t5", TIED, "1024/65536/24/128/128", 11307321344, "published"),
    ("flan-t5-small", "t5", UNTIED, "512/1024/8/6/64", 76961152, "published", GATED),
    ("flan-t5-base", "t5", UNTIED, "768/2048/12/12/64", 247577856, "published", GATED),
    ("flan-t5-large", "t5", UNTIED, "1024/2816/24/16/64", 783150080, "published", GATED),
    ("flan-t5-xl", "t5", UNTIED, "2048/5120/24/32/64", 2849757184, "published", GATED),
    ("flan-t5-xxl", "t5", UNTIED, "4096/10240/24/64/64", 11135332352, "published", GATED),
    ("whisper-tiny", "whisper", TIED, "51865/80/384/4/4/6/6/1536/1536", 37760640, "published"),
    ("whisper-base", "whisper", TIED, "51865/80/512/6/6/8/8/2048/2048", 72593920, "published"),
    ("whisper-small", "whisper", TIED, "51865/80/768/12/12/12/12/3072/3072", 241734912, "published"),
    ("whisper-medium", "whisper", TIED, "51865/80/1024/24/24/16/16/4096/4096", 763857920, "published"),
    ("whisper-large-v2", "whisper", TIED, "51865/80/1280/32/32/20/20/5120/5120", 1543304960, "published"),
    ("whisper-large-v3", "whisper", TIED, "51866/128/1280/32/32/20/20/5120/5120", 1543490560, "published"),
    ("whisper-large-v3-turbo", "whisper", TIED, "51866/128/1280/32/4/20/20/5120/5120", 808878080, "published"),
]

# Presets as they are, with their towers: name, parameters or those and the active ones, mark.
PRESETS = [
    ("qwen3.5-4b", 4539265536, "counted"),
    ("qwen3.5-9b", 9409813744, "counted"),
    ("qwen3.5-27b", 27356728560, "counted"),
    ("qwen3.5-35b-a3b", (35107181936, 3901560176), "counted"),
    ("qwen3.5-122b-a10b", (122562817776, 10222579440), "counted"),
    ("qwen3.5-397b-a17b", (396802360816, 17805051376), "counted"),
    ("gemma-4-31b", 31273086512, "counted"),
    ("gemma-4-26b-a4b", (25805933872, 4395322672), "counted"),
]


def counted(parameters):
    total, active = parameters if isinstance(parameters, tuple) else (parameters, parameters)
    return {"parameters": total, **({"active_parameters": active} if active else {})}


def of_preset(name, parameters, mark):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../configs", name + ".json")) as f:
        return {"id": name, "config": json.load(f), "mark": mark, "measured": counted(parameters)}


def case(name, model_type, tied, shapes, parameters, mark, more={}):
    keys = SHAPES.get(model_type, LLAMA)
    config = {"model_type": model_type, "tie_word_embeddings": tied}
    sizes = dict(zip(keys, map(json.loads, shapes.split("/"))))
    if model_type == "qwen3_vl":
        config.update(text_config=sizes)
    elif model_type == "llava":
        config.update(text_config=sizes, vision_config=CLIP)
    elif model_type == "gemma3":
        config.update(text_config=sizes, vision_config=SIGLIP)
    else:
        config.update(sizes)
    config.update(more)
    return {"id": name, "config": config, "mark": mark, "measured": counted(parameters)}


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parameters.json")
    with open(path, "w") as f:
        f.write('{\n "require": {"static": "exact=1"},\n "cases": [\n')
        f.write(",\n".join("  " + json.dumps(row) for row in [case(*r) for r in ROWS] + [of_preset(*r) for r in PRESETS]))
        f.write("\n ]\n}\n")


if __name__ == "__main__":
    main()
