/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/treatment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "input/config/treatment/layer_items.h"
#include "input/config/treatment/layers.h"
#include "input/config/treatment/row.h"
#include "input/config/treatment/treatment_text.h"
#include "base/json/number.h"

/* A stretch of the specification. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

static bool piece_is(piece p, const char *word)
{
    return strlen(word) == p.length && memcmp(p.text, word, p.length) == 0;
}

/* True when `p` starts with `word`; what follows it then is in *rest. */
static bool piece_starts(piece p, const char *word, piece *rest)
{
    size_t length = strlen(word);
    if (p.length < length || memcmp(p.text, word, length) != 0)
        return false;
    *rest = (piece){p.text + length, p.length - length};
    return true;
}

/* Cuts the part before `separator` off the front of *p. */
static piece cut(piece *p, char separator)
{
    const char *end = memchr(p->text, separator, p->length);
    piece front = {p->text, end ? (size_t)(end - p->text) : p->length};
    size_t used = front.length + (end != NULL);
    *p = (piece){p->text + used, p->length - used};
    return front;
}

/* ---- numbers ---- */

static bool read_pieces(piece p, uint32_t *count)
{
    uint64_t number = 0;
    if (ms_number_count(p.text, p.length, &number) != MS_COUNT_OK || number < 2 ||
        number > MS_MOST_TILES)
        return false;
    *count = (uint32_t)number;
    return true;
}

/* "0.25" or "1": above 0, at most 1, at most nine decimals. */
static bool read_share(piece p, double *share)
{
    static const double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    piece whole = cut(&p, '.');
    uint64_t ones = 0, decimals = 0;
    size_t digits = p.length;
    while (p.length > 1 && *p.text == '0') /* a count has no leading zeros */
        p = (piece){p.text + 1, p.length - 1};
    if (ms_number_count(whole.text, whole.length, &ones) != MS_COUNT_OK || ones > 1 || digits > 9 ||
        (digits > 0 && ms_number_count(p.text, p.length, &decimals) != MS_COUNT_OK))
        return false;
    *share = (double)ones + (double)decimals / scales[digits];
    return *share > 0 && *share <= 1;
}

/* ---- one treatment ---- */

/* Reads a treatment; with an arena it keeps the operators, without one it only looks. */
typedef struct reader {
    ms_arena *arena;
    ms_treatment treatment;
    ms_kept_op kept[MS_MOST_KEPT_OPS];
    ms_error *err;
    uint32_t loss_chunks; /* so far; 0: none */
} reader;

/* Adds "tile:4, " of the parts that have pieces, or the words of the others. */
static void list_parts(char *list, size_t size, bool have_pieces)
{
    for (int i = 0; i < MS_PART_COUNT; i++) {
        const ms_part_row *row = ms_treatment_parts[i];
        size_t used = strlen(list);
        if (row->has_pieces == have_pieces)
            snprintf(list + used, size - used, "%s%s, ", row->word, have_pieces ? ":4" : "");
    }
}

static ms_status fail_wording(reader *r, piece p)
{
    char plain[160] = "", pieces[160] = "";
    list_parts(plain, sizeof plain, false);
    list_parts(pieces, sizeof pieces, true);
    return ms_fail(r->err, MS_ERR_USAGE,
                   "'%.*s' is not a treatment; write keep, checkpoint, selective:mm+silu, "
                   "checkpoint+offload, %soffload:0.5, %sor loss=chunk:8",
                   (int)(p.length < 60 ? p.length : 60), p.text, plain, pieces);
}

static bool is_op_name(piece p)
{
    if (p.length == 0 || p.length > 80)
        return false;
    for (size_t i = 0; i < p.length; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", p.text[i]))
            return false;
    return true;
}

#define CUDNN_ATTENTION "cudnn_attention"

/* ATen's full names of operators that go by a shorter one here. */
static const char *const aten_names[][2] = {
    {"_scaled_dot_product_flash_attention", "flash_attention"},
    {"_scaled_dot_product_efficient_attention", "efficient_attention"},
    {"_scaled_dot_product_cudnn_attention", CUDNN_ATTENTION},
    {"_to_copy", "to"},
    {"native_layer_norm", "layer_norm"},
    {"_softmax", "softmax"},
};

static piece short_name(piece p)
{
    for (size_t i = 0; i < sizeof aten_names / sizeof aten_names[0]; i++)
        if (piece_is(p, aten_names[i][0]))
            return (piece){aten_names[i][1], strlen(aten_names[i][1])};
    return p;
}

static ms_status read_op(reader *r, piece p)
{
    ms_treatment *t = &r->treatment;
    piece number = p, name = cut(&number, '#');
    uint64_t occurrence = UINT32_MAX;
    bool numbered = name.length < p.length;
    if (!is_op_name(name) ||
        (numbered && (ms_number_count(number.text, number.length, &occurrence) != MS_COUNT_OK ||
                      occurrence >= UINT32_MAX)))
        return fail_wording(r, p);
    if (t->kept_count == MS_MOST_KEPT_OPS)
        return ms_fail(r->err, MS_ERR_USAGE, "more than %d operators to keep in one layer",
                       MS_MOST_KEPT_OPS);
    name = short_name(name);
    const char *kept =
        r->arena ? ms_arena_printf(r->arena, "%.*s", (int)name.length, name.text) : "";
    if (!kept)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a treatment");
    r->kept[t->kept_count++] = (ms_kept_op){kept, (uint32_t)occurrence};
    return MS_OK;
}

/* "offload" or "save_on_cpu" behind a checkpoint that has neither yet. */
static bool read_input_place(ms_treatment *t, piece p)
{
    if (t->input != MS_INPUT_ON_DEVICE || !ms_treatment_kinds[t->kind].is_checkpoint)
        return false;
    for (int i = MS_INPUT_ON_DEVICE + 1; i < MS_INPUT_PLACE_COUNT; i++)
        if (piece_is(p, ms_input_places[i].word))
            t->input = (ms_input_place)i;
    return t->input != MS_INPUT_ON_DEVICE;
}

/* The row whose word this is, with what follows the word in *value; MS_PART_COUNT: none. */
static int find_part(piece p, piece *value)
{
    int i = 0;
    for (; i < MS_PART_COUNT; i++) {
        const ms_part_row *row = ms_treatment_parts[i];
        if (row->has_pieces
                ? piece_starts(p, row->word, value) && value->length > 0 && *value->text == ':'
                : piece_is(p, row->word))
            break;
    }
    return i;
}

static bool part_may_follow(const ms_treatment *t, int part, bool is_first)
{
    const ms_part_row *row = ms_treatment_parts[part];
    for (int i = 0; i < MS_PART_COUNT; i++)
        if (t->parts[i] && (ms_treatment_parts[i]->excludes & 1U << part))
            return false;
    if (row->needs_keep && t->kind != MS_TREAT_KEEP)
        return false;
    return t->parts[part] == 0 && (is_first || !row->is_leading);
}

static ms_status read_part(reader *r, int part, piece p, piece value, bool is_first)
{
    uint32_t count = 1;
    if (!part_may_follow(&r->treatment, part, is_first))
        return fail_wording(r, p);
    if (ms_treatment_parts[part]->has_pieces &&
        !read_pieces((piece){value.text + 1, value.length - 1}, &count))
        return fail_wording(r, p);
    r->treatment.parts[part] = count;
    return MS_OK;
}

/* What stands first and names what becomes of the whole layer. */
static ms_status read_kind(reader *r, piece p)
{
    piece value = p, word = cut(&value, ':');
    bool has_value = word.length < p.length;
    for (int i = 0; i < MS_TREAT_KIND_COUNT; i++) {
        const ms_kind_row *row = &ms_treatment_kinds[i];
        if (!piece_is(word, row->word) || has_value != (row->value != MS_KIND_PLAIN))
            continue;
        r->treatment.kind = (ms_treatment_kind)i;
        if (row->value == MS_KIND_PLAIN || read_share(value, &r->treatment.share))
            return MS_OK;
        return row->value == MS_KIND_OF_OPS_OR_SHARE ? read_op(r, value) : fail_wording(r, p);
    }
    return fail_wording(r, p);
}

/* What stands between two "+". */
static ms_status read_word(reader *r, piece p, bool is_first)
{
    ms_treatment *t = &r->treatment;
    piece value = {0};
    int part = find_part(p, &value);
    if (part < MS_PART_COUNT)
        return read_part(r, part, p, value, is_first);
    if (is_first)
        return read_kind(r, p);
    if (read_input_place(t, p))
        return MS_OK;
    bool lists_ops = ms_treatment_kinds[t->kind].value == MS_KIND_OF_OPS_OR_SHARE && t->share == 0;
    return lists_ops ? read_op(r, p) : fail_wording(r, p);
}

static ms_status read_treatment(reader *r, piece text)
{
    r->treatment = (ms_treatment){.kind = MS_TREAT_KEEP};
    ms_status status = MS_OK;
    bool is_first = true;
    do {
        bool more = memchr(text.text, '+', text.length) != NULL;
        status = read_word(r, cut(&text, '+'), is_first);
        is_first = false;
        if (!more)
            break;
    } while (status == MS_OK);
    if (status != MS_OK || !r->arena || r->treatment.kept_count == 0)
        return status;
    ms_kept_op *kept = ms_arena_array(r->arena, ms_kept_op, r->treatment.kept_count);
    if (!kept)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a treatment");
    memcpy(kept, r->kept, r->treatment.kept_count * sizeof *kept);
    r->treatment.kept_ops = kept;
    return MS_OK;
}

/* ---- the specification ---- */

/* One "layers=treatment"; `set` is NULL when only the wording is looked at. */
static ms_status apply_item(reader *r, const char *layers, piece action, ms_layer_items *set)
{
    piece rest;
    uint32_t chunks;
    if (strcmp(layers, MS_LOSS_WORD) == 0) {
        if (!piece_starts(action, MS_CHUNK_WORD, &rest) || !read_pieces(rest, &chunks))
            return fail_wording(r, action);
        if (r->loss_chunks && r->loss_chunks != chunks)
            return ms_layer_items_refuse(layers, r->err);
        r->loss_chunks = chunks;
        if (set)
            set->out->loss_chunks = chunks;
        return MS_OK;
    }
    ms_status status = read_treatment(r, action);
    if (status != MS_OK)
        return status;
    return set ? ms_layer_items_treat(set, layers, &r->treatment, r->err)
               : ms_layer_list_check(layers, r->err);
}

/* Items end at a comma; one without "=" names more layers of the item behind it. */
static ms_status read_all(reader *r, const char *text, ms_layer_items *set)
{
    char layers[256];
    while (*text) {
        size_t to_equals = strcspn(text, "=");
        if (text[to_equals] == '\0' || to_equals == 0 || to_equals >= sizeof layers)
            return ms_fail(r->err, MS_ERR_USAGE,
                           "'%.60s' is not LAYERS=TREATMENT, such as first:8=checkpoint", text);
        memcpy(layers, text, to_equals);
        layers[to_equals] = '\0';
        const char *action = text + to_equals + 1;
        size_t length = strcspn(action, ",");
        ms_status status = apply_item(r, layers, (piece){action, length}, set);
        if (status != MS_OK)
            return status;
        text = action + length;
        if (*text == ',' && *++text == '\0')
            return ms_fail(r->err, MS_ERR_USAGE, "nothing after the last comma");
    }
    return MS_OK;
}

ms_status ms_treatments_check(const char *text, ms_error *err)
{
    reader r = {.err = err};
    if (!*text)
        return ms_fail(err, MS_ERR_USAGE, "the value is empty");
    return read_all(&r, text, NULL);
}

ms_status ms_treatments_apply(const char *text, ms_arena *arena, uint64_t num_layers,
                              ms_treatments *treatments, ms_error *err)
{
    reader r = {.arena = arena, .err = err};
    ms_layer_items set = {.out = treatments,
                          .count = num_layers,
                          .chosen = ms_arena_array(arena, bool, num_layers),
                          .sizes = ms_arena_array(arena, uint64_t, num_layers)};
    if (!set.chosen || !set.sizes)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers", num_layers);
    return read_all(&r, text, &set);
}

/* ---- comparing ---- */

bool ms_treatment_sends(const ms_treatment *treatment)
{
    return treatment->kind == MS_TREAT_OFFLOAD || treatment->input != MS_INPUT_ON_DEVICE;
}

static bool is_gpu_attention(const char *name)
{
    return strcmp(name, "flash_attention") == 0 || strcmp(name, "efficient_attention") == 0 ||
           strcmp(name, CUDNN_ATTENTION) == 0;
}

bool ms_kept_name_means(const char *kept, const char *op)
{
    bool has_cudnn = strcmp(kept, CUDNN_ATTENTION) == 0 || strcmp(op, CUDNN_ATTENTION) == 0;
    return strcmp(kept, op) == 0 || (has_cudnn && is_gpu_attention(kept) && is_gpu_attention(op));
}
