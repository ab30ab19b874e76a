/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole allocator histories of PyTorch, replayed: the reserved bytes must be the same after every
 * event, every block must lie at the same place, and the counters must agree wherever they were
 * read. The files say how they were measured.
 */
#include "core/allocator/allocator.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"
#include "unit/support.h"

typedef struct history {
    const char *label;
    const char *file;
} history;

static const history histories[] = {
    {"gpt2, autocast", "tests/oracle/allocator/gpt2.txt"},
    {"smollm2, foreach, clip, accumulate", "tests/oracle/allocator/smollm2.txt"},
    {"qwen3, expandable segments", "tests/oracle/allocator/qwen3_expandable.txt"},
    {"full device", "tests/oracle/allocator/full.txt"},
    {"full device, expandable segments", "tests/oracle/allocator/full_expandable.txt"},
    {"full device, max_split_size", "tests/oracle/allocator/full_max_split.txt"},
    {"roundup_power2_divisions", "tests/oracle/allocator/divisions.txt"},
};

typedef struct replay {
    ms_allocator_options options;
    ms_allocator *allocator;
    ms_vec(ms_block) blocks;
    uint64_t reserved_bytes;
    uint64_t base[2]; /* address of the first block, by pool when segments are expandable */
} replay;

static bool read_option(replay *r, const char *line)
{
    char name[32];
    uint64_t value;
    if (sscanf(line, "allocator %31s", name) == 1) {
        for (int kind = 0; kind < MS_ALLOCATOR_COUNT; kind++)
            if (strcmp(name, ms_allocator_names[kind]) == 0)
                r->options.kind = (ms_allocator_kind)kind;
    } else if (sscanf(line, "capacity %" SCNu64, &value) == 1) {
        r->options.capacity_bytes = value;
    } else if (sscanf(line, "max_split_size %" SCNu64, &value) == 1) {
        r->options.max_split_size_bytes = value;
    } else if (sscanf(line, "roundup_power2_divisions %" SCNu64, &value) == 1) {
        r->options.roundup_power2_divisions = (uint32_t)value;
    } else {
        return line[0] == '#';
    }
    return true;
}

static void check_address(replay *r, ms_block block, uint64_t bytes, uint64_t units)
{
    uint64_t address = ms_allocator_block_address(r->allocator, block);
    bool expandable = r->options.kind == MS_ALLOCATOR_CUDA_EXPANDABLE;
    uint64_t *base = &r->base[expandable && bytes <= 1 << 20];
    if (!*base)
        *base = address;
    assert_int_equal(address - *base, units * 512);
}

static void replay_allocate(replay *r, const char *line)
{
    uint64_t bytes, units;
    int fields =
        sscanf(line, "+ %" SCNu64 " %" SCNu64 " %" SCNu64, &bytes, &units, &r->reserved_bytes);
    assert_true(fields >= 2);
    ms_block block;
    assert_int_equal(ms_allocator_allocate(r->allocator, bytes, 0, &block), MS_OK);
    check_address(r, block, bytes, units);
    assert_true(ms_vec_push(&r->blocks, block));
}

static void replay_failure(replay *r, const char *line)
{
    uint64_t bytes;
    assert_true(sscanf(line, "! %" SCNu64 " %" SCNu64, &bytes, &r->reserved_bytes) >= 1);
    ms_block block;
    assert_int_equal(ms_allocator_allocate(r->allocator, bytes, 0, &block), MS_ERR_OVER_BUDGET);
}

static void replay_release(replay *r, const char *line)
{
    uint32_t number;
    assert_int_equal(sscanf(line, "- %" SCNu32, &number), 1);
    assert_true(number < r->blocks.count);
    ms_allocator_release(r->allocator, r->blocks.items[number]);
}

static void check_counters(const replay *r, const char *line)
{
    ms_allocator_stats expected;
    assert_int_equal(sscanf(line, "= %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                            &expected.allocated_bytes, &expected.requested_bytes,
                            &expected.reserved_bytes, &expected.inactive_split_bytes,
                            &expected.retries),
                     5);
    const ms_allocator_stats *stats = ms_allocator_stats_of(r->allocator);
    assert_int_equal(stats->allocated_bytes, expected.allocated_bytes);
    assert_int_equal(stats->requested_bytes, expected.requested_bytes);
    assert_int_equal(stats->reserved_bytes, expected.reserved_bytes);
    assert_int_equal(stats->inactive_split_bytes, expected.inactive_split_bytes);
    assert_int_equal(stats->retries, expected.retries);
}

static void replay_line(replay *r, const char *line)
{
    static const struct {
        char sign;
        void (*replay)(replay *r, const char *line);
    } signs[] = {{'+', replay_allocate}, {'-', replay_release}, {'!', replay_failure}};
    if (!r->allocator)
        assert_non_null(r->allocator = ms_allocator_create(&r->options));
    for (size_t i = 0; i < COUNT_OF(signs); i++)
        if (line[0] == signs[i].sign)
            signs[i].replay(r, line);
    if (line[0] == '=')
        check_counters(r, line);
    assert_int_equal(ms_allocator_stats_of(r->allocator)->reserved_bytes, r->reserved_bytes);
}

static void check_history(void **state)
{
    const history *h = *state;
    FILE *file = fopen(h->file, "r");
    assert_non_null(file);
    replay r = {0};
    char line[256];
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        if (!r.allocator && read_option(&r, line))
            continue;
        replay_line(&r, line);
    }
    assert_true(r.blocks.count > 1000);
    ms_allocator_free(r.allocator);
    ms_vec_free(&r.blocks);
    fclose(file);
}

int main(void)
{
    return run_rows("allocator histories of PyTorch", check_history, histories);
}
