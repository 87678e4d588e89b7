// Writes one computation of XLA's messages as HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// A module with the indices that calls need: the place of each computation, and the instruction
// that it wraps if it has only one. Points into `proto`, which must outlive it.
struct ProtoModule {
  const xla::HloModuleProto& proto;
  size_t max_bytes;                                     // of the text
  absl::flat_hash_map<int64_t, int> computation_of_id;  // into proto.computations()
  // The root of each computation that has nothing else but parameters, else nullptr. An async-start
  // that calls the computation may be printed as its root.
  std::vector<const xla::HloInstructionProto*> wrapped;
};

// True if the parser takes `name` as a name: letters, digits, '_', '.' and '-', at most 4096 of
// them.
bool IsPrintableName(absl::string_view name);

// True if an async-start that calls a computation whose `wrapped` is `root`, which may be nullptr,
// is printed as the instruction that it wraps.
bool IsPrintedInPlace(const xla::HloInstructionProto* root);

// Appends the computation with the number `index` in the module. InvalidArgument as PrintModule
// says, without the name of the computation.
absl::Status AppendComputation(const ProtoModule& module, int index, std::string& out);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_COMPUTATION_H_
