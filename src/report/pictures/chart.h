/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_PICTURES_CHART_H
#define MS_REPORT_PICTURES_CHART_H

#include "report/kit/page.h"
#include "report/view/view.h"

/* Draws memory over the step, as wide as the page. */
void ms_chart(const ms_page *page, const ms_view *view);

#endif
