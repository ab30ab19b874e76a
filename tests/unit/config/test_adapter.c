/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters: what `--lora` and adapter_config.json are read as, which modules they take, and the
 * patterns of Python that are followed.
 */
#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/adapter/adapter_text.h"
#include "base/text/pattern.h"
#include "input/config/model/model_read.h"
#include "model/evaluator/family.h"
#include "model/families.h"
#include "unit/support.h"

/* ---- patterns: the answers are those of Python's re.fullmatch ---- */

typedef struct pattern_case {
    const char *pattern, *subject;
    bool matches;
} pattern_case;

#define LAYER "model.layers.11.mlp.up_proj"
static const pattern_case pattern_cases[] = {
    {"q_proj", "q_proj", true},
    {"q_proj", "model.q_proj", false},
    {".*\\.q_proj", "model.layers.0.self_attn.q_proj", true},
    {".*\\.q_proj", "xq_proj", false},
    {".*layers\\.\\d+\\.mlp\\.(up|down)_proj", LAYER, true},
    {".*layers\\.\\d+\\.mlp\\.(up|down)_proj", "model.layers.x.mlp.up_proj", false},
    {"model\\.layers\\.(?:[0-9]|1[0-5])\\.(self_attn|mlp)\\.(q|k|v|o|gate|up|down)_proj", LAYER,
     true},
    {".*?(?:language|text).*?(?:self_attn|mlp).*?(?:q_proj|up_proj).*?", "text." LAYER, true},
    {".*?(?:language|text).*?(?:self_attn|mlp).*?(?:q_proj|up_proj).*?", LAYER, false},
    {"(?:a|b)c", "bc", true},
    {"[\\w]+\\.[^.]*", "a_1.b-c", true},
    {"[]a]+", "]a]", true},
    {"[^]a]+", "bc", true},
    {"[^]a]+", "b]", false},
    {"[a-c-]+", "b-", true},
    {"[[:a]+", ":[", true},
    {"[\\]\\-x]+", "]-x", true},
    {"[\\D]", "7", false},
    {"\\S\\W", "a.", true},
    {"a{2,3}", "aaaa", false},
    {"a{2,3}", "aa", true},
    {"a{2,}", "a", false},
    {"a{2,}", "aaaaa", true},
    {"a{,2}", "", true},
    {"a{,2}", "aaa", false},
    {"a{3}", "aaa", true},
    {"a{0}b", "b", true},
    {"a{0}b", "ab", false},
    {"a{,}b", "aab", true},
    {"a{x}{", "a{x}{", true},
    {"(a{2}b){2}", "aabaab", true},
    {"(ab?){2,3}?c", "abaac", true},
    {"(ab?){2,3}?c", "ac", false},
    {"a|ab", "ab", true},
    {"a||bc", "", true},
    {"a|b*|cd|(e|f)g", "fg", true},
    {"a|b*|cd|(e|f)g", "cd", true},
    {"a|b*|cd|(e|f)g", "ad", false},
    {"()", "", true},
    {"^a$", "a", true},
    {"a^b", "ab", false},
    {"(x*)*y", "xxy", true},
    {"((a|a?)+){20}", "aaaa", true},
    {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"(.*)*(.*)*(.*)*=", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"\\s*", " \t", true},
};

static void pattern_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pattern_cases); i++) {
        const pattern_case *c = &pattern_cases[i];
        ms_pattern *pattern = NULL;
        ms_error err = {0};
        uint64_t steps = 100000;
        assert_int_equal(ms_pattern_new(c->pattern, &pattern, &err), MS_OK);
        if (ms_pattern_matches(pattern, c->subject, 0, strlen(c->subject), &steps) != c->matches)
            fail_msg("%s on %s", c->pattern, c->subject);
        assert_true(steps > 0);
        ms_pattern_free(pattern);
    }
}

typedef struct refused_case {
    const char *pattern, *reason;
} refused_case;

#define UNREAD "is not supported; groups"
#define LONGER "repeats that make it longer"
static const refused_case refused_cases[] = {
    {"(?!x).*", UNREAD},
    {"(?P<n>a)", UNREAD},
    {"(?i)a", UNREAD},
    {"\\bq", UNREAD},
    {"(a)\\1", UNREAD},
    {"(a*)*\\1b", UNREAD},
    {"(", UNREAD},
    {"a)", UNREAD},
    {"[a", UNREAD},
    {"[z-a]", UNREAD},
    {"[\\w-z]", UNREAD},
    {"a++", UNREAD},
    {"a**", UNREAD},
    {"*a", UNREAD},
    {"a{3,2}", UNREAD},
    {"\\", UNREAD},
    {"a{1000}{1000}{1000}", UNREAD}, /* nor by Python */
    {"((a{1000}){1000}){1000}", LONGER},
    {"((((a{9}){9}){9}){9}){9}", LONGER},
    {"(((a?){99}){99}){99}", LONGER},
    {"a{4294967296}", LONGER},
    {"a{0,99999999999999999999}", LONGER},
    {"(ab|cd|ef){3000,}", LONGER},
};

static void patterns_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused_cases); i++) {
        const refused_case *c = &refused_cases[i];
        ms_pattern *pattern = NULL;
        ms_error err = {0};
        if (ms_pattern_new(c->pattern, &pattern, &err) != MS_ERR_CONFIG ||
            !strstr(err.text, c->reason))
            fail_msg("%s: %s", c->pattern, err.text);
        assert_null(pattern);
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    for (int depth = 64; depth <= 500; depth += 436) {
        char text[1001] = "";
        ms_pattern *pattern = NULL;
        ms_error err = {0};
        for (int i = 0; i < depth; i++) {
            text[i] = '(';
            text[depth + i] = ')';
        }
        assert_int_equal(ms_pattern_new(text, &pattern, &err), depth == 64 ? MS_OK : MS_ERR_CONFIG);
        ms_pattern_free(pattern);
    }
}

/* What a match costs is known and bounded: an answer is not waited for. */
static void steps_are_bounded(void **state)
{
    (void)state;
    char subject[256];
    ms_pattern *pattern = NULL;
    ms_error err = {0};
    uint64_t steps = MS_PATTERN_MOST_STEPS, few = 1000;
    memset(subject, 'a', sizeof subject);
    assert_int_equal(ms_pattern_new("(a?){999}b", &pattern, &err), MS_OK);
    assert_false(ms_pattern_matches(pattern, subject, 0, sizeof subject, &steps));
    uint64_t taken = MS_PATTERN_MOST_STEPS - steps;
    assert_true(taken > 100000 && taken < sizeof subject * UINT64_C(4000));
    assert_false(ms_pattern_matches(pattern, subject, 0, sizeof subject, &few));
    assert_int_equal(few, 0);
    ms_pattern_free(pattern);
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

static const ms_family *llama(ms_arena *arena)
{
    const ms_family *row = ms_family_named(ms_families(), "llama");
    const ms_family *family = ms_family_read_text(arena, row, NULL);
    assert_non_null(family);
    return family;
}

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
        assert_int_equal(ms_adapter_matcher_new(&adapter, llama(arena), &matcher, &err), MS_OK);
        if (ms_adapter_takes(matcher, c->name, c->is_linear, c->is_head) != c->takes)
            fail_msg("%s takes %s", c->lora, c->name);
        if (ms_adapter_saves(matcher, c->name) != c->saves)
            fail_msg("%s saves %s", c->lora, c->name);
        ms_adapter_matcher_free(matcher);
        ms_arena_free(arena);
    }
}

/* ---- ranks: PEFT's re.match("(.*\\.)?(key)$"), the first of the file that matches ---- */

typedef struct rank_case {
    const char *patterns, *name;
    uint64_t rank;
} rank_case;

static const rank_case rank_cases[] = {
    {"{\"q_proj\": 4}", Q, 4},
    {"{\"proj\": 4}", Q, 8},
    {"{\"self_attn.q_proj\": 4}", Q, 4},
    {"{\"3.self_attn.q_proj\": 4}", Q, 4},
    {"{\"" Q "\": 4}", Q, 4},
    {"{\"self.attn.q.proj\": 4}", Q, 4}, /* a dot is any character */
    {"{\"q.proj\": 4, \"q_proj\": 5}", Q, 4},
    {"{\"q_proj\": 5, \"q.proj\": 4}", Q, 5},
    {"{\"k_proj\": 2, \"layers.[0-3].*_proj\": 3, \"q_proj\": 5}", Q, 3},
    {"{\"k_proj\": 2, \"q_proj\": 5, \"layers.[0-3].*_proj\": 3}", Q, 5},
    {"{\"^model.layers.3.*\": 3}", Q, 3},
    {"{\"^layers.3.*\": 3}", Q, 8}, /* the beginning is the name's */
    {"{\"layers.3.*\": 3}", Q, 3},
    {"{\"(q|k)_proj\": 6}", Q, 6},
};

static void ranks_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rank_cases); i++) {
        const rank_case *c = &rank_cases[i];
        char text[256];
        snprintf(text, sizeof text, "{\"peft_type\": \"LORA\", \"rank_pattern\": %s}", c->patterns);
        const ms_json_source source = {.name = "a.json", .text = text, .length = strlen(text)};
        ms_arena *arena = ms_arena_create(0);
        ms_json *document = NULL;
        ms_adapter adapter;
        ms_adapter_matcher *matcher = NULL;
        ms_error err = {0};
        assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
        assert_int_equal(ms_adapter_read(arena, ms_json_root(document), &adapter, &err), MS_OK);
        assert_int_equal(ms_adapter_matcher_new(&adapter, llama(arena), &matcher, &err), MS_OK);
        if (ms_adapter_rank_of(matcher, c->name) != c->rank)
            fail_msg("%s of %s", c->patterns, c->name);
        assert_false(ms_adapter_gave_up(matcher));
        ms_adapter_matcher_free(matcher);
        ms_json_free(document);
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
        cmocka_unit_test(pattern_answers),    cmocka_unit_test(patterns_refused),
        cmocka_unit_test(nesting_is_bounded), cmocka_unit_test(steps_are_bounded),
        cmocka_unit_test(ranks_found),        cmocka_unit_test(modules_taken),
        cmocka_unit_test(files_read),         cmocka_unit_test(texts_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
