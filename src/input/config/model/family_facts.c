/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/family_facts.h"

#include "input/config/model/model_config.h"

const char *const ms_experts_of_qwen2_moe[] = {"gate", "gate_proj", "up_proj", "down_proj", NULL};
const char *const ms_experts_of_mixtral[] = {"gate", "w1", "w2", "w3", NULL};

const ms_family_facts *ms_family_facts_of(const ms_family *family)
{
    static const ms_family_facts none = {0};
    return family && family->facts ? family->facts : &none;
}

/* The blocks that were compared under a strategy, in families that have them. */
static const struct known_blocks {
    uint32_t strategy, blocks;
} known_blocks[] = {
    {MS_WITH_TENSOR, MS_BLOCKS_OF_LLAMA | MS_BLOCK_PLAIN_MLP | MS_BLOCK_HEAD_NORMS |
                         MS_BLOCK_OTHER_ROTARY | MS_BLOCK_UNTURNED | MS_BLOCK_FACTORS},
    {MS_WITH_PIPELINE, MS_BLOCKS_OF_LLAMA | MS_BLOCK_PLAIN_MLP | MS_BLOCK_JOINED |
                           MS_BLOCK_HEAD_NORMS | MS_BLOCK_TURNED_NORMS | MS_BLOCK_WHOLE_NORMS |
                           MS_BLOCK_LAYER_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_OTHER_ROTARY |
                           MS_BLOCK_UNTURNED | MS_BLOCK_DROPOUTS},
    {MS_WITH_CONTEXT, MS_BLOCKS_OF_LLAMA | MS_BLOCK_PLAIN_MLP | MS_BLOCK_JOINED |
                          MS_BLOCK_HEAD_NORMS | MS_BLOCK_TURNED_NORMS | MS_BLOCK_WHOLE_NORMS |
                          MS_BLOCK_LAYER_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_OTHER_ROTARY |
                          MS_BLOCK_UNTURNED | MS_BLOCK_FACTORS | MS_BLOCK_DROPOUTS},
    {MS_WITH_ZERO3, MS_BLOCKS_OF_LLAMA | MS_BLOCK_PLAIN_MLP | MS_BLOCK_JOINED |
                        MS_BLOCK_HEAD_NORMS | MS_BLOCK_TURNED_NORMS | MS_BLOCK_WHOLE_NORMS |
                        MS_BLOCK_LAYER_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_OTHER_ROTARY |
                        MS_BLOCK_UNTURNED | MS_BLOCK_FACTORS},
    {MS_WITH_ACCELERATE_UNITS,
     MS_BLOCKS_OF_LLAMA | MS_BLOCK_PLAIN_MLP | MS_BLOCK_JOINED | MS_BLOCK_HEAD_NORMS |
         MS_BLOCK_TURNED_NORMS | MS_BLOCK_LAYER_NORMS | MS_BLOCK_MORE_NORMS |
         MS_BLOCK_OTHER_ROTARY | MS_BLOCK_UNTURNED | MS_BLOCK_FACTORS | MS_BLOCK_DROPOUTS},
    {MS_WITH_TITAN_UNITS, MS_BLOCKS_OF_LLAMA | MS_BLOCK_PLAIN_MLP | MS_BLOCK_JOINED |
                              MS_BLOCK_HEAD_NORMS | MS_BLOCK_TURNED_NORMS | MS_BLOCK_WHOLE_NORMS |
                              MS_BLOCK_LAYER_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_OTHER_ROTARY |
                              MS_BLOCK_UNTURNED | MS_BLOCK_FACTORS | MS_BLOCK_DROPOUTS},
};

static const struct block_name {
    uint32_t block;
    const char *why;
} block_names[] = {
    {MS_BLOCK_PROJECTIONS, "which has projections that were not compared with PyTorch's"},
    {MS_BLOCK_TWO_NORMS, "which has norms that were not compared with PyTorch's"},
    {MS_BLOCK_GATED_MLP, "whose MLPs have a gate"},
    {MS_BLOCK_PLAIN_MLP, "whose MLPs have no gate"},
    {MS_BLOCK_JOINED, "where one matrix holds several projections"},
    {MS_BLOCK_HEAD_NORMS, "which has norms of heads"},
    {MS_BLOCK_TURNED_NORMS, "which has norms of heads after their rotary embedding"},
    {MS_BLOCK_WHOLE_NORMS, "which has norms over all heads"},
    {MS_BLOCK_LAYER_NORMS, "which has LayerNorms"},
    {MS_BLOCK_MORE_NORMS, "which has norms after attention and MLP"},
    {MS_BLOCK_OTHER_ROTARY, "which has another kind of rotary embeddings"},
    {MS_BLOCK_UNTURNED, "which has layers without rotary embeddings"},
    {MS_BLOCK_FACTORS, "which multiplies embeddings, residuals or logits"},
    {MS_BLOCK_DROPOUTS, "which has modules of dropout"},
};

static uint32_t blocks_known(uint32_t strategy)
{
    for (size_t i = 0; i < sizeof known_blocks / sizeof *known_blocks; i++)
        if (known_blocks[i].strategy == strategy)
            return known_blocks[i].blocks;
    return 0;
}

bool ms_is_compared(const ms_model_config *model, uint32_t strategy)
{
    const ms_family_facts *facts = ms_family_facts_of(model->family);
    return facts->compared & strategy ||
           (facts->blocks && !(facts->blocks & ~blocks_known(strategy)));
}

const char *ms_why_not_compared(const ms_model_config *model, uint32_t strategy)
{
    const uint32_t unknown = ms_family_facts_of(model->family)->blocks & ~blocks_known(strategy);
    for (size_t i = 0; i < sizeof block_names / sizeof *block_names; i++)
        if (unknown & block_names[i].block && blocks_known(strategy))
            return block_names[i].why;
    return "whose modules were not compared with PyTorch's";
}
