/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds of packed weights: the interface of a kind, and shared functions. A kind is a row of
 * quantized.c.
 */
#ifndef MS_MODEL_BLOCKS_PACKED_PACKING_H
#define MS_MODEL_BLOCKS_PACKED_PACKING_H

#include "model/blocks/blocks.h"

struct ms_quantized {
    const struct ms_packing *packing;
    ms_dim out, in;
    ms_tensor weight;                     /* [out, in], on the packed storage */
    uint64_t scale_count;                 /* 4 bits: number of scales */
    ms_tensor scales, zeros, group_index; /* Marlin's: what is beside the weight */
};

/* A kind: how its layers are created and run. */
typedef struct ms_packing {
    /* Creates the weight and its companion tensors (scales, ...). */
    void (*make)(ms_model *model, struct ms_quantized *q, uint32_t scope);
    /* Called once the whole model is on the device; NULL: nothing. */
    void (*finish)(ms_model *model, const ms_leaf_module *leaf);
    /* forward; consumes x, returns its dtype */
    ms_tensor (*call)(ms_model *model, const struct ms_quantized *q, const ms_linear_module *module,
                      ms_tensor x);
    bool is_half; /* unpacked tensors, as the bias, are fp16 buffers, which PEFT does not cast */
    /* The weight's dtype as PEFT sees it, in which adapters are created before they are cast. */
    ms_dtype (*adapter_dtype)(const ms_model *model);
    /* How PEFT adds LoRA to the result; see adapted.c. */
    bool clones_result, scales_last, converts_sum;
    bool empties_cache; /* of the allocator, once all layers are finished */
    bool packs_experts; /* also packs stacked experts: ms_packed_experts_new */
} ms_packing;

/* Creates a companion tensor of `count` numbers. */
ms_tensor ms_packed_part(ms_model *model, const char *name, uint64_t count, ms_dtype dtype);
/* Creates a weight as loaded: of that shape, with that many bytes. */
ms_tensor ms_packed_weight_new(ms_model *model, ms_shape shape, uint32_t scope, const char *name,
                               uint64_t bytes);
/* Replaces the weight's storage by the packed one; its shape stays, the original is freed. */
void ms_packed_swap(ms_model *model, ms_tensor weight, ms_tensor packed);

/* The dtype if PEFT ignores integer weights: its own default. */
ms_dtype ms_packed_unseen(const ms_model *model);

/* The kinds: quantized_bitsandbytes.c, quantized_groups.c, quantized_fp8.c,
 * quantized_marlin.c. */
extern const ms_packing ms_packing_4bit, ms_packing_8bit, ms_packing_gptq, ms_packing_awq,
    ms_packing_fp8, ms_packing_gptq_marlin, ms_packing_awq_marlin;

#endif
