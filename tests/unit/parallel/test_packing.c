/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of PyTorch's kernels for lists of tensors. Expected are the sizes that its allocator saw
 * under fully_shard of 8 ranks on an A100 (108 multiprocessors): Llama-3.2-1B gathered in bf16 and
 * reduced in fp32, a layer and the root.
 */
#include "torch/parallel/kit/packing.h"
#include "unit/support.h"

enum { MOST = 9, RANKS = 8 };

typedef struct packing_case {
    const char *label;
    uint64_t elements[MOST]; /* of the whole tensors */
    uint64_t split_copy, chunk_cat;
} packing_case;

static const packing_case cases[] = {
    {"a layer",
     {2048 * 2048, 512 * 2048, 512 * 2048, 2048 * 2048, 2048 * 8192, 2048 * 8192, 2048 * 8192, 2048,
      2048},
     15160,
     119248},
    {"the root", {UINT64_C(128256) * 2048, 2048}, 25736, 513144},
};

static void tables_have_their_sizes(void **state)
{
    (void)state;
    const ms_device device = {.multiprocessors = 108, .compute_capability = 80};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ms_packing split = {.device = &device, .ranks = RANKS}, cat = {.ranks = RANKS};
        for (size_t k = 0; k < MOST && cases[i].elements[k]; k++) {
            ms_packing_chunk(&split, 2 * cases[i].elements[k] / RANKS);
            ms_packing_chunk(&cat, 4 * cases[i].elements[k] / RANKS);
        }
        ms_packing_coarsen(&split);
        for (size_t k = 0; k < MOST && cases[i].elements[k]; k++)
            ms_packing_recount(&split, 2 * cases[i].elements[k] / RANKS);
        assert_int_equal(ms_packing_split_copy_bytes(&split), cases[i].split_copy);
        assert_int_equal(ms_packing_chunk_cat_bytes(&cat), cases[i].chunk_cat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_have_their_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
