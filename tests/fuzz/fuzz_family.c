/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of a family: what is accepted can be checked against a config, what is refused has a
 * sentence and a place. And a config of that type, as its keys read it, and a step of its model: it
 * runs, or ends in a sentence.
 */
#include <assert.h>

#include "base/json/value.h"
#include "fuzz/fuzz.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_read.h"
#include "model/evaluator/family.h"
#include "model/families.h"
#include "model/load.h"
#include "run/step/step.h"

static const char config[] =
    "{\"model_type\": \"t\", \"hidden_size\": 64, \"num_hidden_layers\": 3,"
    " \"num_attention_heads\": 4, \"vocab_size\": 100}";

/* The run that a model's step has; its arena stays for all texts. */
static const ms_run_config *run_of_step(void)
{
    static ms_run_config run;
    static ms_arena *arena;
    const ms_run_setting settings[] = {
        {"config", "gpt2"}, {"batch", "3"}, {"seq", "8"}, {"device", "a100-80gb"}};
    ms_model_config model;
    ms_notes notes = {0};
    if (arena)
        return &run;
    arena = ms_arena_create(0);
    assert(arena && ms_run_load(arena, settings, sizeof settings / sizeof *settings, &model, &run,
                                &notes, NULL) == MS_OK);
    return &run;
}

static void step(const ms_model_config *model)
{
    ms_simulation simulation;
    ms_error err = {0};
    if (ms_step_simulate(model, run_of_step(), MS_STEPS_LEAN, &simulation, &err) == MS_OK)
        ms_simulation_free(&simulation);
    else
        assert(err.text[0]);
}

static void use(ms_arena *arena, const ms_family *family)
{
    const ms_json_source source = {"config.json", config, sizeof config - 1};
    const ms_family *const items[] = {family};
    const ms_family_list list = {.items = items, .count = 1};
    ms_json *document = NULL;
    ms_model_config model;
    ms_notes notes = {0};
    ms_error err = {0};
    assert(family->model_type && family->classes[0].name && family->program);
    const bool is_json = ms_json_parse(&source, &document, &err) == MS_OK;
    if (is_json &&
        ms_model_config_read(arena, ms_json_root(document), &list, &model, &notes, &err) != MS_OK)
        assert(err.text[0]);
    else if (is_json)
        step(&model);
    ms_json_free(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ms_family_file file = {
        .name = "fuzz.family", .text = (const char *)data, .bytes = size, .is_users = true};
    ms_arena *arena = ms_arena_create(16 << 20);
    ms_error err = {0};
    const ms_family *family =
        arena ? ms_family_of_text(arena, &file, NULL, ms_families(), &err) : NULL;
    if (family)
        use(arena, family);
    else if (arena)
        assert(err.text[0] && (err.line > 0 || err.status == MS_ERR_NOMEM || size == 0));
    ms_arena_free(arena);
    return 0;
}
