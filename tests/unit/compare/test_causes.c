/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which causes are named: those that both reports state and the figures show, and no others.
 */
#include "unit/support.h"

#include <stdio.h>
#include <string.h>

#include "unit/pairs.h"

#define PHASE(name, peak)                                                                          \
    "{\"phase\":\"" name                                                                           \
    "\",\"micro_step\":0,\"repeats\":1,\"start_bytes\":0,\"peak_bytes\":" peak                     \
    ",\"end_bytes\":0,\"peak_reserved_bytes\":0}"

/* A prediction of 4 x 1024 tokens, 800 of 10000 bytes activations; and what was captured. */
#define PREDICTED(settings, at_peak)                                                               \
    "{\"schema_version\":\"1.5\",\"metadata\":{\"mode\":\"train\",\"num_layers\":4," settings "}," \
    "\"summary\":{\"start_bytes\":0,\"peak_memory_bytes\":1000000000,"                             \
    "\"reserved_memory_bytes\":1000000000,\"allocator_retries\":0,\"peak_stage\":\"backward\","    \
    "\"param_count\":1000,\"trainable_param_count\":1000,\"optimizer_memory_bytes\":4000},"        \
    "\"operators\":[]," at_peak
#define CAPTURED(counts, step, at_peak)                                                            \
    "{\"schema_version\":\"1.5\",\"outcome\":\"stepped\",\"metadata\":{\"mode\":\"null\","         \
    "\"steps\":3},\"summary\":{\"start_bytes\":0,\"peak_memory_bytes\":1400000000,"                \
    "\"reserved_memory_bytes\":1500000000,\"allocator_retries\":0,\"peak_stage\":\"backward\""     \
    "," counts "},\"step\":{" step "}," at_peak
#define PEAK(weight, state, activation, temporary)                                                              \
    "\"phases\":[" PHASE("forward", "5") "," PHASE(                                                             \
        "backward",                                                                                             \
        "9") "],\"peak\":{\"categories\":[" ROW("weight",                                                       \
                                                weight) "," ROW("optimizer_state",                              \
                                                                state) "," ROW("activation",                    \
                                                                               activation) "," ROW("temporary", \
                                                                                                   temporary) "]}}"
#define ROW(name, bytes) "{\"category\":\"" name "\",\"count\":1,\"bytes\":" bytes "}"
#define SETTINGS                                                                                   \
    "\"batch\":4,\"seq\":1024,\"dtype\":\"bf16\",\"autocast\":\"none\",\"optimizer\":\"adamw\","   \
    "\"optimizer_impl\":\"fused\",\"attention\":\"flash\",\"adapter\":\"none\",\"quantize\":"      \
    "\"none\""
#define BASE PREDICTED(SETTINGS, PEAK("100000000", "200000000", "500000000", "200000000"))
#define COUNTS "\"param_count\":1000,\"trainable_param_count\":1000,\"optimizer_memory_bytes\":4000"
#define IDS(batch, seq)                                                                            \
    "{\"name\":\"input_ids\",\"dtype\":\"int64\",\"shape\":[" batch "," seq "],\"count\":1}"
#define STEP(inputs, recomputed, attention, optimizer)                                             \
    "\"inputs\":[" inputs "],\"parameters\":[{\"dtype\":\"bf16\",\"count\":1000}],"                \
    "\"adapter_param_count\":0,\"layers\":4,\"recomputed_layers\":" recomputed                     \
    ",\"attention\":[" attention "],\"autocast\":[],\"optimizers\":[{\"name\":\"" optimizer        \
    "\",\"implementation\":\"fused\"}],\"compiled\":false,\"training\":true,\"idle_dropouts\":0"
#define MORE PEAK("100000000", "200000000", "750000000", "300000000")

#define BEFORE                                                                                     \
    "{\"schema_version\":\"1.4\",\"outcome\":\"stepped\",\"metadata\":{\"mode\":\"null\","         \
    "\"steps\":3},"                                                                                \
    "\"summary\":{\"start_bytes\":0,\"peak_memory_bytes\":1400000000,"                             \
    "\"reserved_memory_bytes\":1500000000,\"allocator_retries\":0,\"peak_stage\":\"backward\"},"

typedef struct cause_case {
    const char *label, *first, *second, *names, *words;
} cause_case;

static void check_causes(void **state)
{
    const cause_case *c = *state;
    char names[200] = "";
    pair *p = compare(c->first, c->second);
    for (uint32_t i = 0; i < p->view.cause_count; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? " " : "",
                 p->view.causes[i].name);
    assert_string_equal(names, c->names);
    assert_non_null(strstr(p->view.why, c->words));
    drop(p);
}

static const cause_case causes[] = {
    {"a longer sequence", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "1536"), "0", "\"flash\"", "adamw"), MORE), "sequence_length",
     "The captured run has 1536 tokens a sequence, the prediction 1024. Largest"},
    {"the other way round",
     CAPTURED(COUNTS, STEP(IDS("4", "1536"), "0", "\"flash\"", "adamw"), MORE), BASE,
     "sequence_length", "The prediction has 1024 tokens a sequence, the captured run 1536"},
    {"two captures", CAPTURED(COUNTS, STEP(IDS("4", "1024"), "0", "\"flash\"", "adamw"), MORE),
     CAPTURED(COUNTS, STEP(IDS("4", "512"), "0", "\"flash\"", "adamw"), MORE), "", ""},
    {"batches of several sizes", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "512") "," IDS("4", "1536"), "0", "\"flash\"", "adamw"), MORE),
     "sequence_length", "up to 1536 tokens a sequence, the prediction 1024"},
    {"one token more does not explain half as much again", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "1025"), "0", "\"flash\"", "adamw"), MORE), "sequence_length",
     "the prediction 1024. That explains less than half of the difference; largest part: "
     "activation"},
    {"a shorter sequence cannot need more", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "512"), "0", "\"flash\"", "adamw"), MORE), "",
     "Largest cause: activation, +238.42 MiB (71 % of the difference): other kernels"},
    {"a shorter one with attention that needs more can", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "512"), "0", "\"eager\"", "adamw"), MORE),
     "sequence_length attention",
     "512 tokens a sequence, the prediction 1024; eager attention, the"},
    {"checkpoints cannot make activations larger", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "1024"), "4", "\"flash\"", "adamw"), MORE), "",
     "other kernels"},
    {"checkpoints make them smaller", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "1024"), "2", "\"flash\"", "adamw"),
              PEAK("100000000", "200000000", "100000000", "900000000")),
     "checkpointing", "The captured run has 2 of 4 layers checkpointed, the prediction none"},
    {"attention that is not seen is none", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "1024"), "0", "", "adamw"), MORE), "", "other kernels"},
    {"an optimizer of the same states is no cause", BASE,
     CAPTURED(COUNTS, STEP(IDS("4", "1024"), "0", "\"flash\"", "adam"),
              PEAK("100000000", "200001000", "700000000", "300000000")),
     "", "Largest cause: activation"},
    {"an optimizer of more states", BASE,
     CAPTURED("\"param_count\":1000,\"trainable_param_count\":1000,\"optimizer_memory_bytes\":8000",
              STEP(IDS("4", "1024"), "0", "\"flash\"", "Custom"),
              PEAK("100000000", "600000000", "500000000", "200000000")),
     "optimizer", "The captured run has Custom as its optimizer, the prediction adamw"},
    {"one that has more states, where there are fewer", BASE,
     CAPTURED("\"param_count\":1000,\"trainable_param_count\":1000,\"optimizer_memory_bytes\":8000",
              STEP(IDS("4", "1024"), "0", "\"flash\"", "Custom"),
              PEAK("100000000", "100000000", "700000000", "500000000")),
     "", "Largest cause: temporary"},
    {"nothing is told of the step", BASE, CAPTURED(COUNTS, "", MORE), "",
     "Largest cause: activation"},
    {"a report of before", BASE, BEFORE MORE, "", "Largest cause: activation"},
    {"other parameters", BASE,
     CAPTURED("\"param_count\":2000,\"trainable_param_count\":2000,\"optimizer_memory_bytes\":8000",
              STEP(IDS("4", "1024"), "0", "\"flash\"", "adamw"),
              PEAK("200000000", "400000000", "500000000", "300000000")),
     "model", "The captured run has 2000 parameters, the prediction 1000"},
    {"frozen ones", BASE,
     CAPTURED("\"param_count\":1000,\"trainable_param_count\":500,\"optimizer_memory_bytes\":2000",
              STEP(IDS("4", "1024"), "0", "\"flash\"", "adamw"),
              PEAK("100000000", "100000000", "1000000000", "200000000")),
     "trained_parameters", "500 of 1000 parameters trained, the prediction all"},
};

static void no_cause_where_peaks_are_equal(void **state)
{
    (void)state;
    const char *other = CAPTURED(COUNTS, STEP(IDS("8", "512"), "4", "\"eager\"", "sgd"), MORE);
    pair *p =
        compare(other, CAPTURED(COUNTS, STEP(IDS("4", "1024"), "0", "\"flash\"", "adamw"), MORE));
    assert_int_equal(p->view.cause_count, 0);
    assert_true(p->view.is_equal);
    assert_string_equal(p->view.why, "");
    drop(p);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(causes) + 1] = {
        cmocka_unit_test(no_cause_where_peaks_are_equal)};
    size_t count = 1 + ADD_ROWS(tests + 1, check_causes, causes);
    return _cmocka_run_group_tests("causes", tests, count, NULL, NULL);
}
