/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an engine chooses by itself at its start, from the memory that it finds free.
 */
#ifndef MS_SERVE_INFER_KIT_CHOICE_H
#define MS_SERVE_INFER_KIT_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum { MS_INFER_MOST_DEVICES = 16 };

/* Of a device, or of the host where there is none: bytes. */
typedef struct ms_infer_choice_place {
    uint64_t free;   /* as the engine finds it */
    uint64_t margin; /* that it wishes to leave free */
    uint64_t needed; /* by its own estimate, with what it chose */
} ms_infer_choice_place;

/* Texts are in the arena of the job, or static. */
typedef struct ms_infer_choice {
    const char *program;   /* "llama-server"; NULL: nothing was asked */
    const char *arguments; /* as the program takes them: "-c 4096 -ngl 25" */
    const char *layers;    /* what is where, for people: "experts of layers 3 to 31 on the host" */
    const char *failure; /* why it gave up, and starts with these all the same; NULL: it did not */
    const char *refusal; /* why it does not start with these: a sentence; NULL: it does */
    const char *if_less, *if_more; /* its arguments with the least and the most memory that may be
                                      free; NULL: the same */
    bool is_changed;               /* it starts otherwise than it would without */
    uint32_t devices, trials;      /* estimates that it makes */
    ms_infer_choice_place places[MS_INFER_MOST_DEVICES];
} ms_infer_choice;

#endif
