/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The families, one row each, as `memscope models` lists them.
 */
#include "model/families.h"

static const ms_family *const families[] = {
    &ms_family_llama, &ms_family_mistral, &ms_family_qwen2, &ms_family_qwen3, &ms_family_gpt2,
};

const ms_family *const *ms_families(size_t *count)
{
    *count = sizeof families / sizeof *families;
    return families;
}
