/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A safetensors file on disk: opened, and its header's text read.
 */
#ifndef MS_INPUT_WEIGHTS_HEADER_FILE_H
#define MS_INPUT_WEIGHTS_HEADER_FILE_H

#include <stdio.h>

#include "base/arena.h"
#include "base/json/scan.h"

#define MS_WEIGHTS_FILE "model.safetensors"
#define MS_WEIGHTS_INDEX "model.safetensors.index.json"

typedef struct ms_header_file {
    const char *path; /* of the caller */
    FILE *file;
    uint64_t bytes; /* of the whole file */
    char *text;     /* of the header: `length` bytes in a block of `room` */
    size_t length, room;
} ms_header_file;

/* Opens it, and notes it in the arena's inputs. The text of an earlier file is written over.
 * MS_ERR_IO: it cannot be read; MS_ERR_CONFIG: it is no such file. Close it also after a failure.
 */
ms_status ms_header_file_open(ms_arena *arena, const char *path, ms_header_file *f, ms_error *err);
/* Keeps the text. */
void ms_header_file_close(ms_header_file *f);
void ms_header_file_free(ms_header_file *f); /* closes it, and frees the text */

/* One sentence about a file of weights; yields the status. */
ms_status ms_header_file_fail(const char *path, ms_status status, const char *why, ms_error *err);

static inline ms_json_source ms_header_file_source(const ms_header_file *f)
{
    return (ms_json_source){f->path, f->text, f->length};
}

#endif
