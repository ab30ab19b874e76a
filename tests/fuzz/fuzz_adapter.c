/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An adapter_config.json: what is accepted stays within bounds, can be written and matched. A text
 * that is no JSON object is read as `--lora`.
 */
#include <assert.h>
#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/adapter/adapter_text.h"
#include "model/evaluator/family.h"
#include "model/families.h"
#include "input/config/model/model_read.h"
#include "fuzz/fuzz.h"

static void use(ms_arena *arena, ms_adapter *adapter)
{
    ms_adapter_matcher *matcher = NULL;
    ms_error err = {0};
    adapter->dtype = MS_DTYPE_F32;
    assert(adapter->rank >= 1 && adapter->dropout >= 0 && adapter->dropout <= 1);
    assert(ms_adapter_text(arena, adapter));
    const ms_family *row = ms_family_named(ms_families(), "llama");
    const ms_family *llama = ms_family_read_text(arena, row, &err);
    if (llama && ms_adapter_matcher_new(adapter, llama, &matcher, &err) == MS_OK) {
        static const char name[] = "model.layers.3.self_attn.q_proj";
        bool takes = ms_adapter_takes(matcher, name, true, false);
        assert(!(takes && adapter->layer_count > 0 && ms_adapter_is_uniform(adapter)));
        (void)ms_adapter_saves(matcher, name);
        (void)ms_adapter_scales_input(matcher, name);
        assert(ms_adapter_rank_of(matcher, name) >= 1);
    } else {
        assert(err.text[0]);
    }
    ms_adapter_matcher_free(matcher);
}

static void read_text(ms_arena *arena, const uint8_t *data, size_t size)
{
    char text[512];
    ms_adapter adapter;
    ms_error err = {0};
    if (size >= sizeof text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (ms_adapter_parse(arena, text, &adapter, &err) == MS_OK)
        use(arena, &adapter);
    else
        assert(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"adapter_config.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_adapter adapter;
    ms_arena *arena = ms_arena_create(4 << 20);
    ms_error err = {0};
    if (arena && ms_json_parse(&source, &document, &err) == MS_OK) {
        if (ms_adapter_read(arena, ms_json_root(document), &adapter, &err) == MS_OK)
            use(arena, &adapter);
        else
            assert(err.text[0]);
    } else if (arena) {
        read_text(arena, data, size);
    }
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
