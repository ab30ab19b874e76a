/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/prefetch.h"

#include <string.h>

#include "base/json/number.h"

static ms_status refuse(const char *text, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "prefetch: found '%.40s', expected numbers from 1 on: N, FIRST:LAST, "
                   "FIRST:LAST:+STEP or FIRST:LAST:*FACTOR, separated by commas",
                   text);
}

/* Keeps the list ascending, and each count once. */
static ms_status add(ms_stream_prefetches *list, uint64_t count, ms_error *err)
{
    uint32_t at = list->counts.count;
    while (at > 0 && list->counts.items[at - 1] >= count)
        at--;
    if (at < list->counts.count && list->counts.items[at] == count)
        return MS_OK;
    if (list->counts.count == MS_STREAM_MOST_ROWS)
        return ms_fail(err, MS_ERR_USAGE, "prefetch: more than %d numbers", MS_STREAM_MOST_ROWS);
    if (!ms_vec_push(&list->counts, count))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list of prefetches");
    memmove(&list->counts.items[at + 1], &list->counts.items[at],
            (list->counts.count - 1 - at) * sizeof count);
    list->counts.items[at] = count;
    return MS_OK;
}

typedef struct range {
    uint64_t first, last, step;
    bool multiplies;
} range;

static bool read_number(const char **at, uint64_t *number)
{
    size_t length = strspn(*at, "0123456789");
    bool is_one = ms_number_count(*at, length, number) == MS_COUNT_OK;
    *at += length;
    return is_one;
}

/* Up to a comma or the end. */
static bool read_range(const char **at, range *r)
{
    *r = (range){.step = 1};
    if (!read_number(at, &r->first))
        return false;
    r->last = r->first;
    if (**at == ':') {
        ++*at;
        if (!read_number(at, &r->last))
            return false;
    }
    if (**at == ':' && ((*at)[1] == '*' || (*at)[1] == '+')) {
        r->multiplies = (*at)[1] == '*';
        *at += 2;
        if (!read_number(at, &r->step))
            return false;
    }
    bool has_end = **at == ',' || **at == '\0';
    return has_end && r->first >= 1 && r->last >= r->first && r->step >= 1u + r->multiplies;
}

static ms_status add_range(ms_stream_prefetches *list, const range *r, ms_error *err)
{
    uint64_t count = r->first;
    ms_status status = add(list, count, err);
    for (;;) {
        bool ends = r->multiplies ? count > r->last / r->step : r->last - count < r->step;
        if (ends || status != MS_OK)
            return status;
        count = r->multiplies ? count * r->step : count + r->step;
        status = add(list, count, err);
    }
}

ms_status ms_stream_prefetch_read(const char *text, ms_stream_prefetches *list, ms_error *err)
{
    const char *at = text;
    ms_status status = MS_OK;
    *list = (ms_stream_prefetches){0};
    for (bool more = true; more && status == MS_OK; at += more) {
        range r;
        status = read_range(&at, &r) ? add_range(list, &r, err) : refuse(text, err);
        more = *at == ',';
    }
    if (status != MS_OK)
        ms_stream_prefetch_free(list);
    return status;
}

void ms_stream_prefetch_free(ms_stream_prefetches *list)
{
    ms_vec_free(&list->counts);
}
