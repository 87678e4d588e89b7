#include "tools/gym/native/python_batch.h"

#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "simulator/core/program.h"
#include "tools/gym/native/show_game.h"

namespace mallocmuzero::gym {
namespace {

namespace nb = nanobind;

constexpr int64_t kMostGames = 1 << 16;  // some gigabytes
constexpr int64_t kMostThreads = 1024;

[[noreturn]] void Raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

void CheckRange(const char* name, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return;
  Raise(PyExc_ValueError, absl::StrCat(name, ": expected 1 to ", most, ", not ", value));
}

size_t CheckedIndex(const char* name, int64_t index, size_t size) {
  if (index >= 0 && index < size) return index;
  Raise(PyExc_IndexError,
        absl::StrCat(name, " ", index, " does not exist: expected 0 to ", size - 1));
}

GameBatch MakeBatch(const std::vector<PythonProgram>& programs, int64_t games,
                    const PythonBatchOptions& options) {
  if (programs.empty()) Raise(PyExc_ValueError, "expected at least one program");
  CheckRange("num_envs", games, kMostGames);
  CheckRange("threads", options.threads, kMostThreads);
  std::vector<SharedProgram> shared;
  for (const PythonProgram& program : programs) shared.push_back(program.played);
  const uint32_t threads = options.threads;
  try {
    return GameBatch(
        std::move(shared), games,
        {.observation = options.brief ? ObservationKind::kBrief : ObservationKind::kFull,
         .illegal = options.raise_illegal ? IllegalAction::kError : IllegalAction::kNearest,
         .threads = threads});
  } catch (const std::system_error& error) {
    Raise(PyExc_RuntimeError, absl::StrCat("cannot start ", threads, " threads: ", error.what()));
  }
}

}  // namespace

void RaiseIfError(const absl::Status& status) {
  if (status.ok()) return;
  PyObject* type = PyExc_ValueError;
  if (absl::IsFailedPrecondition(status)) type = PyExc_RuntimeError;
  if (absl::IsNotFound(status)) type = PyExc_FileNotFoundError;
  Raise(type, std::string(status.message()));
}

PythonProgram LoadPythonProgram(const std::string& path) {
  absl::StatusOr<Program> program = LoadProgram(path);
  RaiseIfError(program.status());
  std::unique_ptr<PlayedProgram> played = PlayedProgram::Create(*std::move(program));
  if (played->decisions() == 0) {
    Raise(PyExc_ValueError, absl::StrCat(path, ": the program leaves nothing to decide"));
  }
  return {.played = std::move(played), .path = path};
}

void SavePythonMapping(const Game& game, const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    Raise(PyExc_ValueError, "the path has a null character");
  }
  const absl::Status status = SaveMapping(game, path);
  const bool can_tell = absl::IsFailedPrecondition(status) || absl::IsNotFound(status);
  if (!status.ok() && !can_tell) Raise(PyExc_OSError, std::string(status.message()));
  RaiseIfError(status);
}

PythonBatch::PythonBatch(const std::vector<PythonProgram>& programs, int64_t games,
                         const PythonBatchOptions& options)
    : batch_(MakeBatch(programs, games, options)) {}

void PythonBatch::Reset(int64_t game, int64_t program) {
  CheckIsIdle();
  batch_.Reset(CheckedGame(game), CheckedProgram(program));
}

void PythonBatch::ChooseNext(int64_t game, int64_t program) {
  CheckIsIdle();
  batch_.ChooseNext(CheckedGame(game), CheckedProgram(program));
}

void PythonBatch::Step(const Actions& actions) {
  // Other threads may write to the array after the actions were checked.
  const std::vector<int64_t> kept(actions.data(), actions.data() + actions.shape(0));
  if (stepping_.exchange(true)) CheckIsIdle();
  absl::Status status;
  {
    const nb::gil_scoped_release other_threads_run;
    status = batch_.Step(kept);
  }
  stepping_ = false;
  RaiseIfError(status);
}

PythonBatch::Outcome PythonBatch::StepGame(int64_t game, int64_t action) {
  CheckIsIdle();
  const size_t g = CheckedGame(game);
  RaiseIfError(batch_.StepGame(g, action));
  const GameBatch::Arrays& arrays = batch_.arrays();
  return {arrays.rewards[g], arrays.terminated[g] != 0, arrays.cycles[g], arrays.gains[g],
          arrays.illegal[g] != 0};
}

Snapshot PythonBatch::TakeSnapshot(int64_t game) const {
  CheckIsIdle();
  return batch_.TakeSnapshot(CheckedGame(game));
}

void PythonBatch::Restore(int64_t game, const Snapshot& snapshot) {
  CheckIsIdle();
  RaiseIfError(batch_.Restore(CheckedGame(game), snapshot));
}

const Game& PythonBatch::GameAt(int64_t game) const {
  CheckIsIdle();
  return batch_.game(CheckedGame(game));
}

int64_t PythonBatch::ProgramOf(int64_t game) const {
  CheckIsIdle();
  return batch_.program(CheckedGame(game));
}

size_t PythonBatch::CheckedGame(int64_t game) const {
  return CheckedIndex("game", game, batch_.games());
}

size_t PythonBatch::CheckedProgram(int64_t program) const {
  return CheckedIndex("program", program, batch_.programs().size());
}

void PythonBatch::CheckIsIdle() const {
  if (stepping_) Raise(PyExc_RuntimeError, "another thread is stepping these games");
}

}  // namespace mallocmuzero::gym
