/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The five calls of the library with the n-th allocation failing, for every n until they succeed:
 * each time MS_ERR_NOMEM with a sentence, and nothing left allocated.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "memscope/memscope.h"
#include "oom/fail.h"

enum { MAX_FIELDS = 8, MAX_ALLOCATIONS = 200000 };

typedef struct oom_case {
    const char *label;
    const char *config;
    const char *fields[MAX_FIELDS][2];
} oom_case;

static const oom_case cases[] = {
    {"llama", "tests/oom/llama.json", {{"device", "a100-80gb"}}},
    {"gpt2, cpu", "tests/oom/gpt2.json", {{"device", "cpu"}, {"allocator", "raw"}}},
    {"qwen3, autocast, clipping, foreach",
     "tests/oom/qwen3.json",
     {{"dtype", "fp32"}, {"autocast", "bf16"}, {"clip", "1.0"}, {"optimizer-impl", "foreach"}}},
    {"checkpointing, accumulation, expandable segments",
     "tests/oom/llama.json",
     {{"checkpointing", "all"}, {"accumulate", "2"}, {"allocator", "cuda-expandable"}}},
    {"run file", "tests/oom/memscope.run.json", {{"batch", "2"}}},
};

static ms_status set_fields(ms_run *run, const oom_case *c, ms_error *err)
{
    ms_status status = ms_run_set(run, "config", c->config, err);
    for (size_t i = 0; i < MAX_FIELDS && c->fields[i][0] && status == MS_OK; i++) {
        status = ms_run_set(run, c->fields[i][0], c->fields[i][1], err);
    }
    return status;
}

static ms_status write_all(ms_analysis *analysis, FILE *out, ms_error *err)
{
    size_t count = 0;
    const ms_report_format *formats = ms_report_formats(&count);
    ms_status status = ms_analysis_unroll(analysis, err);
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        status = ms_analysis_write(analysis, formats[i].name, out, err);
    }
    return status == MS_OK ? ms_analysis_write_events(analysis, out, err) : status;
}

static ms_status use_library(const oom_case *c, FILE *out, ms_error *err)
{
    ms_run *run = ms_run_create();
    if (!run) { /* the one call that has no error struct */
        snprintf(err->text, sizeof err->text, "no run");
        return err->status = MS_ERR_NOMEM;
    }
    ms_status status = set_fields(run, c, err);
    ms_analysis *analysis = status == MS_OK ? ms_analyze(run, err) : NULL;
    if (analysis) {
        status = write_all(analysis, out, err);
    } else if (status == MS_OK) {
        status = err->status;
    }
    ms_analysis_free(analysis);
    ms_run_free(run);
    return status;
}

/* Says what is wrong with the outcome of one failed allocation, or NULL. */
static const char *fault(ms_status status, const ms_error *err, size_t live)
{
    if (fail_live_blocks() != live) {
        return "blocks were not freed";
    }
    if (!fail_happened()) {
        return status == MS_OK ? NULL : "failed without a reason";
    }
    if (status != MS_ERR_NOMEM) {
        return "the status is not MS_ERR_NOMEM";
    }
    if (err->status != MS_ERR_NOMEM || err->text[0] == '\0') {
        return "the error struct does not say so";
    }
    return ms_status_exit_code(status) == 70 ? NULL : "the exit code is not 70";
}

static bool survives(const oom_case *c, FILE *out)
{
    size_t live = fail_live_blocks();
    size_t faults = 0;
    for (size_t n = 1; n < MAX_ALLOCATIONS && faults < 5; n++) {
        ms_error err = {0};
        fail_arm(n);
        ms_status status = use_library(c, out, &err);
        bool reached = fail_happened();
        const char *wrong = fault(status, &err, live);
        fail_arm(0);
        if (wrong) {
            printf("%s: allocation %zu: %s (status %d, \"%s\", %zu blocks live)\n", c->label, n,
                   wrong, (int)status, err.text, fail_live_blocks() - live);
            live = fail_live_blocks();
            faults++;
        }
        if (!reached) {
            printf("%s: %zu allocations\n", c->label, n - 1);
            break;
        }
    }
    return faults == 0;
}

int main(void)
{
    size_t count = sizeof cases / sizeof cases[0], passed = 0;
    FILE *out = fopen("/dev/null", "w");
    if (!out) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        passed += survives(&cases[i], out);
        fflush(stdout);
    }
    fclose(out);
    printf("%zu passed, %zu failed\n", passed, count - passed);
    return passed == count ? 0 : 1;
}
