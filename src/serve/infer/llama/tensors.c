/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/tensors.h"

#include <inttypes.h>
#include <string.h>

/* ---- rows ---- */

enum {
    LLAMA = 1 << MS_LLAMA_LLAMA,
    QWEN2 = 1 << MS_LLAMA_QWEN2,
    QWEN3 = 1 << MS_LLAMA_QWEN3,
    QWEN3MOE = 1 << MS_LLAMA_QWEN3MOE,
    GEMMA2 = 1 << MS_LLAMA_GEMMA2,
    GEMMA3 = 1 << MS_LLAMA_GEMMA3,
    GPT2 = 1 << MS_LLAMA_GPT2,
    PHI3 = 1 << MS_LLAMA_PHI3,
    DEEPSEEK2 = 1 << MS_LLAMA_DEEPSEEK2,
    GPT_OSS = 1 << MS_LLAMA_GPT_OSS,
    LFM2 = 1 << MS_LLAMA_LFM2,
    EVERY = (1 << MS_LLAMA_ARCHS) - 1,
    PLAIN = LLAMA | QWEN2 | QWEN3 | QWEN3MOE | GEMMA2 | GEMMA3 | GPT_OSS | LFM2, /* q, k and v */
    GATED = EVERY & ~(GPT2 | PHI3),
    BIASED = QWEN2 | GPT_OSS,
    NORMED = QWEN3 | QWEN3MOE | GEMMA3 | LFM2,
    MOE = LLAMA | QWEN3MOE | DEEPSEEK2 | GPT_OSS
};

typedef enum condition {
    ALWAYS,
    UNTIED,
    ROPE_FACTORS,
    ATTENDS, /* of layers: with attention */
    MIXES,   /* with another token mixer */
    DENSE,
    SPARSE,
    SHARED,       /* sparse, with shared experts */
    HAS_LATENT_Q, /* MLA with a latent for queries */
    HAS_PLAIN_Q
} condition;

/* Dimensions are letters (see `width`), the fastest first. */
typedef struct tensor_row {
    const char *name, *shape;
    unsigned archs;
    condition when;
} tensor_row;

/* clang-format off */
static const tensor_row outside[] = {
    {"token_embd.weight",      "Ev",  EVERY,     ALWAYS},
    {"position_embd.weight",   "EP",  GPT2,      ALWAYS},
    {"output_norm.weight",     "E",   EVERY & ~LFM2, ALWAYS},
    {"output_norm.bias",       "E",   GPT2,      ALWAYS},
    {"token_embd_norm.weight", "E",   LFM2,      ALWAYS},
    {"output.weight",          "Ev",  EVERY,     UNTIED},
    {"rope_freqs.weight",      "R",   LLAMA,     ROPE_FACTORS},
};

static const tensor_row of_layer[] = {
    {"attn_norm.weight",           "E",   EVERY,        ALWAYS},
    {"attn_norm.bias",             "E",   GPT2,         ALWAYS},
    {"attn_q.weight",              "EQ",  PLAIN,        ATTENDS},
    {"attn_q.bias",                "Q",   BIASED,       ATTENDS},
    {"attn_k.weight",              "EK",  PLAIN,        ATTENDS},
    {"attn_k.bias",                "K",   BIASED,       ATTENDS},
    {"attn_v.weight",              "EV",  PLAIN,        ATTENDS},
    {"attn_v.bias",                "V",   BIASED,       ATTENDS},
    {"attn_q_norm.weight",         "H",   NORMED,       ATTENDS},
    {"attn_k_norm.weight",         "H",   NORMED,       ATTENDS},
    {"attn_qkv.weight",            "EB",  GPT2 | PHI3,  ATTENDS},
    {"attn_qkv.bias",              "B",   GPT2,         ATTENDS},
    {"attn_q.weight",              "EA",  DEEPSEEK2,    HAS_PLAIN_Q},
    {"attn_q_a.weight",            "Eq",  DEEPSEEK2,    HAS_LATENT_Q},
    {"attn_q_a_norm.weight",       "q",   DEEPSEEK2,    HAS_LATENT_Q},
    {"attn_q_b.weight",            "qA",  DEEPSEEK2,    HAS_LATENT_Q},
    {"attn_kv_a_mqa.weight",       "EH",  DEEPSEEK2,    ALWAYS},
    {"attn_kv_a_norm.weight",      "L",   DEEPSEEK2,    ALWAYS},
    {"attn_k_b.weight",            "NLn", DEEPSEEK2,    ALWAYS},
    {"attn_v_b.weight",            "LWn", DEEPSEEK2,    ALWAYS},
    {"attn_output.weight",         "OE",  EVERY,        ATTENDS},
    {"attn_output.bias",           "E",   GPT2 | GPT_OSS, ATTENDS},
    {"attn_sinks.weight",          "n",   GPT_OSS,      ALWAYS},
    {"post_attention_norm.weight", "E",   GEMMA2 | GEMMA3 | GPT_OSS, ALWAYS},
    {"shortconv.conv.weight",      "CE",  LFM2,         MIXES},
    {"shortconv.in_proj.weight",   "E3",  LFM2,         MIXES},
    {"shortconv.out_proj.weight",  "EE",  LFM2,         MIXES},
    {"ffn_norm.weight",            "E",   EVERY & ~GPT_OSS, ALWAYS},
    {"ffn_norm.bias",              "E",   GPT2,         ALWAYS},
    {"post_ffw_norm.weight",       "E",   GEMMA2 | GEMMA3, ALWAYS},
    {"ffn_gate.weight",            "EF",  GATED,        DENSE},
    {"ffn_up.weight",              "EF",  EVERY & ~PHI3, DENSE},
    {"ffn_up.weight",              "E2",  PHI3,         DENSE},
    {"ffn_up.bias",                "F",   GPT2,         DENSE},
    {"ffn_down.weight",            "FE",  EVERY,        DENSE},
    {"ffn_down.bias",              "E",   GPT2,         DENSE},
    {"ffn_gate_inp.weight",        "EX",  MOE,          SPARSE},
    {"ffn_gate_inp.bias",          "X",   GPT_OSS,      SPARSE},
    {"ffn_gate_exps.weight",       "EfX", MOE,          SPARSE},
    {"ffn_gate_exps.bias",         "fX",  GPT_OSS,      SPARSE},
    {"ffn_down_exps.weight",       "fEX", MOE,          SPARSE},
    {"ffn_down_exps.bias",         "EX",  GPT_OSS,      SPARSE},
    {"ffn_up_exps.weight",         "EfX", MOE,          SPARSE},
    {"ffn_up_exps.bias",           "fX",  GPT_OSS,      SPARSE},
    {"ffn_gate_shexp.weight",      "ES",  DEEPSEEK2,    SHARED},
    {"ffn_down_shexp.weight",      "SE",  DEEPSEEK2,    SHARED},
    {"ffn_up_shexp.weight",        "ES",  DEEPSEEK2,    SHARED},
};
/* clang-format on */

static uint64_t width(const ms_llama_model *m, const ms_llama_layer *l, char letter)
{
    bool is_latent = m->latent > 0;
    uint64_t q = l->heads * m->head_k, k = l->kv_heads * m->head_k, v = l->kv_heads * m->head_v;
    switch (letter) {
    case 'E':
        return m->n_embd;
    case '3':
        return 3 * m->n_embd;
    case 'v':
        return m->n_vocab;
    case 'P':
        return m->positions;
    case 'R':
        return m->n_rot / 2;
    case 'Q':
        return q;
    case 'K':
        return k;
    case 'V':
        return v;
    case 'B':
        return q + k + v;
    case 'O':
        return l->heads * (is_latent ? m->head_v : m->head_k);
    case 'A':
        return l->heads * (m->plain_k + m->n_rot);
    case 'H':
        return m->head_k;
    case 'n':
        return l->heads;
    case 'N':
        return m->plain_k;
    case 'W':
        return m->head_v;
    case 'L':
        return m->latent;
    case 'q':
        return m->query_latent;
    case 'C':
        return m->conv_width;
    case 'F':
        return m->n_ff;
    case '2':
        return 2 * m->n_ff;
    case 'X':
        return m->experts;
    case 'f':
        return m->expert_ff;
    default: /* 'S' */
        return m->shared_ff;
    }
}

static bool applies(const ms_llama_model *m, const ms_llama_layer *l, const tensor_row *row)
{
    if (!(row->archs & (1u << m->arch)))
        return false;
    switch (row->when) {
    case UNTIED:
        return !m->is_tied;
    case ROPE_FACTORS:
        return m->has_rope_factors;
    case ATTENDS:
        return l->kv_heads > 0;
    case MIXES:
        return l->kv_heads == 0;
    case DENSE:
        return !l->is_sparse;
    case SPARSE:
        return l->is_sparse;
    case SHARED:
        return l->is_sparse && m->shared_ff > 0;
    case HAS_LATENT_Q:
        return m->query_latent > 0;
    case HAS_PLAIN_Q:
        return m->query_latent == 0;
    case ALWAYS:
    default:
        return true;
    }
}

/* ---- names ---- */

const char *ms_llama_tensor_part(const char *name, int64_t *layer)
{
    const char *at = name + 4;
    int64_t number = 0;
    *layer = -1;
    if (strncmp(name, "blk.", 4) != 0 || *at < '0' || *at > '9')
        return name;
    for (; *at >= '0' && *at <= '9' && number < INT32_MAX; at++)
        number = 10 * number + (*at - '0');
    if (*at != '.')
        return name;
    *layer = number;
    return at + 1;
}

int64_t ms_llama_tensor_layer(const char *name, uint64_t n_layer)
{
    int64_t layer;
    const char *part = ms_llama_tensor_part(name, &layer);
    if (part != name)
        return layer;
    if (strncmp(name, "rope_", 5) == 0)
        return MS_LLAMA_SHARED;
    bool is_input =
        strcmp(name, "token_embd.weight") == 0 || strncmp(name, "position_embd", 13) == 0;
    return is_input ? MS_LLAMA_INPUT : (int64_t)n_layer;
}

bool ms_llama_tensor_is(const ms_llama_tensor *tensor, const char *name)
{
    int64_t layer;
    return strcmp(ms_llama_tensor_part(tensor->name, &layer), name) == 0;
}

/* ---- making them ---- */

/* What the converter keeps in 32 bits. */
static bool stays_wide(const char *name, size_t rank)
{
    static const char *const kept[] = {"norm.weight", "ffn_gate_inp", "position_embd",
                                       "conv.weight", ".bias"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strstr(name, kept[i]))
            return true;
    return rank < 2;
}

static ms_status add(ms_arena *arena, ms_llama_model *m, const tensor_row *row,
                     const ms_llama_layer *l, int64_t layer, ms_error *err)
{
    ms_llama_tensor t = {.rank = (uint32_t)strlen(row->shape), .shape = {1, 1, 1, 1}};
    t.name = layer < 0 ? row->name : ms_arena_printf(arena, "blk.%" PRId64 ".%s", layer, row->name);
    for (uint32_t i = 0; i < t.rank; i++)
        t.shape[i] = width(m, l, row->shape[i]);
    t.type = stays_wide(row->name, t.rank) ? MS_STORED_F32 : MS_STORED_F16;
    /* The experts of gpt-oss come in this type, and stay in it. */
    if (m->arch == MS_LLAMA_GPT_OSS && t.rank == 3)
        t.type = MS_STORED_MXFP4;
    if (!t.name || !ms_vec_push(&m->tensors, t))
        return ms_infer_no_memory(err);
    m->tensors.items[m->tensors.count - 1].layer = ms_llama_tensor_layer(t.name, m->n_layer);
    return MS_OK;
}

ms_status ms_llama_tensors_make(ms_arena *arena, ms_llama_model *m, ms_error *err)
{
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof outside / sizeof outside[0] && status == MS_OK; i++)
        if (applies(m, &m->layers[0], &outside[i]))
            status = add(arena, m, &outside[i], &m->layers[0], -1, err);
    for (uint64_t layer = 0; layer < m->n_layer; layer++)
        for (size_t i = 0; i < sizeof of_layer / sizeof of_layer[0] && status == MS_OK; i++)
            if (applies(m, &m->layers[layer], &of_layer[i]))
                status = add(arena, m, &of_layer[i], &m->layers[layer], (int64_t)layer, err);
    return status;
}

ms_status ms_llama_tensors_place(ms_llama_model *m, ms_error *err)
{
    ms_size at = ms_size_of(0);
    for (uint32_t i = 0; i < m->tensors.count; i++) {
        ms_llama_tensor *t = &m->tensors.items[i];
        ms_size bytes = ms_stored_row_bytes(t->type, t->shape[0]);
        for (uint32_t k = 1; k < t->rank; k++)
            bytes = ms_size_mul(bytes, t->shape[k]);
        at = ms_size_round_up(at, 32);
        t->bytes = bytes.bytes;
        t->begin = at.bytes;
        at = ms_size_add(at, bytes.bytes);
        t->end = at.bytes;
        if (bytes.overflow || at.overflow)
            return ms_fail(err, MS_ERR_OVERFLOW, "the weights exceed 64 bits");
    }
    return MS_OK;
}
