/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The built-in models.
 */
#ifndef MS_INPUT_CONFIG_NAMES_PRESET_H
#define MS_INPUT_CONFIG_NAMES_PRESET_H

#include <stddef.h>

#include "base/json/embedded.h"

/* Their names, in the order they are listed; NULL past the last. */
const char *ms_preset_name(size_t index);
/* The config of that name, ignoring case and treating '_' as '-'; NULL: there is none. */
const ms_embedded *ms_preset_find(const char *name);

#endif
