/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of plans from values made by hand: what each format says of a plan that fits, of one that
 * does not, of rules, of trainers and of a curve.
 */
#include "unit/support.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "model/load.h"
#include "base/json/value.h"
#include "decide/plan/search/curve.h"
#include "decide/plan/trainers/targets.h"
#include "report/plan_report.h"
#include "report/plan/plan_view.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

typedef enum fixture {
    FITS,
    KEEPS_ALL,
    INFEASIBLE,
    NO_PLAN,
    STOPPED,
    WASTE,
    RULES,
    TARGET,
    ALL_TARGETS,
    NO_RATES,
    CURVE,
    NO_RATES_CURVE,
    FLAT_CURVE,
    EMPTY_CURVE
} fixture;

/* Everything an answer refers to. */
typedef struct scene {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_step_task task;
    ms_step_plan plan;
    ms_curve curve;
    ms_target target;
    ms_target_answers targets;
    ms_plan_answer answer;
    ms_device device;
} scene;

static ms_step_figures figures(scene *s, const char *treat, uint64_t peak_mib, double step_ms)
{
    ms_step_figures f = {
        .treat = treat, .peak_bytes = peak_mib * MIB, .peak_phase = MS_PHASE_BACKWARD};
    f.treatments.layers = ms_arena_array(s->arena, ms_treatment, s->model.num_layers);
    assert_non_null(f.treatments.layers);
    assert_int_equal(ms_treatments_apply(treat, s->arena, s->model.num_layers, &f.treatments, NULL),
                     MS_OK);
    f.reserved_bytes = f.peak_bytes + GIB / 4;
    f.device_bytes = f.reserved_bytes + GIB / 2;
    f.host_bytes = strstr(treat, "offload") ? GIB : 0;
    f.category_bytes[MS_CATEGORY_WEIGHT] = 512 * MIB;
    f.category_bytes[MS_CATEGORY_ACTIVATION] = f.peak_bytes - 512 * MIB;
    f.high_device_bytes = f.device_bytes + GIB / 4;
    f.reason = f.device_bytes > s->run.budget_bytes        ? MS_FIT_OVER_BUDGET
               : f.high_device_bytes > s->run.budget_bytes ? MS_FIT_UPPER_END
                                                           : MS_FIT_WITHIN_BUDGET;
    f.time =
        (ms_step_time){step_ms, step_ms - 2, step_ms > 100 ? step_ms - 100 : 0, 2, 7, 0, false};
    return f;
}

static void add_decisions(scene *s)
{
    const ms_decision rows[] = {
        {0, 9, "checkpoint", 3 * GIB, 0, 11.5, "frees most for its time"},
        {12, 12, "offload:0.5+tile:4", GIB, GIB, 0.25, "copies hide | behind computing"},
        {MS_NONE, MS_NONE, "chunk:8", GIB / 2, 0, 0, "the logits never exist at once"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(ms_vec_push(&s->plan.decisions, rows[i]));
}

static void set_plan(scene *s, fixture which)
{
    static const char treat[] = "0-9=checkpoint,12=offload:0.5+tile:4,loss=chunk:8";
    bool is_infeasible = which == INFEASIBLE || which == NO_PLAN;
    uint64_t peak_mib = which == INFEASIBLE ? 1792 : 3072;
    s->run.budget_bytes = is_infeasible ? 2 * GIB : 4 * GIB;
    s->plan = (ms_step_plan){.budget_bytes = s->run.budget_bytes,
                             .keep_all = figures(s, "", 7168, 100),
                             .checkpoint_all = figures(s, "all=checkpoint", 2048, 130),
                             .plan = figures(s, which == KEEPS_ALL ? "" : treat, peak_mib, 112.25),
                             .least_budget_bytes = which == INFEASIBLE ? 5 * GIB / 2 : 0,
                             .bound_ms = 112,
                             .gap = 0.25 / 112.25,
                             .has_gap = true,
                             .solve_ms = 41.5,
                             .simulations = 17,
                             .rules_estimate_bytes = 3 * GIB,
                             .rules_estimate_overhead = 0.05};
    if (which != KEEPS_ALL)
        add_decisions(s);
    s->plan.outcome = is_infeasible      ? MS_PLAN_INFEASIBLE
                      : which == STOPPED ? MS_PLAN_LIMIT
                                         : MS_PLAN_OPTIMAL;
    s->task.gap = which == WASTE || which == STOPPED ? 0.001 : 0.01;
    s->task.planner = which == RULES     ? MS_PLANNER_RULES
                      : which == NO_PLAN ? MS_PLANNER_GREEDY
                                         : MS_PLANNER_MILP;
    if (which == NO_PLAN)
        s->plan.plan = (ms_step_figures){0};
    if (which == INFEASIBLE)
        assert_true(ms_vec_push(&s->plan.suggestions,
                                (ms_alternative){.name = "half the batch",
                                                 .option = "--batch 1",
                                                 .has_figures = true,
                                                 .figures = figures(s, "", 1024, 60)}));
    assert_true(ms_vec_push(&s->plan.compared,
                            (ms_alternative){.name = "greedy",
                                             .option = "",
                                             .has_figures = true,
                                             .figures = figures(s, "0-11=checkpoint", 2900, 118)}));
    assert_true(ms_vec_push(&s->plan.compared, (ms_alternative){.name = "uniform"}));
}

static void set_targets(scene *s, fixture which)
{
    const ms_target *restricted = NULL;
    for (size_t i = 0; ms_target_at(i) && !restricted; i++)
        restricted = ms_target_at(i)->is_free ? NULL : ms_target_at(i);
    assert_non_null(restricted);
    s->target = *restricted;
    if (which == TARGET) {
        s->task.target = s->target.name;
        s->plan.target_text = "first: \"line\"\n\n  second <line>";
        s->plan.target_free_ms = 110;
        s->plan.target_free_peak_bytes = 3 * GIB + GIB / 4;
    }
    if (which == ALL_TARGETS) {
        ms_target_answer fits = {.target = &s->target}, none = fits;
        fits.plan.plan = figures(s, "all=checkpoint", 2048, 130);
        none.plan.plan = figures(s, "all=checkpoint", 9000, 130);
        none.plan.outcome = MS_PLAN_INFEASIBLE;
        const ms_target_answer unsupported = {.target = &s->target,
                                              .plan.outcome = MS_PLAN_INFEASIBLE,
                                              .unsupported = "no layer runs an operator '<mm>'"};
        assert_true(ms_vec_push(&s->targets, fits) && ms_vec_push(&s->targets, none) &&
                    ms_vec_push(&s->targets, unsupported));
    }
}

static void set_curve(scene *s, fixture which)
{
    uint32_t count = which == EMPTY_CURVE ? 0 : which == FLAT_CURVE ? 2 : 24;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = which == FLAT_CURVE ? 0 : count - 1 - i;
        ms_curve_point p = {.budget_bytes = (4096 + 128 * i) * MIB,
                            .figures = figures(s, left ? "0-1=checkpoint,loss=chunk:2" : "",
                                               3072 + 128 * i, 100 + 0.125 * left * left),
                            .bound_ms = 99,
                            .gap = 0.01};
        if (which == FLAT_CURVE)
            p.budget_bytes = 4 * GIB;
        assert_true(ms_vec_push(&s->curve.points, p));
    }
    s->curve.keep_all = figures(s, "", 6144, 100);
    s->curve.solve_ms = 77.7;
}

/* The run's device, but for the bandwidth of its memory, which nobody knows. */
static void forget_rates(scene *s)
{
    ms_device unknown = *s->run.device;
    unknown.memory_bytes_per_s = 0;
    s->device = ms_device_assume_rates(&unknown);
    s->run.device = &s->device;
    ms_step_plan_forget_times(&s->plan);
    ms_curve_forget_times(&s->curve);
}

static void set_scene(scene *s, fixture which)
{
    const ms_run_setting settings[] = {{"config", "smollm2-135m"}, {"batch", "2"}};
    s->arena = ms_arena_create(0);
    assert_non_null(s->arena);
    assert_int_equal(
        ms_run_load(s->arena, settings, COUNT_OF(settings), &s->model, &s->run, NULL, NULL), MS_OK);
    s->task = (ms_step_task){.model = &s->model,
                             .run = &s->run,
                             .techniques = MS_MAY_ALL,
                             .gpu_cost_per_hour = 3.6,
                             .target = ms_target_at(0)->name};
    s->answer = (ms_plan_answer){.task = &s->task, .targets = &s->targets, .style.columns = 100};
    if (which >= CURVE) {
        set_curve(s, which);
        s->answer.curve = &s->curve;
    } else {
        set_plan(s, which);
        set_targets(s, which);
        s->answer.plan = &s->plan;
    }
    if (which == NO_RATES || which == NO_RATES_CURVE)
        forget_rates(s);
}

static void clear_scene(scene *s)
{
    ms_vec_free(&s->plan.decisions);
    ms_vec_free(&s->plan.compared);
    ms_vec_free(&s->plan.suggestions);
    ms_vec_free(&s->curve.points);
    ms_vec_free(&s->targets);
    ms_arena_free(s->arena);
}

/* The whole report; to free. */
static char *report(fixture which, const char *format)
{
    scene s = {0};
    char *text = NULL;
    size_t size = 0;
    ms_error err = {0};
    set_scene(&s, which);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (ms_plan_report_write(&s.answer, format, out, &err) != MS_OK)
        fail_msg("%s", err.text);
    fclose(out);
    clear_scene(&s);
    return text;
}

/* ---- what reports say ---- */

typedef struct report_case {
    const char *label;
    fixture which;
    const char *format;
    const char *said[9];   /* in this order */
    const char *unsaid[3]; /* nowhere */
} report_case;

/* clang-format off */
static const report_case report_cases[] = {
    {"console, fits", FITS, "console",
     {"smollm2-135m: batch 2 x 2048 tokens", "fits: 3.75 of 4.00 GiB on a100-80gb, +12.3 % time",
      "within 0.223 % of the best possible: no combination of these options is faster than "
      "112.000 ms",
      "--treat 0-9=checkpoint,12=offload:0.5+tile:4,loss=chunk:8",
      "allocated                         3.00      7.00            2.00",
      "1,000 steps, at 3.60/h            0.11      0.10            0.13",
      "layers 0-9: frees most for its time", "greedy"},
     {"What would fit", "For ", "expected"}},
    {"console, time", FITS, "console",
     {"computing                         98.0      98.0            98.0",
      "recomputing                       12.3       0.0            30.0",
      "waiting for the host               2.0       2.0             2.0",
      "together                         112.3     100.0           130.0",
      "+12.3 %    +0.0 %         +30.0 %", "kept: layers 10-11,13-29"},
     {"nan"}},
    {"console, largest first", FITS, "console",
     {"layers 0-9", "layer 12", "loss", "Why", "layers 0-9:", "layer 12:", "loss:",
      "17 simulations, 42 ms"}, {NULL}},
    {"console, everything kept", KEEPS_ALL, "console",
     {"fits: 3.75 of 4.00 GiB on a100-80gb, with everything kept",
      "no layer has to be treated: no combination of these options is faster"}, {"--treat", "proven", "Treated"}},
    {"console, infeasible", INFEASIBLE, "console",
     {"does not fit: short by 0.50 GiB (2.50 is the smallest budget found, of 2.00 on a100-80gb)",
      "other combinations of these options are not ruled out", "What would fit", "half the batch", "--batch 1", "The smallest plan found",
      "At the peak", "verdict                             no        no              no"}, {"proven"}},
    {"console, a planner without a plan", NO_PLAN, "console",
     {"short by about 0.75 GiB (needs 2.75 of 2.00", "the greedy planner found no plan; another planner may find one",
      "--treat all=checkpoint", "At the peak"}, {"Treated", "Why", "nan"}},
    {"json, a planner without a plan", NO_PLAN, "json",
     {"\"status\": \"infeasible\"", "\"least_budget_bytes\": null", "\"fits\": false",
      "\"treat\": \"all=checkpoint\"", "\"rationale\": []"}, {NULL}},
    {"console, a wasteful allocator", WASTE, "console",
     {"within 0.223 % of the best possible", "is faster than 112.000 ms"}, {"proven"}},
    {"console, stopped", STOPPED, "console",
     {"within 0.223 % of the best possible"}, {"proven"}},
    {"console, rules", RULES, "console",
     {"What the rules expected", "the rules expected a peak of 3.00 GiB and +5.0 % time; in simulation, the peak is 3.00 GiB"},
     {NULL}},
    {"console, a trainer", TARGET, "console",
     {"For ", "  first: \"line\"\n\n    second <line>\n",
      "+2.3 ms per step (+2.0 %) and -0.25 GiB"}, {NULL}},
    {"console, all trainers", ALL_TARGETS, "console",
     {"Trainers", "free ", "2.00    -1.00     130.0     17.8  fits     all=checkpoint", "8.79    +5.79     130.0     17.8  no",
      "hf was not compared: no layer runs an operator '<mm>'"},
     {"nan"}},
    {"console, a device without rates", NO_RATES, "console",
     {"fits: 3.75 of 4.00 GiB on a100-80gb\n", "compared at assumed rates: gap 0.223 %",
      "compared at 312", "2000 GB/s of memory bandwidth and 26 GB/s to the host",
      "greedy         3.58         -        -  fits     0-11=checkpoint"},
     {"nan", "1,000 steps"}},
    {"console, curve", CURVE, "console",
     {"from 3.75 GiB and +66.1 % time to 6.63 GiB and +0.0 % time on a100-80gb", "4.00", "166.1",
      "6.88", "keep everything", "24 points, 78 ms"}, {"nan"}},
    {"json, fits", FITS, "json",
     {"\"status\": \"optimal\"", "\"budget_bytes\": 4294967296", "\"fits\": true",
      "\"overhead_pct\": 12.250", "\"bound_ms\": 112.000",
      "{\"layer\": 12, \"treatment\": \"offload:0.5+tile:4\"}", "\"loss_chunks\": 8",
      "\"per_1000_steps\": {\"plan\": 0.1123, \"keep_all\": 0.1000, \"checkpoint_all\": 0.1300}"},
     {"targets", "rules_estimate", "nan"}},
    {"json, infeasible", INFEASIBLE, "json",
     {"\"status\": \"infeasible\"", "\"fits\": false", "\"bound_ms\": null", "\"gap\": null",
      "\"suggestions\"", "\"--batch 1\"", "\"overhead_pct\": null"}, {NULL}},
    {"json, stopped", STOPPED, "json", {"\"status\": \"limit\"", "\"fits\": true"}, {NULL}},
    {"json, a trainer", TARGET, "json",
     {"\"first: \\\"line\\\"\\n\\n  second <line>\"", "\"free_step_ms\": 110.000",
      "{\"step_ms\": 2.250, \"step_pct\": 2.045, \"peak_memory_bytes\": -268435456}"}, {NULL}},
    {"json, all trainers", ALL_TARGETS, "json",
     {"\"targets\": [", "\"status\": \"optimal\"", "\"status\": \"infeasible\"", "\"unsupported_targets\": [",
      "\"name\": \"hf\"", "\"reason\": \"no layer runs an operator '<mm>'\""}, {"nan"}},
    {"json, rules", RULES, "json",
     {"\"planner\": \"rules\"", "\"rules_estimate\": {", "\"overhead_pct\": 5.000"}, {NULL}},
    {"json, a device without rates", NO_RATES, "json",
     {"\"step_ms\": null", "\"overhead_pct\": null",
      "\"bound_ms\": null", "\"gap\": 0.002227",
      "\"added_ms\": null", "{\"plan\": null, \"keep_all\": null, \"checkpoint_all\": null}",
      "\"memory_gb_per_s\": 2000.000"}, {"nan"}},
    {"md, a device without rates", NO_RATES, "md",
     {"times are omitted because not all rates of this device are known"}, {"nan"}},
    {"json, curve", CURVE, "json",
     {"\"target\": \"free\"", "\"points\": [", "\"budget_bytes\": 4294967296", "\"gap\": 0.010000"},
     {NULL}},
    {"md, fits", FITS, "md",
     {"**fits: 3.75", "--treat 0-9", "| allocated | 3.00 | 7.00 | 2.00 |",
      "copies hide \\| behind computing", "kept: layers 10-11,13-29"}, {"nan"}},
    {"md, infeasible", INFEASIBLE, "md",
     {"**does not fit", "## What would fit",
      "| half the batch | 1.00 | 1.75 | 60.000 | - | fits | `--batch 1` |", "The smallest plan found"}, {NULL}},
    {"md, all trainers", ALL_TARGETS, "md", {"## Trainers", "| free |", "`all=checkpoint`", "hf was not compared: no layer runs"}, {"nan"}},
    {"md, curve", CURVE, "md", {"# Time against memory", "| 4.00 |", "| 6.88 GiB |"}, {NULL}},
    {"html, fits", FITS, "html",
     {"<p class=\"verdict good\" id=\"verdict\">fits: 3.75", "<pre id=\"treat\">--treat 0-9=checkpoint",
      "<span aria-hidden=\"true\" class=\"t-offload t-tile\" title=\"layer 12: offload, in tiles\"></span>",
      "<data value=\"3221225472\">3.00 GiB</data>", "copies hide | behind computing"}, {"nan", "src="}},
    {"html, infeasible", INFEASIBLE, "html",
     {"<p class=\"verdict bad\" id=\"verdict\">does not fit", "What would fit", "half the batch"}, {NULL}},
    {"html, all trainers", ALL_TARGETS, "html", {"<h2 id=\"trainers-title\">Trainers</h2>", "hf was not compared: no layer runs an operator"},
     {"<mm>"}},
    {"html, curve", CURVE, "html", {"id=\"curve-svg\"", "<polyline", "4.00 GiB"}, {NULL}},
    {"html, a curve without rates", NO_RATES_CURVE, "html", {"id=\"points\""}, {"id=\"curve-svg\"", "nan"}},
    {"html, curve without points", EMPTY_CURVE, "html", {"stopped before"}, {"id=\"curve-svg\"", "nan"}},
    {"csv", CURVE, "csv",
     {"budget_bytes,fits,", ",treat\n4294967296,true,fits,within-budget,3221225472,3489660928,4026531840,0,166.125000,",
      ",\"0-1=checkpoint,loss=chunk:2\"\n", "99.000000,0.010000,\"\"\n"}, {NULL}},
    {"csv without points", EMPTY_CURVE, "csv", {"budget_bytes,fits,"}, {"true"}},
    {"svg", CURVE, "svg",
     {"<svg xmlns=\"http://www.w3.org/2000/svg\"", "smollm2-135m", "memory budget (GiB on the device)",
      "time of a step (ms)", "<polyline", "<circle", "4.00 GiB", "</svg>\n"},
     {"<script", "href", "nan"}},
    {"svg of one spot", FLAT_CURVE, "svg", {"<svg", "<circle", "</svg>\n"}, {"nan", "inf"}},
    {"svg without points", EMPTY_CURVE, "svg", {"<svg", "</svg>\n"}, {"<circle", "nan", "inf"}},
};
/* clang-format on */

static void check_report(void **state)
{
    const report_case *c = *state;
    char *text = report(c->which, c->format), *from = text;
    for (size_t i = 0; i < COUNT_OF(c->said) && c->said[i]; i++) {
        char *found = strstr(from, c->said[i]);
        if (!found)
            fail_msg("no \"%s\" (in this order) in:\n%s", c->said[i], text);
        from = found + strlen(c->said[i]);
    }
    for (size_t i = 0; i < COUNT_OF(c->unsaid) && c->unsaid[i]; i++)
        if (strstr(text, c->unsaid[i]))
            fail_msg("\"%s\" is in:\n%s", c->unsaid[i], text);
    free(text);
}

/* Lines fit the page, but for what is to be copied. */
static void check_columns(void **state)
{
    (void)state;
    static const fixture all[] = {FITS,   INFEASIBLE,  NO_PLAN,  STOPPED, RULES,
                                  TARGET, ALL_TARGETS, NO_RATES, CURVE};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *text = report(all[i], "console");
        for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;)
            if (strlen(line) > 100 && !strstr(line, "--treat"))
                fail_msg("%zu columns: %s", strlen(line), line);
        free(text);
    }
}

/* What analyze --plan takes is what was planned. */
static void check_treat_comes_back(void **state)
{
    (void)state;
    char *text = report(FITS, "json");
    ms_json_source source = {"plan.json", text, strlen(text)};
    ms_json *document = NULL;
    ms_json_value value;
    const char *treat = NULL;
    assert_int_equal(ms_json_parse(&source, &document, NULL), MS_OK);
    assert_int_equal(ms_json_get_member(ms_json_root(document), "treat", &value, NULL), MS_OK);
    assert_int_equal(ms_json_get_string(value, &treat, NULL), MS_OK);
    assert_string_equal(treat, "0-9=checkpoint,12=offload:0.5+tile:4,loss=chunk:8");
    ms_json_free(document);
    free(text);
}

static void check_formats(void **state)
{
    (void)state;
    scene s = {0};
    ms_error err = {0};
    size_t count = 0;
    set_scene(&s, FITS);
    assert_int_equal(ms_plan_report_write(&s.answer, "svg", stderr, &err), MS_ERR_USAGE);
    assert_string_equal(err.text,
                        "svg is a format of --curve; a plan can be console, json, md or html");
    clear_scene(&s);
    s = (scene){0};
    err = (ms_error){0};
    set_scene(&s, NO_RATES_CURVE);
    assert_int_equal(ms_plan_report_write(&s.answer, "svg", stderr, &err), MS_ERR_USAGE);
    assert_non_null(strstr(err.text, "the rates of a100-80gb are not known"));
    err = (ms_error){0};
    assert_int_equal(ms_plan_report_write(&s.answer, "yaml", stderr, &err), MS_ERR_USAGE);
    clear_scene(&s);
    for (const ms_report_format *f; (f = ms_plan_format_at(count)) != NULL; count++)
        assert_true(*f->name && *f->help && *f->file_name);
    assert_true(count > 0);
}

/* ---- numbers ---- */

typedef struct number_case {
    const char *label;
    double value;
    uint32_t decimals;
    const char *text;
} number_case;

static const number_case number_cases[] = {
    {"zero", 0, 0, "0"},
    {"zero with digits", 0, 3, "0.000"},
    {"rounds up", 1.9996, 3, "2.000"},
    {"half goes up", 0.5, 0, "1"},
    {"negative", -1.25, 2, "-1.25"},
    {"nothing is not negative", -0.001, 2, "0.00"},
    {"leading zeros", 3.004, 3, "3.004"},
    {"large", 1e15, 1, "1000000000000000.0"},
    {"too large for digits", 1e30, 1, "1.000e+30"},
    {"none", NAN, 2, "-"},
};

static void check_number(void **state)
{
    const number_case *c = *state;
    char text[MS_FIXED_TEXT];
    assert_string_equal(ms_fixed(c->value, c->decimals, text), c->text);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(report_cases) + COUNT_OF(number_cases) + 4];
    size_t count = ADD_ROWS(tests, check_report, report_cases);
    count += ADD_ROWS(tests + count, check_number, number_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_columns);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_treat_comes_back);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_formats);
    return _cmocka_run_group_tests("plan reports", tests, count, NULL, NULL);
}
