// Compile options of a module.

#ifndef MALLOCMUZERO_COMPILER_OPTIONS_H_
#define MALLOCMUZERO_COMPILER_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/compile_options.pb.h"

namespace mallocmuzero {

// Options for one replica of one partition; everything else is as in jax.
xla::CompileOptionsProto DefaultCompileOptions();

// Parses a serialised xla.CompileOptionsProto, such as jax makes; unknown fields are kept.
// InvalidArgument, starting with `name`, if the bytes are something else.
absl::StatusOr<xla::CompileOptionsProto> ParseCompileOptions(absl::string_view bytes,
                                                             absl::string_view name);

// Sets the compiler option in `assignment`, "name=value", and replaces an earlier value. The
// compiler only accepts values of the option's type: "true" and "false" are stored as truth values,
// integers as numbers, and all other values as strings. InvalidArgument if there is no '=' or no
// name.
absl::Status SetCompilerOption(absl::string_view assignment, xla::CompileOptionsProto& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_OPTIONS_H_
