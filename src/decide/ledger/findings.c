/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/findings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/reason.h"
#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "input/config/resolve/resolve_padding.h"
#include "decide/ledger/allocator_findings.h"
#include "run/simulate/padding.h"

static bool is_worth(const ms_summary *now, uint64_t bytes)
{
    return bytes >= now->expected_device_bytes / MS_FINDING_WORTH;
}

static bool saves(const ms_variant *v)
{
    int64_t saved = ms_variant_saved_bytes(v);
    return saved > 0 && is_worth(&v->base->summary, (uint64_t)saved);
}

static bool is_shown(const ms_variant *v)
{
    (void)v;
    return true;
}

/* ---- settings that are predicted between two ends ---- */

static bool has_other_end(const ms_ledger *ledger)
{
    return ledger->run->other_end != NULL;
}

/* Whether both ends fit, or neither does; "" without a budget. */
static const char *verdict_of_ends(const ms_ledger *ledger, const ms_remedy *other)
{
    const ms_summary *s = ledger->summary;
    if (!s->budget_bytes)
        return "";
    const bool fits = s->fits, other_fits = ms_reason_fits(other->reason);
    return fits && other_fits   ? ": both fit"
           : fits || other_fits ? ": one of them fits"
                                : ": neither fits";
}

static ms_status tell_other_end(ms_telling *f)
{
    const ms_remedy *r = f->found.remedy_count ? &f->found.remedies[0] : NULL;
    const char *keys = ms_read_keys_with_other_end(&f->ledger->run->keys, f->arena);
    if (!r || !keys || r->saved_device_bytes == 0)
        return MS_OK;
    f->found.text = ms_arena_printf(
        f->arena, "%s: the run needs between %s, as in these figures, and %s with %s%s", keys,
        ms_telling_size(f, f->ledger->summary->expected_device_bytes),
        ms_telling_size(f, r->device_bytes), r->option, verdict_of_ends(f->ledger, r));
    f->found.bytes = r->device_bytes;
    f->found.remedy_count = 0; /* it is none */
    return MS_OK;
}

/* ---- a quantised base without checkpoints ---- */

static bool lacks_checkpoints(const ms_ledger *ledger)
{
    return ms_lacks_checkpoints_of_peft(ledger->run);
}

static ms_status tell_checkpoints(ms_telling *f)
{
    static const char *const verdicts[] = {[MS_VERDICT_FITS] = "fits",
                                           [MS_VERDICT_TIGHT] = "is tight",
                                           [MS_VERDICT_NO] = "does not fit"};
    const ms_remedy *r = f->found.remedy_count ? &f->found.remedies[0] : NULL;
    const uint64_t budget = f->ledger->summary->budget_bytes;
    if (!r)
        return MS_OK;
    const char *verdict = budget
                              ? ms_arena_printf(f->arena, ", of %s: %s", ms_telling_size(f, budget),
                                                verdicts[ms_reason_verdict(r->reason)])
                              : "";
    f->found.text =
        ms_arena_printf(f->arena,
                        "when PEFT prepares a quantised base it checkpoints every layer by "
                        "default, but this run checkpoints none: with %s it needs %s%s",
                        r->option, ms_telling_size(f, r->device_bytes), verdict ? verdict : "");
    return MS_OK;
}

/* ---- a quantised base below fp32 ---- */

static bool computes_in_fp32(const ms_ledger *ledger)
{
    const ms_run_config *run = ledger->run;
    return run->upcast && run->autocast == MS_AUTOCAST_NONE && run->dtype != MS_DTYPE_F32;
}

static ms_status tell_fp32(ms_telling *f)
{
    if (f->found.remedy_count)
        f->found.text =
            ms_arena_printf(f->arena,
                            "when PEFT prepares a quantised base it casts the base's other weights "
                            "to fp32, and without autocast all activations are then fp32 too: %s",
                            ms_telling_remedies(f));
    return MS_OK;
}

/* ---- attention in separate operators ---- */

static bool emulates_bf16(const ms_ledger *ledger)
{
    const ms_run_config *run = ledger->run;
    bool uses_bf16 = run->dtype == MS_DTYPE_BF16 || run->autocast == MS_AUTOCAST_BF16;
    return uses_bf16 && ms_device_before_ampere(run->device);
}

static bool fell_back(const ms_ledger *ledger)
{
    return ledger->run->attention == MS_ATTENTION_AUTO && !ledger->run->device->is_cpu &&
           ledger->simulation->attention == MS_ATTENTION_MATH && !emulates_bf16(ledger);
}

/* Scores and their softmax are in fp32. */
static uint64_t score_bytes(const ms_ledger *ledger)
{
    const ms_run_config *run = ledger->run;
    uint64_t a, b, bytes;
    return __builtin_mul_overflow(run->batch, ledger->model->num_heads, &a) ||
                   __builtin_mul_overflow(run->seq_tokens, run->seq_tokens, &b) ||
                   __builtin_mul_overflow(a, b, &bytes) ||
                   __builtin_mul_overflow(bytes, UINT64_C(4), &bytes)
               ? UINT64_MAX
               : bytes;
}

static bool avoids_math(const ms_variant *v)
{
    return ms_attention_choose(v->variation.model, &v->variation.run) != MS_ATTENTION_MATH;
}

static ms_status tell_math(ms_telling *f)
{
    const ms_ledger *ledger = f->ledger;
    uint64_t bytes = score_bytes(ledger), in_all_layers;
    if (__builtin_mul_overflow(bytes, ledger->model->num_layers, &in_all_layers))
        in_all_layers = UINT64_MAX;
    const char *flash = ms_attention_refusal(MS_ATTENTION_FLASH, ledger->model, ledger->run);
    const char *efficient =
        ms_attention_refusal(MS_ATTENTION_EFFICIENT, ledger->model, ledger->run);
    const ms_remedy *best = f->found.remedy_count ? &f->found.remedies[0] : NULL;
    if (best ? best->saved_device_bytes <= 0 ||
                   !is_worth(ledger->summary, (uint64_t)best->saved_device_bytes)
             : !is_worth(ledger->summary, in_all_layers))
        return MS_OK;
    f->found.bytes = bytes;
    f->found.text =
        ms_arena_printf(f->arena,
                        "attention falls back to separate operators (math), whose scores take %s "
                        "in each layer: flash %s; efficient %s; %s",
                        ms_telling_size(f, bytes), flash ? flash : "is not used",
                        efficient ? efficient : "is not used",
                        f->found.remedy_count ? ms_telling_remedies(f)
                                              : "no setting of this run would change that");
    return MS_OK;
}

static ms_status tell_bf16(ms_telling *f)
{
    const ms_device *device = f->ledger->run->device;
    bool is_math = f->ledger->simulation->attention == MS_ATTENTION_MATH;
    const char *remedies = ms_telling_remedies(f);
    f->found.text = ms_arena_printf(
        f->arena,
        "%s (compute capability %" PRIu32 ".%" PRIu32
        ") has no bf16 arithmetic: PyTorch emulates it, which is slow%s%s%s",
        device->name, device->compute_capability / 10, device->compute_capability % 10,
        is_math ? ", and attention runs as separate operators (math)" : "", *remedies ? "; " : "",
        remedies);
    return MS_OK;
}

/* ---- all in half precision ---- */

/* Nothing was said of types, and weights and states of twice the bytes leave no room. */
static bool is_all_half(const ms_ledger *ledger)
{
    const ms_summary *s = ledger->summary;
    return s->trainable_param_count == s->param_count && s->fits && s->budget_bytes > 0 &&
           s->weight_memory_bytes + s->optimizer_memory_bytes >
               s->budget_bytes - s->expected_device_bytes;
}

static bool does_not_fit(const ms_variant *v)
{
    return v->reason == MS_FIT_OVER_BUDGET || v->reason == MS_FIT_NO_ROOM;
}

static ms_status tell_half(ms_telling *f)
{
    if (f->found.remedy_count) {
        const ms_remedy *r = &f->found.remedies[0];
        f->found.text =
            ms_arena_printf(f->arena,
                            "weights and optimizer states are in %s because no dtype is given; "
                            "mixed precision, with weights in fp32 (%s), needs %s and does not fit",
                            ms_dtype_info_of(f->ledger->run->dtype)->short_name, r->option,
                            ms_telling_size(f, r->device_bytes));
        f->found.bytes = r->device_bytes;
        f->found.remedy_count = 0; /* it is none */
    }
    return MS_OK;
}

/* ---- padding ---- */

/* The run has no mask, and one with padding might not fit. */
static bool may_be_padded(const ms_ledger *ledger)
{
    enum { GENEROUS = 2 };
    const ms_summary *s = ledger->summary;
    const ms_run_config *run = ledger->run;
    return run->padding.given == MS_PADDING_NO && s->fits && s->budget_bytes > 0 &&
           !ms_padding_refusal(ledger->model, run) &&
           (double)s->expected_device_bytes + GENEROUS * ms_padding_bound(ledger->model, run) >
               (double)s->budget_bytes;
}

static ms_status tell_padding(ms_telling *f)
{
    const ms_remedy *r = f->found.remedy_count ? &f->found.remedies[0] : NULL;
    f->found.remedy_count = 0; /* it is none */
    if (!r)
        return MS_OK;
    const ms_fit_verdict padded = ms_reason_verdict(r->reason);
    const bool is_same = padded == ms_reason_verdict(f->ledger->summary->verdict_reason);
    if ((is_same || padded == MS_VERDICT_FITS) &&
        !is_worth(f->ledger->summary, (uint64_t)llabs(r->saved_device_bytes)))
        return MS_OK;
    f->found.bytes = r->device_bytes;
    f->found.text = ms_arena_printf(f->arena,
                                    "the figures assume that no sequence is padded; with padded "
                                    "batches (%s) the step needs %s%s",
                                    r->option, ms_telling_size(f, r->device_bytes),
                                    padded == MS_VERDICT_FITS    ? ""
                                    : padded == MS_VERDICT_TIGHT ? " and fits, but only just"
                                                                 : " and does not fit");
    return MS_OK;
}

/* ---- recompute ---- */

static bool recomputes(const ms_ledger *ledger)
{
    return ledger->summary->fits && ledger->summary->budget_bytes > 0;
}

/* What keeps everything may fit; if not, a plan keeps what has room. */
static ms_status tell_recompute(ms_telling *f)
{
    const ms_summary *s = f->ledger->summary;
    const uint64_t room = s->budget_bytes - s->expected_device_bytes;
    if (f->found.remedy_count == 0)
        return MS_OK;
    const ms_remedy *r = &f->found.remedies[0];
    if (ms_reason_verdict(r->reason) == MS_VERDICT_FITS) {
        f->found.text = ms_arena_printf(
            f->arena,
            "no layer has to be recomputed: %s (%s of %s), fits, and computes each layer once",
            ms_telling_remedies(f), ms_telling_size(f, r->device_bytes),
            ms_telling_size(f, s->budget_bytes));
        return MS_OK;
    }
    if (room >= s->budget_bytes / MS_FINDING_WORTH)
        f->found.text = ms_arena_printf(
            f->arena,
            "%s of the budget are unused, so not every layer has to be recomputed: memscope plan "
            "with these options shows which do (without checkpoints the step needs %s)",
            ms_telling_size(f, room), ms_telling_size(f, r->device_bytes));
    f->found.bytes = r->device_bytes;
    f->found.remedy_count = 0; /* it is none */
    return MS_OK;
}

/* ---- several GPUs ---- */

/* See docs/semantics/deepspeed.md. */
static bool gathers_packed(const ms_ledger *ledger)
{
    const ms_layout *layout = &ledger->run->parallel.layout;
    return layout->kind == MS_PARALLEL_ZERO && layout->stage == 3 &&
           ms_is_packed(&ledger->run->quantization);
}

static ms_status tell_packed(ms_telling *f)
{
    const ms_remedy *r = f->found.remedy_count ? &f->found.remedies[0] : NULL;
    const char *other = "";
    if (r)
        other = ms_arena_printf(f->arena, "; FSDP2 frees it layer by layer: %s (%s of %s)",
                                ms_telling_remedies(f), ms_telling_size(f, r->device_bytes),
                                ms_telling_size(f, f->ledger->summary->budget_bytes));
    f->found.text = ms_arena_printf(
        f->arena,
        "ZeRO-3 divides the packed weights, but bitsandbytes' matrix products keep what forward "
        "gathers until backward has ended: at the peak each rank has the whole packed base%s",
        other ? other : "");
    return MS_OK;
}

static bool lacks_gpus(const ms_ledger *ledger)
{
    const ms_layout *layout = &ledger->run->parallel.layout;
    return (ms_layout_shards(layout) || layout->kind == MS_PARALLEL_ZERO) &&
           ledger->summary->verdict == MS_VERDICT_NO;
}

static ms_status tell_gpus(ms_telling *f)
{
    f->found.text = "memscope fit --what gpus with the same options finds how many GPUs it takes";
    return MS_OK;
}

/* ---- all of them ---- */

typedef struct finding_row {
    const char *name;
    bool (*holds)(const ms_ledger *ledger);
    const ms_change *changes[MS_MOST_REMEDIES];
    bool (*helps)(const ms_variant *v);
    ms_status (*tell)(ms_telling *f); /* leaves the text NULL where it is not worth one */
} finding_row;

static const finding_row rows[] = {
    {"between-two-ends", has_other_end, {&ms_other_end_change}, is_shown, tell_other_end},
    {"peft-checkpoints", lacks_checkpoints, {&ms_peft_change}, is_shown, tell_checkpoints},
    {"padded-batches", may_be_padded, {&ms_padding_change, NULL}, is_shown, tell_padding},
    {"fp32-after-quantizing",
     computes_in_fp32,
     {&ms_autocast_change, &ms_upcast_change},
     saves,
     tell_fp32},
    {"math-attention", fell_back, {&ms_autocast_change, NULL}, avoids_math, tell_math},
    {"emulated-bf16", emulates_bf16, {&ms_half_change, NULL}, is_shown, tell_bf16},
    {"half-precision", is_all_half, {&ms_mixed_change, NULL}, does_not_fit, tell_half},
    {"unneeded-recompute", recomputes, {&ms_keep_change, NULL}, is_shown, tell_recompute},
    {"gathered-base", gathers_packed, {&ms_divide_change, NULL}, is_shown, tell_packed},
    {"number-of-gpus", lacks_gpus, {NULL, NULL}, is_shown, tell_gpus},
    {"built-whole", ms_allocator_is_built_most, {NULL, NULL}, is_shown, ms_allocator_tell_built},
    {"cached-memory",
     ms_allocator_caches_much,
     {&ms_allocator_change, NULL},
     is_shown,
     ms_allocator_tell_cached},
    {"allocator-retries",
     ms_allocator_retries,
     {&ms_allocator_change, NULL},
     is_shown,
     ms_allocator_tell_retries},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

bool ms_findings_add_variants(ms_variants *variants, const ms_ledger *ledger, ms_arena *arena)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < MS_MOST_REMEDIES && rows[i].changes[k]; k++)
            if (rows[i].holds(ledger) &&
                !ms_variants_add(variants, ledger->simulated, rows[i].changes[k], arena))
                return false;
    return true;
}

static void add_remedies(const finding_row *row, const ms_variants *variants, ms_telling *f)
{
    for (size_t k = 0; k < MS_MOST_REMEDIES && row->changes[k]; k++) {
        const ms_variant *v = ms_variants_find(variants, row->changes[k]);
        if (v && v->status == MS_OK && row->helps(v))
            f->found.remedies[f->found.remedy_count++] = (ms_remedy){
                v->option, v->device_bytes, ms_variant_saved_bytes(v), v->retries, v->reason};
    }
}

ms_status ms_findings_collect(const ms_ledger *ledger, const ms_variants *variants, ms_arena *arena,
                              ms_findings *findings, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < ROWS && status == MS_OK; i++) {
        ms_telling f = {
            .ledger = ledger, .arena = arena, .found = {.name = rows[i].name}, .err = err};
        if (!rows[i].holds(ledger))
            continue;
        add_remedies(&rows[i], variants, &f);
        status = rows[i].tell(&f);
        if (status == MS_OK &&
            (ms_arena_has_failed(arena) || (f.found.text && !ms_vec_push(findings, f.found))))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the findings");
    }
    return status;
}
