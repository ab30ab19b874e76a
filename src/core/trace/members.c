/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/members.h"

#include <inttypes.h>

#include "core/tensor/dtype.h"

/* ---- rows ---- */

#define NUMBER MS_MEMBER
#define FLAG MS_MEMBER
#define TEXT MS_MEMBER
#define TEXT_IF_ANY(type, key, member) MS_MEMBER(type, key, member, .rules = MS_OR_NULL)
#define BYTES(type, key, member) MS_MEMBER(type, key, member, .most = UINT64_C(1) << 62)
#define LAYER(type, key, member)                                                                   \
    MS_MEMBER(type, key, member, .rules = MS_OR_NULL | MS_NONE_IS_MAX, .most = 1 << 20)
#define INDEX(type, key, member, row)                                                              \
    MS_MEMBER(type, key, member, .most = UINT64_MAX, .check = (row))
#define INDEX_IF_ANY(type, key, member, row)                                                       \
    MS_MEMBER(type, key, member, .rules = MS_OR_NULL | MS_NONE_IS_MAX, .most = UINT64_MAX,         \
              .check = (row))
#define WORD(type, key, member, names) MS_MEMBER(type, key, member, .words = (names))
#define DTYPE(type, key, member) MS_MEMBER(type, key, member, .words = &ms_dtype_words)
#define SYMBOLS(type)                                                                              \
    MS_ROWS(type, "symbols", symbols, rank, &plain_symbols, .rules = MS_INSIDE,                    \
            .check = MS_ROW_DIMENSIONS)
#define SIZES(type)                                                                                \
    MS_ROWS(type, "sizes", sizes, rank, &plain_sizes, .rules = MS_INSIDE, .check = MS_ROW_SIZES)

typedef struct plain_symbol {
    uint32_t symbol;
} plain_symbol;
typedef struct plain_size {
    uint64_t size;
} plain_size;
static const ms_member symbol_items[] = {INDEX(plain_symbol, "", symbol, MS_ROW_SYMBOL)};
static const ms_member size_items[] = {NUMBER(plain_size, "", size)};
static const ms_members plain_symbols = MS_MEMBERS(plain_symbol, symbol_items, .is_plain = true);
static const ms_members plain_sizes = MS_MEMBERS(plain_size, size_items, .is_plain = true);

static const ms_member symbol_members[] = {
    WORD(ms_symbol, "kind", kind, &ms_symbol_words),
    NUMBER(ms_symbol, "left", left),
    NUMBER(ms_symbol, "right", right),
    TEXT_IF_ANY(ms_symbol, "text", text),
    NUMBER(ms_symbol, "value", value),
};

static const ms_member scope_members[] = {
    INDEX_IF_ANY(ms_scope, "parent", parent, MS_ROW_SCOPE),
    INDEX(ms_scope, "name", name, MS_ROW_NAME),
    LAYER(ms_scope, "layer", layer),
};

static const ms_member stream_members[] = {
    WORD(ms_stream, "kind", kind, &ms_stream_words),
    WORD(ms_stream, "link", link, &ms_link_words),
    INDEX(ms_stream, "name", name, MS_ROW_NAME),
};

static const ms_member storage_members[] = {
    BYTES(ms_storage, "bytes", bytes),
    DTYPE(ms_storage, "dtype", dtype),
    SYMBOLS(ms_storage),
    WORD(ms_storage, "category", category, &ms_category_words),
    FLAG(ms_storage, "saved", saved),
    INDEX(ms_storage, "name", name, MS_ROW_NAME),
    INDEX_IF_ANY(ms_storage, "scope", scope, MS_ROW_SCOPE),
    INDEX_IF_ANY(ms_storage, "op", op, MS_ROW_OP),
    INDEX(ms_storage, "stream", stream, MS_ROW_STREAM),
    INDEX_IF_ANY(ms_storage, "same_as", same_as, MS_ROW_STORAGE),
};

static const ms_member mark_members[] = {
    FLAG(ms_mark, "begin", begin),       WORD(ms_mark, "phase", phase, &ms_phase_words),
    NUMBER(ms_mark, "step", step),       NUMBER(ms_mark, "micro_step", micro_step),
    NUMBER(ms_mark, "repeats", repeats),
};

static const ms_member work_members[] = {
    WORD(ms_work, "kind", kind, &ms_work_words),
    INDEX(ms_work, "stream", stream, MS_ROW_STREAM),
    INDEX_IF_ANY(ms_work, "source", source, MS_ROW_STORAGE),
    INDEX_IF_ANY(ms_work, "target", target, MS_ROW_STORAGE),
    BYTES(ms_work, "bytes", bytes),
    LAYER(ms_work, "group", group),
    INDEX_IF_ANY(ms_work, "after", after, MS_ROW_WORK),
    LAYER(ms_work, "layer", layer),
};

static const ms_member wait_members[] = {
    INDEX(ms_wait, "stream", stream, MS_ROW_STREAM),
    INDEX(ms_wait, "work", work, MS_ROW_WORK),
};

static const ms_member use_members[] = {
    INDEX(ms_use, "storage", storage, MS_ROW_STORAGE),
    INDEX(ms_use, "stream", stream, MS_ROW_STREAM),
};

static const ms_member op_members[] = {
    TEXT(ms_op_exec, "name", name),
    INDEX_IF_ANY(ms_op_exec, "scope", scope, MS_ROW_SCOPE),
    WORD(ms_op_exec, "pass", pass, &ms_pass_words),
    WORD(ms_op_exec, "phase", phase, &ms_phase_words),
    NUMBER(ms_op_exec, "flops", flops),
    NUMBER(ms_op_exec, "traffic_bytes", traffic_bytes),
    DTYPE(ms_op_exec, "dtype", matmul_dtype),
    NUMBER(ms_op_exec, "repeats", repeats),
};

static const ms_member operand_members[] = {
    INDEX_IF_ANY(ms_operand, "storage", storage, MS_ROW_STORAGE),
    SYMBOLS(ms_operand),
    SIZES(ms_operand),
    DTYPE(ms_operand, "dtype", dtype),
    FLAG(ms_operand, "output", is_output),
};

static const ms_member gemm_members[] = {
    NUMBER(ms_gemm, "batches", batches),     NUMBER(ms_gemm, "rows", rows),
    NUMBER(ms_gemm, "inner", inner),         NUMBER(ms_gemm, "columns", columns),
    FLAG(ms_gemm, "transposed", transposed),
};

const ms_members ms_symbol_members = MS_MEMBERS(ms_symbol, symbol_members, .name = "symbol");
const ms_members ms_scope_members = MS_MEMBERS(ms_scope, scope_members, .name = "scope");
const ms_members ms_stream_members = MS_MEMBERS(ms_stream, stream_members, .name = "stream");
const ms_members ms_storage_members = MS_MEMBERS(ms_storage, storage_members, .name = "storage");
const ms_members ms_mark_members = MS_MEMBERS(ms_mark, mark_members, .name = "mark");
const ms_members ms_work_members = MS_MEMBERS(ms_work, work_members, .name = "work");
const ms_members ms_wait_members = MS_MEMBERS(ms_wait, wait_members, .name = "wait");
const ms_members ms_use_members = MS_MEMBERS(ms_use, use_members, .name = "use");
const ms_members ms_op_members = MS_MEMBERS(ms_op_exec, op_members, .name = "begin");
const ms_members ms_operand_members = MS_MEMBERS(ms_operand, operand_members, .name = "operand");
const ms_members ms_gemm_members = MS_MEMBERS(ms_gemm, gemm_members, .name = "product");

/* ---- reading ---- */

static const char *const row_names[] = {
    [MS_ROW_NAME] = "names",          [MS_ROW_SYMBOL] = "symbols",   [MS_ROW_SCOPE] = "scopes",
    [MS_ROW_STREAM] = "streams",      [MS_ROW_STORAGE] = "storages", [MS_ROW_OP] = "operators",
    [MS_ROW_WORK] = "pieces of work",
};

static ms_status check_member(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                              uint64_t count, const void *row)
{
    const uint32_t *rows = r->context;
    const uint8_t rank = *((const uint8_t *)row + m->count.offset);
    if (m->check < MS_ROW_KINDS && count >= rows[m->check])
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "there is no number %" PRIu64 ": the trace has %" PRIu32 " %s", count,
                            rows[m->check], row_names[m->check]);
    if (m->check >= MS_ROW_KINDS && count > MS_MAX_RANK)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "found %" PRIu64 " dimensions, but a tensor has at most %d", count,
                            MS_MAX_RANK);
    if (m->check == MS_ROW_SIZES && count != rank)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%" PRIu64 " sizes, but %d symbols", count, rank);
    return MS_OK;
}

ms_status ms_trace_row_read(const ms_members *members, ms_json_value object,
                            const uint32_t rows[MS_ROW_KINDS], void *row, ms_error *err)
{
    const ms_members_reading reading = {
        .what = "a trace", .check = check_member, .context = rows, .err = err};
    return ms_members_read(&reading, members, object, row);
}
