// Collects violations, and describes the objects that they are about.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_REPORT_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {

// A list of at most kMaxViolations violations.
class Report {
 public:
  // Keeps references: `program` and `mapping` must outlive the report.
  Report(const Program& program, const Mapping& mapping);

  // Adds a violation, unless the report is full or the rule was already reported for the same
  // subject. `subject` is the index of the access, interval, group or buffer that the rule is
  // about.
  void Add(Rule rule, size_t subject, std::string message);
  template <typename Tag>
  void Add(Rule rule, Index<Tag> subject, std::string message) {
    Add(rule, subject.number(), std::move(message));
  }

  bool empty() const { return violations_.empty(); }
  bool full() const { return violations_.size() >= kMaxViolations; }
  std::vector<Violation> Take() { return std::move(violations_); }

  // Text such as "instruction 12 ('fusion.3')". For the number of instructions it is "the end of
  // the program".
  std::string DescribeInstruction(InstructionIndex instruction) const;

  // Text such as "buffer 4 ('param.1', 1024 bytes)". The name is that of the buffer's first tensor,
  // if it has one.
  std::string DescribeBuffer(BufferIndex buffer) const;

  // Text such as "interval 2 of buffer 4 (...) over [5, 9]". The buffer must exist.
  std::string DescribeInterval(size_t interval) const;

  // Text such as "read of buffer 4 (...) by instruction 12 ('fusion.3') (access 30)".
  std::string DescribeAccess(AccessIndex access) const;

  // Text such as "carried group 1 of loop 0 ('while.2')".
  std::string DescribeGroup(CarriedGroupIndex group) const;

  // Text such as "loop 0 ('while.2')".
  std::string DescribeLoop(LoopIndex loop) const;

 private:
  const Program& program_;
  const Mapping& mapping_;
  std::vector<Violation> violations_;
  std::set<std::pair<Rule, size_t>> reported_;
  // For each buffer an index into the proto's tensors; -1: none.
  IndexVector<BufferIndex, int> first_tensor_;
};

}  // namespace mallocmuzero::validate

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_REPORT_H_
