#include "env/testing/random_game_program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/size32.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::testing {
namespace {

class GameProgramMaker {
 public:
  explicit GameProgramMaker(std::mt19937_64& random) : random_(random) {}

  Program Make() {
    builder_.hardware().set_fast_memory_bytes(int64_t{256} << Uniform(0, 3));
    Scope top;
    for (int k = Uniform(1, 4); k > 0; --k) {
      inputs_.push_back(NewBuffer({.live_in = true, .live_out = Chance(15)}));
      top.visible.push_back(inputs_.back());
      if (Chance(30)) top.own.push_back(inputs_.back());  // donated: the program may change it
    }
    Block(top, 0);
    v1::Program program = builder_.BuildProto();
    if (Chance(50)) AddPrefetch(program);
    absl::StatusOr<Program> made = Program::FromProto(std::move(program));
    if (!made.ok()) {
      std::fprintf(stderr, "RandomGameProgram: %s\n", made.status().ToString().c_str());
      std::abort();
    }
    return *std::move(made);
  }

 private:
  // Buffers that instructions of a block can use.
  struct Scope {
    std::vector<BufferIndex> visible;
    std::vector<BufferIndex> own;  // of them those it may change
  };

  // One value a loop carries.
  struct Carried {
    BufferIndex initial = 0;
    BufferIndex parameter = 0;
    BufferIndex root = 0;
    BufferIndex result = 0;
  };

  int Uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Uniform(1, 100) <= percent; }
  BufferIndex OneOf(const std::vector<BufferIndex>& from) {
    return from[Uniform(0, Size32(from) - 1)];
  }
  double Savings() { return Chance(15) ? -Uniform(0, 4) : Uniform(0, 12); }

  BufferIndex AddBuffer(int64_t bytes, BufferSpec spec) {
    sizes_.push_back(bytes);
    return builder_.AddBuffer(bytes, spec);
  }

  BufferIndex NewBuffer(BufferSpec spec = {}) {
    return AddBuffer(int64_t{8} * Uniform(1, 40), spec);  // not always aligned
  }

  // Members of a group are of one size, but for some groups.
  BufferIndex NewLike(BufferIndex buffer, BufferSpec spec = {}) {
    return Chance(5) ? NewBuffer(spec) : AddBuffer(sizes_[buffer], spec);
  }

  void AddInstruction(std::vector<AccessSpec> accesses) {
    for (AccessSpec& access : accesses) {
      access.savings = Savings();
      if (Chance(50)) access.bytes_accessed = Uniform(0, 100);
    }
    if (Chance(15)) {
      builder_.AddModelled(1000.0 * Uniform(0, 40), accesses);
    } else {
      builder_.AddInstruction(Uniform(0, 60), accesses);
    }
  }

  void Block(Scope& scope, int depth) {
    for (int k = Uniform(2, 6); k > 0; --k) {
      if (depth < 3 && Chance(20)) {
        AddLoop(scope, depth);
      } else if (Chance(10)) {
        AddInstruction({});
      } else {
        AddStep(scope, depth);
      }
    }
  }

  // Reads up to three buffers, and writes a new one, writes one anew or updates one.
  void AddStep(Scope& scope, int depth) {
    std::vector<BufferIndex> chosen;
    std::sample(scope.visible.begin(), scope.visible.end(), std::back_inserter(chosen),
                Uniform(0, 3), random_);
    const bool change = !scope.own.empty() && Chance(35);
    const BufferIndex target = change ? OneOf(scope.own) : NewBuffer({.live_out = LiveOut(depth)});
    std::vector<AccessSpec> accesses;
    for (const BufferIndex b : chosen) {
      if (b != target) accesses.push_back(Read(b));
    }
    accesses.push_back(change && Chance(70) ? Update(target) : Write(target));
    AddInstruction(std::move(accesses));
    if (change) return;
    scope.visible.push_back(target);
    scope.own.push_back(target);
  }

  bool LiveOut(int depth) { return depth == 0 && Chance(25); }

  // A value made before the loop: new, or the result of an earlier one in the same block.
  BufferIndex MakeInitial(const Scope& scope, int depth) {
    const auto result = std::find_if(results_.begin(), results_.end(), [&](const auto& entry) {
      return entry.second == depth &&
             std::find(scope.own.begin(), scope.own.end(), entry.first) != scope.own.end();
    });
    if (result != results_.end() && Chance(50)) {
      const BufferIndex initial = result->first;
      results_.erase(result);
      return initial;
    }
    const BufferIndex initial = NewBuffer();
    AddInstruction({Read(OneOf(scope.visible)), Write(initial)});
    if (Chance(30)) AddInstruction({Read(initial)});
    if (Chance(30)) AddInstruction({Update(initial)});
    return initial;
  }

  void AddLoop(Scope& scope, int depth) {
    std::vector<Carried> carried;
    for (int k = Uniform(1, 3); k > 0; --k) {
      Carried group;
      group.initial = MakeInitial(scope, depth);
      group.parameter = NewLike(group.initial);
      group.root = Chance(40) ? group.parameter : NewLike(group.initial);
      group.result = NewLike(group.initial, {.live_out = LiveOut(depth)});
      carried.push_back(group);
    }
    const LoopIndex loop = builder_.BeginLoop(Uniform(1, 9));
    Scope inside;
    inside.visible = scope.visible;
    for (const Carried& group : carried) {
      std::erase(inside.visible, group.initial);
      // The builder derives live ranges from accesses: the parameter's must begin with the loop.
      const bool in_place = group.parameter == group.root && Chance(50);
      AddInstruction({in_place ? Update(group.parameter) : Read(group.parameter)});
      inside.visible.push_back(group.parameter);
      if (in_place) inside.own.push_back(group.parameter);
    }
    Block(inside, depth + 1);
    for (const Carried& group : carried) EndPass(group);
    if (Chance(50)) AddInstruction({});
    builder_.EndLoop();
    for (const Carried& group : carried) {
      std::erase(scope.visible, group.initial);
      std::erase(scope.own, group.initial);
      builder_.AddCarriedGroup(loop, group.initial, group.parameter, group.root, group.result);
      AddInstruction({Chance(30) ? Update(group.result) : Read(group.result)});
      scope.visible.push_back(group.result);
      scope.own.push_back(group.result);
      results_.emplace_back(group.result, depth);
    }
  }

  // The last use of the parameter, and the value for the next pass. A root that is the parameter
  // is used up to the end.
  void EndPass(const Carried& group) {
    if (group.parameter == group.root) {
      AddInstruction({Chance(50) ? Update(group.root) : Read(group.root)});
      return;
    }
    const BufferIndex last_use = NewBuffer();
    AddInstruction({Read(group.parameter), Write(last_use)});
    AddInstruction({Read(last_use), Write(group.root)});
    if (Chance(30)) AddInstruction({Update(group.root)});
  }

  // A baseline that has an input in fast memory when the program starts, for some of its reads.
  void AddPrefetch(v1::Program& program) {
    const BufferIndex buffer = OneOf(inputs_);
    std::optional<uint32_t> last;
    v1::Mapping& mapping = *program.mutable_baseline()->mutable_mapping();
    for (const v1::Access& access : program.accesses()) {
      const bool used = BufferIndex(access.buffer()) == buffer && Chance(70);
      mapping.add_in_fast_memory(used);
      if (used) last = access.instruction();
    }
    if (last) {
      v1::Interval& interval = *mapping.add_intervals();
      interval.set_buffer(buffer.number());
      interval.set_last(*last);
      interval.set_cross_program_prefetch(true);
    }
    SealProgram(program);
  }

  std::mt19937_64& random_;
  ProgramBuilder builder_;
  IndexVector<BufferIndex, int64_t> sizes_;  // by buffer
  std::vector<BufferIndex> inputs_;
  std::vector<std::pair<BufferIndex, int>> results_;  // of loops, and the depth they were made at
};

}  // namespace

Program RandomGameProgram(std::mt19937_64& random) { return GameProgramMaker(random).Make(); }

Program RandomProgramWithFlights(std::mt19937_64& random) {
  v1::Program proto = RandomGameProgram(random).proto();
  const auto uniform = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < proto.instructions_size(); ++i) {
    const v1::Instruction& start = proto.instructions(i);
    if (start.access_count() == 0 || uniform(0, 3) > 0) continue;
    std::set<uint32_t> buffers;
    for (uint32_t k = 0; k < start.access_count(); ++k) {
      if (uniform(0, 2) > 0) buffers.insert(proto.accesses(start.first_access() + k).buffer());
    }
    int64_t last = std::min<int64_t>(i + uniform(1, 12), proto.instructions_size() - 1);
    for (const uint32_t b : buffers) last = std::min<int64_t>(last, proto.buffers(b).last());
    // The last instruction up to there that is in the loop of the start.
    const auto is_done = [&](int64_t at) {
      const v1::Instruction& done = proto.instructions(at);
      return done.kind() != v1::Instruction::LOOP_BEGIN &&
             done.kind() != v1::Instruction::LOOP_END && done.has_loop() == start.has_loop() &&
             done.loop() == start.loop();
    };
    while (last > i && !is_done(last)) --last;
    if (last == i) continue;
    v1::Collective& collective = *proto.add_collectives();
    collective.set_start(i);
    collective.set_done(last);
    collective.set_cycles(static_cast<double>(uniform(0, 150)));
    for (const uint32_t b : buffers) collective.add_buffers(b);
  }
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

Program RandomProgramWithCollectives(std::mt19937_64& random) {
  v1::Program proto = RandomGameProgram(random).proto();
  const auto uniform = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<int64_t> starts(uniform(1, 6));
  for (int64_t& start : starts) start = uniform(0, proto.instructions_size());
  std::sort(starts.begin(), starts.end());
  for (const int64_t start : starts) {
    v1::Collective& collective = *proto.add_collectives();
    collective.set_start(start);
    collective.set_done(std::min<int64_t>(start + uniform(0, 9), proto.instructions_size()));
    collective.set_cycles(static_cast<double>(uniform(0, 150)));
  }
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

Program LayeredProgram(uint32_t blocks) {
  v1::Hardware hardware = SmallHardware();
  hardware.set_fast_memory_bytes(16384);
  ProgramBuilder builder(hardware);
  BufferIndex previous = builder.AddBuffer(1000, {.live_in = true});
  BufferIndex skipped = previous;
  for (uint32_t block = 0; block < blocks; ++block) {
    const BufferIndex weights = builder.AddBuffer(1000 + 500 * (block % 5), {.live_in = true});
    const BufferIndex wide = builder.AddBuffer(3000);
    const BufferIndex scale = builder.AddBuffer(160, {.live_in = true});
    const BufferIndex result = builder.AddBuffer(1000, {.live_out = block + 1 == blocks});
    builder.AddInstruction(900, {Read(previous, 50), Read(weights, 200), Write(wide, 100)});
    builder.AddInstruction(500, {Read(wide, 150), Read(scale, 10), Update(wide, 150)});
    builder.AddInstruction(
        700, {Read(wide, 200), Read(skipped, 60), Read(scale, 10), Write(result, 60)});
    if (block % 8 == 7) skipped = previous;
    previous = result;
  }
  return builder.Build();
}

}  // namespace mallocmuzero::testing
