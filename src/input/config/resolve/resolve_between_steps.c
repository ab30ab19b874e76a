/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of the time between steps: emptying the cache, and evaluations.
 */
#include "input/config/resolve/resolve_between_steps.h"

#include "input/config/resolve/resolving.h"

static ms_status resolve_empty_cache(const ms_resolving *c)
{
    static const char field[] = "empty-cache-steps";
    ms_run_config *run = c->run;
    return run->training.empty_cache_steps && run->allocator.kind == MS_ALLOCATOR_RAW
               ? ms_resolve_fail(c, field, "the raw allocator has no cache")
               : MS_OK;
}

static ms_status resolve_evaluation(const ms_resolving *c)
{
    static const char field[] = "eval-batch";
    ms_run_config *run = c->run;
    if (!run->training.eval_batch)
        return run->training.eval_logits
                   ? ms_resolve_fail(c, "eval-logits", "there is no evaluation: eval-batch is none")
                   : MS_OK;
    if (c->model->head != MS_HEAD_CAUSAL_LM)
        return ms_resolve_fail(c, field, "it is supported for causal language models only");
    if (c->model->outputs_router_logits)
        return ms_resolve_fail(c, field, "it is not supported with output_router_logits");
    return run->parameter_device == MS_PARAMETERS_ON_HOST
               ? ms_resolve_fail(c, field, "it is not supported with parameters on the host")
               : MS_OK;
}

ms_status ms_resolve_between_steps(const ms_resolving *c)
{
    ms_status status = resolve_empty_cache(c);
    return status == MS_OK ? resolve_evaluation(c) : status;
}
