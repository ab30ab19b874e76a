/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/treatment/treatment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/treatment/layers.h"
#include "json/number.h"

const char *const ms_treatment_names[] = {
    [MS_TREAT_KEEP] = "keep",
    [MS_TREAT_CHECKPOINT] = "checkpoint",
    [MS_TREAT_SELECTIVE] = "selective",
    [MS_TREAT_OFFLOAD] = "offload",
};

/* Behind "+". */
static const char *const input_places[] = {
    [MS_INPUT_ON_DEVICE] = NULL,
    [MS_INPUT_OFFLOADED] = "offload",
    [MS_INPUT_SAVED_ON_CPU] = "save_on_cpu",
};

static const char mlp_word[] = "checkpoint-mlp",
                  tile_word[] = "tile:", attention_word[] = "tile-attention:", loss_word[] = "loss",
                  chunk_word[] = "chunk:";

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
} reader;

static ms_status fail_wording(reader *r, piece p)
{
    return ms_fail(r->err, MS_ERR_USAGE,
                   "'%.*s' is not a treatment; write keep, checkpoint, selective:mm+silu, "
                   "checkpoint+offload, checkpoint-mlp, offload:0.5, tile:4, tile-attention:4, or "
                   "loss=chunk:8",
                   (int)(p.length < 60 ? p.length : 60), p.text);
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

/* ATen's full names of operators that go by a shorter one here. */
static const char *const aten_names[][2] = {
    {"_scaled_dot_product_flash_attention", "flash_attention"},
    {"_scaled_dot_product_efficient_attention", "efficient_attention"},
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
    if (t->input != MS_INPUT_ON_DEVICE ||
        (t->kind != MS_TREAT_CHECKPOINT && t->kind != MS_TREAT_SELECTIVE))
        return false;
    for (int i = MS_INPUT_ON_DEVICE + 1; i < MS_INPUT_PLACE_COUNT; i++)
        if (piece_is(p, input_places[i]))
            t->input = (ms_input_place)i;
    return t->input != MS_INPUT_ON_DEVICE;
}

/* What stands between two "+". */
static ms_status read_part(reader *r, piece p, bool is_first)
{
    ms_treatment *t = &r->treatment;
    piece rest;
    if (piece_starts(p, tile_word, &rest) && t->tiles == 0 && !t->mlp_checkpoint)
        return read_pieces(rest, &t->tiles) ? MS_OK : fail_wording(r, p);
    if (piece_starts(p, attention_word, &rest) && t->attention_tiles == 0)
        return read_pieces(rest, &t->attention_tiles) ? MS_OK : fail_wording(r, p);
    if (!is_first && read_input_place(t, p))
        return MS_OK;
    if (!is_first)
        return t->kind == MS_TREAT_SELECTIVE && t->share == 0 ? read_op(r, p) : fail_wording(r, p);
    if (piece_is(p, "keep"))
        return MS_OK;
    t->mlp_checkpoint = piece_is(p, mlp_word);
    if (t->mlp_checkpoint)
        return MS_OK;
    if (piece_is(p, "checkpoint")) {
        t->kind = MS_TREAT_CHECKPOINT;
        return MS_OK;
    }
    if (piece_starts(p, "offload:", &rest) && read_share(rest, &t->share)) {
        t->kind = MS_TREAT_OFFLOAD;
        return MS_OK;
    }
    if (!piece_starts(p, "selective:", &rest))
        return fail_wording(r, p);
    t->kind = MS_TREAT_SELECTIVE;
    return read_share(rest, &t->share) ? MS_OK : read_op(r, rest);
}

static ms_status read_treatment(reader *r, piece text)
{
    r->treatment = (ms_treatment){.kind = MS_TREAT_KEEP};
    ms_status status = MS_OK;
    bool is_first = true;
    do {
        bool more = memchr(text.text, '+', text.length) != NULL;
        status = read_part(r, cut(&text, '+'), is_first);
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

/* One "layers=treatment"; `chosen` has room for a flag per layer, NULL when only the wording is
 * looked at. */
static ms_status apply_item(reader *r, const char *layers, piece action, uint64_t num_layers,
                            bool *chosen, ms_treatments *out)
{
    piece rest;
    uint32_t chunks;
    if (strcmp(layers, loss_word) == 0) {
        if (!piece_starts(action, chunk_word, &rest) || !read_pieces(rest, &chunks))
            return fail_wording(r, action);
        if (out)
            out->loss_chunks = chunks;
        return MS_OK;
    }
    ms_status status = read_treatment(r, action);
    if (status == MS_OK)
        status = chosen ? ms_layer_list_select(layers, num_layers, chosen, r->err)
                        : ms_layer_list_check(layers, r->err);
    for (uint64_t i = 0; status == MS_OK && chosen && i < num_layers; i++)
        if (chosen[i])
            out->layers[i] = r->treatment;
    return status;
}

/* Items end at a comma; one without "=" names more layers of the item behind it. */
static ms_status read_all(reader *r, const char *text, uint64_t num_layers, bool *chosen,
                          ms_treatments *out)
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
        ms_status status = apply_item(r, layers, (piece){action, length}, num_layers, chosen, out);
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
    return read_all(&r, text, 0, NULL, NULL);
}

ms_status ms_treatments_apply(const char *text, ms_arena *arena, uint64_t num_layers,
                              ms_treatments *treatments, ms_error *err)
{
    reader r = {.arena = arena, .err = err};
    bool *chosen = ms_arena_array(arena, bool, num_layers);
    if (!chosen)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers", num_layers);
    return read_all(&r, text, num_layers, chosen, treatments);
}

/* ---- back to text ---- */

bool ms_treatment_sends(const ms_treatment *treatment)
{
    return treatment->kind == MS_TREAT_OFFLOAD || treatment->input != MS_INPUT_ON_DEVICE;
}

bool ms_treatment_equal(const ms_treatment *a, const ms_treatment *b)
{
    if (a->kind != b->kind || a->input != b->input || a->mlp_checkpoint != b->mlp_checkpoint ||
        a->tiles != b->tiles || a->attention_tiles != b->attention_tiles ||
        a->kept_count != b->kept_count || a->share < b->share || a->share > b->share)
        return false;
    for (uint32_t i = 0; i < a->kept_count; i++)
        if (strcmp(a->kept_ops[i].name, b->kept_ops[i].name) != 0 ||
            a->kept_ops[i].occurrence != b->kept_ops[i].occurrence)
            return false;
    return true;
}

static const char *share_text(const ms_treatment *t, ms_arena *arena)
{
    uint64_t parts = (uint64_t)(t->share * 1e6 + 0.5);
    char digits[16];
    snprintf(digits, sizeof digits, "%06" PRIu64, parts % 1000000);
    for (size_t i = strlen(digits); i > 0 && digits[i - 1] == '0'; i--)
        digits[i - 1] = '\0';
    return ms_arena_printf(arena, "%s:%" PRIu64 "%s%s", ms_treatment_names[t->kind],
                           parts / 1000000, *digits ? "." : "", digits);
}

static const char *kept_text(const ms_treatment *t, ms_arena *arena)
{
    const char *text = ms_arena_printf(arena, "%s:", ms_treatment_names[t->kind]);
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

/* "text+tile:4"; pieces of a layer that is kept stand alone. */
static const char *with_tiles(const char *text, const char *word, uint32_t tiles, ms_arena *arena)
{
    if (!text || tiles == 0)
        return text;
    bool is_kept = strcmp(text, ms_treatment_names[MS_TREAT_KEEP]) == 0;
    return ms_arena_printf(arena, "%s%s%s%" PRIu32, is_kept ? "" : text, is_kept ? "" : "+", word,
                           tiles);
}

const char *ms_treatment_text(const ms_treatment *t, ms_arena *arena)
{
    const char *text = t->kept_count > 0   ? kept_text(t, arena)
                       : t->share > 0      ? share_text(t, arena)
                       : t->mlp_checkpoint ? mlp_word
                                           : ms_treatment_names[t->kind];
    if (text && t->input != MS_INPUT_ON_DEVICE)
        text = ms_arena_printf(arena, "%s+%s", text, input_places[t->input]);
    text = with_tiles(text, tile_word, t->tiles, arena);
    return with_tiles(text, attention_word, t->attention_tiles, arena);
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
    return ms_arena_printf(arena, "%s%s%s=%s%" PRIu32, text, *text ? "," : "", loss_word,
                           chunk_word, treatments->loss_chunks);
}
