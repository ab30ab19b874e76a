/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Status codes and the error struct that every fallible call fills.
 * The caller owns the struct and zeroes it before the first call; the first failure wins.
 */
#ifndef MEMSCOPE_ERROR_H
#define MEMSCOPE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, value (stable, never reused), process exit code, text */
#define MS_STATUS_LIST(X)                                                                          \
    X(MS_OK, 0, 0, "ok")                                                                           \
    X(MS_ERR_NOMEM, 1, 70, "out of memory")                                                        \
    X(MS_ERR_IO, 2, 2, "cannot read or write")                                                     \
    X(MS_ERR_SYNTAX, 3, 2, "not valid JSON")                                                       \
    X(MS_ERR_CONFIG, 4, 2, "config breaks a rule")                                                 \
    X(MS_ERR_OVERFLOW, 5, 2, "size exceeds 64 bits")                                               \
    X(MS_ERR_INFEASIBLE, 6, 3, "no plan was found that fits the budget")                           \
    X(MS_ERR_SOLVER, 7, 70, "solver failed")                                                       \
    X(MS_ERR_LIMIT, 8, 2, "input larger than supported")                                           \
    X(MS_ERR_USAGE, 9, 2, "bad usage")                                                             \
    X(MS_ERR_OVER_BUDGET, 10, 1, "does not fit")                                                   \
    X(MS_ERR_INTERNAL, 11, 70, "internal fault")                                                   \
    X(MS_ERR_STOPPED, 12, 130, "stopped")

typedef enum ms_status {
#define MS_STATUS_ENUM(name, value, exit_code, text) name = value,
    MS_STATUS_LIST(MS_STATUS_ENUM)
#undef MS_STATUS_ENUM
} ms_status;

typedef struct ms_error {
    ms_status status;
    uint32_t line, column; /* from 1, column in characters; 0 when there is no source position */
    char file[256];        /* source name; "" when the error is not about a file */
    char pointer[128];     /* RFC 6901 path into the file, e.g. "/num_attention_heads" */
    char text[512];        /* one sentence on one line, as ms_printable writes it */
    char excerpt[160];     /* the offending source line (shortened around the place), or "" */
    uint32_t caret;        /* 0-based column of the place in excerpt */
    uint32_t caret_length; /* characters to underline, at least 1 */
    char more[1024];       /* what else is refused of the same input, as "file:line:column: pointer:
                              sentence", each on a line that ends with a newline, the last of them
                              "and more" where there is no room; "": nothing */
} ms_error;

/* "out of memory" and so on; never NULL. */
const char *ms_status_text(ms_status status);

/* 0, 1, 2, 3, 70 or 130: see the exit codes in memscope(1). */
int ms_status_exit_code(ms_status status);

/* Writes `text` so that it is safe anywhere on a line of a terminal, a log or a CI job: what is
 * not printable becomes visible ("\\n", "\\x1b", "\\u202e"; a byte that is not UTF-8 "\\xff"), and
 * so do the two characters that begin a command of a CI runner ("::" where a line may begin,
 * "##" before a word and "["). Everything else stays as it is. NULL is "". Returns the
 * length of the whole result in bytes, without the final NUL; if `size` is too small, the text is
 * cut after a whole character.
 * `out` may be NULL when `size` is 0. File names and pointers in an ms_error are kept as they were
 * found: print them through this function. */
size_t ms_printable(const char *text, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
