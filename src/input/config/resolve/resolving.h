/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run while it is resolved, for the files with the rules.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVING_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVING_H

#include "input/config/resolve/resolve.h"

/* Everything a rule may use. */
typedef struct ms_resolving {
    ms_arena *arena;
    const ms_run_draft *draft;
    const ms_run_origins *origins;
    const ms_model_config *model;
    ms_run_config *run;
    ms_notes *notes;
    ms_error *err;
} ms_resolving;

static inline bool ms_resolve_is_set(const ms_resolving *c, const char *field)
{
    return ms_run_field_is_set(c->draft, field);
}

/* Whether an adapter is given, by a file or by settings of LoRA. */
bool ms_resolve_has_adapter(const ms_resolving *c);

/* Whether a layer has a reentrant checkpoint. */
bool ms_resolve_is_reentrant(const ms_resolving *c);

/* Fails about a field: at its place in the run file, else by its name. */
__attribute__((format(printf, 3, 4))) ms_status
ms_resolve_fail(const ms_resolving *c, const char *field, const char *format, ...);

#endif
