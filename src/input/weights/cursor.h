/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a binary header from its start on, in blocks; little-endian. A failure names the byte.
 */
#ifndef MS_INPUT_WEIGHTS_CURSOR_H
#define MS_INPUT_WEIGHTS_CURSOR_H

#include "input/weights/gguf.h"

enum { MS_CURSOR_BLOCK = 1 << 16 };

typedef struct ms_cursor {
    const ms_gguf_source *source;
    uint64_t at;        /* the next byte */
    uint64_t block_at;  /* of the bytes in `block` */
    size_t block_bytes; /* 0: none */
    uint8_t *block;     /* of MS_CURSOR_BLOCK bytes */
    ms_error *err;
} ms_cursor;

/* Fails with "byte N: ..." and the file's name. */
__attribute__((format(printf, 3, 4))) ms_status ms_cursor_fail(const ms_cursor *c, uint64_t at,
                                                               const char *format, ...);
/* Copies the next bytes; fails where the file ends. `what` is what is read, for the message. */
ms_status ms_cursor_take(ms_cursor *c, void *to, size_t bytes, const char *what);
/* Passes over them. */
ms_status ms_cursor_skip(ms_cursor *c, uint64_t bytes, const char *what);
/* A whole number of 1, 2, 4 or 8 bytes. */
ms_status ms_cursor_number(ms_cursor *c, size_t bytes, uint64_t *number, const char *what);

#endif
