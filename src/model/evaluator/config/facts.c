/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a text says of its family beside modules and calls: class facts, class peft, class liger
 * and class vllm. Each has a row per member, which says what its value may be.
 */
#include "model/evaluator/config/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "model/vision/processors.h"

/* ---- words ---- */

typedef struct word {
    const char *name;
    uint64_t value;
} word;

static const word blocks[] = {{"projections", MS_BLOCK_PROJECTIONS},
                              {"two_norms", MS_BLOCK_TWO_NORMS},
                              {"gated_mlp", MS_BLOCK_GATED_MLP},
                              {"plain_mlp", MS_BLOCK_PLAIN_MLP},
                              {"joined", MS_BLOCK_JOINED},
                              {"head_norms", MS_BLOCK_HEAD_NORMS},
                              {"turned_norms", MS_BLOCK_TURNED_NORMS},
                              {"whole_norms", MS_BLOCK_WHOLE_NORMS},
                              {"layer_norms", MS_BLOCK_LAYER_NORMS},
                              {"more_norms", MS_BLOCK_MORE_NORMS},
                              {"other_rotary", MS_BLOCK_OTHER_ROTARY},
                              {"unturned", MS_BLOCK_UNTURNED},
                              {"factors", MS_BLOCK_FACTORS},
                              {"dropouts", MS_BLOCK_DROPOUTS},
                              {NULL, 0}};

static const word strategies[] = {{"tensor", MS_WITH_TENSOR},
                                  {"pipeline", MS_WITH_PIPELINE},
                                  {"context", MS_WITH_CONTEXT},
                                  {"zero3", MS_WITH_ZERO3},
                                  {"zero3_experts", MS_WITH_ZERO3_EXPERTS},
                                  {"zero3_lora", MS_WITH_ZERO3_LORA},
                                  {"accelerate_units", MS_WITH_ACCELERATE_UNITS},
                                  {"titan_units", MS_WITH_TITAN_UNITS},
                                  {"broadcast", MS_WITH_BROADCAST},
                                  {"chunked_loss", MS_WITH_CHUNKED_LOSS},
                                  {NULL, 0}};

static const word unpredicted[] = {{"host_parameters", MS_UNPREDICTED_HOST_PARAMETERS},
                                   {"packed", MS_UNPREDICTED_PACKED},
                                   {"reentrant", MS_UNPREDICTED_REENTRANT},
                                   {"f16", MS_UNPREDICTED_F16},
                                   {"fsdp1", MS_UNPREDICTED_FSDP1},
                                   {"shards", MS_UNPREDICTED_SHARDS},
                                   {"ranks", MS_UNPREDICTED_RANKS},
                                   {"images_on_ranks", MS_UNPREDICTED_IMAGES_ON_RANKS},
                                   {"other_packed", MS_UNPREDICTED_OTHER_PACKED},
                                   {"f16_steps", MS_UNPREDICTED_F16_STEPS},
                                   {"padding", MS_UNPREDICTED_PADDING},
                                   {"documents", MS_UNPREDICTED_DOCUMENTS},
                                   {NULL, 0}};

static const word kernels[] = {{"rope", MS_LIGER_ROPE},
                               {"rms_norm", MS_LIGER_RMS_NORM},
                               {"swiglu", MS_LIGER_SWIGLU},
                               {"loss", MS_LIGER_LOSS},
                               {NULL, 0}};

static const word norms[] = {{"layer", MS_LIGER_IS_LAYER},
                             {"last", MS_LIGER_IS_LAST},
                             {"heads", MS_LIGER_IS_HEADS},
                             {NULL, 0}};

static const word biases[] = {{"never", MS_VLLM_BIAS_NEVER},
                              {"always", MS_VLLM_BIAS_ALWAYS},
                              {"asked", MS_VLLM_BIAS_ASKED},
                              {NULL, 0}};

static const word head_norms[] = {{"none", MS_VLLM_HEAD_NORMS_NONE},
                                  {"before_rotary", MS_VLLM_HEAD_NORMS_BEFORE_ROTARY},
                                  {"last", MS_VLLM_HEAD_NORMS_LAST},
                                  {NULL, 0}};

static const word ties[] = {
    {"reuses", MS_VLLM_TIE_REUSES}, {"drops", MS_VLLM_TIE_DROPS}, {NULL, 0}};

static const word vllm_tables[] = {{"narrow", MS_VLLM_TABLE_NARROW},
                                   {"wide", MS_VLLM_TABLE_WIDE},
                                   {"wide_first", MS_VLLM_TABLE_WIDE_FIRST},
                                   {NULL, 0}};

static const word experts[] = {{"none", MS_VLLM_EXPERTS_NONE},
                               {"all", MS_VLLM_EXPERTS_ALL},
                               {"some", MS_VLLM_EXPERTS_SOME},
                               {NULL, 0}};

/* ---- members ---- */

typedef enum row_kind {
    OF_TRUTH,   /* True or False */
    OF_NUMBER,  /* from 0 to 64 */
    OF_TEXT,    /* "llama" */
    OF_TEXTS,   /* a list of up to `most` */
    OF_WORD,    /* one of `words` */
    OF_WORDS,   /* a list of them: bits */
    OF_REFUSED, /* ["module", "why it is not adapted", "what can be"], up to `most` */
    OF_EXCHANGED,
    OF_IMAGES /* the processor of images */
} row_kind;

typedef struct fact_row {
    const char *name;
    row_kind kind;
    size_t offset, bytes; /* of the member */
    const word *words;
    uint32_t most;
} fact_row;

#define ROW(type, member, kind, words, most)                                                       \
    {                                                                                              \
#member, kind, offsetof(type, member), sizeof(((type *)0)->member), words, most            \
    }
#define TRUTH(type, member) ROW(type, member, OF_TRUTH, NULL, 0)

/* Of the family's own class. */
static const fact_row family_rows[] = {
    TRUTH(ms_family, scales_logits),
    TRUTH(ms_family, eager_only),
    TRUTH(ms_family, has_zero_window),
    TRUTH(ms_family, may_be_flat),
    TRUTH(ms_family, may_lack_more),
    {"images", OF_IMAGES, 0, 0, NULL, 0},
    ROW(ms_family, unpredicted, OF_WORDS, unpredicted, 0),
    TRUTH(ms_family, has_no_attention),
    TRUTH(ms_family, takes_no_positions),
    TRUTH(ms_family, has_no_rotary),
    TRUTH(ms_family, has_sinks),
    TRUTH(ms_family, has_chunks),
    TRUTH(ms_family, grouped_experts_only),
    TRUTH(ms_family, batched_experts_only),
    TRUTH(ms_family, has_linear_router),
    TRUTH(ms_family, has_no_mlp_module),
    TRUTH(ms_family, has_lone_mixers),
    TRUTH(ms_family, always_masks),
    TRUTH(ms_family, cuts_by_share),
    TRUTH(ms_family, is_bidirectional),
    TRUTH(ms_family, takes_cache),
    TRUTH(ms_family, ends_unlimited),
    TRUTH(ms_family, counts_seen),
    {.name = NULL},
};

static const fact_row fact_rows[] = {
    ROW(ms_family_facts, blocks, OF_WORDS, blocks, 0),
    ROW(ms_family_facts, compared, OF_WORDS, strategies, 0),
    TRUTH(ms_family_facts, has_leaf_experts),
    TRUTH(ms_family_facts, has_head_norms),
    TRUTH(ms_family_facts, casts_arguments),
    TRUTH(ms_family_facts, has_seven_matrices),
    TRUTH(ms_family_facts, has_fixed_biases),
    ROW(ms_family_facts, llama_cpp, OF_TEXT, NULL, 0),
    TRUTH(ms_family_facts, needs_gguf),
    TRUTH(ms_family_facts, stores_mxfp4),
    TRUTH(ms_family_facts, has_own_linear),
    TRUTH(ms_family_facts, has_code_of_its_own),
    TRUTH(ms_family_facts, has_conv1d),
    TRUTH(ms_family_facts, awq_differs),
    {.name = NULL},
};

static const fact_row peft_rows[] = {
    ROW(ms_peft_facts, lora, OF_TEXTS, NULL, MS_PEFT_TARGETS),
    ROW(ms_peft_facts, lora_pattern, OF_TEXT, NULL, 0),
    ROW(ms_peft_facts, ia3, OF_TEXTS, NULL, MS_PEFT_TARGETS),
    ROW(ms_peft_facts, ia3_inputs, OF_TEXTS, NULL, 1),
    ROW(ms_peft_facts, usual_lora, OF_TEXT, NULL, 0),
    ROW(ms_peft_facts, exchanged, OF_EXCHANGED, NULL, MS_PEFT_TARGETS),
    ROW(ms_peft_facts, refused, OF_REFUSED, NULL, MS_PEFT_REFUSED),
    {.name = NULL},
};

static const fact_row liger_rows[] = {
    ROW(ms_liger_family, kernels, OF_WORDS, kernels, 0),
    ROW(ms_liger_family, norms, OF_WORDS, norms, 0),
    ROW(ms_liger_family, copying_norms, OF_WORDS, norms, 0),
    ROW(ms_liger_family, logits_share, OF_NUMBER, NULL, 0),
    {.name = NULL},
};

static const fact_row vllm_rows[] = {
    ROW(ms_vllm_arch, qkv_bias, OF_WORD, biases, 0),
    ROW(ms_vllm_arch, out_bias, OF_WORD, biases, 0),
    ROW(ms_vllm_arch, head_norms, OF_WORD, head_norms, 0),
    ROW(ms_vllm_arch, norms, OF_NUMBER, NULL, 0),
    ROW(ms_vllm_arch, mlp_rows, OF_NUMBER, NULL, 0),
    ROW(ms_vllm_arch, tie, OF_WORD, ties, 0),
    ROW(ms_vllm_arch, table, OF_WORD, vllm_tables, 0),
    TRUTH(ms_vllm_arch, has_normalizer),
    TRUTH(ms_vllm_arch, always_ties),
    ROW(ms_vllm_arch, experts, OF_WORD, experts, 0),
    TRUTH(ms_vllm_arch, is_latent),
    TRUTH(ms_vllm_arch, has_sinks),
    TRUTH(ms_vllm_arch, has_linear_router),
    TRUTH(ms_vllm_arch, has_shared_gate),
    TRUTH(ms_vllm_arch, has_router_bias),
    TRUTH(ms_vllm_arch, has_v2_experts),
    TRUTH(ms_vllm_arch, has_two_rotaries),
    {.name = NULL},
};

/* ---- values ---- */

static bool fail(ms_family_reading *r, const ms_text_node *at, const char *what)
{
    ms_family_fail(r, at, "%s", what);
    return false;
}

/* An integer member of `bytes` bytes. */
static void store(void *member, size_t bytes, uint64_t value)
{
    const uint32_t half = (uint32_t)value;
    if (bytes == sizeof half)
        memcpy(member, &half, sizeof half);
    else
        memcpy(member, &value, sizeof value);
}

/* "'a', 'b' and 'c'", of all words. */
static const char *all_words(const word *words, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (const word *w = words; w->name; w++) {
        const char *before = w == words ? "" : w[1].name ? ", " : " and ";
        const int bytes = snprintf(out + used, size - used, "%s'%s'", before, w->name);
        used += bytes > 0 && (size_t)bytes < size - used ? (size_t)bytes : 0;
    }
    return out;
}

static bool read_word(ms_family_reading *r, const ms_text_node *node, const word *words,
                      uint64_t *value)
{
    char hint[160], known[320];
    if (node->kind != MS_NODE_STRING)
        return fail(r, node, "expected a word in quotes");
    ms_nearest near = ms_nearest_to(node->text);
    for (const word *w = words; w->name; w++) {
        if (strcmp(w->name, node->text) == 0) {
            *value |= w->value;
            return true;
        }
        ms_nearest_offer(&near, w->name);
    }
    ms_family_fail(r, node, "the word '%.40s' is not known here%s; there are %s", node->text,
                   ms_nearest_hint(&near, hint, sizeof hint),
                   all_words(words, known, sizeof known));
    return false;
}

static bool is_list(ms_family_reading *r, const ms_text_node *node, uint32_t most)
{
    if (node->kind == MS_NODE_LIST && node->count <= most)
        return true;
    ms_family_fail(r, node, "expected a list of up to %u texts", most);
    return false;
}

static bool read_texts(ms_family_reading *r, const ms_text_node *node, uint32_t most,
                       const char **texts)
{
    if (!is_list(r, node, most))
        return false;
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->items[i]->kind != MS_NODE_STRING || !node->items[i]->text[0])
            return fail(r, node->items[i], "expected a name in quotes");
        texts[i] = node->items[i]->text;
    }
    return true;
}

static bool read_exchanged(ms_family_reading *r, const ms_text_node *node, uint32_t most,
                           const char *const **list)
{
    const char **names = ms_arena_array(r->arena, const char *, (size_t)most + 1);
    if (!names)
        return fail(r, node, "out of memory");
    *list = names;
    return read_texts(r, node, most, names);
}

static bool read_refused(ms_family_reading *r, const ms_text_node *node, uint32_t most,
                         ms_refused_module *refused)
{
    if (!is_list(r, node, most))
        return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const char *parts[3] = {0};
        if (!read_texts(r, node->items[i], 3, parts))
            return false;
        if (!parts[2])
            return fail(r, node->items[i], "a module, why it is not adapted, and what can be");
        refused[i] = (ms_refused_module){parts[0], parts[1], parts[2]};
    }
    return true;
}

static bool read_words(ms_family_reading *r, const ms_text_node *node, const word *words,
                       uint64_t *bits)
{
    if (!is_list(r, node, 64))
        return false;
    for (uint32_t i = 0; i < node->count; i++)
        if (!read_word(r, node->items[i], words, bits))
            return false;
    return true;
}

/* Its row has offset 0: it sets several members. */
static bool read_images(ms_family_reading *r, const ms_text_node *node, ms_family *family)
{
    const ms_image_processor *found =
        node->kind == MS_NODE_STRING ? ms_image_processor_named(node->text) : NULL;
    if (!found)
        return fail(r, node, "expected a processor of images that memscope knows");
    family->place_image = found->place_image;
    family->image_input = found->input;
    return true;
}

static bool read_value(ms_family_reading *r, const fact_row *row, const ms_text_node *node,
                       void *member)
{
    uint64_t value = 0;
    switch (row->kind) {
    case OF_TRUTH:
        *(bool *)member = node->number > 0;
        return node->kind == MS_NODE_TRUTH || fail(r, node, "expected True or False");
    case OF_NUMBER:
        if (node->kind != MS_NODE_NUMBER || node->number > 64 ||
            node->number > (double)(uint64_t)node->number)
            return fail(r, node, "expected a whole number up to 64");
        store(member, row->bytes, (uint64_t)node->number);
        return true;
    case OF_TEXT:
        *(const char **)member = node->text;
        return node->kind == MS_NODE_STRING || fail(r, node, "expected a name in quotes");
    case OF_TEXTS:
        return read_texts(r, node, row->most, member);
    case OF_EXCHANGED:
        return read_exchanged(r, node, row->most, member);
    case OF_REFUSED:
        return read_refused(r, node, row->most, member);
    case OF_IMAGES:
        return read_images(r, node, member);
    case OF_WORD:
    case OF_WORDS:
        if (!(row->kind == OF_WORD ? read_word : read_words)(r, node, row->words, &value))
            return false;
        store(member, row->bytes, value);
        return true;
    }
    return true;
}

/* ---- classes ---- */

/* The members of one struct. */
typedef struct table {
    const fact_row *rows;
    void *record;
} table;

static bool read_member(ms_family_reading *r, const ms_text_statement *s, const table *tables)
{
    char hint[160];
    const ms_text_node *name = s->targets[0];
    ms_nearest near = ms_nearest_to(name->text);
    for (const table *t = tables; t->rows; t++)
        for (const fact_row *row = t->rows; row->name; row++) {
            if (strcmp(row->name, name->text) == 0)
                return read_value(r, row, s->value, (char *)t->record + row->offset);
            ms_nearest_offer(&near, row->name);
        }
    ms_family_fail(r, name, "there is no fact with this name%s",
                   ms_nearest_hint(&near, hint, sizeof hint));
    return false;
}

bool ms_is_class_of_facts(const char *name)
{
    static const char *const names[] = {"facts", "peft", "liger", "vllm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* vLLM's facts, which may be shared with another family until one is stated. */
static ms_vllm_arch *own_arch(ms_family_reading *r, ms_family_facts *facts)
{
    ms_vllm_arch *arch = ms_arena_array(r->arena, ms_vllm_arch, 1);
    if (arch && facts->vllm)
        *arch = *facts->vllm;
    facts->vllm = arch;
    return arch;
}

bool ms_family_facts_read(ms_family_reading *r, const ms_text_statement *s, ms_family *family,
                          ms_family_facts *facts)
{
    table tables[3] = {{0}};
    if (s->value)
        return fail(r, s->value, "facts belong to one text: this class takes no base");
    if (strcmp(s->text, "facts") == 0) {
        tables[0] = (table){family_rows, family};
        tables[1] = (table){fact_rows, facts};
    } else if (strcmp(s->text, "peft") == 0) {
        tables[0] = (table){peft_rows, &facts->peft};
    } else if (strcmp(s->text, "liger") == 0) {
        tables[0] = (table){liger_rows, &facts->liger};
    } else {
        tables[0] = (table){vllm_rows, own_arch(r, facts)};
    }
    if (!tables[0].record)
        return fail(r, s->place, "out of memory");
    for (uint32_t i = 0; i < s->body.count; i++) {
        const ms_text_statement *inner = s->body.items[i];
        if (inner->kind == MS_STATEMENT_PASS)
            continue;
        if (inner->kind != MS_STATEMENT_ASSIGN || inner->target_count != 1)
            return fail(r, inner->place, "a class of facts may only have lines NAME = VALUE");
        if (!read_member(r, inner, tables))
            return false;
    }
    return true;
}
