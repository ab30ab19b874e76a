/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models with an encoder and a decoder: the encoder's tokens.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_TRANSLATION_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_TRANSLATION_H

#include "input/config/resolve/resolving.h"

ms_status ms_resolve_translation(const ms_resolving *c);

#endif
