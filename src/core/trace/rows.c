/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/rows.h"

#include <stddef.h>

#define PLACE(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define NUMBER(type, key, member)                                                                  \
    {                                                                                              \
        key, MS_MEMBER_NUMBER, PLACE(type, member), 0, 0, NULL                                     \
    }
#define BYTES(type, key, member)                                                                   \
    {                                                                                              \
        key, MS_MEMBER_BYTES, PLACE(type, member), 0, 0, NULL                                      \
    }
#define LAYER(type, key, member)                                                                   \
    {                                                                                              \
        key, MS_MEMBER_LAYER, PLACE(type, member), 0, 0, NULL                                      \
    }
#define INDEX(type, key, member, row)                                                              \
    {                                                                                              \
        key, MS_MEMBER_INDEX, PLACE(type, member), 0, row, NULL                                    \
    }
#define INDEX_IF_ANY(type, key, member, row)                                                       \
    {                                                                                              \
        key, MS_MEMBER_INDEX_IF_ANY, PLACE(type, member), 0, row, NULL                             \
    }
#define WORD(type, key, member, words)                                                             \
    {                                                                                              \
        key, MS_MEMBER_WORD, PLACE(type, member), 0, 0, words                                      \
    }
#define DTYPE(type, key, member)                                                                   \
    {                                                                                              \
        key, MS_MEMBER_DTYPE, PLACE(type, member), 0, 0, NULL                                      \
    }
#define FLAG(type, key, member)                                                                    \
    {                                                                                              \
        key, MS_MEMBER_FLAG, PLACE(type, member), 0, 0, NULL                                       \
    }
#define TEXT(type, key, member)                                                                    \
    {                                                                                              \
        key, MS_MEMBER_TEXT, PLACE(type, member), 0, 0, NULL                                       \
    }
#define TEXT_IF_ANY(type, key, member)                                                             \
    {                                                                                              \
        key, MS_MEMBER_TEXT_IF_ANY, PLACE(type, member), 0, 0, NULL                                \
    }
#define SYMBOLS(type)                                                                              \
    {                                                                                              \
        "symbols", MS_MEMBER_INDICES, PLACE(type, symbols), offsetof(type, rank), MS_ROW_SYMBOL,   \
            NULL                                                                                   \
    }
#define SIZES(type)                                                                                \
    {                                                                                              \
        "sizes", MS_MEMBER_SIZES, PLACE(type, sizes), offsetof(type, rank), 0, NULL                \
    }
#define MEMBERS(name, list)                                                                        \
    {                                                                                              \
        name, list, sizeof(list) / sizeof((list)[0])                                               \
    }

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

const ms_members ms_symbol_members = MEMBERS("symbol", symbol_members);
const ms_members ms_scope_members = MEMBERS("scope", scope_members);
const ms_members ms_stream_members = MEMBERS("stream", stream_members);
const ms_members ms_storage_members = MEMBERS("storage", storage_members);
const ms_members ms_mark_members = MEMBERS("mark", mark_members);
const ms_members ms_work_members = MEMBERS("work", work_members);
const ms_members ms_wait_members = MEMBERS("wait", wait_members);
const ms_members ms_use_members = MEMBERS("use", use_members);
const ms_members ms_op_members = MEMBERS("begin", op_members);
const ms_members ms_operand_members = MEMBERS("operand", operand_members);
const ms_members ms_gemm_members = MEMBERS("product", gemm_members);
