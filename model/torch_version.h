// Tells releases of LibTorch apart, which differ in what they offer.

#ifndef MALLOCMUZERO_MODEL_TORCH_VERSION_H_
#define MALLOCMUZERO_MODEL_TORCH_VERSION_H_

#include <torch/version.h>

// Whether this LibTorch is of the release MAJOR.MINOR or newer; for #if.
#define MALLOCMUZERO_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||               \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#endif  // MALLOCMUZERO_MODEL_TORCH_VERSION_H_
