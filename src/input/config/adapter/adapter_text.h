/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An adapter as text.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_TEXT_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_TEXT_H

#include "input/config/adapter/adapter.h"

/* The adapter in the syntax of `--lora`; settings without such syntax appear as a count. NULL: out
 * of memory. */
const char *ms_adapter_text(ms_arena *arena, const ms_adapter *adapter);

/* ---- adapter parse ---- */

/* The text of `--lora`. */

/* Reads "r=16,targets=q_proj+v_proj,dropout=0.05,bias=lora_only,dora,save=embed_tokens". */
ms_status ms_adapter_parse(ms_arena *arena, const char *text, ms_adapter *adapter, ms_error *err);

#endif
