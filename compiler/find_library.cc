#include "compiler/find_library.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

constexpr char kVariable[] = "TPU_LIBRARY_PATH";

// Finds the package without importing it. A folder of sources named libtpu has no origin.
constexpr char kAskPython[] =
    "python3 -c 'import importlib.util, os; package = importlib.util.find_spec(\"libtpu\"); "
    "print(os.path.join(os.path.dirname(package.origin), \"libtpu.so\"))' 2>/dev/null";

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// Empty if there is no python3 or it has no such package.
std::string PythonsLibrary() {
  std::FILE* answer = popen(kAskPython, "re");
  if (answer == nullptr) return "";
  std::string path;
  char buffer[4096];
  while (std::fgets(buffer, sizeof(buffer), answer) != nullptr) path += buffer;
  pclose(answer);
  absl::StripAsciiWhitespace(&path);
  return path;
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
        absl::StrCat(variable, ": no such file; ", kVariable, " is to name libtpu.so"));
  }
  std::string path = PythonsLibrary();
  if (IsFile(path)) return path;
  return absl::NotFoundError(
      absl::StrCat("no compiler: neither --libtpu nor ", kVariable,
                   " names libtpu.so, and python3 has no package libtpu (pip install libtpu)"));
}

}  // namespace mallocmuzero
