#include "cluster/config_folder.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace mallocmuzero {

ConfigFolder::ConfigFolder(const std::string& file) {
  std::error_code ignored;
  folder_ = std::filesystem::absolute(file, ignored).parent_path();
}

void ConfigFolder::MakeAbsolute(std::string& path) const {
  if (!path.empty()) path = (folder_ / path).lexically_normal().string();
}

void ConfigFolder::MakeAbsolute(v1::Security& security) const {
  for (std::string* file : {security.mutable_ca_file(), security.mutable_certificate_file(),
                            security.mutable_key_file(), security.mutable_token_file(),
                            security.mutable_admin_token_file()}) {
    MakeAbsolute(*file);
  }
}

}  // namespace mallocmuzero
