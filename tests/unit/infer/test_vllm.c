/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vLLM's rules on small numbers: which layers share blocks, what a request holds, how layers go to
 * stages.
 */
#include "unit/support.h"

#include "input/config/model/model_config.h"
#include "serve/infer/vllm/start.h"

enum { MOST_LAYERS = 48 };

/* ---- the cache ---- */

typedef struct cache_case {
    const char *label;
    uint64_t full, sliding; /* layers */
    uint64_t window, tokens, length, kv_heads, head_dim, element;
    uint64_t page_bytes, group_layers, groups, request_blocks;
} cache_case;

static const cache_case caches[] = {
    {"all full (Llama-3.1-8B)", 32, 0, 0, 8192, 8192, 8, 128, 2, 65536, 32, 1, 512},
    {"fp8", 32, 0, 0, 8192, 32768, 8, 128, 1, 32768, 32, 1, 2048},
    {"a length that is no multiple of a block", 2, 0, 0, 64, 33, 1, 64, 2, 4096, 2, 1, 3},
    {"all with a window", 0, 4, 32, 16, 1024, 1, 64, 2, 4096, 4, 1, 4},
    {"few full (Gemma-3-1B)", 4, 22, 512, 16384, 32768, 1, 256, 2, 16384, 4, 7, 2048 + 6 * 1057},
    {"as many of both (Gemma-2-9B)", 21, 21, 4096, 8192, 8192, 8, 256, 2, 131072, 21, 2, 1025},
    {"less than half as many again", 4, 5, 16, 16, 160, 1, 64, 2, 4096, 5, 2, 13},
    {"half as many again", 4, 6, 16, 16, 160, 1, 64, 2, 4096, 4, 3, 16},
};

static void check_cache(void **state)
{
    const cache_case *c = *state;
    uint8_t kinds[MOST_LAYERS] = {0};
    for (uint64_t i = 0; i < c->sliding; i++)
        kinds[i] = MS_LAYER_SLIDES;
    const ms_model_config config = {.num_layers = c->full + c->sliding,
                                    .sliding_window = c->window,
                                    .head_dim = c->head_dim,
                                    .layer_kinds = kinds};
    const ms_vllm_arch arch = {0};
    const ms_vllm_setup setup = {.config = &config,
                                 .arch = &arch,
                                 .stages = 1,
                                 .kv_heads = c->kv_heads,
                                 .kv_element = c->element,
                                 .tokens = c->tokens,
                                 .length = c->length};
    const ms_vllm_rank rank = ms_vllm_rank_of(&setup, 0);
    const ms_vllm_cache cache = ms_vllm_cache_of(&setup, &rank);
    assert_int_equal(cache.page_bytes, c->page_bytes);
    assert_int_equal(cache.group_layers, c->group_layers);
    assert_int_equal(cache.groups, c->groups);
    assert_int_equal(cache.request_blocks, c->request_blocks);
    uint64_t block = c->page_bytes * c->group_layers;
    assert_int_equal(ms_vllm_blocks(&cache, 10 * block - 1), 9);
    assert_int_equal(ms_vllm_cache_tokens(&setup, &cache, 3 * c->request_blocks), 3 * c->length);
}

/* ---- stages ---- */

typedef struct stage_case {
    const char *label;
    uint64_t layers, stages, stage;
    bool is_tied;
    uint64_t first, count;
    bool has_embeddings, has_head;
} stage_case;

static const stage_case stages[] = {
    {"one", 32, 1, 0, false, 0, 32, true, true},
    {"the first of four", 32, 4, 0, false, 0, 8, true, false},
    {"the last of four", 32, 4, 3, false, 24, 8, false, true},
    {"the last, tied", 32, 4, 3, true, 24, 8, true, true},
    {"the rest is not the last's", 30, 4, 3, false, 23, 7, false, true},
    {"the rest is from behind", 30, 4, 2, false, 15, 8, false, false},
    {"nor the first's", 30, 4, 0, false, 0, 7, true, false},
};

static void check_stage(void **state)
{
    const stage_case *c = *state;
    const ms_model_config config = {.num_layers = c->layers, .tie_word_embeddings = c->is_tied};
    const ms_vllm_setup setup = {.config = &config, .stages = c->stages};
    const ms_vllm_rank rank = ms_vllm_rank_of(&setup, c->stage);
    assert_int_equal(rank.first_layer, c->first);
    assert_int_equal(rank.layers, c->count);
    assert_int_equal(rank.has_embeddings, c->has_embeddings);
    assert_int_equal(rank.has_head, c->has_head);
}

int main(void)
{
    int failed = run_rows("the cache", check_cache, caches);
    return failed + run_rows("stages", check_stage, stages);
}
