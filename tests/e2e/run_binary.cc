#include "tests/e2e/run_binary.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace mallocmuzero::e2e {
namespace {

constexpr char kBinary[] = MALLOCMUZERO_BINARY_DIR "/bin/mallocmuzero";

// Starts the binary with its output going to two files; returns its wait status, or -1.
int SpawnAndWait(std::vector<std::string> arguments, const std::string& out,
                 const std::string& err) {
  arguments.insert(arguments.begin(), kBinary);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t redirect;
  posix_spawn_file_actions_init(&redirect);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&redirect, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&redirect, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&redirect, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t child = 0;
  const int error = posix_spawn(&child, kBinary, &redirect, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&redirect);
  int status = -1;
  if (error != 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

}  // namespace

RunResult RunMallocmuzero(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string out = folder.Path("stdout");
  const std::string err = folder.Path("stderr");
  const int status = SpawnAndWait(arguments, out, err);
  if (status == -1) {
    ADD_FAILURE() << "cannot start " << kBinary;
    return {};
  }
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = ReadAll(out),
          .err = ReadAll(err)};
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
