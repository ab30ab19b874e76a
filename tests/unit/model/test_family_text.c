/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The language of families: texts that are read, and what is said of those that are not, with its
 * place.
 */
#include <string.h>

#include "base/json/value.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_read.h"
#include "input/config/model/family_facts.h"
#include "model/evaluator/family.h"
#include "model/families.h"
#include "unit/support.h"

#define HEAD                                                                                       \
    "from decoder import *\n"                                                                      \
    "model_type = \"t\"\n"                                                                         \
    "architectures = {\"T\": \"causal_lm\"}\n"

/* Line and column of the failure, and a part of its sentence; 0: the text is read. */
typedef struct text_case {
    const char *text;
    uint32_t line, column;
    const char *says;
} text_case;

static const text_case cases[] = {
    {HEAD, 0, 0, ""},
    {"# words\n\n" HEAD "\n\n", 0, 0, ""},
    {"\"what it is\"\n" HEAD, 0, 0, ""},
    {HEAD "class config(config):\n    a = count(1_000, \"A\", \"b\", least=0, most=2000)\n"
          "    assert a < 3 and not a == 2 or hidden_size % 2 == 1, \"odd\"\n"
          "    def slides(layer):\n        return layer % 2 == 0 if a > 1 else layer >= 3\n",
     0, 0, ""},
    {HEAD "class Mlp(Mlp):\n    def forward(self, hidden):\n"
          "        if mlp_bias:\n            x = self.gate_proj(hidden)\n"
          "        elif attention_bias:\n            x = self.up_proj(hidden) * 2\n"
          "        else:\n            x = 1 + self.up_proj(hidden) / 3\n"
          "        return self.down_proj(x)\n",
     0, 0, ""},
    {HEAD "class Model(Model):\n    extra = parameter(hidden_size) if head_is_tied else None\n", 0,
     0, ""},
    {HEAD "class config(config):\n    head_dim = count(required=True)\n"
          "    hidden_act = activation(\"silu\", \"hidden_activation\")\n"
          "    ignored(\"hidden_act\")\n"
          "    sliding_window_pattern = count(4, null=0, least=0, text=True)\n"
          "class Mlp(Mlp):\n    gate_proj = linear(hidden_size, intermediate_size)\n"
          "    def forward(self, hidden):\n"
          "        return self.down_proj(activation(self.gate_proj(hidden)))\n",
     0, 0, ""},
    {"logits_factor = \"multiplied\"\n" HEAD
     "class Layer(Layer):\n    input_layernorm = layer_norm_fp32(hidden_size)\n",
     0, 0, ""},
    {HEAD
     "class Attention(Attention):\n    def forward(self, x, mask, sin, cos):\n"
     "        query = scale_by_positions(split_heads(self.q_proj(x), 4), positions())\n"
     "        key, value = split(transpose(view_heads(x, 4, 2 * head_dim), 1, 2), head_dim)\n"
     "        out, weights = attention(query, key, value, mask)\n"
     "        return self.o_proj(merge_heads(out)), weights\n"
     "class Model(Model):\n    rotary_emb = rotary_by_kind()\n    other = rotary_by_kind_fp32()\n",
     0, 0, ""},
    {HEAD "from mixture import *\nrouter_loss = \"balanced\"\nclass config(config):\n"
          "    num_experts = count(8)\n    num_experts_per_tok = count(2)\n"
          "    moe_intermediate_size = count(64)\n    norm_topk_prob = flag(True)\n"
          "    mlp_only_layers = dense_layers()\n"
          "    def is_sparse(layer):\n        return layer % 2 == 0\n",
     0, 0, ""},
    {"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n" HEAD
     "class Extra(nn.Module):\n    a = linear(4, 4)\n"
     "class Model(Model):\n    extra = Extra()\n",
     0, 0, ""},
    {HEAD "class config(config):\n    a, b = sides(3, \"A\")\n    c = integer(-2)\n"
          "class vision_config:\n    model_type = \"v\"\n    hidden_size = count(8)\n"
          "    num_hidden_layers = count(2)\n"
          "class Seen(tower_layer):\n    p = linear(vision_config.hidden_size, a + b)\n"
          "    def forward(self, x):\n        return self.p(x)\n"
          "class Tower(tower):\n"
          "    layers = [Seen() for i in range(vision_config.num_hidden_layers)]\n"
          "class Model(Model):\n    tower = Tower()\n",
     0, 0, ""},
    {HEAD "class Base(Mlp):\n    extra = None\nclass Mlp(Base):\n    extra = linear(4, 4)\n", 0, 0,
     ""},
    /* what nothing uses */
    {HEAD "class Mpl(Mlp):\n    extra = linear(4, 4)\n", 4, 1, "did you mean 'Mlp'?"},
    {HEAD "class Mlp(Mlp):\n    def foward(self, x):\n        return x\n", 5, 5,
     "nothing calls the function 'foward'; did you mean 'forward'?"},
    {HEAD "class peft:\n    lora = [\"attn.q_prj\"]\n", 5, 13,
     "no class has a field 'q_prj'; did you mean 'q_proj'?"},
    {HEAD "class peft:\n    lora = [\"self_attn.q_proj\"]\n    usual_lora = \"x\"\n", 0, 0, ""},
    {HEAD "def twice(x):\n    return x + x\n", 4, 1, "nothing calls the function 'twice'"},
    /* words */
    {"a = \"x\n", 1, 5, "not closed"},
    {"a = \"x\\n\"\n", 1, 5, "backslash"},
    {"a = $\n", 1, 5, "no meaning"},
    {"a = 1.2.3\n", 1, 5, "number is not supported"},
    {"\ta = 1\n", 1, 1, "a tab"},
    {"  a = 1\n", 1, 3, "must not be indented"},
    {"class A:\n    pass\n  b = 1\n", 3, 3, "matches no line above"},
    /* statements */
    {"class A\n    pass\n", 1, 8, "':' is missing"},
    {"class A:\nb = 1\n", 2, 1, "indented block"},
    {"class A: pass\n", 1, 10, "on the next line"},
    {"while True:\n    pass\n", 1, 1, "'while' is not part"},
    {"a = 1 2\n", 1, 7, "must end here"},
    {"a, 2 = b\n", 1, 4, "only names"},
    {"from decoder import x\n", 1, 21, "'*' is missing"},
    {"from nosuch import *\n", 1, 6, "no family of this name"},
    {"return 1\n", 1, 1, "imports, classes, functions and NAME"},
    {"a = linear(1,\n  2\n", 3, 1, ""},
    {"a = 1 if 2\n", 1, 11, "'else' is missing"},
    {"class A(nosuch):\n    pass\n", 1, 9, "no class above"},
    {"class A:\n    a.b = 1\n", 2, 7, "only names"},
    {"class A:\n    def f(x):\n        return x\n", 2, 5, "must be self"},
    {"class A:\n    def forward(self, x):\n        y = x\n", 2, 5, "return statement is missing"},
    {"class A:\n    def f(self, x=y):\n        return x\n", 2, 19, "is None, a number or a text"},
    {"x = a[1:2:3:4]\n", 1, 12, "']' is missing"},
    {"class A:\n    def f(self, x):\n        x.a += 1\n", 3, 11, "only names"},
    {"\"\"\"a\nb", 1, 1, "not closed"},
    {"a = x not y\n", 1, 11, "'in' is missing"},
    /* what a family has */
    {"model_type = \"t\"\n", 1, 1, "architectures = {...} is missing"},
    {"architectures = {\"T\": \"causal_lm\"}\n", 1, 1, "model_type"},
    {"architectures = {\"T\": \"other\"}\n", 1, 23, "the head of a class"},
    {"model_type = 1\n", 1, 14, "the model type is a text"},
    {"model_type = \"t\"\narchitectures = {\"T\": \"causal_lm\"}\n", 1, 1,
     "the key vocab_size is missing"},
    /* keys */
    {HEAD "class config(config):\n    a = cuont(1)\n", 5, 9, "did you mean 'count'"},
    {HEAD "class config(config):\n    a = count()\n", 5, 9, "that an absent key has"},
    {HEAD "class config(config):\n    hidden_size = flag(True)\n", 5, 5, "another kind"},
    {HEAD "class config(config):\n    a = count(1, required=1)\n", 5, 27, "required=True"},
    {HEAD "class config(config):\n    a = count(1, text=2)\n", 5, 23, "text=True"},
    {HEAD "router_loss = \"added\"\n", 4, 15, "\"balanced\""},
    {HEAD "logits_factor = \"added\"\n", 4, 17, "\"multiplied\" or \"divided\""},
    {HEAD "class config(config):\n    a = layer_pattern(0)\n", 5, 23, "a number of layers"},
    {HEAD "logits_type = \"bf16\"\n", 4, 15, "\"fp32\" for logits_type"},
    {HEAD "class config(config):\n    a = derived(3, 4)\n", 5, 9, "NAME = derived(EXPRESSION"},
    {HEAD "class config(config):\n    a = derived(nosuch)\n", 5, 17, "not known"},
    {HEAD "class config(config):\n    a = count(1, mixer=\"b\")\n", 5, 24, "layer_types() takes"},
    {HEAD "class config(config):\n    a = count(nosuch)\n", 5, 15, "expected "},
    {HEAD "class config(config):\n    a = flag(1)\n", 5, 14, "True or False"},
    {HEAD "class config(config):\n    a = fraction(2)\n", 5, 18, "from 0 to 1"},
    {HEAD "class config(config):\n    a = sides(3)\n", 5, 5, "expected two names"},
    {HEAD "class config(config):\n    a, b = count(3)\n", 5, 8, "one name"},
    {HEAD "class config(config):\n    a, b = sides(True)\n", 5, 18, "a number of pixels"},
    {HEAD "class config(config):\n    a = integer(True)\n", 5, 17, "a whole number"},
    {HEAD "class a_config:\n    a = count(1)\nclass b_config:\n    a = count(1)\n"
          "class c_config:\n    a = count(1)\n",
     8, 1, "too many objects"},
    {HEAD "class vision_config:\n    a = count(1)\nclass Mlp(Mlp):\n"
          "    b = linear(vision_config.b, 1)\n",
     7, 30, "have members here"},
    {HEAD "class Extra:\n    a = [3]\n", 5, 10, "a field is a call"},
    {HEAD "class Extra(tower_layer):\n    def forward(self, x):\n        return x\n"
          "class Other:\n    a = [Extra() for i in range(no_such)]\n",
     8, 33, "not known"},
    {HEAD "class config(config):\n    a = activation(\"nosuch\")\n", 5, 20, "not known"},
    {HEAD "class config(config):\n    a = count(1, other=2)\n", 5, 24, "null=, least="},
    {HEAD "class config:\n    a = count(1)\n", 1, 1, "the key vocab_size is missing"},
    {HEAD "class config(config):\n    def nosuch(layer):\n        return 1\n", 5, 5,
     "the rules slides(layer)"},
    {HEAD "class config(config):\n    assert nosuch\n", 5, 12, "not known"},
    {HEAD "class config(config):\n    def derive(layer):\n        pass\n", 5, 5, "no parameters"},
    {HEAD "class config(config):\n    def derive():\n        nosuch = 1\n", 6, 9,
     "keys of the text, or members"},
    {HEAD "class config(config):\n    def derive():\n        return 1\n", 6, 9, "if and assert"},
    {HEAD "class config(config):\n    assert head_dim, f\"{nosuch}\"\n", 5, 23, "not known"},
    {HEAD "class config(config):\n    assert head_dim, 3\n", 5, 22, "is a text"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        y = f\"{x}\"\n        return x\n", 6,
     14, "the message of a check"},
    /* facts */
    {HEAD
     "class facts:\n    takes_cache = True\n    blocks = [\"joined\"]\n"
     "class peft:\n    lora = [\"q_proj\", \"v_proj\"]\n    refused = [[\"a\", \"b\", \"c\"]]\n"
     "class liger:\n    kernels = [\"rope\"]\n    logits_share = 8\n"
     "class vllm:\n    pass\n",
     0, 0, ""},
    {HEAD "class facts:\n    takes_cach = True\n", 5, 5, "did you mean 'takes_cache'"},
    {HEAD "class facts:\n    takes_cache = 1\n", 5, 19, "True or False"},
    {HEAD "class facts:\n    blocks = [\"joint\"]\n", 5, 15, "did you mean 'joined'"},
    {HEAD "class facts:\n    blocks = \"joined\"\n", 5, 14, "a list"},
    {HEAD "class facts:\n    llama_cpp = 3\n", 5, 17, "a name in quotes"},
    {HEAD "class facts(facts):\n    pass\n", 4, 13, "no base"},
    {HEAD "class facts:\n    def f(self, x):\n        return x\n", 5, 5, "NAME = VALUE"},
    {HEAD "class peft:\n    lora = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n", 5, 12, "up to 4"},
    {HEAD "class peft:\n    refused = [[\"a\"]]\n", 5, 16, "why it is not adapted"},
    {HEAD "class liger:\n    logits_share = 65\n", 5, 20, "a whole number up to 64"},
    {HEAD "class vllm:\n    tie = \"dropped\"\n", 5, 11, "did you mean 'drops'"},
    /* names */
    {HEAD "class Mlp(Mlp):\n    a = linear(hiden_size, 1)\n", 5, 16, "did you mean 'hidden_size'"},
    {HEAD "class Mlp(Mlp):\n    a = liner(1, 1)\n", 5, 9, "did you mean 'linear'"},
    {HEAD "class Mlp(Mlp):\n    a = linear(1)\n", 5, 9, "lacks an argument"},
    {HEAD "class Mlp(Mlp):\n    a = linear(1, 1, x=1)\n", 5, 24, "no such argument"},
    {HEAD "class Mlp(Mlp):\n    a = 1\n", 5, 9, "a field is a call"},
    {HEAD "class Mlp(Mlp):\n    a = [Mlp() for i in range(3)]\n", 5, 25, "a list of layers"},
    {HEAD "class Mlp:\n    a = Mlp()\n", 5, 9, "itself as a part"},
    {HEAD "class A:\n    a = linear(1, 1)\n    a = linear(1, 2)\n", 6, 5, "twice in the class"},
    {HEAD "class A:\n    def __init__(self):\n        pass\n", 5, 5, "no __init__"},
    {HEAD "lm_head = head(model.embed_token)\n", 4, 22, "did you mean 'embed_tokens'"},
    {"import os\n", 1, 8, "from NAME import *"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return self.down_prj(x)\n", 6, 21,
     "did you mean 'down_proj'"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return y\n", 6, 16, "not known"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        a, b = self.up_proj(x)\n"
          "        return a\n",
     6, 21, "1 result, but 2 are assigned"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return self.up_proj(x, x)\n", 6, 21,
     "takes 1 tensor"},
    {HEAD "class Layer(Layer):\n    def forward(self, x):\n        y, w = self.self_attn(x)\n"
          "        return x\n",
     6, 21, "'attention_mask' is missing"},
    {HEAD "lm_head = head(model.norm)\n", 4, 22, "name its embedding"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return self.act(x)\n", 6, 21,
     "Mlp has no member 'act'"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return x.veiw(1)\n", 6, 18,
     "did you mean 'view'"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return f(*x)\n"
          "def f(x):\n    return x\n",
     6, 18, "one by one"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        return f(x, y=1)\n"
          "def f(x):\n    return x\n",
     6, 23, "'f' has no such parameter"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        with torch.device(1):\n"
          "            return x\n",
     6, 20, "with torch.no_grad()"},
    {HEAD "class Mlp(Mlp):\n    def forward(self, x):\n        a, b, c = x, x\n"
          "        return x\n",
     6, 19, "2 values for 3 names"},
};

static const ms_family *family_of(ms_arena *arena, const char *text, ms_error *err)
{
    ms_family_file *file = ms_arena_array(arena, ms_family_file, 1);
    assert_non_null(file);
    *file =
        (ms_family_file){.name = "t.family", .text = text, .bytes = strlen(text), .is_users = true};
    return ms_family_of_text(arena, file, NULL, ms_families(), err);
}

static void test_texts(void **state)
{
    uint32_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const text_case *c = &cases[i];
        ms_arena *arena = ms_arena_create(0);
        ms_error err = {0};
        const ms_family *family = family_of(arena, c->text, &err);
        const bool is_good = !c->line;
        if (is_good != (family != NULL) || !strstr(err.text, c->says) ||
            (c->line && (err.line != c->line || err.column != c->column ||
                         strcmp(err.file, "t.family") != 0))) {
            print_error("%u:%u: %s, not %u:%u: %s\n%s\n", err.line, err.column, err.text, c->line,
                        c->column, c->says, c->text);
            wrong++;
        }
        ms_arena_free(arena);
    }
    assert_int_equal(wrong, 0);
}

/* Texts that would take all memory or time end in a message. */
static void check_deep(const char *start, const char *part, size_t count, const char *says)
{
    ms_arena *arena = ms_arena_create(0);
    ms_error err = {0};
    char *text = ms_arena_alloc(arena, strlen(start) + strlen(part) * count + 2, 1);
    assert_non_null(text);
    strcpy(text, start);
    char *end = text + strlen(text);
    for (size_t i = 0; i < count; i++, end += strlen(part))
        strcpy(end, part);
    strcpy(end, "\n");
    assert_null(family_of(arena, text, &err));
    if (!strstr(err.text, says))
        fail_msg("%s: %s", part, err.text);
    ms_arena_free(arena);
}

static void test_limits(void **state)
{
    (void)state;
    check_deep("a = ", "(", 5000, "nested too deeply");
    check_deep("a = 1", " + 1", 5000, "nested too deeply");
    check_deep("a = ", "-", 5000, "nested too deeply");
    check_deep("a = ", "not ", 5000, "nested too deeply");
    check_deep("a = b", ".c", 5000, "nested too deeply");
    check_deep("a = b", "()", 5000, "nested too deeply");
    check_deep("a = [", "1, ", 70000, "too long");
    check_deep("", "#23456789\n", 110000, "larger than");
}

/* All texts that are built in are read, and their rows are those of their model types. */
static void test_built_in(void **state)
{
    (void)state;
    const ms_family_list *list = ms_families();
    uint32_t texts = 0;
    for (size_t i = 0; i < list->count; i++) {
        ms_arena *arena = ms_arena_create(0);
        ms_error err = {0};
        const ms_family *family = list->read(arena, list->items[i], &err);
        if (!family)
            fail_msg("%s: %s", list->items[i]->model_type, err.text);
        assert_string_equal(family->model_type, list->items[i]->model_type);
        for (int k = 0; k < MS_FAMILY_CLASSES && list->items[i]->classes[k].name; k++) {
            assert_string_equal(family->classes[k].name, list->items[i]->classes[k].name);
            assert_int_equal(family->classes[k].head, list->items[i]->classes[k].head);
        }
        assert_true(family->key_count > 0);
        texts += family->text != NULL;
        ms_arena_free(arena);
    }
    assert_true(texts >= 5);
}

/* Text and type of each layer's rule. */
static void test_rules(void **state)
{
    (void)state;
    ms_arena *arena = ms_arena_create(0);
    ms_error err = {0};
    const ms_family *family = family_of(arena,
                                        HEAD "class config(config):\n"
                                             "    def slides(layer):\n"
                                             "        return (layer + 1) % 3 != 0\n"
                                             "    def is_sparse(layer):\n"
                                             "        return layer >= 2\n",
                                        &err);
    assert_non_null(family);
    const ms_model_config config = {.family = family, .num_layers = 4};
    static const uint8_t wanted[] = {MS_LAYER_SLIDES, MS_LAYER_SLIDES, MS_LAYER_SPARSE,
                                     MS_LAYER_SLIDES | MS_LAYER_SPARSE};
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(family->layer_kind(&config, i), wanted[i]);
    family = family_of(arena,
                       HEAD "class config(config):\n"
                            "    def attends(layer):\n"
                            "        return layer == 1\n",
                       &err);
    assert_non_null(family);
    const ms_model_config other = {.family = family, .num_layers = 2};
    assert_int_equal(family->layer_kind(&other, 0), MS_LAYER_TOKEN_MIXER);
    assert_int_equal(family->layer_kind(&other, 1), 0);
    ms_arena_free(arena);
}

/* The status of a config with `more` keys, of a family with those keys of a text. */
static ms_status read_config(ms_arena *arena, const char *keys, const char *more,
                             ms_model_config *model, ms_error *err)
{
    const char *config = ms_arena_printf(
        arena, "{\"model_type\": \"t\", \"hidden_size\": 64, \"num_attention_heads\": 4%s}", more);
    const char *text = ms_arena_printf(arena, HEAD "class config(config):\n%s", keys);
    const ms_family *family = family_of(arena, text, err);
    const ms_family_list list = {.items = &family, .count = 1};
    ms_json *document = NULL;
    assert_non_null(family);
    const ms_json_source source = {"config.json", config, strlen(config)};
    assert_int_equal(ms_json_parse(&source, &document, err), MS_OK);
    const ms_status status =
        ms_model_config_read(arena, ms_json_root(document), &list, model, NULL, err);
    ms_json_free(document);
    return status;
}

/* What derive() sets, and where failures of checks point to. */
static void test_derive(void **state)
{
    static const char keys[] =
        "    scale = count(0, null=None, least=0)\n    wide = flag(False)\n"
        "    max_position_embeddings = count(64, \"places\")\n"
        "    def derive():\n        if scale is None:\n            scale = 2\n"
        "        else:\n            wide = scale > 4\n"
        "        assert scale < 9, f\"{scale} is more than {num_attention_heads}\"\n"
        "        sliding_window = scale * head_dim if wide else 7\n"
        "    assert max_position_embeddings > 8, \"too few\"\n";
    static const struct {
        const char *more, *says, *pointer;
        uint64_t window;
    } derivations[] = {
        {"", "", "", 7},
        {", \"scale\": null", "", "", 7},
        {", \"scale\": 5", "", "", 80},
        {", \"scale\": 12", "12 is more than 4", "/scale", 0},
        {", \"places\": 4", "too few", "/places", 0},
    };
    ms_arena *arena = ms_arena_create(0);
    (void)state;
    for (size_t i = 0; i < sizeof derivations / sizeof *derivations; i++) {
        ms_model_config model;
        ms_error err = {0};
        const ms_status status = read_config(arena, keys, derivations[i].more, &model, &err);
        assert_int_equal(status, derivations[i].says[0] ? MS_ERR_CONFIG : MS_OK);
        if (!strstr(err.text, derivations[i].says))
            fail_msg("%s: %s", derivations[i].more, err.text);
        assert_string_equal(err.pointer, derivations[i].pointer);
        if (status == MS_OK)
            assert_int_equal(model.sliding_window, derivations[i].window);
    }
    ms_arena_free(arena);
}

/* A text's facts are its own; of what it imports those of the modules that it keeps. */
static void test_facts(void **state)
{
    ms_arena *arena = ms_arena_create(0);
    ms_error err = {0};
    (void)state;
    const ms_family *family = family_of(arena,
                                        "from llama import *\nmodel_type = \"t\"\n"
                                        "architectures = {\"T\": \"causal_lm\"}\n"
                                        "class facts:\n    has_conv1d = True\n"
                                        "class peft:\n    lora = [\"o_proj\"]\n",
                                        &err);
    assert_non_null(family);
    assert_true(family->takes_cache);
    assert_int_equal(family->facts->blocks, MS_BLOCKS_OF_LLAMA);
    assert_true(family->facts->has_conv1d);
    assert_string_equal(family->facts->peft.lora[0], "o_proj");
    assert_null(family->facts->peft.lora[1]);
    assert_null(family->facts->llama_cpp);
    assert_int_equal(family->facts->liger.kernels, 0);
    ms_arena_free(arena);
}

static void test_keys(void **state)
{
    static const char required[] = "    head_dim = count(required=True)\n";
    static const char spelled[] = "    head_dim = count(\"d\", \"dim\", required=True)\n";
    static const char other[] = "    hidden_act = activation(\"silu\", \"hidden_activation\")\n"
                                "    ignored(\"hidden_act\")\n";
    static const char pattern[] =
        "    sliding_window_pattern = count(4, null=0, least=0, text=True)\n";
    static const char derived[] = "    step = count(8)\n"
                                  "    feed_forward_size = derived(1.2 * intermediate_size // 1 // "
                                  "step * step, symbol=\"F\")\n";
    static const char negative[] = "    feed_forward_size = derived(0 - hidden_size)\n";
    static const char mixers[] = "    layer_types = layer_types(\"kinds\", mixer=\"scan\")\n"
                                 "    full = attention_layers()\n";
    static const char letters[] = "    num_hidden_layers = layer_pattern(4, \"kinds\")\n"
                                  "    letters = layer_pattern(4)\n";
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_error err = {0}, wrong = {0}, none = {0};
    (void)state;
    assert_int_equal(read_config(arena, required, "", &model, &err), MS_ERR_CONFIG);
    assert_non_null(strstr(err.text, "head_dim must be given"));
    assert_int_equal(read_config(arena, required, ", \"head_dim\": 24", &model, &none), MS_OK);
    assert_int_equal(model.head_dim, 24);
    assert_int_equal(read_config(arena, spelled, ", \"dim\": 40", &model, &none), MS_OK);
    assert_int_equal(model.head_dim, 40);
    assert_int_equal(read_config(arena, other, ", \"hidden_act\": \"relu\"", &model, &none), MS_OK);
    assert_int_equal(model.activation, MS_ACTIVATION_SILU);
    assert_int_equal(read_config(arena, other, ", \"hidden_activation\": \"relu\"", &model, &none),
                     MS_OK);
    assert_int_equal(model.activation, MS_ACTIVATION_RELU);
    assert_int_equal(read_config(arena, pattern, "", &model, &none), MS_OK);
    assert_int_equal(model.sliding_pattern, 4);
    assert_int_equal(
        read_config(arena, pattern, ", \"sliding_window_pattern\": \"LLLG\"", &model, &none),
        MS_OK);
    assert_int_equal(model.sliding_pattern, 0);
    assert_int_equal(read_config(arena, letters, ", \"letters\": \"M*E\"", &model, &none), MS_OK);
    assert_int_equal(model.num_layers, 3);
    assert_int_equal(model.layer_kinds[0], MS_LAYER_TOKEN_MIXER);
    assert_int_equal(model.layer_kinds[2], MS_LAYER_MLP_ALONE | MS_LAYER_SPARSE);
    assert_int_equal(read_config(arena, derived, ", \"intermediate_size\": 100", &model, &none),
                     MS_OK);
    assert_int_equal(model.mlp_width, 120);
    assert_int_equal(read_config(arena, negative, "", &model, &wrong), MS_ERR_CONFIG);
    assert_non_null(strstr(wrong.text, "this is not a size"));
    assert_int_equal(read_config(arena, mixers, ", \"full\": [0]", &model, &none), MS_OK);
    assert_int_equal(model.layer_kinds[0], 0);
    assert_int_equal(model.layer_kinds[1], MS_LAYER_TOKEN_MIXER);
    assert_int_equal(read_config(arena, mixers,
                                 ", \"num_hidden_layers\": 2, \"kinds\": [\"scan\", \"attention\"]",
                                 &model, &none),
                     MS_OK);
    assert_int_equal(model.layer_kinds[0], MS_LAYER_TOKEN_MIXER);
    ms_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_built_in), cmocka_unit_test(test_rules),
        cmocka_unit_test(test_derive),   cmocka_unit_test(test_facts),
        cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
