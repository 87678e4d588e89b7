// Describes an export: what its networks read and give, and what the numbers mean.

#ifndef MALLOCMUZERO_MODEL_EXPORT_MANIFEST_H_
#define MALLOCMUZERO_MODEL_EXPORT_MANIFEST_H_

#include "mallocmuzero/v1/export.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/graph.h"

namespace mallocmuzero {

// The parts of the manifest that follow from the checkpoint, without networks, files and samples.
v1::ExportManifest DescribeCheckpoint(const Checkpoint& checkpoint);

// The inputs and outputs of a network, without its file.
v1::ExportManifest::Network DescribeNetwork(const Graph& graph);

// The baselines of a training run's programs; no programs if the checkpoint has no training state.
v1::ExportBaselines DescribeBaselines(const Checkpoint& checkpoint);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_MANIFEST_H_
