/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run file on a small model: what is accepted resolves to a run within bounds.
 */
#include <assert.h>

#include "input/config/model/model_config.h"
#include "model/load.h"
#include "input/config/resolve/resolve.h"
#include "input/config/load/load.h"
#include "fuzz/fuzz.h"

static void check_run(const ms_run_config *run)
{
    assert(run->device && run->treatments.layers && run->checkpointing && run->treat);
    assert(run->batch >= 1 && run->seq_tokens >= 1 && run->training.accumulate >= 1);
    assert(run->training.optimizer < MS_OPTIMIZER_COUNT && run->attention < MS_ATTENTION_COUNT);
    assert(run->training.optimizer_impl < MS_OPTIMIZER_IMPL_COUNT && run->torch_major == 2);
    assert(run->dtype == MS_DTYPE_F32 || run->dtype == MS_DTYPE_BF16 || run->dtype == MS_DTYPE_F16);
    assert(run->training.clip == (run->training.clip_norm > 0) && run->training.weight_decay >= 0);
    assert(run->allocator.kind < MS_ALLOCATOR_COUNT);
}

static void read_run(ms_arena *arena, ms_json_value root, ms_error *err)
{
    ms_model_config model;
    ms_run_draft draft = {0};
    ms_run_origins origins = {0};
    ms_run_config run;
    ms_notes notes = {0};
    if (ms_preset_load(arena, "gpt2", &model, err) == MS_OK &&
        ms_run_file_read(arena, root, &draft, &origins, err) == MS_OK &&
        ms_run_resolve(arena, &draft, &origins, &model, &run, &notes, err) == MS_OK)
        check_run(&run);
    else
        assert(err->text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.run.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_arena *arena = ms_arena_create(4 << 20);
    ms_error err = {0};
    if (arena && ms_json_parse(&source, &document, &err) == MS_OK)
        read_run(arena, ms_json_root(document), &err);
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
