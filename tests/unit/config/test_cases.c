/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replays the folders of tests/golden/config: each is a test of its own name.
 */
#include "unit/support.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "model/load.h"
#include "run/step/step.h"

enum { MAX_CASES = 256, MAX_NAME = 64 };

typedef struct case_list {
    char names[MAX_CASES][MAX_NAME];
    struct CMUnitTest tests[MAX_CASES];
    size_t count;
} case_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list_cases(const char *folder, CMUnitTestFunction check, case_list *list)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.') {
            assert_true(list->count < MAX_CASES); /* none is left out without a word */
            snprintf(list->names[list->count++], MAX_NAME, "%.60s", entry->d_name);
        }
    closedir(dir);
    qsort(list->names, list->count, MAX_NAME, by_name);
    for (size_t i = 0; i < list->count; i++)
        list->tests[i] = (struct CMUnitTest){list->names[i], check, NULL, NULL, list->names[i]};
}

static FILE *open_expected(const char *folder, const char *file)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *in = fopen(path, "r");
    if (!in)
        fail_msg("no %s", path);
    return in;
}

static ms_status load(ms_arena *arena, const char *folder, ms_model_config *model,
                      ms_run_config *run, ms_error *err)
{
    /* A short sequence: parameters do not depend on it. */
    const ms_run_setting settings[] = {{"config", folder}, {"seq", "8"}};
    bool shortens =
        strstr(folder, "/valid/") && !strstr(folder, "/vit-"); /* an image has its own */
    return ms_run_load(arena, settings, shortens ? 2 : 1, model, run, NULL, err);
}

/* ---- valid ---- */

static uint64_t count_layers(const ms_model_config *model, uint8_t flag)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < model->num_layers; i++)
        count += (ms_layer_kind(model, i) & flag) != 0;
    return count;
}

static uint64_t value_of(const char *key, const ms_model_config *model,
                         const ms_simulation *simulation)
{
    const struct {
        const char *key;
        uint64_t value;
    } values[] = {
        {"vocab_size", model->vocab_size},
        {"hidden_size", model->hidden_size},
        {"intermediate_size", model->intermediate_size},
        {"num_layers", model->num_layers},
        {"num_heads", model->num_heads},
        {"num_kv_heads", model->num_kv_heads},
        {"head_dim", model->head_dim},
        {"max_positions", model->max_positions},
        {"tie_word_embeddings", model->tie_word_embeddings},
        {"sliding_window", model->sliding_window},
        {"sliding_layers", count_layers(model, MS_LAYER_SLIDES)},
        {"rotary_dim", ms_rotary_dim(model)},
        {"parameters", simulation->param_count},
        {"num_experts", model->num_experts},
        {"experts_per_token", model->experts_per_token},
        {"sparse_layers", count_layers(model, MS_LAYER_SPARSE)},
        {"active_parameters", simulation->active_param_count},
    };
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (strcmp(values[i].key, key) == 0)
            return values[i].value;
    fail_msg("unknown total %s", key);
    return 0;
}

static void check_valid(void **state)
{
    char folder[128], key[64];
    uint64_t expected;
    ms_model_config model = {0};
    ms_run_config run = {0};
    ms_simulation simulation = {0};
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    snprintf(folder, sizeof folder, "tests/golden/config/valid/%s", (const char *)*state);
    ms_status status = load(arena, folder, &model, &run, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, MS_OK);
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_ALL, &simulation, &err), MS_OK);
    FILE *in = open_expected(folder, "totals");
    while (fscanf(in, "%63s %" SCNu64, key, &expected) == 2)
        if (value_of(key, &model, &simulation) != expected)
            fail_msg("%s: found %" PRIu64 ", expected %" PRIu64, key,
                     value_of(key, &model, &simulation), expected);
    fclose(in);
    ms_simulation_free(&simulation);
    ms_arena_free(arena);
}

/* ---- invalid ---- */

static void read_line(FILE *in, char *out, int size)
{
    if (!fgets(out, size, in))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static void check_invalid(void **state)
{
    char folder[128], place[32], found_place[32], line[600];
    ms_model_config model = {0};
    ms_run_config run = {0};
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(0);
    snprintf(folder, sizeof folder, "tests/golden/config/invalid/%s", (const char *)*state);
    assert_int_not_equal(load(arena, folder, &model, &run, &err), MS_OK);
    ms_arena_free(arena);
    assert_int_equal(ms_status_exit_code(err.status), 2);
    FILE *in = open_expected(folder, "error");
    read_line(in, place, sizeof place);
    snprintf(found_place, sizeof found_place, "%" PRIu32 ":%" PRIu32, err.line, err.column);
    assert_string_equal(found_place, place);
    read_line(in, line, sizeof line);
    assert_string_equal(err.pointer, line);
    read_line(in, line, sizeof line);
    assert_string_equal(err.text, line);
    assert_true(err.excerpt[0] && err.caret_length >= 1);
    fclose(in);
}

int main(void)
{
    static case_list valid, invalid;
    list_cases("tests/golden/config/valid", check_valid, &valid);
    list_cases("tests/golden/config/invalid", check_invalid, &invalid);
    int failed = _cmocka_run_group_tests("valid configs", valid.tests, valid.count, NULL, NULL);
    failed += _cmocka_run_group_tests("invalid configs", invalid.tests, invalid.count, NULL, NULL);
    return failed;
}
