/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuSPARSE: handles; products need workspace sizes that only the real library knows.
 */
#include "hardware/nulldevice/nulldevice.h"

enum { CUSPARSE_NOT_SUPPORTED = 10 };

MS_NULL_MAKES(cusparseCreate)

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cusparseDestroy) SUCCEEDS(cusparseDestroyBsrsm2Info) SUCCEEDS(cusparseDestroyBsrsv2Info) SUCCEEDS(cusparseDestroyDnMat)
SUCCEEDS(cusparseDestroyDnVec) SUCCEEDS(cusparseDestroyMatDescr) SUCCEEDS(cusparseDestroySpMat) SUCCEEDS(cusparseSetPointerMode)
SUCCEEDS(cusparseSetStream)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, CUSPARSE_NOT_SUPPORTED)
UNCOVERED(cusparseCbsrmm) UNCOVERED(cusparseCbsrmv) UNCOVERED(cusparseCbsrsm2_analysis) UNCOVERED(cusparseCbsrsm2_bufferSize)
UNCOVERED(cusparseCbsrsm2_solve) UNCOVERED(cusparseCbsrsv2_analysis) UNCOVERED(cusparseCbsrsv2_bufferSize) UNCOVERED(cusparseCbsrsv2_solve)
UNCOVERED(cusparseCcsrgeam2) UNCOVERED(cusparseCcsrgeam2_bufferSizeExt) UNCOVERED(cusparseCreateBsrsm2Info) UNCOVERED(cusparseCreateBsrsv2Info)
UNCOVERED(cusparseCreateCoo) UNCOVERED(cusparseCreateCsr) UNCOVERED(cusparseCreateDnMat) UNCOVERED(cusparseCreateDnVec)
UNCOVERED(cusparseCreateIdentityPermutation) UNCOVERED(cusparseCreateMatDescr) UNCOVERED(cusparseCsrSetPointers) UNCOVERED(cusparseCsrSetStridedBatch)
UNCOVERED(cusparseDbsrmm) UNCOVERED(cusparseDbsrmv) UNCOVERED(cusparseDbsrsm2_analysis) UNCOVERED(cusparseDbsrsm2_bufferSize)
UNCOVERED(cusparseDbsrsm2_solve) UNCOVERED(cusparseDbsrsv2_analysis) UNCOVERED(cusparseDbsrsv2_bufferSize) UNCOVERED(cusparseDbsrsv2_solve)
UNCOVERED(cusparseDcsrgeam2) UNCOVERED(cusparseDcsrgeam2_bufferSizeExt) UNCOVERED(cusparseDnMatSetStridedBatch) UNCOVERED(cusparseSDDMM)
UNCOVERED(cusparseSDDMM_bufferSize) UNCOVERED(cusparseSDDMM_preprocess) UNCOVERED(cusparseSbsrmm) UNCOVERED(cusparseSbsrmv)
UNCOVERED(cusparseSbsrsm2_analysis) UNCOVERED(cusparseSbsrsm2_bufferSize) UNCOVERED(cusparseSbsrsm2_solve) UNCOVERED(cusparseSbsrsv2_analysis)
UNCOVERED(cusparseSbsrsv2_bufferSize) UNCOVERED(cusparseSbsrsv2_solve) UNCOVERED(cusparseScsrgeam2) UNCOVERED(cusparseScsrgeam2_bufferSizeExt)
UNCOVERED(cusparseSetMatDiagType) UNCOVERED(cusparseSetMatFillMode) UNCOVERED(cusparseSetMatIndexBase) UNCOVERED(cusparseSetMatType)
UNCOVERED(cusparseSpGEMM_compute) UNCOVERED(cusparseSpGEMM_copy) UNCOVERED(cusparseSpGEMM_createDescr) UNCOVERED(cusparseSpGEMM_destroyDescr)
UNCOVERED(cusparseSpGEMM_workEstimation) UNCOVERED(cusparseSpMM) UNCOVERED(cusparseSpMM_bufferSize) UNCOVERED(cusparseSpMV)
UNCOVERED(cusparseSpMV_bufferSize) UNCOVERED(cusparseSpMatGetSize) UNCOVERED(cusparseSpMatSetAttribute) UNCOVERED(cusparseSpSM_analysis)
UNCOVERED(cusparseSpSM_bufferSize) UNCOVERED(cusparseSpSM_createDescr) UNCOVERED(cusparseSpSM_destroyDescr) UNCOVERED(cusparseSpSM_solve)
UNCOVERED(cusparseSpSV_analysis) UNCOVERED(cusparseSpSV_bufferSize) UNCOVERED(cusparseSpSV_createDescr) UNCOVERED(cusparseSpSV_destroyDescr)
UNCOVERED(cusparseSpSV_solve) UNCOVERED(cusparseXbsrsm2_zeroPivot) UNCOVERED(cusparseXbsrsv2_zeroPivot) UNCOVERED(cusparseXcoo2csr)
UNCOVERED(cusparseXcoosortByRow) UNCOVERED(cusparseXcoosort_bufferSizeExt) UNCOVERED(cusparseXcsrgeam2Nnz) UNCOVERED(cusparseXcsrsort)
UNCOVERED(cusparseXcsrsort_bufferSizeExt) UNCOVERED(cusparseZbsrmm) UNCOVERED(cusparseZbsrmv) UNCOVERED(cusparseZbsrsm2_analysis)
UNCOVERED(cusparseZbsrsm2_bufferSize) UNCOVERED(cusparseZbsrsm2_solve) UNCOVERED(cusparseZbsrsv2_analysis) UNCOVERED(cusparseZbsrsv2_bufferSize)
UNCOVERED(cusparseZbsrsv2_solve) UNCOVERED(cusparseZcsrgeam2) UNCOVERED(cusparseZcsrgeam2_bufferSizeExt)
    /* clang-format on */
