#include "model/export/object_storage.h"

#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/child_process.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

constexpr absl::string_view kScheme = "s3://";

// The variable of the file with the certificates that are trusted.
constexpr char kCaBundle[] = "AWS_CA_BUNDLE";

// Exit codes of rclone (https://rclone.org/docs/#exit-code) and of env.
constexpr int kNoSuchFolder = 3;
constexpr int kNoSuchFile = 4;
constexpr int kNoSuchProgram = 127;

constexpr size_t kTimeBytes = 20;  // "2026/11/26 21:45:53 "

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The name that rclone has for the URL. Keys come from the environment.
std::string RemoteOf(absl::string_view url) {
  return absl::StrCat(":s3:", absl::StripSuffix(absl::StripPrefix(url, kScheme), "/"));
}

std::vector<std::string> Options() {
  std::vector<std::string> options = {
      "--s3-env-auth", "--config=/dev/null", "--s3-no-check-bucket", "--log-level=ERROR",
      // The defaults of rclone try for hours if the storage does not answer.
      "--contimeout=10s", "--timeout=1m", "--low-level-retries=3", "--retries=3"};
  std::string endpoint = Variable("AWS_ENDPOINT_URL_S3");
  if (endpoint.empty()) endpoint = Variable("AWS_ENDPOINT_URL");
  options.push_back(endpoint.empty() ? "--s3-provider=AWS" : "--s3-provider=Other");
  if (!endpoint.empty()) options.push_back(absl::StrCat("--s3-endpoint=", endpoint));
  std::string region = Variable("AWS_REGION");
  if (region.empty()) region = Variable("AWS_DEFAULT_REGION");
  if (!region.empty()) options.push_back(absl::StrCat("--s3-region=", region));
  const std::string ca_bundle = Variable(kCaBundle);
  if (!ca_bundle.empty()) options.push_back(absl::StrCat("--ca-cert=", ca_bundle));
  return options;
}

// Whether a line begins with a time, as in "2026/11/26 21:45:53 Failed to ...". Other lines
// continue the one before them.
bool BeginsRecord(absl::string_view line) {
  return line.size() > kTimeBytes && line[4] == '/' && line[7] == '/' && line[10] == ' ' &&
         line[13] == ':';
}

// The last record that rclone printed, in one line.
std::string LastRecord(const std::string& output) {
  std::string last;
  for (const absl::string_view line : absl::StrSplit(output, '\n', absl::SkipWhitespace())) {
    if (BeginsRecord(line)) {
      last = std::string(line.substr(kTimeBytes));
    } else {
      absl::StrAppend(&last, last.empty() ? "" : " ", absl::StripAsciiWhitespace(line));
    }
  }
  return last;
}

// Runs rclone to its end; returns what it printed. `url` is for messages.
absl::StatusOr<std::string> Rclone(const std::vector<std::string>& arguments,
                                   const std::string& url) {
  // rclone cannot use this variable of AWS's tools, and fails if it is set; Options has a flag for
  // it.
  std::vector<std::string> command = {"/usr/bin/env", "-u", kCaBundle, "rclone"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  for (std::string& option : Options()) command.push_back(std::move(option));
  const absl::StatusOr<std::unique_ptr<ChildProcess>> rclone = ChildProcess::Start(command);
  if (!rclone.ok()) return rclone.status();
  std::string output;
  std::string how;
  while (!(*rclone)->HasEnded(how)) {
    pollfd events[] = {{(*rclone)->exit_fd(), POLLIN, 0}, {(*rclone)->output_fd(), POLLIN, 0}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    absl::StrAppend(&output, (*rclone)->ReadOutput());
  }
  absl::StrAppend(&output, (*rclone)->ReadOutput());
  switch ((*rclone)->exit_code()) {
    case 0:
      return output;
    case kNoSuchProgram:
      return absl::FailedPreconditionError(
          absl::StrCat(url, ": the program rclone is needed and not installed"));
    case kNoSuchFolder:
    case kNoSuchFile:
      return absl::NotFoundError(absl::StrCat(url, ": there is no such object"));
    default:
      return absl::UnavailableError(absl::StrCat(url, ": rclone ", how, ": ", LastRecord(output)));
  }
}

absl::Status RunRclone(const std::vector<std::string>& arguments, const std::string& url) {
  return Rclone(arguments, url).status();
}

absl::Status CheckUrl(const std::string& url) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::StripPrefix(url, kScheme), absl::MaxSplits('/', 1));
  if (IsObjectUrl(url) && parts.size() == 2 && !parts[0].empty() && !parts[1].empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(url, ": a name in a bucket expected, such as s3://bucket/name"));
}

}  // namespace

bool IsObjectUrl(absl::string_view path) { return absl::StartsWith(path, kScheme); }

absl::Status CheckNewPrefix(const std::string& url) {
  MMZ_RETURN_IF_ERROR(CheckUrl(url));
  const absl::StatusOr<std::string> found = Rclone({"lsf", RemoteOf(url), "--max-depth=1"}, url);
  if (absl::IsNotFound(found.status())) return absl::OkStatus();
  if (!found.ok()) return found.status();
  if (found->empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(url, ": there are objects below this name; choose another one"));
}

absl::Status UploadFolder(const std::string& folder, absl::string_view last,
                          const std::string& url) {
  MMZ_RETURN_IF_ERROR(CheckUrl(url));
  MMZ_RETURN_IF_ERROR(
      RunRclone({"copy", folder, RemoteOf(url), absl::StrCat("--exclude=/", last)}, url));
  return RunRclone(
      {"copyto", absl::StrCat(folder, "/", last), absl::StrCat(RemoteOf(url), "/", last)}, url);
}

absl::Status DownloadFolder(const std::string& url, const std::string& folder) {
  MMZ_RETURN_IF_ERROR(CheckUrl(url));
  // For rclone a name with a colon before its first slash begins with the name of a remote.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(folder, error);
  return RunRclone({"copy", RemoteOf(url), error ? folder : whole.string()}, url);
}

absl::Status DownloadFile(const std::string& url, const std::string& file) {
  MMZ_RETURN_IF_ERROR(CheckUrl(url));
  MMZ_RETURN_IF_ERROR(RunRclone({"copyto", RemoteOf(url), file}, url));
  // If there is no such object, rclone takes the name for that of an empty folder.
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(url, ": there is no such object"));
}

}  // namespace mallocmuzero
