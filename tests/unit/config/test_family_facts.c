/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What follows from the blocks of which a family is made.
 */
#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "model/families.h"
#include "unit/support.h"

static const ms_family_facts plain_facts = {.blocks = MS_BLOCKS_OF_LLAMA};
static const ms_family_facts factor_facts = {.blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_FACTORS};
static const ms_family_facts dropout_facts = {.blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_DROPOUTS};
static const ms_family plain = {.model_type = "plain", .facts = &plain_facts};
static const ms_family factors = {.model_type = "factors", .facts = &factor_facts};
static const ms_family dropouts = {.model_type = "dropouts", .facts = &dropout_facts};
static const ms_family silent = {.model_type = "silent"};

static void a_family_of_known_blocks_is_predicted(void **state)
{
    (void)state;
    const ms_model_config model = {.family = &plain};
    assert_true(ms_is_compared(&model, MS_WITH_TENSOR));
    assert_true(ms_is_compared(&model, MS_WITH_PIPELINE));
    assert_true(ms_is_compared(&model, MS_WITH_CONTEXT));
    assert_true(ms_is_compared(&model, MS_WITH_ZERO3));
    assert_false(ms_is_compared(&model, MS_WITH_ZERO3_EXPERTS));
}

static void an_unknown_block_is_the_reason(void **state)
{
    (void)state;
    const ms_model_config multiplied = {.family = &factors}, dropped = {.family = &dropouts};
    assert_true(ms_is_compared(&multiplied, MS_WITH_CONTEXT));
    assert_false(ms_is_compared(&multiplied, MS_WITH_PIPELINE));
    assert_string_equal(ms_why_not_compared(&multiplied, MS_WITH_PIPELINE),
                        "which multiplies embeddings, residuals or logits");
    assert_false(ms_is_compared(&dropped, MS_WITH_ZERO3));
    assert_string_equal(ms_why_not_compared(&dropped, MS_WITH_ZERO3),
                        "which has modules of dropout");
}

static void a_family_without_facts_is_not(void **state)
{
    (void)state;
    const ms_model_config model = {.family = &silent};
    assert_false(ms_is_compared(&model, MS_WITH_PIPELINE));
    assert_string_equal(ms_why_not_compared(&model, MS_WITH_PIPELINE),
                        "whose modules were not compared with PyTorch's");
    assert_int_equal(ms_family_facts_of(&silent)->blocks, 0);
    assert_int_equal(ms_family_facts_of(NULL)->compared, 0);
}

/* PEFT's lists end with NULL, and IA3's scaled inputs are among its targets. */
static void facts_are_sane(void **state)
{
    (void)state;
    const ms_family_list *families = ms_families();
    for (size_t i = 0; i < families->count; i++) {
        ms_arena *arena = ms_arena_create(0);
        const ms_family *family = families->read(arena, families->items[i], NULL);
        assert_non_null(family);
        const ms_family_facts *facts = ms_family_facts_of(family);
        const ms_peft_facts *peft = &facts->peft;
        assert_null(peft->lora[MS_PEFT_TARGETS]);
        assert_null(peft->ia3[MS_PEFT_TARGETS]);
        assert_null(peft->refused[MS_PEFT_REFUSED].name);
        if ((peft->lora[0] || peft->lora_pattern) && peft->usual_lora)
            fail_msg("%s has default targets, and usual ones", family->model_type);
        bool is_among = !peft->ia3_inputs[0];
        for (size_t k = 0; peft->ia3[k]; k++)
            is_among |= peft->ia3_inputs[0] && strcmp(peft->ia3[k], peft->ia3_inputs[0]) == 0;
        if (!is_among)
            fail_msg("%s scales the input of what IA3 does not adapt", family->model_type);
        if (facts->needs_gguf && !facts->llama_cpp)
            fail_msg("%s needs a GGUF file of no architecture", family->model_type);
        if ((facts->liger.copying_norms & ~facts->liger.norms) != 0)
            fail_msg("%s: a norm that Liger does not replace copies", family->model_type);
        ms_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_family_of_known_blocks_is_predicted),
        cmocka_unit_test(an_unknown_block_is_the_reason),
        cmocka_unit_test(a_family_without_facts_is_not),
        cmocka_unit_test(facts_are_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
