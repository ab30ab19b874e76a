/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "largest/mixed.h"

#include "largest/fit.h"
#include "simulate/change.h"

static bool vary(const ms_fit_question *q, const ms_run_config *run, ms_arena *arena,
                 ms_variation *v, const char **option)
{
    *v = ms_vary_run(q->model, run, arena);
    return ms_vary_by(v, &ms_mixed_change, option);
}

ms_status ms_fit_find_mixed(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                            ms_error *err)
{
    const bool is_of_gpus = ms_fit_is_of_gpus(answer);
    const char *alone = NULL, *sharing = NULL;
    ms_fit_answer found;
    ms_variation one, shared;
    answer->mixed = (ms_fit_mixed){0};
    if (answer->value == 0 || question->run->adapter ||
        !vary(question, question->run, arena, &one, &alone) ||
        (is_of_gpus && !vary(question, question->shared, arena, &shared, &sharing)))
        return MS_OK;
    if (!alone || (is_of_gpus && !sharing))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    const ms_fit_question mixed = {question->what, question->step, question->model, &one.run,
                                   is_of_gpus ? &shared.run : NULL};
    ms_status status = ms_fit_find_value(&mixed, &found, err);
    if (status == MS_OK)
        answer->mixed = (ms_fit_mixed){is_of_gpus && found.value != 1 ? sharing : alone,
                                       found.value, found.safe_value};
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE ? MS_OK : status;
}
