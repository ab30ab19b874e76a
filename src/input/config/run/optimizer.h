/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizers of a run: names, implementations, devices. What each allocates is in step/.
 */
#ifndef MS_INPUT_CONFIG_RUN_OPTIMIZER_H
#define MS_INPUT_CONFIG_RUN_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/config/run/optimizer_list.h"

typedef enum ms_optimizer_kind {
#define MS_OPTIMIZER_KIND(kind, name, implementations, usual, decay, everywhere)                   \
    MS_OPTIMIZER_##kind,
    MS_OPTIMIZER_LIST(MS_OPTIMIZER_KIND)
#undef MS_OPTIMIZER_KIND
        MS_OPTIMIZER_COUNT
} ms_optimizer_kind;

typedef enum ms_optimizer_impl {
    MS_OPTIMIZER_FUSED,
    MS_OPTIMIZER_FOREACH,
    MS_OPTIMIZER_LOOP,
    MS_OPTIMIZER_IMPL_COUNT
} ms_optimizer_impl;

typedef struct ms_optimizer_traits {
    const char *name;
    uint8_t implementations; /* bit i: implementation i exists on a GPU */
    ms_optimizer_impl usual; /* the default implementation */
    double weight_decay;     /* the default */
    bool is_everywhere;      /* available on the CPU, and on the host of a GPU */
} ms_optimizer_traits;

const ms_optimizer_traits *ms_optimizer_traits_of(ms_optimizer_kind kind);
bool ms_optimizer_has(ms_optimizer_kind kind, ms_optimizer_impl implementation);

/* By ms_optimizer_kind and ms_optimizer_impl; NULL past the last. */
extern const char *const ms_optimizer_names[];
extern const char *const ms_optimizer_impl_names[];

/* "foreach or loop" */
const char *ms_optimizer_implementations_text(ms_optimizer_kind kind, char *out, size_t size);

#endif
