/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a sweep's options, and the options that were set.
 */
#ifndef MS_DECIDE_SWEEP_SETTINGS_H
#define MS_DECIDE_SWEEP_SETTINGS_H

#include <stdbool.h>

#include "base/arena.h"
#include "decide/fit/fit.h"
#include "decide/sweep/row.h"
#include "input/config/fields/field.h"
#include "memscope/memscope.h"

/* clang-format off */
#define MS_SWEEP_FIELD_LIST(X) \
    X("runs", "FILE", \
      "CSV: a header of option names, then one run per line; - is standard input", "none", \
      "Sweep", text, AT(runs), .default_is_words = true) \
    X("fit", "NAME", \
      "find the largest batch, seq, rank or layers that fits, or the fewest gpus, for each point", "none", \
      "Sweep", largest, AT(fit), .choice_at = largest_at, .default_is_words = true) \
    X("step", "N", "for --fit: try only multiples of N", "1, for seq 64", \
      "Sweep", count, AT(step), .minimum = 1, .default_is_words = true) \
    X("frontier", NULL, "keep only rows that fit and are on the Pareto front", NULL, \
      "Sweep", flag, AT(frontier)) \
    X("objectives", "LIST", \
      "for --frontier: columns to compare rows by", "expected_device_bytes,tokens_per_s", \
      "Sweep", objectives, AT(objectives), \
      .examples = MS_CONFIG_LIST("expected_device_bytes,tokens_per_s", \
                                 "peak_memory_bytes,step_time_ms")) \
    X("shard", "K/N", "compute only every N-th point, from the K-th; memscope merge joins the shards", "1/1", \
      "Sweep", share, AT(share)) \
    X("jobs", "N", "points computed in parallel", "one per processor", \
      "Sweep", count, AT(jobs), .minimum = 1, .maximum = MS_ORDERED_MOST_THREADS, \
      .default_is_words = true) \
    X("format", "NAME", "csv or jsonl", "csv", \
      "Sweep", choice, AT(format), .choices = ms_row_format_names)

enum {
    MS_SWEEP_FIELD_COUNT = 0
#define MS_ONE_MORE(...) +1
    MS_SWEEP_FIELD_LIST(MS_ONE_MORE)
#undef MS_ONE_MORE
};

typedef struct ms_sweep_settings {
    uint64_t is_set[MS_CONFIG_WORDS(MS_SWEEP_FIELD_COUNT)];
    const char *runs; /* a CSV file, or NULL */
    const ms_fit_what *fit;
    uint64_t step; /* of the values of `fit`; 0: the default */
    union {
        struct {
            uint64_t shard, shards; /* index of this one, from 0, and number of shards */
        };
        uint64_t share[2];
    };
    uint64_t jobs; /* 0: one per processor */
    ms_row_format format;
    const char *objectives;
    bool frontier;
} ms_sweep_settings;

extern const ms_config_table ms_sweep_table;

/* Sets all options to their defaults. */
ms_status ms_sweep_settings_init(ms_sweep_settings *settings, ms_arena *arena, ms_error *err);
/* The default objectives of a frontier. */
const char *ms_sweep_usual_objectives(void);

/* Sets an option. Refuses an unknown field and an invalid value. Text is copied into the arena. */
ms_status ms_sweep_settings_set(ms_sweep_settings *settings, ms_arena *arena, const char *field,
                                const char *value, ms_error *err);
/* Refuses options that cannot be combined. */
ms_status ms_sweep_settings_check(const ms_sweep_settings *settings, ms_error *err);

#endif
