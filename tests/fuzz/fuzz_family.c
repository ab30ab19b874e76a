/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of a family: what is accepted can be checked against a config, what is refused has a
 * sentence and a place. And a config of that type, as its keys read it.
 */
#include <assert.h>

#include "base/json/value.h"
#include "fuzz/fuzz.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_read.h"
#include "model/evaluator/family.h"
#include "model/families.h"

static const char config[] =
    "{\"model_type\": \"t\", \"hidden_size\": 64, \"num_hidden_layers\": 3,"
    " \"num_attention_heads\": 4, \"vocab_size\": 100}";

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
    if (ms_json_parse(&source, &document, &err) == MS_OK &&
        ms_model_config_read(arena, ms_json_root(document), &list, &model, &notes, &err) != MS_OK)
        assert(err.text[0]);
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
