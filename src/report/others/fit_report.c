/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/others/fit_report.h"

#include <inttypes.h>

#include "base/locale.h"
#include "input/config/resolve/resolve_images.h"
#include "base/text/size.h"
#include "report/view/inputs.h"
#include "report/kit/writer_list.h"
#include "report/view/fit_words.h"
#include "report/view/view.h"
#include "core/trace/trace.h"

/* What is less is not seen in GiB with two places. */
enum { LEAST_SEEN = 10 << 20 };

/* Why the search ends without a value that does not fit; NULL: with one. */
static const char *why_there_is_no_next(const ms_fit_answer *a)
{
    switch (a->end) {
    case MS_FIT_POSITIONS:
        return "the model has no more learned positions";
    case MS_FIT_MOST:
        return "larger values are not tried";
    case MS_FIT_LEAST:
        return a->step > 1 || a->value == 1 ? "" : "fewer cannot share the training in this way";
    case MS_FIT_MEMORY:
        break;
    }
    return NULL;
}

/* With what the run's files leave out of the figures. */
static ms_fit_verdict verdict_of(const ms_fit_view *v, const ms_step_figures *f)
{
    return ms_reason_verdict(ms_reason_with_keys(f->reason, &v->run->keys));
}

static void write_why(const ms_fit_view *v, const ms_page *page)
{
    const ms_fit_answer *a = v->answer;
    char need[MS_GIB_TEXT], over[MS_GIB_TEXT]; /* room for either */
    const ms_step_figures *f = &a->at_next;
    const char *why = why_there_is_no_next(a);
    if (a->end == MS_FIT_LEAST && a->step > 1)
        ms_page_say(page, "no smaller multiple of %" PRIu64 " can share the training in this way",
                    a->step);
    if (why) {
        if (*why)
            ms_page_say(page, "%s", why);
        return;
    }
    const bool is_many = ms_fit_is_of_gpus(v->answer) && a->next > 1;
    const bool is_open = verdict_of(v, f) == MS_VERDICT_UNKNOWN;
    const char *verb = is_open   ? is_many ? "may not: each needs up to" : "may not: it needs"
                       : is_many ? "do not: each needs up to"
                                 : "does not: it needs";
    ms_gib(f->device_bytes, need);
    uint64_t more = f->device_bytes - v->run->budget_bytes;
    if (f->reason == MS_FIT_OVER_BUDGET)
        ms_page_say(
            page, "%" PRIu64 " %s %s GiB, %s too many, and its peak is in %s", a->next, verb, need,
            more < LEAST_SEEN ? ms_size_format(more, over, sizeof over) : ms_gib(more, over),
            ms_phase_name(f->peak_phase));
    else
        ms_page_say(page, "%" PRIu64 " %s %s GiB, and the allocator runs out of room in %s",
                    a->next, verb, need, ms_phase_name(f->peak_phase));
}

/* The values that there are, side by side: safe where it is another one, largest, next. */
enum { MOST_COLUMNS = 3 };

typedef struct fit_columns {
    uint64_t values[MOST_COLUMNS];
    const ms_step_figures *figures[MOST_COLUMNS];
    uint32_t count;
} fit_columns;

static bool has_safe_column(const ms_fit_answer *a)
{
    return a->safe_value > 0 && a->safe_value != a->value;
}

static fit_columns columns_of(const ms_fit_answer *a)
{
    const struct {
        bool is_there;
        uint64_t value;
        const ms_step_figures *figures;
    } all[MOST_COLUMNS] = {{has_safe_column(a), a->safe_value, &a->at_safe},
                           {a->value > 0, a->value, &a->at_value},
                           {a->next > 0, a->next, &a->at_next}};
    fit_columns c = {.count = 0};
    for (size_t i = 0; i < MOST_COLUMNS; i++)
        if (all[i].is_there) {
            c.values[c.count] = all[i].value;
            c.figures[c.count++] = all[i].figures;
        }
    return c;
}

/* Of the names, beside the figures. */
static uint32_t name_width(const ms_page *page, const fit_columns *c)
{
    return ms_page_room(page, 30, 2 + 11 * c->count);
}

static void write_row(const ms_page *page, const fit_columns *c, const char *name,
                      uint64_t (*bytes_of)(const ms_step_figures *f, int which), int which)
{
    char text[MS_GIB_TEXT];
    FILE *out = page->out;
    fputs("  ", out);
    ms_page_cell(page, name, name_width(page, c));
    for (uint32_t i = 0; i < c->count; i++)
        fprintf(out, " %10s", ms_gib(bytes_of(c->figures[i], which), text));
    fputc('\n', out);
}

static uint64_t category_bytes(const ms_step_figures *f, int which)
{
    return f->category_bytes[which];
}

static uint64_t peak_bytes(const ms_step_figures *f, int which)
{
    (void)which;
    return f->peak_bytes;
}

static uint64_t reserved_bytes(const ms_step_figures *f, int which)
{
    (void)which;
    return f->reserved_bytes;
}

static uint64_t device_bytes(const ms_step_figures *f, int which)
{
    (void)which;
    return f->device_bytes;
}

static void write_table(const ms_page *page, const ms_fit_answer *a)
{
    FILE *out = page->out;
    const fit_columns c = columns_of(a);
    ms_page_heading(page, "At the peak", "  (GiB)");
    fputs("  ", out);
    ms_page_cell(page, a->what->name, name_width(page, &c));
    for (uint32_t i = 0; i < c.count; i++)
        fprintf(out, " %10" PRIu64, c.values[i]);
    fputc('\n', out);
    for (int i = 0; i < MS_CATEGORY_COUNT; i++) {
        bool is_seen = false;
        for (uint32_t k = 0; k < c.count; k++)
            is_seen |= ms_is_seen(c.figures[k]->category_bytes[i], c.figures[k]->peak_bytes);
        if (is_seen)
            write_row(page, &c, ms_category_name((ms_category)i), category_bytes, i);
    }
    write_row(page, &c, "allocated", peak_bytes, 0);
    write_row(page, &c, "reserved by the allocator", reserved_bytes, 0);
    write_row(page, &c, "on the device, with context", device_bytes, 0);
}

static const char *gpus_verb(uint64_t gpus, ms_fit_verdict verdict)
{
    if (verdict == MS_VERDICT_UNKNOWN)
        return "may fit";
    if (verdict == MS_VERDICT_TIGHT)
        return gpus == 1 ? "is tight" : "are tight";
    return gpus == 1 ? "fits" : "fit";
}

/* "6 x h100-80gb are tight: up to 78.90 of 79.10 GiB on each, with --parallel fsdp=6" */
static bool write_gpus(const ms_fit_view *v, const ms_page *page, ms_arena *arena, uint64_t gpus,
                       const ms_step_figures *f)
{
    char need[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    bool is_one = gpus == 1;
    const ms_layout layout = ms_fit_layout(v->answer, gpus);
    const char *text = ms_layout_text(arena, &layout);
    bool has_layout = text && !is_one;
    ms_page_say(page, "%" PRIu64 " x %s %s: %s%s of %s GiB%s%s%s", gpus, v->run->device->name,
                gpus_verb(gpus, verdict_of(v, f)), is_one ? "" : "up to ",
                ms_gib(f->device_bytes, need), ms_gib(v->run->budget_bytes, budget),
                is_one ? "" : " on each", has_layout ? ", with --parallel " : "",
                has_layout ? text : "");
    return text != NULL;
}

static bool write_value(const ms_fit_view *v, const ms_page *page, ms_arena *arena, uint64_t value,
                        const ms_step_figures *f)
{
    char need[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    if (ms_fit_is_of_gpus(v->answer))
        return write_gpus(v, page, arena, value, f);
    ms_page_say(page, "%s %" PRIu64 " %s: %s of %s GiB on %s", v->answer->what->name, value,
                gpus_verb(1, verdict_of(v, f)), ms_gib(f->device_bytes, need),
                ms_gib(v->run->budget_bytes, budget), v->run->device->name);
    return true;
}

static void write_none(const ms_fit_view *v, const ms_page *page, ms_arena *arena)
{
    const ms_fit_answer *a = v->answer;
    char budget[MS_GIB_TEXT];
    const char *without = ms_fit_answer_verdict(v) == MS_VERDICT_UNKNOWN
                              ? " by figures without what is not predicted"
                              : "";
    ms_gib(v->run->budget_bytes, budget);
    if (ms_fit_is_of_gpus(v->answer)) {
        const ms_layout layout = ms_fit_layout(a, a->next);
        const char *text = ms_layout_text(arena, &layout);
        ms_page_say(page, "no number up to %" PRIu64 " x %s fits%s, with %s GiB on each", a->next,
                    v->run->device->name, without, budget);
        ms_page_say(page, "memscope analyze with --parallel %s says why, and what would help",
                    text ? text : "");
    } else
        ms_page_say(page, "%s %" PRIu64 ", the smallest tried, does not fit %s GiB on %s%s",
                    a->what->name, a->step, budget, v->run->device->name, without);
}

ms_fit_verdict ms_fit_answer_verdict(const ms_fit_view *v)
{
    const ms_fit_reason reason = v->answer->value ? v->answer->at_value.reason : MS_FIT_OVER_BUDGET;
    return ms_reason_verdict(ms_reason_with_keys(reason, &v->run->keys));
}

/* The safe value first, then the largest and why it is only just one. */
static bool write_values(const ms_fit_view *v, const ms_page *page, ms_arena *arena)
{
    const ms_fit_answer *a = v->answer;
    const ms_fit_facts facts = {.reason = a->at_value.reason,
                                .budget_bytes = v->run->budget_bytes,
                                .high_device_bytes = a->at_value.high_device_bytes,
                                .retries = a->at_value.retries};
    const char *why = ms_fit_why(arena, &facts);
    const char *unknown = ms_inputs_why(arena, &v->run->keys);
    bool done = why && unknown;
    if (done && ms_fit_answer_verdict(v) == MS_VERDICT_UNKNOWN)
        ms_page_note(page, "Unknown:", unknown);
    if (done && a->value == 0) {
        write_none(v, page, arena);
    } else if (done) {
        if (has_safe_column(a))
            done = write_value(v, page, arena, a->safe_value, &a->at_safe);
        done = write_value(v, page, arena, a->value, &a->at_value) && done;
        if (*why)
            ms_page_note(page, ms_fit_why_label, why);
    }
    return done;
}

enum { FOUND_TEXT = 80 };

/* "batch 4 fits": what was found of the run with other options. */
static const char *found_text(const ms_fit_view *v, const ms_fit_mixed *other,
                              char text[FOUND_TEXT])
{
    const bool is_safe = other->safe_value > 0;
    const uint64_t value = is_safe ? other->safe_value : other->value;
    if (!value)
        return "nothing fits";
    if (ms_fit_is_of_gpus(v->answer))
        snprintf(text, FOUND_TEXT, "%" PRIu64 " x %.40s %s", value, v->run->device->name,
                 gpus_verb(value, is_safe ? MS_VERDICT_FITS : MS_VERDICT_TIGHT));
    else
        snprintf(text, FOUND_TEXT, "%s %" PRIu64 " %s", v->answer->what->name, value,
                 is_safe ? "fits" : "is tight");
    return text;
}

/* Nothing was said of types: the answer in mixed precision. */
static void write_mixed(const ms_fit_view *v, const ms_page *page)
{
    const ms_fit_mixed *mixed = &v->answer->mixed;
    char found[FOUND_TEXT], text[400];
    if (!mixed->options)
        return;
    snprintf(text, sizeof text,
             "weights and optimizer states are in %s, as no dtype is given; in mixed precision, "
             "with weights in fp32 (%s): %s",
             ms_dtype_info_of(v->run->dtype)->short_name, mixed->options,
             found_text(v, mixed, found));
    ms_page_note(page, "note:", text);
}

/* Nor of checkpoints, which PEFT's preparation of a quantised base has. */
static void write_prepared(const ms_fit_view *v, const ms_page *page)
{
    const ms_fit_mixed *prepared = &v->answer->prepared;
    char found[FOUND_TEXT], text[400];
    if (!prepared->options)
        return;
    snprintf(text, sizeof text,
             "PEFT's preparation of the quantised base checkpoints every layer unless it is told "
             "not to, which this run does not have; with %s: %s",
             prepared->options, found_text(v, prepared, found));
    ms_page_note(page, "note:", text);
}

/* What the search met, and what it leaves open. */
static void write_notes(const ms_fit_view *v, const ms_page *page)
{
    const ms_fit_answer *a = v->answer;
    char text[200];
    if (a->first_gap && ms_fit_is_of_gpus(v->answer))
        snprintf(text, sizeof text,
                 "not every larger number fits: %" PRIu64 " gpus do not, as padding and the "
                 "allocator's waste differ from number to number",
                 a->first_gap);
    else if (a->first_gap)
        snprintf(text, sizeof text,
                 "not every smaller value fits: %s %" PRIu64 " does not, as the allocator's "
                 "waste differs from value to value",
                 a->what->name, a->first_gap);
    if (a->first_gap)
        ms_page_note(page, "note:", text);
    if (!a->has_all)
        ms_page_note(page, "note:",
                     ms_fit_is_of_gpus(v->answer)
                         ? "not every smaller number was tried: one may fit, or be safe"
                         : "not every value was tried: if the allocator wastes less, a larger one "
                           "may fit, or be safe");
}

const char *ms_fit_title(ms_arena *arena, const ms_fit_what *what, const ms_model_config *model,
                         const ms_run_config *run)
{
    char text[MS_IMAGES_TEXT];
    const char *name = ms_model_title(model), *images = ms_images_words(model, run, text);
    const char *types = ms_view_types(arena, run);
    const char *optimizer = ms_optimizer_names[run->training.optimizer];
    if (!types)
        return NULL;
    if (what->kind == MS_FIT_GPUS)
        return ms_arena_printf(
            arena, "%s: fewest gpus, each with batch %" PRIu64 " x %" PRIu64 " tokens%s, %s, %s",
            name, run->batch, run->seq_tokens, images, types, optimizer);
    return ms_arena_printf(arena, "%s: largest %s%s, %s, %s, %s", name, what->name, images,
                           what->unit, types, optimizer);
}

/* The title, and the values. */
static bool write_answer(const ms_fit_view *v, const ms_page *page)
{
    ms_arena *arena = ms_arena_create(0);
    const char *title = arena ? ms_fit_title(arena, v->answer->what, v->model, v->run) : NULL;
    bool done = title != NULL;
    if (done) {
        ms_page_line(page, title);
        fputc('\n', page->out);
        done = write_values(v, page, arena);
    }
    ms_arena_free(arena);
    return done;
}

bool ms_fit_report_console(FILE *out, const ms_fit_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    if (!write_answer(v, &page))
        return false;
    write_why(v, &page);
    write_prepared(v, &page);
    write_notes(v, &page);
    write_mixed(v, &page);
    if (v->run->several_gpus.text)
        ms_page_note(&page, "note:", v->run->several_gpus.text);
    write_table(&page, v->answer);
    return true;
}
