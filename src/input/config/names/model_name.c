/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/names/model_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words that change nothing about the sizes of a model. */
static const char *const fillers[] = {"meta", "hf", "latest"};

/* Words for packed weights, and the option of a run that says the same. */
static const struct {
    const char *word, *option;
} packings[] = {
    {"gptq", "--quantize gptq:4:128"},
    {"awq", "--quantize awq:4:128"},
    {"bnb", "--quantize nf4:double"},
    {"4bit", "--quantize nf4:double"},
    {"nf4", "--quantize nf4"},
    {"8bit", "--quantize int8"},
    {"int8", "--quantize int8"},
    {"gguf", MS_PACKED_IN_GGUF},
    {"ggml", MS_PACKED_IN_GGUF},
    {"mlx", ""},
    {"exl2", ""},
    {"int4", ""},
    {"fp8", ""},
    {"w4a16", ""},
    {"w8a8", ""},
};

static bool is_filler(const char *part)
{
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++)
        if (strcmp(part, fillers[i]) == 0)
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One of llama.cpp's types: "q4_k_m", "iq2_xs". */
static bool is_quant(const char *part)
{
    part += *part == 'i';
    return part[0] == 'q' && is_digit(part[1]);
}

/* The first that names an option wins: "bnb" before "4bit". */
static bool take_packing(const char *part, ms_model_name *name)
{
    if (is_quant(part)) {
        name->packing = MS_PACKED_IN_GGUF;
        return true;
    }
    for (size_t i = 0; i < sizeof packings / sizeof packings[0]; i++)
        if (strcmp(part, packings[i].word) == 0) {
            if (!name->packing || !*name->packing)
                name->packing = packings[i].option;
            return true;
        }
    return false;
}

/* ---- words and numbers ---- */

/* Past "8", "3.1" or, as names of files have it, "3_1". */
static const char *past_number(const char *at)
{
    while (is_digit(*at) || ((*at == '.' || *at == '_') && is_digit(at[1])))
        at++;
    return at;
}

/* "8b", "8x7b", "135m": a number with its unit. */
static bool is_size(const char *part)
{
    const char *end = past_number(part);
    if (end > part && *end == 'x')
        end = past_number(end + 1);
    return end > part && (*end == 'b' || *end == 'm') && end[1] == '\0';
}

static bool is_number(const char *part)
{
    const char *end = past_number(part);
    return end > part && *end == '\0';
}

/* Past a word: letters, or what begins with a digit, or the parameters of a token ("a3b"). Letters
 * end where a number begins: "llama3.1" is a word and a number. */
static const char *past_part(const char *at)
{
    const char *number = past_number(at);
    if (number == at && (*at == 'a' || *at == 'e') && is_digit(at[1])) {
        const char *end = past_number(at + 1);
        if (*end == 'b' && !isalnum((unsigned char)end[1]))
            return end + 1;
    }
    if (is_quant(at)) {
        while (isalnum((unsigned char)*at) || *at == '_')
            at++;
        return at;
    }
    bool is_number = number > at;
    at = number;
    while (isalnum((unsigned char)*at) && (is_number || !is_digit(*at)))
        at++;
    return at;
}

/* "3.0" is "3", "1_5" is "1.5". */
static void write_plainly(char *part)
{
    for (char *c = part; *c; c++)
        if (*c == '_')
            *c = '.';
    size_t length = strlen(part);
    if (is_number(part) && length > 2 && strcmp(part + length - 2, ".0") == 0)
        part[length - 2] = '\0';
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Copies the parts, each with an end, into name->text. */
static bool cut(const char *text, size_t bytes, ms_model_name *name)
{
    char plain[MS_MODEL_NAME_BYTES] = "";
    size_t used = 0;
    if (bytes >= sizeof plain)
        return false;
    for (size_t i = 0; i < bytes; i++)
        plain[i] = (char)tolower((unsigned char)text[i]);
    plain[bytes] = '\0';
    for (const char *at = plain; *at;) {
        const char *end = isalnum((unsigned char)*at) ? past_part(at) : at;
        size_t length = (size_t)(end - at);
        if (length == 0 && !strchr("-_.: ", *at))
            return false;
        if (length == 0) {
            at++;
            continue;
        }
        if (name->count == MS_MODEL_NAME_PARTS || used + length + 1 > sizeof name->text)
            return false;
        char *part = name->text + used;
        memcpy(part, at, length);
        part[length] = '\0';
        write_plainly(part);
        used += length + 1;
        at = end;
        if (!is_filler(part) && !take_packing(part, name))
            name->parts[name->count++] = part;
    }
    return true;
}

bool ms_model_name_read(const char *text, size_t bytes, ms_model_name *name)
{
    const char *slash = memchr(text, '/', bytes);
    size_t owner = slash ? (size_t)(slash + 1 - text) : 0;
    *name = (ms_model_name){.family = "", .generation = "", .size = ""};
    if (!cut(text + owner, bytes - owner, name))
        return false;
    for (size_t i = 0; i < name->count; i++) {
        const char *part = name->parts[i];
        if (is_size(part))
            name->size = *name->size ? name->size : part;
        else if (is_number(part))
            name->generation = *name->generation || *name->size ? name->generation : part;
        else
            name->family = *name->family ? name->family : part;
    }
    qsort(name->parts, name->count, sizeof name->parts[0], by_text);
    return true;
}

bool ms_model_name_is_family(const ms_model_name *name)
{
    return name->count == 1 && *name->family;
}

ms_name_kinship ms_model_names_compare(const ms_model_name *a, const ms_model_name *b)
{
    bool is_same = a->count == b->count && a->count > 0;
    for (size_t i = 0; is_same && i < a->count; i++)
        is_same = strcmp(a->parts[i], b->parts[i]) == 0;
    if (is_same)
        return MS_NAMES_SAME;
    if (!*a->family || strcmp(a->family, b->family) != 0)
        return MS_NAMES_OTHER;
    bool is_sized = *a->size && strcmp(a->size, b->size) == 0;
    if (strcmp(a->generation, b->generation) != 0)
        return is_sized ? MS_NAMES_OF_SIZES : MS_NAMES_OF_FAMILY;
    return is_sized ? MS_NAMES_OF_SIZE : MS_NAMES_OF_GENERATION;
}
