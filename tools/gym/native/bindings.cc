// The Python module mallocmuzero_gym._game, from which the package makes its environments. Its
// types and functions are described in _game.pyi.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/escaping.h"
#include "base/enums.h"
#include "base/usable_cpus.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "tools/gym/native/game_batch.h"
#include "tools/gym/native/program_columns.h"
#include "tools/gym/native/python_batch.h"
#include "tools/gym/native/show_game.h"
#include "tools/gym/native/worker_pool.h"

namespace mallocmuzero::gym {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// A read-only NumPy array that shows the memory of `values`, which `owner` keeps alive.
template <typename T>
nb::object ViewOf(const std::vector<T>& values, std::vector<size_t> shape, nb::handle owner) {
  return nb::cast(
      nb::ndarray<nb::numpy, const T>(values.data(), shape.size(), shape.data(), owner));
}

// A NumPy array of its own memory.
template <typename T>
nb::object ArrayOf(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* it) noexcept { delete static_cast<std::vector<T>*>(it); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner));
}

nb::object ToPython(std::vector<std::string> texts) { return nb::cast(texts); }
template <typename T>
nb::object ToPython(std::vector<T> numbers) {
  return ArrayOf(std::move(numbers));
}

// {name: array, or list of texts}.
nb::dict ToDict(Columns columns) {
  nb::dict dict;
  for (Column& column : columns) {
    dict[column.first.c_str()] =
        std::visit([](auto& values) { return ToPython(std::move(values)); }, column.second);
  }
  return dict;
}

// The blocks of an observation: (name, offset, shape, names of features).
nb::list ObservationBlocks() {
  nb::list blocks;
  const v1::ObservationSpec spec = MakeObservationSpec();
  for (const v1::ObservationSpec::Block& block : spec.blocks()) {
    blocks.append(nb::make_tuple(
        block.name(), block.offset(),
        nb::tuple(nb::cast(std::vector<uint32_t>(block.shape().begin(), block.shape().end()))),
        nb::cast(std::vector<std::string>(block.features().begin(), block.features().end()))));
  }
  return blocks;
}

nb::object ActionsOf(const Game& game) {
  std::vector<int64_t> actions;
  for (const Action action : game.history()) actions.push_back(Underlying(action));
  return ArrayOf(std::move(actions));
}

void BindProgram(nb::module_& module) {
  nb::class_<PythonProgram>(module, "Program")
      .def(
          "__init__",
          [](PythonProgram* self, const std::string& path) {
            new (self) PythonProgram(LoadPythonProgram(path));
          },
          "path"_a)
      // Gymnasium copies the arguments of environments, and sends them to other processes. A copy
      // is the same program, so that snapshots fit.
      .def("__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); })
      .def("__reduce__",
           [](const PythonProgram& it) {
             return nb::make_tuple(nb::type<PythonProgram>(), nb::make_tuple(it.path));
           })
      .def_prop_ro("path", [](const PythonProgram& it) { return it.path; })
      .def_prop_ro("name", [](const PythonProgram& it) { return it.played->name(); })
      .def_prop_ro("chip",
                   [](const PythonProgram& it) { return it.played->program().hardware().name(); })
      .def_prop_ro(
          "fingerprint",
          [](const PythonProgram& it) { return absl::BytesToHexString(it.played->sha256()); })
      .def_prop_ro("decisions", [](const PythonProgram& it) { return it.played->decisions(); })
      .def_prop_ro("fast_memory_bytes",
                   [](const PythonProgram& it) { return it.played->rules().fast_memory_bytes(); })
      .def_prop_ro("all_hbm_cycles",
                   [](const PythonProgram& it) { return it.played->rules().all_hbm_cycles(); })
      .def_prop_ro("default_cycles",
                   [](const PythonProgram& it) -> nb::object {
                     const Baseline* baseline = it.played->program().baseline();
                     return baseline != nullptr ? nb::cast(baseline->compiled_cycles) : nb::none();
                   })
      .def("instructions",
           [](const PythonProgram& it) { return ToDict(InstructionColumns(it.played->program())); })
      .def("accesses",
           [](const PythonProgram& it) { return ToDict(AccessColumns(it.played->program())); })
      .def("buffers",
           [](const PythonProgram& it) { return ToDict(BufferColumns(it.played->program())); });
}

void BindSnapshot(nb::module_& module) {
  nb::class_<Snapshot>(module, "Snapshot")
      .def_prop_ro("program_name", [](const Snapshot& it) { return it.program->name(); })
      .def_prop_ro("actions", [](const Snapshot& it) { return ActionsOf(it.game); })
      .def_prop_ro("cycles", [](const Snapshot& it) { return it.game.cycles(); })
      .def_prop_ro("finished", [](const Snapshot& it) { return it.game.finished(); })
      // Without is_operator a comparison with another type would raise.
      .def(
          "__eq__", [](const Snapshot& it, const Snapshot& other) { return it == other; },
          nb::is_operator())
      .def("__hash__", [](const Snapshot& it) { return absl::HashOf(it); });
}

void BindBatch(nb::module_& module) {
  nb::class_<PythonBatch>(module, "GameBatch")
      .def(
          "__init__",
          [](PythonBatch* self, const std::vector<PythonProgram>& programs, int64_t games,
             bool brief, bool raise_illegal, int64_t threads) {
            new (self)
                PythonBatch(programs, games,
                            {.brief = brief, .raise_illegal = raise_illegal, .threads = threads});
          },
          "programs"_a, "games"_a, nb::kw_only(), "brief"_a = false, "raise_illegal"_a = false,
          "threads"_a = 1)
      .def("reset", &PythonBatch::Reset, "game"_a, "program"_a)
      .def("choose_next", &PythonBatch::ChooseNext, "game"_a, "program"_a)
      .def("step", &PythonBatch::Step, "actions"_a)
      .def("step_game", &PythonBatch::StepGame, "game"_a, "action"_a)
      .def("snapshot", &PythonBatch::TakeSnapshot, "game"_a)
      .def("restore", &PythonBatch::Restore, "game"_a, "snapshot"_a)
      .def("program", &PythonBatch::ProgramOf, "game"_a)
      .def(
          "actions", [](const PythonBatch& it, int64_t game) { return ActionsOf(it.GameAt(game)); },
          "game"_a)
      .def(
          "total_return",
          [](const PythonBatch& it, int64_t game) { return it.GameAt(game).total_return(); },
          "game"_a)
      .def(
          "initial_return",
          [](const PythonBatch& it, int64_t game) { return it.GameAt(game).initial_return(); },
          "game"_a)
      .def(
          "text", [](const PythonBatch& it, int64_t game) { return GameText(it.GameAt(game)); },
          "game"_a)
      .def(
          "svg", [](const PythonBatch& it, int64_t game) { return GameSvg(it.GameAt(game)); },
          "game"_a)
      .def(
          "save_mapping",
          [](const PythonBatch& it, int64_t game, const std::string& path) {
            SavePythonMapping(it.GameAt(game), path);
          },
          "game"_a, "path"_a);
}

// Binds arrays(): the arrays of a batch, by name. They show the batch's memory, which the next call
// may change.
void BindArrays(nb::module_& module) {
  module.def("arrays", [](nb::handle_t<PythonBatch> self) {
    const GameBatch& batch = nb::cast<const PythonBatch&>(self).batch();
    const GameBatch::Arrays& arrays = batch.arrays();
    const size_t games = batch.games();
    nb::dict dict;
    dict["observations"] = ViewOf(arrays.observations, {games, batch.observation_size()}, self);
    dict["action_masks"] = ViewOf(arrays.action_masks, {games, kActionCount}, self);
    dict["rewards"] = ViewOf(arrays.rewards, {games}, self);
    dict["cycles"] = ViewOf(arrays.cycles, {games}, self);
    dict["gains"] = ViewOf(arrays.gains, {games}, self);
    dict["terminated"] = ViewOf(arrays.terminated, {games}, self);
    dict["illegal"] = ViewOf(arrays.illegal, {games}, self);
    return dict;
  });
}

}  // namespace
}  // namespace mallocmuzero::gym

NB_MODULE(_game, module) {
  namespace gym = mallocmuzero::gym;
  gym::AllowForks();
  gym::BindProgram(module);
  gym::BindSnapshot(module);
  gym::BindBatch(module);
  gym::BindArrays(module);
  module.def("observation_blocks", &gym::ObservationBlocks);
  module.def("cores", &mallocmuzero::UsableCpus);
}
