#include "simulator/import/analysis/names.h"

#include <iterator>
#include <utility>
#include <vector>

#include "absl/types/optional.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

// The array of an operand that `array` is another name of; nullopt if it is no name.
absl::optional<ResultArray> NamedArray(const hlo::Computation& computation,
                                       const ResultArray& array) {
  const hlo::Instruction& instruction = computation.instructions[array.instruction];
  if (instruction.operands.empty()) return absl::nullopt;
  ResultArray named = {instruction.operands[0], array.index};
  switch (instruction.opcode) {
    case Opcode::kBitcast:
      if (!array.index.empty()) return absl::nullopt;  // only arrays have bitcasts
      return named;
    case Opcode::kTuple:
      if (array.index.empty() || array.index[0] >= std::ssize(instruction.operands)) {
        return absl::nullopt;
      }
      named.instruction = instruction.operands[array.index[0]];
      named.index.erase(named.index.begin());
      return named;
    case Opcode::kGetTupleElement: {
      named.index.insert(named.index.begin(), *instruction.tuple_index);
      const hlo::Shape& tuple = computation.instructions[named.instruction].shape;
      if (hlo::SubShape(tuple, named.index) == nullptr) return absl::nullopt;
      return named;
    }
    default:
      return absl::nullopt;
  }
}

}  // namespace

ResultArray NameFollower::Follow(const hlo::Computation& computation, ResultArray array) {
  std::vector<ResultArray> names;
  while (true) {
    const auto known = followed_.find({&computation, array.instruction, array.index});
    if (known != followed_.end()) {
      array = known->second;
      break;
    }
    absl::optional<ResultArray> named = NamedArray(computation, array);
    if (!named.has_value()) break;
    names.push_back(std::exchange(array, *std::move(named)));
  }
  for (ResultArray& name : names) {
    followed_[{&computation, name.instruction, std::move(name.index)}] = array;
  }
  return array;
}

}  // namespace mallocmuzero
