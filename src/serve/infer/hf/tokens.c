/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/hf/tokens.h"

#include <inttypes.h>

ms_status ms_hf_count_tokens(const ms_infer_settings *s, uint64_t prompt, uint64_t *tokens,
                             ms_error *err)
{
    *tokens = s->hf.generate;
    if (*tokens > 0 && ms_infer_settings_has(s, "context") && prompt + *tokens != s->context)
        return ms_fail(err, MS_ERR_USAGE,
                       "generate: %" PRIu64 " tokens after a prompt of %" PRIu64
                       " are not a context of %" PRIu64 ": leave out one of them",
                       *tokens, prompt, s->context);
    if (*tokens > 0)
        return MS_OK;
    if (prompt >= s->context)
        return ms_fail(err, MS_ERR_USAGE,
                       "context: %" PRIu64 " tokens leave none to generate after a prompt of "
                       "%" PRIu64 "; a longer context, or generate, says how many",
                       s->context, prompt);
    *tokens = s->context - prompt;
    return MS_OK;
}
