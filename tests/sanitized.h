/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a sanitizer makes the program slow, or takes addresses.
 */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Whether threads are watched, which leaves few addresses to a process. */
#ifdef __SANITIZE_THREAD__
#define WATCHES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WATCHES_THREADS 1
#endif
#endif

#endif
