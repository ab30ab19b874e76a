/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training arguments on a small model: what is accepted sets fields that resolve, or are refused
 * with a sentence.
 */
#include <assert.h>

#include "input/config/model/model_config.h"
#include "model/load.h"
#include "input/config/trainers/training_args.h"
#include "fuzz/fuzz.h"
#include "base/json/yaml.h"

static void resolve(ms_arena *arena, const ms_run_draft *draft, const ms_run_origins *origins,
                    const ms_model_config *model)
{
    ms_run_config run;
    ms_notes notes = {0};
    ms_error err = {0};
    if (ms_run_resolve(arena, draft, origins, model, &run, &notes, &err) == MS_OK)
        assert(run.batch >= 1 && run.training.accumulate >= 1 &&
               run.training.optimizer < MS_OPTIMIZER_COUNT);
    else
        assert(err.text[0]);
}

/* Whether or not a file shards, the rest of it is read. */
static void read_args(ms_arena *arena, ms_json_value root, int ignores, ms_error *err)
{
    ms_model_config model;
    ms_run_draft draft = {.ignore_sharding = ignores};
    ms_run_origins origins = {0};
    ms_notes notes = {0}, left_out = {0};
    ms_read_keys keys = {0};
    const ms_told told = {.notes = &notes, .unsupported = &left_out, .keys = &keys};
    if (ms_preset_load(arena, "llama-3.2-1b", &model, err) == MS_OK &&
        ms_training_args_read(arena, root, &model, &draft, &origins, told, err) == MS_OK)
        resolve(arena, &draft, &origins, &model);
    else
        assert(err->text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"args", (const char *)data, size};
    ms_json *document = NULL;
    ms_arena *arena = ms_arena_create(4 << 20);
    ms_error err = {0};
    if (arena && ms_json_or_yaml_parse(&source, &document, &err) == MS_OK)
        for (int ignores = 0; ignores < 2; ignores++) {
            err = (ms_error){0};
            read_args(arena, ms_json_root(document), ignores, &err);
        }
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
