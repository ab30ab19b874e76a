/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/fit/mixed.h"

#include "decide/fit/fit.h"
#include "run/simulate/change.h"

static bool vary(const ms_fit_question *q, const ms_run_config *run, const ms_change *change,
                 ms_arena *arena, ms_variation *v, const char **option)
{
    *v = ms_vary_run(q->model, run, arena);
    return ms_vary_by(v, change, option);
}

/* The same question of the run with the change; no options where it does not apply. */
static ms_status find_changed(ms_arena *arena, const ms_fit_question *question,
                              const ms_change *change, bool is_of_gpus, ms_fit_mixed *answer,
                              ms_error *err)
{
    const char *alone = NULL, *sharing = NULL;
    ms_fit_answer found;
    ms_variation one, shared;
    *answer = (ms_fit_mixed){0};
    if (!vary(question, question->run, change, arena, &one, &alone) ||
        (is_of_gpus && !vary(question, question->shared, change, arena, &shared, &sharing)))
        return MS_OK;
    if (!alone || (is_of_gpus && !sharing))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    const ms_fit_question changed = {question->what, question->step, question->model, &one.run,
                                     is_of_gpus ? &shared.run : NULL};
    ms_status status = ms_fit_find_value(&changed, &found, err);
    if (status == MS_OK)
        *answer = (ms_fit_mixed){is_of_gpus && found.value != 1 ? sharing : alone, found.value,
                                 found.safe_value};
    return status == MS_ERR_CONFIG || status == MS_ERR_USAGE ? MS_OK : status;
}

ms_status ms_fit_find_mixed(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                            ms_error *err)
{
    const bool is_of_gpus = ms_fit_is_of_gpus(answer);
    answer->mixed = answer->prepared = (ms_fit_mixed){0};
    if (question->run->adapter)
        return find_changed(arena, question, &ms_peft_change, is_of_gpus, &answer->prepared, err);
    return answer->value
               ? find_changed(arena, question, &ms_mixed_change, is_of_gpus, &answer->mixed, err)
               : MS_OK;
}
