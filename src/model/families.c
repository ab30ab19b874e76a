/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/families.h"

#include "model/evaluator/family.h"
#include "model/evaluator/user_families.h"
#include "model/family/family_list.h"

#define ROW(name) &ms_family_##name,
static const ms_family *const rows[] = {MS_FAMILY_LIST(ROW)};

const ms_family_list *ms_families(void)
{
    static const ms_family_list list = {rows,
                                        sizeof rows / sizeof *rows,
                                        ms_family_read_text,
                                        ms_family_of_user,
                                        ms_families_with,
                                        ms_families_in,
                                        NULL};
    return &list;
}
