/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan/plan_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "input/config/resolve/resolve_images.h"
#include "decide/plan/settings.h"
#include "decide/plan/trainers/targets.h"
#include "report/view/inputs.h"
#include "report/plan/plan_notes.h"
#include "report/view/fit_words.h"
#include "report/view/times.h"
#include "input/config/treatment/treatment.h"

/* ---- numbers ---- */

const char *ms_plan_ms(double ms, uint32_t decimals, char text[MS_FIXED_TEXT])
{
    return ms_fixed(ms > 0 ? ms : NAN, decimals, text);
}

const char *ms_plan_suggestions_title(const ms_step_plan *plan)
{
    return ms_reason_fits(plan->plan.reason) ? "What would be faster" : "What would fit";
}

const char *ms_plan_percent(double fraction, char text[MS_FIXED_TEXT])
{
    char number[MS_FIXED_TEXT];
    if (isnan(fraction))
        return ms_fixed(fraction, 1, text);
    ms_fixed(100 * fraction, 1, number);
    snprintf(text, MS_FIXED_TEXT, "%s%.20s %%", *number == '-' ? "" : "+", number);
    return text;
}

const char *ms_plan_gib_more(uint64_t bytes, uint64_t base_bytes, char text[MS_FIXED_TEXT])
{
    char gib[MS_GIB_TEXT];
    bool less = bytes < base_bytes;
    snprintf(text, MS_FIXED_TEXT, "%c%s", less ? '-' : '+',
             ms_gib(less ? base_bytes - bytes : bytes - base_bytes, gib));
    return text;
}

static double keep_all_ms(const ms_plan_view *view)
{
    return view->plan ? view->plan->keep_all.time.step_ms : view->curve->keep_all.time.step_ms;
}

double ms_plan_overhead(const ms_plan_view *view, double step_ms)
{
    double base_ms = keep_all_ms(view);
    return base_ms > 0 && step_ms > 0 ? (step_ms - base_ms) / base_ms : NAN;
}

uint64_t ms_plan_gpus(const ms_plan_view *view)
{
    return ms_layout_world(&view->run->parallel.layout);
}

double ms_plan_cost(const ms_plan_view *view, double step_ms)
{
    const double steps = 1000, ms_per_hour = 3.6e6;
    return (double)ms_plan_gpus(view) * view->answer->task->gpu_cost_per_hour * step_ms * steps /
           ms_per_hour;
}

const char *ms_plan_place(const ms_decision *d, char text[MS_PLAN_PLACE_TEXT])
{
    if (d->first_layer == MS_NONE)
        snprintf(text, MS_PLAN_PLACE_TEXT, "loss");
    else if (d->first_layer == d->last_layer)
        snprintf(text, MS_PLAN_PLACE_TEXT, "layer %" PRIu32, d->first_layer);
    else
        snprintf(text, MS_PLAN_PLACE_TEXT, "layers %" PRIu32 "-%" PRIu32, d->first_layer,
                 d->last_layer);
    return text;
}

const char *ms_plan_short(const ms_plan_view *view, const char *treatment)
{
    static const char start[] = "selective:", tile[] = "tile:";
    if (strncmp(treatment, start, strlen(start)) != 0)
        return treatment;
    uint32_t kept = 0;
    const char *end = treatment + strlen(start);
    while (*end && strncmp(end, tile, strlen(tile)) != 0) {
        end += strcspn(end, "+");
        end += *end == '+';
        kept++;
    }
    const char *text = ms_arena_printf(view->arena, "selective (%" PRIu32 " kept)%s%s", kept,
                                       *end ? "+" : "", end);
    return text ? text : "";
}

/* ---- texts; NULL when out of memory ---- */

/* "; rank 3 of fsdp1=8, which needs most": the rank that the figures are of. */
static const char *rank_words(const ms_plan_view *view)
{
    const ms_parallel *p = &view->run->parallel;
    const char *layout = ms_layout_text(view->arena, &p->layout);
    if (!layout)
        return NULL;
    if (p->ranks.count == 1)
        return ms_arena_printf(view->arena, "; each rank of %s", layout);
    return ms_arena_printf(view->arena, "; rank %" PRIu64 " of %s%s", p->rank, layout,
                           p->ranks.count ? ", which needs the most" : "");
}

static const char *title(const ms_plan_view *view)
{
    const ms_run_config *run = view->run;
    const ms_model_config *model = view->model;
    const char *accumulate = "", *ranks = "";
    if (run->training.accumulate > 1)
        accumulate = ms_arena_printf(view->arena, "%" PRIu64 " x ", run->training.accumulate);
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        ranks = rank_words(view);
    char images[MS_IMAGES_TEXT];
    if (!accumulate || !ranks)
        return NULL;
    return ms_arena_printf(
        view->arena, "%s: %sbatch %" PRIu64 " x %" PRIu64 " tokens%s, %s, %s (%s)%s",
        ms_model_title(model), accumulate, run->batch, run->seq_tokens,
        ms_images_words(model, run, images), ms_dtype_info_of(run->dtype)->short_name,
        ms_metadata_text(view->metadata, view->metadata_count, "optimizer"),
        ms_metadata_text(view->metadata, view->metadata_count, "optimizer_impl"), ranks);
}

/* ", 6.3 % slower than keeping everything" */
static const char *slower(const ms_plan_view *view)
{
    char percent[MS_FIXED_TEXT];
    const ms_step_figures *plan = view->figures;
    double overhead = ms_plan_overhead(view, plan->time.step_ms);
    if (!*plan->treat)
        return ", with everything kept";
    if (isnan(overhead))
        return "";
    return ms_arena_printf(view->arena, ", %s time", ms_plan_percent(overhead, percent));
}

ms_fit_reason ms_plan_reason(const ms_plan_view *view, const ms_step_figures *figures)
{
    return ms_reason_with_keys(figures->reason, &view->run->keys);
}

/* Of the plan, or of there being none. */
static ms_fit_verdict verdict_of(const ms_plan_view *view)
{
    const ms_fit_reason reason = view->is_infeasible ? MS_FIT_OVER_BUDGET : view->figures->reason;
    return ms_reason_verdict(ms_reason_with_keys(reason, &view->run->keys));
}

static const char *plan_verdict(const ms_plan_view *view)
{
    const ms_step_figures *plan = view->figures;
    const char *device = view->run->device->name, *time = slower(view);
    char need[MS_GIB_TEXT], budget[MS_GIB_TEXT], missing[MS_GIB_TEXT];
    ms_gib(plan->device_bytes, need);
    ms_gib(view->budget_bytes, budget);
    if (!time)
        return NULL;
    if (view->is_infeasible && view->plan->outcome == MS_PLAN_STOPPED)
        return ms_arena_printf(view->arena,
                               "the search stopped before it found a plan for %s GiB on %s", budget,
                               device);
    if (view->is_infeasible && view->least_budget_bytes > view->budget_bytes)
        return ms_arena_printf(
            view->arena,
            "does not fit: short by %s GiB (%s is the smallest budget found, of %s on %s)",
            ms_gib(view->least_budget_bytes - view->budget_bytes, missing),
            ms_gib(view->least_budget_bytes, need), budget, device);
    if (view->is_infeasible && plan->device_bytes > view->budget_bytes)
        return ms_arena_printf(
            view->arena, "does not fit: short by about %s GiB (needs %s of %s GiB on %s)",
            ms_gib(plan->device_bytes - view->budget_bytes, missing), need, budget, device);
    if (view->is_infeasible)
        return ms_arena_printf(view->arena, "no plan was found that fits %s GiB on %s", budget,
                               device);
    if (view->budget_bytes == 0)
        return ms_arena_printf(view->arena, "needs %s GiB on %s%s (no budget was given)", need,
                               device, time);
    return ms_arena_printf(view->arena, "%s: %s of %s GiB on %s%s",
                           ms_fit_verdict_name(verdict_of(view)), need, budget, device, time);
}

/* For a plan that was found; an answer without one has a text of its own. */
static const char *why(const ms_plan_view *view)
{
    const ms_step_figures *plan = view->figures;
    if (verdict_of(view) == MS_VERDICT_UNKNOWN)
        return ms_inputs_why(view->arena, &view->run->keys);
    if (view->is_infeasible)
        return "";
    return ms_fit_why(view->arena, &(ms_fit_facts){.reason = plan->reason,
                                                   .budget_bytes = view->budget_bytes,
                                                   .high_device_bytes = plan->high_device_bytes,
                                                   .retries = plan->retries});
}

static const char *curve_verdict(const ms_plan_view *view)
{
    uint32_t count = view->curve->points.count;
    char least[MS_GIB_TEXT], most[MS_GIB_TEXT], first[MS_FIXED_TEXT], last[MS_FIXED_TEXT];
    if (count == 0)
        return "the search stopped before it found a point";
    const ms_step_figures *low = &view->curve->points.items[0].figures;
    const ms_step_figures *high = &view->curve->points.items[count - 1].figures;
    if (!(low->time.step_ms > 0))
        return ms_arena_printf(view->arena, "from %s GiB to %s GiB on %s",
                               ms_gib(low->device_bytes, least), ms_gib(high->device_bytes, most),
                               view->run->device->name);
    return ms_arena_printf(view->arena, "from %s GiB and %s time to %s GiB and %s time on %s",
                           ms_gib(low->device_bytes, least),
                           ms_plan_percent(ms_plan_overhead(view, low->time.step_ms), first),
                           ms_gib(high->device_bytes, most),
                           ms_plan_percent(ms_plan_overhead(view, high->time.step_ms), last),
                           view->run->device->name);
}

/* By the bits of ms_allowance that were moved. */
static const struct {
    const char *options, *what;
} moves[] = {
    [MS_ALLOW_HOST_OPTIMIZER] = {"--optimizer-device host", "the optimizer"},
    [MS_ALLOW_HOST_PARAMETERS] = {"--parameter-device host", "the layers' parameters"},
    [MS_ALLOW_HOST_OPTIMIZER |
        MS_ALLOW_HOST_PARAMETERS] = {"--optimizer-device host --parameter-device host",
                                     "the optimizer and the layers' parameters"},
};

static const char *proof(const ms_plan_view *view)
{
    const char *text = ms_plan_proof_note(view);
    const uint32_t moved = view->answer->task->moved;
    if (!text || !moved)
        return text;
    return ms_arena_printf(view->arena,
                           view->is_infeasible ? "%s, with %s on the host"
                                               : "%s, with %s on the host; nothing fits otherwise",
                           text, moves[moved].what);
}

static const char *kept_layers(const ms_plan_view *view)
{
    const ms_treatment *treatments = view->figures->treatments.layers;
    const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    uint32_t *layers = ms_arena_array(view->arena, uint32_t, view->model->num_layers);
    uint32_t count = 0;
    if (!layers)
        return NULL;
    for (uint32_t i = 0; treatments && i < view->model->num_layers; i++)
        if (ms_treatment_equal(&treatments[i], &keep))
            layers[count++] = i;
    if (count == 0)
        return "";
    uint32_t length = ms_layers_print(layers, count, NULL, 0);
    char *text = ms_arena_array(view->arena, char, (size_t)length + 1);
    if (text)
        ms_layers_print(layers, count, text, length + 1);
    return text;
}

/* ---- filling ---- */

/* All of the run but what the plan decides. */
static bool fill_metadata(ms_plan_view *view)
{
    static const char *const decided[] = {"checkpointing", "treat"};
    ms_field_list list;
    uint32_t kept = 0;
    const ms_run_seen seen = {view->model, view->run, ms_attention_choose(view->model, view->run)};
    if (!ms_metadata_fill(&seen, view->arena, &list))
        return false;
    for (uint32_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].name, decided[0]) != 0 &&
            strcmp(list.items[i].name, decided[1]) != 0)
            list.items[kept++] = list.items[i];
    view->metadata = list.items;
    view->metadata_count = kept;
    return true;
}

static void fill_categories(ms_plan_view *view)
{
    const uint64_t *plan = view->columns[0].figures->category_bytes;
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
            most |= view->columns[i].figures->category_bytes[c];
        if (most == 0)
            continue;
        uint32_t at = view->category_count++;
        for (; at > 0 && plan[view->categories[at - 1]] < plan[c]; at--)
            view->categories[at] = view->categories[at - 1];
        view->categories[at] = (ms_category)c;
    }
}

/* When the planner names nothing: what needs less of the two that it is compared with. */
static void pick_figures(ms_plan_view *view)
{
    const ms_step_plan *plan = view->plan;
    view->is_fallback = !plan->plan.treat;
    view->figures = &plan->plan;
    if (view->is_fallback) {
        bool may = (view->answer->task->techniques & MS_MAY_CHECKPOINT) != 0;
        bool less = plan->checkpoint_all.device_bytes < plan->keep_all.device_bytes;
        view->figures = may && less ? &plan->checkpoint_all : &plan->keep_all;
    }
    if (view->is_infeasible)
        view->least_budget_bytes = plan->least_budget_bytes;
    view->is_least = view->is_fallback || view->least_budget_bytes > 0;
}

static bool fill_plan(ms_plan_view *view)
{
    const ms_step_plan *plan = view->plan;
    view->is_infeasible = plan->outcome == MS_PLAN_INFEASIBLE || !ms_reason_fits(plan->plan.reason);
    view->budget_bytes = plan->budget_bytes;
    pick_figures(view);
    const ms_plan_column columns[MS_PLAN_COLUMNS] = {
        {view->is_least ? "least" : "plan", "plan", view->figures},
        {"keep all", "keep_all", &plan->keep_all},
        {"checkpoint all", "checkpoint_all", &plan->checkpoint_all},
    };
    memcpy(view->columns, columns, sizeof columns);
    const ms_step_task *task = view->answer->task;
    const ms_target *target = ms_target_find(task->target);
    view->target_title = target && target != ms_target_at(0) ? target->title : NULL;
    view->is_restricted = target && !target->is_free;
    fill_categories(view);
    view->moved = task->moved ? moves[task->moved].options : "";
    view->verdict = ms_inputs_dated(view->arena, &view->run->keys, plan_verdict(view));
    if (view->verdict && view->is_infeasible && verdict_of(view) == MS_VERDICT_UNKNOWN)
        view->verdict = ms_arena_printf(
            view->arena, "unknown; not counting what is not predicted: %s", view->verdict);
    view->why = why(view);
    view->tone = verdict_of(view);
    view->proof = proof(view);
    view->margin = ms_plan_margin_note(view);
    view->steep = ms_plan_steep_note(view);
    view->evaluation = ms_plan_evaluation_note(view);
    view->kept_layers = kept_layers(view);
    return view->verdict && view->why && view->proof && view->margin && view->steep &&
           view->evaluation && view->kept_layers;
}

static bool fill(ms_plan_view *view)
{
    if (!fill_metadata(view))
        return false;
    view->title = title(view);
    view->waiting = view->run->parallel.layout.kind == MS_PARALLEL_NONE ? "waiting for the host"
                    : view->plan && view->plan->keep_all.time.lacks_rate
                        ? "waiting for ranks, not known"
                        : "waiting for ranks";
    view->rates_note = ms_plan_rates_note(view);
    view->times_note = ms_times_text(view->arena, view->run);
    view->host_note = ms_plan_host_note(view);
    if (!view->title || !view->rates_note || !view->times_note || !view->host_note)
        return false;
    if (view->plan)
        return fill_plan(view);
    view->verdict = curve_verdict(view);
    view->why = "";
    view->tone = MS_VERDICT_FITS;
    return view->verdict != NULL;
}

ms_status ms_plan_view_create(const ms_plan_answer *answer, ms_plan_view *view, ms_error *err)
{
    *view = (ms_plan_view){.answer = answer,
                           .model = answer->task->model,
                           .run = answer->task->run,
                           .plan = answer->plan,
                           .curve = answer->curve,
                           .analysis = answer->analysis,
                           .kept = answer->kept,
                           .arena = ms_arena_create(0)};
    if (view->arena && fill(view))
        return MS_OK;
    ms_plan_view_free(view);
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the report");
}

void ms_plan_view_free(ms_plan_view *view)
{
    ms_arena_free(view->arena);
    view->arena = NULL;
}
