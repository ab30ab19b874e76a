/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NCCL of the null device: what ranks give each other that all hold what this one holds.
 */
#include <string.h>

#include "unit/nulldevice.h"

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };
enum { INT32 = 2, INT64 = 4, FLOAT16 = 6, FLOAT32 = 7, SUM = 0, PRODUCT = 1, MAX = 2 };
enum { RANKS = 4, RANK = 1 };

typedef struct unique_id {
    char text[128];
} unique_id;

static int (*allocate)(void **, size_t), (*release)(void *);
static int (*copy)(void *, const void *, size_t, int);
static void *group;
static char *room; /* 2 MiB */

static int begin_group(void **state)
{
    int (*begin)(void **, int, unique_id, int);
    void *made = NULL;
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemcpy", &copy);
    find("ncclCommInitRank", &begin);
    assert_int_equal(begin(&group, RANKS, (unique_id){{0}}, RANK), OK);
    assert_int_equal(allocate(&made, 2 * MIB), OK);
    room = made;
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    assert_int_equal(release(room), OK);
    return 0;
}

static void give(size_t at, const void *values, size_t bytes)
{
    assert_int_equal(copy(room + at, values, bytes, HOST_TO_DEVICE), OK);
}

static void expect(size_t at, const void *values, size_t bytes)
{
    char got[64];
    assert_int_equal(copy(got, room + at, bytes, DEVICE_TO_HOST), OK);
    assert_memory_equal(got, values, bytes);
}

static void a_communicator_knows_its_ranks(void **state)
{
    int (*count)(void *, int *);
    int ranks = 0;
    (void)state;
    find("ncclCommCount", &count);
    assert_int_equal(count(group, &ranks), OK);
    assert_int_equal(ranks, RANKS);
}

static void a_gather_has_the_same_of_every_rank(void **state)
{
    int (*gather)(const void *, void *, size_t, int, void *, void *);
    const int own[2] = {5, 6}, all[8] = {5, 6, 5, 6, 5, 6, 5, 6};
    (void)state;
    find("ncclAllGather", &gather);
    give(0, own, sizeof own);
    gather(room, room + MIB, 2, INT32, group, NULL);
    expect(MIB, all, sizeof all);
    expect(MIB + sizeof own, own, sizeof own);
}

static void a_sum_is_a_multiple(void **state)
{
    int (*reduce)(const void *, void *, size_t, int, int, void *, void *);
    const int integers[2] = {5, -6}, sums[2] = {20, -24}, nothing[2] = {0};
    const float fraction = 1.5F, sum = 6.0F;
    (void)state;
    find("ncclAllReduce", &reduce);
    give(0, integers, sizeof integers);
    reduce(room, room, 2, INT32, MAX, group, NULL);
    expect(0, integers, sizeof integers);
    reduce(room, room, 2, INT32, SUM, group, NULL);
    expect(0, sums, sizeof sums);
    give(0, &fraction, sizeof fraction);
    reduce(room, room + MIB, 1, FLOAT32, SUM, group, NULL);
    expect(MIB, &sum, sizeof sum);
    reduce(room, room, 2, FLOAT16, SUM, group, NULL); /* not known, so nothing is played back */
    expect(0, nothing, sizeof fraction);
    reduce(room + MIB, room + MIB, 1, FLOAT32, PRODUCT, group, NULL);
    expect(MIB, nothing, sizeof fraction);
}

static void a_scattered_sum_is_of_the_own_part(void **state)
{
    int (*reduce)(const void *, void *, size_t, int, int, void *, void *);
    const int64_t parts[RANKS] = {1, 2, 3, 4}, sum = 8;
    (void)state;
    find("ncclReduceScatter", &reduce);
    give(0, parts, sizeof parts);
    reduce(room, room + MIB, 1, INT64, SUM, group, NULL);
    expect(MIB, &sum, sizeof sum);
}

typedef int (*message)(void *, size_t, int, int, void *, void *);

/* Each rank sends every rank a part, of which this one gets those for rank 1. */
static void messages_to_all_ranks_are_answered(void **state)
{
    int (*start)(void), (*end)(void);
    message send, receive;
    const int parts[RANKS] = {10, 11, 12, 13}, got[RANKS] = {11, 11, 11, 11};
    (void)state;
    find("ncclGroupStart", &start);
    find("ncclGroupEnd", &end);
    find("ncclSend", &send);
    find("ncclRecv", &receive);
    give(0, parts, sizeof parts);
    start();
    start();
    for (int rank = 0; rank < RANKS; rank++) {
        send(room + 4 * rank, 1, INT32, rank, group, NULL);
        receive(room + MIB + 4 * rank, 1, INT32, rank, group, NULL);
    }
    end();
    end();
    expect(MIB, got, sizeof got);
}

static void a_ring_hands_on_what_it_gets(void **state)
{
    int (*start)(void), (*end)(void);
    message send, receive;
    const int sent[2] = {7, 8}, nothing[2] = {0};
    (void)state;
    find("ncclGroupStart", &start);
    find("ncclGroupEnd", &end);
    find("ncclSend", &send);
    find("ncclRecv", &receive);
    give(0, sent, sizeof sent);
    start();
    send(room, 2, INT32, RANK + 1, group, NULL);
    receive(room + MIB, 2, INT32, RANK - 1, group, NULL);
    end();
    expect(MIB, sent, sizeof sent);
    start();
    send(room, 2, INT32, RANK + 1, group, NULL);
    receive(room + MIB, 1, INT32, RANK - 1, group, NULL); /* of another size */
    end();
    expect(MIB, nothing, sizeof nothing[0]);
    give(MIB, sent, sizeof sent);
    receive(room + MIB, 2, INT32, RANK - 1, group, NULL); /* alone */
    expect(MIB, nothing, sizeof nothing);
}

/* torch 2.15 gathers lists so: a broadcast from each rank, of which this one sends its own. */
static void a_group_of_broadcasts_gathers(void **state)
{
    int (*start)(void), (*end)(void);
    int (*broadcast)(const void *, void *, size_t, int, int, void *, void *);
    const int sent = 7;
    (void)state;
    find("ncclGroupStart", &start);
    find("ncclGroupEnd", &end);
    find("ncclBroadcast", &broadcast);
    give(0, &sent, sizeof sent);
    assert_int_equal(start(), OK);
    for (int rank = 0; rank < RANKS; rank++) {
        char *to = room + MIB + 512 * (size_t)rank;
        assert_int_equal(broadcast(rank == RANK ? room : to, to, 1, INT32, rank, group, NULL), OK);
    }
    assert_int_equal(end(), OK);
    for (size_t rank = 0; rank < RANKS; rank++)
        expect(MIB + 512 * rank, &sent, sizeof sent);
    assert_int_equal(broadcast(room, room, 1, INT32, 0, group, NULL), OK); /* its own is taken */
    expect(0, &sent, sizeof sent);
    assert_int_not_equal(end(), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_communicator_knows_its_ranks, begin_group, end_group),
        cmocka_unit_test_setup_teardown(a_gather_has_the_same_of_every_rank, begin_group,
                                        end_group),
        cmocka_unit_test_setup_teardown(a_sum_is_a_multiple, begin_group, end_group),
        cmocka_unit_test_setup_teardown(a_scattered_sum_is_of_the_own_part, begin_group, end_group),
        cmocka_unit_test_setup_teardown(messages_to_all_ranks_are_answered, begin_group, end_group),
        cmocka_unit_test_setup_teardown(a_group_of_broadcasts_gathers, begin_group, end_group),
        cmocka_unit_test_setup_teardown(a_ring_hands_on_what_it_gets, begin_group, end_group),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
