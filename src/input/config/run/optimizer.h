/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizers of a run: names, implementations, devices. What each allocates is in step/.
 */
#ifndef MS_INPUT_CONFIG_RUN_OPTIMIZER_H
#define MS_INPUT_CONFIG_RUN_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_IMPLEMENTED(implementation) (1U << MS_OPTIMIZER_##implementation)
#define MS_IMPLEMENTED_AS_LISTS (MS_IMPLEMENTED(FOREACH) | MS_IMPLEMENTED(LOOP))
#define MS_IMPLEMENTED_ALL (MS_IMPLEMENTED(FUSED) | MS_IMPLEMENTED_AS_LISTS)

/* kind, name, implementations on a GPU, default implementation, default weight decay, everywhere
 * (else only on a GPU). The optimizers of bitsandbytes count as "fused": one kernel per parameter.
 * "trainer-": as Trainer creates it, with 32-bit states for embeddings. */
/* clang-format off */
#define MS_OPTIMIZER_LIST(X)                                                                             \
    X(ADAMW,                    "adamw",                    MS_IMPLEMENTED_ALL,      FUSED,   0.01, true)\
    X(ADAM,                     "adam",                     MS_IMPLEMENTED_ALL,      FUSED,   0,    true)\
    X(SGD,                      "sgd",                      MS_IMPLEMENTED_ALL,      FUSED,   0,    true)\
    X(SGD_MOMENTUM,             "sgd-momentum",             MS_IMPLEMENTED_ALL,      FUSED,   0,    true)\
    X(RMSPROP,                  "rmsprop",                  MS_IMPLEMENTED_AS_LISTS, FOREACH, 0,    false)\
    X(ADAGRAD,                  "adagrad",                  MS_IMPLEMENTED_AS_LISTS, FOREACH, 0,    false)\
    X(ADAFACTOR,                "adafactor",                MS_IMPLEMENTED(LOOP),    LOOP,    0,    false)\
    X(ADAFACTOR_TORCH,          "adafactor-torch",          MS_IMPLEMENTED_AS_LISTS, LOOP,    0.01, false)\
    X(MUON,                     "muon",                     MS_IMPLEMENTED_ALL,      FUSED,   0.1,  false)\
    X(LION,                     "lion",                     MS_IMPLEMENTED(FUSED),   FUSED,   0,    false)\
    X(LION_8BIT,                "lion-8bit",                MS_IMPLEMENTED(FUSED),   FUSED,   0,    false)\
    X(PAGED_LION,               "paged-lion",               MS_IMPLEMENTED(FUSED),   FUSED,   0,    false)\
    X(PAGED_LION_8BIT,          "paged-lion-8bit",          MS_IMPLEMENTED(FUSED),   FUSED,   0,    false)\
    X(ADAMW_32BIT,              "adamw-32bit",              MS_IMPLEMENTED(FUSED),   FUSED,   0.01, false)\
    X(ADAMW_8BIT,               "adamw-8bit",               MS_IMPLEMENTED(FUSED),   FUSED,   0.01, false)\
    X(PAGED_ADAMW,              "paged-adamw",              MS_IMPLEMENTED(FUSED),   FUSED,   0.01, false)\
    X(PAGED_ADAMW_8BIT,         "paged-adamw-8bit",         MS_IMPLEMENTED(FUSED),   FUSED,   0.01, false)\
    X(TRAINER_LION_8BIT,        "trainer-lion-8bit",        MS_IMPLEMENTED(FUSED),   FUSED,   0,    false)\
    X(TRAINER_PAGED_LION_8BIT,  "trainer-paged-lion-8bit",  MS_IMPLEMENTED(FUSED),   FUSED,   0,    false)\
    X(TRAINER_ADAMW_8BIT,       "trainer-adamw-8bit",       MS_IMPLEMENTED(FUSED),   FUSED,   0.01, false)\
    X(TRAINER_PAGED_ADAMW_8BIT, "trainer-paged-adamw-8bit", MS_IMPLEMENTED(FUSED),   FUSED,   0.01, false)

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
