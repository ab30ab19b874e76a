/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inference with a part of the modules on the host, as accelerate's dispatch_model runs it
 * (hooks.py: AlignDevicesHook with offload): the parameters of a module are copied to the device
 * for its call, and freed after it. With each copy PyTorch's allocator gives its cache back.
 */
#ifndef MS_MODEL_BLOCKS_HOST_HOST_MODULES_H
#define MS_MODEL_BLOCKS_HOST_HOST_MODULES_H

#include "model/blocks/model.h"

/* Whether the parameters of the module with that scope wait on the host: those of layers from
 * run->device_layers on, and of what is made after layers. Call it while the model is built. */
bool ms_is_on_host(const ms_model *model, uint32_t scope);
/* Takes a parameter without memory there; see ms_is_on_host. */
void ms_host_parameter_enter(ms_model *model, ms_tensor tensor);

/* Bytes of all parameters on the host. */
uint64_t ms_host_modules_bytes(const ms_model *model);

enum { MS_MOST_FETCHED = 4 };

/* Around a module's call: what of its own parameters is on the host comes to the device in their
 * order, and goes. 0: it has none such. */
typedef struct ms_fetched {
    ms_tensor tensors[MS_MOST_FETCHED];
    uint32_t count;
} ms_fetched;
ms_fetched ms_host_fetch(ms_model *model, uint32_t count, const ms_tensor *parameters);
void ms_host_drop(ms_model *model, const ms_fetched *fetched);
/* The same for a weight and a bias. */
ms_fetched ms_host_fetch_pair(ms_model *model, ms_tensor weight, ms_tensor bias);

/* Whether each parameter on the host was fetched. Call it after the first pass: some families have
 * modules that are not fetched here. */
bool ms_host_modules_were_fetched(const ms_model *model);

#endif
