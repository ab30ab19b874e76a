/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/trial.h"

static ms_status add_context(const ms_device *d, ms_infer_result *result, ms_error *err)
{
    bool ok = true;
    for (uint32_t i = 0; i < result->devices && !d->is_cpu; i++)
        ok = ok && ms_infer_add(result, (ms_infer_buffer){.part = MS_INFER_CONTEXT,
                                                          .place = "driver",
                                                          .device = (int)i,
                                                          .phases = ~0u,
                                                          .low = d->context_low_bytes,
                                                          .bytes = d->context_expected_bytes,
                                                          .high = d->context_high_bytes});
    return ok ? MS_OK : ms_infer_no_memory(err);
}

static ms_infer_job job_of(const ms_infer_input *in, const ms_infer_settings *settings,
                           bool is_trial, ms_arena *arena)
{
    bool is_file = in->document == NULL;
    ms_infer_job job = {.settings = settings,
                        .device = in->device,
                        .budget_bytes = in->budget_bytes,
                        .name = in->name,
                        .gguf = is_file ? &in->gguf : NULL,
                        .splits = in->splits,
                        .is_trial = is_trial,
                        .config = in->config,
                        .arena = arena};
    if (!is_file)
        job.file = ms_json_root(in->document);
    if (in->inventory.weights.count > 0)
        job.inventory = &in->inventory;
    return job;
}

static ms_status run_engine(const ms_infer_input *in, const ms_infer_job *job,
                            const ms_infer_engine *engine, ms_infer_result *result, ms_error *err)
{
    *result = (ms_infer_result){.devices = 0};
    ms_status status = engine->run(job, result, err);
    if (status == MS_OK)
        status = add_context(in->device, result, err);
    if (status != MS_OK)
        ms_infer_result_free(result);
    return status;
}

ms_status ms_infer_engine_run(const ms_infer_input *in, const ms_infer_settings *settings,
                              const ms_infer_engine *engine, ms_arena *arena,
                              ms_infer_result *result, ms_error *err)
{
    const ms_infer_job job = job_of(in, settings, false, arena);
    return run_engine(in, &job, engine, result, err);
}

ms_status ms_infer_quants(const ms_infer_input *in, const ms_infer_settings *settings,
                          const ms_infer_engine *engine, const char **names, size_t *count,
                          ms_error *err)
{
    const ms_infer_job job = job_of(in, settings, true, in->arena);
    if (!engine->quants)
        return ms_fail(err, MS_ERR_USAGE, "quant: %s has no list of types", engine->name);
    return engine->quants(&job, names, count, err);
}

ms_status ms_infer_choose(const ms_infer_input *in, const ms_infer_engine *engine,
                          ms_infer_settings *settings, ms_infer_choice *choice, ms_error *err)
{
    const ms_infer_settings given = *settings;
    const ms_infer_job job = job_of(in, &given, false, in->arena);
    *choice = (ms_infer_choice){.program = NULL};
    return engine->choose ? engine->choose(&job, settings, choice, err) : MS_OK;
}

ms_status ms_infer_speed_of(const ms_infer_input *in, const ms_infer_settings *settings,
                            const ms_infer_engine *engine, const ms_infer_result *result,
                            ms_infer_speed *speed, ms_error *err)
{
    ms_infer_work work = {.reason = NULL};
    const ms_infer_job job = job_of(in, settings, false, in->arena);
    *speed = (ms_infer_speed){.reason = NULL};
    ms_status status = engine->work(&job, result, &work, err);
    if (status == MS_OK)
        *speed = ms_infer_roofline(in->device, &work, ms_infer_tokens_of(settings, result));
    return status;
}

/* The devices whose memory counts: the host for a device that is the host. */
static int first_of(const ms_infer_input *in)
{
    return in->device->is_cpu ? MS_INFER_HOST : 0;
}

static int end_of(const ms_infer_input *in, const ms_infer_result *result)
{
    return in->device->is_cpu ? MS_INFER_HOST + 1 : (int)result->devices;
}

bool ms_infer_result_fits(const ms_infer_input *in, const ms_infer_result *result, bool is_safe,
                          int *full)
{
    int end = end_of(in, result);
    uint64_t most = in->budget_bytes;
    *full = first_of(in);
    if (result->refusal || (is_safe && result->may_refuse))
        return false;
    for (int device = first_of(in); in->budget_bytes > 0 && device < end; device++) {
        const ms_infer_bytes total = ms_infer_total(result, device, ms_infer_peak(result, device));
        uint64_t bytes = is_safe ? total.high : total.expected;
        if (bytes > most) {
            *full = device;
            most = bytes;
        }
    }
    return most == in->budget_bytes;
}

static uint64_t floor_of(const ms_infer_result *result, int device, unsigned phases)
{
    static const ms_infer_part parts[] = {MS_INFER_WEIGHTS, MS_INFER_CACHE, MS_INFER_STATE,
                                          MS_INFER_ACTIVATIONS, MS_INFER_OUTPUT};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        sum += ms_infer_part_total(result, device, parts[i], phases).low;
    return sum;
}

/* The same for what never shrinks when more is asked for: all but what an allocator arranges. */
static bool infer_floor_fits(const ms_infer_input *in, const ms_infer_result *result)
{
    int end = end_of(in, result);
    for (int device = first_of(in); device < end; device++)
        for (int phase = 0; phase < MS_INFER_PHASES; phase++)
            if (floor_of(result, device, MS_INFER_IN(phase)) > in->budget_bytes)
                return false;
    return true;
}

static ms_status try_job(const ms_infer_input *in, const ms_infer_job *job,
                         const ms_infer_engine *engine, ms_infer_trial *trial, ms_error *err)
{
    ms_infer_result result;
    int full = 0;
    ms_status status = run_engine(in, job, engine, &result, err);
    if (status != MS_OK)
        return status;
    trial->is_safe =
        ms_infer_result_fits(in, &result, !result.takes_all, &full) && !result.may_refuse;
    trial->fits = ms_infer_result_fits(in, &result, false, &full);
    trial->has_floor = infer_floor_fits(in, &result);
    trial->needed_bytes =
        result.refusal ? 0 : ms_infer_total(&result, full, ms_infer_peak(&result, full)).expected;
    ms_infer_result_free(&result);
    return MS_OK;
}

static ms_status try_value(const ms_infer_input *in, const ms_infer_settings *settings,
                           const ms_infer_engine *engine, const ms_infer_setting *value,
                           bool is_exact, bool only_fits, ms_infer_trial *trial, ms_error *err)
{
    ms_infer_settings changed = *settings;
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_infer_no_memory(err);
    ms_status status = ms_infer_settings_set(&changed, arena, value->field, value->value, err);
    ms_infer_job job = job_of(in, &changed, !is_exact, arena);
    job.only_fits = only_fits;
    if (status == MS_OK)
        status = try_job(in, &job, engine, trial, err);
    ms_arena_free(arena);
    return status;
}

ms_status ms_infer_try(const ms_infer_input *in, const ms_infer_settings *settings,
                       const ms_infer_engine *engine, const char *field, const char *value,
                       bool only_fits, ms_infer_trial *trial, ms_error *err)
{
    const ms_infer_setting setting = {field, value};
    return try_value(in, settings, engine, &setting, false, only_fits, trial, err);
}

ms_status ms_infer_try_exactly(const ms_infer_input *in, const ms_infer_settings *settings,
                               const ms_infer_engine *engine, const ms_infer_setting *setting,
                               ms_infer_trial *trial, ms_error *err)
{
    return try_value(in, settings, engine, setting, true, true, trial, err);
}
