// Paths in a configuration, which are relative to the folder of its file.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_FOLDER_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_FOLDER_H_

#include <filesystem>
#include <string>

#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

class ConfigFolder {
 public:
  // The folder of the configuration `file`, which need not exist.
  explicit ConfigFolder(const std::string& file);

  // Makes a path absolute; an empty path stays empty.
  void MakeAbsolute(std::string& path) const;

  // The same for all files of `security`.
  void MakeAbsolute(v1::Security& security) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_FOLDER_H_
