/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The null device, as a program that loads it sees it.
 */
#include <stdio.h>
#include <string.h>

#include "hardware/nulldevice/runtime_types.h"
#include "unit/nulldevice.h"

enum { OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };

static void properties_are_those_of_the_environment(void **state)
{
    int (*count_of)(int *), (*properties_of)(ms_null_properties *, int);
    int (*attribute_of)(int *, int, int);
    int count = 0, value = 0;
    ms_null_properties p;
    (void)state;
    find("cudaGetDeviceCount", &count_of);
    find("cudaGetDeviceProperties", &properties_of);
    find("cudaDeviceGetAttribute", &attribute_of);
    assert_int_equal(count_of(&count), OK);
    assert_int_equal(count, 2);
    assert_int_equal(properties_of(&p, 1), OK);
    assert_string_equal(p.name, "A device");
    assert_int_equal(10 * p.major + p.minor, 89);
    assert_int_equal(p.multiprocessors, 58);
    assert_int_equal(p.total_bytes, TOTAL_BYTES);
    assert_int_equal(p.l2_bytes, 72 * MIB);
    assert_int_equal(attribute_of(&value, 16, 0), OK);
    assert_int_equal(value, 58);
    assert_int_equal(properties_of(&p, 2), INVALID_DEVICE);
}

static void properties_are_the_same_in_the_layout_of_cuda_12(void **state)
{
    int (*properties_of)(ms_null_properties *, int), (*of_12)(ms_null_properties_12 *, int);
    ms_null_properties p;
    ms_null_properties_12 old;
    (void)state;
    find("cudaGetDeviceProperties", &properties_of);
    find("cudaGetDeviceProperties_v2", &of_12);
    assert_int_equal(properties_of(&p, 1), OK);
    assert_int_equal(of_12(&old, 1), OK);
    assert_string_equal(old.name, p.name);
    assert_int_equal(old.total_bytes, p.total_bytes);
    assert_int_equal(old.grid_dimensions[2], p.grid_dimensions[2]);
    assert_true(old.clock_khz > 0);
    assert_int_equal(old.constant_bytes, p.constant_bytes);
    assert_int_equal(10 * old.major + old.minor, 89);
    assert_int_equal(old.multiprocessors, p.multiprocessors);
    assert_int_equal(old.maps_host_memory, p.maps_host_memory);
    assert_int_equal(old.unified_addressing, p.unified_addressing);
    assert_int_equal(old.l2_bytes, p.l2_bytes);
    assert_int_equal(old.threads_of_multiprocessor, p.threads_of_multiprocessor);
    assert_int_equal(old.cooperative_launch, p.cooperative_launch);
    assert_int_equal(old.shared_bytes_opt_in, p.shared_bytes_opt_in);
    assert_int_equal(old.blocks_of_multiprocessor, p.blocks_of_multiprocessor);
    assert_int_equal(old.shared_bytes_of_multiprocessor, p.shared_bytes_of_multiprocessor);
    assert_true(old.registers_of_multiprocessor > 0);
    assert_int_equal(old.registers_of_multiprocessor, p.registers_of_multiprocessor);
    assert_int_equal(of_12(&old, 2), INVALID_DEVICE);
}

static void memory_is_counted_in_granules(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *), (*info)(size_t *, size_t *);
    void *a = NULL, *b = NULL, *c = NULL;
    size_t rest = 0, total = 0;
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemGetInfo", &info);
    assert_int_equal(allocate(&a, 1), OK);
    assert_int_equal(allocate(&b, 61 * MIB), OK);
    assert_ptr_not_equal(a, b);
    info(&rest, &total);
    assert_int_equal(total, TOTAL_BYTES);
    assert_int_equal(rest, 0);
    assert_int_equal(allocate(&c, 1), OUT_OF_MEMORY);
    assert_null(c);
    assert_int_equal(release(a), OK);
    assert_int_equal(allocate(&c, 2 * MIB), OK);
    assert_int_equal(allocate(&a, SIZE_MAX), OUT_OF_MEMORY);
    release(b), release(c), release(NULL);
    info(&rest, &total);
    assert_int_equal(rest, TOTAL_BYTES);
}

static void each_device_has_its_own_memory(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *), (*set)(int);
    int (*attributes)(ms_null_pointer *, const void *);
    void *a = NULL, *b = NULL;
    ms_null_pointer p;
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaSetDevice", &set);
    find("cudaPointerGetAttributes", &attributes);
    assert_int_equal(allocate(&a, TOTAL_BYTES), OK);
    assert_int_equal(set(1), OK);
    assert_int_equal(allocate(&b, TOTAL_BYTES), OK);
    attributes(&p, b);
    assert_int_equal(p.type, MS_NULL_DEVICE);
    assert_int_equal(p.device, 1);
    attributes(&p, &p);
    assert_int_equal(p.type, MS_NULL_UNREGISTERED);
    assert_int_equal(set(2), INVALID_DEVICE);
    release(a), release(b);
    assert_int_equal(set(0), OK);
}

static void segments_count_what_is_mapped_alone(void **state)
{
    int (*reserve)(void **, size_t, size_t, size_t, unsigned long long);
    int (*create)(unsigned long long *, size_t, const int *, unsigned long long);
    int (*release)(unsigned long long), (*unreserve)(void *, size_t);
    const int where[] = {1, 0, 1, 0, 0, 0, 0, 0};
    unsigned long long first = 0, second = 0;
    void *address = NULL;
    (void)state;
    find("cuMemAddressReserve", &reserve);
    find("cuMemAddressFree", &unreserve);
    find("cuMemCreate", &create);
    find("cuMemRelease", &release);
    assert_int_equal(reserve(&address, 1024 * MIB, 0, 0, 0), OK);
    assert_int_equal(create(&first, 40 * MIB, where, 0), OK);
    assert_int_equal(create(&second, 40 * MIB, where, 0), OUT_OF_MEMORY);
    assert_int_equal(release(first), OK);
    assert_int_equal(create(&second, 40 * MIB, where, 0), OK);
    release(second), unreserve(address, 1024 * MIB);
}

static uint64_t read_bytes;
static int reads_played_back;

static void note_read(const void *from, uint64_t bytes, int played_back)
{
    (void)from;
    read_bytes += bytes;
    reads_played_back += played_back;
}

typedef struct torch_device {
    signed char type, index;
} torch_device;

/* The memory is another tensor's then, of which nothing is known. */
static void copies_go_when_the_allocator_hands_their_memory_out_again(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *),
        (*copy)(void *, const void *, size_t, int);
    void (*report)(void *, int64_t, size_t, size_t, torch_device);
    void *a = NULL;
    const int sent = 7;
    int got = 0;
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemcpy", &copy);
    find("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", &report);
    assert_int_equal(allocate(&a, 2 * MIB), OK);
    copy(a, &sent, sizeof sent, HOST_TO_DEVICE);
    report(a, -512, 0, 0, (torch_device){1, 0});
    copy(&got, a, sizeof got, DEVICE_TO_HOST);
    assert_int_equal(got, 7);
    report(a, 512, 0, 0, (torch_device){1, 0});
    copy(&got, a, sizeof got, DEVICE_TO_HOST);
    assert_int_equal(got, 0);
    release(a);
}

static char uncovered[64];

static void note_uncovered(const char *name)
{
    snprintf(uncovered, sizeof uncovered, "%s", name);
}

static void small_copies_come_back(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *),
        (*copy)(void *, const void *, size_t, int);
    int (*fill)(void *, int, size_t);
    void (*listen)(void (*)(const void *, uint64_t, int), void (*)(const char *));
    char *a = NULL;
    const int sent[4] = {1, 2, 3, 4};
    int got[4] = {0};
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemcpy", &copy);
    find("cudaMemset", &fill);
    find("memscope_null_listen", &listen);
    assert_int_equal(allocate((void **)&a, 2 * MIB), OK);
    listen(note_read, note_uncovered);
    copy(a, sent, sizeof sent, HOST_TO_DEVICE);
    copy(a + MIB, a, sizeof sent, 3);
    copy(got, a + MIB, sizeof got, DEVICE_TO_HOST);
    assert_memory_equal(got, sent, sizeof sent);
    copy(got, a + sizeof(int), sizeof(int), DEVICE_TO_HOST);
    assert_int_equal(got[0], 2);
    assert_int_equal(read_bytes, 20);
    assert_int_equal(reads_played_back, 2);
    fill(a, 7, 1); /* a kernel may count there: the whole copy is forgotten */
    copy(got, a, sizeof got, DEVICE_TO_HOST);
    assert_int_equal(got[3], 0);
    assert_int_equal(reads_played_back, 2);
    listen(NULL, NULL);
    release(a);
}

/* To the thread that was told, once, and for that size alone. */
static void a_read_can_be_answered(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *),
        (*copy)(void *, const void *, size_t, int);
    void (*answer)(const void *, uint64_t);
    void *a = NULL;
    const int told = 9;
    int got = 0;
    char other = 1;
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemcpy", &copy);
    find("memscope_null_answer", &answer);
    assert_int_equal(allocate(&a, 2 * MIB), OK);
    answer(&told, sizeof told);
    copy(&other, a, sizeof other, DEVICE_TO_HOST);
    assert_int_equal(other, 0);
    copy(&got, a, sizeof got, DEVICE_TO_HOST);
    assert_int_equal(got, 9);
    copy(&got, a, sizeof got, DEVICE_TO_HOST);
    assert_int_equal(got, 0);
    answer(&told, sizeof told);
    answer(NULL, 0);
    copy(&got, a, sizeof got, DEVICE_TO_HOST);
    assert_int_equal(got, 0);
    release(a);
}

static uint64_t synchronizations;

static void note_call(const char *name, uint64_t count)
{
    assert_true(strncmp(name, "cu", 2) == 0 || strncmp(name, "nccl", 4) == 0);
    synchronizations += strcmp(name, "cudaDeviceSynchronize") == 0 ? count : 0;
}

static void calls_are_counted(void **state)
{
    int (*synchronize)(void);
    void (*calls)(void (*)(const char *, uint64_t));
    (void)state;
    find("cudaDeviceSynchronize", &synchronize);
    find("memscope_null_calls", &calls);
    for (int i = 0; i < 3; i++)
        assert_int_equal(synchronize(), OK);
    calls(note_call);
    assert_int_equal(synchronizations, 3);
}

static void uncovered_calls_say_their_name(void **state)
{
    int (*call)(void);
    void (*listen)(void (*)(const void *, uint64_t, int), void (*)(const char *));
    (void)state;
    find("cusolverDnSpotrf", &call);
    find("memscope_null_listen", &listen);
    listen(note_read, note_uncovered);
    assert_int_not_equal(call(), OK);
    assert_string_equal(uncovered, "cusolverDnSpotrf");
    listen(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_those_of_the_environment),
        cmocka_unit_test(properties_are_the_same_in_the_layout_of_cuda_12),
        cmocka_unit_test(memory_is_counted_in_granules),
        cmocka_unit_test(each_device_has_its_own_memory),
        cmocka_unit_test(segments_count_what_is_mapped_alone),
        cmocka_unit_test(small_copies_come_back),
        cmocka_unit_test(a_read_can_be_answered),
        cmocka_unit_test(copies_go_when_the_allocator_hands_their_memory_out_again),
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(uncovered_calls_say_their_name),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
