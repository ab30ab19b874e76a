/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Candidates are in the order in which forward leaves them, so those inside of a candidate come
 * right before it. Place i lies before candidate i. From a place one goes to the next one, with the
 * candidate between kept; or from the place before everything inside of a candidate to the one
 * behind it, with the candidate discarded in part. What such ways free and take by a place is an
 * envelope; what frees less than a row at the place needs is cut off.
 *
 * Prices say what the rest takes at least: rows earn what they still need, candidates what they
 * free. What exceeds the time asked for is cut off. Of more pieces than may be continued those go
 * on that promise most; the others lower the bound.
 *
 * A plan needs fractions between the corners of a curve only where a row is met exactly, so a piece
 * moves along one segment of one candidate. It is continued by corners; or one of its ends is, by
 * segments: whatever is steeper is left for later.
 */
#include "decide/plan/modules/labels.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "decide/plan/modules/candidates.h"

/* ---- envelope ---- */

/* The least time for at least so many freed bytes, as pieces of straight lines: what many partial
 * plans achieve together. A piece says that each number of bytes from `low` to `high` is freed in a
 * time that rises evenly. An envelope is a list of pieces by falling bytes, of which no part frees
 * no more than another part does in no more time. */

typedef struct ms_piece {
    double low, high, low_ms, high_ms; /* low = high: a point */
    uint32_t label;                    /* of the caller's */
} ms_piece;

typedef ms_vec(ms_piece) ms_pieces;

/* The time at so many bytes within the piece. */
static double piece_ms(const ms_piece *piece, double bytes)
{
    if (bytes <= piece->low)
        return piece->low_ms;
    if (bytes >= piece->high)
        return piece->high_ms;
    double slope = (piece->high_ms - piece->low_ms) / (piece->high - piece->low);
    return piece->low_ms + slope * (bytes - piece->low);
}

/* The part of a piece between two numbers of bytes within it. */
static ms_piece piece_part(const ms_piece *piece, double low, double high)
{
    return (ms_piece){low, high, piece_ms(piece, low), piece_ms(piece, high), piece->label};
}

/* One of the two envelopes, from right to left. */
typedef struct side {
    const ms_piece *next;
    uint32_t left;
    ms_piece piece; /* what is left of the current one */
    double flat_ms; /* of what is passed: frees more, in this time */
} side;

static void take_next(side *s)
{
    s->flat_ms = s->piece.low_ms;
    if (s->left > 0) {
        s->left--;
        s->piece = *s->next++;
    } else
        s->piece = (ms_piece){.low = -INFINITY, .high = -INFINITY};
}

static side begin(const ms_piece *pieces, uint32_t count)
{
    side s = {.next = pieces, .left = count};
    take_next(&s);
    s.flat_ms = INFINITY;
    return s;
}

static bool has_piece(const side *s)
{
    return s->piece.high > -INFINITY;
}

/* What lies above `low` is done with. */
static void pass(side *s, double low)
{
    if (low <= s->piece.low)
        take_next(s);
    else
        s->piece = piece_part(&s->piece, s->piece.low, low);
}

static bool emit(ms_pieces *out, uint32_t first, ms_piece piece)
{
    if (out->count > first) {
        ms_piece *last = &out->items[out->count - 1];
        if (last->label == piece.label && last->low == piece.high) {
            last->low = piece.low;
            last->low_ms = piece.low_ms;
            return true;
        }
    }
    return ms_vec_push(out, piece);
}

/* Bytes at which a line, given by its distance above another at both ends, crosses that one. */
static double crossing(double low, double high, double above_low, double above_high)
{
    double at = low + (high - low) * (above_low / (above_low - above_high));
    return at < low ? low : at > high ? high : at;
}

/* A part where the other envelope has no piece: what takes less time than what frees more there. */
static bool emit_alone(ms_pieces *out, uint32_t first, ms_piece part, double flat_ms)
{
    if (!(part.low_ms < flat_ms))
        return true;
    if (part.high_ms < flat_ms)
        return emit(out, first, part);
    double at = crossing(part.low, part.high, part.low_ms - flat_ms, part.high_ms - flat_ms);
    return emit(out, first, piece_part(&part, part.low, at));
}

/* The lower of two parts over the same bytes. */
static bool emit_lower(ms_pieces *out, uint32_t first, ms_piece a, ms_piece b)
{
    double above_low = a.low_ms - b.low_ms, above_high = a.high_ms - b.high_ms;
    if (above_low <= 0 && above_high <= 0)
        return emit(out, first, a);
    if (above_low >= 0 && above_high >= 0)
        return emit(out, first, b);
    double at = crossing(a.low, a.high, above_low, above_high);
    const ms_piece *right = above_high < 0 ? &a : &b, *left = above_high < 0 ? &b : &a;
    return emit(out, first, piece_part(right, at, a.high)) &&
           emit(out, first, piece_part(left, a.low, at));
}

/* Appends the envelope of two envelopes. False when out of memory. */
static bool envelope_merge(const ms_piece *a, uint32_t a_count, const ms_piece *b, uint32_t b_count,
                           ms_pieces *out)
{
    side sides[] = {begin(a, a_count), begin(b, b_count)};
    uint32_t first = out->count;
    bool is_fine = true;
    while (is_fine && (has_piece(&sides[0]) || has_piece(&sides[1]))) {
        side *s = &sides[sides[1].piece.high > sides[0].piece.high];
        side *other = s == sides ? &sides[1] : &sides[0];
        double low = s->piece.low;
        if (s->piece.high > other->piece.high) {
            low = low > other->piece.high ? low : other->piece.high;
            ms_piece part = piece_part(&s->piece, low, s->piece.high);
            is_fine = emit_alone(out, first, part, other->flat_ms);
            pass(s, low);
            continue;
        }
        low = low > other->piece.low ? low : other->piece.low;
        is_fine = emit_lower(out, first, piece_part(&s->piece, low, s->piece.high),
                             piece_part(&other->piece, low, other->piece.high));
        pass(s, low);
        pass(other, low);
    }
    return is_fine;
}

/* Appends the envelope of pieces in any order; `scratch` is emptied. False when out of memory. */
static bool envelope_build(const ms_piece *pieces, uint32_t count, ms_pieces *scratch,
                           ms_pieces *out)
{
    uint32_t first = out->count, half = count / 2;
    if (count <= 1)
        return count == 0 || ms_vec_push(out, pieces[0]);
    if (!envelope_build(pieces, half, scratch, out))
        return false;
    uint32_t middle = out->count;
    if (!envelope_build(pieces + half, count - half, scratch, out))
        return false;
    scratch->count = 0;
    if (!envelope_merge(&out->items[first], middle - first, &out->items[middle],
                        out->count - middle, scratch))
        return false;
    for (out->count = first; out->count - first < scratch->count; out->count++) {
        if (!ms_vec_reserve(out))
            return false;
        out->items[out->count] = scratch->items[out->count - first];
    }
    return true;
}

/* ---- promises ---- */

/* What a plan that is begun takes at least in the end, by prices of bytes: rows earn what they
 * still need, candidates what they free. */

/* Place i lies before candidate i, and the last place behind all. */
typedef struct ms_promises {
    const ms_candidates *candidates;
    const double *price;        /* by candidate: of a MiB, never rising, at least 0 */
    uint32_t *inside;           /* by candidate: candidates inside it */
    double *rest_ms, *needs_ms; /* by place: of candidates, and of rows, at prices */
} ms_promises;

static double price_at(const ms_promises *p, uint32_t place)
{
    return place < p->candidates->count ? p->price[place] / MS_MIB : 0;
}

/* The least that a plan takes which frees so much before a place in so many ms. */
static double promise_ms(const ms_promises *p, uint32_t place, double bytes, double ms)
{
    return ms + p->rest_ms[place] + p->needs_ms[place] - price_at(p, place) * bytes;
}

/* What the last row needs that is at a place or before it. */
static double promise_need(const ms_promises *p, uint32_t place)
{
    const ms_candidates *c = p->candidates;
    uint32_t low = 0, high = c->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->rows[middle].before <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? (double)c->rows[low - 1].need_bytes : 0;
}

static double least_ms(const ms_promises *p, const ms_curves *curves, uint32_t candidate)
{
    double least = INFINITY, price = price_at(p, candidate);
    for (uint32_t k = curves->first[candidate]; k < curves->first[candidate + 1]; k++) {
        double ms = curves->points[k].ms - price * curves->points[k].bytes;
        least = ms < least ? ms : least;
    }
    return least;
}

/* From the last place on: either nothing of a candidate is discarded, or a part of it and nothing
 * inside it. */
static void find_rest(ms_promises *p, const ms_curves *curves)
{
    const ms_candidates *c = p->candidates;
    uint32_t row = c->row_count;
    double needs = 0;
    for (uint32_t i = 0; i < c->count; i++)
        p->rest_ms[i] = INFINITY;
    p->rest_ms[c->count] = p->needs_ms[c->count] = 0;
    for (uint32_t i = c->count; i-- > 0;) {
        double with = least_ms(p, curves, i) + p->rest_ms[i + 1];
        double *rest = &p->rest_ms[i - p->inside[i]];
        *rest = with < *rest ? with : *rest;
        rest = &p->rest_ms[i];
        *rest = p->rest_ms[i + 1] < *rest ? p->rest_ms[i + 1] : *rest;
        for (; row > 0 && c->rows[row - 1].before == i + 1; row--)
            needs += (price_at(p, i) - price_at(p, i + 1)) * (double)c->rows[row - 1].need_bytes;
        p->needs_ms[i] = needs;
    }
}

/* Allocates in the arena. */
static ms_status promises_make(ms_arena *arena, const ms_candidates *candidates,
                               const ms_curves *curves, const double *price, ms_promises *promises)
{
    uint32_t count = candidates->count;
    *promises = (ms_promises){.candidates = candidates, .price = price};
    promises->inside = ms_arena_array(arena, uint32_t, count);
    promises->rest_ms = ms_arena_array(arena, double, count + (size_t)1);
    promises->needs_ms = ms_arena_array(arena, double, count + (size_t)1);
    if (!promises->inside || !promises->rest_ms || !promises->needs_ms)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++) /* from the inside out */
        if (candidates->items[i].around != MS_NO_CANDIDATE)
            promises->inside[candidates->items[i].around] += promises->inside[i] + 1;
    find_rest(promises, curves);
    return MS_OK;
}

/* ---- labels ---- */

#define NO_LABEL UINT32_MAX

enum { MOST_LABELS = 6000000, MOST_FRESH = 2000000, FEWEST_PIECES = 16 };

/* How a piece came about. */
typedef struct label {
    double base;     /* bytes: of a segment, what the parent frees; else of the corner */
    uint32_t parent; /* or NO_LABEL: nothing is discarded */
    uint32_t candidate : 31, is_segment : 1;
} label;

typedef struct stored {
    uint32_t place, uses;
    ms_pieces pieces;
} stored;

typedef struct labelling {
    const ms_candidates *candidates;
    const ms_labels_options *options;
    ms_curves curves;
    ms_promises promises;
    uint32_t most_points;                /* of a curve */
    uint32_t *uses;                      /* by place: candidates that begin there and hold others */
    ms_pieces now, fresh, next, scratch; /* at the place; from it; at the next one */
    ms_vec(label) labels, fresh_labels;
    ms_vec(stored) stored;
    uint32_t *kept_label; /* by fresh label */
    double *by_promise;   /* scratch space: by piece */
    uint32_t by_promise_count;
    double dropped_ms; /* the least that a dropped piece might have come to */
} labelling;

/* ---- cutting off ---- */

/* Cuts off what promises too little. False when nothing is left. */
static bool cut_piece(const labelling *l, uint32_t place, ms_piece *piece)
{
    double below = l->options->below_ms;
    double low = promise_ms(&l->promises, place, piece->low, piece->low_ms) - below;
    double high = promise_ms(&l->promises, place, piece->high, piece->high_ms) - below;
    if (low >= 0 && high >= 0)
        return false;
    if (low < 0 && high < 0)
        return true;
    double at = piece->low + (piece->high - piece->low) * (low / (low - high));
    *piece = low < 0 ? piece_part(piece, piece->low, at) : piece_part(piece, at, piece->high);
    return true;
}

/* Cuts off what frees less than so much. False when nothing is left. */
static bool cut_low(ms_piece *piece, double bytes)
{
    if (piece->high < bytes)
        return false;
    if (piece->low < bytes)
        *piece = piece_part(piece, bytes, piece->high);
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double promise_of(const labelling *l, uint32_t place, const ms_piece *piece)
{
    double low = promise_ms(&l->promises, place, piece->low, piece->low_ms);
    double high = promise_ms(&l->promises, place, piece->high, piece->high_ms);
    return low < high ? low : high;
}

/* Keeps the pieces that promise most, so many or a few more. */
static bool drop_pieces(labelling *l, uint32_t place, uint32_t most)
{
    ms_pieces *pieces = &l->next;
    if (pieces->count <= most)
        return true;
    if (l->by_promise_count < pieces->count) {
        double *larger = realloc(l->by_promise, pieces->count * sizeof *larger);
        if (!larger)
            return false;
        l->by_promise = larger;
        l->by_promise_count = pieces->count;
    }
    for (uint32_t i = 0; i < pieces->count; i++)
        l->by_promise[i] = promise_of(l, place, &pieces->items[i]);
    qsort(l->by_promise, pieces->count, sizeof *l->by_promise, compare_numbers);
    double last = l->by_promise[most - 1];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pieces->count; i++) {
        double here = promise_of(l, place, &pieces->items[i]);
        if (here <= last && kept < most)
            pieces->items[kept++] = pieces->items[i];
        else if (here < l->dropped_ms)
            l->dropped_ms = here;
    }
    pieces->count = kept;
    return true;
}

/* ---- continuing ---- */

static bool add_fresh(labelling *l, uint32_t candidate, ms_piece piece, label from)
{
    if (!(piece.high > piece.low))
        piece.high_ms = piece.low_ms;
    if (!cut_piece(l, candidate + 1, &piece))
        return true;
    piece.label = l->labels.count + l->fresh_labels.count;
    return ms_vec_push(&l->fresh_labels, from) && ms_vec_push(&l->fresh, piece);
}

static bool add_corner(labelling *l, uint32_t candidate, const ms_piece *from,
                       const ms_curve_point *at)
{
    ms_piece piece = {from->low + at->bytes, from->high + at->bytes, from->low_ms + at->ms,
                      from->high_ms + at->ms, 0};
    return add_fresh(l, candidate, piece,
                     (label){at->bytes, from->label, candidate & INT32_MAX, false});
}

static bool add_segment(labelling *l, uint32_t candidate, const ms_piece *from, bool is_high,
                        const ms_curve_point *at)
{
    double bytes = is_high ? from->high : from->low, ms = is_high ? from->high_ms : from->low_ms;
    ms_piece piece = {bytes + at[0].bytes, bytes + at[1].bytes, ms + at[0].ms, ms + at[1].ms, 0};
    return add_fresh(l, candidate, piece, (label){bytes, from->label, candidate & INT32_MAX, true});
}

static bool is_steeper(const ms_piece *piece, const ms_curve_point *at)
{
    return (piece->high_ms - piece->low_ms) * (at[1].bytes - at[0].bytes) >
           (at[1].ms - at[0].ms) * (piece->high - piece->low);
}

/* A candidate is discarded in part after what a piece stands for. */
static bool extend(labelling *l, uint32_t candidate, const ms_piece *from)
{
    const uint32_t first = l->curves.first[candidate], end = l->curves.first[candidate + 1];
    const ms_curve_point *at = &l->curves.points[first];
    uint32_t last = end - first - 1, k = 0;
    bool is_fine = true, is_point = !(from->high > from->low);
    for (; k < last && !is_point && is_steeper(from, &at[k]); k++)
        is_fine = is_fine && add_segment(l, candidate, from, false, &at[k]);
    if (!is_point || last == 0)
        is_fine = is_fine && add_corner(l, candidate, from, &at[k]);
    for (; k < last; k++)
        is_fine = is_fine && add_segment(l, candidate, from, true, &at[k]);
    return is_fine;
}

static bool extend_all(labelling *l, uint32_t candidate, const ms_pieces *from)
{
    double need = promise_need(&l->promises, candidate);
    bool is_fine = true;
    l->fresh.count = l->fresh_labels.count = 0;
    for (uint32_t i = 0; i < from->count && is_fine; i++) {
        ms_piece piece = from->items[i];
        if (cut_low(&piece, need))
            is_fine = extend(l, candidate, &piece);
    }
    return is_fine;
}

/* Labels of pieces that go on are kept for good. */
static bool keep_labels(labelling *l)
{
    uint32_t first = l->labels.count, fresh = l->fresh_labels.count;
    uint32_t *kept = realloc(l->kept_label, (fresh + (size_t)1) * sizeof *kept);
    if (!kept)
        return false;
    l->kept_label = kept;
    memset(kept, 0xff, fresh * sizeof *kept);
    for (uint32_t i = 0; i < l->next.count; i++) {
        uint32_t *of = &l->next.items[i].label;
        if (*of == NO_LABEL || *of < first)
            continue;
        uint32_t *to = &kept[*of - first];
        if (*to == NO_LABEL) {
            *to = l->labels.count;
            if (!ms_vec_push(&l->labels, l->fresh_labels.items[*of - first]))
                return false;
        }
        *of = *to;
    }
    return true;
}

static void cut_all(labelling *l, uint32_t place)
{
    double need = promise_need(&l->promises, place);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->next.count; i++) {
        ms_piece piece = l->next.items[i];
        if (cut_low(&piece, need) && cut_piece(l, place, &piece))
            l->next.items[kept++] = piece;
    }
    l->next.count = kept;
}

static uint32_t most_pieces(const labelling *l, uint32_t candidate)
{
    uint32_t left = l->labels.count < MOST_LABELS ? MOST_LABELS - l->labels.count : 0;
    uint32_t each = left / (l->candidates->count - candidate);
    each = each < MOST_FRESH / l->most_points ? each : MOST_FRESH / l->most_points;
    each = each > FEWEST_PIECES ? each : FEWEST_PIECES;
    return each < l->options->most_pieces ? each : l->options->most_pieces;
}

/* ---- places that are needed again ---- */

static bool store(labelling *l, uint32_t place)
{
    stored here = {.place = place, .uses = l->uses[place]};
    for (uint32_t i = 0; i < l->now.count; i++)
        if (!ms_vec_push(&here.pieces, l->now.items[i])) {
            ms_vec_free(&here.pieces);
            return false;
        }
    if (ms_vec_push(&l->stored, here))
        return true;
    ms_vec_free(&here.pieces);
    return false;
}

static void drop_stored(labelling *l)
{
    stored *last = &l->stored.items[l->stored.count - 1];
    if (--last->uses > 0)
        return;
    ms_vec_free(&last->pieces);
    l->stored.count--;
}

/* From the place before a candidate to the one behind it. */
static bool advance(labelling *l, uint32_t candidate)
{
    if (l->uses[candidate] > 0 && !store(l, candidate))
        return false;
    bool holds_any = l->promises.inside[candidate] > 0;
    const ms_pieces *from = holds_any ? &l->stored.items[l->stored.count - 1].pieces : &l->now;
    if (!extend_all(l, candidate, from))
        return false;
    if (holds_any)
        drop_stored(l);
    l->next.count = 0;
    ms_pieces built = {0};
    bool is_fine = envelope_build(l->fresh.items, l->fresh.count, &l->scratch, &built) &&
                   envelope_merge(l->now.items, l->now.count, built.items, built.count, &l->next);
    ms_vec_free(&built);
    if (!is_fine)
        return false;
    cut_all(l, candidate + 1);
    if (!drop_pieces(l, candidate + 1, most_pieces(l, candidate)) || !keep_labels(l))
        return false;
    ms_pieces swapped = l->now;
    l->now = l->next;
    l->next = swapped;
    return true;
}

/* ---- the answer ---- */

static void read_plan(const labelling *l, const ms_piece *best, uint32_t *parts)
{
    double bytes = best->low;
    memset(parts, 0, l->candidates->task->graph->count * sizeof *parts);
    for (uint32_t i = best->label; i != NO_LABEL;) {
        const label *here = &l->labels.items[i];
        double own = here->is_segment ? bytes - here->base : here->base;
        const ms_candidate *candidate = &l->candidates->items[here->candidate];
        if (own > 0)
            parts[candidate->index] =
                ms_candidate_parts(candidate->module, (uint64_t)ceil(own - 1e-3));
        bytes -= own;
        i = here->parent;
    }
}

static ms_status run(labelling *l, ms_labels *labels)
{
    uint32_t count = l->candidates->count;
    l->dropped_ms = INFINITY;
    if (!ms_vec_push(&l->now, (ms_piece){.label = NO_LABEL}))
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (ms_deadline_reached(l->options->limit))
            return MS_OK;
        if (!advance(l, i))
            return MS_ERR_NOMEM;
    }
    double bound = l->dropped_ms;
    labels->is_complete = bound == INFINITY;
    if (l->now.count > 0) {
        const ms_piece *best = &l->now.items[l->now.count - 1];
        labels->has_plan = true;
        bound = best->low_ms < bound ? best->low_ms : bound;
        read_plan(l, best, labels->parts);
    }
    bound = bound < l->options->below_ms ? bound : l->options->below_ms;
    labels->bound_ms = bound * (1 - 1e-8); /* less what rounding may add */
    return MS_OK;
}

static ms_status prepare(labelling *l, ms_arena *arena)
{
    const ms_candidates *c = l->candidates;
    l->uses = ms_arena_array(arena, uint32_t, c->count);
    ms_status status = ms_curves_make(arena, c, l->options->below_ms, &l->curves);
    if (status == MS_OK)
        status = promises_make(arena, c, &l->curves, l->options->price, &l->promises);
    if (status != MS_OK || !l->uses)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t points = l->curves.first[i + 1] - l->curves.first[i];
        l->most_points = points > l->most_points ? points : l->most_points;
        l->uses[i - l->promises.inside[i]] += l->promises.inside[i] > 0;
    }
    return MS_OK;
}

ms_status ms_labels_find(ms_arena *arena, const ms_candidates *candidates,
                         const ms_labels_options *options, ms_labels *labels)
{
    labelling l = {.candidates = candidates, .options = options};
    labels->has_plan = labels->is_complete = false;
    labels->bound_ms = -INFINITY;
    ms_status status = prepare(&l, arena);
    if (status == MS_OK)
        status = run(&l, labels);
    for (uint32_t i = 0; i < l.stored.count; i++)
        ms_vec_free(&l.stored.items[i].pieces);
    ms_vec_free(&l.stored);
    ms_vec_free(&l.now);
    ms_vec_free(&l.fresh);
    ms_vec_free(&l.next);
    ms_vec_free(&l.scratch);
    ms_vec_free(&l.labels);
    ms_vec_free(&l.fresh_labels);
    free(l.by_promise);
    free(l.kept_label);
    return status;
}
