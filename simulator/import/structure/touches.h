// The arrays that each instruction of a module reads and writes.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_TOUCHES_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_TOUCHES_H_

#include <cstdint>
#include <vector>

#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero {

// The reads and writes of one storage by one instruction. Touches become accesses when buffers have
// numbers.
struct Touch {
  int32_t storage = 0;
  bool reads = false;
  bool writes = false;
  int64_t bytes = 0;
  int64_t bytes_accessed = 0;
  std::vector<v1::Position> positions;
};

// A storage of the module.
struct StorageInfo {
  int64_t bytes = 0;  // of its largest array
  // False if an array has no size or is in a memory other than HBM and fast memory (`S(2)` for sync
  // flags, `S(6)` for scalars, ...).
  bool placeable = true;
  bool touched = false;  // by some instruction
  bool pinned = false;   // to HBM
};

struct Touches {
  std::vector<StorageInfo> storages;        // by storage
  std::vector<std::vector<Touch>> touches;  // for each priced step, operands before outputs
};

// Finds the touches of placeable storages. Storages with a scalar are pinned.
Touches FindTouches(const AnalyzedModule& module, const v1::Hardware& hardware);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_TOUCHES_H_
