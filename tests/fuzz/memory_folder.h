// A folder for the files of a fuzzer.

#ifndef MALLOCMUZERO_TESTS_FUZZ_MEMORY_FOLDER_H_
#define MALLOCMUZERO_TESTS_FUZZ_MEMORY_FOLDER_H_

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// The folder is in memory where the system has such a file system, because a fuzzer's files need
// not reach a disk. Its destructor removes it with all that is in it.
class MemoryFolder {
 public:
  // `name` tells the folder from those of other fuzzers; the process id tells it from those of the
  // same fuzzer.
  explicit MemoryFolder(absl::string_view name)
      : path_(absl::StrCat(Above(), "/", name, "_", getpid())) {
    Clear();
  }
  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  // Makes the folder empty.
  void Clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    std::filesystem::create_directories(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  static std::string Above() {
    std::error_code ignored;
    const std::filesystem::path memory = "/dev/shm";
    if (std::filesystem::is_directory(memory, ignored)) return memory.string();
    return std::filesystem::temp_directory_path(ignored).string();
  }

  const std::string path_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TESTS_FUZZ_MEMORY_FOLDER_H_
