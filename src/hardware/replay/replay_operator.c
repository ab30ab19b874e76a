/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/replay_operator.h"

/* A tensor of the operator that has memory. */
typedef struct region {
    uint64_t address, bytes;
} region;

/* The smallest output, or input, that has room, else the largest. */
static region find_region(const ms_replay_work *r, const ms_op_exec *op, uint64_t bytes,
                          bool is_output)
{
    region best = {0};
    const ms_operand *operands = &r->trace->operands.items[op->first_operand];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t storage = operands[i].storage;
        if (storage == MS_NONE || r->addresses[storage] == 0 || operands[i].is_output != is_output)
            continue;
        region found = {r->addresses[storage], r->trace->storages.items[storage].bytes};
        bool fits = found.bytes >= bytes, is_larger = found.bytes > best.bytes;
        if (best.bytes >= bytes && best.bytes ? fits && !is_larger : is_larger)
            best = found;
    }
    return best;
}

/* Memory of the replay's own, which stands for tensors that have none. */
static region own_region(const ms_replay_work *r)
{
    const ms_replay_lane *lane = &r->lanes[MS_STREAM_OPERATORS];
    return (region){lane->landing, lane->landing_bytes};
}

static region find_input(const ms_replay_work *r, const ms_op_exec *op, uint64_t bytes)
{
    region found = find_region(r, op, bytes, false);
    if (!found.bytes)
        found = find_region(r, op, bytes, true);
    return found.bytes ? found : own_region(r);
}

static region find_output(const ms_replay_work *r, const ms_op_exec *op, uint64_t bytes)
{
    region found = find_region(r, op, bytes, true);
    return found.bytes ? found : own_region(r);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- products ---- */

static ms_dtype dtype_of(const ms_op_exec *op)
{
    switch ((ms_dtype)op->matmul_dtype) {
    case MS_DTYPE_BF16:
        return MS_DTYPE_BF16;
    case MS_DTYPE_F16:
        return MS_DTYPE_F16;
    case MS_DTYPE_F64:
        return MS_DTYPE_F64;
    case MS_DTYPE_F32:
    case MS_DTYPE_I64:
    case MS_DTYPE_I32:
    case MS_DTYPE_U64:
    case MS_DTYPE_U8:
    case MS_DTYPE_BOOL:
    case MS_DTYPE_C64:
    case MS_DTYPE_COUNT:
        break;
    }
    return MS_DTYPE_F32;
}

/* What of a product fits its tensors at a time: where they are smaller (a packed weight, scores
 * that no tensor holds), it runs in parts of these sizes. False: not even one row. */
static bool cut(const ms_gemm *whole, uint64_t unit, region a, region b, region c,
                ms_backend_product *part)
{
    part->rows = whole->rows;
    part->columns = whole->columns;
    part->inner = least(whole->inner, least(a.bytes, b.bytes) / unit);
    if (part->inner == 0)
        return false;
    part->rows = least(part->rows, a.bytes / unit / part->inner);
    part->columns = least(part->columns, b.bytes / unit / part->inner);
    part->columns = least(part->columns, c.bytes / unit);
    if (part->rows == 0 || part->columns == 0)
        return false;
    part->rows = least(part->rows, c.bytes / unit / part->columns);
    uint64_t batches = a.bytes / unit / (part->rows * part->inner);
    batches = least(batches, b.bytes / unit / (part->inner * part->columns));
    batches = least(batches, c.bytes / unit / (part->rows * part->columns));
    part->batches = least(whole->batches, batches);
    part->a = a.address;
    part->b = b.address;
    part->c = c.address;
    return part->batches > 0;
}

/* More parts than that say nothing of a product's rate. */
enum { MOST_PARTS = 4096 };

static bool has_few_parts(const ms_gemm *whole, const ms_backend_product *most)
{
    const uint64_t sizes[][2] = {{whole->batches, most->batches},
                                 {whole->rows, most->rows},
                                 {whole->inner, most->inner},
                                 {whole->columns, most->columns}};
    uint64_t parts = 1;
    for (int i = 0; i < 4 && parts <= MOST_PARTS; i++) {
        uint64_t more = sizes[i][0] / sizes[i][1] + (sizes[i][0] % sizes[i][1] > 0);
        parts = more <= MOST_PARTS ? parts * more : more;
    }
    return parts <= MOST_PARTS;
}

static ms_status run_part(const ms_replay_work *r, ms_backend_stream *stream,
                          const ms_backend_product *part, ms_error *err)
{
    if (ms_stop_asked(r->stop))
        return ms_fail(err, MS_ERR_STOPPED, "the replay was stopped");
    return r->backend->calls->product(r->backend, stream, part, err);
}

static ms_status run_parts(const ms_replay_work *r, ms_backend_stream *stream, const ms_gemm *whole,
                           const ms_backend_product *most, ms_error *err)
{
    ms_status status = MS_OK;
    ms_backend_product part = *most;
    for (uint64_t n = 0; n < whole->batches; n += most->batches)
        for (uint64_t i = 0; i < whole->rows; i += most->rows)
            for (uint64_t k = 0; k < whole->inner; k += most->inner)
                for (uint64_t j = 0; j < whole->columns && status == MS_OK; j += most->columns) {
                    part.batches = least(most->batches, whole->batches - n);
                    part.rows = least(most->rows, whole->rows - i);
                    part.inner = least(most->inner, whole->inner - k);
                    part.columns = least(most->columns, whole->columns - j);
                    status = run_part(r, stream, &part, err);
                }
    return status;
}

bool ms_replay_operator_fit(const ms_replay_work *r, const ms_op_exec *op, const ms_gemm *whole,
                            ms_backend_product *most)
{
    *most = (ms_backend_product){.dtype = dtype_of(op), .transposed = whole->transposed};
    uint64_t unit = ms_dtype_bytes(most->dtype), n = whole->batches * unit;
    region a = find_input(r, op, n * whole->rows * whole->inner);
    region b = find_input(r, op, n * whole->inner * whole->columns);
    region c = find_output(r, op, n * whole->rows * whole->columns);
    return cut(whole, unit, a, b, c, most) && has_few_parts(whole, most);
}

static ms_status run_product(ms_replay_work *r, const ms_op_exec *op, const ms_gemm *whole,
                             ms_backend_stream *stream, bool *ran, ms_error *err)
{
    ms_backend_product most;
    *ran = ms_replay_operator_fit(r, op, whole, &most);
    if (!*ran)
        return MS_OK;
    r->result->products += op->repeats;
    r->result->product_flops +=
        2 * op->repeats * whole->batches * whole->rows * whole->inner * whole->columns;
    return run_parts(r, stream, whole, &most, err);
}

/* ---- traffic ---- */

static uint64_t bytes_of(const ms_operand *operand)
{
    uint64_t bytes = ms_dtype_bytes((ms_dtype)operand->dtype);
    for (uint32_t i = 0; i < operand->rank; i++)
        bytes *= operand->sizes[i];
    return bytes;
}

static bool overlap(region a, region b)
{
    return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

/* What is read goes to the output where that is another tensor; inputs are never written, as
 * another stream may read them. The replay's own memory stands in where either is so small that it
 * would take many copies. */
static ms_status move(ms_replay_work *r, ms_backend_stream *stream, region from, region output,
                      uint64_t bytes, ms_error *err)
{
    enum { MOST_COPIES = 16 };
    region own = own_region(r);
    uint64_t half = own.bytes / 2;
    bool reads = from.bytes >= bytes / MOST_COPIES && from.bytes > 0;
    bool writes = output.bytes >= bytes / MOST_COPIES && !(reads && overlap(from, output));
    const region source = reads ? from : (region){own.address, half};
    const region target = writes && output.bytes ? output : (region){own.address + half, half};
    const ms_backend_traffic traffic = {source.address, source.bytes, target.address, target.bytes,
                                        2 * bytes};
    return bytes ? r->backend->calls->traffic(r->backend, stream, &traffic, err) : MS_OK;
}

static bool is_of_optimizer(const ms_storage *s)
{
    return s->category == MS_CATEGORY_WEIGHT || s->category == MS_CATEGORY_GRADIENT ||
           s->category == MS_CATEGORY_OPTIMIZER_STATE;
}

/* A step of an optimizer has no operands of its own: it goes through all parameters, a few times
 * at most. What is left then moves in the replay's own memory. */
static ms_status run_update(ms_replay_work *r, ms_backend_stream *stream, uint64_t bytes,
                            ms_error *err)
{
    enum { MOST_ROUNDS = 16 };
    uint64_t left = bytes, before = 0;
    ms_status status = MS_OK;
    for (int round = 0; round < MOST_ROUNDS && left > 0 && left != before && status == MS_OK;
         round++) {
        before = left;
        for (uint32_t i = 0; i < r->trace->storages.count && left > 0 && status == MS_OK; i++) {
            const region from = {r->addresses[i], r->trace->storages.items[i].bytes};
            if (!from.address || !is_of_optimizer(&r->trace->storages.items[i]))
                continue;
            uint64_t part = least(from.bytes, left);
            status = move(r, stream, from, (region){0}, part, err);
            left -= part;
        }
    }
    return status == MS_OK && left < bytes ? move(r, stream, (region){0}, (region){0}, left, err)
                                           : status;
}

/* Half of the traffic is read: each input's own bytes where they lie, and what the operator moves
 * beyond them in the largest. */
static ms_status run_traffic(ms_replay_work *r, const ms_op_exec *op, ms_backend_stream *stream,
                             ms_error *err)
{
    const ms_operand *operands = &r->trace->operands.items[op->first_operand];
    region output = find_region(r, op, UINT64_MAX, true);
    region largest = find_region(r, op, UINT64_MAX, false);
    uint64_t left = op->traffic_bytes / 2;
    ms_status status = MS_OK;
    r->result->traffic_bytes += op->traffic_bytes * op->repeats;
    if (op->operand_count == 0)
        return run_update(r, stream, left, err);
    for (uint32_t i = 0; i < op->operand_count && status == MS_OK; i++) {
        uint32_t storage = operands[i].storage;
        if (operands[i].is_output || storage == MS_NONE || r->addresses[storage] == 0)
            continue;
        const region from = {r->addresses[storage], r->trace->storages.items[storage].bytes};
        uint64_t bytes = least(bytes_of(&operands[i]), left);
        status = move(r, stream, from, output, bytes, err);
        left -= bytes;
    }
    if (status != MS_OK)
        return status;
    if (!largest.bytes && !output.bytes)
        return MS_OK; /* nothing of it is on the device */
    return move(r, stream, largest.bytes ? largest : own_region(r), output, left, err);
}

/* ---- all of it ---- */

ms_status ms_replay_operator_run(ms_replay_work *r, const ms_op_exec *op, ms_backend_stream *stream,
                                 ms_error *err)
{
    ms_status status = MS_OK;
    uint64_t executed = r->result->product_flops;
    uint32_t count = 0;
    r->result->operators += op->repeats;
    for (uint32_t i = 0; i < op->product_count && status == MS_OK; i++) {
        bool ran = false;
        status =
            run_product(r, op, &r->trace->products.items[op->first_product + i], stream, &ran, err);
        count += ran;
    }
    executed = r->result->product_flops - executed;
    if (op->flops * op->repeats > executed)
        r->result->skipped_flops += op->flops * op->repeats - executed;
    return status == MS_OK && count == 0 ? run_traffic(r, op, stream, err) : status;
}
