// The options that a module is compiled with.

#ifndef MALLOCMUZERO_COMPILER_OPTIONS_H_
#define MALLOCMUZERO_COMPILER_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/compile_options.pb.h"

namespace mallocmuzero {

// Options for one replica of one partition, with everything else as jax has it.
xla::CompileOptionsProto DefaultCompileOptions();

// A serialized xla.CompileOptionsProto, such as jax makes; fields that are not known here are kept.
// InvalidArgument, starting with `name`, if it is something else.
absl::StatusOr<xla::CompileOptionsProto> ParseCompileOptions(absl::string_view bytes,
                                                             absl::string_view name);

// Sets the compiler option of `assignment`, "name=value", and replaces an earlier value. The values
// "true" and "false" become a truth value and integers a number. All others stay a string. The
// compiler only takes a value of the type that the option has. InvalidArgument if there is no '='
// or no name.
absl::Status SetCompilerOption(absl::string_view assignment, xla::CompileOptionsProto& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_OPTIONS_H_
