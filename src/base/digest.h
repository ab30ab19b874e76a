/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A 64-bit digest (FNV-1a) to distinguish inputs. It guards against mistakes, not against malice.
 */
#ifndef MS_BASE_DIGEST_H
#define MS_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define MS_DIGEST_START UINT64_C(0xcbf29ce484222325)

/* Extends a digest by these bytes; begin with MS_DIGEST_START. */
uint64_t ms_digest_bytes(uint64_t digest, const void *bytes, size_t length);
/* A digest of its own, faster: eight bytes at a time. */
uint64_t ms_digest_words(uint64_t digest, const void *bytes, size_t length);
/* As ms_digest_bytes, for a text with its final NUL, so that "ab", "c" and "a", "bc" differ. */
uint64_t ms_digest_text(uint64_t digest, const char *text);

#endif
