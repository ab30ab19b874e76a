/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of `--lora`.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_PARSE_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_PARSE_H

#include "input/config/adapter/adapter.h"

/* Reads "r=16,targets=q_proj+v_proj,dropout=0.05,bias=lora_only,dora,save=embed_tokens". */
ms_status ms_adapter_parse(ms_arena *arena, const char *text, ms_adapter *adapter, ms_error *err);

#endif
