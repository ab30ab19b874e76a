/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/padding.h"

#include "base/threads.h"
#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "run/simulate/variation.h"

static const ms_padding either[] = {MS_PADDING_YES, MS_PADDING_ONES};
enum { EITHER = sizeof either / sizeof *either };

typedef struct side {
    const ms_model_config *model;
    const ms_run_config *run;
    uint64_t device_bytes, peak_bytes;
    ms_status status;
    ms_error err;
} side;

static void measure(void *context, uint32_t index)
{
    side *s = &((side *)context)[index];
    ms_simulated simulated;
    ms_variation v = ms_vary_run(s->model, s->run, NULL);
    v.run.padding.simulated = either[index];
    const ms_job job = ms_variation_job(&v);
    s->status = ms_simulate(&job, MS_SIMULATE_FIT, &simulated, &s->err);
    if (s->status != MS_OK)
        return;
    s->device_bytes = simulated.judgement.device_bytes.expected;
    s->peak_bytes = simulated.usage.peak_bytes;
    ms_simulated_free(&simulated);
}

static bool needs_more(const side *a, const side *b)
{
    return a->device_bytes != b->device_bytes ? a->device_bytes > b->device_bytes
                                              : a->peak_bytes > b->peak_bytes;
}

ms_status ms_padding_settle(const ms_model_config *model, ms_run_config *run,
                            ms_padding_needs *needs, ms_error *err)
{
    side sides[EITHER] = {{.model = model, .run = run}, {.model = model, .run = run}};
    *needs = (ms_padding_needs){0};
    if (run->padding.given != MS_PADDING_UNKNOWN || run->padding.simulated == MS_PADDING_NO)
        return MS_OK;
    ms_threads_run(EITHER, measure, sides);
    needs->is_known = true;
    for (int i = 0; i < EITHER; i++) {
        if (sides[i].status != MS_OK)
            return ms_fail(err, sides[i].status, "%s", sides[i].err.text);
        needs->device_bytes[either[i]] = sides[i].device_bytes;
    }
    run->padding.simulated = either[needs_more(&sides[1], &sides[0])];
    return MS_OK;
}

/* ---- before anything is simulated ---- */

/* Layers whose tensors wait for backward; of those that are recomputed one does. */
static double layers_kept(const ms_model_config *model, const ms_run_config *run)
{
    uint64_t kept = 1;
    for (uint64_t i = 0; i < model->num_layers; i++)
        kept += run->treatments.layers[i].kind == MS_TREAT_KEEP;
    return (double)kept;
}

double ms_padding_bound(const ms_model_config *model, const ms_run_config *run)
{
    enum { FLOAT = 4, SCORES = 3 };
    ms_backends backends[2];
    ms_attention_backends(model, run, backends);
    bool is_eager = backends[0].plain == MS_ATTENTION_EAGER;
    if (is_eager && !model->family->is_bidirectional)
        return 0;
    double batch = (double)run->batch, seq = (double)ms_source_tokens(run);
    double heads = (double)model->num_heads, grouped = heads - (double)model->num_kv_heads;
    double pairs = batch * seq * (seq + 32), width = (double)ms_key_dim(model);
    double layer = FLOAT * (pairs + 2 * batch * seq * grouped * width);
    if (backends[0].masked == MS_ATTENTION_MATH || model->is_encoder_decoder)
        layer += SCORES * FLOAT * heads * pairs;
    return layers_kept(model, run) * layer + pairs;
}
