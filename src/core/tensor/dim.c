/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbols are interned by linear search: a model has a few dozen of them, and operators create new
 * ones only for derived dimensions (a padded length, a fused width).
 */
#include "core/tensor/dim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PRECEDENCE_SUM = 1, PRECEDENCE_PRODUCT = 2, PRECEDENCE_ATOM = 3 };

static uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static bool same(const ms_symbol *a, const ms_symbol *b)
{
    return a->kind == b->kind && a->left == b->left && a->right == b->right &&
           a->value == b->value &&
           (a->text == b->text || (a->text && b->text && strcmp(a->text, b->text) == 0));
}

/* Symbol 0 (the number 1) when out of memory: the figure stays right, the formula would not. */
static ms_dim intern(ms_symbols *symbols, ms_symbol wanted)
{
    for (uint32_t i = 0; i < symbols->table.count; i++)
        if (same(&symbols->table.items[i], &wanted))
            return (ms_dim){wanted.value, i};
    uint32_t index = symbols->table.count;
    if (symbols->is_frozen)
        return (ms_dim){wanted.value, 0};
    if (!ms_vec_push(&symbols->table, wanted)) {
        symbols->ran_out = true;
        index = 0;
    }
    return (ms_dim){wanted.value, index};
}

bool ms_symbols_init(ms_symbols *symbols)
{
    memset(symbols, 0, sizeof *symbols);
    return ms_vec_push(&symbols->table, (ms_symbol){.kind = MS_SYMBOL_NUMBER, .value = 1});
}

void ms_symbols_free(ms_symbols *symbols)
{
    ms_vec_free(&symbols->table);
}

ms_dim ms_dim_number(ms_symbols *symbols, uint64_t value)
{
    return intern(symbols, (ms_symbol){.kind = MS_SYMBOL_NUMBER, .value = value});
}

ms_dim ms_dim_name(ms_symbols *symbols, const char *text, uint64_t value)
{
    return intern(symbols, (ms_symbol){.kind = MS_SYMBOL_NAME, .text = text, .value = value});
}

ms_dim ms_dim_mul(ms_symbols *symbols, ms_dim a, ms_dim b)
{
    if (a.symbol == 0 && a.value == 1)
        return b;
    if (b.symbol == 0 && b.value == 1)
        return a;
    return intern(symbols, (ms_symbol){.kind = MS_SYMBOL_PRODUCT,
                                       .left = a.symbol,
                                       .right = b.symbol,
                                       .value = saturating_mul(a.value, b.value)});
}

ms_dim ms_dim_add(ms_symbols *symbols, ms_dim a, ms_dim b)
{
    const ms_symbol *rest = &symbols->table.items[b.symbol];
    if (rest->kind == MS_SYMBOL_REST && rest->right == a.symbol)
        return (ms_dim){a.value + b.value, rest->left};
    return intern(symbols, (ms_symbol){.kind = MS_SYMBOL_SUM,
                                       .left = a.symbol,
                                       .right = b.symbol,
                                       .value = saturating_add(a.value, b.value)});
}

ms_dim ms_dim_rest(ms_symbols *symbols, ms_dim a, ms_dim b)
{
    return intern(symbols, (ms_symbol){.kind = MS_SYMBOL_REST,
                                       .left = a.symbol,
                                       .right = b.symbol,
                                       .value = a.value - b.value});
}

ms_dim ms_dim_half(ms_symbols *symbols, ms_dim a)
{
    return intern(symbols,
                  (ms_symbol){.kind = MS_SYMBOL_HALF, .left = a.symbol, .value = a.value / 2});
}

ms_dim ms_dim_ceil(ms_symbols *symbols, ms_dim a, uint64_t step)
{
    uint64_t rest = a.value % step;
    if (step > UINT32_MAX)
        return a;
    return intern(symbols,
                  (ms_symbol){.kind = MS_SYMBOL_CEIL,
                              .left = a.symbol,
                              .right = (uint32_t)step,
                              .value = rest ? saturating_add(a.value, step - rest) : a.value});
}

typedef struct printer {
    const ms_symbols *symbols;
    char *out;
    size_t size, length;
} printer;

static void put(printer *p, const char *text)
{
    for (; *text; text++, p->length++)
        if (p->length + 1 < p->size)
            p->out[p->length] = *text;
}

static void print_symbol(printer *p, uint32_t symbol, int outer);

static void print_binary(printer *p, const ms_symbol *s, const char *sign, int precedence,
                         int outer)
{
    put(p, outer > precedence ? "(" : "");
    print_symbol(p, s->left, precedence);
    put(p, sign);
    print_symbol(p, s->right, precedence);
    put(p, outer > precedence ? ")" : "");
}

/* Depth is bounded by how operators nest derived dimensions (a handful), not by input. */
static void print_symbol(printer *p, uint32_t symbol, int outer)
{
    const ms_symbol *s = &p->symbols->table.items[symbol];
    char text[32];
    switch (s->kind) {
    case MS_SYMBOL_NUMBER:
        snprintf(text, sizeof text, "%" PRIu64, s->value);
        put(p, text);
        break;
    case MS_SYMBOL_NAME:
        put(p, s->text);
        break;
    case MS_SYMBOL_PRODUCT:
        print_binary(p, s, "*", PRECEDENCE_PRODUCT, outer);
        break;
    case MS_SYMBOL_SUM:
        print_binary(p, s, " + ", PRECEDENCE_SUM, outer);
        break;
    case MS_SYMBOL_REST: /* what is taken away is one dimension, never a sum */
        print_binary(p, s, " - ", PRECEDENCE_SUM, outer);
        break;
    case MS_SYMBOL_HALF:
        put(p, "half(");
        print_symbol(p, s->left, 0);
        put(p, ")");
        break;
    case MS_SYMBOL_CEIL:
        snprintf(text, sizeof text, "ceil%" PRIu32 "(", s->right);
        put(p, text);
        print_symbol(p, s->left, 0);
        put(p, ")");
        break;
    }
}

size_t ms_symbol_print(const ms_symbols *symbols, uint32_t symbol, char *out, size_t size)
{
    printer p = {.symbols = symbols, .out = out, .size = size};
    print_symbol(&p, symbol, PRECEDENCE_PRODUCT);
    if (size)
        out[p.length < size ? p.length : size - 1] = '\0';
    return p.length;
}
