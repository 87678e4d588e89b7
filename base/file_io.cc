#include "base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/compression.h"
#include "base/status_macros.h"
#include "base/sync_folder.h"
#include "base/temporary_file.h"

namespace mallocmuzero {
namespace {

constexpr int kMostLinks = 40;  // as in Linux

// Whether another user has made the link in a folder where all may make one, such as /tmp. The
// kernel follows no such link (fs.protected_symlinks), but does not see those that this process
// reads.
bool IsOfAnotherUser(const std::filesystem::path& link) {
  struct stat own = {};
  struct stat folder = {};
  const std::string parent = link.has_parent_path() ? link.parent_path().string() : ".";
  if (lstat(link.c_str(), &own) != 0 || stat(parent.c_str(), &folder) != 0) return false;
  const bool is_for_all = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return is_for_all && own.st_uid != geteuid() && own.st_uid != folder.st_uid;
}

// The N of /proc/self/fd/N, an open file of this process; -1 for other paths.
int OpenFileAt(const std::filesystem::path& path) {
  const std::string folder = path.parent_path().string();
  int descriptor = -1;
  const bool is_open_here = (folder == "/proc/self/fd" || folder == "/dev/fd") &&
                            absl::SimpleAtoi(path.filename().string(), &descriptor);
  return is_open_here ? descriptor : -1;
}

// The path that `path` leads to after following all links. It need not exist. An open file of this
// process is the end, although it is a link to the path that it was opened by.
absl::StatusOr<std::string> FollowLinks(const std::string& path) {
  std::filesystem::path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    if (OpenFileAt(target) >= 0) return target.string();
    std::error_code no_link;
    const std::filesystem::path next = std::filesystem::read_symlink(target, no_link);
    if (no_link) return target.string();
    if (IsOfAnotherUser(target)) return ErrnoStatus(path, "cannot create", EACCES);
    target = target.parent_path() / next;  // the result is `next` alone if it is absolute
  }
  return ErrnoStatus(path, "cannot create", ELOOP);
}

// The open file of this process that `path` names, as /dev/stdout does by links; -1 if there is
// none.
int OwnDescriptor(const std::string& path) {
  const absl::StatusOr<std::string> target = FollowLinks(path);
  return target.ok() ? OpenFileAt(*target) : -1;
}

// True for pipes, devices and the like, which can only be written to, not replaced. Files that this
// process has open are of them: a shell may have redirected an output to such a file.
bool TakesBytesOnly(const std::string& path) {
  if (OwnDescriptor(path) >= 0) return true;
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return false;
  return !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

absl::Status WriteInto(const std::string& path, absl::string_view bytes) {
  // A second open of a redirected file would begin at its start.
  const int own = OwnDescriptor(path);
  const int file = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0)
                            : open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return ErrnoStatus(path, "cannot open", errno);
  absl::Status status = WriteBytes(file, path, bytes);
  if (close(file) != 0 && status.ok()) status = ErrnoStatus(path, "cannot write", errno);
  return status;
}

// Makes a rename durable. Errors are ignored: some file systems cannot sync folders, and the
// content is safe in any case.
void SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  SyncFolder(slash == std::string::npos ? "." : path.substr(0, slash + 1)).IgnoreError();
}

}  // namespace

std::string ErrnoMessage(absl::string_view path, absl::string_view action, int error) {
  return absl::StrCat(path, ": ", action, ": ", std::strerror(error));
}

absl::Status WriteBytes(int file, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(path, "cannot write", errno);
    }
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status ErrnoStatus(absl::string_view path, absl::string_view action, int error) {
  const std::string message = ErrnoMessage(path, action, error);
  if (error == ENOENT) return absl::NotFoundError(message);
  if (IsNoRoom(error)) return absl::ResourceExhaustedError(message);
  return absl::InvalidArgumentError(message);
}

bool IsNoRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (file == nullptr) return ErrnoStatus(path, "cannot open", errno);
  constexpr size_t kChunkBytes = 1 << 18;
  std::string content;
  while (true) {
    const size_t size = content.size();
    content.resize(size + kChunkBytes);
    const size_t read = std::fread(content.data() + size, 1, kChunkBytes, file.get());
    content.resize(size + read);
    if (std::ssize(content) > kMaxFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": content is longer than ", kMaxFileBytes, " bytes"));
    }
    if (read == kChunkBytes) continue;
    if (std::ferror(file.get()) != 0) return ErrnoStatus(path, "cannot read", errno);
    break;
  }
  return Decompress(std::move(content), path);
}

absl::Status CheckCanWrite(const std::string& path) {
  if (TakesBytesOnly(path)) {
    // Opening a pipe would wait for its reader.
    if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
    return ErrnoStatus(path, "cannot open", errno);
  }
  const absl::StatusOr<std::string> target = FollowLinks(path);
  if (!target.ok()) return target.status();
  const TemporaryFile temporary(*target);
  if (temporary.error() == 0) return absl::OkStatus();
  return ErrnoStatus(path, "cannot create", temporary.error());
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes, bool compress) {
  std::string compressed;
  if (compress || absl::EndsWith(path, ".zst")) {
    absl::StatusOr<std::string> result = Compress(bytes, path);
    if (!result.ok()) return result.status();
    compressed = *std::move(result);
    bytes = compressed;
  }
  const FileContent file = {.path = path, .bytes = bytes};
  return WriteFilesTogether(absl::MakeConstSpan(&file, 1));
}

absl::Status WriteFilesTogether(absl::Span<const FileContent> files) {
  std::vector<std::string> targets(files.size());
  std::vector<std::unique_ptr<TemporaryFile>> temporaries(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [path, bytes] = files[i];
    if (TakesBytesOnly(path)) continue;
    absl::StatusOr<std::string> target = FollowLinks(path);
    if (!target.ok()) return target.status();
    targets[i] = *std::move(target);
    temporaries[i] = std::make_unique<TemporaryFile>(targets[i]);
    const TemporaryFile& temporary = *temporaries[i];
    if (temporary.error() != 0) return ErrnoStatus(path, "cannot create", temporary.error());
    MMZ_RETURN_IF_ERROR(WriteBytes(temporary.descriptor(), path, bytes));
    if (fsync(temporary.descriptor()) != 0) return ErrnoStatus(path, "cannot write to disk", errno);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [path, bytes] = files[i];
    if (temporaries[i] == nullptr) {
      MMZ_RETURN_IF_ERROR(WriteInto(path, bytes));
      continue;
    }
    if (!temporaries[i]->Replace()) return ErrnoStatus(path, "cannot replace", errno);
    SyncFolderOf(targets[i]);
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
