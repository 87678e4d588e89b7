// Edits a module message: finds computations, copies them, and creates unused ids and names.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place {

// Owns the module while it is edited.
class ModuleEditor {
 public:
  explicit ModuleEditor(xla::HloModuleProto module);

  // The computation of that id or name, or nullptr. The pointer is valid as long as the module is.
  xla::HloComputationProto* FindComputation(int64_t id);
  xla::HloComputationProto* FindComputation(absl::string_view name);

  // An id whose lower bits, the ones that XLA keeps, are unused in the whole module. If two
  // instructions of a computation differed only in their upper bits, XLA would find several roots.
  int64_t NewId() { return ++last_id_; }

  // An unused instruction name: `stem` with a number behind it.
  std::string NewName(absl::string_view stem);

  // Prepares the fused computation of `fusion` for edits. If another instruction calls the
  // computation, too, `fusion` gets a copy of it, which calls the same computations. Fusions inside
  // get copies of those when they are prepared. FailedPrecondition if all copies together have too
  // many instructions.
  absl::Status OwnFusedComputation(xla::HloInstructionProto& fusion);

  xla::HloModuleProto& module() { return module_; }
  // The module, with each copied computation in front of the one that it is of, so that callees
  // still come before callers.
  xla::HloModuleProto Take() &&;

 private:
  int64_t CopyComputation(int index);
  void Index();
  void FindShared();

  xla::HloModuleProto module_;
  int64_t last_id_ = 0;  // the largest number of an instruction within its computation
  int64_t last_computation_id_ = 0;
  int64_t last_name_ = 0;
  // Indices into the module's computations. Until Take(), the copies are behind all others.
  absl::flat_hash_map<int64_t, int> computation_by_id_;
  absl::flat_hash_map<std::string, int> computation_by_name_;
  std::vector<int> before_;  // for each computation the one in front of it after Take(), or -1
  int last_ = -1;            // the last computation, also after Take()
  absl::flat_hash_set<std::string> names_;  // names of instructions and computations
  // fused computations that no further fusion may edit: they belong to one, or to several callers
  absl::flat_hash_set<int64_t> taken_;
  int64_t copied_ = 0;  // instructions of all copies
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_
