/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fused attention: flash (FlashAttention-2), memory-efficient, and the CPU's flash kernel. All take
 * [B, H, S, D], causal, and save q, k, v, the output and the log-sum-exp.
 */
#include "torch/ops/attention/attention.h"

#include "torch/ops/attention/attention_math.h"
#include "torch/ops/ops.h"

/* ---- where ---- */

/* where(condition, grad, 0): the number is a tensor for the call. */
static void where_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor zero = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    out[0] = ms_elementwise_out(tape, 2, (ms_tensor[]){node->saved[0], grads[0]}, dtype);
    ms_consume(tape, zero);
}

static const ms_op where_op = {"where", "WhereBackward0", where_backward};

ms_tensor ms_where_number(ms_tape *tape, ms_tensor condition, ms_tensor a)
{
    if (ms_idle(tape) || !condition || !a)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &where_op);
    uint32_t node = ms_record(tape, &where_op, 1, &a);
    ms_dtype dtype = (ms_dtype)ms_info(tape, a)->dtype;
    ms_save(tape, node, condition);
    ms_tensor number = ms_empty_bytes(tape, ms_dtype_bytes(dtype), dtype);
    ms_tensor out = ms_elementwise_out(tape, 2, (ms_tensor[]){condition, a}, dtype);
    ms_consume(tape, number);
    return ms_op_finish(tape, mark, node, 2, (ms_tensor[]){a, condition}, out);
}

/* ---- for the kernels ---- */

enum { BIAS_ALIGNMENT = 8, GRADIENT_ALIGNMENT = 16 };

/* Pads the rows and cuts them again, which leaves them aligned; then one for every head and
 * sequence. */
static ms_tensor differentiable_bias(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor mask)
{
    ms_dim keys = ms_info(tape, mask)->shape.dims[3];
    ms_tensor bias = mask;
    if (!tape->on_cpu && keys.value % BIAS_ALIGNMENT != 0) {
        ms_dim wide = ms_dim_ceil(&tape->trace->symbols, keys, BIAS_ALIGNMENT);
        bias = ms_narrow(tape, ms_pad(tape, mask, 3, wide), 3, keys);
    }
    const ms_shape queries = ms_info(tape, q)->shape;
    ms_shape all = MS_SHAPE(queries.dims[0], queries.dims[1], queries.dims[2],
                            ms_info(tape, k)->shape.dims[2]);
    return ms_expand(tape, bias, all);
}

/* The mask as the kernels take it: additive in the type of q, in CUDA's with rows of a multiple of
 * 8 numbers; one with a gradient also expanded to [B, H, S, keys]. 0: no mask. Borrows both. */
static ms_tensor attention_bias(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor mask)
{
    if (!mask || ms_idle(tape))
        return 0;
    if (ms_needs_grad(tape, mask))
        return differentiable_bias(tape, q, k, mask);
    ms_tensor bias = ms_mask_as_bias(tape, q, mask);
    if (ms_idle(tape) || tape->on_cpu)
        return bias;
    ms_shape shape = ms_info(tape, bias)->shape;
    if (shape.dims[3].value % BIAS_ALIGNMENT == 0)
        return bias;
    ms_dtype dtype = (ms_dtype)ms_info(tape, bias)->dtype;
    shape.dims[3] = ms_dim_ceil(&tape->trace->symbols, shape.dims[3], BIAS_ALIGNMENT);
    ms_tensor wide = ms_empty(tape, shape, dtype);
    ms_consume(tape, bias);
    return wide;
}

/* The memory-efficient kernel's gradient of such a bias: rows of a multiple of 16 numbers, of which
 * a view is returned, floating. */
static ms_tensor efficient_bias_gradient(ms_tape *tape, const ms_shape *bias, ms_dtype dtype)
{
    ms_shape shape = *bias;
    shape.dims[3] = ms_dim_ceil(&tape->trace->symbols, shape.dims[3], GRADIENT_ALIGNMENT);
    ms_tensor whole = ms_empty(tape, shape, dtype);
    if (ms_idle(tape))
        return 0;
    const ms_tensor_info info = *ms_info(tape, whole);
    ms_tensor part = ms_alias(tape, whole, *bias, info.strides);
    ms_consume(tape, whole);
    return part;
}

/* ---- attention sizes ---- */

ms_attention_sizes ms_attention_sizes_of(const ms_shape *q, const ms_shape *k, const ms_shape *v)
{
    return (ms_attention_sizes){q->dims[0], q->dims[1], k->dims[1], q->dims[2],
                                k->dims[2], q->dims[3], v->dims[3]};
}

/* The last query sees all keys, where attention is causal each one before it one key less: of S
 * queries and keys half of the two S*S products; backward does five products for the forward's two.
 */
void ms_attention_work(ms_tape *tape, ms_op_mark mark, const ms_attention_sizes *s, double products,
                       ms_dtype dtype)
{
    double queries = (double)s->seq.value, seen = (double)s->keys.value - queries / 2;
    double flops = products * (double)s->batch.value * (double)s->heads.value * 2 * queries * seen *
                   (double)(s->head_dim.value + s->value_dim.value) / 2;
    ms_op_work(tape, mark, flops, 0, dtype);
}

/* ---- attention cpu ---- */

/* The CPU's flash attention: per-thread buffers during the kernel. */

enum { CPU_THREADS = 2, CPU_KEY_BLOCK = 512 };

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t block_rows(uint64_t seq)
{
    return at_most(seq >= 768 ? 256 : seq >= 192 ? 64 : 32, seq);
}

/* Allocates and frees the per-thread buffers of the CPU's flash kernel for that many queries and
 * keys.
 */
static void attention_cpu_forward_buffers(ms_tape *tape, uint64_t queries, uint64_t all_keys,
                                          uint64_t head_dim, ms_dtype dtype)
{
    uint64_t rows = block_rows(queries), keys = at_most(CPU_KEY_BLOCK, all_keys);
    uint64_t floats = rows * keys + 2 * rows + rows * head_dim;
    ms_tensor buffer = ms_empty_bytes(tape, 4 * CPU_THREADS * floats, MS_DTYPE_F32);
    if (dtype != MS_DTYPE_F32)
        ms_transient(tape, 2 * CPU_THREADS * rows * keys, dtype);
    ms_consume(tape, buffer);
}

static void attention_cpu_backward_buffers(ms_tape *tape, uint64_t queries, uint64_t all_keys,
                                           ms_dtype dtype)
{
    uint64_t rows = block_rows(queries), keys = at_most(CPU_KEY_BLOCK, all_keys);
    ms_tensor scores = ms_empty_bytes(tape, 2 * 4 * CPU_THREADS * rows * keys, MS_DTYPE_F32);
    ms_tensor reduced = 0;
    if (dtype != MS_DTYPE_F32)
        reduced = ms_empty_bytes(tape, 2 * 2 * CPU_THREADS * rows * keys, dtype);
    ms_transient(tape, ms_dtype_bytes(dtype) * CPU_THREADS * rows, dtype);
    ms_consume(tape, reduced);
    ms_consume(tape, scores);
}

/* ---- attention ---- */

static ms_dim padded(ms_tape *tape, ms_dim dim, uint64_t step)
{
    return ms_dim_ceil(&tape->trace->symbols, dim, step);
}

static ms_attention_sizes node_sizes(const ms_tape *tape, const ms_node *node)
{
    return ms_attention_sizes_of(&ms_input_meta(tape, node, 0)->shape,
                                 &ms_input_meta(tape, node, 1)->shape,
                                 &ms_input_meta(tape, node, 2)->shape);
}

/* A tensor of q's shape laid out as [B, S, H, D]. */
static ms_tensor like_query(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    uint64_t heads = shape.dims[1].value, seq = shape.dims[2].value, dim = shape.dims[3].value;
    uint64_t strides[MS_MAX_RANK] = {seq * heads * dim, dim, heads * dim, 1};
    return ms_empty_strided(tape, shape, strides, dtype);
}

/* Number of a kernel's node: how many halves of the S*S products it does. */
enum { HALVES };

/* ---- flash ---- */

enum { FLASH_BLOCK = 128, FLASH_HEAD_STEP = 32 };

/* Head sizes are padded to a multiple of 32, those above 128 to one of 64. */
static ms_dim flash_head(ms_tape *tape, ms_dim head_dim)
{
    return padded(tape, head_dim, head_dim.value <= 128 ? FLASH_HEAD_STEP : 2 * FLASH_HEAD_STEP);
}

/* How many parts of the keys flash attention works on at a time: more than one when heads and query
 * blocks cannot fill the device (num_splits_heuristic of its flash_api.cpp). */
static uint64_t flash_splits(const ms_device *device, const ms_attention_sizes *s)
{
    enum { QUERY_BLOCK = 64, MOST_SPLITS = 128 };
    uint64_t d = s->head_dim.value, key_block = d <= 64 ? 256 : d <= 128 ? 128 : 64;
    uint64_t key_blocks = (s->keys.value + key_block - 1) / key_block;
    uint64_t heads = s->heads.value, queries = s->seq.value;
    if (queries == 1) { /* a single one's heads are taken as queries of the key's heads */
        heads = s->kv_heads.value;
        queries = s->heads.value / heads;
    }
    uint64_t work = s->batch.value * heads * ((queries + QUERY_BLOCK - 1) / QUERY_BLOCK);
    uint64_t slots = 2 * (device->multiprocessors ? device->multiprocessors : 108);
    if ((double)work >= 0.8 * (double)slots)
        return 1;
    uint64_t most = key_blocks < slots ? key_blocks : slots;
    most = most < MOST_SPLITS ? most : MOST_SPLITS;
    double best = 0, efficiency[MOST_SPLITS + 1] = {0};
    for (uint64_t n = 1; n <= most; n++) {
        bool new_size = n == 1 || (key_blocks + n - 1) / n != (key_blocks + n - 2) / (n - 1);
        double waves = (double)(work * n) / (double)slots;
        double whole = (double)(uint64_t)waves;
        efficiency[n] = new_size ? waves / (whole < waves ? whole + 1 : whole) : 0;
        best = efficiency[n] > best ? efficiency[n] : best;
    }
    for (uint64_t n = 1; n <= most; n++)
        if (efficiency[n] > 0 && efficiency[n] >= 0.85 * best)
            return n;
    return 1;
}

typedef struct split_buffers {
    ms_tensor lse, out;
} split_buffers;

static split_buffers flash_split_buffers(ms_tape *tape, const ms_attention_sizes *s, double dropout)
{
    split_buffers buffers = {0};
    uint64_t splits = dropout > 0 ? 1 : flash_splits(tape->options.device, s);
    if (splits == 1)
        return buffers;
    ms_dim parts = ms_dim_number(&tape->trace->symbols, splits);
    ms_dim rows = ms_dim_mul(&tape->trace->symbols, s->heads, s->seq);
    buffers.lse = ms_empty(tape, MS_SHAPE(parts, s->batch, rows), MS_DTYPE_F32);
    buffers.out = ms_empty(tape, MS_SHAPE(parts, s->batch, rows, flash_head(tape, s->head_dim)),
                           MS_DTYPE_F32);
    return buffers;
}

/* Slots in which every kernel without a mask saves. */
enum { SAVED_K, SAVED_Q, SAVED_V, SAVED_LSE, SAVED_OUT };

/* The kernel reads [B, S, H, D] in that order: a copy if the tensor is laid out otherwise. */
static ms_tensor token_major_copy(ms_tape *tape, ms_tensor tensor)
{
    ms_tensor_info info = *ms_info(tape, tensor);
    const ms_shape shape =
        MS_SHAPE(info.shape.dims[0], info.shape.dims[2], info.shape.dims[1], info.shape.dims[3]);
    const uint64_t heads_stride = info.strides[1];
    info.shape = shape;
    info.strides[1] = info.strides[2];
    info.strides[2] = heads_stride;
    return ms_is_contiguous(&info) ? 0 : ms_empty(tape, shape, (ms_dtype)info.dtype);
}

/* Products of [S, D] matrices that a call does for each half of the S*S ones. */
static double products_of(const ms_attention_sizes *s, double products, bool both_ways)
{
    double keys = (double)s->keys.value;
    return both_ways ? products * keys / (keys - (double)s->seq.value / 2) : products;
}

void ms_flash_gradients(ms_tape *tape, const ms_flash_saved *saved, ms_tensor grad, bool both_ways,
                        ms_tensor *out)
{
    const ms_attention_sizes s =
        ms_attention_sizes_of(&ms_info(tape, saved->q)->shape, &ms_info(tape, saved->k)->shape,
                              &ms_info(tape, saved->v)->shape);
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    ms_tensor grad_copy = token_major_copy(tape, grad);
    ms_tensor out_copy = token_major_copy(tape, saved->out);
    out[0] = ms_empty_like(tape, saved->q, dtype);
    out[1] = ms_empty_like(tape, saved->k, dtype);
    out[2] = ms_empty_like(tape, saved->v, dtype);
    ms_dim rows = padded(tape, s.seq, FLASH_BLOCK), columns = flash_head(tape, s.head_dim);
    ms_tensor row_sums = ms_empty(tape, MS_SHAPE(s.batch, s.heads, rows), MS_DTYPE_F32);
    ms_tensor accumulator = ms_empty(tape, MS_SHAPE(s.batch, rows, s.heads, columns), MS_DTYPE_F32);
    ms_tensor dk = 0, dv = 0;
    if (s.heads.value != s.kv_heads.value) {
        dk = ms_empty(tape, MS_SHAPE(s.batch, s.keys, s.heads, s.head_dim), dtype);
        dv = ms_empty(tape, MS_SHAPE(s.batch, s.keys, s.heads, s.head_dim), dtype);
    }
    const ms_tensor last_first[] = {dv, dk, accumulator, row_sums, out_copy, grad_copy};
    for (uint32_t i = 0; i < sizeof last_first / sizeof *last_first; i++)
        ms_consume(tape, last_first[i]);
    ms_attention_work(tape, ms_op_running(tape), &s, products_of(&s, 5, both_ways), dtype);
}

static void flash_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const ms_flash_saved saved = {.q = node->saved[SAVED_Q],
                                  .k = node->saved[SAVED_K],
                                  .v = node->saved[SAVED_V],
                                  .out = node->saved[SAVED_OUT]};
    ms_flash_gradients(tape, &saved, grads[0], node->numbers[HALVES] == 2, out);
}

/* dq, dk and dv in the order the kernels write them. */
static ms_attention_sizes token_major_gradients(ms_tape *tape, const ms_node *node, ms_tensor grad,
                                                ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grad)->dtype;
    for (uint32_t i = 0; i < 3; i++)
        out[i] = like_query(tape, ms_input_meta(tape, node, i)->shape, dtype);
    return node_sizes(tape, node);
}

/* ---- memory-efficient ---- */

/* Backward's workspace: per block of queries and columns a tile of fp32 dq with its lock; heads
 * wider than 128 in half precision also accumulate dk and dv in up to 200/(B*H) splits of the keys.
 * Read off PyTorch's own requests for head sizes 16 to 256 (compute capability 8.0 and 9.0). */
static uint64_t efficient_workspace_bytes(const ms_attention_sizes *s, ms_dtype dtype)
{
    enum { LOCK_BYTES = 16, KEY_BLOCK = 64, KEY_COLUMNS = 128, MOST_SPLITS = 200 };
    bool half = ms_dtype_bytes(dtype) == 2;
    uint64_t key = s->head_dim.value, value = s->value_dim.value, d = key > value ? key : value;
    uint64_t n = s->seq.value, heads = s->batch.value * s->heads.value;
    uint64_t rows = d <= 64 ? 64 : 128, columns = half && d > 64 && d <= 128 ? 128 : 64;
    uint64_t blocks = (n + rows - 1) / rows * ((key + columns - 1) / columns);
    uint64_t bytes = blocks * (LOCK_BYTES + 4 * rows * columns);
    if (half && d > 128) {
        uint64_t key_blocks = (s->keys.value + KEY_BLOCK - 1) / KEY_BLOCK;
        uint64_t splits = MOST_SPLITS / heads ? MOST_SPLITS / heads : 1;
        uint64_t width = (key + KEY_COLUMNS - 1) / KEY_COLUMNS * KEY_COLUMNS +
                         (value + KEY_COLUMNS - 1) / KEY_COLUMNS * KEY_COLUMNS;
        bytes += 4 * KEY_BLOCK * width * (splits < key_blocks ? splits : key_blocks);
    }
    return heads * bytes;
}

enum { BIAS = 3 }; /* the input of a node whose bias is learned */

/* From 2.14 on it takes fewer key heads than query heads, whose gradients are first those of each
 * query head, and has its seed and offset on the device. */
static bool is_efficient_late(const ms_tape *tape)
{
    enum { FIRST_MINOR = 14 };
    return tape->options.torch_major > 2 || tape->options.torch_minor >= FIRST_MINOR;
}

typedef struct spread_gradients {
    ms_tensor key, value; /* 0: each query head has its own keys */
} spread_gradients;

static spread_gradients spread(ms_tape *tape, const ms_attention_sizes *s, ms_dtype dtype)
{
    if (s->heads.value == s->kv_heads.value)
        return (spread_gradients){0};
    ms_tensor key = ms_empty(tape, MS_SHAPE(s->batch, s->keys, s->heads, s->head_dim), dtype);
    return (spread_gradients){
        key, ms_empty(tape, MS_SHAPE(s->batch, s->keys, s->heads, s->value_dim), dtype)};
}

static void efficient_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_attention_sizes s = token_major_gradients(tape, node, grads[0], out);
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_shape rows = MS_SHAPE(s.batch, s.heads, s.seq);
    if (node->edge_count > BIAS)
        out[BIAS] = efficient_bias_gradient(tape, &ms_input_meta(tape, node, BIAS)->shape, dtype);
    const spread_gradients each = spread(tape, &s, dtype);
    ms_tensor delta;
    if (dtype == MS_DTYPE_F32) { /* the sum of grad * out; the kernel does it for half inputs */
        ms_tensor product = ms_empty(tape, ms_info(tape, grads[0])->shape, dtype);
        delta = ms_empty(tape, rows, MS_DTYPE_F32);
        if (s.heads.value > 1) {
            ms_tensor transposed = ms_empty(tape, rows, MS_DTYPE_F32);
            ms_consume(tape, delta);
            delta = transposed;
        }
        ms_consume(tape, product);
    } else {
        delta = ms_empty(tape, rows, MS_DTYPE_F32);
    }
    ms_tensor workspace = ms_empty_bytes(tape, efficient_workspace_bytes(&s, dtype), MS_DTYPE_F32);
    ms_consume(tape, delta);
    ms_consume(tape, workspace);
    ms_consume(tape, each.value);
    ms_consume(tape, each.key);
    ms_attention_work(tape, ms_op_running(tape), &s, 5 * (double)node->numbers[HALVES], dtype);
}

/* ---- the CPU's flash kernel ---- */

static void cpu_flash_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_attention_sizes s = token_major_gradients(tape, node, grads[0], out);
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    attention_cpu_backward_buffers(tape, s.seq.value, s.keys.value, dtype);
}

/* ---- forward, common to the three ---- */

/* Where the memory-efficient kernel keeps its seed and offset on the host: before 2.14, and with
 * dropout. */
enum { HOST_SEED_BYTES = 16, SEED_BYTES = 8 };

typedef struct kernel {
    ms_op op;
    ms_attention backend;
    uint32_t lse_step; /* the log-sum-exp's rows are padded to this */
    bool has_random_state;
} kernel;

/* clang-format off */
static const kernel kernels[] = {
    {{"flash_attention", "ScaledDotProductFlashAttentionBackward0", flash_backward},
     MS_ATTENTION_FLASH, 1, true},
    {{"efficient_attention", "ScaledDotProductEfficientAttentionBackward0", efficient_backward},
     MS_ATTENTION_EFFICIENT, 32, false},
    {{"flash_attention_for_cpu", "ScaledDotProductFlashAttentionForCpuBackward0", cpu_flash_backward},
     MS_ATTENTION_CPU_FLASH, 1, false},
};

/* clang-format on */

static const kernel *kernel_of(ms_attention backend)
{
    for (uint32_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].backend == backend)
            return &kernels[i];
    return &kernels[0];
}

/* The random generator's seed and offset: 16 and 8 bytes; dropout replaces the first. */
static void random_state(ms_tape *tape, double dropout, ms_tensor state[2])
{
    state[0] = ms_empty_bytes(tape, 16, MS_DTYPE_U64);
    state[1] = ms_empty_bytes(tape, 8, MS_DTYPE_U64);
    if (dropout > 0) {
        ms_tensor seeded = ms_empty_bytes(tape, 16, MS_DTYPE_U64);
        ms_consume(tape, state[0]);
        state[0] = seeded;
    }
}

ms_flash_result ms_flash_call(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, bool both_ways)
{
    const ms_attention_sizes s = ms_attention_sizes_of(
        &ms_info(tape, q)->shape, &ms_info(tape, k)->shape, &ms_info(tape, v)->shape);
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_flash_result result = {.out = ms_empty_like(tape, q, dtype)};
    result.lse = ms_empty(tape, MS_SHAPE(s.batch, s.heads, s.seq), MS_DTYPE_F32);
    split_buffers splits = flash_split_buffers(tape, &s, 0);
    random_state(tape, 0, result.state);
    ms_consume(tape, splits.lse);
    ms_consume(tape, splits.out);
    ms_attention_work(tape, ms_op_running(tape), &s, products_of(&s, 2, both_ways), dtype);
    return result;
}

/* What a kernel's forward makes and keeps. */
typedef struct kept {
    ms_tensor out, lse, state[2];
    bool has_seed; /* the state is on the device, though nothing is drawn */
} kept;

/* The kernel itself: its result of `shape`, what it keeps, and its buffers, which are gone. */
static kept run_kernel(ms_tape *tape, const kernel *row, uint32_t node, ms_tensor q,
                       const ms_attention_sizes *s, ms_shape shape, double dropout)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    bool is_efficient = row->backend == MS_ATTENTION_EFFICIENT;
    bool training = is_efficient ? node != MS_NONE
                                 : tape->grad_enabled || row->has_random_state || tape->on_cpu;
    kept k = {.has_seed = is_efficient && is_efficient_late(tape) && dropout <= 0};
    for (uint32_t i = 0; k.has_seed && i < 2; i++)
        k.state[i] = ms_empty_bytes(tape, SEED_BYTES, MS_DTYPE_U64);
    k.out = is_efficient ? like_query(tape, shape, dtype) : ms_empty_like(tape, q, dtype);
    ms_dim rows = row->lse_step > 1 ? padded(tape, s->seq, row->lse_step) : s->seq;
    k.lse = training ? ms_empty(tape, MS_SHAPE(s->batch, s->heads, rows), MS_DTYPE_F32) : 0;
    split_buffers splits = {0};
    if (row->backend == MS_ATTENTION_FLASH)
        splits = flash_split_buffers(tape, s, dropout);
    if (row->has_random_state)
        random_state(tape, dropout, k.state);
    ms_consume(tape, splits.lse);
    ms_consume(tape, splits.out);
    if (row->backend == MS_ATTENTION_CPU_FLASH)
        attention_cpu_forward_buffers(tape, s->seq.value, s->keys.value, s->head_dim.value, dtype);
    if (is_efficient && dtype != MS_DTYPE_F32 &&
        (s->head_dim.value > 128 || s->value_dim.value > 128))
        ms_consume(tape, ms_empty(tape, shape, MS_DTYPE_F32));
    return k;
}

/* The node keeps the result and what the kernel made; of what an efficient one draws on the host,
 * hooks that save tensors have a copy. */
static void save_kept(ms_tape *tape, const kernel *row, uint32_t node, const kept *k)
{
    ms_attach(tape, node, 1, &k->out);
    ms_save(tape, node, k->lse);
    ms_save(tape, node, k->out);
    ms_save(tape, node, k->state[0]);
    ms_save(tape, node, k->state[1]);
    if (row->backend == MS_ATTENTION_EFFICIENT && !k->has_seed && node != MS_NONE &&
        ms_hooks_saving(tape) == MS_SAVING_TENSORS)
        tape->host_saved_bytes += HOST_SEED_BYTES;
}

ms_tensor ms_attention_kernel(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                              ms_tensor v, ms_attention_call_args c)
{
    const kernel *row = kernel_of(backend);
    ms_op_mark work = ms_op_begin(tape, &row->op);
    if (c.dropout > 0)
        ms_op_draws(tape, work);
    ms_tensor bias = attention_bias(tape, q, k, c.mask);
    bool learns_bias = ms_needs_grad(tape, bias);
    uint32_t node = ms_record(tape, &row->op, learns_bias ? 4 : 3, (ms_tensor[]){q, k, v, bias});
    ms_node_numbers(tape, node, 1, (uint64_t[]){c.both_ways ? 2 : 1});
    const ms_tensor saved[] = {bias, k, q, v};
    for (int i = 0; i < 4; i++)
        ms_save(tape, node, saved[i]);
    if (ms_idle(tape)) {
        ms_op_end(tape, work);
        ms_consume(tape, bias);
        return 0;
    }
    ms_shape shape = ms_info(tape, q)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, q)->dtype;
    ms_attention_sizes s =
        ms_attention_sizes_of(&shape, &ms_info(tape, k)->shape, &ms_info(tape, v)->shape);
    shape.dims[3] = s.value_dim;
    const kept made = run_kernel(tape, row, node, q, &s, shape, c.dropout);
    save_kept(tape, row, node, &made);
    const ms_tensor read[] = {q, k, v};
    for (int i = 0; i < 3; i++)
        ms_op_operand(tape, work, read[i], false);
    ms_op_operand(tape, work, made.out, true);
    ms_attention_work(tape, work, &s, c.both_ways ? 4 : 2, dtype);
    ms_op_end(tape, work);
    const ms_tensor gone[] = {made.lse, bias, made.state[0], made.state[1]};
    for (int i = 0; i < 4; i++)
        ms_consume(tape, gone[i]);
    if (!tape->stopped)
        return made.out;
    ms_consume(tape, made.out);
    return 0;
}
