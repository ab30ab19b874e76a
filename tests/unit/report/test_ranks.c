/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which of several ranks is the worst, and how equal ones are told.
 */
#include <string.h>

#include "memscope/ranks.h"
#include "unit/support.h"

/* Texts stand without parentheses: they begin arrays. NOLINTBEGIN(bugprone-macro-parentheses) */
#define RANK(number, peak, reserved, how, stage)                                                   \
    {                                                                                              \
        .rank = (number), .peak_bytes = (peak), .reserved_bytes = (reserved), .has_figures = true, \
        .outcome = how, .peak_stage = stage                                                        \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
#define NO_FIGURES(number)                                                                         \
    {                                                                                              \
        .rank = (number), .outcome = "failed"                                                      \
    }

typedef struct rank_case {
    const char *label;
    ms_rank ranks[4];
    size_t count, worst;
    const char *console, *json; /* parts of what is written */
} rank_case;

static const rank_case cases[] = {
    {"none", {{0}}, 0, SIZE_MAX, "", "\"worst_rank\": null"},
    {"one without figures", {NO_FIGURES(0)}, 1, SIZE_MAX, "failed", "\"ranks_are_equal\": false"},
    {"the highest peak",
     {RANK(0, 5, 9, "stepped", "forward"), RANK(1, 6, 7, "stepped", "forward")},
     2,
     1,
     "Rank 1 of 2 needs the most",
     "\"worst_rank\": 1"},
    {"of equal peaks the higher reserved",
     {RANK(0, 5, 7, "stepped", "forward"), RANK(1, 5, 9, "stepped", "forward")},
     2,
     1,
     "Rank 1 of 2",
     "\"ranks_are_equal\": false"},
    {"of equal ones the first",
     {RANK(0, 5, 7, "stepped", "forward"), RANK(1, 5, 7, "stepped", "forward")},
     2,
     0,
     "Ranks 0 to 1 of 2 are equal",
     "\"ranks_are_equal\": true"},
    {"equal figures of another phase",
     {RANK(0, 5, 7, "stepped", "forward"), RANK(1, 5, 7, "stepped", "backward")},
     2,
     0,
     "Rank 0 of 2 needs the most",
     "\"ranks_are_equal\": false"},
    {"one that ran out of memory before a higher peak",
     {RANK(0, 9, 9, "stepped", "forward"), RANK(1, 8, 8, "out_of_memory", "forward")},
     2,
     1,
     "Rank 1 of 2 ran out of memory",
     "\"outcome\": \"out_of_memory\""},
    {"runs of equal ranks",
     {RANK(0, 5, 7, "stepped", "forward"), RANK(1, 8, 8, "stepped", "forward"),
      RANK(2, 5, 7, "stepped", "forward"), RANK(3, 5, 7, "stepped", "forward")},
     4,
     1,
     "  0,2-3 ",
     "\"report\": \"rank-3/runtime_report.json\""},
};

static void written_as(const rank_case *c, uint64_t world, const char *format, const char *part)
{
    char *text = NULL;
    size_t size = 0;
    ms_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(ms_ranks_write(c->ranks, c->count, world, format, NULL, out, &err), MS_OK);
    fclose(out);
    if (!strstr(text, part))
        fail_msg("no \"%s\" in: %s", part, text);
    free(text);
}

static void check_ranks(void **state)
{
    const rank_case *c = *state;
    assert_int_equal(ms_ranks_worst(c->ranks, c->count), c->worst);
    written_as(c, c->count, "console", c->console);
    written_as(c, c->count, "json", c->json);
    if (c->count > 0) {
        written_as(c, c->count + 1, "console", "ranks were run");
        written_as(c, c->count + 1, "json", "\"ranks_are_equal\": false");
    }
}

int main(void)
{
    ms_error err = {0};
    if (ms_ranks_write(cases[0].ranks, 0, 0, "md", NULL, stdout, &err) != MS_ERR_USAGE)
        return 1;
    return run_rows("ranks", check_ranks, cases);
}
