/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an adapter that names no targets changes.
 */
#ifndef MS_CONFIG_ADAPTER_ADAPTER_DEFAULTS_H
#define MS_CONFIG_ADAPTER_ADAPTER_DEFAULTS_H

#include "config/adapter/adapter.h"

/* What an adapter of a model of that type targets if it does not say: the targets (none: it must
 * say), and those of which the input is scaled. */
void ms_adapter_defaults(const char *model_type, ms_adapter_kind kind, ms_module_list lists[2]);

#endif
