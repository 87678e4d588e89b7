// Recorded inputs and outputs of the networks, with which the user of an export checks a runtime.

#ifndef MALLOCMUZERO_MODEL_EXPORT_SAMPLES_H_
#define MALLOCMUZERO_MODEL_EXPORT_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "env/program_set.h"
#include "model/network.h"
#include "model/tensors.h"

namespace mallocmuzero {

// Decisions of games: row k of all fields belongs together.
struct RecordedDecisions {
  std::vector<float> observations;  // [count, kObservationSize]
  std::vector<int64_t> actions;     // [count], that were taken
};

// `count` decisions of games of all programs in turn, in which legal actions are drawn at random.
// Equal arguments give equal decisions.
RecordedDecisions RecordDecisions(const ProgramSet& programs, size_t count, uint64_t seed);

// The inputs and outputs of the networks' modules for the decisions, by name: "observation" and
// "action", then all outputs and numbers of the representation, the prediction and the dynamics.
std::vector<NamedTensor> EvaluateDecisions(const Network& network,
                                           const RecordedDecisions& decisions);

// The tensor as a file of NumPy (.npy), version 1.0. It must be of float32 or int64.
std::string NumpyFile(const NamedTensor& tensor);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_SAMPLES_H_
