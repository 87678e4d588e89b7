#include "compiler/pjrt.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/enums.h"
#include "base/utf8.h"
#include "compiler/pjrt_api.h"

namespace mallocmuzero {
namespace {

constexpr char kHloWithConfig[] = "hlo_with_config";

// Owns a PJRT_Executable.
class Executable {
 public:
  Executable(const PJRT_Api& api, PJRT_Executable* executable)
      : api_(api), executable_(executable) {}
  ~Executable() {
    auto args = PjrtArgs<PJRT_Executable_Destroy_Args>();
    args.executable = executable_;
    TakePjrtError(api_, api_.PJRT_Executable_Destroy(&args)).IgnoreError();
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  absl::StatusOr<std::string> Module() const;
  absl::StatusOr<std::string> Serialize() const;

  // These leave fields unset if the library does not report them.
  void DescribeMemory(v1::CompiledProgram& result) const;
  void DescribeCosts(v1::CompiledProgram& result) const;
  void DescribeFingerprint(v1::CompiledProgram& result) const;

 private:
  const PJRT_Api& api_;
  PJRT_Executable* executable_;
};

absl::StatusOr<std::string> Executable::Module() const {
  auto program = PjrtArgs<PJRT_Program>();
  auto args = PjrtArgs<PJRT_Executable_OptimizedProgram_Args>();
  args.executable = executable_;
  args.program = &program;
  // The first call returns the number of bytes, the second call copies them.
  absl::Status status = TakePjrtError(api_, api_.PJRT_Executable_OptimizedProgram(&args));
  if (!status.ok()) return status;
  std::string code(program.code_size, '\0');
  program.code = code.data();
  status = TakePjrtError(api_, api_.PJRT_Executable_OptimizedProgram(&args));
  if (!status.ok()) return status;
  const absl::string_view format(program.format, program.format_size);
  v1::ModuleWithConfig module;
  if (format != kHloWithConfig || !module.ParseFromString(code)) {
    return absl::InternalError(absl::StrCat("the compiler returns the compiled module as '", format,
                                            "', where ", kHloWithConfig, " is expected"));
  }
  return std::move(*module.mutable_hlo_module());
}

absl::StatusOr<std::string> Executable::Serialize() const {
  auto args = PjrtArgs<PJRT_Executable_Serialize_Args>();
  args.executable = executable_;
  absl::Status status = TakePjrtError(api_, api_.PJRT_Executable_Serialize(&args));
  if (!status.ok()) return status;
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != nullptr) {
    args.serialized_executable_deleter(args.serialized_executable);
  }
  return bytes;
}

void Executable::DescribeMemory(v1::CompiledProgram& result) const {
  if (!HasFunction(api_, &PJRT_Api::PJRT_Executable_GetCompiledMemoryStats)) return;
  auto args = PjrtArgs<PJRT_Executable_GetCompiledMemoryStats_Args>();
  args.executable = executable_;
  args.peak_memory_in_bytes = -1;
  args.total_size_in_bytes = -1;
  const absl::Status status =
      TakePjrtError(api_, api_.PJRT_Executable_GetCompiledMemoryStats(&args));
  if (!status.ok()) return;
  v1::CompiledMemory& memory = *result.mutable_memory();
  memory.set_arguments(static_cast<double>(args.argument_size_in_bytes));
  memory.set_outputs(static_cast<double>(args.output_size_in_bytes));
  memory.set_aliased(static_cast<double>(args.alias_size_in_bytes));
  memory.set_temporaries(static_cast<double>(args.temp_size_in_bytes));
  memory.set_generated_code(static_cast<double>(args.generated_code_size_in_bytes));
  if (args.peak_memory_in_bytes >= 0) {
    memory.set_peak(static_cast<double>(args.peak_memory_in_bytes));
  }
  if (args.total_size_in_bytes >= 0) {
    memory.set_total(static_cast<double>(args.total_size_in_bytes));
  }
}

void Executable::DescribeCosts(v1::CompiledProgram& result) const {
  if (!HasFunction(api_, &PJRT_Api::PJRT_Executable_GetCostAnalysis)) return;
  auto args = PjrtArgs<PJRT_Executable_GetCostAnalysis_Args>();
  args.executable = executable_;
  if (!TakePjrtError(api_, api_.PJRT_Executable_GetCostAnalysis(&args)).ok()) return;
  for (size_t i = 0; i < args.num_properties; ++i) {
    const PJRT_NamedValue& property = args.properties[i];
    double value = 0;
    if (property.type == PJRT_NamedValue_kFloat) {
      value = static_cast<double>(property.float_value);
    } else if (property.type == PJRT_NamedValue_kInt64) {
      value = static_cast<double>(property.int64_value);
    } else {
      continue;
    }
    const std::string name = ToUtf8(std::string(property.name, property.name_size));
    (*result.mutable_costs())[name] = value;
  }
}

void Executable::DescribeFingerprint(v1::CompiledProgram& result) const {
  if (!HasFunction(api_, &PJRT_Api::PJRT_Executable_Fingerprint)) return;
  auto args = PjrtArgs<PJRT_Executable_Fingerprint_Args>();
  args.executable = executable_;
  if (!TakePjrtError(api_, api_.PJRT_Executable_Fingerprint(&args)).ok()) return;
  result.set_fingerprint(absl::BytesToHexString(
      absl::string_view(args.executable_fingerprint, args.executable_fingerprint_size)));
}

void SetError(const absl::Status& status, v1::CompiledProgram& result) {
  // Other error codes of the library become Internal, because InvalidArgument, for example, would
  // look like a mistake of the caller.
  result.set_error_code(Underlying(absl::IsResourceExhausted(status)
                                       ? absl::StatusCode::kResourceExhausted
                                       : absl::StatusCode::kInternal));
  result.set_error(ToUtf8(std::string(status.message())));
}

// The version that the library reports; empty if it reports none.
std::string LibraryVersion(const PJRT_Api& api, PJRT_TopologyDescription* topology) {
  if (!HasFunction(api, &PJRT_Api::PJRT_TopologyDescription_PlatformVersion)) return "";
  auto args = PjrtArgs<PJRT_TopologyDescription_PlatformVersion_Args>();
  args.topology = topology;
  if (!TakePjrtError(api, api.PJRT_TopologyDescription_PlatformVersion(&args)).ok()) return "";
  return ToUtf8(std::string(args.platform_version, args.platform_version_size));
}

}  // namespace

struct PjrtCompiler::Impl {
  const PJRT_Api* api = nullptr;
  PJRT_TopologyDescription* topology = nullptr;
};

PjrtCompiler::PjrtCompiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  const PJRT_Api& api = *impl_->api;
  info_.set_pjrt_major_version(api.pjrt_api_version.major_version);
  info_.set_pjrt_minor_version(api.pjrt_api_version.minor_version);
  info_.set_version(LibraryVersion(api, impl_->topology));
}

PjrtCompiler::~PjrtCompiler() {
  auto args = PjrtArgs<PJRT_TopologyDescription_Destroy_Args>();
  args.topology = impl_->topology;
  TakePjrtError(*impl_->api, impl_->api->PJRT_TopologyDescription_Destroy(&args)).IgnoreError();
}

absl::StatusOr<std::unique_ptr<PjrtCompiler>> PjrtCompiler::Load(const std::string& library,
                                                                 const std::string& topology) {
  const absl::StatusOr<const PJRT_Api*> api = LoadPjrtApi(library);
  if (!api.ok()) return api.status();
  auto args = PjrtArgs<PJRT_TopologyDescription_Create_Args>();
  args.topology_name = topology.data();
  args.topology_name_size = topology.size();
  const absl::Status status = TakePjrtError(**api, (*api)->PJRT_TopologyDescription_Create(&args));
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("topology: the compiler does not know '", topology, "': ", status.message()));
  }
  auto impl = std::make_unique<Impl>(Impl{*api, args.topology});
  return std::unique_ptr<PjrtCompiler>(new PjrtCompiler(std::move(impl)));
}

v1::CompiledProgram PjrtCompiler::Compile(const v1::CompileProgram& program) const {
  v1::CompiledProgram result;
  // The C API takes a pointer to non-const, but does not write to it.
  std::string code = program.code();
  auto input = PjrtArgs<PJRT_Program>();
  input.code = code.data();
  input.code_size = code.size();
  input.format = program.format().data();
  input.format_size = program.format().size();
  auto args = PjrtArgs<PJRT_Compile_Args>();
  args.topology = impl_->topology;
  args.program = &input;
  args.compile_options = program.options().data();
  args.compile_options_size = program.options().size();
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = TakePjrtError(*impl_->api, impl_->api->PJRT_Compile(&args));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  result.set_seconds(taken.count());
  if (!status.ok()) {
    SetError(status, result);
    return result;
  }
  const Executable executable(*impl_->api, args.executable);
  absl::StatusOr<std::string> module = executable.Module();
  absl::StatusOr<std::string> bytes = executable.Serialize();
  if (!module.ok() || !bytes.ok()) {
    SetError(module.ok() ? bytes.status() : module.status(), result);
    return result;
  }
  result.set_module(*std::move(module));
  result.set_executable(*std::move(bytes));
  executable.DescribeMemory(result);
  executable.DescribeCosts(result);
  executable.DescribeFingerprint(result);
  return result;
}

}  // namespace mallocmuzero
