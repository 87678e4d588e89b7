#ifndef MALLOCMUZERO_TESTS_E2E_RUN_BINARY_H_
#define MALLOCMUZERO_TESTS_E2E_RUN_BINARY_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mallocmuzero::e2e {

struct RunResult {
  // As a shell reports it: 128 + signal number if a signal ended the process.
  int exit_code = -1;
  std::string out;
  std::string err;
};

// The path of build/bin/mallocmuzero.
std::string MallocmuzeroPath();

// Runs build/bin/mallocmuzero with `arguments` and waits for it, with the file `input` as its
// stdin. Fails the test if it cannot start.
RunResult RunMallocmuzero(const std::vector<std::string>& arguments,
                          const std::string& input = "/dev/null");

// As RunMallocmuzero, for the executable at the path `binary`.
RunResult RunBinary(const std::string& binary, const std::vector<std::string>& arguments);

// The same where stderr is a pipe that nobody reads any more.
RunResult RunWithoutReaderOfErrors(const std::vector<std::string>& arguments);

// Expects exit code 2, nothing on stdout, and one line of ours on stderr that contains a match of
// the extended regular expression `pattern`.
void ExpectOneErrorLine(const RunResult& result, const std::string& pattern);

// The binary at work while the test goes on. Killed at the end if it still runs.
class RunningMallocmuzero {
 public:
  explicit RunningMallocmuzero(const std::vector<std::string>& arguments,
                               const std::string& input = "/dev/null", bool errors_are_read = true,
                               const std::string& binary = MallocmuzeroPath());
  ~RunningMallocmuzero();
  RunningMallocmuzero(const RunningMallocmuzero&) = delete;
  RunningMallocmuzero& operator=(const RunningMallocmuzero&) = delete;

  // Blocks until a line of stderr contains `text`, and hands it over in `found` if that is given;
  // false if stderr ends before.
  bool WaitForLine(const std::string& text, std::string* found = nullptr);

  void Signal(int signal) const;

  // -1 once it has been waited for.
  pid_t pid() const { return child_; }

  // Waits for the end. stderr is what WaitForLine has not read.
  RunResult Wait();

 private:
  pid_t child_ = -1;
  int err_ = -1;  // reading end of its stderr
  std::filesystem::path out_;
};

// A folder of its own for each test, removed with its content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Path of `name` in the folder; nothing is created.
  std::string Path(const std::string& name) const;

  // Writes `content` to `name` and returns its path.
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path folder_;
};

// Whole content of a file; fails the test if it cannot be read.
std::string ReadAll(const std::string& path);

// Path of a committed file of tests/data.
std::string TestData(const std::string& name);

// What `import` needs for one of the programs in tests/data/hlo: --all-hbm, --default, every
// --sample, --hardware and --output.
std::vector<std::string> ImportArguments(const std::string& program, const std::string& output);

}  // namespace mallocmuzero::e2e

#endif  // MALLOCMUZERO_TESTS_E2E_RUN_BINARY_H_
