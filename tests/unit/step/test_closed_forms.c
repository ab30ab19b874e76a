/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What one layer saves, as formulas written independently of the simulation: the difference of two
 * runs that differ by one layer must equal them. The literal rows were measured with PyTorch's
 * saved-tensor hooks (bfloat16, CPU flash attention).
 */
#include "run/step/step.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

typedef struct shape {
    uint64_t b, s, h, i, hq, hk, d;
} shape;

typedef uint64_t (*formula)(const shape *x);

typedef struct closed_form {
    const char *label, *family;
    shape x;
    ms_dtype dtype;
    ms_autocast autocast;
    bool on_cpu;
    double dropout;
    ms_activation activation;
    formula expected;
    uint64_t literal; /* instead of a formula */
} closed_form;

/* ---- the formulas: N tokens, q and k widths of queries and keys ---- */

#define N (x->b * x->s)
#define Q (x->hq * x->d)
#define K (x->hk * x->d)
enum { RANDOM_STATE = 16 + 8 }; /* that CUDA's flash attention saves */

static uint64_t ceil32(uint64_t n)
{
    return (n + 31) / 32 * 32;
}

static uint64_t llama_half(const shape *x)
{
    return 16 * N * x->h + 4 * N * Q + 4 * N * K + 8 * N * x->i + 8 * N + 4 * N * x->hq;
}

static uint64_t llama_half_cuda(const shape *x)
{
    return llama_half(x) + RANDOM_STATE;
}

static uint64_t qwen3_half(const shape *x)
{
    return llama_half(x) + 6 * N * Q + 4 * N * x->hq + 6 * N * K + 4 * N * x->hk;
}

static uint64_t llama_fp32(const shape *x)
{
    enum { HOST_SEEDS = 16 };
    return 24 * N * x->h + 8 * N * Q + 8 * N * K + 16 * N * x->i + 8 * N +
           4 * x->b * x->hq * ceil32(x->s) + HOST_SEEDS;
}

/* With the lower-precision copies of the layer's matrices that the products keep. */
static uint64_t llama_autocast(const shape *x)
{
    uint64_t matrices = 2 * x->h * Q + 2 * x->h * K + 3 * x->h * x->i;
    return 26 * N * x->h + 4 * N * Q + 4 * N * K + 8 * N * x->i + 8 * N + 4 * N * x->hq +
           2 * matrices + RANDOM_STATE;
}

/* Norms by 1 + weight keep the input and the normed in fp32, the root, and 1 + weight. */
static uint64_t gemma_norm(uint64_t rows, uint64_t width)
{
    return 8 * rows * width + 4 * rows + 4 * width;
}

static uint64_t gemma_half(const shape *x)
{
    return 2 * gemma_norm(N, x->h) + 4 * N * x->h + 4 * N * Q + 4 * N * K + 4 * N * x->hq +
           8 * N * x->i;
}

/* Eager: the fused kernel's figures give way to queries, keys and values for every head, tanh and
 * probabilities in half, and the softmax in fp32. */
static uint64_t gemma2_half(const shape *x)
{
    return 4 * gemma_norm(N, x->h) + 4 * N * x->h + 8 * N * Q + 8 * N * x->s * x->hq + 8 * N * x->i;
}

static uint64_t gemma3_half(const shape *x)
{
    return gemma_half(x) + 2 * gemma_norm(N, x->h) + gemma_norm(N * x->hq, x->d) +
           gemma_norm(N * x->hk, x->d);
}

static uint64_t gpt2_fused_gelu(const shape *x)
{
    return 34 * N * x->h + 16 * N + 4 * N * x->hq + RANDOM_STATE;
}

static uint64_t gpt2_new_gelu(const shape *x)
{
    return 58 * N * x->h + 16 * N + 4 * N * x->hq + RANDOM_STATE;
}

static uint64_t gpt2_no_dropout(const shape *x)
{
    return gpt2_new_gelu(x) - 2 * N * x->h;
}

/* ---- the run ---- */

static uint64_t saved_bytes(const closed_form *c, uint64_t layers)
{
    static const ms_device cpu = {.name = "cpu", .is_cpu = true};
    static const ms_device gpu = {.name = "gpu", .compute_capability = 80, .multiprocessors = 108};
    ms_treatment keep[2] = {{.kind = MS_TREAT_KEEP}, {.kind = MS_TREAT_KEEP}};
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model = {.family = family_of(arena, c->family),
                             .vocab_size = 512,
                             .hidden_size = c->x.h,
                             .intermediate_size = c->x.i,
                             .num_layers = layers,
                             .num_heads = c->x.hq,
                             .num_kv_heads = c->x.hk,
                             .head_dim = c->x.d,
                             .max_positions = 1024,
                             .activation = c->activation,
                             .caps_scores = c->expected == gemma2_half,
                             .attention_dropout = c->dropout,
                             .residual_dropout = c->dropout,
                             .embedding_dropout = c->dropout};
    ms_run_config run = {.batch = c->x.b,
                         .seq_tokens = c->x.s,
                         .dtype = c->dtype,
                         .autocast = c->autocast,
                         .training.accumulate = 1,
                         .treatments = {.layers = keep},
                         .torch_major = 2,
                         .torch_minor = 11,
                         .device = c->on_cpu ? &cpu : &gpu};
    ms_simulation simulation;
    ms_error err = {0};
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_ALL, &simulation, &err), MS_OK);
    uint64_t saved = simulation.saved_bytes;
    ms_simulation_free(&simulation);
    ms_arena_free(arena);
    return saved;
}

static void check(void **state)
{
    const closed_form *c = *state;
    uint64_t layer = saved_bytes(c, 2) - saved_bytes(c, 1);
    assert_int_equal(layer, c->literal ? c->literal : c->expected(&c->x));
}

#define SMALL(b, s)                                                                                \
    {                                                                                              \
        b, s, 96, 176, 6, 2, 40                                                                    \
    }

/* clang-format off */
static const closed_form cases[] = {
    {"llama measured 1x100", "llama", SMALL(1, 100), MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, NULL, 425600},
    {"llama measured 2x200", "llama", SMALL(2, 200), MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, NULL, 1702400},
    {"llama measured 1x40",  "llama", SMALL(1, 40),  MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, NULL, 170240},
    {"qwen3 measured 1x100", "qwen3", SMALL(1, 100), MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, NULL, 620800},
    {"qwen3 measured 2x200", "qwen3", SMALL(2, 200), MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, NULL, 2483200},
    {"qwen3 measured 1x40",  "qwen3", SMALL(1, 40),  MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, NULL, 248320},
    {"llama bf16 cpu",       "llama", {3, 77, 64, 200, 4, 1, 24}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, true,  0, MS_ACTIVATION_SILU, llama_half, 0},
    {"llama bf16 cuda",      "llama", {2, 512, 4096, 14336, 32, 8, 128}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, false, 0, MS_ACTIVATION_SILU, llama_half_cuda, 0},
    {"llama fp16 cuda",      "llama", {1, 333, 128, 384, 4, 4, 32}, MS_DTYPE_F16, MS_AUTOCAST_NONE, false, 0, MS_ACTIVATION_SILU, llama_half_cuda, 0},
    {"mistral bf16 cuda",    "mistral", {1, 100, 128, 384, 4, 2, 32}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, false, 0, MS_ACTIVATION_SILU, llama_half_cuda, 0},
    {"qwen3 bf16 cpu",       "qwen3", {2, 50, 128, 384, 4, 2, 32}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_SILU, qwen3_half, 0},
    {"llama fp32 efficient", "llama", {2, 200, 128, 384, 4, 4, 32}, MS_DTYPE_F32, MS_AUTOCAST_NONE, false, 0, MS_ACTIVATION_SILU, llama_fp32, 0},
    {"llama autocast",       "llama", {2, 128, 128, 384, 4, 2, 32}, MS_DTYPE_F32, MS_AUTOCAST_BF16, false, 0, MS_ACTIVATION_SILU, llama_autocast, 0},
    {"gemma bf16 cpu",       "gemma", {2, 50, 128, 384, 4, 2, 40}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_GELU_TANH, gemma_half, 0},
    {"gemma2 bf16 cpu",      "gemma2", {3, 50, 128, 384, 4, 2, 40}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_GELU_TANH, gemma2_half, 0},
    {"gemma2 bf16 cuda",     "gemma2", {1, 77, 96, 176, 6, 2, 24}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, false, 0, MS_ACTIVATION_GELU_TANH, gemma2_half, 0},
    {"gemma3 bf16 cpu",      "gemma3_text", {2, 50, 128, 384, 4, 2, 40}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, true, 0, MS_ACTIVATION_GELU_TANH, gemma3_half, 0},
    {"gpt2 fused gelu",      "gpt2", {2, 64, 128, 512, 4, 4, 32}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, false, 0.1, MS_ACTIVATION_GELU, gpt2_fused_gelu, 0},
    {"gpt2 gelu_new",        "gpt2", {2, 64, 128, 512, 4, 4, 32}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, false, 0.1, MS_ACTIVATION_GELU_NEW, gpt2_new_gelu, 0},
    {"gpt2 without dropout", "gpt2", {1, 99, 128, 512, 4, 4, 32}, MS_DTYPE_BF16, MS_AUTOCAST_NONE, false, 0, MS_ACTIVATION_GELU_NEW, gpt2_no_dropout, 0},
};
/* clang-format on */

int main(void)
{
    return run_rows("closed forms of saved bytes per layer", check, cases);
}
