/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows as JSON objects. One table of members both writes and reads a row, so that the two always
 * agree. core/trace/rows.h has the tables.
 */
#ifndef MS_CORE_TRACE_MEMBERS_H
#define MS_CORE_TRACE_MEMBERS_H

#include "base/json/value.h"
#include "base/json/write.h"
#include "core/trace/words.h"

typedef enum ms_member_kind {
    MS_MEMBER_NUMBER,       /* an unsigned integer of `size` bytes */
    MS_MEMBER_BYTES,        /* at most 2^62 */
    MS_MEMBER_LAYER,        /* a number, or MS_NONE: null */
    MS_MEMBER_INDEX,        /* of a row */
    MS_MEMBER_INDEX_IF_ANY, /* or MS_NONE: null */
    MS_MEMBER_WORD,
    MS_MEMBER_DTYPE,
    MS_MEMBER_FLAG,
    MS_MEMBER_TEXT,
    MS_MEMBER_TEXT_IF_ANY, /* or NULL: null */
    MS_MEMBER_INDICES,     /* `rank` of them */
    MS_MEMBER_SIZES        /* as many as the indices before it */
} ms_member_kind;

/* The table that an index refers to. */
typedef enum ms_row_kind {
    MS_ROW_NAME,
    MS_ROW_SYMBOL,
    MS_ROW_SCOPE,
    MS_ROW_STREAM,
    MS_ROW_STORAGE,
    MS_ROW_OP,
    MS_ROW_WORK,
    MS_ROW_KINDS
} ms_row_kind;

typedef struct ms_member {
    const char *key;
    ms_member_kind kind;
    uint16_t offset, size, rank_offset;
    ms_row_kind row;
    const ms_words *words;
} ms_member;

typedef struct ms_members {
    const char *name; /* "storage": the kind of the line */
    const ms_member *items;
    uint32_t count;
} ms_members;

/* Writes the members of the row into an open object. */
void ms_members_write(ms_json_writer *w, const ms_members *members, const void *row);

/* Fills a zeroed row. `rows` has the number of rows of each kind, which bounds indices. Texts
 * belong to the document. An error has the place in the file. */
ms_status ms_members_read(const ms_members *members, ms_json_value object,
                          const uint32_t rows[MS_ROW_KINDS], void *row, ms_error *err);

/* ---- rows ---- */

/* The members of each kind of row of a trace; schemas/trace.schema.json documents them. */

extern const ms_members ms_symbol_members;  /* ms_symbol */
extern const ms_members ms_scope_members;   /* ms_scope */
extern const ms_members ms_stream_members;  /* ms_stream */
extern const ms_members ms_storage_members; /* ms_storage */
extern const ms_members ms_mark_members;    /* ms_mark */
extern const ms_members ms_work_members;    /* ms_work */
extern const ms_members ms_wait_members;    /* ms_wait */
extern const ms_members ms_use_members;     /* ms_use */
extern const ms_members ms_op_members;      /* ms_op_exec without its operands and products */
extern const ms_members ms_operand_members; /* ms_operand */
extern const ms_members ms_gemm_members;    /* ms_gemm */

#endif
