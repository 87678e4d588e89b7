#include "compiler/compile_child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/utf8.h"
#include "compiler/pjrt.h"

namespace mallocmuzero {
namespace {

struct Setting {
  const char* name;
  const char* value;
};

// By default the compiler contacts a TPU host's metadata service and other hosts, takes a lock on
// the whole machine, prints needless warnings, and writes logs to /tmp. Compiling for an absent
// chip needs none of this. TPU_ACCELERATOR_TYPE only suppresses a warning. Variables that are
// already set are not changed.
constexpr Setting kSettings[] = {
    {"TPU_SKIP_MDS_QUERY", "1"},           {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
    {"TPU_WORKER_HOSTNAMES", "localhost"}, {"TPU_ACCELERATOR_TYPE", "v4-8"},
    {"TF_CPP_MIN_LOG_LEVEL", "3"},         {"TPU_LOG_DIR", "disabled"},
};

class Responses {
 public:
  explicit Responses(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {}

  // Appends the record. Ends the process if that fails, because no result could reach the parent.
  void Add(const v1::CompileResponse& response) const {
    const std::string record = CompileRecord(response);
    absl::string_view rest = record;
    while (!rest.empty()) {
      const ssize_t written = write(file_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        std::fputs(absl::StrCat("cannot write results: ", std::strerror(errno), "\n").c_str(),
                   stderr);
        _exit(1);
      }
      rest.remove_prefix(written);
    }
  }

 private:
  int file_;
};

}  // namespace

void RunCompileChild(const std::string& request, const std::string& response) {
  v1::CompileRequest asked;
  const absl::StatusOr<std::string> bytes = ReadFile(request);
  if (!bytes.ok() || !asked.ParseFromString(*bytes)) {
    std::fputs("cannot read the request to compile\n", stderr);
    _exit(1);
  }
  // An abort of the compiler is an expected result and must not write gigabytes of core dump.
  const rlimit no_core = {};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const Setting& setting : kSettings) setenv(setting.name, setting.value, /*overwrite=*/0);
  const Responses responses(response);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<std::unique_ptr<PjrtCompiler>> compiler =
      PjrtCompiler::Load(asked.library(), asked.topology());
  v1::CompileResponse said;
  if (!compiler.ok()) {
    said.set_error_code(compiler.status().raw_code());
    said.set_error(ToUtf8(std::string(compiler.status().message())));
    responses.Add(said);
    _exit(0);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  *said.mutable_compiler() = (*compiler)->info();
  said.mutable_compiler()->set_start_seconds(taken.count());
  responses.Add(said);
  for (const v1::CompileProgram& program : asked.programs()) {
    v1::CompileResponse result;
    *result.add_programs() = (*compiler)->Compile(program);
    responses.Add(result);
  }
  _exit(0);
}

std::string CompileRecord(const v1::CompileResponse& response) {
  const std::string bytes = response.SerializeAsString();
  const uint64_t size = bytes.size();
  std::string record(sizeof(size), '\0');
  std::memcpy(record.data(), &size, sizeof(size));
  return record + bytes;
}

v1::CompileResponse JoinCompileRecords(absl::string_view bytes) {
  v1::CompileResponse joined;
  uint64_t size = 0;
  while (bytes.size() >= sizeof(size)) {
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes.remove_prefix(sizeof(size));
    v1::CompileResponse response;
    if (size > bytes.size() || !ParseBytes(bytes.substr(0, size), response)) {
      break;
    }
    joined.MergeFrom(response);
    bytes.remove_prefix(size);
  }
  return joined;
}

}  // namespace mallocmuzero
