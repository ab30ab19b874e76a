/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A cell of a table: a value with its kind, which each renderer writes in its own way.
 */
#ifndef MS_REPORT_KIT_TREE_CELL_H
#define MS_REPORT_KIT_TREE_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/kit/page.h"

typedef enum ms_cell_kind {
    MS_CELL_NONE,    /* nothing stands there */
    MS_CELL_TEXT,    /* a name, or words */
    MS_CELL_CODE,    /* a text as files and options have it */
    MS_CELL_VERDICT, /* "fits", "tight", "unknown", "no", or "error", in colour on the console */
    MS_CELL_GIB,     /* bytes, under a heading with the unit GiB */
    MS_CELL_BYTES,   /* bytes, in the unit that suits them */
    MS_CELL_SIZE,    /* the same, rounded as on a page */
    MS_CELL_EXACT,   /* bytes, in bytes; on a page in the unit that suits them */
    MS_CELL_CHANGE,  /* bytes more or less, in the unit that suits them, with a sign */
    MS_CELL_SIGNED,  /* bytes more or less, in bytes, with a sign */
    MS_CELL_COUNT,
    MS_CELL_NUMBER, /* a time, a rate or a ratio, with `decimals`; NaN: none */
    MS_CELL_EVEN    /* the same, where a half is rounded as printf does; no NaN */
} ms_cell_kind;

typedef struct ms_cell {
    ms_cell_kind kind;
    bool has_tone;
    ms_tone tone; /* on the console */
    bool is_less; /* of a change: `count` bytes less */
    const char *text;
    const char *unit; /* " ms", after a number or GiB; NULL: it is in the heading */
    uint64_t count;
    double number;
    uint32_t decimals;
    uint32_t fewer; /* decimals that the console does without */
} ms_cell;

static inline ms_cell ms_cell_none(void)
{
    return (ms_cell){.kind = MS_CELL_NONE};
}

static inline bool ms_cell_has_text(const ms_cell *cell)
{
    return cell->kind >= MS_CELL_TEXT && cell->kind <= MS_CELL_VERDICT;
}

/* A NULL text means that memory ran out. */
static inline ms_cell ms_cell_text(const char *text)
{
    return (ms_cell){.kind = MS_CELL_TEXT, .text = text};
}

static inline ms_cell ms_cell_code(const char *text)
{
    return (ms_cell){.kind = MS_CELL_CODE, .text = text};
}

static inline ms_cell ms_cell_verdict(const char *text)
{
    return (ms_cell){.kind = MS_CELL_VERDICT, .text = text};
}

static inline ms_cell ms_cell_gib(uint64_t bytes)
{
    return (ms_cell){.kind = MS_CELL_GIB, .count = bytes};
}

static inline ms_cell ms_cell_bytes(uint64_t bytes)
{
    return (ms_cell){.kind = MS_CELL_BYTES, .count = bytes};
}

/* The same with at most as many decimals as tell (ms_bytes_text). */
static inline ms_cell ms_cell_size(uint64_t bytes)
{
    return (ms_cell){.kind = MS_CELL_SIZE, .count = bytes};
}

static inline ms_cell ms_cell_exact(uint64_t bytes)
{
    return (ms_cell){.kind = MS_CELL_EXACT, .count = bytes};
}

static inline ms_cell ms_cell_count(uint64_t count)
{
    return (ms_cell){.kind = MS_CELL_COUNT, .count = count};
}

static inline ms_cell ms_cell_number(double number, uint32_t decimals)
{
    return (ms_cell){.kind = MS_CELL_NUMBER, .number = number, .decimals = decimals};
}

/* The same with `fewer` decimals on the console. */
static inline ms_cell ms_cell_rounded(double number, uint32_t decimals, uint32_t fewer)
{
    return (ms_cell){
        .kind = MS_CELL_NUMBER, .number = number, .decimals = decimals, .fewer = fewer};
}

static inline ms_cell ms_cell_even(double number, uint32_t decimals, const char *unit)
{
    return (ms_cell){.kind = MS_CELL_EVEN, .number = number, .decimals = decimals, .unit = unit};
}

/* From `a` bytes to `b`. */
static inline ms_cell ms_cell_change(ms_cell_kind kind, uint64_t a, uint64_t b)
{
    return (ms_cell){.kind = kind, .is_less = b < a, .count = b < a ? a - b : b - a};
}

/* The cell as the console and Markdown have it: its text, or `text` filled. */
enum { MS_CELL_BYTES_OF_TEXT = 80 };
const char *ms_cell_words(const ms_cell *cell, char text[MS_CELL_BYTES_OF_TEXT]);

/* Writes the cell as a <td>; `is_figure`: of a column that is set to the right. */
void ms_cell_html(FILE *out, const ms_cell *cell, bool is_figure);

#endif
