/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long an analysis of several ranks takes: one rank, and all that differ. Fails when one takes
 * longer than its limit.
 */
#include "memscope/memscope.h"

#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 7 };

static const struct row {
    const char *config, *layout, *rank;
    int limit_ms; /* of the best round */
} rows[] = {
    {"llama-3.1-8b", "fsdp=64", "0", 15},
    {"llama-3.1-8b", "fsdp=64", "all", 100},
    {"llama-3.1-405b", "pp=16,schedule=1f1b,microbatches=16,tp=8", "all", 250},
    {"llama-3.1-405b", "pp=16,schedule=1f1b,microbatches=32,tp=8", "all", 250},
    {"llama-3.1-405b", "pp=16,schedule=gpipe,microbatches=32,tp=8", "all", 250},
    {"llama-3.1-405b", "pp=16,schedule=interleaved,stages_per_rank=2,microbatches=16,tp=8", "all",
     250},
    {"llama-3.1-405b", "pp=16,schedule=interleaved,stages_per_rank=2,microbatches=32,tp=8", "all",
     250},
};

/* Of a clock; the processor's is of all threads, whatever else the machine does. */
static double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef struct cost {
    double ms, report_ms, processor_ms; /* the report adds suggestions and the run on one device */
} cost;

static ms_run *run_of(const struct row *row)
{
    const char *const settings[][2] = {
        {"config", row->config},   {"batch", "1"},      {"seq", "4096"}, {"device", "h100-80gb"},
        {"parallel", row->layout}, {"rank", row->rank},
    };
    ms_error err = {0};
    ms_run *run = ms_run_create();
    for (size_t i = 0; run && i < sizeof settings / sizeof settings[0]; i++)
        if (ms_run_set(run, settings[i][0], settings[i][1], &err) != MS_OK) {
            fprintf(stderr, "bench: %s\n", err.text);
            ms_run_free(run);
            return NULL;
        }
    return run;
}

static bool measure(const struct row *row, FILE *nowhere, cost *c)
{
    ms_error err = {0};
    ms_run *run = run_of(row);
    if (!run)
        return false;
    double processor = now_ms(CLOCK_PROCESS_CPUTIME_ID), start = now_ms(CLOCK_MONOTONIC);
    ms_analysis *analysis = ms_analyze(run, &err);
    c->ms = now_ms(CLOCK_MONOTONIC) - start;
    bool good = analysis && ms_analysis_write(analysis, "json", nowhere, &err) == MS_OK;
    c->report_ms = now_ms(CLOCK_MONOTONIC) - start;
    c->processor_ms = now_ms(CLOCK_PROCESS_CPUTIME_ID) - processor;
    if (!good)
        fprintf(stderr, "bench: %s: %s\n", row->layout, err.text);
    ms_analysis_free(analysis);
    ms_run_free(run);
    return good;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static bool bench(const struct row *row, FILE *nowhere)
{
    cost best = {0}, c;
    for (int i = 0; i < ROUNDS; i++) {
        if (!measure(row, nowhere, &c))
            return false;
        best.ms = i ? smaller(best.ms, c.ms) : c.ms;
        best.report_ms = i ? smaller(best.report_ms, c.report_ms) : c.report_ms;
        best.processor_ms = i ? smaller(best.processor_ms, c.processor_ms) : c.processor_ms;
    }
    char label[128];
    snprintf(label, sizeof label, "%s %s, rank %s", row->config, row->layout, row->rank);
    printf("%-90s %9.1f %12.1f %13.1f\n", label, best.ms, best.report_ms, best.processor_ms);
    if (best.ms <= row->limit_ms)
        return true;
    printf("%s: the limit is %d ms\n", label, row->limit_ms);
    return false;
}

int main(void)
{
    bool good = true;
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        return EXIT_FAILURE;
    printf("%-90s %9s %12s %13s\n", "several ranks, the best of 7 rounds", "ms", "with report",
           "processor ms");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        good = bench(&rows[i], nowhere) && good;
    fclose(nowhere);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
