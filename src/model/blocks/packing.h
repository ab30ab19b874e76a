/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds of packed weights: what one is, and what all of them use. A kind is a row of quantized.c.
 */
#ifndef MS_MODEL_BLOCKS_PACKING_H
#define MS_MODEL_BLOCKS_PACKING_H

#include "model/blocks/blocks.h"

struct ms_quantized {
    const struct ms_packing *packing;
    ms_dim out, in;
    ms_tensor weight;     /* [out, in], on the packed storage */
    uint64_t scale_count; /* of 4 bits */
};

/* A kind: what its layers hold, and how they run. */
typedef struct ms_packing {
    /* Creates the weight and the tensors that go with it. */
    void (*make)(ms_model *model, struct ms_quantized *q, uint32_t scope);
    /* What a layer makes once the whole model is there; NULL: nothing. */
    void (*finish)(ms_model *model, const struct ms_quantized *q);
    /* forward; consumes x, yields its type */
    ms_tensor (*call)(ms_model *model, const struct ms_quantized *q, const ms_linear_module *module,
                      ms_tensor x);
    bool is_half; /* what is not packed, as the bias, is of fp16 and no parameter PEFT would cast */
    /* The type that PEFT sees, and makes adapters in before it casts them. */
    ms_dtype (*adapter_dtype)(const ms_model *model);
    /* How PEFT adds LoRA to its result; see adapted.c. */
    bool clones_result, scales_last, converts_sum;
    bool packs_experts; /* stacks of experts too: ms_packed_experts_new */
} ms_packing;

/* A tensor of that many numbers that stays with the weight. */
ms_tensor ms_packed_part(ms_model *model, const char *name, uint64_t count, ms_dtype dtype);
/* A weight as it is loaded: of that shape, in that many bytes. */
ms_tensor ms_packed_weight_new(ms_model *model, ms_shape shape, uint32_t scope, const char *name,
                               uint64_t bytes);
/* The weight's handle gets the packed storage, and keeps its shape; the original goes. */
void ms_packed_swap(ms_model *model, ms_tensor weight, ms_tensor packed);

/* What PEFT sees of integers: nothing; it then stays with its own. */
ms_dtype ms_packed_unseen(const ms_model *model);

/* The kinds: quantized_bitsandbytes.c, quantized_groups.c, quantized_fp8.c. */
extern const ms_packing ms_packing_4bit, ms_packing_8bit, ms_packing_gptq, ms_packing_awq,
    ms_packing_fp8;

#endif
