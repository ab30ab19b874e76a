/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Treatments as code: the function that is written, and what is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "memscope/treat.h"
#include "unit/support.h"

typedef struct treat_case {
    const char *label, *treat;
    uint32_t layers;
    const char *kind;
    ms_status status;
    const char *said; /* the body of treat, or part of the message */
} treat_case;

#define NOTHING                                                                                    \
    "def treat(model):\n"                                                                          \
    "    \"\"\"Call once, before the first step; then train as before.\"\"\"\n"
#define TREAT NOTHING "    layers = layers_of(model)\n"

static const treat_case cases[] = {
    {"nothing", "all=keep", 4, "non-reentrant", MS_OK, NOTHING},
    {"checkpoints", "0-2=checkpoint", 4, "non-reentrant", MS_OK,
     TREAT "    for i in range(0, 3):\n        recompute(layers[i])\n"},
    {"reentrant ones", "all=checkpoint", 2, "reentrant", MS_OK,
     TREAT "    for i in range(0, 2):\n        recompute(layers[i], use_reentrant=True)\n"},
    {"the most layers", "16383=tile:2", MS_TREAT_MOST_LAYERS, "non-reentrant", MS_OK,
     TREAT "    for i in (16383,):\n        tile(layers[i], 2)\n"},
    {"a share and chunks", "0=offload:0.5,loss=chunk:4", 1, "non-reentrant", MS_OK,
     TREAT "    Offload(layers, {**dict.fromkeys((0,), 0.5)})\n    chunk_loss(model, 4)\n"},
    {"a layer that there is not", "4=checkpoint", 4, "non-reentrant", MS_ERR_CONFIG, "layer 4"},
    {"no such treatment", "all=chekpoint", 4, "non-reentrant", MS_ERR_USAGE, "chekpoint"},
    {"a share of operators", "1=selective:0.5", 4, "non-reentrant", MS_ERR_USAGE, "layer 1"},
    {"no layers", "all=checkpoint", 0, "non-reentrant", MS_ERR_USAGE, "found 0 layers"},
    {"too many layers", "all=keep", UINT32_MAX, "non-reentrant", MS_ERR_USAGE, "expected 1 to"},
    {"no such kind", "all=keep", 1, "both", MS_ERR_USAGE, "found checkpoint kind 'both'"},
};

static void writes_or_refuses(void **state)
{
    const treat_case *c = *state;
    char *text = NULL;
    size_t length = 0;
    ms_error err = {0};
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    ms_status status = ms_treat_write_code(c->treat, c->layers, c->kind, out, &err);
    fclose(out);
    assert_int_equal(status, c->status);
    if (status == MS_OK)
        assert_string_equal(text, c->said);
    else
        assert_non_null(strstr(err.text, c->said));
    assert_true(status == MS_OK || length == 0);
    free(text);
}

static void says_when_it_cannot_be_written(void **state)
{
    (void)state;
    ms_error err = {0};
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(ms_treat_write_code("all=checkpoint", 4, "non-reentrant", full, &err),
                     MS_ERR_IO);
    fclose(full);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases) + 1];
    size_t n = ADD_ROWS(tests, writes_or_refuses, cases);
    tests[n] = (struct CMUnitTest)cmocka_unit_test(says_when_it_cannot_be_written);
    return cmocka_run_group_tests_name("treat", tests, NULL, NULL);
}
