/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every public function with NULL for each thing that it needs: it refuses with an error, or
 * answers with nothing. That no function is forgotten is seen from the headers.
 */
#include <glob.h>
#include <string.h>

#include "memscope/calibrate.h"
#include "memscope/check.h"
#include "memscope/devices.h"
#include "memscope/diff.h"
#include "memscope/fit.h"
#include "memscope/infer.h"
#include "memscope/memscope.h"
#include "memscope/plan.h"
#include "memscope/probe.h"
#include "memscope/ranks.h"
#include "memscope/recorded.h"
#include "memscope/stream.h"
#include "memscope/treat.h"
#include "memscope/sweep.h"
#include "unit/support.h"

/* Real ones, so that one argument is wrong at a time. */
static struct {
    ms_run *run;
    ms_analysis *analysis;
    ms_check *check;
    ms_comparison *comparison;
    ms_devices *devices;
    ms_fit *fit;
    ms_plan *plan;
    ms_calibrator *calibrator;
    ms_probe *probe;
    ms_recorded *recorded;
    ms_streaming *streaming;
    ms_inference *inference;
    ms_sweep *sweep;
    ms_inputs *inputs;
    FILE *out;
} the;
static ms_error err;
static ms_style style = {.columns = 80};
static const ms_probe_options host = {.backend = "host"}, nowhere = {.backend = NULL};
static const ms_streaming_options as_usual = {.prefetch = NULL};
static const ms_streaming_run_options on_host = {.backend = "host"}, no_place = {.backend = NULL};
static const char *const one_path[] = {"none.csv"};

static ms_status take(void *context, const char *row, size_t length, ms_error *error)
{
    (void)context;
    (void)row;
    (void)length;
    (void)error;
    return MS_OK;
}

/* STATUS refuses; NONE is NULL, and an error where there is one to fill; ZERO is 0, false or a
 * usage error's exit code's opposite; VOID does nothing. */
#define CALLS(STATUS, MAKES, NONE, ZERO, VOID)                                                     \
    STATUS(ms_run_set(NULL, "batch", "1", &err))                                                   \
    STATUS(ms_run_set(the.run, NULL, "1", &err))                                                   \
    STATUS(ms_run_set(the.run, "batch", NULL, &err))                                               \
    NONE(ms_run_fields(NULL))                                                                      \
    NONE(ms_run_field_choices(NULL))                                                               \
    NONE(ms_run_field_example(NULL, 0))                                                            \
    NONE(ms_run_word_at(SIZE_MAX))                                                                 \
    ZERO(ms_model_is_named(NULL))                                                                  \
    ZERO(ms_model_suggest(NULL, &err))                                                             \
    NONE(ms_run_field_missing(NULL))                                                               \
    MAKES(ms_analyze(NULL, &err))                                                                  \
    NONE(ms_analysis_summary(NULL))                                                                \
    NONE(ms_analysis_device(NULL))                                                                 \
    ZERO(ms_analysis_world(NULL, NULL))                                                            \
    NONE(ms_analysis_note(NULL, 0))                                                                \
    STATUS(ms_analysis_unroll(NULL, &err))                                                         \
    VOID(ms_analysis_skip_advice(NULL))                                                            \
    VOID(ms_analysis_set_style(NULL, &style))                                                      \
    VOID(ms_analysis_set_style(the.analysis, NULL))                                                \
    STATUS(ms_analysis_write(NULL, "json", the.out, &err))                                         \
    STATUS(ms_analysis_write(the.analysis, NULL, the.out, &err))                                   \
    STATUS(ms_analysis_write(the.analysis, "json", NULL, &err))                                    \
    STATUS(ms_analysis_write_events(NULL, the.out, &err))                                          \
    STATUS(ms_analysis_write_events(the.analysis, NULL, &err))                                     \
    NONE(ms_report_format_at(SIZE_MAX))                                                            \
    STATUS(ms_write_models(NULL, 0, NULL, &err))                                                   \
    STATUS(ms_write_devices(NULL, 0, NULL, &err))                                                  \
    STATUS(ms_write_schema(NULL, the.out, &err))                                                   \
    STATUS(ms_write_schema("run", NULL, &err))                                                     \
    NONE(ms_model_name_at(SIZE_MAX))                                                               \
    NONE(ms_schema_name(SIZE_MAX))                                                                 \
    STATUS(ms_write_schema_page(NULL, "run", the.out, &err))                                       \
    STATUS(ms_write_schema_page("run", NULL, the.out, &err))                                       \
    STATUS(ms_write_schema_page("run", "run", NULL, &err))                                         \
    STATUS(ms_write_version(NULL, &err))                                                           \
    MAKES(ms_check_run(NULL, NULL, &err))                                                          \
    ZERO(ms_check_exit_code(NULL) - ms_status_exit_code(MS_ERR_USAGE))                             \
    VOID(ms_check_set_style(NULL, &style))                                                         \
    VOID(ms_check_set_style(the.check, NULL))                                                      \
    VOID(ms_check_set_root(NULL, NULL, NULL))                                                      \
    STATUS(ms_check_write(NULL, "json", the.out, &err))                                            \
    STATUS(ms_check_write(the.check, NULL, the.out, &err))                                         \
    STATUS(ms_check_write(the.check, "json", NULL, &err))                                          \
    NONE(ms_check_format_at(SIZE_MAX))                                                             \
    ZERO(ms_check_baseline(NULL, 0, &(ms_baseline){0}))                                            \
    ZERO(ms_check_baseline(the.check, 0, NULL))                                                    \
    STATUS(ms_check_write_baseline(NULL, 0, the.out, &err))                                        \
    STATUS(ms_check_write_baseline(the.check, 0, NULL, &err))                                      \
    MAKES(ms_comparison_make(NULL, "gpt2", NULL, &err))                                            \
    MAKES(ms_comparison_make("gpt2", NULL, NULL, &err))                                            \
    MAKES(ms_comparison_make_with(NULL, "gpt2", NULL, NULL, NULL, &err))                           \
    MAKES(ms_comparison_make_with("gpt2", NULL, NULL, NULL, NULL, &err))                           \
    ZERO(ms_comparison_is_same(NULL))                                                              \
    VOID(ms_comparison_set_style(NULL, &style))                                                    \
    VOID(ms_comparison_set_style(the.comparison, NULL))                                            \
    STATUS(ms_comparison_write(NULL, "json", the.out, &err))                                       \
    STATUS(ms_comparison_write(the.comparison, NULL, the.out, &err))                               \
    STATUS(ms_comparison_write(the.comparison, "json", NULL, &err))                                \
    NONE(ms_comparison_format_at(SIZE_MAX))                                                        \
    MAKES(ms_fit_find(NULL, "batch", 1, &err))                                                     \
    MAKES(ms_fit_find(the.run, NULL, 1, &err))                                                     \
    ZERO(ms_fit_safe_value(NULL))                                                                  \
    NONE(ms_fit_verdict_name((ms_fit_verdict)99))                                                  \
    NONE(ms_fit_reason_name((ms_fit_reason)99))                                                    \
    NONE(ms_fit_reason_text((ms_fit_reason)99))                                                    \
    NONE(ms_fit_reason_advice((ms_fit_reason)99))                                                  \
    STATUS(ms_inputs_add(NULL, "a", &err))                                                         \
    STATUS(ms_inputs_add(the.inputs, NULL, &err))                                                  \
    NONE(ms_inputs_find(NULL, "a"))                                                                \
    STATUS(ms_inputs_set_root(NULL, "a", &err))                                                    \
    STATUS(ms_inputs_set_root(the.inputs, NULL, &err))                                             \
    NONE(ms_inputs_find(the.inputs, NULL))                                                         \
    ZERO(ms_is_same_file(NULL, "Makefile"))                                                        \
    ZERO(ms_is_same_file("Makefile", NULL))                                                        \
    VOID(ms_inputs_free(NULL))                                                                     \
    VOID(ms_run_set_inputs(NULL, the.inputs))                                                      \
    VOID(ms_plan_set_inputs(NULL, the.inputs))                                                     \
    VOID(ms_sweep_set_inputs(NULL, the.inputs))                                                    \
    ZERO(ms_fit_value(NULL))                                                                       \
    ZERO(ms_fit_verdict_of(NULL))                                                                  \
    NONE(ms_fit_note(NULL, 0))                                                                     \
    VOID(ms_fit_set_style(NULL, &style))                                                           \
    VOID(ms_fit_set_style(the.fit, NULL))                                                          \
    STATUS(ms_fit_write(NULL, "json", the.out, &err))                                              \
    STATUS(ms_fit_write(the.fit, NULL, the.out, &err))                                             \
    STATUS(ms_fit_write(the.fit, "json", NULL, &err))                                              \
    NONE(ms_fit_format_at(SIZE_MAX))                                                               \
    NONE(ms_fit_what_name(SIZE_MAX))                                                               \
    NONE(ms_plan_fields(NULL))                                                                     \
    NONE(ms_plan_field_choice(NULL, 0))                                                            \
    STATUS(ms_plan_set(NULL, "target", "x", &err))                                                 \
    STATUS(ms_plan_set(the.plan, NULL, "x", &err))                                                 \
    STATUS(ms_plan_set(the.plan, "target", NULL, &err))                                            \
    STATUS(ms_plan_set_run(NULL, "batch", "1", &err))                                              \
    STATUS(ms_plan_set_run(the.plan, NULL, "1", &err))                                             \
    STATUS(ms_plan_set_run(the.plan, "batch", NULL, &err))                                         \
    VOID(ms_plan_set_watch(NULL, NULL))                                                            \
    VOID(ms_run_set_watch(NULL, NULL))                                                             \
    VOID(ms_watch_free(NULL))                                                                      \
    VOID(ms_watch_stop(NULL))                                                                      \
    ZERO(ms_watch_done(NULL))                                                                      \
    STATUS(ms_plan_solve(NULL, &err))                                                              \
    VOID(ms_plan_stop(NULL))                                                                       \
    ZERO(ms_plan_verdict(NULL))                                                                    \
    NONE(ms_plan_note(NULL, 0))                                                                    \
    VOID(ms_plan_set_style(NULL, &style))                                                          \
    VOID(ms_plan_set_style(the.plan, NULL))                                                        \
    STATUS(ms_plan_write(NULL, "json", the.out, &err))                                             \
    STATUS(ms_plan_write(the.plan, NULL, the.out, &err))                                           \
    STATUS(ms_plan_write(the.plan, "json", NULL, &err))                                            \
    NONE(ms_plan_format_at(SIZE_MAX))                                                              \
    STATUS(ms_treat_write_code(NULL, 4, "reentrant", the.out, &err))                               \
    STATUS(ms_treat_write_code("all=checkpoint", 4, NULL, the.out, &err))                          \
    STATUS(ms_treat_write_code("all=checkpoint", 4, "reentrant", NULL, &err))                      \
    STATUS(ms_calibrator_add_pair(NULL, "a", "b", &err))                                           \
    STATUS(ms_calibrator_add_pair(the.calibrator, NULL, "b", &err))                                \
    STATUS(ms_calibrator_add_pair(the.calibrator, "a", NULL, &err))                                \
    STATUS(ms_calibrator_add_table(NULL, "a", &err))                                               \
    STATUS(ms_calibrator_add_table(the.calibrator, NULL, &err))                                    \
    STATUS(ms_calibrator_add_links(NULL, "a", &err))                                               \
    STATUS(ms_calibrator_add_links(the.calibrator, NULL, &err))                                    \
    STATUS(ms_calibrator_is_links(NULL, &(bool){false}, &err))                                     \
    STATUS(ms_calibrator_is_links("a", NULL, &err))                                                \
    STATUS(ms_calibrator_fit(NULL, &err))                                                          \
    STATUS(ms_calibrator_write(NULL, "json", the.out, &err))                                       \
    STATUS(ms_calibrator_write(the.calibrator, NULL, the.out, &err))                               \
    STATUS(ms_calibrator_write(the.calibrator, "json", NULL, &err))                                \
    NONE(ms_calibrator_format_at(SIZE_MAX))                                                        \
    VOID(ms_calibrator_set_style(NULL, &style))                                                    \
    VOID(ms_calibrator_set_style(the.calibrator, NULL))                                            \
    VOID(ms_inference_free(NULL))                                                                  \
    NONE(ms_inference_fields(NULL))                                                                \
    NONE(ms_inference_field_choice(NULL, 0))                                                       \
    STATUS(ms_inference_set(NULL, "device", "cpu", &err))                                          \
    STATUS(ms_inference_set(the.inference, NULL, "cpu", &err))                                     \
    STATUS(ms_inference_set(the.inference, "device", NULL, &err))                                  \
    VOID(ms_inference_set_inputs(NULL, the.inputs))                                                \
    STATUS(ms_inference_predict(NULL, "gpt2", &err))                                               \
    STATUS(ms_inference_predict(the.inference, NULL, &err))                                        \
    ZERO(ms_inference_fits(NULL))                                                                  \
    NONE(ms_inference_note(NULL, 0))                                                               \
    VOID(ms_inference_set_style(NULL, &style))                                                     \
    VOID(ms_inference_set_style(the.inference, NULL))                                              \
    STATUS(ms_inference_write(NULL, "json", the.out, &err))                                        \
    STATUS(ms_inference_write(the.inference, NULL, the.out, &err))                                 \
    STATUS(ms_inference_write(the.inference, "json", NULL, &err))                                  \
    NONE(ms_inference_format_at(SIZE_MAX))                                                         \
    NONE(ms_inference_engine_at(SIZE_MAX))                                                         \
    STATUS(ms_streaming_simulate(NULL, the.run, &as_usual, &err))                                  \
    STATUS(ms_streaming_simulate(the.streaming, NULL, &as_usual, &err))                            \
    STATUS(ms_streaming_simulate(the.streaming, the.run, NULL, &err))                              \
    STATUS(ms_streaming_run(NULL, &on_host, &err))                                                 \
    STATUS(ms_streaming_run(the.streaming, NULL, &err))                                            \
    STATUS(ms_streaming_run(the.streaming, &no_place, &err))                                       \
    STATUS(ms_streaming_run(the.streaming, &on_host, &err))                                        \
    VOID(ms_streaming_stop(NULL))                                                                  \
    ZERO(ms_streaming_has_run(NULL))                                                               \
    ZERO(ms_streaming_has_run(the.streaming))                                                      \
    NONE(ms_streaming_backend_at(SIZE_MAX))                                                        \
    ZERO(ms_streaming_fits(NULL))                                                                  \
    ZERO(ms_streaming_fits(the.streaming))                                                         \
    NONE(ms_streaming_note(NULL, 0))                                                               \
    VOID(ms_streaming_set_style(NULL, &style))                                                     \
    VOID(ms_streaming_set_style(the.streaming, NULL))                                              \
    STATUS(ms_streaming_write(NULL, "json", the.out, &err))                                        \
    STATUS(ms_streaming_write(the.streaming, NULL, the.out, &err))                                 \
    STATUS(ms_streaming_write(the.streaming, "json", NULL, &err))                                  \
    NONE(ms_streaming_format_at(SIZE_MAX))                                                         \
    NONE(ms_streaming_phase_at(SIZE_MAX))                                                          \
    VOID(ms_streaming_free(NULL))                                                                  \
    STATUS(ms_probe_step(NULL, the.run, &host, &err))                                              \
    STATUS(ms_probe_step(the.probe, NULL, &host, &err))                                            \
    STATUS(ms_probe_step(the.probe, the.run, NULL, &err))                                          \
    STATUS(ms_probe_step(the.probe, the.run, &nowhere, &err))                                      \
    STATUS(ms_probe_links(NULL, the.run, &host, &err))                                             \
    STATUS(ms_probe_links(the.probe, NULL, &host, &err))                                           \
    STATUS(ms_probe_links(the.probe, the.run, NULL, &err))                                         \
    STATUS(ms_probe_links(the.probe, the.run, &nowhere, &err))                                     \
    STATUS(ms_probe_offload(NULL, the.run, &host, &err))                                           \
    STATUS(ms_probe_offload(the.probe, NULL, &host, &err))                                         \
    STATUS(ms_probe_offload(the.probe, the.run, NULL, &err))                                       \
    VOID(ms_probe_stop(NULL))                                                                      \
    ZERO(ms_probe_has_figures(NULL))                                                               \
    ZERO(ms_probe_has_figures(the.probe))                                                          \
    NONE(ms_probe_note(NULL, 0))                                                                   \
    NONE(ms_calibrator_note(NULL, 0))                                                              \
    VOID(ms_probe_set_style(NULL, &style))                                                         \
    VOID(ms_probe_set_style(the.probe, NULL))                                                      \
    STATUS(ms_probe_write(NULL, "json", the.out, &err))                                            \
    STATUS(ms_probe_write(the.probe, "json", the.out, &err))                                       \
    NONE(ms_probe_format_at(SIZE_MAX))                                                             \
    NONE(ms_probe_offload_format_at(SIZE_MAX))                                                     \
    NONE(ms_probe_offload_tag_at(SIZE_MAX))                                                        \
    NONE(ms_probe_backend_at(SIZE_MAX))                                                            \
    VOID(ms_probe_free(NULL))                                                                      \
    MAKES(ms_recorded_load(NULL, &err))                                                            \
    NONE(ms_recorded_outcome(NULL))                                                                \
    NONE(ms_recorded_message(NULL))                                                                \
    NONE(ms_recorded_hint(NULL))                                                                   \
    ZERO(ms_recorded_has_figures(NULL))                                                            \
    ZERO(ms_recorded_steps(NULL))                                                                  \
    VOID(ms_recorded_set_style(NULL, &style))                                                      \
    VOID(ms_recorded_set_style(the.recorded, NULL))                                                \
    STATUS(ms_recorded_write(NULL, the.out, &err))                                                 \
    STATUS(ms_recorded_write(the.recorded, NULL, &err))                                            \
    VOID(ms_rank_read(NULL, &(ms_rank){0}))                                                        \
    VOID(ms_rank_read(the.recorded, NULL))                                                         \
    ZERO(ms_ranks_worst(NULL, 1) != SIZE_MAX)                                                      \
    STATUS(ms_ranks_write(NULL, 0, 0, "json", NULL, the.out, &err))                                \
    STATUS(ms_ranks_write(&(ms_rank){0}, 1, 1, NULL, NULL, the.out, &err))                         \
    STATUS(ms_ranks_write(&(ms_rank){0}, 1, 1, "json", NULL, NULL, &err))                          \
    STATUS(ms_compare_write(NULL, the.recorded, "json", the.out, &err))                            \
    STATUS(ms_compare_write(the.recorded, NULL, "json", the.out, &err))                            \
    STATUS(ms_compare_write(the.recorded, the.recorded, NULL, the.out, &err))                      \
    STATUS(ms_compare_write(the.recorded, the.recorded, "json", NULL, &err))                       \
    NONE(ms_compare_format_at(SIZE_MAX))                                                           \
    STATUS(ms_device_find(NULL, &(ms_device_facts){0}, &err))                                      \
    STATUS(ms_device_find("cpu", NULL, &err))                                                      \
    STATUS(ms_device_at(0, NULL, &err))                                                            \
    NONE(ms_sweep_fields(NULL))                                                                    \
    NONE(ms_sweep_field_choice(NULL, 0))                                                           \
    STATUS(ms_sweep_set(NULL, "jobs", "1", &err))                                                  \
    STATUS(ms_sweep_set(the.sweep, NULL, "1", &err))                                               \
    STATUS(ms_sweep_set(the.sweep, "jobs", NULL, &err))                                            \
    NONE(ms_sweep_get(NULL, "jobs"))                                                               \
    NONE(ms_sweep_get(the.sweep, NULL))                                                            \
    STATUS(ms_sweep_set_run(NULL, "batch", "1", &err))                                             \
    STATUS(ms_sweep_set_run(the.sweep, NULL, "1", &err))                                           \
    STATUS(ms_sweep_set_run(the.sweep, "batch", NULL, &err))                                       \
    STATUS(ms_sweep_open(NULL, &err))                                                              \
    NONE(ms_sweep_progress_of(NULL))                                                               \
    NONE(ms_sweep_header(NULL))                                                                    \
    STATUS(ms_sweep_resume(NULL, the.out, "a", &(uint64_t){0}, &err))                              \
    STATUS(ms_sweep_resume(the.sweep, NULL, "a", &(uint64_t){0}, &err))                            \
    STATUS(ms_sweep_resume(the.sweep, the.out, NULL, &(uint64_t){0}, &err))                        \
    STATUS(ms_sweep_resume(the.sweep, the.out, "a", NULL, &err))                                   \
    STATUS(ms_sweep_run(NULL, take, NULL, &err))                                                   \
    STATUS(ms_sweep_run(the.sweep, NULL, NULL, &err))                                              \
    VOID(ms_sweep_stop(NULL))                                                                      \
    STATUS(ms_sweep_merge(NULL, 1, the.out, &err))                                                 \
    STATUS(ms_sweep_merge(one_path, 1, NULL, &err))                                                \
    STATUS(ms_sweep_frontier(NULL, "a", NULL, the.out, &err))                                      \
    STATUS(ms_sweep_frontier(the.out, NULL, NULL, the.out, &err))                                  \
    STATUS(ms_sweep_frontier(the.out, "a", NULL, NULL, &err))                                      \
    STATUS(ms_sweep_write_table(NULL, "a", &style, the.out, &err))                                 \
    STATUS(ms_sweep_write_table(the.out, NULL, &style, the.out, &err))                             \
    STATUS(ms_sweep_write_table(the.out, "a", NULL, the.out, &err))                                \
    STATUS(ms_sweep_write_table(the.out, "a", &style, NULL, &err))                                 \
    MAKES(ms_devices_analyze(NULL, "t4,l4", &err))                                                 \
    MAKES(ms_devices_analyze(the.run, NULL, &err))                                                 \
    MAKES(ms_devices_fit(NULL, "t4,l4", "batch", 1, &err))                                         \
    MAKES(ms_devices_fit(the.run, NULL, "batch", 1, &err))                                         \
    MAKES(ms_devices_fit(the.run, "t4,l4", NULL, 1, &err))                                         \
    MAKES(ms_devices_plan(NULL, "t4,l4", &err))                                                    \
    MAKES(ms_devices_plan(the.plan, NULL, &err))                                                   \
    ZERO(ms_devices_are_listed(NULL))                                                              \
    ZERO(ms_devices_verdict(NULL))                                                                 \
    ZERO(ms_devices_fit_count(NULL))                                                               \
    NONE(ms_devices_note(NULL, 0))                                                                 \
    NONE(ms_devices_note(the.devices, SIZE_MAX))                                                   \
    VOID(ms_devices_free(NULL))                                                                    \
    VOID(ms_devices_set_style(NULL, &style))                                                       \
    VOID(ms_devices_set_style(the.devices, NULL))                                                  \
    STATUS(ms_devices_write(NULL, "json", the.out, &err))                                          \
    STATUS(ms_devices_write(the.devices, NULL, the.out, &err))                                     \
    STATUS(ms_devices_write(the.devices, "json", NULL, &err))                                      \
    NONE(ms_devices_format_at(SIZE_MAX))                                                           \
    NONE(ms_sweep_format_at(SIZE_MAX))                                                             \
    ZERO(ms_printable(NULL, NULL, 0))                                                              \
    VOID(ms_run_free(NULL))                                                                        \
    VOID(ms_analysis_free(NULL))                                                                   \
    VOID(ms_check_free(NULL))                                                                      \
    VOID(ms_comparison_free(NULL))                                                                 \
    VOID(ms_fit_free(NULL))                                                                        \
    VOID(ms_plan_free(NULL))                                                                       \
    VOID(ms_calibrator_free(NULL))                                                                 \
    VOID(ms_recorded_free(NULL))                                                                   \
    VOID(ms_sweep_free(NULL))

static void fail_if(bool is_wrong, const char *call)
{
    if (is_wrong)
        fail_msg("%s: %s", call, err.text);
    err = (ms_error){0};
}

#define STATUS(call) fail_if((call) != MS_ERR_USAGE || err.status != MS_ERR_USAGE, #call);
#define MAKES(call) fail_if((call) != NULL || err.status != MS_ERR_USAGE, #call);
#define NONE(call) fail_if((call) != NULL, #call);
#define ZERO(call) fail_if((call) != 0, #call);
#define VOID(call) call;
#define NAME(call) #call,

static void null_is_refused(void **state)
{
    (void)state;
    CALLS(STATUS, MAKES, NONE, ZERO, VOID)
}

/* Those that take nothing that could be NULL, and ms_status_exit_code, which stands inside a call.
 */
static const char others[] =
    "ms_run_create( ms_plan_create( ms_calibrator_create( ms_probe_create( "
    "ms_streaming_create( ms_inference_create( ms_sweep_create( ms_inputs_create( ms_watch_create( "
    "ms_status_text( "
    "ms_status_exit_code( ";

static bool is_called(const char *name)
{
    static const char *const calls[] = {CALLS(NAME, NAME, NAME, NAME, NAME)};
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (strncmp(calls[i], name, strlen(name)) == 0)
            return true;
    return strstr(others, name) != NULL;
}

static void look_for_names(const char *path)
{
    char line[400];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        const char *found = line[0] == ' ' || line[0] == '/' ? NULL : strstr(line, "ms_");
        for (; found; found = strstr(found + 1, "ms_")) {
            char name[100];
            size_t length = strcspn(found, "( ;,)*");
            snprintf(name, sizeof name, "%.*s(", (int)length, found);
            if (found[length] == '(' && found[-1] != '(' && !is_called(name))
                fail_msg("%s: %s is not in the table", path, name);
        }
    }
    fclose(in);
}

static void no_function_is_forgotten(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("include/memscope/*.h", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        look_for_names(found.gl_pathv[i]);
    globfree(&found);
}

static int make(void **state)
{
    (void)state;
    the.out = tmpfile();
    the.run = ms_run_create();
    (void)ms_run_set(the.run, "config", "gpt2", &err);
    (void)ms_run_set(the.run, "seq", "16", &err);
    the.analysis = ms_analyze(the.run, &err);
    the.check = ms_check_run("tests/oom/memscope.budgets.json",
                             &(ms_check_options){.no_plans = true}, &err);
    the.comparison = ms_comparison_make("gpt2", "gpt2", the.run, &err);
    the.fit = ms_fit_find(the.run, "batch", 4096, &err);
    the.devices = ms_devices_analyze(the.run, "t4,l4", &err);
    the.plan = ms_plan_create();
    the.calibrator = ms_calibrator_create();
    the.probe = ms_probe_create();
    the.streaming = ms_streaming_create();
    the.inference = ms_inference_create();
    the.recorded = ms_recorded_load("tests/golden/cli/compare/compare/files/runtime.json", &err);
    the.sweep = ms_sweep_create();
    the.inputs = ms_inputs_create();
    if (err.text[0])
        print_error("%s: %s\n", err.file, err.text);
    return err.status == MS_OK && the.out && the.plan && the.calibrator && the.sweep && the.inputs
               ? 0
               : 1;
}

static int drop(void **state)
{
    (void)state;
    ms_inputs_free(the.inputs);
    ms_sweep_free(the.sweep);
    ms_recorded_free(the.recorded);
    ms_calibrator_free(the.calibrator);
    ms_probe_free(the.probe);
    ms_streaming_free(the.streaming);
    ms_inference_free(the.inference);
    ms_plan_free(the.plan);
    ms_fit_free(the.fit);
    ms_devices_free(the.devices);
    ms_comparison_free(the.comparison);
    ms_check_free(the.check);
    ms_analysis_free(the.analysis);
    ms_run_free(the.run);
    return fclose(the.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(null_is_refused),
                                       cmocka_unit_test(no_function_is_forgotten)};
    return cmocka_run_group_tests_name("null", tests, make, drop);
}
