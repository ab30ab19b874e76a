/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Headers as the format's own library writes them, read without a tree: names are plain ASCII,
 * members come in the usual order, and tensors one after the other. What is accepted here, the
 * strict reader (safetensors.h) accepts and reads the same; everything else is for it, with its
 * messages.
 */
#ifndef MS_INPUT_WEIGHTS_SAFETENSORS_QUICK_H
#define MS_INPUT_WEIGHTS_SAFETENSORS_QUICK_H

#include "input/weights/safetensors.h"

/* Names, as digests, each once: an open table. Free with ms_digest_set_free. */
typedef struct ms_digest_set {
    uint64_t *slots; /* 0: free */
    uint64_t capacity, count;
} ms_digest_set;

/* Adds it. *is_new: it was not there. False when out of memory. */
bool ms_digest_set_add(ms_digest_set *set, uint64_t digest, bool *is_new);
void ms_digest_set_clear(ms_digest_set *set); /* keeps its memory */
void ms_digest_set_free(ms_digest_set *set);

/* What is kept from one header to the next. */
typedef struct ms_quick_header {
    ms_vec(ms_safetensor) tensors; /* in the order of the file; `value` is not set */
    ms_digest_set names;           /* of this header */
} ms_quick_header;

/* Reads a header of a file of so many bytes. Names are of the text, in which their final quotes
 * become NULs. False, with the text unchanged: it is for the strict reader, or memory is short. */
bool ms_quick_header_read(char *text, size_t length, uint64_t file_bytes, ms_quick_header *header);
void ms_quick_header_free(ms_quick_header *header);

#endif
