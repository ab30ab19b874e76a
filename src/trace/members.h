/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows as JSON objects: a table of members writes a row and reads it, so that the two cannot
 * disagree. trace/rows.h has the tables.
 */
#ifndef MS_TRACE_MEMBERS_H
#define MS_TRACE_MEMBERS_H

#include "json/value.h"
#include "json/write.h"
#include "trace/words.h"

typedef enum ms_member_kind {
    MS_MEMBER_NUMBER,       /* of the member's own size */
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

/* What an index counts. */
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

/* The members of the row, into an object that is open. */
void ms_members_write(ms_json_writer *w, const ms_members *members, const void *row);

/* Fills a row that is zero. `rows` are how many there are of each kind: an index is less. Texts are
 * the document's. The message says where what is wrong stands. */
ms_status ms_members_read(const ms_members *members, ms_json_value object,
                          const uint32_t rows[MS_ROW_KINDS], void *row, ms_error *err);

#endif
