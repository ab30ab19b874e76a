/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/models/known.h"

#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/run/liger.h"
#include "model/load.h"
#include "serve/infer/engines.h"

enum { MOST_SETTINGS = 4 };

/* A run that is tried: it is predicted, or refused with a sentence. */
typedef struct tried_run {
    const char *title;
    ms_run_setting settings[MOST_SETTINGS]; /* beside the model and the device */
} tried_run;

static const tried_run tried[] = {
    {"training", {{0}}},
    {"dp=N", {{"parallel", "dp=2"}}},
    {"fsdp=N", {{"parallel", "fsdp=2"}}},
    {"fsdp1=N", {{"parallel", "fsdp1=2"}}},
    {"ZeRO 1 and 2", {{"parallel", "zero=2,dp=2"}}},
    {"ZeRO-3", {{"parallel", "zero=3,dp=2"}}},
    {"tp=N", {{"parallel", "tp=2"}}},
    {"cp=N", {{"parallel", "fsdp=2,cp=2"}}},
    {"pp=N", {{"parallel", "pp=2,microbatches=2"}}},
    {"accelerate's units", {{"parallel", "fsdp=2"}, {"fsdp-units", "accelerate"}}},
    {"torchtitan's units", {{"parallel", "fsdp=2"}, {"fsdp-units", "torchtitan"}}},
    {"loss in chunks", {{"treat", "loss=chunk:4"}}},
    {"quantised base", {{"quantize", "nf4"}, {"lora", "r=8,targets=all-linear"}}},
    {"fp16", {{"dtype", "fp16"}}},
};

static void write_line(FILE *out, const char *title, const char *answer, const char *more)
{
    fprintf(out, "  %-19s %s%s%s\n", title, answer, *more ? ": " : "", more);
}

/* A message without the name of the field that it begins with. */
static const char *reason_of(const char *message)
{
    const char *colon = strstr(message, ": "), *space = strchr(message, ' ');
    return colon && space == colon + 1 ? colon + 2 : message;
}

static ms_status try_run(ms_arena *arena, const char *name, const tried_run *row, FILE *out)
{
    ms_run_setting settings[MOST_SETTINGS + 2] = {{"config", name}, {"device", "a100-80gb"}};
    size_t count = 2;
    for (size_t i = 0; i < MOST_SETTINGS && row->settings[i].field; i++)
        settings[count++] = row->settings[i];
    ms_model_config model = {0};
    ms_run_config run;
    ms_error err = {.status = MS_OK};
    ms_status status = ms_run_load(arena, settings, count, &model, &run, NULL, &err);
    if (status != MS_ERR_NOMEM)
        write_line(out, row->title, status == MS_OK ? "yes" : "no",
                   status == MS_OK ? "" : reason_of(err.text));
    return status == MS_ERR_NOMEM ? status : MS_OK;
}

static ms_status write_targets(ms_arena *arena, const char *title, const ms_module_list *list,
                               FILE *out)
{
    const char *text = list->pattern ? list->pattern : "";
    for (uint32_t i = 0; i < list->count && text; i++)
        text = ms_arena_printf(arena, "%s%s%s", text, i > 0 ? "+" : "", list->names[i]);
    if (text && *text)
        write_line(out, title, "yes", text);
    return text ? MS_OK : MS_ERR_NOMEM;
}

/* PEFT's default targets, or those that are usual. */
static ms_status write_adapters(ms_arena *arena, const ms_model_config *model, FILE *out)
{
    ms_module_list lora[2], ia3[2];
    ms_adapter_defaults(model->family, MS_ADAPTER_LORA, lora);
    ms_adapter_defaults(model->family, MS_ADAPTER_IA3, ia3);
    const char *usual = ms_adapter_usual_targets(model->family);
    if (usual)
        write_line(out, "LoRA's defaults", "no",
                   ms_arena_printf(arena, "PEFT has none; name targets, such as %s", usual));
    ms_status status = write_targets(arena, "LoRA's defaults", &lora[0], out);
    if (status == MS_OK && !ia3[0].count)
        write_line(out, "IA3's defaults", "no", "PEFT has none; name targets");
    return status == MS_OK ? write_targets(arena, "IA3's defaults", &ia3[0], out) : status;
}

static ms_status write_liger(ms_arena *arena, const ms_model_config *model, FILE *out)
{
    const ms_liger_family *liger = ms_liger_family_of(model);
    const char *kernels = liger ? ms_liger_text(arena, liger->kernels) : "it has no kernels for it";
    if (kernels)
        write_line(out, "Liger", liger ? "yes" : "no", kernels);
    return kernels ? MS_OK : MS_ERR_NOMEM;
}

static void write_engines(const ms_model_config *model, FILE *out)
{
    const ms_infer_engine *engine;
    for (size_t i = 0; (engine = ms_infer_engine_at(i)) != NULL; i++) {
        ms_error err = {.status = MS_OK};
        bool is_known = ms_infer_engine_check(engine, model, &err) == MS_OK;
        const char *reason = is_known ? "" : err.text, *colon = strstr(reason, ": ");
        write_line(out, engine->name, is_known ? "yes" : "no", colon ? colon + 2 : reason);
    }
}

ms_status ms_known_write(ms_arena *arena, const char *name, FILE *out, ms_error *err)
{
    const ms_run_setting setting = {"config", name};
    ms_model_config model = {0};
    ms_run_config run;
    ms_status status = ms_run_load(arena, &setting, 1, &model, &run, NULL, err);
    if (status != MS_OK)
        return status;
    fprintf(out, "\n%s, of family %s: what is predicted\n", name, model.model_type);
    for (size_t i = 0; i < sizeof tried / sizeof *tried && status == MS_OK; i++)
        status = try_run(arena, name, &tried[i], out);
    if (status == MS_OK)
        status = write_adapters(arena, &model, out);
    if (status == MS_OK)
        status = write_liger(arena, &model, out);
    if (status != MS_OK)
        return ms_fail(err, status, "no memory for what is predicted of a model");
    write_engines(&model, out);
    return MS_OK;
}
