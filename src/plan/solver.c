/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/solver.h"

#include <glpk.h>

const char *ms_solver_version(void)
{
    return glp_version();
}
