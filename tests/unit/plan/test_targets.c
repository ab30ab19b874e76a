/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainers: how many plans each can express for four layers, what is typed for them,
 * and what must never be among them.
 *
 *     test_targets LAYERS TREATMENTS    prints PyTorch's code, for
 * tests/oracle/test_pytorch_code.py
 */
#include "input/config/treatment/treatment.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/trainers/target.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "model/load.h"
#include "decide/plan/trainers/targets.h"
#include "unit/support.h"

enum { LAYERS = 4 };

typedef struct listing {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_step_task task;
    ms_cost_model costs;
    ms_target_plans plans;
    ms_status status;
    ms_error err;
} listing;

/* A run of a preset cut to so many layers. */
static void load(listing *l, const char *preset, uint32_t layers, uint32_t techniques)
{
    const ms_run_setting settings[] = {{"config", preset}, {"batch", "1"}, {"seq", "16"}};
    ms_notes notes = {0};
    *l = (listing){.arena = ms_arena_create(0)};
    assert_int_equal(
        ms_run_load(l->arena, settings, COUNT_OF(settings), &l->model, &l->run, &notes, &l->err),
        MS_OK);
    assert_true(layers <= l->model.num_layers);
    l->model.num_layers = layers;
    l->task = (ms_step_task){
        .model = &l->model, .run = &l->run, .techniques = techniques, .target = "free"};
}

static void measure(listing *l)
{
    assert_int_equal(
        ms_cost_model_measure(l->arena, &l->model, &l->run, l->task.techniques, &l->costs, &l->err),
        MS_OK);
}

static void fill(listing *l, uint32_t layers, uint32_t techniques)
{
    load(l, "smollm2-135m", layers, techniques);
    measure(l);
}

static void list(listing *l, const char *target)
{
    l->status = ms_target_find(target)->list(l->arena, &l->task, &l->costs, &l->plans, &l->err);
}

static void drop(listing *l)
{
    ms_vec_free(&l->plans);
    ms_arena_free(l->arena);
}

/* "0-1=checkpoint", or "" */
static const char *treat_text(listing *l, const ms_target_plan *shape)
{
    ms_treatment layers[64];
    const ms_treatments treatments = {.layers = layers};
    assert_true(l->costs.layer_count <= 64);
    assert_int_equal(shape->assignment.loss, 0);
    for (uint32_t i = 0; i < l->costs.layer_count; i++) {
        assert_true(shape->assignment.options[i] < l->costs.option_count);
        layers[i] = l->costs.options[shape->assignment.options[i]].treatment;
    }
    const char *text = ms_treatments_text(&treatments, l->costs.layer_count, l->arena);
    assert_non_null(text);
    return text;
}

/* ---- how many ---- */

typedef struct count_case {
    const char *label, *target;
    uint32_t layers, techniques, count;
    bool is_reentrant;
} count_case;

static const count_case count_cases[] = {
    {"hf", "hf", LAYERS, MS_MAY_ALL, 9, false}, /* none, all, every 2nd, 3rd, 4th; the same */
    {"hf, no offload", "hf", LAYERS, MS_MAY_CHECKPOINT, 5, false},
    {"hf, reentrant", "hf", LAYERS, MS_MAY_ALL, 5, true},
    {"hf, one layer", "hf", 1, MS_MAY_ALL, 3, false},
    {"hf, nothing allowed", "hf", LAYERS, 0, 1, false},
    {"hf, offload alone", "hf", LAYERS, MS_MAY_OFFLOAD, 1, false},
    {"torchtitan", "torchtitan", LAYERS, MS_MAY_ALL, 3, false},
    {"torchtitan, reentrant", "torchtitan", LAYERS, MS_MAY_ALL, 2, true},
    {"torchtitan, no selective", "torchtitan", LAYERS, MS_MAY_CHECKPOINT, 2, false},
    {"torchtitan, selective alone", "torchtitan", LAYERS, MS_MAY_SELECT, 2, false},
    {"torchtune", "torchtune", LAYERS, MS_MAY_ALL, 5, false},
    {"deepspeed", "deepspeed", LAYERS, MS_MAY_ALL, 9, false} /* 3, and 4 or 16 pieces */,
    {"deepspeed, reentrant", "deepspeed", LAYERS, MS_MAY_ALL, 6, true},
    {"deepspeed, no tiles", "deepspeed", LAYERS, MS_MAY_CHECKPOINT, 2, false},
    {"deepspeed, tiles alone", "deepspeed", LAYERS, MS_MAY_TILE, 3, false},
    {"axolotl", "axolotl", LAYERS, MS_MAY_ALL, 8, false},
    {"axolotl, reentrant", "axolotl", LAYERS, MS_MAY_ALL, 6, true},
    {"axolotl, no tiles", "axolotl", LAYERS, MS_MAY_CHECKPOINT | MS_MAY_SELECT, 4, false},
    {"axolotl, tiles alone", "axolotl", LAYERS, MS_MAY_TILE, 3, false},
};

static uint32_t techniques_of(const ms_treatment *t)
{
    uint32_t used = (t->kind == MS_TREAT_CHECKPOINT  ? (uint32_t)MS_MAY_CHECKPOINT
                     : t->kind == MS_TREAT_SELECTIVE ? (uint32_t)MS_MAY_SELECT
                                                     : 0);
    used |= t->parts[MS_PART_CHECKPOINT_MLP] ? (uint32_t)MS_MAY_CHECKPOINT : 0;
    return used |
           (t->parts[MS_PART_TILE] + t->parts[MS_PART_TILE_ATTENTION] > 0 ? (uint32_t)MS_MAY_TILE
                                                                          : 0) |
           (ms_treatment_sends(t) ? (uint32_t)MS_MAY_OFFLOAD : 0);
}

/* Each plan uses what is allowed and what its row says, and no two are the same. */
static void counts_plans(void **state)
{
    const count_case *c = *state;
    const ms_target *target = ms_target_find(c->target);
    listing l;
    load(&l, "smollm2-135m", c->layers, c->techniques);
    l.run.checkpoint_kind = c->is_reentrant ? MS_CHECKPOINT_REENTRANT : MS_CHECKPOINT_NON_REENTRANT;
    measure(&l);
    list(&l, c->target);
    assert_int_equal(l.status, MS_OK);
    assert_int_equal(l.plans.count, c->count);
    assert_string_equal(treat_text(&l, &l.plans.items[0]), "");
    for (uint32_t i = 0; i < l.plans.count; i++) {
        const ms_target_plan *shape = &l.plans.items[i];
        assert_true(strlen(shape->text) > 0);
        for (uint32_t j = 0; j < i; j++) {
            assert_string_not_equal(shape->text, l.plans.items[j].text);
            assert_string_not_equal(treat_text(&l, shape), treat_text(&l, &l.plans.items[j]));
        }
        for (uint32_t layer = 0; layer < c->layers; layer++) {
            const ms_treatment *t = &l.costs.options[shape->assignment.options[layer]].treatment;
            assert_int_equal(techniques_of(t) & ~(c->techniques & target->techniques), 0);
        }
    }
    drop(&l);
}

/* ---- what torchtitan's selective policy keeps ---- */

typedef struct policy_case {
    const char *label, *preset, *treat; /* of the first layers */
} policy_case;

/* One product for q, k and v; each second mm that a layer executes; the router's do not count. */
static const policy_case policy_cases[] = {
    {"llama-3.2-1b", "llama-3.2-1b", "0-3=selective:flash_attention+mm#0+mm#1+mm#2+mm#4+mm#6"},
    /* qkv_proj and gate_up_proj */
    {"phi-3-mini-4k", "phi-3-mini-4k", "0-3=selective:flash_attention+mm#0+mm#2"},
    /* up and down */
    {"afm-4.5b", "afm-4.5b", "0-3=selective:flash_attention+mm#0+mm#1+mm#2+mm#4"},
    /* q, k and v have a bias */
    {"qwen2.5-7b", "qwen2.5-7b", "0-3=selective:flash_attention+addmm+mm#0+mm#2"},
    /* attention has a dropout, and others follow: it would have to run again */
    {"gpt2", "gpt2", NULL},
    /* experts are one product of groups, which is not of the list; the router's is mm#4 */
    {"qwen3-30b-a3b", "qwen3-30b-a3b", "0-3=selective:flash_attention+mm#0+mm#1+mm#2"},
    /* latent attention: q, kv_a, kv_b, o; a layer with an MLP, others with shared experts */
    {"deepseek-v2-lite", "deepseek-v2-lite",
     "0=selective:efficient_attention+mm#0+mm#2+mm#4+mm#6,"
     "1-3=selective:efficient_attention+mm#0+mm#2+mm#5+mm#7"},
    /* convolutions, and attention in the third layer */
    {"lfm2-1.2b", "lfm2-1.2b",
     "0-1=selective:flash_attention+mm#0+mm#2+mm#4,"
     "2=selective:flash_attention+mm#0+mm#1+mm#2+mm#4+mm#6,"
     "3=selective:flash_attention+mm#0+mm#2+mm#4"},
};

static void keeps_second_products(void **state)
{
    const policy_case *c = *state;
    listing l;
    load(&l, c->preset, LAYERS, MS_MAY_SELECT);
    measure(&l);
    list(&l, "torchtitan");
    if (l.status != MS_OK)
        fail_msg("%s", l.err.text);
    assert_int_equal(l.plans.count, c->treat ? 2 : 1);
    if (c->treat)
        assert_string_equal(treat_text(&l, &l.plans.items[1]), c->treat);
    drop(&l);
}

/* ---- what is typed ---- */

typedef struct text_case {
    const char *label, *target, *treat, *text;
} text_case;

#define TITAN_KEPT "flash_attention+mm#0+mm#1+mm#2+mm#4+mm#6"

static const text_case text_cases[] = {
    {"hf, none", "hf", "",
     "TrainingArguments(activation_checkpointing=False)\n"
     "# older transformers: gradient_checkpointing=False"},
    {"hf, all", "hf", "0-3=checkpoint",
     "TrainingArguments(activation_checkpointing=True, "
     "activation_checkpointing_kwargs={\"use_reentrant\": False})\n"
     "# older transformers: gradient_checkpointing=True, "
     "gradient_checkpointing_kwargs={\"use_reentrant\": False}"},
    {"hf, every second", "hf", "0=checkpoint,2=checkpoint",
     "TrainingArguments(activation_checkpointing=True, "
     "activation_checkpointing_kwargs={\"every_n_layers\": 2, \"use_reentrant\": False})\n"
     "# transformers 5.23; older ones have no every_n_layers"},
    {"hf, all on the host", "hf", "0-3=checkpoint+save_on_cpu",
     "TrainingArguments(activation_checkpointing=True, "
     "activation_checkpointing_kwargs={\"offload\": True, \"use_reentrant\": False})\n"
     "# transformers 5.23; older ones have no offload"},
    {"hf, every third on the host", "hf", "0=checkpoint+save_on_cpu,3=checkpoint+save_on_cpu",
     "TrainingArguments(activation_checkpointing=True, "
     "activation_checkpointing_kwargs={\"every_n_layers\": 3, \"offload\": True, "
     "\"use_reentrant\": False})\n"
     "# transformers 5.23; older ones have no offload"},
    {"torchtitan, none", "torchtitan", "",
     "activation_checkpoint:none\n"
     "# in a config function: activation_checkpoint=None"},
    {"torchtitan, full", "torchtitan", "0-3=checkpoint",
     "activation_checkpoint:full\n"
     "# in a config function: activation_checkpoint=FullAC.Config()"},
    {"torchtitan, selective", "torchtitan", "0-3=selective:" TITAN_KEPT,
     "activation_checkpoint:selective\n"
     "# in a config function: activation_checkpoint=SelectiveAC.Config()"},
    {"torchtune, none", "torchtune", "", "enable_activation_checkpointing: False"},
    {"torchtune, all", "torchtune", "0-3=checkpoint", "enable_activation_checkpointing: True"},
    {"torchtune, every second", "torchtune", "1=checkpoint,3=checkpoint",
     "enable_activation_checkpointing: False\n"
     "ac_mode: selective\n"
     "ac_option: 2\n"
     "# recipes full_finetune_distributed and qat_distributed"},
    {"torchtune, every third", "torchtune", "2=checkpoint",
     "enable_activation_checkpointing: False\n"
     "ac_mode: selective\n"
     "ac_option: 3\n"
     "# recipes full_finetune_distributed and qat_distributed"},
    {"deepspeed, inputs on the host", "deepspeed", "0-3=checkpoint+save_on_cpu",
     "model.activation_checkpointing_enable(activation_checkpointing_kwargs={\"use_reentrant\": "
     "False}, offload=True)\n"
     "# transformers 5.23; older ones have no offload"},
    {"deepspeed, tiles and inputs on the host", "deepspeed", "0-3=checkpoint+save_on_cpu+tile:16",
     "from deepspeed.runtime.sequence_parallel.ulysses_sp import TiledMLP\n"
     "\n"
     "def tile(mlp, shards):\n"
     "    run, weights = type(mlp).forward, list(mlp.parameters())\n"
     "    mlp.forward = lambda x: TiledMLP.apply(run, mlp, x, shards, weights)\n"
     "\n"
     "decoder = model.get_decoder()\n"
     "for layer in decoder.layers if hasattr(decoder, \"layers\") else decoder.h:\n"
     "    tile(layer.mlp, 16)\n"
     "model.activation_checkpointing_enable(activation_checkpointing_kwargs={\"use_reentrant\": "
     "False}, offload=True)\n"
     "# transformers 5.23; older ones have no offload"},
    {"deepspeed, none", "deepspeed", "", "model.gradient_checkpointing_disable()"},
    {"deepspeed, tiles", "deepspeed", "0-3=tile:4",
     "from deepspeed.runtime.sequence_parallel.ulysses_sp import TiledMLP\n"
     "\n"
     "def tile(mlp, shards):\n"
     "    run, weights = type(mlp).forward, list(mlp.parameters())\n"
     "    mlp.forward = lambda x: TiledMLP.apply(run, mlp, x, shards, weights)\n"
     "\n"
     "decoder = model.get_decoder()\n"
     "for layer in decoder.layers if hasattr(decoder, \"layers\") else decoder.h:\n"
     "    tile(layer.mlp, 4)"},
    {"axolotl, none", "axolotl", "", "gradient_checkpointing: false"},
    {"axolotl, all", "axolotl", "0-3=checkpoint",
     "gradient_checkpointing: true\n"
     "gradient_checkpointing_kwargs:\n"
     "  use_reentrant: false"},
    {"axolotl, attention", "axolotl", "0-3=selective:flash_attention",
     "gradient_checkpointing: true\n"
     "gradient_checkpointing_kwargs:\n"
     "  use_reentrant: false\n"
     "selective_checkpointing:\n"
     "  save: [attention]"},
    {"axolotl, attention and products", "axolotl", "0-3=selective:flash_attention+mm",
     "gradient_checkpointing: true\n"
     "gradient_checkpointing_kwargs:\n"
     "  use_reentrant: false\n"
     "selective_checkpointing:\n"
     "  save: [attention, \"aten::mm\", \"aten::addmm\"]"},
    {"axolotl, checkpoints and tiles", "axolotl", "0-3=checkpoint+tile:4",
     "gradient_checkpointing: true\n"
     "gradient_checkpointing_kwargs:\n"
     "  use_reentrant: false\n"
     "tiled_mlp: true\n"
     "tiled_mlp_num_shards: 4\n"
     "# without DeepSpeed the gradients of one layer's MLP exist twice for a time"},
};

static void prints_plan(void **state)
{
    const text_case *c = *state;
    listing l;
    fill(&l, LAYERS, MS_MAY_ALL);
    list(&l, c->target);
    assert_int_equal(l.status, MS_OK);
    const char *text = NULL;
    for (uint32_t i = 0; i < l.plans.count; i++)
        if (strcmp(treat_text(&l, &l.plans.items[i]), c->treat) == 0)
            text = l.plans.items[i].text;
    assert_non_null(text);
    assert_string_equal(text, c->text);
    drop(&l);
}

/* ---- what is not there ---- */

/* torchtitan counts the products that it runs: a fused one for q, k and v, and none with a bias. */
static void titan_follows_biases(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        bool attention_bias, mlp_bias;
        const char *treat;
    } cases[] = {
        {"smollm2-135m", false, false, "0=selective:" TITAN_KEPT},
        {"qwen2.5-0.5b", false, false, "0=selective:flash_attention+addmm+mm#0+mm#2"},
        {"smollm2-135m", true, false, "0=selective:flash_attention+addmm+mm#0+mm#2"},
        {"smollm2-135m", false, true, "0=selective:flash_attention+addmm+mm#0+mm#1+mm#2"},
        {"smollm2-135m", true, true, "0=selective:flash_attention+addmm"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        listing l;
        load(&l, cases[i].preset, 1, MS_MAY_SELECT);
        l.model.attention_bias = cases[i].attention_bias;
        l.model.mlp_bias = cases[i].mlp_bias;
        measure(&l);
        list(&l, "torchtitan");
        assert_int_equal(l.plans.count, 2);
        assert_string_equal(treat_text(&l, &l.plans.items[1]), cases[i].treat);
        drop(&l);
    }
}

static void axolotl_saves_sliding_windows(void **state)
{
    (void)state;
    listing l;
    load(&l, "mistral-7b-v0.1", LAYERS, MS_MAY_SELECT);
    measure(&l);
    list(&l, "axolotl");
    assert_int_equal(l.plans.count, 3);
    assert_non_null(strstr(l.plans.items[1].text, "\n  save_sliding_window: true"));
    drop(&l);
}

/* Of TiledMLP, DeepSpeed's fails on Conv1D and Axolotl's mixes up sequences. */
static void tiles_batches_of_one(void **state)
{
    (void)state;
    static const struct {
        const char *target, *preset;
        uint64_t batch;
        uint32_t count;
    } cases[] = {{"deepspeed", "gpt2", 1, 6},
                 {"deepspeed", "gpt2", 2, 2},
                 {"deepspeed", "smollm2-135m", 2, 6},
                 {"axolotl", "gpt2", 1, 6},
                 {"axolotl", "smollm2-135m", 2, 2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        listing l;
        load(&l, cases[i].preset, LAYERS, MS_MAY_CHECKPOINT | MS_MAY_TILE);
        l.run.batch = cases[i].batch;
        measure(&l);
        list(&l, cases[i].target);
        assert_int_equal(l.plans.count, cases[i].count);
        drop(&l);
    }
}

static void passes_failures_on(void **state)
{
    (void)state;
    listing l;
    fill(&l, LAYERS, MS_MAY_ALL);
    while (l.costs.option_count < MS_COST_MOST_OPTIONS)
        l.costs.options[l.costs.option_count++].treatment =
            (ms_treatment){.kind = MS_TREAT_OFFLOAD, .share = 1.0 / (100 + l.costs.option_count)};
    list(&l, "torchtitan");
    assert_int_equal(l.status, MS_ERR_LIMIT);
    assert_int_equal(l.err.status, MS_ERR_LIMIT);
    drop(&l);
}

static void finds_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"free",       "hf",        "pytorch",
                                        "torchtitan", "torchtune", "megatron",
                                        "deepspeed",  "nemo",      "axolotl"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const ms_target *target = ms_target_at(i);
        assert_string_equal(target->name, names[i]);
        assert_ptr_equal(ms_target_find(names[i]), target);
        assert_true(strlen(target->title) > 0);
        assert_int_equal(target->is_free || target->unpredicted, target->list == NULL);
        assert_true(target->is_free || !target->text);
    }
    assert_null(ms_target_at(COUNT_OF(names)));
    assert_null(ms_target_find("keras"));
}

/* ---- PyTorch's code ---- */

static const char *code_for(listing *l, const char *treat)
{
    ms_treatments treatments = {.layers =
                                    ms_arena_array(l->arena, ms_treatment, l->model.num_layers)};
    assert_int_equal(
        ms_treatments_apply(treat, l->arena, l->model.num_layers, &treatments, &l->err), MS_OK);
    const char *code = ms_target_find("pytorch")->text(l->arena, &l->task, &treatments);
    assert_non_null(code);
    return code;
}

typedef struct code_case {
    const char *label, *treat;
    const char *pieces; /* by their first letters, in order */
    const char *end;    /* of the function treat */
} code_case;

static const code_case code_cases[] = {
    {"checkpoint", "0-7=checkpoint", "Lr",
     "    for i in range(0, 8):\n"
     "        recompute(layers[i])"},
    {"single layers", "1,3,5-7=checkpoint", "Lr",
     "    for i in (1, 3, *range(5, 8)):\n"
     "        recompute(layers[i])"},
    {"one layer", "2=checkpoint", "Lr",
     "    for i in (2,):\n"
     "        recompute(layers[i])"},
    {"selective", "all=selective:mm#2+flash_attention+to,0=selective:mm", "Lrs",
     "    for i in (0,):\n"
     "        recompute_but(layers[i], \"mm\")\n"
     "    for i in range(1, 12):\n"
     "        recompute_but(layers[i], \"mm#2\", \"_scaled_dot_product_flash_attention\", "
     "\"_to_copy\")"},
    {"offload", "first:8=offload:0.5,8-10=offload:1", "Lo",
     "    Offload(layers, {**dict.fromkeys(range(0, 8), 0.5), **dict.fromkeys(range(8, 11), "
     "1)})"},
    {"tiles of two kinds", "all=tile:4,first:3=checkpoint+tile:2,3=checkpoint+tile:4", "Lrpgt",
     "    for i in range(0, 3):\n"
     "        tile(layers[i], 2)\n"
     "    for i in range(3, 12):\n"
     "        tile(layers[i], 4)\n"
     "    for i in range(0, 4):\n"
     "        recompute(layers[i])"},
    {"tiles of attention", "all=tile-attention:8,first:2=checkpoint+tile:2+tile-attention:8",
     "Lrpgta",
     "    for i in range(0, 2):\n"
     "        tile(layers[i], 2)\n"
     "    for i in range(0, 12):\n"
     "        tile_attention(layers[i], 8)\n"
     "    for i in range(0, 2):\n"
     "        recompute(layers[i])"},
    {"an MLP and norms", "0=checkpoint-mlp,1-3=checkpoint-mlp+checkpoint-norms+tile-attention:2",
     "Lgamn",
     "    for i in range(0, 4):\n"
     "        recompute_mlp(layers[i])\n"
     "    for i in range(1, 4):\n"
     "        recompute_norms(layers[i])\n"
     "    for i in range(1, 4):\n"
     "        tile_attention(layers[i], 2)"},
    {"loss alone", "loss=chunk:8", "Lpl",
     "    \"\"\"Call once, before the first step; then train as before.\"\"\"\n"
     "    chunk_loss(model, 8)"},
    {"everything", "0=checkpoint,1=selective:mm,2=offload:0.25+tile:2,loss=chunk:8", "Lrsopgtl",
     "    for i in (2,):\n"
     "        tile(layers[i], 2)\n"
     "    for i in (0,):\n"
     "        recompute(layers[i])\n"
     "    for i in (1,):\n"
     "        recompute_but(layers[i], \"mm\")\n"
     "    Offload(layers, {**dict.fromkeys((2,), 0.25)})\n"
     "    chunk_loss(model, 8)"},
};

/* What each piece defines. */
static const char *const definitions[] = {"\ndef recompute(",        "\ndef selective_contexts(",
                                          "\nclass Offload:",        "\ndef pieces_of(",
                                          "\nclass Surroundings:",   "\nclass Tiled(",
                                          "\nclass TiledAttention(", "\ndef chunked_loss(",
                                          "\ndef recompute_mlp(",    "\ndef recompute_norms(",
                                          "\ndef layers_of("};
static const char letters[] = "rsopgtalmnL";

static void prints_code(void **state)
{
    const code_case *c = *state;
    listing l;
    load(&l, "smollm2-135m", 12, MS_MAY_ALL);
    const char *code = code_for(&l, c->treat);
    for (size_t i = 0; i < COUNT_OF(definitions); i++)
        assert_int_equal(strstr(code, definitions[i]) != NULL,
                         strchr(c->pieces, letters[i]) != NULL);
    assert_true(strlen(code) > strlen(c->end));
    assert_string_equal(code + strlen(code) - strlen(c->end), c->end);
    const char *first_import = strstr(code, "import "), *again;
    assert_true(first_import || strcmp(c->pieces, "") == 0);
    again = strstr(code, "\nimport torch\n");
    assert_true(!again || !strstr(again + 1, "\nimport torch\n"));
    assert_null(strstr(strchr(code, '\n'), "SPDX"));
    drop(&l);
}

static void prints_nothing_to_do(void **state)
{
    (void)state;
    listing l;
    load(&l, "smollm2-135m", 12, MS_MAY_ALL);
    assert_string_equal(code_for(&l, "all=keep"),
                        "# Nothing to change: every layer keeps what autograd saves.");
    l.run.checkpoint_kind = MS_CHECKPOINT_REENTRANT;
    assert_non_null(
        strstr(code_for(&l, "all=checkpoint"), "        recompute(layers[i], use_reentrant=True)"));
    drop(&l);
}

static int print_code(const char *layers, const char *treat)
{
    listing l;
    load(&l, "smollm2-135m", (uint32_t)strtoul(layers, NULL, 10), MS_MAY_ALL);
    puts(code_for(&l, treat));
    drop(&l);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return print_code(argv[1], argv[2]);
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(titan_follows_biases), cmocka_unit_test(axolotl_saves_sliding_windows),
        cmocka_unit_test(tiles_batches_of_one), cmocka_unit_test(passes_failures_on),
        cmocka_unit_test(finds_rows),           cmocka_unit_test(prints_nothing_to_do)};
    struct CMUnitTest tests[COUNT_OF(count_cases) + COUNT_OF(text_cases) + COUNT_OF(code_cases) +
                            COUNT_OF(policy_cases) + COUNT_OF(others)];
    size_t n = ADD_ROWS(tests, counts_plans, count_cases);
    n += ADD_ROWS(tests + n, keeps_second_products, policy_cases);
    n += ADD_ROWS(tests + n, prints_plan, text_cases);
    n += ADD_ROWS(tests + n, prints_code, code_cases);
    memcpy(tests + n, others, sizeof others);
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL);
}
