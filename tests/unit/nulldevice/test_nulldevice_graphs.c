/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA graphs on the null device: which streams are captured, what is refused meanwhile, and how
 * many nodes a graph has.
 */
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"
#include "unit/nulldevice.h"

enum { NOT_CAPTURED, IS_CAPTURED, IS_INVALID };

static int (*begin_capture)(void *, int), (*end_capture)(void *, void **);
static int (*ask)(void *, int *, unsigned long long *, void **, void **, void **, size_t *);
static int (*make_stream)(void **), (*make_event)(void **), (*record)(void *, void *);
static int (*wait_event)(void *, void *), (*query_event)(void *), (*wait_stream)(void *);
static int (*wait_device)(void), (*destroy_graph)(void *), (*nodes_of)(void *, void **, size_t *);
static unsigned (*launch)(ms_null_dimensions, ms_null_dimensions, size_t, void *);

static int find_all(void **state)
{
    if (open_library(state) != 0)
        return -1;
    find("cudaStreamBeginCapture", &begin_capture);
    find("cudaStreamEndCapture", &end_capture);
    find("cudaStreamGetCaptureInfo", &ask);
    find("cudaStreamCreate", &make_stream);
    find("cudaEventCreate", &make_event);
    find("cudaEventRecord", &record);
    find("cudaStreamWaitEvent", &wait_event);
    find("cudaEventQuery", &query_event);
    find("cudaStreamSynchronize", &wait_stream);
    find("cudaDeviceSynchronize", &wait_device);
    find("cudaGraphDestroy", &destroy_graph);
    find("cudaGraphGetNodes", &nodes_of);
    find("__cudaPushCallConfiguration", &launch);
    return 0;
}

static int status_of(void *stream)
{
    int status = -1;
    assert_int_equal(ask(stream, &status, NULL, NULL, NULL, NULL, NULL), OK);
    return status;
}

static unsigned long long id_of(void *stream)
{
    unsigned long long id = 0;
    assert_int_equal(ask(stream, NULL, &id, NULL, NULL, NULL, NULL), OK);
    return id;
}

static void a_capture_counts_its_work(void **state)
{
    const ms_null_dimensions one = {1, 1, 1};
    void *stream = NULL, *other = NULL, *graph = NULL;
    size_t count = 99;
    (void)state;
    make_stream(&stream);
    make_stream(&other);
    assert_int_equal(status_of(stream), NOT_CAPTURED);
    assert_int_equal(id_of(stream), 0);
    assert_int_equal(begin_capture(stream, 2), OK);
    assert_int_equal(begin_capture(stream, 2), MS_NULL_CAPTURE_UNSUPPORTED);
    assert_int_equal(status_of(stream), IS_CAPTURED);
    assert_int_equal(status_of(other), NOT_CAPTURED);
    unsigned long long id = id_of(stream);
    assert_true(id > 0);
    launch(one, one, 0, stream);
    launch(one, one, 0, stream);
    launch(one, one, 0, other);
    assert_int_equal(end_capture(stream, &graph), OK);
    assert_int_equal(status_of(stream), NOT_CAPTURED);
    assert_int_equal(nodes_of(graph, NULL, &count), OK);
    assert_int_equal(count, 2);
    destroy_graph(graph);
    assert_int_equal(end_capture(stream, &graph), MS_NULL_CAPTURE_UNSUPPORTED);
    assert_int_equal(begin_capture(stream, 2), OK);
    assert_true(id_of(stream) > id);
    assert_int_equal(end_capture(stream, &graph), OK);
    assert_int_equal(nodes_of(graph, NULL, &count), OK);
    assert_int_equal(count, 0);
    destroy_graph(graph);
}

static void streams_join_by_events(void **state)
{
    const ms_null_dimensions one = {1, 1, 1};
    void *stream = NULL, *other = NULL, *event = NULL, *graph = NULL;
    size_t count = 0;
    (void)state;
    make_stream(&stream);
    make_stream(&other);
    make_event(&event);
    record(event, stream); /* before the capture: nobody joins by it */
    assert_int_equal(begin_capture(stream, 2), OK);
    assert_int_equal(wait_event(other, event), OK);
    assert_int_equal(status_of(other), NOT_CAPTURED);
    record(event, stream);
    assert_int_equal(wait_event(other, event), OK);
    assert_int_equal(status_of(other), IS_CAPTURED);
    assert_int_equal(id_of(other), id_of(stream));
    launch(one, one, 0, other);
    assert_int_equal(end_capture(other, &graph), MS_NULL_CAPTURE_UNSUPPORTED);
    assert_int_equal(end_capture(stream, &graph), OK);
    assert_int_equal(status_of(other), NOT_CAPTURED);
    assert_int_equal(query_event(event), OK);
    assert_int_equal(nodes_of(graph, NULL, &count), OK);
    assert_int_equal(count, 1);
    destroy_graph(graph);
}

typedef struct wait_case {
    const char *label;
    int (*wait)(void *stream, void *event);
    int code;
} wait_case;

static int for_stream(void *stream, void *event)
{
    (void)event;
    return wait_stream(stream);
}

static int for_device(void *stream, void *event)
{
    (void)stream, (void)event;
    return wait_device();
}

static int for_event(void *stream, void *event)
{
    (void)stream;
    return query_event(event);
}

static const wait_case wait_cases[] = {
    {"the stream", for_stream, MS_NULL_CAPTURE_UNSUPPORTED},
    {"the device", for_device, MS_NULL_CAPTURE_UNSUPPORTED},
    {"an event of the capture", for_event, MS_NULL_CAPTURED_EVENT},
};

static void waiting_spoils_a_capture(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wait_cases / sizeof wait_cases[0]; i++) {
        void *stream = NULL, *event = NULL, *graph = &graph;
        make_stream(&stream);
        make_event(&event);
        assert_int_equal(begin_capture(stream, 2), OK);
        record(event, stream);
        int code = wait_cases[i].wait(stream, event);
        if (code != wait_cases[i].code || status_of(stream) != IS_INVALID)
            fail_msg("%s: %d", wait_cases[i].label, code);
        assert_int_equal(end_capture(stream, &graph), MS_NULL_CAPTURE_INVALIDATED);
        assert_null(graph);
        assert_int_equal(wait_cases[i].wait(stream, event), OK);
    }
}

static unsigned destroyed;

static void destroy(void *data)
{
    destroyed += data == &destroyed;
}

static void objects_live_as_long_as_their_graph(void **state)
{
    int (*make)(void **, void *, void (*)(void *), unsigned, unsigned);
    int (*keep)(void *, void *, unsigned, unsigned), (*release)(void *, unsigned);
    void *stream = NULL, *graph = NULL, *object = NULL;
    (void)state;
    find("cudaUserObjectCreate", &make);
    find("cudaGraphRetainUserObject", &keep);
    find("cudaUserObjectRelease", &release);
    make_stream(&stream);
    begin_capture(stream, 2);
    end_capture(stream, &graph);
    assert_int_equal(make(&object, &destroyed, destroy, 1, 1), OK);
    assert_int_equal(keep(graph, object, 1, 1), OK);
    assert_int_equal(destroyed, 0);
    destroy_graph(graph);
    assert_int_equal(destroyed, 1);
    assert_int_equal(make(&object, &destroyed, destroy, 2, 1), OK);
    assert_int_equal(release(object, 1), OK);
    assert_int_equal(destroyed, 1);
    assert_int_equal(release(object, 1), OK);
    assert_int_equal(destroyed, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_counts_its_work),
        cmocka_unit_test(streams_join_by_events),
        cmocka_unit_test(waiting_spoils_a_capture),
        cmocka_unit_test(objects_live_as_long_as_their_graph),
    };
    return cmocka_run_group_tests(tests, find_all, NULL);
}
