/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/names/hub.h"
#include "input/config/names/no_config.h"

#include <string.h>

#include "input/config/model/input.h"
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
    {"an owner in the name", "nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron-nano-9b-v2", 0},
    {"in the type of its preset", "google/gemma-2-9b", "gemma-2-9b", 0},
    {"packed as its preset", "openai/gpt-oss-20b", "gpt-oss-20b", 0},
    {"a converted family", "unsloth/phi-4", NULL, 0},
    {"another name of an author", "state-spaces/mamba-2.8b", NULL, 0},
    {"only the owner", "meta-llama", NULL, 0},
    {"a beginning", "meta-llama/Llama-3.1-8", NULL, 0},
    {"nothing", "", NULL, 0},
};

/* By parts: one family, generation and size, whatever stands between them. */
static const hub_case by_parts[] = {
    {"a tag", "llama3.1:8b", "llama-3.1-8b", 0},
    {"another generation", "llama-3-8b", "llama-3.1-8b", 8192},
    {"no such size", "llama-2-8b", NULL, 0},
    {"no such generation", "llama-9-8b", NULL, 0},
    {"no size", "llama3.1", NULL, 0},
    {"parts in another order", "qwen2.5-7b-coder", "qwen2.5-7b", 32768},
    {"an unknown word", "qwen2.5-7b-1m", NULL, 0},
    {"an older one without a number", "gemma:2b", "gemma-2b", 0},
    {"a newer one of that size", "gemma2:2b", "gemma-2-2b", 0},
    {"packed weights", "Llama-3.1-8B-Instruct-GGUF", NULL, 0},
    {"packed weights as a tag", "qwen2.5:7b-instruct-q4_K_M", NULL, 0},
    {"who copies models", "unsloth/Qwen2.5-7B-Instruct", "qwen2.5-7b", 32768},
    {"who converts that family", "unsloth/Phi-4-mini-instruct", NULL, 0},
    {"a family that is copied", "unsloth/gpt-oss-20b", "gpt-oss-20b", 0},
    {"who may have changed them", "somebody/Qwen2.5-7B-Instruct", "qwen2.5-7b", 32768},
    {"an owner and a built-in name", "models/Llama-2-7b", "llama-2-7b", 0},
    {"an owner and packed weights", "somebody/Qwen2.5-7B-Instruct-AWQ", NULL, 0},
    {"an owner and another name", "somebody/Qwen2.5-7B-Instruct-abliterated", NULL, 0},
    {"two folders", "data/models/Llama-2-7b", NULL, 0},
    {"the original layout", "meta-llama/Llama-2-7b", NULL, 0},
    {"blanks", "Llama 3.1 8B Instruct", "llama-3.1-8b", 0},
    {"without a part of the size", "qwen3:30b", NULL, 0},
    {"a long one",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     NULL, 0},
    {"many parts", "1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16-17-18", NULL, 0},
    {"nothing but signs", "-:_", NULL, 0},
    {"a pattern", "llama-3.1-8b*", NULL, 0},
    {"a file", "llama-3.1-8b.json", NULL, 0},
};

/* Sizes that are not what the name would make one think, and those that a sister has as well. */
typedef struct size_case {
    const char *label, *id, *preset, *line;
} size_case;

static const size_case sizes[] = {
    {"tokens to fill in", "codellama/CodeLlama-7b-hf", "codellama-7b", "\"vocab_size\": 32016"},
    {"of 34b without", "codellama/CodeLlama-34b-hf", "codellama-34b", "\"vocab_size\": 32000"},
    {"cut to the tokenizer", "deepcogito/cogito-v1-preview-qwen-14B", "cogito-v1-14b",
     "\"vocab_size\": 151665"},
    {"a head of its own", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
     "deepseek-r1-distill-qwen-1.5b", "\"tie_word_embeddings\": false"},
    {"a second version", "openlm-research/open_llama_3b_v2", "open-llama-3b",
     "\"hidden_size\": 3200"},
    {"a chat model", "01-ai/Yi-34B-Chat", "yi-34b", "\"vocab_size\": 64000"},
    {"another type", "agentica-org/DeepCoder-14B-Preview", "qwen2.5-14b",
     "\"torch_dtype\": \"float32\""},
    {"without packed weights", "axolotl-ai-co/gpt-oss-120b-dequantized", "gpt-oss-120b-bf16",
     "\"num_local_experts\": 128"},
    {"with packed weights", "openai/gpt-oss-safeguard-20b", "gpt-oss-20b", "\"mxfp4\""},
    {"longer", "mistralai/Magistral-Small-2507", "mistral-small-24b",
     "\"max_position_embeddings\": 131072"},
    {"published again", "mistral-community/Mixtral-8x22B-v0.1", "mixtral-8x22b-v0.1",
     "\"vocab_size\": 32000"},
    {"a base model", "Qwen/Qwen3.5-35B-A3B-Base", "qwen3.5-35b-a3b", "\"num_experts\": 256"},
    {"a tower", "google/gemma-4-31B", "gemma-4-31b", "\"num_global_key_value_heads\": 4"},
};

typedef struct hint_case {
    const char *label, *name, *text; /* in the message */
} hint_case;

static const hint_case hints[] = {
    {"another size", "llama-2-8b",
     "; of that generation there are 'llama-2-13b', 'llama-2-70b' and 'llama-2-7b'"},
    {"one of that generation", "smollm3-1b", "; of that generation there is 'smollm3-3b'"},
    {"more than are listed", "qwen3-15b", "'qwen3-235b-a22b' and others"},
    {"another generation", "llama-9-8b", "; of that family and size there is 'llama-3.1-8b'"},
    {"another generation and size", "glm-9.9", "; of that family there are 'glm-4-32b-0414', "},
    {"a size and no generation", "qwen-14b",
     "; of that family and size there are 'qwen2.5-14b' and 'qwen3-14b'"},
    {"a family", "llama", "; of that family there are 'llama-2-13b', 'llama-2-70b', "},
    {"another family", "xyz-8b",
     "; `memscope models` lists the built-in ones, `memscope capture` runs any PyTorch program"},
    {"an unknown word", "qwen2.5-7b-1m", "; did you mean 'qwen2.5-7b' or 'qwen2.5-vl-7b'?"},
    {"packed as files", "Llama-3.1-8B-GGUF",
     "; its weights are packed: did you mean 'llama-3.1-8b', for infer --engine llama.cpp with "
     "--quant?"},
    {"packed by bitsandbytes", "unsloth/llama-3.1-8b-bnb-4bit",
     "; its weights are packed: did you mean 'llama-3.1-8b' with --quantize nf4:double and --lora, "
     "for analyze? Or"},
    {"converted to another layout", "unsloth/phi-4-bnb-4bit",
     "was converted to another layout by its owner, so no built-in model matches it: download"},
    {"packed, of no known size", "llama-2-71b-gptq",
     "; of that generation there are 'llama-2-13b', 'llama-2-70b' and 'llama-2-7b'"},
};

static void hints_at(void **state)
{
    const hint_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_error err = {.status = MS_OK};
    assert_int_not_equal(ms_fail_no_config(arena, c->name, &err), MS_OK);
    if (!strstr(err.text, c->text))
        fail_msg("%s", err.text);
    ms_arena_free(arena);
}

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

/* What is opened has the positions and the type that the row says, and all else of the preset. */
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

static void has_sizes(void **state)
{
    const size_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_input in = {.text = NULL};
    ms_error err = {.status = MS_OK};
    assert_int_equal(ms_input_open(arena, c->id, MS_WANTED_MODEL, &in, &err), MS_OK);
    assert_string_equal(in.source.name, c->preset);
    assert_non_null(strstr(in.source.text, c->line));
    assert_null(in.note);
    ms_arena_free(arena);
}

/* What a stranger publishes under a known name may be another model: a note says so. */
static void notes_namesake(void **state)
{
    (void)state;
    ms_arena *arena = ms_arena_create(0);
    ms_input in = {.text = NULL};
    ms_error err = {.status = MS_OK};
    const char *id = "mhenrichsen/gemma-7b";
    assert_false(ms_is_preset(id));
    assert_true(ms_is_built_in(id));
    assert_int_equal(ms_input_open(arena, id, MS_WANTED_MODEL, &in, &err), MS_OK);
    assert_string_equal(in.note,
                        "'mhenrichsen/gemma-7b' was taken for gemma-7b because of its name, "
                        "and its own config was not read: give that file to be sure");
    ms_arena_free(arena);
}

static void has_its_own_type(void **state)
{
    (void)state;
    ms_arena *arena = ms_arena_create(0);
    ms_input in = {.text = NULL};
    ms_error err = {.status = MS_OK};
    assert_int_equal(ms_input_open(arena, "google/gemma-2-9b-it", MS_WANTED_MODEL, &in, &err),
                     MS_OK);
    assert_non_null(strstr(in.source.text, "\"torch_dtype\": \"bfloat16\""));
    assert_null(strstr(in.source.text, "float32"));
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
    struct CMUnitTest tests[2 * COUNT_OF(cases) + COUNT_OF(by_parts) + COUNT_OF(hints) +
                            COUNT_OF(addresses) + COUNT_OF(sizes) + 2];
    size_t count = ADD_ROWS(tests, finds, cases);
    count += ADD_ROWS(tests + count, opens, cases);
    count += ADD_ROWS(tests + count, opens, by_parts);
    count += ADD_ROWS(tests + count, hints_at, hints);
    count += ADD_ROWS(tests + count, reads_address, addresses);
    count += ADD_ROWS(tests + count, has_sizes, sizes);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(has_its_own_type);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(notes_namesake);
    return _cmocka_run_group_tests("models of the Hub", tests, count, NULL, NULL);
}
