/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file of budgets: what is accepted has names, a run each and limits that have a place.
 */
#include <assert.h>

#include "fuzz/fuzz.h"
#include "decide/check/budgets.h"

static void check_limit(const ms_budget_limit *limit)
{
    assert(!limit->text || (limit->place && limit->place->line > 0));
    assert(!limit->text || limit->amount.has_bytes || limit->amount.has_share);
}

static void read_budgets(ms_arena *arena, ms_json_value root, ms_error *err)
{
    ms_budgets budgets;
    if (ms_budgets_read(arena, root, "fuzz.json", &budgets, err) != MS_OK) {
        assert(err->text[0]);
        return;
    }
    assert(budgets.count > 0);
    for (uint32_t i = 0; i < budgets.count; i++) {
        const ms_budget *b = &budgets.items[i];
        assert(b->name && b->place && b->config_place && !b->config == !!b->run.document);
        check_limit(&b->limits.max);
        check_limit(&b->limits.warn);
        check_limit(&b->limits.increase);
        assert(b->limits.measure < MS_MEASURE_COUNT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_arena *arena = ms_arena_create(8 << 20);
    ms_error err = {0};
    if (arena && ms_json_parse(&source, &document, &err) == MS_OK)
        read_budgets(arena, ms_json_root(document), &err);
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
