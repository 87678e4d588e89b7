// The configuration of `serve`: defaults and checks.

#ifndef MALLOCMUZERO_SERVE_SERVE_CONFIG_H_
#define MALLOCMUZERO_SERVE_SERVE_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/serve.pb.h"

namespace mallocmuzero {

// Reads a ServeConfig in text format, without defaults. Paths become absolute; in the file they are
// relative to its folder. NotFound if there is no such file. InvalidArgument with all mistakes, a
// line each: FILE:LINE: FIELD: what is wrong.
absl::StatusOr<v1::ServeConfig> ReadServeConfig(const std::string& path);

// Does the same for `text`; messages name the file by `path`.
absl::StatusOr<v1::ServeConfig> ParseServeConfig(absl::string_view text, const std::string& path);

// Fills in the defaults that serve.proto lists, except for `checkpoint`. InvalidArgument names a
// field that is out of range.
absl::StatusOr<v1::ServeConfig> CompleteServeConfig(v1::ServeConfig config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_SERVE_CONFIG_H_
