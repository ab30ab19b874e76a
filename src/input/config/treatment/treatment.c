/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/treatment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json/number.h"
#include "input/config/treatment/layers.h"
#include "input/config/treatment/row.h"

/* ---- layer items ---- */

/* Items "layers=treatment" of a specification as they are applied, one after another. */

/* `chosen` and `sizes` have room for each layer, and begin zeroed. */
typedef struct ms_layer_items {
    ms_treatments *out;
    uint64_t count; /* of layers */
    bool *chosen;
    uint64_t *sizes; /* by layer: how many layers the item names that named it last; 0: none */
} ms_layer_items;

/* The failure of an item that is there twice, with two treatments. */
static ms_status layer_items_refuse(const char *layers, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "'%.40s' is given twice, with two treatments; a later item may only name some "
                   "of an earlier item's layers",
                   layers);
}

static bool may_follow(const ms_layer_items *items, const ms_treatment *treatment, uint64_t size)
{
    bool replaces = false, has_new = false;
    for (uint64_t i = 0; i < items->count; i++) {
        if (!items->chosen[i])
            continue;
        has_new = has_new || items->sizes[i] == 0;
        if (items->sizes[i] == 0 || ms_treatment_equal(&items->out->layers[i], treatment))
            continue;
        replaces = true;
        if (items->sizes[i] <= size)
            return false;
    }
    return !replaces || !has_new;
}

/* Treats the layers that the text names (layers.h). Fails where an earlier item gave one of them
 * another treatment, unless this is an exception from it: that item names more layers, and earlier
 * ones name all of these. */
static ms_status layer_items_treat(ms_layer_items *items, const char *layers,
                                   const ms_treatment *treatment, ms_error *err)
{
    uint64_t size = 0;
    ms_status status = ms_layer_list_select(layers, items->count, items->chosen, err);
    if (status != MS_OK)
        return status;
    for (uint64_t i = 0; i < items->count; i++)
        size += items->chosen[i];
    if (!may_follow(items, treatment, size))
        return layer_items_refuse(layers, err);
    for (uint64_t i = 0; i < items->count; i++) {
        if (!items->chosen[i])
            continue;
        items->out->layers[i] = *treatment;
        items->sizes[i] = size;
    }
    return MS_OK;
}

/* ---- treatment equal ---- */

bool ms_treatment_equal(const ms_treatment *a, const ms_treatment *b)
{
    if (a->kind != b->kind || a->input != b->input ||
        memcmp(a->parts, b->parts, sizeof a->parts) != 0 || a->kept_count != b->kept_count ||
        a->share < b->share || a->share > b->share)
        return false;
    for (uint32_t i = 0; i < a->kept_count; i++)
        if (strcmp(a->kept_ops[i].name, b->kept_ops[i].name) != 0 ||
            a->kept_ops[i].occurrence != b->kept_ops[i].occurrence)
            return false;
    return true;
}

/* ---- treatment text ---- */

/* The words of the loss's treatment in a specification: "loss=chunk:8". */
#define MS_LOSS_WORD "loss"
#define MS_CHUNK_WORD "chunk:"

static const char *share_text(const ms_treatment *t, ms_arena *arena)
{
    uint64_t parts = (uint64_t)(t->share * 1e6 + 0.5);
    char digits[16];
    snprintf(digits, sizeof digits, "%06" PRIu64, parts % 1000000);
    for (size_t i = strlen(digits); i > 0 && digits[i - 1] == '0'; i--)
        digits[i - 1] = '\0';
    return ms_arena_printf(arena, "%s:%" PRIu64 "%s%s", ms_treatment_kinds[t->kind].word,
                           parts / 1000000, *digits ? "." : "", digits);
}

static const char *kept_text(const ms_treatment *t, ms_arena *arena)
{
    const char *text = ms_arena_printf(arena, "%s:", ms_treatment_kinds[t->kind].word);
    for (uint32_t i = 0; text && i < t->kept_count; i++) {
        const ms_kept_op *op = &t->kept_ops[i];
        if (op->occurrence == UINT32_MAX)
            text = ms_arena_printf(arena, "%s%s%s", text, i ? "+" : "", op->name);
        else
            text = ms_arena_printf(arena, "%s%s%s#%" PRIu32, text, i ? "+" : "", op->name,
                                   op->occurrence);
    }
    return text;
}

/* "text+tile:4"; parts of a layer that is kept stand alone. */
static const char *with_part(const char *text, const ms_part_row *row, uint32_t count,
                             ms_arena *arena)
{
    if (!text || count == 0)
        return text;
    bool is_kept = strcmp(text, ms_treatment_kinds[MS_TREAT_KEEP].word) == 0;
    const char *before = is_kept ? "" : text, *plus = is_kept ? "" : "+";
    if (!row->has_pieces)
        return ms_arena_printf(arena, "%s%s%s", before, plus, row->word);
    return ms_arena_printf(arena, "%s%s%s:%" PRIu32, before, plus, row->word, count);
}

const char *ms_treatment_text(const ms_treatment *t, ms_arena *arena)
{
    const char *text = t->kept_count > 0 ? kept_text(t, arena)
                       : t->share > 0    ? share_text(t, arena)
                                         : ms_treatment_kinds[t->kind].word;
    if (text && t->input != MS_INPUT_ON_DEVICE)
        text = ms_arena_printf(arena, "%s+%s", text, ms_input_places[t->input].word);
    for (int i = 0; i < MS_PART_COUNT; i++)
        text = with_part(text, ms_treatment_parts[i], t->parts[i], arena);
    return text;
}

const char *ms_treatments_text(const ms_treatments *treatments, uint64_t num_layers,
                               ms_arena *arena)
{
    static const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    const char *text = "";
    for (uint64_t i = 0, end; text && i < num_layers; i = end) {
        const ms_treatment *t = &treatments->layers[i];
        for (end = i + 1; end < num_layers && ms_treatment_equal(t, &treatments->layers[end]);)
            end++;
        if (ms_treatment_equal(t, &keep))
            continue;
        const char *what = ms_treatment_text(t, arena), *comma = *text ? "," : "";
        if (!what)
            return NULL;
        if (end - i == 1)
            text = ms_arena_printf(arena, "%s%s%" PRIu64 "=%s", text, comma, i, what);
        else
            text = ms_arena_printf(arena, "%s%s%" PRIu64 "-%" PRIu64 "=%s", text, comma, i, end - 1,
                                   what);
    }
    if (!text || treatments->loss_chunks == 0)
        return text;
    return ms_arena_printf(arena, "%s%s%s=%s%" PRIu32, text, *text ? "," : "", MS_LOSS_WORD,
                           MS_CHUNK_WORD, treatments->loss_chunks);
}

/* ---- treatment ---- */

enum { MS_MOST_TILES = 1024, MS_MOST_KEPT_OPS = 256 };

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
            return layer_items_refuse(layers, r->err);
        r->loss_chunks = chunks;
        if (set)
            set->out->loss_chunks = chunks;
        return MS_OK;
    }
    ms_status status = read_treatment(r, action);
    if (status != MS_OK)
        return status;
    return set ? layer_items_treat(set, layers, &r->treatment, r->err)
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
