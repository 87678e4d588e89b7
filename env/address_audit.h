// How often the addresses, and not the capacity, forbid a move.

#ifndef MALLOCMUZERO_ENV_ADDRESS_AUDIT_H_
#define MALLOCMUZERO_ENV_ADDRESS_AUDIT_H_

#include <cstdint>
#include <vector>

#include "env/game.h"

namespace mallocmuzero {

// Counts over games. A move is a Copy or NoCopy of an access, decided or taken by rule. Slow: it
// adds up the memory in use, instruction by instruction; for tests and benchmarks.
class AddressAudit {
 public:
  struct Counts {
    uint64_t allowed = 0;  // moves for which the sum of the sizes fits at every instruction
    uint64_t refused = 0;  // of them those without a place
  };

  // Looks at the moves of the current access.
  void Look(const Game& game);

  const Counts& counts() const { return counts_; }

 private:
  int64_t LeastFree(const Game& game, int32_t first, int32_t last) const;
  void LookAtKeep(const Game& game, uint32_t access);

  Counts counts_;
  std::vector<int64_t> used_;  // bytes by instruction
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_ADDRESS_AUDIT_H_
