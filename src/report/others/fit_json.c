/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/members.h"
#include "core/trace/words.h"
#include "input/config/model/model_config.h"
#include "memscope/fit.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"
#include "report/others/fit_report.h"
#include "report/view/fit_words.h"
#include "report/view/inputs.h"
#include "report/view/view.h"

/* A value that was tried. */
typedef struct step {
    uint64_t value;
    const char *layout; /* of a number of GPUs; else NULL */
    ms_fit_reason reason;
    const ms_step_figures *figures;
} step;

#define FIGURE(...) MS_MEMBER(ms_step_figures, __VA_ARGS__, .from = MS_FROM(step, figures))
static const ms_member step_members[] = {
    MS_MEMBER(step, "value", value),
    MS_MEMBER(step, "parallel", layout, .rules = MS_IF_ANY),
    MS_FIT_MEMBERS(step, reason),
    FIGURE("peak_memory_bytes", peak_bytes),
    FIGURE("reserved_memory_bytes", reserved_bytes),
    FIGURE("expected_device_bytes", device_bytes),
    FIGURE("host_memory_bytes", host_bytes),
    FIGURE("peak_stage", peak_phase, .words = &ms_phase_words),
    MS_FIGURES(ms_step_figures, "peak_composition", category_bytes, &ms_category_titles,
               .from = MS_FROM(step, figures)),
};
static const ms_members step_table = MS_MEMBERS(step, step_members);

static const ms_member other_members[] = {
    MS_MEMBER(ms_fit_mixed, "options", options),
    MS_MEMBER(ms_fit_mixed, "value", value),
    MS_MEMBER(ms_fit_mixed, "safe_value", safe_value),
};
static const ms_members other_table = MS_MEMBERS(ms_fit_mixed, other_members);

typedef struct document {
    ms_fit_view view;
    bool is_of_gpus, is_of_sizes;
    step safe, largest, fewest, next;
} document;

static const ms_words end_words = {ms_fit_end_names, MS_FIT_LEAST + 1, 0, 0};

#define OF_RUN .from = MS_FROM(document, view.run)
#define OF_ANSWER .from = MS_FROM(document, view.answer)
#define ANSWER(...) MS_MEMBER(ms_fit_answer, __VA_ARGS__, OF_ANSWER)
#define OTHER(...) ANSWER(__VA_ARGS__, .rules = MS_IF_ANY, .inner = &other_table)
#define STEP(key, member)                                                                          \
    MS_MEMBER(document, key, member, .rules = MS_OR_NULL,                                          \
              .when = MS_PLACE(document, member.value), .inner = &step_table)
static const ms_member excluded_members[] = {ANSWER("fewer_excluded", has_all),
                                             ANSWER("larger_excluded", has_all)};
static const ms_members fewer_table = {.items = excluded_members, .count = 1};
static const ms_members larger_table = {.items = excluded_members + 1, .count = 1};
static const ms_member document_members[] = {
    MS_MEMBER(ms_model_config, "model", name, .rules = MS_OR_NULL,
              .from = MS_FROM(document, view.model)),
    MS_MEMBER(ms_device, "device", name, OF_RUN, .via = MS_FROM(ms_run_config, device)),
    MS_MEMBER(ms_run_config, "budget_bytes", budget_bytes, OF_RUN),
    MS_MEMBER(ms_fit_what, "what", name, OF_ANSWER, .via = MS_FROM(ms_fit_answer, what)),
    ANSWER("step", step),
    ANSWER("value", value),
    ANSWER("safe_value", safe_value),
    ANSWER("stopped_by", end, .words = &end_words),
    ANSWER("first_gap", first_gap, .rules = MS_OR_NULL),
    ANSWER("searched_to", searched_to),
    MS_PART(NULL, &fewer_table, .rules = MS_IF_ANY, .when = MS_PLACE(document, is_of_gpus)),
    MS_PART(NULL, &larger_table, .rules = MS_IF_ANY, .when = MS_PLACE(document, is_of_sizes)),
    ANSWER("simulations", simulations),
    MS_MEMBER(ms_run_config, "several_gpus", several_gpus.text, .rules = MS_IF_ANY, OF_RUN),
    OTHER("mixed_precision", mixed, .when = MS_PLACE(ms_fit_answer, mixed.options)),
    OTHER("peft_checkpoints", prepared, .when = MS_PLACE(ms_fit_answer, prepared.options)),
    STEP("safe", safe),
    STEP("largest", largest),
    STEP("fewest", fewest),
    STEP("next", next),
    MS_MEMBER(ms_run_config, NULL, keys, .inner = &ms_inputs_table, OF_RUN),
};
const ms_members ms_fit_document = MS_MEMBERS(document, document_members);

static step step_of(const ms_fit_view *v, ms_arena *arena, uint64_t value, const ms_step_figures *f)
{
    if (value == 0)
        return (step){0};
    step made = {.value = value, .figures = f};
    made.reason = ms_reason_with_keys(f->reason, &v->run->keys);
    if (ms_fit_is_of_gpus(v->answer)) {
        const ms_layout layout = ms_fit_layout(v->answer, value);
        made.layout = ms_layout_text(arena, &layout);
    }
    return made;
}

bool ms_fit_report_json(FILE *out, const ms_fit_view *v)
{
    const ms_fit_answer *a = v->answer;
    const bool is_of_gpus = ms_fit_is_of_gpus(a);
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return false;
    const document d = {.view = *v,
                        .is_of_gpus = is_of_gpus,
                        .is_of_sizes = !is_of_gpus,
                        .safe = step_of(v, arena, a->safe_value, &a->at_safe),
                        .largest = step_of(v, arena, is_of_gpus ? 0 : a->value, &a->at_value),
                        .fewest = step_of(v, arena, is_of_gpus ? a->value : 0, &a->at_value),
                        .next = step_of(v, arena, a->next, &a->at_next)};
    ms_members_document(out, MS_FIT_SCHEMA_VERSION, &ms_fit_document, &d);
    const bool done = !ms_arena_has_failed(arena);
    ms_arena_free(arena);
    return done;
}
