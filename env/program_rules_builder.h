// How ProgramRules come from a program; of interest to program_rules*.cc only.

#ifndef MALLOCMUZERO_ENV_PROGRAM_RULES_BUILDER_H_
#define MALLOCMUZERO_ENV_PROGRAM_RULES_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Builds once. Both arguments must outlive it, the program the rules as well.
class ProgramRules::Builder {
 public:
  Builder(const Program& program, const GameOptions& options)
      : program_(program), options_(options) {
    rules_.program_ = &program;
  }

  ProgramRules Build();

 private:
  // What a value needs after the access or loop that made it.
  struct Duty {
    int32_t last_read = kNone;    // of the value, before the next update or write
    int32_t next_update = kNone;  // in place, of the value
    int32_t last_use = kNone;     // read or update, before the next write
    int32_t next_write = kNone;   // that ends the value

    int32_t next_change() const { return next_update != kNone ? next_update : next_write; }
  };

  // How often a buffer is part of carried groups.
  struct Role {
    int initial = 0;
    int inside = 0;
    int result = 0;
  };

  // program_rules.cc
  void MarkLoops();
  void MakeBuffers();
  void DropBuffersBeyondTheRules();
  void DropNegligibleBuffers();
  void MakeAccesses();
  void FindPrefetch();

  // Of the value that access `k` of the buffer makes.
  void SetDuty(uint32_t buffer, size_t k, AccessRule& rule) const;

  // AccessRule::copy_until of access `k` of the buffer, a write.
  int32_t CopyUntil(uint32_t buffer, size_t k) const;

  // What happens to a value in the accesses of its buffer from index `from` on.
  Duty DutyFrom(absl::Span<const uint32_t> accesses, size_t from, int32_t home) const;

  AccessKind KindOf(uint32_t access) const { return program_.accesses()[access].kind; }

  int32_t LoopOf(uint32_t access) const {
    return program_.instructions()[program_.accesses()[access].instruction].loop;
  }

  // program_rules_groups.cc
  void CountRoles();

  // Groups that are not what the rules know stay in HBM, with all their buffers.
  void CheckGroupShape(uint32_t group);
  void MakeGroups();
  bool MayBeFast(const CarriedGroup& group) const;
  void SetResultDuty(const CarriedGroup& group, GroupRule& rule) const;

  // True if no access of the buffer is outside of the loop.
  bool LiesInLoop(uint32_t buffer, uint32_t loop) const;

  // True if the root's value is made once all of the parameter's is used: they share their bytes.
  bool RootFollowsParameter(const CarriedGroup& group) const;

  // The group whose loop takes over a value of the buffer that is made at `made` and changed at
  // `changed`, kNone if never; kNone if there is none. Of several the first.
  int32_t GroupTakingOver(uint32_t buffer, int32_t made, int32_t changed) const;

  const Program& program_;
  const GameOptions& options_;
  ProgramRules rules_;
  std::vector<double> savings_;  // by buffer
  std::vector<Role> roles_;      // by buffer
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PROGRAM_RULES_BUILDER_H_
