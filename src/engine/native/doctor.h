/* SPDX-License-Identifier: Apache-2.0 */
/* What the native engine can do on this host, tried and not guessed. */
#ifndef HF_NATIVE_DOCTOR_H
#define HF_NATIVE_DOCTOR_H

#include "engine/native/state.h"

int doctor_native(struct native *native, hf_checks *checks, hf_error **reterr);

#endif
