/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters: what `--lora` and adapter_config.json are read as, which modules they take, and the
 * patterns of Python that the C library can run.
 */
#include <string.h>

#include "config/adapter.h"
#include "config/pattern.h"
#include "unit/support.h"

/* ---- patterns: the answers are those of Python's re.fullmatch ---- */

typedef struct pattern_case {
    const char *pattern, *subject;
    bool matches;
} pattern_case;

static const pattern_case pattern_cases[] = {
    {"q_proj", "q_proj", true},
    {"q_proj", "model.q_proj", false},
    {".*\\.q_proj", "model.layers.0.self_attn.q_proj", true},
    {".*\\.q_proj", "xq_proj", false},
    {".*layers\\.\\d+\\.mlp\\.(up|down)_proj", "model.layers.11.mlp.up_proj", true},
    {".*layers\\.\\d+\\.mlp\\.(up|down)_proj", "model.layers.x.mlp.up_proj", false},
    {"(?:a|b)c", "bc", true},
    {"[\\w]+\\.[^.]*", "a_1.b-c", true},
    {"[]a]+", "]a]", true},
    {"a{2,3}", "aaaa", false},
    {"a|ab", "ab", true},
    {"\\s*", " \t", true},
};

static void pattern_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pattern_cases); i++) {
        const pattern_case *c = &pattern_cases[i];
        ms_pattern *pattern = NULL;
        ms_error err = {0};
        assert_int_equal(ms_pattern_new("", c->pattern, "", &pattern, &err), MS_OK);
        bool ran_out = false;
        if (ms_pattern_matches(pattern, c->subject, &ran_out) != c->matches || ran_out)
            fail_msg("%s on %s", c->pattern, c->subject);
        ms_pattern_free(pattern);
    }
}

static void patterns_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"(?!x).*", "a*?", "(?P<n>a)", "\\bq", "(a)\\1",
                                      "(",       "[a",  "a++",      "\\"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ms_pattern *pattern = NULL;
        ms_error err = {0};
        if (ms_pattern_new("", bad[i], "", &pattern, &err) != MS_ERR_CONFIG)
            fail_msg("%s is read", bad[i]);
        assert_null(pattern);
    }
}

/* ---- which modules ---- */

typedef struct module_case {
    const char *lora, *name;
    bool is_linear, is_head;
    bool takes, saves;
} module_case;

#define Q "model.layers.3.self_attn.q_proj"
static const module_case module_cases[] = {
    {"targets=q_proj", Q, true, false, true, false},
    {"targets=proj", Q, true, false, false, false},
    {"targets=self_attn.q_proj", Q, true, false, true, false},
    {"targets=" Q, Q, true, false, true, false},
    {"targets=k_proj+q_proj", Q, true, false, true, false},
    {"targets=q_proj,exclude=layers.3.self_attn.q_proj", Q, true, false, false, false},
    {"targets=q_proj,exclude=k_proj", Q, true, false, true, false},
    {"targets=q_proj,layers=3+5", Q, true, false, true, false},
    {"targets=q_proj,layers=4", Q, true, false, false, false},
    {"targets=lm_head,layers=4", "lm_head", true, true, false, false},
    {"targets=all-linear", Q, true, false, true, false},
    {"targets=all-linear", "lm_head", true, true, false, false},
    {"targets=all-linear", "model.norm", false, false, false, false},
    {"targets=lm_head", "lm_head", true, true, true, false},
    {"targets=q_proj,save=lm_head", "lm_head", true, true, false, true},
    {"targets=q_proj,save=self_attn", Q, true, false, false, false}, /* inside what is saved */
    {"targets=all-linear,save=q_proj", Q, true, false, false, true},
    {"save=proj", Q, true, false, true, true}, /* PEFT compares the ends of names here */
    {"r=4", Q, true, false, true, false},      /* llama's own targets */
    {"r=4", "model.layers.3.self_attn.k_proj", true, false, false, false},
};

static void modules_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(module_cases); i++) {
        const module_case *c = &module_cases[i];
        ms_arena *arena = ms_arena_create(0);
        ms_adapter adapter;
        ms_adapter_matcher *matcher = NULL;
        ms_error err = {0};
        assert_int_equal(ms_adapter_parse(arena, c->lora, &adapter, &err), MS_OK);
        assert_int_equal(ms_adapter_matcher_new(&adapter, "llama", &matcher, &err), MS_OK);
        if (ms_adapter_takes(matcher, c->name, c->is_linear, c->is_head) != c->takes)
            fail_msg("%s takes %s", c->lora, c->name);
        if (ms_adapter_saves(matcher, c->name) != c->saves)
            fail_msg("%s saves %s", c->lora, c->name);
        ms_adapter_matcher_free(matcher);
        ms_arena_free(arena);
    }
}

/* ---- files ---- */

typedef struct file_case {
    const char *text;
    const char *reads_as; /* the adapter in the words of --lora */
    const char *pointer;  /* or where it is refused */
} file_case;

static const file_case file_cases[] = {
    {"{\"peft_type\": \"LORA\"}", "r=8,fp32", NULL},
    {"{\"peft_type\": \"LORA\", \"r\": 64, \"target_modules\": [\"q_proj\", \"v_proj\"], "
     "\"bias\": \"lora_only\", \"use_dora\": true, \"lora_dropout\": 0.05, \"lora_alpha\": 128}",
     "r=64,targets=q_proj+v_proj,bias=lora_only,dora,dropout=0.05,fp32", NULL},
    {"{\"peft_type\": \"LORA\", \"target_modules\": \"all-linear\", \"modules_to_save\": null, "
     "\"layers_to_transform\": 3, \"rank_pattern\": {\"q_proj\": 4}, \"target_parameters\": []}",
     "r=8,targets=all-linear,1 layers,1 rank patterns,fp32", NULL},
    {"{\"peft_type\": \"IA3\", \"target_modules\": \".*k_proj\", \"r\": \"ignored\"}",
     "ia3,targets=/.*k_proj/,fp32", NULL},
    {"{\"r\": 8}", NULL, ""},
    {"[]", NULL, ""},
    {"{\"peft_type\": \"VERA\"}", NULL, "/peft_type"},
    {"{\"peft_type\": \"LORA\", \"r\": 0}", NULL, "/r"},
    {"{\"peft_type\": \"LORA\", \"r\": 1e3}", NULL, "/r"},
    {"{\"peft_type\": \"LORA\", \"bias\": \"some\"}", NULL, "/bias"},
    {"{\"peft_type\": \"LORA\", \"lora_dropout\": 2}", NULL, "/lora_dropout"},
    {"{\"peft_type\": \"LORA\", \"target_modules\": [1]}", NULL, "/target_modules/0"},
    {"{\"peft_type\": \"LORA\", \"target_modules\": [\"\"]}", NULL, "/target_modules/0"},
    {"{\"peft_type\": \"LORA\", \"rank_pattern\": {\"q\": 0}}", NULL, "/rank_pattern/q"},
    {"{\"peft_type\": \"LORA\", \"layers_to_transform\": [-1]}", NULL, "/layers_to_transform/0"},
    {"{\"peft_type\": \"LORA\", \"target_parameters\": [\"x\"]}", NULL, "/target_parameters"},
    {"{\"peft_type\": \"LORA\", \"ensure_weight_tying\": true}", NULL, "/ensure_weight_tying"},
};

static void files_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(file_cases); i++) {
        const file_case *c = &file_cases[i];
        ms_arena *arena = ms_arena_create(0);
        ms_json *document = NULL;
        ms_adapter adapter;
        ms_error err = {0};
        ms_json_source source = {"adapter_config.json", c->text, strlen(c->text)};
        assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
        ms_status status = ms_adapter_read(arena, ms_json_root(document), &adapter, &err);
        if (c->reads_as) {
            adapter.dtype = MS_DTYPE_F32;
            assert_int_equal(status, MS_OK);
            assert_string_equal(ms_adapter_text(arena, &adapter), c->reads_as);
        } else {
            assert_int_equal(status, MS_ERR_CONFIG);
            assert_string_equal(err.pointer, c->pointer);
        }
        ms_json_free(document);
        ms_arena_free(arena);
    }
}

static void texts_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          "r",        "r=0",       "r=x",      "targets=", "targets=a++b",
        "dropout=2", "dora=yes", "bias=some", "layers=a", "r=8,,",    "rank=8"};
    ms_arena *arena = ms_arena_create(0);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ms_adapter adapter;
        ms_error err = {0};
        if (ms_adapter_parse(arena, bad[i], &adapter, &err) != MS_ERR_USAGE)
            fail_msg("'%s' is read", bad[i]);
    }
    ms_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pattern_answers), cmocka_unit_test(patterns_refused),
        cmocka_unit_test(modules_taken),   cmocka_unit_test(files_read),
        cmocka_unit_test(texts_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
