/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of a model's name: family, generation, size, and the words that tell variants apart.
 * "llama3.1:8b" and "Meta-Llama-3.1-8B" have the same parts; "llama-3.1-70b" is another size,
 * "llama-2-7b" another generation, and a size or a generation is never taken for another.
 */
#ifndef MS_INPUT_CONFIG_NAMES_MODEL_NAME_H
#define MS_INPUT_CONFIG_NAMES_MODEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { MS_MODEL_NAME_BYTES = 128, MS_MODEL_NAME_PARTS = 16 };

/* In a file of llama.cpp. */
#define MS_PACKED_IN_GGUF "--quant"

typedef struct ms_model_name {
    char text[MS_MODEL_NAME_BYTES];
    const char *parts[MS_MODEL_NAME_PARTS]; /* in `text`, sorted */
    size_t count;
    const char *family;     /* the first word; "" where there is none */
    const char *generation; /* the first number behind it, "" */
    const char *size;       /* "8b", "8x7b", "135m", "" */
    /* How the weights of such a file are packed, which is no part of it: the option of analyze that
     * says so, MS_PACKED_IN_GGUF, or "" where none does; NULL: the name does not say that they are.
     */
    const char *packing;
} ms_model_name;

/* What two names have in common. */
typedef enum ms_name_kinship {
    MS_NAMES_OTHER,
    MS_NAMES_OF_FAMILY,     /* the family alone */
    MS_NAMES_OF_SIZES,      /* family and size; not the generation */
    MS_NAMES_OF_GENERATION, /* family and generation; not the size */
    MS_NAMES_OF_SIZE,       /* family, generation and size */
    MS_NAMES_SAME           /* all parts */
} ms_name_kinship;

/* Whether a name says neither generation nor size: "qwen". */
bool ms_model_name_is_family(const ms_model_name *name);
/* Takes `bytes` of a name apart, without its owner. False: it is too long, or
 * has other signs than "-", "_", ".", ":" and blanks. `name` may not move
 * afterwards. */
bool ms_model_name_read(const char *text, size_t bytes, ms_model_name *name);
ms_name_kinship ms_model_names_compare(const ms_model_name *a, const ms_model_name *b);

#endif
