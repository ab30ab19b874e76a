/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Members of JSON objects as rows: one table describes a struct to the writer, the reader, and the
 * test that compares it with the schema of the document.
 *
 *     typedef struct point { uint64_t event, bytes; const char *phase; } point;
 *     static const ms_member point_members[] = {
 *         MS_MEMBER(point, "event", event),
 *         MS_MEMBER(point, "phase", phase, .rules = MS_OR_NULL),
 *         MS_MEMBER(point, "bytes", bytes),
 *     };
 *     const ms_members ms_point_members = MS_MEMBERS(point, point_members, .is_inline = true);
 *
 * What a member is follows from the type of the struct's member.
 */
#ifndef MS_BASE_JSON_MEMBERS_H
#define MS_BASE_JSON_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json/value.h"
#include "base/json/write.h"
#include "base/words.h"

typedef enum ms_member_kind {
    MS_MEMBER_NOTHING,
    MS_MEMBER_COUNT,  /* an unsigned integer; by its words: a string */
    MS_MEMBER_SIGNED, /* int64_t */
    MS_MEMBER_NUMBER, /* a double of so many decimals */
    MS_MEMBER_TRUTH,
    MS_MEMBER_TEXT,
    MS_MEMBER_CHARS,    /* an array of characters; "" is none. Not read */
    MS_MEMBER_CONSTANT, /* a text that is in the row. Not read */
    MS_MEMBER_PART,     /* a struct, whose members are `inner` */
    MS_MEMBER_ROWS,     /* a list of such structs */
    MS_MEMBER_FIGURES,  /* an array of counts or numbers: an object of them by their words */
    MS_MEMBER_WRITTEN,  /* by a function; not read */
    MS_MEMBER_KINDS
} ms_member_kind;

enum {
    /* Where there is none, null or no member is written, and may be read. None is there where
     * `when` is 0, false or NULL; without `when`, where the member itself is, or, of a number,
     * where it is not above 0. */
    MS_OR_NULL = 1,
    MS_IF_ANY = 2,
    MS_NONE_IS_MAX = 4,    /* a count of all bits is none, not 0 */
    MS_NONE_IS_NAN = 8,    /* a number that is none is NaN */
    MS_NONE_IS_EMPTY = 16, /* a text that is none is "" */
    MS_LATER = 32,         /* always written, but files of earlier versions do not have it */
    MS_THROUGH = 64,       /* a pointer to the struct */
    MS_INSIDE = 128,       /* the rows are in the struct itself */
    /* An object of the rows by their first member, in place of a list; of plain rows, of the second
     * by the first. */
    MS_KEYED = 256,
    MS_ON_LINE = 512 /* a list or figures, on one line */
};

typedef struct ms_member_place {
    uint16_t offset, size; /* in the struct */
    uint8_t kind;
} ms_member_place;

typedef struct ms_members ms_members;
typedef struct ms_member ms_member;

struct ms_member {
    const char *name; /* NULL: the members of `inner` are the object's own */
    ms_member_place at, when, count;
    uint16_t from, via; /* see MS_FROM; `via` is in what `from` points to. 0: none */
    uint16_t rules;
    uint8_t decimals;
    uint8_t check; /* when it is read: what `check` of the reading is asked; 0: nothing */
    /* The least count or number that is read; the most of them, of rows or, of words, the last that
     * is written; 0: what the type holds, or the words. */
    uint32_t least;
    uint64_t most;
    const ms_words *words;
    const ms_members *inner;
    /* Makes the struct of `inner`, of at most MS_MADE_MOST bytes, from the one that is there. Such
     * members are not read. */
    void (*make)(const void *row, void *made);
    /* The same with the row of ms_members_document. */
    void (*make_of)(const void *document, const void *row, void *made);
    void (*write)(ms_json_writer *w, const char *name, const void *row);
    const char *text;  /* of a constant */
    const char *title; /* for people */
    double times, per; /* what is written of a number is this often the number, or divided by it */
};

enum { MS_MADE_MOST = 512 };

struct ms_members {
    const char *name; /* where rows of several kinds are told apart by it */
    const ms_member *items;
    uint32_t count, row_bytes;
    bool is_inline; /* on one line */
    bool is_plain;  /* each row is the value of its only member */
};

/* clang-format off */
#define MS_KIND_OF(value) \
    _Generic((value), bool: MS_MEMBER_TRUTH, uint8_t: MS_MEMBER_COUNT, uint16_t: MS_MEMBER_COUNT, \
             uint32_t: MS_MEMBER_COUNT, uint64_t: MS_MEMBER_COUNT, int64_t: MS_MEMBER_SIGNED, \
             double: MS_MEMBER_NUMBER, const char *: MS_MEMBER_TEXT, char *: MS_MEMBER_CHARS, \
             default: MS_MEMBER_PART)
/* clang-format on */
#define MS_PLACE_AS(type, member, kind)                                                            \
    {                                                                                              \
        offsetof(type, member), sizeof(((type *)0)->member), kind                                  \
    }
#define MS_PLACE(type, member) MS_PLACE_AS(type, member, MS_KIND_OF(((type *)0)->member))

/* A pointer, for `.from`: the member is in what it points to. Such members are not read. */
#define MS_FROM(type, pointer) (1 + offsetof(type, pointer))
/* "key" is whether the struct's member is not 0. */
#define MS_ANY(type, key, member)                                                                  \
    {                                                                                              \
        .name = (key), .at = MS_PLACE_AS(type, member, MS_MEMBER_TRUTH)                            \
    }
/* MS_MEMBER(type, "key", member, ...): what may follow is .rules, .when = MS_PLACE(type, member),
 * .decimals, .words, .inner and so on. */
#define MS_MEMBER(type, key, ...)                                                                  \
    {                                                                                              \
        MS_MEMBER_PLACED(type, __VA_ARGS__, .name = (key))                                         \
    }
#define MS_MEMBER_PLACED(type, member, ...) .at = MS_PLACE(type, member), __VA_ARGS__
/* MS_ROWS(type, "key", items, count, &table, ...): a list, from the pointer to its rows and how
 * many there are. */
#define MS_ROWS(type, key, ...)                                                                    \
    {                                                                                              \
        MS_ROWS_PLACED(type, __VA_ARGS__, .name = (key))                                           \
    }
#define MS_ROWS_PLACED(type, member, counted, table, ...)                                          \
    .at = MS_PLACE_AS(type, member, MS_MEMBER_ROWS), .count = MS_PLACE(type, counted),             \
    .inner = (table), __VA_ARGS__
/* MS_FIGURES(type, "key", array, &words, ...) */
#define MS_FIGURES(type, key, ...)                                                                 \
    {                                                                                              \
        MS_FIGURES_PLACED(type, __VA_ARGS__, .name = (key))                                        \
    }
#define MS_FIGURES_PLACED(type, member, names, ...)                                                \
    .at = MS_PLACE_AS(type, member, MS_MEMBER_FIGURES), .words = (names),                          \
    .count = {0, 0, MS_KIND_OF(((type *)0)->member[0])}, __VA_ARGS__
/* MS_PART("key", &table, ...): an object of the same struct, or of one that `.make` makes of it;
 * without a key its members are the object's own. */
#define MS_PART(key, ...)                                                                          \
    {                                                                                              \
        MS_PART_PLACED(__VA_ARGS__, .name = (key))                                                 \
    }
#define MS_PART_PLACED(table, ...) .at = {0, 0, MS_MEMBER_PART}, .inner = (table), __VA_ARGS__
/* MS_PART_AT(type, "key", member, &table, .make = ...): what is made of one member. */
#define MS_PART_AT(type, key, ...)                                                                 \
    {                                                                                              \
        MS_PART_AT_PLACED(type, __VA_ARGS__, .name = (key))                                        \
    }
#define MS_PART_AT_PLACED(type, member, table, ...)                                                \
    .at = MS_PLACE_AS(type, member, MS_MEMBER_PART), .inner = (table), __VA_ARGS__
#define MS_CONSTANT(key, value)                                                                    \
    {                                                                                              \
        .name = (key), .at = {0, 0, MS_MEMBER_CONSTANT}, .text = (value)                           \
    }
/* What has names that no table can list: a function writes it. */
#define MS_WRITTEN(key, function)                                                                  \
    {                                                                                              \
        .name = (key), .at = {0, 0, MS_MEMBER_WRITTEN}, .write = (function)                        \
    }
/* MS_MEMBERS(type, items, ...) */
#define MS_MEMBERS(type, ...)                                                                      \
    {                                                                                              \
        MS_MEMBERS_LISTED(__VA_ARGS__, .row_bytes = sizeof(type))                                  \
    }
#define MS_MEMBERS_LISTED(list, ...)                                                               \
    .items = (list), .count = sizeof(list) / sizeof((list)[0]), __VA_ARGS__

/* Lists of strings: const char *const *. */
extern const ms_members ms_plain_texts;

/* Writes the members of the struct into an open object. */
void ms_members_write(ms_json_writer *w, const ms_members *members, const void *row);
/* Writes a whole document: its version, then its members. True, as writers of a view return it. */
bool ms_members_document(FILE *out, const char *version, const ms_members *members,
                         const void *row);

/* The count in a struct. */
uint64_t ms_member_count(const ms_member *m, const void *row);

typedef struct ms_members_reading ms_members_reading;
struct ms_members_reading {
    const char *what; /* "a report", for messages */
    ms_arena *arena;  /* of rows, and of texts that `text` copies */
    /* NULL: texts belong to the document. */
    const char *(*text)(ms_arena *arena, const char *text);
    /* Looks at a count, or the length of a list, of a member that has `check`, before it is kept.
     */
    ms_status (*check)(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                       uint64_t count, const void *row);
    const void *context; /* for `check` */
    ms_error *err;
};

/* Fills what the object has of a zeroed struct. An error has the place in the file. */
ms_status ms_members_read(const ms_members_reading *r, const ms_members *members,
                          ms_json_value object, void *row);

#endif
