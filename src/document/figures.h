/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a report says in bytes.
 */
#ifndef MS_DOCUMENT_FIGURES_H
#define MS_DOCUMENT_FIGURES_H

#include "document/reading.h"

/* All but the metadata: of a static report, of a plan. */
ms_status ms_reading_static(const ms_reading *r);
ms_status ms_reading_plan(const ms_reading *r);

#endif
