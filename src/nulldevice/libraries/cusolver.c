/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuSOLVER: handles; decompositions need workspace sizes that only the real library knows.
 */
#include "nulldevice/nulldevice.h"

enum { CUSOLVER_NOT_SUPPORTED = 9 };

MS_NULL_CALL(int, cusolverDnCreate, (void **handle))
{
    *handle = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cusolverDnCreateParams, (void **handle))
{
    *handle = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cusolverDnCreateSyevjInfo, (void **handle))
{
    *handle = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cusolverDnCreateGesvdjInfo, (void **handle))
{
    *handle = ms_null_handle();
    return MS_NULL_OK;
}

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cusolverDnDestroy) SUCCEEDS(cusolverDnDestroyGesvdjInfo) SUCCEEDS(cusolverDnDestroyParams) SUCCEEDS(cusolverDnDestroySyevjInfo)
SUCCEEDS(cusolverDnSetStream)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, CUSOLVER_NOT_SUPPORTED)
UNCOVERED(cusolverDnCgeqrf) UNCOVERED(cusolverDnCgeqrf_bufferSize) UNCOVERED(cusolverDnCgesvd) UNCOVERED(cusolverDnCgesvd_bufferSize)
UNCOVERED(cusolverDnCgesvdaStridedBatched) UNCOVERED(cusolverDnCgesvdaStridedBatched_bufferSize) UNCOVERED(cusolverDnCgesvdj)
UNCOVERED(cusolverDnCgesvdjBatched) UNCOVERED(cusolverDnCgesvdjBatched_bufferSize) UNCOVERED(cusolverDnCgesvdj_bufferSize) UNCOVERED(cusolverDnCgetrf)
UNCOVERED(cusolverDnCgetrf_bufferSize) UNCOVERED(cusolverDnCgetrs) UNCOVERED(cusolverDnCheevd) UNCOVERED(cusolverDnCheevd_bufferSize)
UNCOVERED(cusolverDnCheevj) UNCOVERED(cusolverDnCheevjBatched) UNCOVERED(cusolverDnCheevjBatched_bufferSize) UNCOVERED(cusolverDnCheevj_bufferSize)
UNCOVERED(cusolverDnCpotrf) UNCOVERED(cusolverDnCpotrfBatched) UNCOVERED(cusolverDnCpotrf_bufferSize) UNCOVERED(cusolverDnCpotrs)
UNCOVERED(cusolverDnCpotrsBatched) UNCOVERED(cusolverDnCsytrf) UNCOVERED(cusolverDnCsytrf_bufferSize) UNCOVERED(cusolverDnCungqr)
UNCOVERED(cusolverDnCungqr_bufferSize) UNCOVERED(cusolverDnCunmqr) UNCOVERED(cusolverDnCunmqr_bufferSize) UNCOVERED(cusolverDnDgeqrf)
UNCOVERED(cusolverDnDgeqrf_bufferSize) UNCOVERED(cusolverDnDgesvd) UNCOVERED(cusolverDnDgesvd_bufferSize) UNCOVERED(cusolverDnDgesvdaStridedBatched)
UNCOVERED(cusolverDnDgesvdaStridedBatched_bufferSize) UNCOVERED(cusolverDnDgesvdj) UNCOVERED(cusolverDnDgesvdjBatched)
UNCOVERED(cusolverDnDgesvdjBatched_bufferSize) UNCOVERED(cusolverDnDgesvdj_bufferSize) UNCOVERED(cusolverDnDgetrf)
UNCOVERED(cusolverDnDgetrf_bufferSize) UNCOVERED(cusolverDnDgetrs) UNCOVERED(cusolverDnDorgqr) UNCOVERED(cusolverDnDorgqr_bufferSize)
UNCOVERED(cusolverDnDormqr) UNCOVERED(cusolverDnDormqr_bufferSize) UNCOVERED(cusolverDnDpotrf) UNCOVERED(cusolverDnDpotrfBatched)
UNCOVERED(cusolverDnDpotrf_bufferSize) UNCOVERED(cusolverDnDpotrs) UNCOVERED(cusolverDnDpotrsBatched) UNCOVERED(cusolverDnDsyevd)
UNCOVERED(cusolverDnDsyevd_bufferSize) UNCOVERED(cusolverDnDsyevj) UNCOVERED(cusolverDnDsyevjBatched) UNCOVERED(cusolverDnDsyevjBatched_bufferSize)
UNCOVERED(cusolverDnDsyevj_bufferSize) UNCOVERED(cusolverDnDsytrf) UNCOVERED(cusolverDnDsytrf_bufferSize) UNCOVERED(cusolverDnSgeqrf)
UNCOVERED(cusolverDnSgeqrf_bufferSize) UNCOVERED(cusolverDnSgesvd) UNCOVERED(cusolverDnSgesvd_bufferSize) UNCOVERED(cusolverDnSgesvdaStridedBatched)
UNCOVERED(cusolverDnSgesvdaStridedBatched_bufferSize) UNCOVERED(cusolverDnSgesvdj) UNCOVERED(cusolverDnSgesvdjBatched)
UNCOVERED(cusolverDnSgesvdjBatched_bufferSize) UNCOVERED(cusolverDnSgesvdj_bufferSize) UNCOVERED(cusolverDnSgetrf)
UNCOVERED(cusolverDnSgetrf_bufferSize) UNCOVERED(cusolverDnSgetrs) UNCOVERED(cusolverDnSorgqr) UNCOVERED(cusolverDnSorgqr_bufferSize)
UNCOVERED(cusolverDnSormqr) UNCOVERED(cusolverDnSormqr_bufferSize) UNCOVERED(cusolverDnSpotrf) UNCOVERED(cusolverDnSpotrfBatched)
UNCOVERED(cusolverDnSpotrf_bufferSize) UNCOVERED(cusolverDnSpotrs) UNCOVERED(cusolverDnSpotrsBatched) UNCOVERED(cusolverDnSsyevd)
UNCOVERED(cusolverDnSsyevd_bufferSize) UNCOVERED(cusolverDnSsyevj) UNCOVERED(cusolverDnSsyevjBatched) UNCOVERED(cusolverDnSsyevjBatched_bufferSize)
UNCOVERED(cusolverDnSsyevj_bufferSize) UNCOVERED(cusolverDnSsytrf) UNCOVERED(cusolverDnSsytrf_bufferSize) UNCOVERED(cusolverDnXgeev)
UNCOVERED(cusolverDnXgeev_bufferSize) UNCOVERED(cusolverDnXgeqrf) UNCOVERED(cusolverDnXgeqrf_bufferSize) UNCOVERED(cusolverDnXgesvdjSetMaxSweeps)
UNCOVERED(cusolverDnXgesvdjSetSortEig) UNCOVERED(cusolverDnXgesvdjSetTolerance) UNCOVERED(cusolverDnXpotrf) UNCOVERED(cusolverDnXpotrf_bufferSize)
UNCOVERED(cusolverDnXpotrs) UNCOVERED(cusolverDnXsyevBatched) UNCOVERED(cusolverDnXsyevBatched_bufferSize) UNCOVERED(cusolverDnXsyevd)
UNCOVERED(cusolverDnXsyevd_bufferSize) UNCOVERED(cusolverDnXsyevjSetSortEig) UNCOVERED(cusolverDnXsytrs) UNCOVERED(cusolverDnXsytrs_bufferSize) UNCOVERED(cusolverDnZgeqrf)
UNCOVERED(cusolverDnZgeqrf_bufferSize) UNCOVERED(cusolverDnZgesvd) UNCOVERED(cusolverDnZgesvd_bufferSize) UNCOVERED(cusolverDnZgesvdaStridedBatched)
UNCOVERED(cusolverDnZgesvdaStridedBatched_bufferSize) UNCOVERED(cusolverDnZgesvdj) UNCOVERED(cusolverDnZgesvdjBatched)
UNCOVERED(cusolverDnZgesvdjBatched_bufferSize) UNCOVERED(cusolverDnZgesvdj_bufferSize) UNCOVERED(cusolverDnZgetrf)
UNCOVERED(cusolverDnZgetrf_bufferSize) UNCOVERED(cusolverDnZgetrs) UNCOVERED(cusolverDnZheevd) UNCOVERED(cusolverDnZheevd_bufferSize)
UNCOVERED(cusolverDnZheevj) UNCOVERED(cusolverDnZheevjBatched) UNCOVERED(cusolverDnZheevjBatched_bufferSize) UNCOVERED(cusolverDnZheevj_bufferSize)
UNCOVERED(cusolverDnZpotrf) UNCOVERED(cusolverDnZpotrfBatched) UNCOVERED(cusolverDnZpotrf_bufferSize) UNCOVERED(cusolverDnZpotrs)
UNCOVERED(cusolverDnZpotrsBatched) UNCOVERED(cusolverDnZsytrf) UNCOVERED(cusolverDnZsytrf_bufferSize) UNCOVERED(cusolverDnZungqr)
UNCOVERED(cusolverDnZungqr_bufferSize) UNCOVERED(cusolverDnZunmqr) UNCOVERED(cusolverDnZunmqr_bufferSize)
    /* clang-format on */
