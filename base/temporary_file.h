// A temporary file that replaces another file atomically.

#ifndef MALLOCMUZERO_BASE_TEMPORARY_FILE_H_
#define MALLOCMUZERO_BASE_TEMPORARY_FILE_H_

#include <string>

namespace mallocmuzero {

// The file has a random name, so a file that an earlier process has left cannot be in its way. The
// writer holds a lock on the file: a file with such a name and without a lock was left by a process
// that was killed.
// The first TemporaryFile that a process makes in a folder removes the folder's leftovers.
class TemporaryFile {
 public:
  // Makes the file TARGET.mmz-RANDOM.tmp. error() tells whether that worked.
  explicit TemporaryFile(const std::string& target);

  // Closes the file and removes it, unless Replace has succeeded.
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // The errno of the failure to make the file; 0 if it was made.
  int error() const { return error_; }

  // The descriptor of the file, open for writing.
  int descriptor() const { return descriptor_; }

  // Gives the file the target's name. Returns false and sets errno if that fails.
  bool Replace();

 private:
  bool Make();

  const std::string target_;
  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;
  bool replaced_ = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_TEMPORARY_FILE_H_
