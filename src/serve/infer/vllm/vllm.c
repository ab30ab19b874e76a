/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/vllm.h"

#include <inttypes.h>

#include "base/text/number.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "serve/infer/vllm/start.h"

/* ---- utilization ---- */

/* Another share of the device's memory for the engine. */

enum { WHOLE = 100 };

/* What vLLM counts before the cache, at most. */
static uint64_t counted_bytes(const ms_vllm_start *t)
{
    return t->weights_bytes + t->peak.high + t->non_torch.high + t->graphs_estimate.high;
}

/* Of a budget that is filled: what is taken beside it. */
static uint64_t uncounted_bytes(const ms_vllm_start *t)
{
    return t->buffers_bytes + ms_vllm_uncounted_graphs(t);
}

/* The share that is likely to make a run fit that does not: the least that surely holds the
 * requests asked for at once, or the largest that starts and leaves room for what vLLM does not
 * count. In hundredths; 0: no share does. `starts`: of all stages. */
static uint64_t vllm_other_utilization(const ms_vllm_setup *s, const ms_vllm_start *starts)
{
    uint64_t needed = 0, beside = 0, least, most;
    const uint64_t requests = s->job->settings->concurrency;
    if (s->total_bytes < WHOLE)
        return 0;
    for (uint64_t i = 0; i < s->stages; i++) {
        const ms_vllm_start *t = &starts[i];
        const uint64_t block = ms_vllm_block_bytes(&t->cache);
        uint64_t cache;
        if (__builtin_mul_overflow(t->cache.request_blocks, block, &cache) ||
            __builtin_mul_overflow(cache, requests, &cache) ||
            __builtin_add_overflow(cache, counted_bytes(t), &cache))
            return 0;
        needed = cache > needed ? cache : needed;
        beside = uncounted_bytes(t) > beside ? uncounted_bytes(t) : beside;
    }
    beside += s->job->device->context_expected_bytes;
    if (needed >= s->total_bytes || beside >= s->total_bytes)
        return 0;
    least = needed / (s->total_bytes / WHOLE) + 1;
    most = (s->total_bytes - beside) / (s->total_bytes / WHOLE + 1);
    if (least > most || most >= WHOLE)
        return 0;
    return s->requested_bytes > s->total_bytes - beside ? most : least;
}

/* ---- vllm ---- */

enum { SERVES = MS_INFER_IN(MS_INFER_PREFILL) | MS_INFER_IN(MS_INFER_DECODE) };

/* What all stages together give. */
typedef struct answer {
    ms_vllm_start stages[MS_VLLM_MAX_STAGES];
    uint64_t blocks, least_blocks, most_blocks; /* of the stage with the fewest */
} answer;

/* ---- sums ---- */

/* Requests that so many blocks hold at once. */
static uint64_t requests_in(const answer *a, uint64_t blocks)
{
    uint64_t each = a->stages[0].cache.request_blocks;
    return each ? blocks / each : 0;
}

/* Requests that the cache holds at once, in shares of `part`. */
static uint64_t held(const answer *a, uint64_t part)
{
    return requests_in(a, a->blocks * part);
}

static ms_status run_stages(const ms_vllm_setup *s, answer *a, ms_error *err)
{
    a->blocks = a->least_blocks = a->most_blocks = UINT64_MAX;
    for (uint64_t i = 0; i < s->stages; i++) {
        ms_vllm_start *t = &a->stages[i];
        ms_status status = ms_vllm_start_of(s, i, t, err);
        if (status != MS_OK)
            return status;
        uint64_t least = ms_vllm_blocks(&t->cache, t->left.low);
        uint64_t most = ms_vllm_blocks(&t->cache, t->left.high);
        a->blocks = t->blocks < a->blocks ? t->blocks : a->blocks;
        a->least_blocks = least < a->least_blocks ? least : a->least_blocks;
        a->most_blocks = most < a->most_blocks ? most : a->most_blocks;
    }
    return MS_OK;
}

static bool add(ms_infer_result *result, int device, ms_infer_part part, const char *place,
                unsigned phases, ms_infer_bytes bytes)
{
    return ms_infer_add(result, (ms_infer_buffer){.part = part,
                                                  .place = place,
                                                  .device = device,
                                                  .phases = phases,
                                                  .low = bytes.low,
                                                  .bytes = bytes.expected,
                                                  .high = bytes.high});
}

static bool add_device(const answer *a, const ms_vllm_start *t, int device, ms_infer_result *result)
{
    unsigned running = MS_INFER_IN(MS_INFER_PROFILE) | SERVES;
    const ms_infer_bytes weights = {t->weights_bytes, t->weights_bytes, t->weights_bytes};
    const ms_infer_bytes buffers = {t->buffers_bytes, t->buffers_bytes, t->buffers_bytes};
    uint64_t block = ms_vllm_block_bytes(&t->cache);
    return add(result, device, MS_INFER_WEIGHTS, "model", ~0u, weights) &&
           add(result, device, MS_INFER_OUTPUT, "runner", ~0u, buffers) &&
           add(result, device, MS_INFER_ACTIVATIONS, "profile run", running, t->peak) &&
           add(result, device, MS_INFER_WORKSPACE, "non-torch", running, t->non_torch) &&
           add(result, device, MS_INFER_POOL, "CUDA graphs", SERVES, t->graphs) &&
           ms_infer_add(result, (ms_infer_buffer){.part = MS_INFER_CACHE,
                                                  .place = "KV cache",
                                                  .device = device,
                                                  .phases = SERVES,
                                                  .low = a->least_blocks * block,
                                                  .bytes = a->blocks * block,
                                                  .high = a->blocks * block,
                                                  .cells = a->blocks * MS_VLLM_BLOCK_TOKENS,
                                                  .layers = t->cache.group_layers});
}

static bool add_buffers(const ms_vllm_setup *s, const answer *a, ms_infer_result *result)
{
    bool ok = true;
    for (uint64_t i = 0; i < s->stages * s->tensor_parallel; i++)
        ok = ok && add_device(a, &a->stages[i / s->tensor_parallel], (int)i, result);
    return ok;
}

static bool add_figures(const ms_vllm_setup *s, const answer *a, ms_infer_result *result)
{
    const ms_vllm_cache *c = &a->stages[0].cache;
    const ms_infer_figure figures[] = {
        {"max_model_len", s->length},
        {"max_num_batched_tokens", s->tokens},
        {"max_num_seqs", s->seqs},
        {"model_runner", s->is_v2 ? 2 : 1},
        {"tensor_parallel_size", s->tensor_parallel},
        {"pipeline_parallel_size", s->stages},
        {"requested_bytes", s->requested_bytes},
        {"available_kv_cache_bytes", a->stages[0].left.expected},
        {"num_gpu_blocks", a->blocks},
        {"kv_cache_groups", c->groups},
        {"blocks_of_a_request", c->request_blocks},
        {"kv_cache_tokens", ms_vllm_cache_tokens(s, c, a->blocks)},
        {"kv_cache_tokens_low", ms_vllm_cache_tokens(s, c, a->least_blocks)},
        {"kv_cache_tokens_high", ms_vllm_cache_tokens(s, c, a->most_blocks)},
        {"max_concurrency_hundredths", held(a, 100)},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (!ms_infer_figure_add(result, figures[i].name, figures[i].value))
            return false;
    return true;
}

/* ---- sentences ---- */

/* Why it does not start, or does not hold what is asked for; "" if it does; NULL: no memory. */
static const char *refusal(const ms_vllm_setup *s, const answer *a)
{
    const ms_vllm_cache *c = &a->stages[0].cache;
    uint64_t wanted = s->job->settings->concurrency,
             context = s->job->device->context_expected_bytes;
    ms_arena *arena = s->job->arena;
    char left[MS_GIB_TEXT], asked[MS_GIB_TEXT], needed[MS_GIB_TEXT];
    if (s->total_bytes == 0)
        return "";
    if (s->total_bytes < context || s->total_bytes - context < s->requested_bytes)
        return ms_arena_printf(
            arena, "vLLM starts only if %s GiB are free, but the CUDA context leaves %s",
            ms_gib(s->requested_bytes, asked), ms_gib(s->total_bytes - context, left));
    if (a->blocks == 0)
        return ms_arena_printf(
            arena, "weights and the profile run leave nothing of its %s GiB for the KV cache",
            ms_gib(s->requested_bytes, asked));
    if (a->blocks < c->request_blocks)
        return ms_arena_printf(
            arena,
            "a request of %" PRIu64
            " tokens needs %s GiB of KV cache, but only %s are left, enough for %" PRIu64 " tokens",
            s->length, ms_gib(c->request_blocks * ms_vllm_block_bytes(c), needed),
            ms_gib(a->blocks * ms_vllm_block_bytes(c), left),
            ms_vllm_cache_tokens(s, c, a->blocks));
    if (s->seqs < wanted)
        return ms_arena_printf(arena, "vLLM runs up to %" PRIu64 " requests at once, not %" PRIu64,
                               s->seqs, wanted);
    if (held(a, 1) < wanted)
        return ms_arena_printf(arena,
                               "the KV cache holds %" PRIu64 " requests of %" PRIu64
                               " tokens at once, not %" PRIu64,
                               held(a, 1), s->length, wanted);
    return "";
}

/* The budget is full, and what is beside it does not fit. */
static const char *over_budget(const ms_vllm_setup *s, uint64_t all_bytes)
{
    char budget[MS_GIB_TEXT], all[MS_GIB_TEXT], there[MS_GIB_TEXT];
    return ms_arena_printf(
        s->job->arena,
        "no shorter context makes it fit: vLLM fills %s GiB whatever the context length, which "
        "with the CUDA context and what it does not count makes %s of %s",
        ms_gib(s->requested_bytes, budget), ms_gib(all_bytes, all), ms_gib(s->total_bytes, there));
}

/* Why no shorter context makes it fit. The cache fills the budget, whatever the
 * context; what vLLM does not count is beside it. */
static const char *no_context_fits(const ms_vllm_setup *s, const answer *a,
                                   const ms_infer_result *result)
{
    uint64_t context = s->job->device->context_expected_bytes, needed = 0, all_bytes = 0;
    if (s->seqs < s->job->settings->concurrency)
        return "no context length makes it fit: vLLM runs fewer requests at once than "
               "--concurrency";
    for (uint32_t i = 0; i < result->devices; i++) {
        uint64_t all = ms_infer_total(result, (int)i, MS_INFER_DECODE).expected;
        uint64_t cache =
            ms_infer_part_total(result, (int)i, MS_INFER_CACHE, MS_INFER_IN(MS_INFER_DECODE))
                .expected;
        needed = all - cache > needed ? all - cache : needed;
        all_bytes = all > all_bytes ? all : all_bytes;
    }
    if (s->total_bytes < context || needed >= s->total_bytes - context)
        return "no context length makes it fit: everything besides the KV cache is already too "
               "large";
    if (s->total_bytes - context < s->requested_bytes)
        return "no context length makes it fit: vLLM claims more memory than is free";
    return a->blocks == 0 ? "no context length makes it fit: vLLM's share of the memory has no "
                            "room for a KV cache"
                          : over_budget(s, all_bytes + context);
}

static ms_infer_setting other_share(const ms_vllm_setup *s, const answer *a)
{
    uint64_t hundredths = vllm_other_utilization(s, a->stages);
    if (hundredths == 0)
        return (ms_infer_setting){NULL, NULL};
    return (ms_infer_setting){"gpu-memory-utilization",
                              ms_arena_printf(s->job->arena, "0.%02" PRIu64, hundredths)};
}

/* What may make it fit where no shorter context does, the cheapest first. */
static bool add_remedies(const ms_vllm_setup *s, ms_infer_result *result)
{
    static const char *const gpus[] = {"2", "4", "8", "16"};
    const ms_infer_settings *given = s->job->settings;
    bool ok = true;
    if (s->seqs < given->concurrency) {
        const char *wanted = ms_arena_printf(s->job->arena, "%" PRIu64, given->concurrency);
        return wanted &&
               ms_vec_push(&result->remedies, ((ms_infer_setting){"max-num-seqs", wanted}));
    }
    if (given->vllm.kv_dtype == MS_VLLM_KV_AUTO)
        ok = ms_vec_push(&result->remedies, ((ms_infer_setting){"kv-cache-dtype", "fp8"}));
    if (given->vllm.quantization == MS_VLLM_QUANTIZATION_AUTO)
        ok = ok && ms_vec_push(&result->remedies, ((ms_infer_setting){"quantization", "fp8"}));
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
        if ((UINT64_C(2) << i) > given->gpus)
            ok = ok && ms_vec_push(&result->remedies, ((ms_infer_setting){"gpus", gpus[i]}));
    return ok;
}

/* Whether these weights and this model run with a cache in fp8. */
static bool takes_fp8_cache(const ms_vllm_setup *s)
{
    ms_vllm_setup other = {.stages = 0};
    ms_infer_settings settings = *s->job->settings;
    ms_infer_job job = *s->job;
    ms_error ignored = {.status = MS_OK};
    settings.vllm.kv_dtype = MS_VLLM_KV_FP8;
    job.settings = &settings;
    return s->kv_element > 1 && ms_vllm_setup_resolve(&job, &other, &ignored) == MS_OK;
}

static const char *decision(const ms_vllm_setup *s, const answer *a)
{
    const ms_vllm_cache *c = &a->stages[0].cache;
    uint64_t hundredths = held(a, 100);
    char each[MS_BYTES_TEXT];
    const char *range = "";
    if (a->least_blocks < a->most_blocks)
        range = ms_arena_printf(s->job->arena, " (%" PRIu64 " to %" PRIu64 ")",
                                ms_vllm_cache_tokens(s, c, a->least_blocks),
                                ms_vllm_cache_tokens(s, c, a->most_blocks));
    return range ? ms_arena_printf(s->job->arena,
                                   "KV cache of %" PRIu64 " tokens%s, %" PRIu64 ".%02" PRIu64
                                   " requests of %" PRIu64 " tokens at once, %s each",
                                   ms_vllm_cache_tokens(s, c, a->blocks), range, hundredths / 100,
                                   hundredths % 100, s->length,
                                   ms_bytes_text(c->request_blocks * ms_vllm_block_bytes(c), each))
                 : NULL;
}

static const char *limit(const ms_vllm_setup *s, const answer *a)
{
    const ms_vllm_cache *c = &a->stages[0].cache;
    const char *change = takes_fp8_cache(s) ? "; --kv-cache-dtype fp8 halves what a request needs, "
                                              "and a shorter --context reduces it"
                                            : "; with a shorter --context a request needs fewer";
    if (held(a, 1) >= s->seqs)
        return ms_arena_printf(s->job->arena, "the limit on requests is --max-num-seqs %" PRIu64,
                               s->seqs);
    return ms_arena_printf(s->job->arena,
                           "the limit on requests is the KV cache: each takes %" PRIu64
                           " of its %" PRIu64 " blocks%s",
                           c->request_blocks, a->blocks, change);
}

static bool add_note(ms_infer_result *result, const char *text)
{
    return text && (!*text || ms_vec_push(&result->notes, text));
}

static bool add_notes(const ms_vllm_setup *s, const answer *a, ms_infer_result *result)
{
    const ms_vllm_start *last = &a->stages[s->stages - 1];
    const uint64_t context = s->job->device->context_expected_bytes;
    const uint64_t graphs = ms_vllm_uncounted_graphs(last);
    char all[MS_BYTES_TEXT], own[MS_BYTES_TEXT], text[MS_BYTES_TEXT];
    const char *of_graphs =
        graphs ? ms_arena_printf(s->job->arena, ", CUDA graphs, %s", ms_bytes_text(graphs, text))
               : "";
    const char *uncounted = ms_arena_printf(
        s->job->arena,
        "vLLM will exceed its budget by about %s, which it does not count: the runner's own "
        "buffers, %s (fewer --max-num-seqs make them smaller)%s, and the CUDA context, %s",
        ms_bytes_text(last->buffers_bytes + graphs + context, all),
        ms_bytes_text(last->buffers_bytes, own), of_graphs ? of_graphs : "",
        ms_bytes_text(context, text));
    const char *range =
        ms_infer_settings_has(s->job->settings, "non-torch-memory")
            ? ""
            : "memory outside PyTorch is a range from published logs; with --non-torch-memory, the "
              "figure in vLLM's log, the number of tokens is exact";
    const char *compiled =
        s->is_eager ? ""
                    : "the profile run is predicted for eager execution: torch.compile may need a "
                      "few percent less in MLPs, and more with a cold compile cache";
    return add_note(result, uncounted) && add_note(result, range) && add_note(result, compiled);
}

/* ---- the row's function ---- */

static ms_status fill(const ms_vllm_setup *s, const answer *a, ms_infer_result *result,
                      ms_error *err)
{
    const ms_infer_lever context = {
        "context", s->length, MS_VLLM_BLOCK_TOKENS, s->positions, MS_VLLM_BLOCK_TOKENS, false, 0};
    const char *why = refusal(s, a);
    result->devices = (uint32_t)(s->stages * s->tensor_parallel);
    result->context = s->length;
    result->weights_type = ms_vllm_scheme_row_of(s->scheme.kind)->name;
    if (!result->weights_type)
        result->weights_type = s->is_fp16 ? "fp16" : "bf16";
    result->takes_all = true;
    result->refusal = why && *why ? why : NULL;
    result->may_refuse =
        s->total_bytes > 0 && requests_in(a, a->least_blocks) < s->job->settings->concurrency;
    result->decision = decision(s, a);
    result->limit = limit(s, a);
    bool ok = why && result->decision && result->limit && add_buffers(s, a, result) &&
              add_figures(s, a, result) && add_notes(s, a, result) &&
              ms_vec_push(&result->levers, context);
    result->hopeless = no_context_fits(s, a, result);
    result->other = other_share(s, a);
    ok = ok && add_remedies(s, result) && (!result->other.field || result->other.value);
    return ok ? MS_OK : ms_infer_no_memory(err);
}

ms_infer_takes ms_vllm_takes(const ms_model_config *config)
{
    bool is_known = ms_family_facts_of(config->family)->vllm && !config->long_rotary;
    return is_known ? MS_INFER_TAKES_CONFIG : MS_INFER_TAKES_NONE;
}

ms_status ms_vllm_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err)
{
    ms_vllm_setup setup = {.stages = 0};
    answer a = {.blocks = 0};
    ms_status status = ms_vllm_setup_resolve(job, &setup, err);
    if (status == MS_OK)
        status = run_stages(&setup, &a, err);
    return status == MS_OK ? fill(&setup, &a, result, err) : status;
}
