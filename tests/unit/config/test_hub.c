/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/model/hub.h"

#include <string.h>

#include "config/model/input.h"
#include "unit/support.h"

typedef struct hub_case {
    const char *label, *id, *preset;
    uint32_t positions;
} hub_case;

static const hub_case cases[] = {
    {"an id", "meta-llama/Llama-3.1-8B", "llama-3.1-8b", 0},
    {"in other letters", "META-llama/llama-3.1-8b-INSTRUCT", "llama-3.1-8b", 0},
    {"without its owner", "Qwen2.5-7B-Instruct", "qwen2.5-7b", 32768},
    {"the first of a row", "Qwen/Qwen3-0.6B-Base", "qwen3-0.6b", 32768},
    {"another owner", "somebody/Llama-3.1-8B", NULL, 0},
    {"only the owner", "meta-llama", NULL, 0},
    {"a beginning", "meta-llama/Llama-3.1-8", NULL, 0},
    {"nothing", "", NULL, 0},
};

static void finds(void **state)
{
    const hub_case *c = *state;
    ms_hub_model model;
    bool found = ms_hub_find(c->id, &model);
    assert_int_equal(found, c->preset != NULL);
    if (!found)
        return;
    assert_string_equal(model.preset, c->preset);
    assert_int_equal(model.positions, c->positions);
}

/* What is opened has the positions that the row says, and all else of the preset. */
static void opens(void **state)
{
    const hub_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_input in = {.text = NULL};
    ms_error err = {.status = MS_OK};
    ms_status status = ms_input_open(arena, c->id, MS_WANTED_MODEL, &in, &err);
    assert_int_equal(status == MS_OK, c->preset != NULL);
    if (c->preset) {
        ms_input preset = {.text = NULL};
        assert_int_equal(ms_input_open(arena, c->preset, MS_WANTED_MODEL, &preset, &err), MS_OK);
        const char *line = strstr(in.source.text, "\"max_position_embeddings\": ");
        const char *other = strstr(preset.source.text, "\"max_position_embeddings\": ");
        assert_non_null(line);
        assert_int_equal(line - in.source.text, other - preset.source.text);
        assert_memory_equal(in.source.text, preset.source.text,
                            (size_t)(other - preset.source.text));
        if (c->positions)
            assert_int_equal(strtoul(strchr(line, ':') + 1, NULL, 10), c->positions);
        assert_string_equal(strchr(line, ','), strchr(other, ','));
        assert_int_equal(in.source.length, strlen(in.source.text));
    }
    ms_arena_free(arena);
}

typedef struct address_case {
    const char *label, *text, *id;
} address_case;

static const address_case addresses[] = {
    {"a model's page", "https://huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"},
    {"its files", "https://huggingface.co/Qwen/Qwen3-8B/tree/main", "Qwen/Qwen3-8B"},
    {"with a query", "https://hf.co/Qwen/Qwen3-8B?library=x", "Qwen/Qwen3-8B"},
    {"without https", "huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"},
    {"only an owner", "https://huggingface.co/Qwen", NULL},
    {"another host", "https://example.org/Qwen/Qwen3-8B", NULL},
    {"upwards", "https://huggingface.co/../../etc", NULL},
};

static void reads_address(void **state)
{
    const address_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    const char *id = ms_hub_id_of_address(arena, c->text);
    if (c->id)
        assert_string_equal(id, c->id);
    else
        assert_null(id);
    ms_arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(cases) + COUNT_OF(addresses)];
    size_t count = ADD_ROWS(tests, finds, cases);
    count += ADD_ROWS(tests + count, opens, cases);
    count += ADD_ROWS(tests + count, reads_address, addresses);
    return _cmocka_run_group_tests("models of the Hub", tests, count, NULL, NULL);
}
