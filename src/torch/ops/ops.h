/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operators on tensors. Each makes the allocations of PyTorch's operator, in the same order, saves
 * what its backward needs, and consumes floating arguments once its result exists. All results
 * float. Shapes are PyTorch's; dimension indices count from the front.
 */
#ifndef MS_TORCH_OPS_OPS_H
#define MS_TORCH_OPS_OPS_H

#include "torch/autograd/tape.h"
#include "input/config/run/run_config.h"

/* ---- elementwise (the folder elementwise) ---- */
ms_tensor ms_add(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_sub(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_mul(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_add_(ms_tape *tape, ms_tensor a, ms_tensor b); /* a += b: returns `a` */
/* a *= b: returns `a`; b needs no gradient */
ms_tensor ms_mul_(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_mul_scalar_(ms_tape *tape, ms_tensor a); /* a *= c */
ms_tensor ms_div_scalar_(ms_tape *tape, ms_tensor a); /* a /= c */
ms_tensor ms_add_scalar(ms_tape *tape, ms_tensor a);  /* a + c, a - c: c is a Python number */
ms_tensor ms_mul_scalar(ms_tape *tape, ms_tensor a);
ms_tensor ms_div_scalar(ms_tape *tape, ms_tensor a);
ms_tensor ms_scale(ms_tape *tape, ms_tensor a);        /* a * Scalar, called from C++ */
ms_tensor ms_floor_divide(ms_tape *tape, ms_tensor a); /* a // c, of integers */
/* a / b, of one type; b broadcasts to a */
ms_tensor ms_div(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_compare(ms_tape *tape, ms_tensor a, ms_tensor b); /* b may be 0: a Python number */
ms_tensor ms_neg(ms_tape *tape, ms_tensor a);
ms_tensor ms_clamp(ms_tape *tape, ms_tensor a,
                   uint32_t bounds); /* with one or two Python numbers */
/* The same with tensors of one element, which have no gradient. */
ms_tensor ms_clamp_between(ms_tape *tape, ms_tensor a, ms_tensor least, ms_tensor most);
ms_tensor ms_pow(ms_tape *tape, ms_tensor a); /* a ** c, saves a */
ms_tensor ms_rsqrt(ms_tape *tape, ms_tensor a);
ms_tensor ms_sqrt(ms_tape *tape, ms_tensor a);
ms_tensor ms_erfinv(ms_tape *tape, ms_tensor a); /* outside autograd only */
ms_tensor ms_exp(ms_tape *tape, ms_tensor a);
ms_tensor ms_softplus(ms_tape *tape, ms_tensor a);
ms_tensor ms_tanh(ms_tape *tape, ms_tensor a);
ms_tensor ms_cos(ms_tape *tape, ms_tensor a); /* these five: outside autograd only */
ms_tensor ms_sin(ms_tape *tape, ms_tensor a);
ms_tensor ms_log(ms_tape *tape, ms_tensor a);
ms_tensor ms_log1p(ms_tape *tape, ms_tensor a);
ms_tensor ms_floor(ms_tape *tape, ms_tensor a);
ms_tensor ms_silu(ms_tape *tape, ms_tensor a);
ms_tensor ms_gelu(ms_tape *tape, ms_tensor a);
ms_tensor ms_relu(ms_tape *tape, ms_tensor a);
ms_tensor ms_bloom_gelu(ms_tape *tape, ms_tensor x);
/* Of an x that the caller holds: "gelu_new", "gelu_fast", x * sigmoid(c * x), relu(x) ** 2. */
ms_tensor ms_gelu_new(ms_tape *tape, ms_tensor x);
ms_tensor ms_gelu_fast(ms_tape *tape, ms_tensor x);
ms_tensor ms_quick_gelu(ms_tape *tape, ms_tensor x);
ms_tensor ms_relu2(ms_tape *tape, ms_tensor x);
ms_tensor ms_sigmoid(ms_tape *tape, ms_tensor a);
ms_tensor ms_to(ms_tape *tape, ms_tensor a,
                ms_dtype dtype); /* returns `a` itself if it has the dtype */

/* a.to(dtype, memory_format=contiguous): `a` itself if it has the dtype */
ms_tensor ms_to_contiguous(ms_tape *tape, ms_tensor a, ms_dtype dtype);

/* The result of an in-place operator: another tensor on the storage of `a`. */
ms_tensor ms_same_storage(ms_tape *tape, ms_tensor a);

/* Output of a TensorIterator over these inputs: broadcast shape, strides by PyTorch's rule. */
ms_tensor ms_elementwise_out(ms_tape *tape, uint32_t count, const ms_tensor *inputs,
                             ms_dtype dtype);
ms_dtype ms_promote(ms_dtype a, ms_dtype b);

/* ---- views (views.c, split.c, sequence.c): no bytes, unless a reshape cannot be a view ---- */
ms_tensor ms_transpose(ms_tape *tape, ms_tensor a, uint32_t d0, uint32_t d1);
ms_tensor ms_view(ms_tape *tape, ms_tensor a, ms_shape shape);    /* must be viewable */
ms_tensor ms_reshape(ms_tape *tape, ms_tensor a, ms_shape shape); /* copies if necessary */
ms_tensor ms_contiguous(ms_tape *tape, ms_tensor a);
/* The contiguous copy that a kernel uses for the call; 0 if `a` is contiguous. */
ms_tensor ms_contiguous_copy(ms_tape *tape, ms_tensor a);
ms_tensor ms_clone(ms_tape *tape, ms_tensor a);                  /* a contiguous copy */
ms_tensor ms_slice_half(ms_tape *tape, ms_tensor a, bool upper); /* x[..., :D/2] or x[..., D/2:] */
ms_tensor ms_narrow(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim length);
/* x[..., a:b] as Python slices: `length` of the last dimension, or all of it. */
ms_tensor ms_slice_last(ms_tape *tape, ms_tensor a, ms_dim length);
ms_tensor ms_slice_every_second(ms_tape *tape, ms_tensor a); /* x[..., 0::2] or x[..., 1::2] */
/* Pads with zeros; copies even where nothing is added. */
ms_tensor ms_pad(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim length);
/* repeat_interleave(times, dim) */
ms_tensor ms_repeat_each(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim times);
ms_tensor ms_repeat_first(ms_tape *tape, ms_tensor a, ms_dim times); /* repeat(times, 1, ..) */
ms_tensor ms_unsqueeze(ms_tape *tape, ms_tensor a, uint32_t dim);
/* Without that dimension, if it is 1. */
ms_tensor ms_squeeze(ms_tape *tape, ms_tensor a, uint32_t dim);
ms_tensor ms_expand(ms_tape *tape, ms_tensor a, ms_shape shape);
/* torch.chunk(a, pieces) along the first dimension: fills `out` (room for `pieces`), returns the
 * number of chunks. */
uint32_t ms_chunk_rows(ms_tape *tape, ms_tensor a, uint32_t pieces, ms_tensor *out);
ms_tensor ms_select(ms_tape *tape, ms_tensor a, uint32_t dim); /* a[.., i, ..], without `dim` */
/* torch.split into `count` equal parts: fills out[0 .. count - 1]. */
void ms_split(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim part, uint32_t count,
              ms_tensor *out);
/* torch.unbind of a dimension of `count` elements: fills out[0 .. count - 1]. */
void ms_unbind(ms_tape *tape, ms_tensor a, uint32_t dim, uint32_t count, ms_tensor *out);
/* torch.split of the last dimension in two, the first with `first` elements. */
void ms_split_at(ms_tape *tape, ms_tensor a, ms_dim first, ms_tensor out[2]);
/* torch.split of the last dimension into parts of the given lengths. */
void ms_split_into(ms_tape *tape, ms_tensor a, uint32_t count, const ms_dim *lengths,
                   ms_tensor *out);
/* torch.split of any dimension into parts of the given lengths. */
void ms_split_sizes(ms_tape *tape, ms_tensor a, uint32_t dim, uint32_t count, const ms_dim *lengths,
                    ms_tensor *out);
/* part = base[..., a:b]; part.copy_(source): base's storage holds the result. */
ms_tensor ms_copy_into(ms_tape *tape, ms_tensor base, ms_tensor source);
/* True if the tensor can be viewed as `shape` without a copy; fills the strides of that view. */
bool ms_view_strides(const ms_tensor_info *info, const ms_shape *shape, uint64_t *strides);
/* In a backward: the gradient in another shape, floating, or `grad` itself. Consumes nothing. */
ms_tensor ms_reshape_raw(ms_tape *tape, ms_tensor grad, const ms_shape *shape);

/* ---- complex numbers (elementwise/complex.c) ---- */
ms_tensor ms_view_as_complex(ms_tape *tape, ms_tensor a);
ms_tensor ms_view_as_real(ms_tape *tape, ms_tensor a);
ms_tensor ms_mul_complex(ms_tape *tape, ms_tensor a, ms_tensor factor); /* factor: no gradient */
ms_tensor ms_polar(ms_tape *tape, ms_tensor angle);                     /* with absolute value 1 */

/* ---- joining, reducing (reduce.c) ---- */
ms_tensor ms_cat2(ms_tape *tape, ms_tensor a, ms_tensor b, uint32_t dim);
ms_tensor ms_cat3(ms_tape *tape, const ms_tensor inputs[3], uint32_t dim);
/* cat of any number of tensors, at least one, of equal types (cat_list.c). */
ms_tensor ms_cat_list(ms_tape *tape, uint32_t count, const ms_tensor *inputs, uint32_t dim);
ms_tensor ms_stack_last(ms_tape *tape, ms_tensor a, ms_tensor b); /* stack((a, b), dim=-1) */
ms_tensor ms_cumsum_last(ms_tape *tape, ms_tensor a); /* of bools and integers in int64 */
ms_tensor ms_mean_last(ms_tape *tape, ms_tensor a);   /* mean(-1, keepdim=True) */
ms_tensor ms_mean_first(ms_tape *tape, ms_tensor a);  /* mean(0) */
/* std(-1, keepdim=True, unbiased=False) (deviation.c) */
ms_tensor ms_std_last(ms_tape *tape, ms_tensor a);
ms_tensor ms_norm_last(ms_tape *tape, ms_tensor a); /* linalg.norm(dim=-1), outside autograd only */
/* sum(dim), or with keepdim=True */
ms_tensor ms_sum_dim(ms_tape *tape, ms_tensor a, uint32_t dim, bool keep);
ms_tensor ms_sum_last_fp32(ms_tape *tape, ms_tensor a); /* sum(-1, keepdim=True, dtype=float32) */
ms_tensor ms_sum(ms_tape *tape, ms_tensor a);           /* of all elements */
ms_tensor ms_count_nonzero(ms_tape *tape, ms_tensor a); /* sum() of a bool tensor: int64 scalar */
ms_tensor ms_count_mask(ms_tape *tape, ms_tensor a);    /* the same, converted to int64 first */

/* ---- matrix products (matmul.c, linear.c) ---- */
/* y = x Wᵀ (+ b), weight [out, in]; under autocast x and W are cast first. */
ms_tensor ms_linear(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias);
/* GPT-2's Conv1D: y = x W + b, weight [in, out]. */
ms_tensor ms_conv1d(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias);
/* torch.matmul of [.., M, K] and [.., K, N], with equal leading dimensions; of [B, H, M, K] and [B,
 * H, K, N] the right side may have one head. */
ms_tensor ms_matmul(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_bmm(ms_tape *tape, ms_tensor a, ms_tensor b); /* of [N, M, K] and [N, K, L] */
/* base + c * bmm(a, b); base needs no gradient. */
ms_tensor ms_baddbmm(ms_tape *tape, ms_tensor base, ms_tensor a, ms_tensor b);

/* linalg.solve_triangular(a, b, upper=False, unitriangular=True): [.., N, N] and [.., N, K]
 * (triangular.c). */
ms_tensor ms_solve_triangular(ms_tape *tape, ms_tensor a, ms_tensor b);
ms_tensor ms_upper_mask(ms_tape *tape, ms_dim rows); /* ones([N, N], bool).triu(1) */

/* What DeepSpeed hands a linear module for x: with its ZeRO-3 the result of a function that hears
 * when the module's backward is done; else x (linear.c). */
ms_tensor ms_heard_input(ms_tape *tape, ms_tensor x);

/* A weight stored in 4 bits (dequantize.c). */
typedef struct ms_packed_weight {
    ms_dim out, in;
    uint64_t scales; /* number of scales */
    bool is_double;  /* the scales are quantised too */
    ms_dtype dtype;  /* original dtype, to which backward dequantises it */
} ms_packed_weight;
/* x Wᵀ (+ b) in the type of x; only x needs a gradient. */
ms_tensor ms_matmul_4bit(ms_tape *tape, ms_tensor x, const ms_packed_weight *weight, bool has_bias);

/* A packed weight [in, out] of GPTQ. */
typedef struct ms_gptq_weight {
    ms_dim in, out;
    uint64_t groups;
    uint32_t bits;
} ms_gptq_weight;
/* Dequantises it to fp16, outside autograd (groups.c). */
ms_tensor ms_dequantize_gptq(ms_tape *tape, const ms_gptq_weight *weight);
/* torch.matmul of x and a weight [in, out]. */
ms_tensor ms_matmul_weight(ms_tape *tape, ms_tensor x, ms_tensor weight);
/* view.add_(bias), where `view` is a view of a product's result: backward copies the gradient. */
ms_tensor ms_add_into_view(ms_tape *tape, ms_tensor view, ms_tensor bias);
/* x W (+ b) in fp16, W packed by AWQ and dequantised for each use; only x needs a gradient. */
ms_tensor ms_matmul_awq(ms_tape *tape, ms_tensor x, ms_dim columns, ms_tensor bias);
/* x Wᵀ in the type of x, W in fp8 with a scale for each block (fp8.c); only x needs a gradient. */
ms_tensor ms_matmul_fp8(ms_tape *tape, ms_tensor x, ms_dim columns);
/* x Wᵀ in the type of x, W in 8 bits with a scale for each row (int8.c); only x needs a gradient.
 */
ms_tensor ms_matmul_8bit(ms_tape *tape, ms_tensor x, ms_dim columns);

/* ---- normalisation, softmax, dropout (norm.c, softmax.c, dropout.c) ---- */
ms_tensor ms_layer_norm(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias); /* 0: none */
ms_tensor ms_softmax_last(ms_tape *tape, ms_tensor x, ms_dtype dtype);
/* The same with dtype= given: autocast does not apply. */
ms_tensor ms_softmax_in(ms_tape *tape, ms_tensor x, ms_dtype dtype);
ms_tensor ms_dropout(ms_tape *tape, ms_tensor x, double p);

/* ---- images (convolution.c) ---- */
/* [B, C, height, width] into [B, H, rows, columns], one position for each patch. */
ms_tensor ms_patches(ms_tape *tape, ms_tensor pixels, ms_tensor weight, ms_tensor bias, ms_dim rows,
                     ms_dim columns);

/* avg_pool2d of [B, C, height, width] into [B, C, rows, columns], windows side by side (pool.c). */
ms_tensor ms_avg_pool(ms_tape *tape, ms_tensor x, ms_dim rows, ms_dim columns);

/* a.masked_scatter(mask, source): `source` replaces the elements of `a` that the mask, which
 * broadcasts to it, selects; there are as many (masked_scatter.c). */
ms_tensor ms_masked_scatter(ms_tape *tape, ms_tensor a, ms_tensor mask, ms_tensor source);

/* Depthwise convolution of [B, C, S] with weight [C, 1, K] and padding K - 1: [B, C, S + K - 1]
 * (depthwise.c). */
ms_tensor ms_depthwise(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias);
/* The same without padding: [B, C, S - width + 1]. */
ms_tensor ms_depthwise_inside(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias);

/* ---- embedding and loss (embedding.c, loss.c) ---- */
ms_tensor ms_embedding(ms_tape *tape, ms_tensor weight, ms_tensor ids);
/* The same where the gradient has so many rows, more than this part of the weight. */
ms_tensor ms_embedding_rows(ms_tape *tape, ms_tensor weight, ms_tensor ids, ms_dim rows);
/* cross_entropy over [N, V] logits and [N] labels: the scalar loss. */
ms_tensor ms_cross_entropy(ms_tape *tape, ms_tensor logits, ms_tensor labels);
ms_tensor ms_log_softmax(ms_tape *tape, ms_tensor logits); /* of the last dimension */

/* ---- attention (attention.c) ---- */
/* scaled_dot_product_attention. q, k, v: [B, H, S, D]; causal, or with a mask, bool or additive,
 * that broadcasts to [B, H, S, S]. */
ms_tensor ms_sdpa(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k, ms_tensor v,
                  ms_tensor mask, double dropout);
/* The same without a mask, not causal. */
ms_tensor ms_sdpa_both_ways(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                            ms_tensor v, double dropout);
/* where(mask, 0, lowest) as [B, 1, S, S] in `dtype`. */
ms_tensor ms_additive_mask(ms_tape *tape, ms_dim batch, ms_dim rows, ms_dim keys, ms_dtype dtype);

/* ---- autocast ---- */
/* The tensor in autocast's lower dtype if autocast is on; copies of parameters are cached. */
ms_tensor ms_autocast_lower(ms_tape *tape, ms_tensor a);
/* The same for a view of `a` with other dimensions, whose cast is never cached. */
ms_tensor ms_autocast_lower_view(ms_tape *tape, ms_tensor a);
/* The tensor in fp32 if autocast is on (for operators that autocast runs in full precision). */
ms_tensor ms_autocast_fp32(ms_tape *tape, ms_tensor a);

/* Temporary storage of CUB's device-wide algorithms (cub.c), in bytes. */
/* Of pairs of 64-bit keys and values, by so many bits of the keys; of keys of 32 bits, by all. */
uint64_t ms_cub_sort_bytes(ms_tape *tape, uint64_t items, uint32_t key_bits);
uint64_t ms_cub_sort32_bytes(ms_tape *tape, uint64_t items);
uint64_t ms_cub_unique_bytes(uint64_t items);
uint64_t ms_cub_scan_bytes(uint64_t items);
uint64_t ms_cub_scan32_bytes(uint64_t items); /* of 32-bit numbers */
uint64_t ms_cub_count_bytes(ms_tape *tape, uint64_t items);
uint64_t ms_cub_select_bytes(ms_tape *tape, uint64_t items);

/* A kernel's short-lived buffer: allocated and freed at once, or until ms_consume. */
static inline void ms_transient(ms_tape *tape, uint64_t bytes, ms_dtype dtype)
{
    if (bytes)
        ms_consume(tape, ms_empty_bytes(tape, bytes, dtype));
}

/* A Python number as an operand of a CPU kernel: a tensor of 8 bytes and its copy in `dtype`, both
 * freed when the kernel returns. */
static inline void ms_cpu_number(ms_tape *tape, ms_dtype dtype)
{
    ms_tensor wrapped = ms_empty_bytes(tape, 8, MS_DTYPE_F64);
    ms_transient(tape, ms_dtype_bytes(dtype), dtype);
    ms_consume(tape, wrapped);
}

/* The product of a tensor of that shape, as rows, and a matrix of `columns` columns. */
ms_gemm ms_rows_times(const ms_shape *shape, uint64_t columns);

/* Allocates and frees the scratch memory of the CPU's library for the product (cpu_gemm.c). */
void ms_cpu_gemm_scratch(ms_tape *tape, ms_dtype dtype, ms_gemm gemm);

typedef enum ms_product { MS_PRODUCT_PLAIN, MS_PRODUCT_BIASED } ms_product;

/* Allocates what cuBLAS needs for a product: a workspace kept per thread, or, by PyTorch's version,
 * one for the call. */
void ms_workspace_use(ms_tape *tape, ms_product product);

#endif
