/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Versions of PyTorch under which cases were measured (reports/torch_versions.md).
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_TORCH_VERSIONS_H
#define MS_INPUT_CONFIG_RESOLVE_TORCH_VERSIONS_H

#include "input/config/run/run_config.h"

/* What the figures are where the run's version is none that was measured and is predicted to the
 * byte: a sentence without a full stop; else NULL. */
const char *ms_torch_unmeasured(const ms_run_config *run);

#endif
