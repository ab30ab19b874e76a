/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/write.h"
#include "input/config/model/model_config.h"
#include "memscope/fit.h"
#include "report/kit/writer_list.h"
#include "report/others/fit_report.h"
#include "report/view/fit_words.h"
#include "report/view/inputs.h"
#include "report/view/view.h"
#include "core/trace/trace.h"

/* `layout`: of a number of GPUs; else NULL. */
static void write_figures(ms_json_writer *w, const char *key, uint64_t value, const char *layout,
                          const ms_step_figures *f, const ms_read_keys *keys)
{
    if (value == 0) {
        ms_json_null(w, key);
        return;
    }
    ms_json_object(w, key);
    ms_json_uint(w, "value", value);
    if (layout)
        ms_json_string(w, "parallel", layout);
    ms_fit_json(w, ms_reason_with_keys(f->reason, keys));
    ms_json_uint(w, "peak_memory_bytes", f->peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", f->reserved_bytes);
    ms_json_uint(w, "expected_device_bytes", f->device_bytes);
    ms_json_uint(w, "host_memory_bytes", f->host_bytes);
    ms_json_string(w, "peak_stage", ms_phase_name(f->peak_phase));
    ms_json_object(w, "peak_composition");
    for (int i = 0; i < MS_CATEGORY_COUNT; i++)
        ms_json_uint(w, ms_category_name((ms_category)i), f->category_bytes[i]);
    ms_json_close(w);
    ms_json_close(w);
}

static bool write_values_json(const ms_fit_view *v, ms_json_writer *w, ms_arena *arena)
{
    const ms_fit_answer *a = v->answer;
    bool done = true;
    const struct {
        const char *key;
        uint64_t value;
        const ms_step_figures *figures;
    } all[] = {{"safe", a->safe_value, &a->at_safe},
               {"largest", ms_fit_is_of_gpus(a) ? 0 : a->value, &a->at_value},
               {"fewest", ms_fit_is_of_gpus(a) ? a->value : 0, &a->at_value},
               {"next", a->next, &a->at_next}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = NULL;
        if (ms_fit_is_of_gpus(a) && all[i].value) {
            const ms_layout layout = ms_fit_layout(a, all[i].value);
            text = ms_layout_text(arena, &layout);
            done = done && text;
        }
        write_figures(w, all[i].key, all[i].value, text, all[i].figures, &v->run->keys);
    }
    return done;
}

static void write_other(ms_json_writer *w, const char *name, const ms_fit_mixed *other)
{
    if (!other->options)
        return;
    ms_json_object(w, name);
    ms_json_string(w, "options", other->options);
    ms_json_uint(w, "value", other->value);
    ms_json_uint(w, "safe_value", other->safe_value);
    ms_json_close(w);
}

bool ms_fit_report_json(FILE *out, const ms_fit_view *v)
{
    const ms_fit_answer *a = v->answer;
    ms_json_writer w = {.out = out};
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return false;
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_FIT_SCHEMA_VERSION);
    ms_json_string(&w, "model", v->model->name);
    ms_json_string(&w, "device", v->run->device->name);
    ms_json_uint(&w, "budget_bytes", v->run->budget_bytes);
    ms_json_string(&w, "what", a->what->name);
    ms_json_uint(&w, "step", a->step);
    ms_json_uint(&w, "value", a->value);
    ms_json_uint(&w, "safe_value", a->safe_value);
    ms_json_string(&w, "stopped_by", ms_fit_end_names[a->end]);
    if (a->first_gap)
        ms_json_uint(&w, "first_gap", a->first_gap);
    else
        ms_json_null(&w, "first_gap");
    ms_json_uint(&w, "searched_to", a->searched_to);
    ms_json_bool(&w, ms_fit_is_of_gpus(a) ? "fewer_excluded" : "larger_excluded", a->has_all);
    ms_json_uint(&w, "simulations", a->simulations);
    if (v->run->several_gpus.text)
        ms_json_string(&w, "several_gpus", v->run->several_gpus.text);
    write_other(&w, "mixed_precision", &v->answer->mixed);
    write_other(&w, "peft_checkpoints", &v->answer->prepared);
    bool done = write_values_json(v, &w, arena);
    ms_inputs_json(&w, &v->run->keys);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    ms_arena_free(arena);
    return done;
}
