/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The five calls of the library with the n-th allocation failing: each time MS_ERR_NOMEM with a
 * sentence, or the whole report, and nothing left allocated. TRY_EVERY=1: for every n; else for
 * those that are a 24th of it apart, an odd number, as allocations come in pairs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memscope/memscope.h"
#include "oom/fail.h"

enum { MAX_FIELDS = 8 };

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
    {"parameters on the host",
     "tests/oom/llama.json",
     {{"optimizer-device", "host"}, {"parameter-device", "host"}, {"accumulate", "2"}}},
    {"an adapter on a base in 4 bits",
     "tests/oom/llama.json",
     {{"adapter", "tests/oom/adapter.json"}, {"quantize", "nf4:double"}, {"checkpointing", "all"}}},
    {"an adapter on a base in 8 bits",
     "tests/oom/llama.json",
     {{"lora", "r=2,targets=q_proj+down_proj"}, {"quantize", "int8"}, {"checkpointing", "all"}}},
    {"an adapter on a base of GPTQ",
     "tests/oom/llama.json",
     {{"lora", "r=2,targets=q_proj+down_proj"}, {"quantize", "gptq:4:-1"}}},
    {"an adapter on a base of AWQ",
     "tests/oom/llama.json",
     {{"lora", "r=2,targets=q_proj+down_proj"}, {"quantize", "awq"}}},
    {"an adapter on a base in fp8",
     "tests/oom/llama.json",
     {{"lora", "r=2,targets=q_proj+down_proj"},
      {"quantize", "fp8-block"},
      {"device", "h100-80gb"}}},
    {"run file", "tests/oom/memscope.run.json", {{"batch", "2"}}},
};

static ms_status set_fields(ms_run *run, const oom_case *c, ms_error *err)
{
    ms_status status = ms_run_set(run, "config", c->config, err);
    for (size_t i = 0; i < MAX_FIELDS && c->fields[i][0] && status == MS_OK; i++)
        status = ms_run_set(run, c->fields[i][0], c->fields[i][1], err);
    return status;
}

static ms_status write_all(ms_analysis *analysis, FILE *out, ms_error *err)
{
    ms_status status = ms_analysis_unroll(analysis, err);
    const ms_report_format *format;
    for (size_t i = 0; (format = ms_report_format_at(i)) != NULL && status == MS_OK; i++)
        status = ms_analysis_write(analysis, format->name, out, err);
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
    if (analysis)
        status = write_all(analysis, out, err);
    else if (status == MS_OK)
        status = err->status;
    ms_analysis_free(analysis);
    ms_run_free(run);
    return status;
}

/* What one use of the library came to. */
typedef struct outcome {
    ms_status status;
    ms_error err;
    size_t allocations, left_blocks;
    bool happened;
    size_t output_bytes;
    uint64_t output_hash;
} outcome;

static char output[1 << 24], out_buffer[BUFSIZ];

static outcome attempt(const oom_case *c, size_t n)
{
    outcome o = {.status = MS_OK};
    FILE *out = fmemopen(output, sizeof output, "w");
    if (!out)
        abort();
    setvbuf(out, out_buffer, _IOFBF, sizeof out_buffer);
    size_t live = fail_live_blocks();
    fail_arm(n);
    o.status = use_library(c, out, &o.err);
    o.happened = fail_happened();
    o.allocations = fail_count();
    fail_arm(0);
    fflush(out);
    o.left_blocks = fail_live_blocks() - live;
    o.output_bytes = (size_t)ftell(out);
    fclose(out);
    for (size_t i = 0; i < o.output_bytes; i++)
        o.output_hash = o.output_hash * UINT64_C(0x100000001b3) + (unsigned char)output[i];
    return o;
}

/* Says what is wrong with the outcome of one failed allocation, or NULL. */
static const char *fault(const outcome *o, const outcome *whole)
{
    if (o->left_blocks)
        return "blocks were not freed";
    /* libc can do without some of its own: a buffer, say. */
    if (o->status == MS_OK)
        return o->output_bytes == whole->output_bytes && o->output_hash == whole->output_hash
                   ? NULL
                   : "a wrong report";
    if (o->status != MS_ERR_NOMEM || ms_status_exit_code(o->status) != 70)
        return "the status is not MS_ERR_NOMEM";
    return o->err.status == MS_ERR_NOMEM && o->err.text[0] ? NULL : "there is no sentence";
}

static size_t places_apart(void)
{
    const char *every = getenv("TRY_EVERY");
    return every ? (strtoul(every, NULL, 10) / 24) | 1 : 1;
}

static bool survives(const oom_case *c)
{
    size_t faults = 0, apart = places_apart();
    attempt(c, 0); /* libc makes what it keeps */
    outcome whole = attempt(c, 0);
    if (whole.status != MS_OK) {
        printf("%s: %s\n", c->label, whole.err.text);
        return false;
    }
    if (whole.allocations == 0) {
        printf("%s: no allocation was seen\n", c->label);
        return false;
    }
    for (size_t n = 1; n <= whole.allocations && faults < 5; n += apart) {
        outcome o = attempt(c, n);
        const char *wrong = fault(&o, &whole);
        if (!wrong)
            continue;
        printf("%s: allocation %zu of %zu: %s (status %d, \"%s\", %zu blocks left)\n", c->label, n,
               whole.allocations, wrong, (int)o.status, o.err.text, o.left_blocks);
        faults++;
    }
    printf("%s: %zu allocations\n", c->label, whole.allocations);
    return faults == 0;
}

int main(void)
{
    size_t count = sizeof cases / sizeof cases[0], passed = 0;
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    fail_on_one_processor();
    for (size_t i = 0; i < count; i++)
        passed += survives(&cases[i]);
    printf("%zu passed, %zu failed\n", passed, count - passed);
    return passed == count ? 0 : 1;
}
