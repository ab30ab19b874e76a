/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/members.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "core/tensor/dtype.h"

/* ---- rows ---- */

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

/* ---- members ---- */

enum { MOST_LAYERS = 1 << 20 };

/* ---- a member's place in its row ---- */

static uint64_t load(const ms_member *m, const void *row)
{
    const char *at = (const char *)row + m->offset;
    uint64_t wide = 0;
    uint32_t word = 0;
    uint16_t half = 0;
    switch (m->size) {
    case sizeof wide:
        return memcpy(&wide, at, sizeof wide), wide;
    case sizeof word:
        return memcpy(&word, at, sizeof word), word;
    case sizeof half:
        return memcpy(&half, at, sizeof half), half;
    default:
        return *(const uint8_t *)at;
    }
}

static void store(const ms_member *m, void *row, uint64_t value)
{
    char *at = (char *)row + m->offset;
    const uint32_t word = (uint32_t)value;
    const uint16_t half = (uint16_t)value;
    const uint8_t byte = (uint8_t)value;
    switch (m->size) {
    case sizeof value:
        memcpy(at, &value, sizeof value);
        break;
    case sizeof word:
        memcpy(at, &word, sizeof word);
        break;
    case sizeof half:
        memcpy(at, &half, sizeof half);
        break;
    default:
        memcpy(at, &byte, sizeof byte);
    }
}

static uint8_t *rank_of(const ms_member *m, void *row)
{
    return (uint8_t *)row + m->rank_offset;
}

/* The i-th of a list. */
static ms_member item_of(const ms_member *m, uint32_t i)
{
    ms_member item = *m;
    item.size = (uint16_t)(m->size / MS_MAX_RANK);
    item.offset = (uint16_t)(m->offset + i * item.size);
    return item;
}

/* ---- writing ---- */

static void write_list(ms_json_writer *w, const ms_member *m, const void *row)
{
    uint8_t rank = *((const uint8_t *)row + m->rank_offset);
    ms_json_array(w, m->key);
    for (uint32_t i = 0; i < rank; i++) {
        const ms_member item = item_of(m, i);
        ms_json_uint(w, NULL, load(&item, row));
    }
    ms_json_close(w);
}

static void write_text(ms_json_writer *w, const ms_member *m, const void *row)
{
    const char *text;
    memcpy(&text, (const char *)row + m->offset, sizeof text);
    ms_json_string(w, m->key, text);
}

static void write_member(ms_json_writer *w, const ms_member *m, const void *row)
{
    switch (m->kind) {
    case MS_MEMBER_NUMBER:
    case MS_MEMBER_BYTES:
    case MS_MEMBER_INDEX:
        ms_json_uint(w, m->key, load(m, row));
        break;
    case MS_MEMBER_LAYER:
    case MS_MEMBER_INDEX_IF_ANY:
        if (load(m, row) == MS_NONE)
            ms_json_null(w, m->key);
        else
            ms_json_uint(w, m->key, load(m, row));
        break;
    case MS_MEMBER_WORD:
        ms_json_string(w, m->key, m->words->items[load(m, row)]);
        break;
    case MS_MEMBER_DTYPE:
        ms_json_string(w, m->key, ms_dtype_info_of((ms_dtype)load(m, row))->name);
        break;
    case MS_MEMBER_FLAG:
        ms_json_bool(w, m->key, load(m, row));
        break;
    case MS_MEMBER_TEXT:
    case MS_MEMBER_TEXT_IF_ANY:
        write_text(w, m, row);
        break;
    case MS_MEMBER_INDICES:
    case MS_MEMBER_SIZES:
        write_list(w, m, row);
        break;
    }
}

void ms_members_write(ms_json_writer *w, const ms_members *members, const void *row)
{
    for (uint32_t i = 0; i < members->count; i++)
        write_member(w, &members->items[i], row);
}

/* ---- reading ---- */

static const char *const row_names[] = {
    [MS_ROW_NAME] = "names",          [MS_ROW_SYMBOL] = "symbols",   [MS_ROW_SCOPE] = "scopes",
    [MS_ROW_STREAM] = "streams",      [MS_ROW_STORAGE] = "storages", [MS_ROW_OP] = "operators",
    [MS_ROW_WORK] = "pieces of work",
};

static ms_status read_count(const ms_member *m, ms_json_value v, uint64_t most, void *row,
                            ms_error *err)
{
    uint64_t count = 0;
    ms_status status = ms_json_get_count(v, 0, most, &count, err);
    store(m, row, count);
    return status;
}

static ms_status read_index(const ms_member *m, ms_json_value v, const uint32_t *rows, void *row,
                            ms_error *err)
{
    uint64_t index = 0;
    ms_status status = ms_json_get_count(v, 0, UINT64_MAX, &index, err);
    if (status == MS_OK && index >= rows[m->row])
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "there is no number %" PRIu64 " here: the trace has %" PRIu32 " %s",
                            index, rows[m->row], row_names[m->row]);
    store(m, row, index);
    return status;
}

static ms_status read_word(const ms_member *m, ms_json_value v, void *row, ms_error *err)
{
    const char *text;
    ms_dtype dtype = MS_DTYPE_COUNT;
    ms_status status = ms_json_get_string(v, &text, err);
    if (status != MS_OK)
        return status;
    bool is_known =
        m->words ? ms_words_find(m->words, text) < m->words->count : ms_dtype_parse(text, &dtype);
    if (!is_known)
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no such %s in a trace",
                            m->key);
    store(m, row, m->words ? ms_words_find(m->words, text) : dtype);
    return MS_OK;
}

static ms_status read_text(const ms_member *m, ms_json_value v, void *row, ms_error *err)
{
    const char *text = NULL;
    ms_status status = ms_json_get_string(v, &text, err);
    memcpy((char *)row + m->offset, &text, sizeof text);
    return status;
}

/* Of sizes as many as there were indices. */
static ms_status read_list(const ms_member *m, ms_json_value v, const uint32_t *rows, void *row,
                           ms_error *err)
{
    ms_status status = ms_json_expect(v, MS_JSON_ARRAY, err);
    uint32_t length = status == MS_OK ? ms_json_length(v) : 0;
    if (status == MS_OK && length > MS_MAX_RANK)
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%" PRIu32 " dimensions, and no tensor has more than %d", length,
                            MS_MAX_RANK);
    if (status == MS_OK && m->kind == MS_MEMBER_SIZES && length != *rank_of(m, row))
        return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%" PRIu32 " sizes, but %d symbols", length, *rank_of(m, row));
    *rank_of(m, row) = (uint8_t)length;
    ms_json_value at;
    uint32_t i = 0;
    for (bool more = length && ms_json_first(v, &at); more && status == MS_OK;
         more = ms_json_next(&at), i++) {
        const ms_member item = item_of(m, i);
        status = m->kind == MS_MEMBER_SIZES ? read_count(&item, at, UINT64_MAX, row, err)
                                            : read_index(&item, at, rows, row, err);
    }
    return status;
}

static uint64_t most_of(const ms_member *m)
{
    return m->kind == MS_MEMBER_BYTES ? UINT64_C(1) << 62 : UINT64_MAX >> (64 - 8 * m->size);
}

static ms_status read_member(const ms_member *m, ms_json_value v, const uint32_t *rows, void *row,
                             ms_error *err)
{
    bool is_null = ms_json_kind_of(v) == MS_JSON_NULL, truth = false;
    ms_status status;
    switch (m->kind) {
    case MS_MEMBER_NUMBER:
    case MS_MEMBER_BYTES:
        return read_count(m, v, most_of(m), row, err);
    case MS_MEMBER_LAYER:
        store(m, row, MS_NONE);
        return is_null ? MS_OK : read_count(m, v, MOST_LAYERS, row, err);
    case MS_MEMBER_INDEX:
        return read_index(m, v, rows, row, err);
    case MS_MEMBER_INDEX_IF_ANY:
        store(m, row, MS_NONE);
        return is_null ? MS_OK : read_index(m, v, rows, row, err);
    case MS_MEMBER_WORD:
    case MS_MEMBER_DTYPE:
        return read_word(m, v, row, err);
    case MS_MEMBER_FLAG:
        status = ms_json_get_bool(v, &truth, err);
        store(m, row, truth);
        return status;
    case MS_MEMBER_TEXT:
        return read_text(m, v, row, err);
    case MS_MEMBER_TEXT_IF_ANY:
        return is_null ? MS_OK : read_text(m, v, row, err);
    case MS_MEMBER_INDICES:
    case MS_MEMBER_SIZES:
        return read_list(m, v, rows, row, err);
    }
    return MS_ERR_INTERNAL;
}

ms_status ms_members_read(const ms_members *members, ms_json_value object,
                          const uint32_t rows[MS_ROW_KINDS], void *row, ms_error *err)
{
    ms_status status = ms_json_expect(object, MS_JSON_OBJECT, err);
    for (uint32_t i = 0; i < members->count && status == MS_OK; i++) {
        ms_json_value v;
        status = ms_json_get_member(object, members->items[i].key, &v, err);
        if (status == MS_OK)
            status = read_member(&members->items[i], v, rows, row, err);
    }
    return status;
}
