#include "optimize/search_compiler.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "compiler/compile.h"
#include "compiler/options.h"

namespace mallocmuzero {
namespace {

constexpr char kScopedLimitOption[] = "xla_tpu_scoped_vmem_limit_kib";
constexpr char kLibraryFlags[] = "LIBTPU_INIT_ARGS";

// Minimum time for a compile, even if less than this is left of the budget.
constexpr absl::Duration kLeastTimeout = absl::Minutes(2);

// The result of a program for which the compiler did not even start.
v1::CompiledProgram NotCompiled(const absl::Status& status) {
  v1::CompiledProgram program;
  program.set_error_code(status.raw_code());
  program.set_error(std::string(status.message()));
  return program;
}

}  // namespace

bool SetsScopedLimit(const xla::CompileOptionsProto& options) {
  const char* const flags = std::getenv(kLibraryFlags);
  return options.env_option_overrides().contains(kScopedLimitOption) ||
         (flags != nullptr && absl::StrContains(flags, kScopedLimitOption));
}

absl::StatusOr<v1::CompileResponse> SearchCompiler::CompileOne(Job job) const {
  xla::CompileOptionsProto options = request_.options;
  if (!job.assigns_memory) {
    MMZ_RETURN_IF_ERROR(
        SetCompilerOption(absl::StrCat(request_.chip.assignment_option, "=false"), options));
  }
  if (job.scoped_limit_bytes > 0) {
    MMZ_RETURN_IF_ERROR(SetCompilerOption(
        absl::StrCat(kScopedLimitOption, "=", job.scoped_limit_bytes >> 10), options));
  }
  v1::CompileRequest compile;
  compile.set_library(request_.library);
  compile.set_topology(request_.topology);
  v1::CompileProgram& program = *compile.add_programs();
  program.set_format(job.format);
  program.set_code(std::move(job.code));
  program.set_options(SerializeDeterministically(options));
  CompileControl control;
  control.timeout = std::max((request_.deadline - SteadyNow()) * 2, kLeastTimeout);
  control.stop_fd = request_.stop_fd;
  return Compile(compile, control);
}

absl::StatusOr<std::vector<v1::CompiledProgram>> SearchCompiler::CompileAll(std::vector<Job> jobs) {
  std::vector<absl::StatusOr<v1::CompileResponse>> responses(jobs.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      responses[i] = CompileOne(std::move(jobs[i]));
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(jobs.size(), request_.threads); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<v1::CompiledProgram> programs;
  for (absl::StatusOr<v1::CompileResponse>& response : responses) {
    if (!response.ok()) {
      // A search that was stopped while the compiler started must not lose its earlier results.
      if (!has_compiled_) return response.status();
      programs.push_back(NotCompiled(response.status()));
      continue;
    }
    version_ = response->compiler().version();
    programs.push_back(std::move(*response->mutable_programs(0)));
    slowest_ = std::max(slowest_, absl::Seconds(programs.back().seconds()));
  }
  has_compiled_ = has_compiled_ || !programs.empty();
  return programs;
}

}  // namespace mallocmuzero
