#include "env/testing/odd_group_program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "env/testing/random_game_program.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero::testing {
namespace {

class Mutation {
 public:
  Mutation(v1::Program& program, std::mt19937_64& random) : program_(program), random_(random) {}

  void Run() {
    if (program_.loops_size() > 0) {
      for (int k = Uniform(1, 6); k > 0; --k) ChangeSomething();
    }
    CoverAccesses();
    SealProgram(program_);
  }

 private:
  int Uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Uniform(1, 100) <= percent; }

  v1::CarriedGroup& OneGroup() {
    return *program_.mutable_carried_groups(Uniform(0, program_.carried_groups_size() - 1));
  }

  // A random buffer: often a member of a group, sometimes the prefetched buffer.
  uint32_t OneBuffer() {
    const v1::Mapping& baseline = program_.baseline().mapping();
    if (baseline.intervals_size() > 0 && Chance(10)) return baseline.intervals(0).buffer();
    if (Chance(40)) return Uniform(0, program_.buffers_size() - 1);
    return MembersOf(OneGroup())[Uniform(0, 3)];
  }

  static std::vector<uint32_t> MembersOf(const v1::CarriedGroup& group) {
    return {group.initial_buffer(), group.parameter_buffer(), group.root_buffer(),
            group.result_buffer()};
  }

  void ChangeSomething() {
    const int what = Uniform(1, 100);
    if (what <= 30) {
      SetMember(OneGroup(), OneBuffer());
    } else if (what <= 35) {
      v1::CarriedGroup& group = OneGroup();
      group.set_root_buffer(group.parameter_buffer());
    } else if (what <= 45) {
      AddGroup();
    } else if (what <= 50) {
      OneGroup().set_loop(Uniform(0, program_.loops_size() - 1));
    } else if (what <= 75) {
      ChangeAccess();
    } else if (what <= 90) {
      ChangeLife(*program_.mutable_buffers(OneBuffer()));
    } else {
      MakeOneSize(OneGroup());
    }
  }

  void SetMember(v1::CarriedGroup& group, uint32_t buffer) {
    switch (Uniform(0, 3)) {
      case 0:
        group.set_initial_buffer(buffer);
        break;
      case 1:
        group.set_parameter_buffer(buffer);
        break;
      case 2:
        group.set_root_buffer(buffer);
        break;
      default:
        group.set_result_buffer(buffer);
    }
    if (Chance(80)) MakeOneSize(group);
  }

  void AddGroup() {
    const uint32_t buffers[] = {OneBuffer(), OneBuffer(), OneBuffer(), OneBuffer()};
    v1::CarriedGroup& group = *program_.add_carried_groups();
    group.set_loop(Uniform(0, program_.loops_size() - 1));
    group.set_initial_buffer(buffers[0]);
    group.set_parameter_buffer(buffers[1]);
    group.set_root_buffer(buffers[2]);
    group.set_result_buffer(buffers[3]);
    MakeOneSize(group);
  }

  // Another buffer or kind, unless the instruction has that access already.
  void ChangeAccess() {
    v1::Access& access = *program_.mutable_accesses(Uniform(0, program_.accesses_size() - 1));
    const uint32_t buffer = Chance(70) ? OneBuffer() : access.buffer();
    constexpr v1::Access::Kind kKinds[] = {v1::Access::READ, v1::Access::WRITE, v1::Access::UPDATE};
    const v1::Access::Kind kind = Chance(50) ? kKinds[Uniform(0, 2)] : access.kind();
    for (const v1::Access& other : program_.accesses()) {
      if (other.instruction() == access.instruction() && other.buffer() == buffer &&
          other.kind() == kind)
        return;
    }
    access.set_buffer(buffer);
    access.set_kind(kind);
  }

  void ChangeLife(v1::Buffer& buffer) {
    switch (Uniform(0, 3)) {
      case 0:
        buffer.set_live_in(!buffer.live_in());
        if (buffer.live_in()) buffer.set_first(0);
        break;
      case 1:
        buffer.set_live_out(!buffer.live_out());
        break;
      case 2:
        buffer.set_first(buffer.live_in() ? 0 : Uniform(0, buffer.first()));
        break;
      default:
        buffer.set_last(Uniform(buffer.last(), program_.instructions_size() - 1));
    }
  }

  void MakeOneSize(const v1::CarriedGroup& group) {
    const int64_t bytes = program_.buffers(group.initial_buffer()).bytes();
    for (const uint32_t b : MembersOf(group)) {
      program_.mutable_buffers(b)->set_bytes(bytes);
    }
  }

  // Extends live ranges to all accesses. A range that is longer stays as it is.
  void CoverAccesses() {
    for (const v1::Access& access : program_.accesses()) {
      v1::Buffer& buffer = *program_.mutable_buffers(access.buffer());
      buffer.set_first(std::min(buffer.first(), access.instruction()));
      buffer.set_last(std::max(buffer.last(), access.instruction()));
    }
    for (v1::Tensor& tensor : *program_.mutable_tensors()) {
      tensor.set_bytes(program_.buffers(tensor.buffer()).bytes());
    }
    for (v1::Buffer& buffer : *program_.mutable_buffers()) {
      if (buffer.live_out()) buffer.set_last(program_.instructions_size() - 1);
    }
  }

  v1::Program& program_;
  std::mt19937_64& random_;
};

}  // namespace

Program OddGroupProgram(std::mt19937_64& random) {
  v1::Program program = RandomGameProgram(random).proto();
  Mutation(program, random).Run();
  absl::StatusOr<Program> made = Program::FromProto(std::move(program));
  if (!made.ok()) {
    std::fprintf(stderr, "OddGroupProgram: %s\n", made.status().ToString().c_str());
    std::abort();
  }
  return *std::move(made);
}

}  // namespace mallocmuzero::testing
