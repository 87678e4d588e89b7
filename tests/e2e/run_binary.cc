#include "tests/e2e/run_binary.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kBinary[] = MALLOCMUZERO_BINARY_DIR "/bin/mallocmuzero";

// Starts the binary with stdin from a file, stdout to a file, and stderr to a descriptor. Returns
// -1 on failure.
pid_t Spawn(const std::string& binary, std::vector<std::string> arguments, const std::string& in,
            const std::string& out, int err) {
  arguments.insert(arguments.begin(), binary);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t redirect;
  posix_spawn_file_actions_init(&redirect);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&redirect, STDIN_FILENO, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&redirect, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_adddup2(&redirect, err, STDERR_FILENO);
  // A test in the background of a shell ignores SIGINT, and so would the binary.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, binary.c_str(), &redirect, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&redirect);
  if (error == 0) return child;
  ADD_FAILURE() << "cannot start " << binary;
  return -1;
}

// The exit code as a shell reports it.
int ExitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string MallocmuzeroPath() { return kBinary; }

nlohmann::json RunForJson(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const RunResult result = RunMallocmuzero(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
  return nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

RunResult RunBinary(const std::string& binary, const std::vector<std::string>& arguments) {
  return RunningMallocmuzero(arguments, "/dev/null", /*errors_are_read=*/true, binary).Wait();
}

RunResult RunMallocmuzero(const std::vector<std::string>& arguments, const std::string& input) {
  return RunningMallocmuzero(arguments, input).Wait();
}

RunResult RunWithoutReaderOfErrors(const std::vector<std::string>& arguments) {
  return RunningMallocmuzero(arguments, "/dev/null", /*errors_are_read=*/false).Wait();
}

RunningMallocmuzero::RunningMallocmuzero(const std::vector<std::string>& arguments,
                                         const std::string& input, bool errors_are_read,
                                         const std::string& binary) {
  std::string out = (std::filesystem::temp_directory_path() / "mallocmuzero-out-XXXXXX").string();
  const int file = mkstemp(out.data());
  if (file >= 0) close(file);
  out_ = out;
  int ends[2];
  if (file < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no file or pipe for the output of " << binary;
    return;
  }
  err_ = ends[0];
  if (!errors_are_read) {
    close(err_);
    err_ = -1;
  }
  child_ = Spawn(binary, arguments, input, out, ends[1]);
  close(ends[1]);
}

RunningMallocmuzero::~RunningMallocmuzero() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  if (err_ >= 0) close(err_);
  std::error_code ignored;
  std::filesystem::remove(out_, ignored);
}

bool RunningMallocmuzero::WaitForLine(const std::string& text, std::string* found) {
  std::string line;
  for (char c = 0; read(err_, &c, 1) == 1;) {
    if (c != '\n') {
      line.push_back(c);
      continue;
    }
    if (line.find(text) != std::string::npos) {
      if (found != nullptr) *found = line;
      return true;
    }
    line.clear();
  }
  return false;
}

void RunningMallocmuzero::Signal(int signal) const {
  if (child_ > 0) kill(child_, signal);
}

RunResult RunningMallocmuzero::Wait() {
  RunResult result;
  if (child_ < 0) return result;
  char buffer[4096];
  for (ssize_t n = 0; err_ >= 0 && (n = read(err_, buffer, sizeof(buffer))) > 0;) {
    result.err.append(buffer, n);
  }
  int status = 0;
  waitpid(child_, &status, 0);
  child_ = -1;
  result.exit_code = ExitCodeOf(status);
  result.out = ReadAll(out_.string());
  return result;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "mallocmuzero-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot create " << pattern;
  folder_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::Path(const std::string& name) const {
  return (folder_ / name).string();
}

std::string TemporaryFolder::Write(const std::string& name, const std::string& content) const {
  std::ofstream file(folder_ / name, std::ios::binary);
  file << content;
  file.close();
  if (!file) ADD_FAILURE() << "cannot write " << Path(name);
  return Path(name);
}

void ExpectOneErrorLine(const RunResult& result, const std::string& pattern) {
  EXPECT_EQ(result.exit_code, 2) << pattern;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(StartsWith("mallocmuzero: "), EndsWith("\n")));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, ContainsRegex(pattern));
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) ADD_FAILURE() << "cannot read " << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string TestData(const std::string& name) {
  return std::string(MALLOCMUZERO_SOURCE_DIR "/tests/data/") + name;
}

std::vector<std::string> ImportArguments(const std::string& program, const std::string& output) {
  const std::string folder = TestData("hlo/" + program);
  std::vector<std::string> arguments = {"import", "--hardware", "tpu_v4i", "--output", output};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name.starts_with("all_hbm.")) arguments.push_back("--all-hbm");
    if (name.starts_with("default.")) arguments.push_back("--default");
    if (name.starts_with("sample_")) arguments.push_back("--sample");
    arguments.push_back(absl::StrCat(folder, "/", name));
  }
  return arguments;
}

}  // namespace mallocmuzero::e2e
