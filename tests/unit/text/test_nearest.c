/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "Did you mean ...?": a slip in a word of ours is told, and the name of another thing never
 * offered, since its figures would be wrong.
 */
#include <string.h>

#include "input/config/model/input.h"
#include "input/config/names/preset.h"
#include "base/text/nearest.h"
#include "core/device/device.h"
#include "model/families.h"
#include "unit/support.h"

/* ---- what is offered of the program's own tables ---- */

static void offer_families(ms_nearest *nearest)
{
    const ms_family_list *families = ms_families();
    for (size_t i = 0; i < families->count; i++)
        ms_nearest_offer(nearest, families->items[i]->model_type);
}

static void offer_presets(ms_nearest *nearest)
{
    const char *preset;
    for (size_t i = 0; (preset = ms_preset_name(i)) != NULL; i++)
        ms_nearest_offer(nearest, preset);
}

/* Names that are offered are not copied. */
static ms_arena *arena;

static int make_arena(void **state)
{
    (void)state;
    arena = ms_arena_create(0);
    return arena ? 0 : -1;
}

static int free_arena(void **state)
{
    (void)state;
    ms_arena_free(arena);
    return 0;
}

static void offer_devices(ms_nearest *nearest)
{
    const ms_device *devices = NULL;
    uint32_t count = 0;
    ms_error err = {0};
    assert_int_equal(ms_devices_load(arena, &devices, &count, &err), MS_OK);
    for (uint32_t i = 0; i < count; i++)
        ms_nearest_offer(nearest, devices[i].name);
}

static void offer_optimizers(ms_nearest *nearest)
{
    static const char *const names[] = {"sgd", "adam", "adamw", "adafactor", "adamw-8bit", "lion"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ms_nearest_offer(nearest, names[i]);
}

typedef struct near_case {
    const char *label;
    void (*offer)(ms_nearest *nearest);
    bool takes_begun;
    const char *wanted, *hint;
} near_case;

#define MEANT(name) "; did you mean '" name "'?"
static const near_case cases[] = {
    {"case", offer_families, false, "LLama", MEANT("llama")},
    {"a hyphen too many", offer_families, false, "qwen-2", MEANT("qwen2")},
    {"a hyphen for a line", offer_families, false, "deepseek-v3", MEANT("deepseek_v3")},
    {"no sign", offer_families, false, "gptneox", MEANT("gpt_neox")},
    {"a letter not doubled", offer_families, false, "lama", MEANT("llama")},
    {"a letter doubled", offer_families, false, "mistrall", MEANT("mistral")},
    {"two letters swapped", offer_families, false, "gtp2", MEANT("gpt2")},
    {"vila", offer_families, false, "vila", ""},
    {"mpt", offer_families, false, "mpt", ""},
    {"a later version", offer_families, false, "deepseek_v42", ""},
    {"an earlier version", offer_families, false, "deepseek_v1", ""},
    {"an older family", offer_families, false, "qwen", ""},
    {"a cut version", offer_families, false, "gemm", ""},
    {"another suffix", offer_families, false, "gemma5n_text", ""},
    {"another number", offer_families, false, "phi4", ""},
    {"mixture of another", offer_families, false, "glmoe", ""},
    {"another beginning", offer_families, false, "bart", ""},
    {"nothing", offer_families, false, "", ""},
    {"signs alone", offer_families, false, "--", ""},
    {"a preset's case", offer_presets, true, "Qwen3-8B", MEANT("qwen3-8b")},
    {"a preset's hyphen", offer_presets, true, "qwen-3-8b", MEANT("qwen3-8b")},
    {"a preset of another size", offer_presets, true, "llama-3.1-9b", ""},
    {"a preset of another version", offer_presets, true, "llama-3.3-70b", ""},
    {"a preset of too many", offer_presets, true, "llama", ""},
    {"a device's memory is asked for", offer_devices, true, "a100",
     "; did you mean 'a100-40gb', 'a100-80gb' or 'a100-80gb-pcie'?"},
    {"a device cut short", offer_devices, true, "h100-80g",
     "; did you mean 'h100-80gb' or 'h100-80gb-pcie'?"},
    {"a device without its hyphen", offer_devices, true, "rtx4090", MEANT("rtx-4090")},
    {"another device of a letter more", offer_devices, true, "b20", ""},
    {"another device of the same letters", offer_devices, true, "a20", ""},
    {"another number of a device", offer_devices, true, "rtx-4070", ""},
    {"another memory of a device", offer_devices, true, "v100-36gb", ""},
    {"another optimizer", offer_optimizers, false, "adan", ""},
    {"which optimizer", offer_optimizers, false, "adamm", ""},
    {"a version of an optimizer", offer_optimizers, false, "adamw2", ""},
    {"an optimizer with a line", offer_optimizers, false, "AdamW_8bit", MEANT("adamw-8bit")},
};

static void check_names(void **state)
{
    const near_case *c = *state;
    char hint[160];
    ms_nearest nearest =
        c->takes_begun ? ms_nearest_same_or_begun(c->wanted) : ms_nearest_same(c->wanted);
    c->offer(&nearest);
    assert_string_equal(ms_nearest_hint(&nearest, hint, sizeof hint), c->hint);
}

/* Whether both are one name but for signs: "qwen35" and "qwen3_5". */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_-.");
        b += strspn(b, "_-.");
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

/* Every name of a thing that there is, with one letter or digit changed for another or one more at
 * its end, is no other thing's: nothing is offered but for doubled letters and signs. */
static void changed_names_are_others(void **state)
{
    (void)state;
    const ms_family_list *families = ms_families();
    static const char put[] = "aeiqxz0123456789";
    for (size_t i = 0; i < families->count; i++)
        for (size_t at = 0; at <= strlen(families->items[i]->model_type); at++)
            for (const char *c = put; *c; c++) {
                char name[64] = {0}; /* also beyond its end, where a letter is put */
                snprintf(name, sizeof name, "%s", families->items[i]->model_type);
                bool same = name[at] == *c || (at > 0 && name[at - 1] == *c) ||
                            (name[at] && name[at + 1] == *c) || strchr("_-", name[at]);
                if (name[at] && same)
                    continue;
                name[at] = *c;
                ms_nearest nearest = ms_nearest_same(name);
                offer_families(&nearest);
                bool is_there = nearest.name && same_letters(nearest.name, name); /* mistral */
                if (nearest.name && !is_there && !(at > 0 && name[at - 1] == *c))
                    fail_msg("%s for %s", nearest.name, name);
            }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases) + 1] = {{0}};
    size_t count = ADD_ROWS(tests, check_names, cases);
    tests[count] = (struct CMUnitTest)cmocka_unit_test(changed_names_are_others);
    return cmocka_run_group_tests_name("near names", tests, make_arena, free_arena);
}
