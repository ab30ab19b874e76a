/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a name of a text can have while a model runs: Python's values, as far as memory depends on
 * them. A list has a reference for each of its items, and floats until a name or another list has
 * it, as tensors do (torch/autograd/tape.h).
 */
#ifndef MS_MODEL_EVALUATOR_VALUE_H
#define MS_MODEL_EVALUATOR_VALUE_H

#include "core/tensor/dim.h"
#include "torch/autograd/tape.h"

typedef enum ms_value_kind {
    MS_VALUE_NONE,
    MS_VALUE_TENSOR,
    MS_VALUE_NUMBER, /* or a truth */
    MS_VALUE_TEXT,
    MS_VALUE_TYPE, /* of elements: `number` is an ms_dtype */
    MS_VALUE_LIST, /* or a tuple, or a dict */
    MS_VALUE_MODULE
} ms_value_kind;

typedef struct ms_items ms_items;
struct ms_object;
struct ms_family_part;

typedef struct ms_value {
    ms_value_kind kind;
    bool is_dim; /* MS_VALUE_NUMBER: `dim` has its symbol */
    ms_tensor tensor;
    double number;
    ms_dim dim;
    union {
        const char *text;
        ms_items *items;
        struct {
            struct ms_family_part *part;
            struct ms_object *object; /* NULL: the part is none of a class of the text */
        };
    };
} ms_value;

struct ms_items {
    uint32_t refs, count, capacity;
    uint32_t depth; /* of lists in lists */
    uint32_t held;  /* how often lists have it: then it gets no list more, so that depths hold */
    bool is_dict;
    ms_value *values;
    const char **names; /* of a dict's values */
    ms_items *next;     /* in the list of those that are free */
};

/* Lists that are free, by capacity, from 8 on, each eight times the one before. What texts make has
 * no more than MS_ITEMS_MOST; functions of memscope make longer ones. */
enum { MS_ITEMS_KINDS = 8, MS_ITEMS_MOST = 512, MS_ITEMS_DEPTH = 32 };
typedef struct ms_items_pool {
    ms_arena *arena;
    ms_items *free[MS_ITEMS_KINDS];
} ms_items_pool;

static inline ms_value ms_value_of_tensor(ms_tensor tensor)
{
    return (ms_value){.kind = tensor ? MS_VALUE_TENSOR : MS_VALUE_NONE, .tensor = tensor};
}

static inline ms_value ms_value_of_number(double number)
{
    return (ms_value){.kind = MS_VALUE_NUMBER, .number = number};
}

static inline ms_value ms_value_of_dim(ms_dim dim)
{
    return (ms_value){
        .kind = MS_VALUE_NUMBER, .number = (double)dim.value, .is_dim = true, .dim = dim};
}

static inline ms_value ms_value_of_type(ms_dtype dtype)
{
    return (ms_value){.kind = MS_VALUE_TYPE, .number = dtype};
}

/* A new list, which floats; NULL: out of memory, or of more than MS_ITEMS_MOST values. */
ms_items *ms_items_new(ms_items_pool *pool, uint32_t count);
/* The same of any number, for functions of memscope. */
ms_items *ms_items_room(ms_items_pool *pool, uint32_t count);
/* The list grows by a value, of which it gets a reference; false: it has too many, or they are
 * nested too deep, or the value is a list and this one is in a list itself. */
bool ms_items_add(ms_tape *tape, ms_items_pool *pool, ms_items *items, ms_value value,
                  const char *name);

/* Another value takes the place of the i-th; false as above. */
bool ms_items_set(ms_tape *tape, ms_items_pool *pool, ms_items *items, uint32_t i, ms_value value);

/* As ms_retain, ms_release, ms_unown and ms_consume for tensors. */
void ms_value_retain(ms_tape *tape, ms_value value);
void ms_value_release(ms_tape *tape, ms_items_pool *pool, ms_value value);
ms_value ms_value_unown(ms_tape *tape, ms_value value);
void ms_value_consume(ms_tape *tape, ms_items_pool *pool, ms_value value);

#endif
