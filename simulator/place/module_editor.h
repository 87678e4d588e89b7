// Edits a module message: finds computations, copies them, and creates unused ids and names.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_

#include <cstdint>
#include <string>

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
  // computation, too, `fusion` gets a copy of it; inner fusions are copied as well.
  void OwnFusedComputation(xla::HloInstructionProto& fusion);

  xla::HloModuleProto& module() { return module_; }
  xla::HloModuleProto Take() && { return std::move(module_); }

 private:
  int64_t CopyComputation(int64_t id);
  void Index();

  xla::HloModuleProto module_;
  int64_t last_id_ = 0;  // the largest number of an instruction within its computation
  int64_t last_computation_id_ = 0;
  int64_t last_name_ = 0;
  absl::flat_hash_map<int64_t, int> computation_by_id_;  // indices into the module's computations
  absl::flat_hash_map<std::string, int> computation_by_name_;
  absl::flat_hash_set<std::string> names_;  // names of instructions and computations
  absl::flat_hash_set<int64_t> owned_;      // fused computations that already belong to one fusion
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_MODULE_EDITOR_H_
