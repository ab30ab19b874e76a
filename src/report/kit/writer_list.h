/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What memscope writes: one row for each document, and one for each of its formats. An X-macro,
 * because a writer's prototype and its row in the registry (report/writers.c) must agree. The first
 * row of a document is what it is written in where nothing else is asked for.
 */
#ifndef MS_REPORT_KIT_WRITER_LIST_H
#define MS_REPORT_KIT_WRITER_LIST_H

#include <stdbool.h>
#include <stdio.h>

/* The documents: constant, what it is written from, and its name in messages. */
/* clang-format off */
#define MS_DOCUMENT_LIST(X) \
    X(ANALYSIS, struct ms_view, "a report") \
    X(PLAN, struct ms_plan_view, "a plan") /* or a curve */ \
    X(FILE_PLAN, struct ms_file_plan, "a plan for figures in a file") \
    X(FIT, struct ms_fit_view, "a fit") \
    X(RUNS, struct ms_runs_view, "a table of devices") \
    X(DIFF, struct ms_diff_view, "a comparison") /* of two runs: memscope diff */ \
    X(COMPARE, struct ms_compare_view, "a comparison") /* of two steps: memscope compare */ \
    X(CHECK, struct ms_check_view, "a check") \
    X(CALIBRATION, struct ms_calibration_view, "a calibration") \
    X(STREAM, struct ms_stream_view, "a streamed model") \
    X(INFER, struct ms_infer_view, "a prediction of inference") \
    X(PROBE, struct ms_probe_view, "a probe") \
    X(LINKS, struct ms_links_view, "measured links") \
    X(OFFLOAD, struct ms_offload_view, "an offload by ratio")
/* clang-format on */

#define MS_DOCUMENT_CONSTANT(document, view, name) MS_DOCUMENT_##document,
typedef enum ms_document { MS_DOCUMENT_LIST(MS_DOCUMENT_CONSTANT) MS_DOCUMENT_COUNT } ms_document;
#undef MS_DOCUMENT_CONSTANT

#define MS_DOCUMENT_VIEW(document, view, name) typedef view ms_view_of_##document;
MS_DOCUMENT_LIST(MS_DOCUMENT_VIEW)
#undef MS_DOCUMENT_VIEW

/* What a writer needs of its view beyond what every view has. Bits. */
enum {
    MS_NEEDS_NOTHING = 0,
    MS_NEEDS_ADVICE = 1, /* of an analysis: suggestions */
    MS_NEEDS_DETAIL = 2, /* of a plan: the step as planned, in full */
    MS_NEEDS_CURVE = 4,  /* of a plan: a curve, not a plan */
    MS_NEEDS_RATES = 8,  /* of a curve: times, for a device whose rates are known */
    MS_NEEDS_ROWS = 16   /* of inference: lists of values */
};

/* document, function, format, needs, what it is (for help texts), usual file */
/* clang-format off */
#define MS_WRITER_LIST(X) \
    X(ANALYSIS, ms_report_console, "console", ADVICE, "for people, at a terminal", "static_report.txt") \
    X(ANALYSIS, ms_report_json, "json", ADVICE, "the whole report, for programs", "static_report.json") \
    X(ANALYSIS, ms_report_markdown, "md", ADVICE, "for people, as Markdown", "static_report.md") \
    X(ANALYSIS, ms_report_csv, "csv", NOTHING, "the operator records, one per line", "static_report.csv") \
    X(ANALYSIS, ms_report_html, "html", ADVICE, "a page with pictures, for a browser", "static_report.html") \
    X(ANALYSIS, ms_report_svg, "svg", NOTHING, "timeline and peak as a picture", "static_report.svg") \
    X(ANALYSIS, ms_report_chrome_trace, "chrome-trace", NOTHING, "the step, for Perfetto and chrome://tracing", "static_report.trace.json") \
    X(ANALYSIS, ms_report_memory_viz, "memory-viz", NOTHING, "a snapshot, for PyTorch's memory viewer", "static_report.pickle") \
    X(ANALYSIS, ms_report_speedscope, "speedscope", NOTHING, "the peak as a flame graph, for speedscope.app", "static_report.speedscope.json") \
    X(ANALYSIS, ms_report_folded, "folded", NOTHING, "the peak as folded stacks, for flamegraph.pl", "static_report.folded") \
    X(ANALYSIS, ms_report_trace, "trace", NOTHING, "every allocation and operator, as JSON lines", "static_report.trace.jsonl") \
    X(PLAN, ms_plan_console, "console", NOTHING, "for people, at a terminal", "plan.txt") \
    X(PLAN, ms_plan_json, "json", NOTHING, "the whole plan, for programs", "plan.json") \
    X(PLAN, ms_plan_markdown, "md", NOTHING, "for people, as Markdown", "plan.md") \
    X(PLAN, ms_curve_csv, "csv", CURVE, "the points of --curve, one per line", "curve.csv") \
    X(PLAN, ms_curve_svg, "svg", CURVE | MS_NEEDS_RATES, "--curve as a picture", "curve.svg") \
    X(PLAN, ms_plan_html, "html", DETAIL, "a page with pictures, for a browser", "plan.html") \
    X(FILE_PLAN, ms_file_plan_console, "console", NOTHING, "for people, at a terminal", "plan.txt") \
    X(FILE_PLAN, ms_file_plan_json, "json", NOTHING, "the whole plan, for programs", "plan.json") \
    X(FIT, ms_fit_report_console, "console", NOTHING, "for people, at a terminal", "fit.txt") \
    X(FIT, ms_fit_report_json, "json", NOTHING, "the answer, for programs", "fit.json") \
    X(FIT, ms_fit_report_markdown, "md", NOTHING, "for people, as Markdown", "fit.md") \
    X(FIT, ms_fit_report_html, "html", NOTHING, "a page in one file", "fit.html") \
    X(RUNS, ms_runs_console, "console", NOTHING, "for people, at a terminal", "devices.txt") \
    X(RUNS, ms_runs_json, "json", NOTHING, "every figure, for programs", "devices.json") \
    X(RUNS, ms_runs_markdown, "md", NOTHING, "for people, as Markdown", "devices.md") \
    X(DIFF, ms_diff_console, "console", NOTHING, "for people, at a terminal", "diff.txt") \
    X(DIFF, ms_diff_json, "json", NOTHING, "every row, for programs", "diff.json") \
    X(DIFF, ms_diff_markdown, "md", NOTHING, "for people, as Markdown", "diff.md") \
    X(DIFF, ms_diff_html, "html", NOTHING, "a page in one file", "diff.html") \
    X(COMPARE, ms_compare_console, "console", NOTHING, "for people, at a terminal", "compare.txt") \
    X(COMPARE, ms_compare_json, "json", NOTHING, "every row, for programs", "compare.json") \
    X(COMPARE, ms_compare_markdown, "md", NOTHING, "for people, as Markdown", "compare.md") \
    X(COMPARE, ms_compare_html, "html", NOTHING, "a page in one file", "compare.html") \
    X(CHECK, ms_check_console, "console", NOTHING, "for people, at a terminal", "check.txt") \
    X(CHECK, ms_check_human, "human", NOTHING, "the same", "check.txt") \
    X(CHECK, ms_check_json, "json", NOTHING, "every verdict, for programs", "check.json") \
    X(CHECK, ms_check_markdown, "md", NOTHING, "for people, as Markdown", "check.md") \
    X(CHECK, ms_check_junit, "junit", NOTHING, "a test suite, as XML", "check.xml") \
    X(CHECK, ms_check_github, "github", NOTHING, "annotations of a GitHub workflow", "check.github") \
    X(CHECK, ms_check_sarif, "sarif", NOTHING, "for code scanning", "check.sarif") \
    X(CHECK, ms_check_gitlab, "gitlab", NOTHING, "a code quality report", "gl-code-quality-report.json") \
    X(CHECK, ms_check_benchmark, "custom-smaller-is-better", NOTHING, "for charts of a benchmark action", "benchmark.json") \
    X(CHECK, ms_check_shields, "shields", NOTHING, "a badge's endpoint", "badge.json") \
    X(CHECK, ms_check_prometheus, "prometheus", NOTHING, "a textfile for the node exporter", "memscope.prom") \
    X(CALIBRATION, ms_calibration_console, "console", NOTHING, "for people, at a terminal", "calibration.txt") \
    X(CALIBRATION, ms_calibration_json, "json", NOTHING, "for --calibration", "calibration.json") \
    X(INFER, ms_infer_console, "console", NOTHING, "for people, at a terminal", "infer.txt") \
    X(INFER, ms_infer_json, "json", NOTHING, "every figure, for programs", "infer.json") \
    X(INFER, ms_infer_markdown, "md", NOTHING, "for people, as Markdown", "infer.md") \
    X(INFER, ms_infer_html, "html", NOTHING, "a page with bars, in one file", "infer.html") \
    X(INFER, ms_infer_csv, "csv", ROWS, "a line for each combination of lists", "infer.csv") \
    X(STREAM, ms_stream_console, "console", NOTHING, "for people, at a terminal", "stream.txt") \
    X(STREAM, ms_stream_json, "json", NOTHING, "every figure, for programs", "stream.json") \
    X(STREAM, ms_stream_csv, "csv", NOTHING, "a line for each number of layers ahead", "stream.csv") \
    X(STREAM, ms_stream_svg, "svg", NOTHING, "time and memory by layers ahead, as a picture", "stream.svg") \
    X(PROBE, ms_probe_console, "console", NOTHING, "for people, at a terminal", "runtime_report.txt") \
    X(PROBE, ms_probe_json, "json", NOTHING, "every figure, for programs", "runtime_report.json") \
    X(LINKS, ms_links_console, "console", NOTHING, "for people, at a terminal", "device_links.txt") \
    X(LINKS, ms_links_json, "json", NOTHING, "for memscope calibrate", "device_links.json") \
    X(OFFLOAD, ms_offload_console, "console", NOTHING, "for people, at a terminal", "offload.txt") \
    X(OFFLOAD, ms_offload_json, "json", NOTHING, "every figure, for programs", "offload.json") \
    X(OFFLOAD, ms_offload_csv, "csv", NOTHING, "the ratios, one per line", "offload.csv") \
    X(OFFLOAD, ms_offload_svg, "svg", NOTHING, "peak, waiting and use of the link as a picture", "offload.svg")
/* clang-format on */

/* Each writes a view and leaves failures of `out` to the registry. False: out of memory. */
#define MS_WRITER_PROTOTYPE(document, function, ...)                                               \
    bool function(FILE *out, const ms_view_of_##document *view);
MS_WRITER_LIST(MS_WRITER_PROTOTYPE)
#undef MS_WRITER_PROTOTYPE

#endif
