/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The type of an adapter's weights beside the run's, and whether ranks may share one.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_ADAPTER_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_ADAPTER_H

#include "base/error.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"

/* Sets adapter->dtype: `asked` (NULL: nobody asked for a type), else what PEFT makes of the type of
 * the model, else what the strategy of several ranks casts it to; and the type of its shards in
 * `run`. MS_ERR_USAGE where the strategy is not predicted with this adapter. */
ms_status ms_resolve_adapter(ms_run_config *run, const ms_model_config *model,
                             const ms_dtype *asked, ms_adapter *adapter, ms_error *err);

#endif
