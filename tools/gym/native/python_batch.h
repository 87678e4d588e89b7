// Programs and batches of games for Python: arguments are checked, and errors are Python
// exceptions.

#ifndef MALLOCMUZERO_TOOLS_GYM_NATIVE_PYTHON_BATCH_H_
#define MALLOCMUZERO_TOOLS_GYM_NATIVE_PYTHON_BATCH_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "tools/gym/native/game_batch.h"

namespace mallocmuzero::gym {

// Throws Python's exception for an error: RuntimeError for a call at the wrong time,
// FileNotFoundError for a missing file, else ValueError.
void RaiseIfError(const absl::Status& status);

// A program that Python holds, and the file that it was loaded from.
struct PythonProgram {
  SharedProgram played;
  std::string path;
};

// Raises FileNotFoundError if there is no such file, ValueError if it is not a program that can be
// played.
PythonProgram LoadPythonProgram(const std::string& path);

// Writes the mapping of a finished game to a file. Raises RuntimeError if the game is not finished,
// ValueError if the path has a null character, FileNotFoundError if there is no such folder, and
// OSError if the file cannot be written.
void SavePythonMapping(const Game& game, const std::string& path);

struct PythonBatchOptions {
  bool brief = false;
  bool raise_illegal = false;
  int64_t threads = 1;
};

// A batch that Python holds. All calls raise RuntimeError while another thread is in step().
class PythonBatch {
 public:
  using Actions = nanobind::ndarray<const int64_t, nanobind::ndim<1>, nanobind::c_contig,
                                    nanobind::device::cpu>;

  // The result of step_game(): reward, terminated, cycles, gain, illegal.
  using Outcome = std::tuple<double, bool, double, double, bool>;

  // Raises ValueError for an argument out of range, RuntimeError if the system has no more threads.
  PythonBatch(const std::vector<PythonProgram>& programs, int64_t games,
              const PythonBatchOptions& options);

  void Reset(int64_t game, int64_t program);
  void ChooseNext(int64_t game, int64_t program);

  // Lets other threads of Python run meanwhile.
  void Step(const Actions& actions);
  Outcome StepGame(int64_t game, int64_t action);

  Snapshot TakeSnapshot(int64_t game) const;
  void Restore(int64_t game, const Snapshot& snapshot);

  const Game& GameAt(int64_t game) const;
  int64_t ProgramOf(int64_t game) const;

  const GameBatch& batch() const { return batch_; }

 private:
  size_t CheckedGame(int64_t game) const;
  size_t CheckedProgram(int64_t program) const;
  void CheckIsIdle() const;

  GameBatch batch_;
  std::atomic<bool> stepping_ = false;
};

}  // namespace mallocmuzero::gym

#endif  // MALLOCMUZERO_TOOLS_GYM_NATIVE_PYTHON_BATCH_H_
