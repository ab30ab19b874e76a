/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of models that are not known: what to say instead.
 */
#ifndef MS_INPUT_CONFIG_NAMES_NO_CONFIG_H
#define MS_INPUT_CONFIG_NAMES_NO_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* Whether there is more to say of an unknown name than that: built-in models that are near, or that
 * the family is not predicted. The error then says it, with MS_ERR_IO. */
bool ms_config_suggest(const char *name, ms_error *err);
/* Fails with a message that suggests the preset with the nearest name, or how to download a config
 * of the Hub. */
ms_status ms_fail_no_config(ms_arena *arena, const char *name, ms_error *err);

#endif
