// A folder that appears as a whole or not at all.

#ifndef MALLOCMUZERO_MODEL_EXPORT_STAGED_FOLDER_H_
#define MALLOCMUZERO_MODEL_EXPORT_STAGED_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// OK if a folder can be put at `target`: there is nothing or an empty folder, in a folder that
// exists. InvalidArgument otherwise.
absl::Status CheckNewFolder(const std::string& target);

// The folder TARGET.mmz-RANDOM, which becomes TARGET. A process that is killed leaves it behind.
class StagedFolder {
 public:
  // InvalidArgument if CheckNewFolder refuses `target` or nothing can be written there.
  static absl::StatusOr<std::unique_ptr<StagedFolder>> Create(const std::string& target);

  // Removes the folder, unless Publish has succeeded.
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file. `name` may be in a folder, which is made.
  absl::Status Write(absl::string_view name, absl::string_view bytes) const;

  // Moves `file`, which is on the same disk, into the folder. `name` is as in Write.
  absl::Status Move(const std::string& file, absl::string_view name) const;

  // Gives the folder its name.
  absl::Status Publish();

 private:
  StagedFolder(std::string target, std::string path);

  // The path of a file of that name, whose folder is made.
  absl::StatusOr<std::string> MakePlace(absl::string_view name) const;

  std::string target_;
  std::string path_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_STAGED_FOLDER_H_
