#include "compiler/find_library.h"

#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/child_process.h"

namespace mallocmuzero {
namespace {

constexpr char kVariable[] = "TPU_LIBRARY_PATH";

// A Python program that finds the package without importing it. A source folder named libtpu is no
// package and has no origin.
constexpr char kAskPython[] =
    "import importlib.util, os; package = importlib.util.find_spec('libtpu'); "
    "print(os.path.join(os.path.dirname(package.origin), 'libtpu.so'))";
constexpr int kAnswerMilliseconds = 30'000;

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// The last of the lines that is the path of a file. Python itself and code that it runs at its
// start may have printed others. Returns "" if there is no such line.
std::string LastFile(absl::string_view output) {
  std::string path;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::string candidate(absl::StripAsciiWhitespace(line));
    if (IsFile(candidate)) path = candidate;
  }
  return path;
}

// Returns "" if there is no python3, python3 fails, or it has no such package.
std::string PythonsLibrary() {
  const auto python = ChildProcess::Start({"/usr/bin/env", "python3", "-c", kAskPython});
  if (!python.ok()) return "";
  pollfd ended{(*python)->exit_fd(), POLLIN, 0};
  poll(&ended, 1, kAnswerMilliseconds);
  return LastFile((*python)->ReadOutput());
}

}  // namespace

absl::StatusOr<std::string> FindCompilerLibrary(const std::string& given) {
  if (!given.empty()) {
    if (IsFile(given)) return given;
    return absl::NotFoundError(absl::StrCat(given, ": no such file; libtpu.so expected"));
  }
  const char* variable = std::getenv(kVariable);
  if (variable != nullptr && *variable != '\0') {
    if (IsFile(variable)) return std::string(variable);
    return absl::NotFoundError(
        absl::StrCat(variable, ": no such file; ", kVariable, " must name libtpu.so"));
  }
  std::string path = PythonsLibrary();
  if (!path.empty()) return path;
  return absl::NotFoundError(
      absl::StrCat("no compiler: neither --libtpu nor ", kVariable,
                   " names libtpu.so, and python3 has no package libtpu (pip install libtpu)"));
}

}  // namespace mallocmuzero
