/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A JSON Schema as a manual page of section 5.
 */
#ifndef MS_REPORT_OTHERS_SCHEMA_PAGE_H
#define MS_REPORT_OTHERS_SCHEMA_PAGE_H

#include <stdio.h>

#include "base/json/embedded.h"
#include "base/error.h"

/* `page`: the name after "memscope-". */
ms_status ms_schema_page_write(const ms_embedded *schema, const char *page, FILE *out,
                               ms_error *err);

#endif
