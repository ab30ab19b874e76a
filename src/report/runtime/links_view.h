/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the reports of `memscope probe --links` are written from.
 */
#ifndef MS_REPORT_RUNTIME_LINKS_VIEW_H
#define MS_REPORT_RUNTIME_LINKS_VIEW_H

#include "hardware/replay/links.h"
#include "report/kit/page.h"

typedef struct ms_links_view {
    const ms_links *links;
    const ms_backend_facts *facts;
    const char *backend;
    const char *device; /* its name in the table of devices, for which the figures are to count */
    ms_status status;   /* MS_OK: all was measured */
    const char *message;
    const ms_style *style;
} ms_links_view;

#endif
