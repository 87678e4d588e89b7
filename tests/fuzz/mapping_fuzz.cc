// libFuzzer target: every mapping that a game can end with can be placed, and the checker accepts
// the module.
//
// The first byte chooses one of the hand-made modules; each other byte chooses an action of the
// game.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "optimize/checked_place.h"
#include "simulator/core/hardware.h"
#include "simulator/core/program.h"
#include "simulator/import/import.h"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

struct Playable {
  std::string path;
  xla::HloModuleProto module;
  std::unique_ptr<Program> program;  // the rules point to it
  ProgramRules rules;
};

Playable Import(const place_check::PlacedCase& test_case) {
  xla::HloModuleProto module = place_check::ModuleFromText(test_case.original);
  std::string path = absl::StrCat("/tmp/mapping_fuzz_", getpid(), "_", test_case.name, ".pb");
  RequireOk(WriteFileAtomically(path, module.SerializeAsString()));
  v1::Program imported = Must(ImportProgram({.all_hbm_path = path}, Must(LoadHardware("tpu_v6e"))));
  auto program = std::make_unique<Program>(Must(Program::FromProto(std::move(imported))));
  ProgramRules rules = ProgramRules::Create(*program, {.negligible_share = -1});
  return {std::move(path), std::move(module), std::move(program), std::move(rules)};
}

const std::vector<Playable>& Playables() {
  static const std::vector<Playable>& playables = *[] {
    auto* const made = new std::vector<Playable>();
    for (const place_check::PlacedCase* test_case : place_check::kCases) {
      made->push_back(Import(*test_case));
    }
    return made;
  }();
  return playables;
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mallocmuzero;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const Playable& playable = Playables()[data[0] % Playables().size()];
  Game game(playable.rules);
  for (size_t i = 1; !game.finished(); ++i) {
    std::vector<Action> legal;
    for (const Action action : kActions) {
      if ((game.legal_actions() & SetOf(action)) != 0) legal.push_back(action);
    }
    game.Apply(legal[(i < size ? data[i] : 0) % legal.size()]);
  }
  const auto placed =
      PlaceAndCheck(*playable.program, game.ToMapping(), playable.module, playable.path);
  RequireOk(placed.status());
  return 0;
}
