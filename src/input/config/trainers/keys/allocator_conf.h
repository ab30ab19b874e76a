/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The variable that sets PyTorch's allocator, of a launch or of a trainer's file.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_KEYS_ALLOCATOR_CONF_H
#define MS_INPUT_CONFIG_TRAINERS_KEYS_ALLOCATOR_CONF_H

#include "input/config/keys/read_keys.h"
#include "input/config/run/run_fields.h"

/* Texts are in the run's arena. */
typedef struct ms_allocator_conf {
    const char *name; /* "PYTORCH_ALLOC_CONF", or its older name; NULL: it is not set */
    const char *value, *file;
    const char *inside;  /* before the name in tables, "ENV/"; NULL: nothing */
    const char *unknown; /* why its value is not known; NULL: it is */
    uint32_t line;
    bool is_replaced; /* by what the trainer sets, which PyTorch looks at first */
} ms_allocator_conf;

/* Its names, the one that is looked at first before the other; NULL-terminated. */
extern const char *const ms_allocator_conf_names[];

/* Whether the run's PyTorch is given, and knows the older name alone: before 2.9. */
bool ms_allocator_conf_is_older(const ms_run_draft *draft);
/* axolotl's command sets PYTORCH_ALLOC_CONF unless that is set, for PyTorch 2.9 and later. */
void ms_allocator_conf_heed_axolotl(ms_allocator_conf *conf, const ms_run_draft *draft);

/* Sets the options of the allocator that are not given; `keys` records what each part set, or that
 * it is not predicted. */
ms_status ms_allocator_conf_apply(const ms_allocator_conf *conf, ms_arena *arena,
                                  ms_run_draft *draft, ms_read_keys *keys, ms_error *err);

#endif
