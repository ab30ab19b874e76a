/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What other libraries know of a model family, and what of it was compared with them: the facts
 * that a family states beside its row (ms_family.facts). A member that is left out means no.
 */
#ifndef MS_INPUT_CONFIG_MODEL_FAMILY_FACTS_H
#define MS_INPUT_CONFIG_MODEL_FAMILY_FACTS_H

#include "input/config/model/liger_facts.h"
#include "input/config/model/family.h"

/* The blocks of a decoder, which has an embedding, layers, a last norm and a head: bits of
 * ms_family_facts.blocks. */
enum {
    MS_BLOCK_PROJECTIONS = 1 << 0,   /* attention by q_proj, k_proj, v_proj and o_proj */
    MS_BLOCK_TWO_NORMS = 1 << 1,     /* RMS norms before attention and MLP */
    MS_BLOCK_GATED_MLP = 1 << 2,     /* gate_proj, up_proj and down_proj */
    MS_BLOCKS_OF_LLAMA = 7,          /* these three */
    MS_BLOCK_PLAIN_MLP = 1 << 3,     /* without a gate */
    MS_BLOCK_JOINED = 1 << 4,        /* of attention or MLP several matrices are one */
    MS_BLOCK_HEAD_NORMS = 1 << 5,    /* of queries and keys, before the rotary embedding */
    MS_BLOCK_TURNED_NORMS = 1 << 6,  /* the same after it */
    MS_BLOCK_WHOLE_NORMS = 1 << 7,   /* the same over all heads at once */
    MS_BLOCK_LAYER_NORMS = 1 << 8,   /* instead of RMS norms */
    MS_BLOCK_MORE_NORMS = 1 << 9,    /* behind attention and MLP */
    MS_BLOCK_OTHER_ROTARY = 1 << 10, /* of neighbours, of a share of a head, or in fp32 */
    MS_BLOCK_UNTURNED = 1 << 11,     /* layers without rotary embeddings */
    MS_BLOCK_FACTORS = 1 << 12,      /* embeddings, residuals or logits are multiplied */
    MS_BLOCK_DROPOUTS = 1 << 13 /* modules of dropout, which ZeRO-3 may find in another order */
};

/* Strategies under which a family was compared with PyTorch, DeepSpeed, accelerate or torchtitan:
 * bits of ms_family_facts.compared. */
enum {
    MS_WITH_TENSOR = 1 << 0, /* transformers' base_model_tp_plan, with embedding and head */
    MS_WITH_PIPELINE = 1 << 1,
    MS_WITH_CONTEXT = 1 << 2,
    MS_WITH_ZERO3 = 1 << 3, /* DeepSpeed prefetches at every module, also without parameters */
    MS_WITH_ZERO3_EXPERTS = 1 << 4,
    MS_WITH_ZERO3_LORA = 1 << 5,
    MS_WITH_ACCELERATE_UNITS = 1 << 6, /* fully_shard of embedding and head apart */
    MS_WITH_TITAN_UNITS = 1 << 7,      /* the same as torchtitan divides them */
    MS_WITH_BROADCAST = 1 << 8,        /* accelerate's cpu_ram_efficient_loading */
    MS_WITH_CHUNKED_LOSS = 1 << 9      /* of memscope.wrap: shifted labels behind a plain head */
};

/* ---- PEFT ---- */

enum { MS_PEFT_TARGETS = 4, MS_PEFT_REFUSED = 3 };

/* A module that PEFT cannot adapt. */
typedef struct ms_refused_module {
    const char *name, *why;
    const char *other; /* what can be adapted */
} ms_refused_module;

/* Lists end with NULL. */
typedef struct ms_peft_facts {
    /* PEFT 0.21's default targets (peft/utils/constants.py): names, or a pattern of whole names;
     * none: targets must be given. */
    const char *lora[MS_PEFT_TARGETS + 1], *lora_pattern;
    const char *ia3[MS_PEFT_TARGETS + 1];
    const char *ia3_inputs[2]; /* of ia3's, those whose input is scaled */
    /* Without defaults: the queries and values, joined by "+"; NULL: "q_proj+v_proj". */
    const char *usual_lora;
    /* What experts and routers were called in transformers 4, where PEFT adapts the stacked experts
     * in their place; NULL: it does not. */
    const char *const *exchanged;
    ms_refused_module refused[MS_PEFT_REFUSED + 1];
} ms_peft_facts;

/* Names for `exchanged`, by how the families' weights are converted. */
extern const char *const ms_experts_of_qwen2_moe[MS_PEFT_TARGETS + 1];
extern const char *const ms_experts_of_mixtral[MS_PEFT_TARGETS + 1];

/* ---- vLLM ---- */

typedef enum ms_vllm_bias {
    MS_VLLM_BIAS_NEVER,
    MS_VLLM_BIAS_ALWAYS,
    MS_VLLM_BIAS_ASKED /* as the config's attention_bias says */
} ms_vllm_bias;

/* When the norms of each head's query and key are made. */
typedef enum ms_vllm_head_norms {
    MS_VLLM_HEAD_NORMS_NONE,
    MS_VLLM_HEAD_NORMS_BEFORE_ROTARY,
    MS_VLLM_HEAD_NORMS_LAST
} ms_vllm_head_norms;

typedef enum ms_vllm_tie {
    MS_VLLM_TIE_REUSES, /* a tied head is the table of embeddings */
    MS_VLLM_TIE_DROPS   /* it is made, and dropped when it is tied */
} ms_vllm_tie;

typedef enum ms_vllm_experts {
    MS_VLLM_EXPERTS_NONE,
    MS_VLLM_EXPERTS_ALL, /* in every layer */
    MS_VLLM_EXPERTS_SOME /* in those that the config says */
} ms_vllm_experts;

/* The table of sines and cosines: in fp32 if FlashInfer's kernels read it, or until a step needs
 * it. */
typedef enum ms_vllm_table {
    MS_VLLM_TABLE_NARROW,
    MS_VLLM_TABLE_WIDE,
    MS_VLLM_TABLE_WIDE_FIRST /* the first step replaces it */
} ms_vllm_table;

/* How vLLM's class of the family differs. Read from vllm/model_executor/models of 0.20.2 and
 * 0.25.1, and compared with measured starts. */
typedef struct ms_vllm_arch {
    ms_vllm_bias qkv_bias, out_bias;
    ms_vllm_head_norms head_norms;
    uint32_t norms;    /* of a layer, as wide as the hidden state */
    uint32_t mlp_rows; /* tensors as wide as the hidden state that live beside the MLP's own */
    ms_vllm_tie tie;
    ms_vllm_table table;
    bool has_normalizer; /* a scalar that scales the embeddings */
    bool always_ties;
    ms_vllm_experts experts;
    bool is_latent;         /* attention of DeepSeek: keys and values from a latent */
    bool has_sinks;         /* a scalar of each head; then experts and their router have biases */
    bool has_linear_router; /* it is quantised as linear layers are, unless the config excepts it */
    bool has_shared_gate;   /* of the expert that every token has */
    bool has_router_bias;   /* in fp32, for the choice of experts */
    bool has_v2_experts;    /* runs with the V2 runner, unlike other mixtures */
    bool has_two_rotaries;  /* layers with a window have another base */
} ms_vllm_arch;

/* ---- the row ---- */

typedef struct ms_family_facts {
    /* Bits MS_BLOCK_, of which the decoder is made; 0: it has others, or parts of its own. Every
     * strategy that knows all of them is predicted. */
    uint32_t blocks;
    uint32_t compared; /* bits MS_WITH_: what was compared for the family itself */
    /* DeepSpeed's runtime/zero/leaf_module_config.py lists its block of experts: what is in it has
     * no hooks. */
    bool has_leaf_experts;
    bool has_head_norms; /* of each head's query and key, as wide as a head */
    /* What layers hand on is in fp32, or their rotary tables are, and fully_shard casts that for
     * each. */
    bool casts_arguments;
    /* A layer is attention and a gated MLP of seven matrices, in the order in which torchtitan's
     * own run them. */
    bool has_seven_matrices;
    bool has_fixed_biases; /* in attention, whatever the config says */
    ms_peft_facts peft;
    ms_liger_family liger;
    const char *llama_cpp;    /* its architecture in llama.cpp, as in GGUF files; NULL: not known */
    bool needs_gguf;          /* no config.json of it is converted: only GGUF files are predicted */
    const ms_vllm_arch *vllm; /* NULL: not known */
    bool stores_mxfp4;        /* its experts are published in mxfp4 */
    /* Its linear layers are no torch.nn.Linear, which is what transformers 5 packs. */
    bool has_own_linear;
    /* Repositories have model code of their own, which replaces transformers' where it is trusted.
     */
    bool has_code_of_its_own;
    bool has_conv1d; /* its linear layers are transformers' Conv1D */
    /* transformers puts an activation of another kind into it for AWQ, or has nothing to pack. */
    bool awq_differs;
} ms_family_facts;

/* The facts of a model's family; with all members zero where it states none. Never NULL. */
const ms_family_facts *ms_family_facts_of(const struct ms_family *family);
/* Whether the strategy, one bit MS_WITH_, is predicted for the model's family: it was compared, or
 * is made of blocks that were. */
bool ms_is_compared(const ms_model_config *model, uint32_t strategy);
/* Why it is not: "which has ..." or "whose modules ...". Static. */
const char *ms_why_not_compared(const ms_model_config *model, uint32_t strategy);

#endif
