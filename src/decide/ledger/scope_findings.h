/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings on what the run leaves out: images and sounds, several GPUs, and weights that no
 * gradient reaches.
 */
#ifndef MS_DECIDE_LEDGER_SCOPE_FINDINGS_H
#define MS_DECIDE_LEDGER_SCOPE_FINDINGS_H

#include "decide/ledger/findings.h"

/* That a model with towers is predicted without images and sounds; false where it has none. */
bool ms_finding_of_text_only(const ms_ledger *ledger, ms_finding *finding);

/* What the training arguments specify for several GPUs; false when nothing. The text is NULL
 * when out of memory. */
bool ms_finding_of_several_gpus(const ms_ledger *ledger, ms_arena *arena, ms_finding *finding);

/* Which trained parameters have no gradient, and so no optimizer states; false when all have one.
 */
bool ms_finding_of_unreached(const ms_ledger *ledger, ms_arena *arena, ms_finding *finding);

#endif
