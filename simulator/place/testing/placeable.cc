#include "simulator/place/testing/placeable.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"
#include "simulator/import/import.h"

namespace mallocmuzero::place {
namespace {

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", std::string(value.status().message()).c_str());
  std::abort();
}

Placeable ImportFrom(xla::HloModuleProto module, const std::string& chip, bool has_default) {
  const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(info->test_suite_name(), "_", info->name(), ".pb");
  for (char& c : name) c = c == '/' ? '_' : c;
  std::string path = testing::TempDir() + name;
  if (!WriteFileAtomically(path, module.SerializeAsString()).ok()) std::abort();
  ImportOptions options{.all_hbm_path = path};
  if (has_default) options.default_path = path;
  v1::Program program = Must(ImportProgram(options, Must(LoadHardware(chip))));
  return {std::move(path), std::move(module), Must(Program::FromProto(std::move(program)))};
}

}  // namespace

Placeable Import(xla::HloModuleProto module, const std::string& chip) {
  return ImportFrom(std::move(module), chip, /*has_default=*/false);
}

Placeable ImportWithDefault(xla::HloModuleProto module, const std::string& chip) {
  return ImportFrom(std::move(module), chip, /*has_default=*/true);
}

InstructionIndex Number(const Program& program, absl::string_view instruction) {
  for (const InstructionIndex i : program.instructions().indices()) {
    if (program.MessageOf(i).name() == instruction) return i;
  }
  std::abort();
}

BufferIndex BufferMadeBy(const Program& program, absl::string_view instruction) {
  for (const v1::Tensor& tensor : program.proto().tensors()) {
    if (tensor.instruction_name() == instruction) return BufferIndex(tensor.buffer());
  }
  std::abort();
}

void AddStay(const Program& program, const Interval& stay, Mapping& mapping) {
  mapping.intervals.push_back(stay);
  for (const AccessIndex a : program.AccessesOfBuffer(stay.buffer)) {
    const InstructionIndex instruction = program.accesses()[a].instruction;
    if (stay.first <= instruction && instruction <= stay.last) mapping.in_fast_memory[a] = 1;
  }
}

Mapping OneStay(const Program& program, const Interval& stay) {
  Mapping mapping = AllHbmMapping(program);
  AddStay(program, stay, mapping);
  return mapping;
}

}  // namespace mallocmuzero::place
