/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading models and runs beyond what a folder of tests/golden/config can say: presets, notes, key
 * tables, where a config may lie, flags against files.
 */
#include "input/config/model/model_keys.h"
#include "unit/support.h"
#include "input/config/model/input.h"
#include "input/config/names/preset.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/config/model/model_config.h"
#include "model/families.h"
#include "model/load.h"
#include "input/config/model/model_read.h"

/* ---- presets ---- */

typedef struct preset_case {
    const char *name;
    uint64_t num_layers, hidden_size, num_kv_heads, vocab_size, head_dim;
    bool tied;
} preset_case;

/* As the authors published them. */
static const preset_case preset_cases[] = {
    {"llama-3.1-8b", 32, 4096, 8, 128256, 128, false},
    {"llama-3.1-70b", 80, 8192, 8, 128256, 128, false},
    {"llama-3.1-405b", 126, 16384, 8, 128256, 128, false},
    {"llama-3.2-1b", 16, 2048, 8, 128256, 64, true},
    {"llama-3.2-3b", 28, 3072, 8, 128256, 128, true},
    {"llama-2-7b", 32, 4096, 32, 32000, 128, false},
    {"llama-2-13b", 40, 5120, 40, 32000, 128, false},
    {"tinyllama-1.1b", 22, 2048, 4, 32000, 64, false},
    {"smollm2-135m", 30, 576, 3, 49152, 64, true},
    {"mistral-7b-v0.1", 32, 4096, 8, 32000, 128, false},
    {"mistral-7b-v0.3", 32, 4096, 8, 32768, 128, false},
    {"qwen2.5-0.5b", 24, 896, 2, 151936, 64, true},
    {"qwen2.5-7b", 28, 3584, 4, 152064, 128, false},
    {"qwen2.5-72b", 80, 8192, 8, 152064, 128, false},
    {"qwen3-0.6b", 28, 1024, 8, 151936, 128, true},
    {"qwen3-8b", 36, 4096, 8, 151936, 128, false},
    {"mixtral-8x7b", 32, 4096, 8, 32000, 128, false},
    {"qwen1.5-moe-a2.7b", 24, 2048, 16, 151936, 128, false},
    {"qwen3-30b-a3b", 48, 2048, 4, 151936, 128, false},
    {"gpt2", 12, 768, 12, 50257, 64, true},
    {"gpt2-xl", 48, 1600, 25, 50257, 64, true},
    {"phi-4", 40, 5120, 10, 100352, 128, false},
    {"phi-4-mini", 32, 3072, 8, 200064, 128, true},
    {"glm-4-9b-0414", 40, 4096, 2, 151552, 128, false},
    {"gpt-neox-20b", 44, 6144, 64, 50432, 96, false},
    {"pythia-2.8b", 32, 2560, 32, 50304, 80, false},
};

static void check_preset(void **state)
{
    const preset_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config m = {0};
    ms_error err = {0};
    assert_int_equal(ms_preset_load(arena, c->name, &m, &err), MS_OK);
    assert_string_equal(m.name, c->name);
    assert_int_equal(m.num_layers, c->num_layers);
    assert_int_equal(m.hidden_size, c->hidden_size);
    assert_int_equal(m.num_kv_heads, c->num_kv_heads);
    assert_int_equal(m.vocab_size, c->vocab_size);
    assert_int_equal(m.head_dim, c->head_dim);
    assert_int_equal(m.tie_word_embeddings, c->tied);
    ms_arena_free(arena);
}

static void every_preset_loads_without_a_note(void **state)
{
    (void)state;
    const char *name;
    for (size_t i = 0; (name = ms_preset_name(i)) != NULL; i++) {
        ms_arena *arena = ms_arena_create(0);
        ms_model_config m;
        ms_run_config run;
        ms_notes notes = {0};
        ms_error err = {0};
        const ms_run_setting setting = {"config", name};
        assert_string_not_equal(name, "devices");
        assert_int_equal(ms_run_load(arena, &setting, 1, &m, &run, &notes, &err), MS_OK);
        bool is_packed =
            m.quantization.kind != MS_QUANTIZE_NONE; /* and dequantised, which is noted */
        if (notes.count > is_packed)
            fail_msg("%s: %s", name, notes.texts[0]);
        ms_arena_free(arena);
    }
}

/* ---- one load ---- */

typedef struct loaded {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_error err;
    ms_status status;
} loaded;

static loaded load(const ms_run_setting *settings, size_t count)
{
    loaded l = {.arena = ms_arena_create(0)};
    l.status = ms_run_load(l.arena, settings, count, &l.model, &l.run, &l.notes, &l.err);
    return l;
}

/* Writes a file of the scratch folder. */
static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static int enter_scratch(void **state)
{
    static char folder[] = "/tmp/memscope-test-XXXXXX";
    *state = folder;
    return mkdtemp(folder) && chdir(folder) == 0 && mkdir("llama-x", 0700) == 0 ? 0 : 1;
}

static int leave_scratch(void **state)
{
    static const char *const files[] = {"llama-x/config.json", "llama-x/memscope.run.json",
                                        "run.json", "note.json", "noted.json"};
    for (size_t i = 0; i < COUNT_OF(files); i++)
        (void)remove(files[i]);
    return rmdir("llama-x") == 0 && chdir("/") == 0 && rmdir(*state) == 0 ? 0 : 1;
}

static void a_name_forgives_case_and_dashes(void **state)
{
    (void)state;
    const ms_run_setting setting = {"config", "Llama_3.1-8B"};
    loaded l = load(&setting, 1);
    assert_int_equal(l.status, MS_OK);
    assert_string_equal(l.model.name, "llama-3.1-8b");
    ms_arena_free(l.arena);
}

static void a_folder_holds_a_config(void **state)
{
    (void)state;
    put("llama-x/config.json", "{\"model_type\": \"llama\", \"num_hidden_layers\": 3}");
    const ms_run_setting setting = {"config", "llama-x/"};
    loaded l = load(&setting, 1);
    assert_int_equal(l.status, MS_OK);
    assert_string_equal(l.model.name, "llama-x");
    assert_int_equal(l.model.num_layers, 3);
    assert_int_equal(l.run.seq_tokens, 2048);
    ms_arena_free(l.arena);
}

static void flags_win_over_the_run_file(void **state)
{
    (void)state;
    put("llama-x/config.json", "{\"model_type\": \"llama\", \"num_hidden_layers\": 6}");
    put("llama-x/memscope.run.json",
        "{\"$schema\": \"x\", \"model\": \"config.json\", \"batch\": 4, \"seq\": 16,\n"
        " \"optimizer_impl\": \"foreach\", \"clip\": 1.0, \"checkpointing\": \"every:2\",\n"
        " \"budget\": \"24GB\", \"roundup-power2-divisions\": \"none\"}");
    const ms_run_setting settings[] = {{"config", "llama-x"}, {"batch", "7"}, {"batch", "8"}};
    loaded l = load(settings, COUNT_OF(settings));
    assert_string_equal(l.err.text, "");
    assert_int_equal(l.status, MS_OK);
    assert_int_equal(l.run.batch, 8);
    assert_int_equal(l.run.seq_tokens, 16);
    assert_int_equal(l.run.training.optimizer_impl, MS_OPTIMIZER_FOREACH);
    assert_true(l.run.training.clip && l.run.training.clip_norm > 0.99 &&
                l.run.training.clip_norm < 1.01);
    assert_int_equal(l.run.budget_bytes, 24000000000);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(l.run.treatments.layers[i].kind,
                         i % 2 == 0 ? MS_TREAT_CHECKPOINT : MS_TREAT_KEEP);
    assert_int_equal(remove("llama-x/memscope.run.json"), 0);
    ms_arena_free(l.arena);
}

static void a_run_file_may_hold_the_model(void **state)
{
    (void)state;
    put("run.json", "{\"model\": {\"model_type\": \"gpt2\", \"n_layer\": 2}, \"torch\": \"2.9\"}");
    const ms_run_setting setting = {"config", "run.json"};
    loaded l = load(&setting, 1);
    assert_int_equal(l.status, MS_OK);
    assert_string_equal(l.model.name, "run");
    assert_int_equal(l.model.num_layers, 2);
    assert_int_equal(l.run.seq_tokens, 1024); /* as far as the learned positions go */
    assert_int_equal(l.run.torch_minor, 9);
    ms_arena_free(l.arena);
}

static void a_fault_in_the_named_config_is_shown_there(void **state)
{
    (void)state;
    put("llama-x/config.json", "{\"model_type\": \"llama\",\n \"hidden_size\": 0}");
    put("run.json", "{\"model\": \"llama-x\"}");
    const ms_run_setting setting = {"config", "./run.json"};
    loaded l = load(&setting, 1);
    assert_int_equal(l.status, MS_ERR_CONFIG);
    assert_string_equal(l.err.file, "./llama-x/config.json");
    assert_int_equal(l.err.line, 2);
    assert_string_equal(l.err.excerpt, "\"hidden_size\": 0}");
    assert_int_equal(l.err.caret, 15);
    ms_arena_free(l.arena);
}

static void a_misspelt_key_is_noted(void **state)
{
    (void)state;
    put("note.json", "{\"model_type\": \"llama\", \"num_hiden_layers\": 3, \"sep_token_id\": 1}");
    const ms_run_setting setting = {"config", "note.json"};
    loaded l = load(&setting, 1);
    assert_int_equal(l.status, MS_OK);
    assert_int_equal(l.notes.count, 1);
    assert_string_equal(
        l.notes.texts[0],
        "key 'num_hiden_layers' is unknown and was ignored; did you mean 'num_hidden_layers'?");
    ms_arena_free(l.arena);
}

static void what_is_odd_but_runs_is_noted(void **state)
{
    (void)state;
    const ms_run_setting settings[] = {
        {"config", "tinyllama-1.1b"}, {"seq", "4096"}, {"autocast", "bf16"}, {"budget", "100GiB"}};
    loaded l = load(settings, COUNT_OF(settings));
    assert_int_equal(l.status, MS_OK);
    assert_int_equal(l.notes.count, 3);
    assert_string_equal(l.notes.texts[0],
                        "4096 tokens are more than the 2048 positions the model was trained for");
    assert_string_equal(l.notes.texts[1],
                        "the weights are already bfloat16: autocast casts none of them");
    assert_string_equal(l.notes.texts[2], "the budget is more than a100-80gb has");
    ms_arena_free(l.arena);
}

static void nothing_is_found(void **state)
{
    (void)state;
    const ms_run_setting hub = {"config", "meta-llama/gpt-oss-20b"};
    const ms_run_setting misspelt = {"config", "qwne3-8b"}, strange = {"config", "opus"},
                         missing = {"config", "none.json"}, batch = {"batch", "2"};
    loaded l = load(&misspelt, 1);
    assert_string_equal(
        l.err.text,
        "'qwne3-8b' is not a built-in model, file or directory; did you mean 'qwen3-8b'?");
    ms_arena_free(l.arena);
    l = load(&hub, 1);
    assert_string_equal(
        l.err.text,
        "'meta-llama/gpt-oss-20b' is not a built-in model, file or directory; did you mean "
        "'gpt-oss-20b'? Or download its config and give that file: curl -fLO "
        "https://huggingface.co/meta-llama/gpt-oss-20b/resolve/main/config.json");
    ms_arena_free(l.arena);
    l = load(&strange, 1);
    assert_string_equal(
        l.err.text, "'opus' is not a built-in model, file or directory; `memscope "
                    "models` lists the built-in ones, `memscope capture` runs any PyTorch program");
    ms_arena_free(l.arena);
    l = load(&missing, 1);
    assert_int_equal(l.status, MS_ERR_IO);
    assert_string_equal(l.err.file, "none.json");
    ms_arena_free(l.arena);
    l = load(&batch, 1);
    assert_int_equal(l.status, MS_ERR_USAGE);
    ms_arena_free(l.arena);
}

/* ---- run files that are good ---- */

static void check_run_file(void **state)
{
    const ms_run_setting setting = {"config", *state};
    loaded l = load(&setting, 1);
    assert_string_equal(l.err.text, "");
    assert_int_equal(l.status, MS_OK);
    ms_arena_free(l.arena);
}

/* ---- key tables ---- */

static void key_rows_are_sane(void **state)
{
    (void)state;
    const ms_family_list *families = ms_families();
    assert_true(families->count >= 5);
    for (size_t f = 0; f < families->count; f++)
        for (size_t i = 0; i < families->items[f]->key_count; i++) {
            const ms_key *key = &families->items[f]->keys[i];
            assert_ptr_equal(ms_model_key_row(families->items[f], key->name), key);
            bool counts = key->kind == MS_KEY_COUNT || key->kind == MS_KEY_OPTIONAL;
            assert_true(!counts || key->maximum > key->minimum);
            bool as_null = key->kind == MS_KEY_OPTIONAL && key->null_kind == MS_DEFAULT_VALUE &&
                           (uint64_t)key->default_value == key->null_value;
            bool has_default = !key->required && key->default_kind == MS_DEFAULT_VALUE;
            if (counts && has_default && key->default_value >= 0 && !as_null)
                assert_in_range((uint64_t)key->default_value, key->minimum, key->maximum);
        }
}

#define RUN_FILE(name)                                                                             \
    {                                                                                              \
        name, check_run_file, NULL, NULL, (char[])                                                 \
        {                                                                                          \
            "tests/golden/config/runs/" name                                                       \
        }                                                                                          \
    }

int main(void)
{
    const struct CMUnitTest runs[] = {
        RUN_FILE("everything.json"),
        RUN_FILE("inline.json"),
        RUN_FILE("least.json"),
    };
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_loads_without_a_note),
        cmocka_unit_test(a_name_forgives_case_and_dashes),
        cmocka_unit_test(a_folder_holds_a_config),
        cmocka_unit_test(flags_win_over_the_run_file),
        cmocka_unit_test(a_run_file_may_hold_the_model),
        cmocka_unit_test(a_fault_in_the_named_config_is_shown_there),
        cmocka_unit_test(a_misspelt_key_is_noted),
        cmocka_unit_test(what_is_odd_but_runs_is_noted),
        cmocka_unit_test(nothing_is_found),
        cmocka_unit_test(key_rows_are_sane),
    };
    int failed = run_rows("presets", check_preset, preset_cases);
    failed += _cmocka_run_group_tests("run files", runs, COUNT_OF(runs), NULL, NULL);
    failed += cmocka_run_group_tests_name("loading", tests, enter_scratch, leave_scratch);
    return failed;
}
