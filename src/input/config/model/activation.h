/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions between the layers of an MLP, as config.json names them.
 */
#ifndef MS_INPUT_CONFIG_MODEL_ACTIVATION_H
#define MS_INPUT_CONFIG_MODEL_ACTIVATION_H

typedef enum ms_activation {
    MS_ACTIVATION_SILU,       /* "silu", "swish" */
    MS_ACTIVATION_GELU,       /* "gelu": fused, erf */
    MS_ACTIVATION_GELU_TANH,  /* "gelu_pytorch_tanh": fused */
    MS_ACTIVATION_GELU_NEW,   /* "gelu_new": composed of eight operators */
    MS_ACTIVATION_GELU_FAST,  /* "gelu_fast": composed of nine operators */
    MS_ACTIVATION_QUICK_GELU, /* "quick_gelu": x * sigmoid(c * x) */
    MS_ACTIVATION_RELU,       /* "relu" */
    MS_ACTIVATION_RELU2,      /* "relu2": relu(x) ** 2 */
    MS_ACTIVATION_COUNT
} ms_activation;

#endif
