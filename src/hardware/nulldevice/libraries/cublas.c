/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuBLAS and cuBLASLt: handles, and what is computed besides products. PyTorch allocates their
 * workspaces itself.
 */
#include <string.h>

#include "hardware/nulldevice/ledger.h"
#include "hardware/nulldevice/nulldevice.h"

/* cublasLtMatmulHeuristicResult_t */
typedef struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} heuristic;

enum { CUBLAS_VERSION = 130000, CUBLAS_NOT_SUPPORTED = 15 };

MS_NULL_MAKES(cublasCreate_v2)

MS_NULL_CALL(int, cublasGetMathMode, (void *handle, int *mode))
{
    (void)handle;
    *mode = 0;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cublasGetPointerMode_v2, (void *handle, int *mode))
{
    (void)handle;
    *mode = 0;
    return MS_NULL_OK;
}

MS_NULL_CALL(size_t, cublasLtGetVersion, (void))
{
    return CUBLAS_VERSION;
}

MS_NULL_MAKES(cublasLtCreate)
MS_NULL_MAKES(cublasLtMatmulDescCreate)
MS_NULL_MAKES(cublasLtMatmulPreferenceCreate)

MS_NULL_CALL(int, cublasLtMatmulAlgoGetHeuristic,
             (void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
              int asked, heuristic *results, int *found))
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference,
        (void)asked;
    memset(results, 0, sizeof *results);
    *found = 1;
    return MS_NULL_OK;
}

MS_NULL_CALL(const char *, cublasGetStatusString, (int code))
{
    return code == MS_NULL_OK             ? "CUBLAS_STATUS_SUCCESS"
           : code == CUBLAS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                          : "<unknown>";
}

MS_NULL_CALL(int, cublasSetWorkspace_v2, (void *handle, const void *workspace))
{
    (void)handle;
    ms_null_note_workspace(workspace);
    return MS_NULL_OK;
}

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cublasCaxpy_v2) SUCCEEDS(cublasCcopy_v2) SUCCEEDS(cublasCdotc_v2) SUCCEEDS(cublasCdotu_v2) SUCCEEDS(cublasCgelsBatched)
SUCCEEDS(cublasCgemmBatched) SUCCEEDS(cublasCgemmStridedBatched) SUCCEEDS(cublasCgemm_v2) SUCCEEDS(cublasCgemv_v2) SUCCEEDS(cublasCgeqrfBatched)
SUCCEEDS(cublasCgerc_v2) SUCCEEDS(cublasCgeru_v2) SUCCEEDS(cublasCgetrfBatched) SUCCEEDS(cublasCgetrsBatched) SUCCEEDS(cublasChemm_v2)
SUCCEEDS(cublasChemv_v2) SUCCEEDS(cublasCher2_v2) SUCCEEDS(cublasCher2k_v2) SUCCEEDS(cublasCher_v2) SUCCEEDS(cublasCherk_v2) SUCCEEDS(cublasCrot_v2)
SUCCEEDS(cublasCrotg_v2) SUCCEEDS(cublasCscal_v2) SUCCEEDS(cublasCsrot_v2) SUCCEEDS(cublasCsscal_v2) SUCCEEDS(cublasCswap_v2) SUCCEEDS(cublasCsymm_v2)
SUCCEEDS(cublasCsymv_v2) SUCCEEDS(cublasCsyr2_v2) SUCCEEDS(cublasCsyr2k_v2) SUCCEEDS(cublasCsyr_v2) SUCCEEDS(cublasCsyrk_v2) SUCCEEDS(cublasCtrmm_v2)
SUCCEEDS(cublasCtrmv_v2) SUCCEEDS(cublasCtrsmBatched) SUCCEEDS(cublasCtrsm_v2) SUCCEEDS(cublasCtrsv_v2) SUCCEEDS(cublasDasum_v2)
SUCCEEDS(cublasDaxpy_v2) SUCCEEDS(cublasDcopy_v2) SUCCEEDS(cublasDdot_v2) SUCCEEDS(cublasDestroy_v2) SUCCEEDS(cublasDgelsBatched)
SUCCEEDS(cublasDgemmBatched) SUCCEEDS(cublasDgemv_v2) SUCCEEDS(cublasDgeqrfBatched)
SUCCEEDS(cublasDger_v2) SUCCEEDS(cublasDgetrfBatched) SUCCEEDS(cublasDgetrsBatched) SUCCEEDS(cublasDnrm2_v2) SUCCEEDS(cublasDotEx)
SUCCEEDS(cublasDrot_v2) SUCCEEDS(cublasDrotg_v2) SUCCEEDS(cublasDrotm_v2) SUCCEEDS(cublasDrotmg_v2) SUCCEEDS(cublasDscal_v2) SUCCEEDS(cublasDswap_v2)
SUCCEEDS(cublasDsymm_v2) SUCCEEDS(cublasDsymv_v2) SUCCEEDS(cublasDsyr2_v2) SUCCEEDS(cublasDsyr2k_v2) SUCCEEDS(cublasDsyr_v2) SUCCEEDS(cublasDsyrk_v2)
SUCCEEDS(cublasDtrmm_v2) SUCCEEDS(cublasDtrmv_v2) SUCCEEDS(cublasDtrsmBatched) SUCCEEDS(cublasDtrsm_v2) SUCCEEDS(cublasDtrsv_v2)
SUCCEEDS(cublasDzasum_v2) SUCCEEDS(cublasDznrm2_v2) SUCCEEDS(cublasGetMatrixAsync)
SUCCEEDS(cublasGetVectorAsync) SUCCEEDS(cublasIcamax_v2) SUCCEEDS(cublasIcamin_v2) SUCCEEDS(cublasIdamax_v2) SUCCEEDS(cublasIdamin_v2)
SUCCEEDS(cublasIsamax_v2) SUCCEEDS(cublasIsamin_v2) SUCCEEDS(cublasIzamax_v2) SUCCEEDS(cublasIzamin_v2)
SUCCEEDS(cublasLtMatmulDescDestroy) SUCCEEDS(cublasLtMatmulDescSetAttribute) SUCCEEDS(cublasLtMatmulPreferenceDestroy)
SUCCEEDS(cublasLtMatmulPreferenceSetAttribute)
SUCCEEDS(cublasSasum_v2) SUCCEEDS(cublasSaxpy_v2) SUCCEEDS(cublasScasum_v2) SUCCEEDS(cublasScnrm2_v2) SUCCEEDS(cublasScopy_v2) SUCCEEDS(cublasSdot_v2)
SUCCEEDS(cublasSetMathMode) SUCCEEDS(cublasSetMatrixAsync) SUCCEEDS(cublasSetPointerMode_v2)
SUCCEEDS(cublasSetVectorAsync) SUCCEEDS(cublasSgelsBatched) SUCCEEDS(cublasSgemmBatched)
SUCCEEDS(cublasSgemv_v2) SUCCEEDS(cublasSgeqrfBatched) SUCCEEDS(cublasSger_v2)
SUCCEEDS(cublasSgetrfBatched) SUCCEEDS(cublasSgetrsBatched) SUCCEEDS(cublasSnrm2_v2) SUCCEEDS(cublasSrot_v2) SUCCEEDS(cublasSrotg_v2)
SUCCEEDS(cublasSrotm_v2) SUCCEEDS(cublasSrotmg_v2) SUCCEEDS(cublasSscal_v2) SUCCEEDS(cublasSswap_v2) SUCCEEDS(cublasSsymm_v2) SUCCEEDS(cublasSsymv_v2)
SUCCEEDS(cublasSsyr2_v2) SUCCEEDS(cublasSsyr2k_v2) SUCCEEDS(cublasSsyr_v2) SUCCEEDS(cublasSsyrk_v2) SUCCEEDS(cublasStrmm_v2) SUCCEEDS(cublasStrmv_v2)
SUCCEEDS(cublasStrsmBatched) SUCCEEDS(cublasStrsm_v2) SUCCEEDS(cublasStrsv_v2) SUCCEEDS(cublasZaxpy_v2) SUCCEEDS(cublasZcopy_v2)
SUCCEEDS(cublasZdotc_v2) SUCCEEDS(cublasZdotu_v2) SUCCEEDS(cublasZdrot_v2) SUCCEEDS(cublasZdscal_v2) SUCCEEDS(cublasZgelsBatched)
SUCCEEDS(cublasZgemmBatched) SUCCEEDS(cublasZgemmStridedBatched) SUCCEEDS(cublasZgemm_v2) SUCCEEDS(cublasZgemv_v2) SUCCEEDS(cublasZgeqrfBatched)
SUCCEEDS(cublasZgerc_v2) SUCCEEDS(cublasZgeru_v2) SUCCEEDS(cublasZgetrfBatched) SUCCEEDS(cublasZgetrsBatched) SUCCEEDS(cublasZhemm_v2)
SUCCEEDS(cublasZhemv_v2) SUCCEEDS(cublasZher2_v2) SUCCEEDS(cublasZher2k_v2) SUCCEEDS(cublasZher_v2) SUCCEEDS(cublasZherk_v2) SUCCEEDS(cublasZrot_v2)
SUCCEEDS(cublasZrotg_v2) SUCCEEDS(cublasZscal_v2) SUCCEEDS(cublasZswap_v2) SUCCEEDS(cublasZsymm_v2) SUCCEEDS(cublasZsymv_v2) SUCCEEDS(cublasZsyr2_v2)
SUCCEEDS(cublasZsyr2k_v2) SUCCEEDS(cublasZsyr_v2) SUCCEEDS(cublasZsyrk_v2) SUCCEEDS(cublasZtrmm_v2) SUCCEEDS(cublasZtrmv_v2)
SUCCEEDS(cublasZtrsmBatched) SUCCEEDS(cublasZtrsm_v2) SUCCEEDS(cublasZtrsv_v2) SUCCEEDS(cublasLtDestroy) SUCCEEDS(cublasGetStream_v2)
SUCCEEDS(cublasSetSmCountTarget)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, CUBLAS_NOT_SUPPORTED)
UNCOVERED(cublasLtMatmulAlgoCheck) UNCOVERED(cublasLtMatmulAlgoConfigGetAttribute) UNCOVERED(cublasLtMatmulAlgoConfigSetAttribute)
UNCOVERED(cublasLtMatmulAlgoInit)
    /* clang-format on */
