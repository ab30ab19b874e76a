/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a context is divided into a prompt and an answer.
 */
#ifndef MS_SERVE_INFER_HF_TOKENS_H
#define MS_SERVE_INFER_HF_TOKENS_H

#include "serve/infer/kit/engine.h"

/* How many tokens are generated after a prompt: `generate`, or what the context leaves.
 * MS_ERR_USAGE where the two disagree, or nothing is left. */
ms_status ms_hf_count_tokens(const ms_infer_settings *s, uint64_t prompt, uint64_t *tokens,
                             ms_error *err);

#endif
