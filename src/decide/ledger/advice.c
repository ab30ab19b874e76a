/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/advice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/simulate/summary.h"
#include "run/simulate/change.h"

static ms_status check_variants(const ms_variants *list, ms_error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_variant *v = &list->items[i];
        if (v->status != MS_OK && v->status != MS_ERR_CONFIG) /* an operator that it lacks */
            return ms_fail(err, v->status, "%s",
                           v->err.text[0] ? v->err.text : "no memory for a variation of the run");
    }
    return MS_OK;
}

/* The run on one device, while the variants run. */
typedef struct comparison {
    const ms_ledger *ledger;
    ms_advice *advice;
    ms_status status;
    ms_error err;
} comparison;

static void compare(void *context)
{
    comparison *c = context;
    c->status = ms_one_device_simulate(&c->ledger->simulated->job, c->advice->arena,
                                       &c->advice->one_device, &c->err);
}

/* Where it does not fit, and there is nothing to suggest. */
static ms_status tell_of_none(const ms_ledger *ledger, uint32_t events, ms_advice *advice,
                              ms_error *err)
{
    ms_finding none = {.name = "no-suggestion",
                       .text = "none of the changes that were tried makes it fit or saves 1 %"};
    bool is_asked = ledger->run->draft && ledger->summary->verdict == MS_VERDICT_NO;
    if (!is_asked || advice->suggestions.count > 0)
        return MS_OK;
    if (events > MS_MOST_ADVISED_EVENTS)
        none.text = ms_arena_printf(
            advice->arena,
            "no suggestions are searched for, because a step of %" PRIu32
            " million events takes long to simulate; try other options with memscope analyze",
            events / 1000000);
    if (!none.text || !ms_vec_push(&advice->findings, none))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the findings");
    return MS_OK;
}

static ms_status collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err)
{
    const uint32_t events = ledger->simulation->trace.events.count;
    ms_status status;
    ms_variants *list = calloc(1, sizeof *list);
    advice->arena = ms_arena_create(0);
    if (list && advice->arena &&
        (events > MS_QUICK_EVENTS || ms_findings_add_variants(list, ledger, advice->arena))) {
        comparison c = {.ledger = ledger, .advice = advice};
        ms_variants_measure(list, compare, &c);
        status = check_variants(list, err);
        if (status == MS_OK)
            status = ms_findings_collect(ledger, list, advice->arena, &advice->findings, err);
        if (status == MS_OK && c.status != MS_OK)
            status = ms_fail(err, c.status, "%s", c.err.text);
        if (status == MS_OK)
            status = ms_advise(
                &(ms_advised){
                    &ledger->simulated->job, ledger->summary, events, {ledger->simulated, list}},
                advice->arena, &advice->suggestions, err);
        if (status == MS_OK)
            status = tell_of_none(ledger, events, advice, err);
    } else {
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the suggestions");
    }
    free(list);
    if (status != MS_OK)
        ms_advice_free(advice);
    return status;
}

/* What the run's files leave out of the figures does not change which changes help. */
ms_status ms_advice_collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err)
{
    ms_summary figures = *ledger->summary;
    ms_ledger of_figures = *ledger;
    ms_summary_set_reason(&figures, ledger->simulated->judgement.reason);
    of_figures.summary = &figures;
    memset(advice, 0, sizeof *advice);
    advice->verdict = figures.verdict;
    return collect(&of_figures, advice, err);
}

void ms_advice_free(ms_advice *advice)
{
    ms_vec_free(&advice->suggestions);
    ms_vec_free(&advice->findings);
    ms_arena_free(advice->arena);
    advice->arena = NULL;
}
