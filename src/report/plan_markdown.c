/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan_view.h"
bool ms_plan_markdown(FILE *out, const ms_plan_view *view)
{
    (void)out;
    (void)view;
    return true;
}
bool ms_curve_markdown(FILE *out, const ms_plan_view *view)
{
    (void)out;
    (void)view;
    return true;
}
bool ms_curve_console(FILE *out, const ms_plan_view *view)
{
    (void)out;
    (void)view;
    return true;
}
bool ms_curve_csv(FILE *out, const ms_plan_view *view)
{
    (void)out;
    (void)view;
    return true;
}
bool ms_curve_svg(FILE *out, const ms_plan_view *view)
{
    (void)out;
    (void)view;
    return true;
}
