/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A dimension is a value and a symbol. Formulas in reports are derived from the symbols, so they
 * always agree with the values.
 */
#ifndef MS_CORE_TENSOR_DIM_H
#define MS_CORE_TENSOR_DIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

typedef enum ms_symbol_kind {
    MS_SYMBOL_NUMBER,  /* left = the number (fits 32 bits) */
    MS_SYMBOL_NAME,    /* text */
    MS_SYMBOL_PRODUCT, /* left * right */
    MS_SYMBOL_SUM,     /* left + right */
    MS_SYMBOL_REST,    /* left - right */
    MS_SYMBOL_HALF,    /* left / 2, exact */
    MS_SYMBOL_CEIL     /* left rounded up to a multiple of right (a number) */
} ms_symbol_kind;

typedef struct ms_symbol {
    ms_symbol_kind kind;
    uint32_t left, right; /* indices into the table, or the number */
    const char *text;     /* static, or owned by an arena */
    uint64_t value;
} ms_symbol;

/* Interned symbols; index 0 is the number 1. Owned by the tape. */
typedef struct ms_symbols {
    ms_vec(ms_symbol) table;
    bool ran_out;   /* out of memory: formulas are wrong */
    bool is_frozen; /* nobody wants formulas any more: what is new has the value alone */
} ms_symbols;

typedef struct ms_dim {
    uint64_t value;
    uint32_t symbol;
} ms_dim;

bool ms_symbols_init(ms_symbols *symbols);
void ms_symbols_free(ms_symbols *symbols);

/* These intern symbols: the same arguments yield the same symbol. When out of memory they yield a
 * plain number. Values saturate at UINT64_MAX (sizes are checked where bytes are computed). */
ms_dim ms_dim_number(ms_symbols *symbols, uint64_t value);
ms_dim ms_dim_name(ms_symbols *symbols, const char *text, uint64_t value);
ms_dim ms_dim_mul(ms_symbols *symbols, ms_dim a, ms_dim b);
ms_dim ms_dim_add(ms_symbols *symbols, ms_dim a, ms_dim b);
/* a - b, where b is no more than a; adding b to it again yields a. */
ms_dim ms_dim_rest(ms_symbols *symbols, ms_dim a, ms_dim b);
ms_dim ms_dim_half(ms_symbols *symbols, ms_dim a);
ms_dim ms_dim_ceil(ms_symbols *symbols, ms_dim a, uint64_t step);

/* Writes e.g. "B", "(Hq + 2*Hk)*D", "ceil128(S)"; always terminated. Returns the length needed. */
size_t ms_symbol_print(const ms_symbols *symbols, uint32_t symbol, char *out, size_t size);

#endif
