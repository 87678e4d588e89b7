#include "compiler/options.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "google/protobuf/stubs/logging.h"

namespace mallocmuzero {
namespace {

// The options that jax 0.10 sets (jax/_src/compiler.py, get_compile_options), without jax's flags
// for the CPU and GPU compilers.
constexpr int kEffortO2 = 29;

xla::OptionOverrideProto OptionValue(absl::string_view text) {
  xla::OptionOverrideProto value;
  int64_t number = 0;
  if (text == "true" || text == "false") {
    value.set_bool_field(text == "true");
  } else if (absl::SimpleAtoi(text, &number)) {
    value.set_int_field(number);
  } else {
    value.set_string_field(std::string(text));
  }
  return value;
}

}  // namespace

xla::CompileOptionsProto DefaultCompileOptions() {
  xla::CompileOptionsProto options;
  options.set_profile_version(-1);
  xla::ExecutableBuildOptionsProto& build = *options.mutable_executable_build_options();
  build.set_device_ordinal(-1);
  build.set_num_replicas(1);
  build.set_num_partitions(1);
  build.set_use_spmd_partitioning(true);
  build.set_use_shardy_partitioner(true);
  build.set_process_count(1);
  build.set_memory_fitting_level(kEffortO2);
  return options;
}

absl::StatusOr<xla::CompileOptionsProto> ParseCompileOptions(absl::string_view bytes,
                                                             absl::string_view name) {
  const google::protobuf::LogSilencer silencer;  // the error below reports the problem in one line
  xla::CompileOptionsProto options;
  if (bytes.empty() || !ParseBytes(bytes, options) || !options.has_executable_build_options()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": a serialised xla.CompileOptionsProto expected, such as jax's "
                     "CompileOptions.SerializeAsString()"));
  }
  return options;
}

absl::Status SetCompilerOption(absl::string_view assignment, xla::CompileOptionsProto& options) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("compiler option '", assignment, "': name=value expected"));
  }
  (*options.mutable_env_option_overrides())[std::string(assignment.substr(0, equals))] =
      OptionValue(assignment.substr(equals + 1));
  return absl::OkStatus();
}

}  // namespace mallocmuzero
