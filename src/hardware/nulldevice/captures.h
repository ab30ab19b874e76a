/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streams that are being captured into CUDA graphs, and what that does to work, events and waiting.
 */
#ifndef MS_HARDWARE_NULLDEVICE_CAPTURES_H
#define MS_HARDWARE_NULLDEVICE_CAPTURES_H

/* Work that takes so many seconds was given to the stream: a node of the graph, if the stream is
 * being captured. */
void ms_null_work(const void *stream, double seconds);

/* MS_NULL_OK, or CUDA's error for waiting for a stream, or for the whole device, that is being
 * captured; the capture is then invalid, as it is with CUDA. */
int ms_null_wait_for_stream(const void *stream);
int ms_null_wait_for_device(void);

/* An event that is recorded in a captured stream makes streams that wait for it part of the
 * capture. Waiting for one on the host is an error. */
void ms_null_event_record(const void *event, const void *stream);
void ms_null_event_forget(const void *event);
int ms_null_event_join(const void *stream, const void *event);
int ms_null_event_wait(const void *event);

#endif
