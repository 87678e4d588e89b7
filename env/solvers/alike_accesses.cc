#include "env/solvers/alike_accesses.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/enums.h"
#include "base/random.h"

namespace mallocmuzero {
namespace {

using Colours = IndexVector<AccessIndex, uint64_t>;

// How far surroundings must agree.
constexpr int kSteps = 2;

// Latencies of layers that are the same differ by rounding at most.
constexpr double kPartsOfCycle = 16;

// Adds a number to a hash.
uint64_t Mixed(uint64_t hash, uint64_t number) {
  return SplitMix(hash * kSplitMixIncrement + number + 1);
}

uint64_t Rounded(double cycles) {
  return static_cast<uint64_t>(std::llround(cycles * kPartsOfCycle));
}

// A hash of what the access is by itself.
uint64_t OwnColour(const ProgramFacts& facts, AccessIndex a) {
  const Program& program = facts.program();
  const Access& access = program.accesses()[a];
  const Instruction& instruction = program.instructions()[access.instruction];
  uint64_t colour = Mixed(0, Underlying(access.kind));
  colour = Mixed(colour, facts.rules().buffer(access.buffer).bytes);
  colour = Mixed(colour, a - instruction.first_access);
  colour = Mixed(colour, instruction.access_count);
  colour = Mixed(colour, instruction.execution_count);
  colour = Mixed(colour, Rounded(program.latency().Cycles(access.instruction, 0)));
  return Mixed(colour, Rounded(facts.savings()[a]));
}

// A hash of the access and of the accesses around it, which have `colours`.
uint64_t ColourAmong(const ProgramFacts& facts, const Colours& colours, AccessIndex a) {
  const Program& program = facts.program();
  const Instruction& instruction = program.instructions()[program.accesses()[a].instruction];
  const Value& value = facts.values()[facts.ValueOf(a)];
  const uint32_t position = facts.PositionOf(a);
  uint64_t colour = colours[a];
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    colour = Mixed(colour, colours[instruction.first_access + k]);
  }
  const bool is_first = position == 0;
  const bool is_last = position + 1 == value.accesses.size();
  colour = Mixed(colour, is_first ? 1 : colours[value.accesses[position - 1]]);
  return Mixed(colour, is_last ? 1 : colours[value.accesses[position + 1]]);
}

// Accesses of one colour are alike (Weisfeiler and Leman: A reduction of a graph to a canonical
// form, 1968).
Colours ColoursOf(const ProgramFacts& facts) {
  const auto accesses = facts.program().accesses().indices();
  Colours colours(facts.program().access_count());
  for (const AccessIndex a : accesses) colours[a] = OwnColour(facts, a);
  for (int step = 0; step < kSteps; ++step) {
    Colours next(colours.size());
    for (const AccessIndex a : accesses) next[a] = ColourAmong(facts, colours, a);
    colours = std::move(next);
  }
  return colours;
}

}  // namespace

AlikeAccesses::AlikeAccesses(const ProgramFacts& facts)
    : class_of_(facts.program().access_count()) {
  const Colours colours = ColoursOf(facts);
  absl::flat_hash_map<uint64_t, uint32_t> classes;
  for (const AccessIndex a : facts.program().accesses().indices()) {
    const auto [found, is_new] = classes.try_emplace(colours[a], classes_.size());
    if (is_new) classes_.emplace_back();
    class_of_[a] = found->second;
    if (!facts.IsMovable(a)) continue;
    classes_[found->second].push_back(a);
    any_ = any_ || classes_[found->second].size() > 1;
  }
}

}  // namespace mallocmuzero
