/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words of a launch as a document.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_LAUNCH_DOCUMENT_H
#define MS_INPUT_CONFIG_LAUNCH_LAUNCH_DOCUMENT_H

#include "input/config/launch/launch_words.h"

/* Settings of the launcher or of the trainer as a document, whose text is the launch with what it
 * expands to. `*text` is to be freed, behind the document. NULL: there are none. */
ms_status ms_launch_document(const ms_launch *launch, const ms_launch_settings *settings,
                             ms_json **document, char **text, ms_error *err);

#endif
