#include "cli/agent_executable.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"

namespace mallocmuzero::cli {
namespace {

constexpr char kName[] = "mallocmuzero-agent";

}  // namespace

absl::StatusOr<std::filesystem::path> OwnBinary() {
  std::error_code error;
  std::filesystem::path binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError(absl::StrCat("/proc/self/exe: ", error.message()));
  return binary;
}

absl::StatusOr<std::string> FindAgentExecutable() {
  const absl::StatusOr<std::filesystem::path> binary = OwnBinary();
  if (!binary.ok()) return binary.status();
  const std::filesystem::path folder = binary->parent_path();
  const std::filesystem::path installed = folder.parent_path() / "libexec" / "mallocmuzero";
  for (const std::filesystem::path& place : {folder, installed}) {
    std::string path = (place / kName).string();
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError(absl::StrCat("needs the executable ", kName, ", which is neither in ",
                                          folder.string(), " nor in ", installed.string()));
}

absl::Status ExecAgent(const std::string& path, const char* const* argv) {
  // execv does not change the strings.
  execv(path.c_str(), const_cast<char* const*>(argv));
  return absl::InternalError(ErrnoMessage(path, "cannot start", errno));
}

}  // namespace mallocmuzero::cli
