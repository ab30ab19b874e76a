/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a sweep, one row each (see input/config/fields/field.h).
 */
#ifndef MS_DECIDE_SWEEP_SWEEP_FIELD_LIST_H
#define MS_DECIDE_SWEEP_SWEEP_FIELD_LIST_H

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
    X("frontier", NULL, "only rows that fit and are on the Pareto front", NULL, \
      "Sweep", flag, AT(frontier)) \
    X("objectives", "LIST", \
      "for --frontier: columns to compare rows by", "expected_device_bytes,tokens_per_s", \
      "Sweep", objectives, AT(objectives), \
      .examples = MS_CONFIG_LIST("expected_device_bytes,tokens_per_s", \
                                 "peak_memory_bytes,step_time_ms")) \
    X("shard", "K/N", "only every N-th point, from the K-th; memscope merge joins shards", "1/1", \
      "Sweep", share, AT(share)) \
    X("jobs", "N", "points computed in parallel", "one per processor", \
      "Sweep", count, AT(jobs), .minimum = 1, .maximum = MS_ORDERED_MOST_THREADS, \
      .default_is_words = true) \
    X("format", "NAME", "csv or jsonl", "csv", \
      "Sweep", choice, AT(format), .choices = ms_row_format_names)
/* clang-format on */

#endif
