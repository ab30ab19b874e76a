/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A config.json through the families' tables: accepted configs keep the bounds that arithmetic
 * relies on, refusals say why and where.
 */
#include <assert.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_read.h"
#include "fuzz/fuzz.h"
#include "model/families.h"

static void check_bounds(const ms_model_config *m)
{
    assert(m->family && m->model_type);
    assert(m->vocab_size >= 1 && m->vocab_size <= 1u << 24);
    assert(m->hidden_size >= 1 && m->hidden_size <= 1u << 18);
    assert(m->intermediate_size >= 1 && m->intermediate_size <= 1u << 20);
    assert(m->num_layers >= 1 && m->num_layers <= 4096);
    assert(m->num_heads >= 1 && m->num_kv_heads >= 1 && m->num_heads % m->num_kv_heads == 0);
    assert(m->head_dim >= 1 && m->head_dim <= 1u << 18);
    assert((m->sliding_window > 0) == m->use_sliding_window);
    assert(m->use_sliding_window || !ms_model_has_layers(m, MS_LAYER_SLIDES));
    assert(m->attention_dropout >= 0 && m->attention_dropout <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_arena *arena = ms_arena_create(1 << 20);
    ms_model_config model;
    ms_notes notes = {0};
    ms_error err = {0};
    if (arena && ms_json_parse(&source, &document, &err) == MS_OK) {
        if (ms_model_config_read(arena, ms_json_root(document), ms_families(), &model, &notes,
                                 &err) == MS_OK)
            check_bounds(&model);
        else
            assert(err.text[0] && (err.line > 0 || err.status == MS_ERR_NOMEM));
    }
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
