/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A 64-bit digest (FNV-1a) that tells inputs apart. It guards against mistakes, not against malice.
 */
#ifndef MS_BASE_DIGEST_H
#define MS_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define MS_DIGEST_START UINT64_C(0xcbf29ce484222325)

/* The digest of what `digest` stands for, followed by these bytes. */
uint64_t ms_digest_bytes(uint64_t digest, const void *bytes, size_t length);
/* The same for a text and its end, so that "ab", "c" and "a", "bc" differ. */
uint64_t ms_digest_text(uint64_t digest, const char *text);

#endif
