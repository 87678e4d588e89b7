// Reads whole files, and replaces files atomically.

#ifndef MALLOCMUZERO_BASE_FILE_IO_H_
#define MALLOCMUZERO_BASE_FILE_IO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero {

// The content of the file. Content that starts with zstd's magic number is decompressed (all its
// frames), whatever the file's extension. NotFound if there is no such file. InvalidArgument if it
// is a folder, damaged, cut short, or longer than kMaxFileBytes (base/compression.h).
absl::StatusOr<std::string> ReadFile(const std::string& path);

// "PATH: ACTION: REASON", such as "run/state: cannot write: No space left on device". `error` is an
// errno.
std::string ErrnoMessage(absl::string_view path, absl::string_view action, int error);

// The error of a call that has failed, with this message: NotFound if there is no such file or
// folder, ResourceExhausted if there is no room (IsNoRoom), else InvalidArgument.
absl::Status ErrnoStatus(absl::string_view path, absl::string_view action, int error);

// Whether a call has failed because there is no room on the disk or in the quota, or because the
// file may not grow. `error` is an errno. A later call may succeed.
bool IsNoRoom(int error);

// Writes all bytes to an open file; `path` is for the error, which may come after some of them:
// ResourceExhausted if there is no room (IsNoRoom), else InvalidArgument.
absl::Status WriteBytes(int file, const std::string& path, absl::string_view bytes);

// The error that WriteFileAtomically has before it writes the first byte, such as of a folder that
// is missing or read-only; OK if there is none. Leaves no file behind.
absl::Status CheckCanWrite(const std::string& path);

// Replaces the file atomically: a reader, even after a crash, sees either the old or the new
// content. If the path is a link, the file that it points to is replaced. If the path is a pipe, a
// device or an open file of this process (/dev/stdout), the bytes are written to it. The content is
// compressed if `compress` is set or the path ends in ".zst". Files that killed processes have left
// in the folder (base/temporary_file.h) do not block the write: the first write into a folder
// removes them. After an error the old content stays, except where bytes are written to it.
// ResourceExhausted if there is no room (IsNoRoom), NotFound if there is no such folder, else
// InvalidArgument.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes,
                                 bool compress = false);

struct FileContent {
  std::string path;
  absl::string_view bytes;  // not owned
};

// Replaces files as WriteFileAtomically does, in this order, and compresses none. All are on the
// disk before the first one is replaced: if one has no room, all stay as they are.
absl::Status WriteFilesTogether(absl::Span<const FileContent> files);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_FILE_IO_H_
