/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The variable of a launch that sets PyTorch's allocator.
 */
#ifndef MS_CONFIG_LAUNCH_ALLOCATOR_CONF_H
#define MS_CONFIG_LAUNCH_ALLOCATOR_CONF_H

#include "config/keys/read_keys.h"
#include "config/launch/shell/shell_state.h"
#include "config/run/run_fields.h"

/* Texts are in the run's arena. */
typedef struct ms_allocator_conf {
    const char *name; /* "PYTORCH_ALLOC_CONF", or its older name; NULL: it is not set */
    const char *value, *file;
    const char *unknown; /* why its value is not known; NULL: it is */
    uint32_t line;
    bool is_replaced; /* by what the trainer sets, which PyTorch looks at first */
} ms_allocator_conf;

/* What the variables of a script, or in front of a launch, say. */
ms_allocator_conf ms_allocator_conf_of(const ms_shell *shell);

/* axolotl's command sets PYTORCH_ALLOC_CONF unless that is set, for PyTorch 2.9 and later. */
void ms_allocator_conf_heed_axolotl(ms_allocator_conf *conf, const ms_run_draft *draft);

/* Sets the options of the allocator that are not given; `keys` records what each part set, or that
 * it is not predicted. */
ms_status ms_allocator_conf_apply(const ms_allocator_conf *conf, ms_arena *arena,
                                  ms_run_draft *draft, ms_read_keys *keys, ms_error *err);

#endif
