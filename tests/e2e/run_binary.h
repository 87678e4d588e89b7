// Runs the built binary for tests, in the foreground or while the test goes on, with files for it.

#ifndef MALLOCMUZERO_TESTS_E2E_RUN_BINARY_H_
#define MALLOCMUZERO_TESTS_E2E_RUN_BINARY_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace mallocmuzero::e2e {

// The results of a run of the binary: its exit code, and the content of stdout and stderr.
struct RunResult {
  // As a shell reports it: 128 + signal number if a signal ended the process.
  int exit_code = -1;
  std::string out;
  std::string err;
};

// The path of build/bin/mallocmuzero.
std::string MallocmuzeroPath();

// Runs build/bin/mallocmuzero with `arguments`, with the file `input` as stdin, and waits for its
// end. Fails the test if it cannot start.
RunResult RunMallocmuzero(const std::vector<std::string>& arguments,
                          const std::string& input = "/dev/null");

// Adds --json, and returns the object that the binary then prints on one line. Fails the test
// unless the exit code is 0.
nlohmann::json RunForJson(std::vector<std::string> arguments);

// Runs the executable at the path `binary` in the same way.
RunResult RunBinary(const std::string& binary, const std::vector<std::string>& arguments);

// Runs build/bin/mallocmuzero with stderr as a pipe whose reader has gone.
RunResult RunWithoutReaderOfErrors(const std::vector<std::string>& arguments);

// Expects exit code 2, nothing on stdout, and one line on stderr that begins with the binary's name
// and contains a match of the extended regular expression `pattern`.
void ExpectOneErrorLine(const RunResult& result, const std::string& pattern);

// Runs the binary while the test goes on. The destructor kills it if it still runs.
class RunningMallocmuzero {
 public:
  explicit RunningMallocmuzero(const std::vector<std::string>& arguments,
                               const std::string& input = "/dev/null", bool errors_are_read = true,
                               const std::string& binary = MallocmuzeroPath());
  ~RunningMallocmuzero();
  RunningMallocmuzero(const RunningMallocmuzero&) = delete;
  RunningMallocmuzero& operator=(const RunningMallocmuzero&) = delete;

  // Blocks until a line of stderr contains `text`, and returns true; sets `found` to the line
  // unless it is null. Returns false if stderr ends before.
  bool WaitForLine(const std::string& text, std::string* found = nullptr);

  // Sends the signal to the binary.
  void Signal(int signal) const;

  // -1 after Wait has returned.
  pid_t pid() const { return child_; }

  // Waits for the end. The result's stderr is the part that WaitForLine has not read.
  RunResult Wait();

 private:
  pid_t child_ = -1;
  int err_ = -1;  // reading end of its stderr
  std::filesystem::path out_;
};

// A new folder, which is removed with its content at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Path of `name` in the folder; creates nothing.
  std::string Path(const std::string& name) const;

  // Writes `content` to `name` and returns its path.
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path folder_;
};

// The whole content of a file. Fails the test if it cannot be read.
std::string ReadAll(const std::string& path);

// Path of a committed file in tests/data.
std::string TestData(const std::string& name);

// The arguments of `import` for one of the programs in tests/data/hlo: --all-hbm, --default, every
// --sample, --hardware and --output.
std::vector<std::string> ImportArguments(const std::string& program, const std::string& output);

}  // namespace mallocmuzero::e2e

#endif  // MALLOCMUZERO_TESTS_E2E_RUN_BINARY_H_
