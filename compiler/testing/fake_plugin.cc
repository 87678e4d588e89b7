// A PJRT plugin that compiles nothing. Three inputs control it:
//   - The variable FAKE_PJRT requests an "old", "other_major" or "truncated" API, or an API with
//     "no_optional" functions. With "needs_assignment" the plugin refuses to compile while the
//     compiler's own assignment of memory spaces is off.
//   - The topology "unknown" is refused, and the topology "abort" aborts.
//   - The words "@refuse", "@too_large", "@abort" and "@hang" in a module cause these results. Any
//     other module is returned unchanged.
//   - The file that the variable FAKE_PJRT_STARTS names gets a byte for each process that starts
//     the compiler. The compiler hangs in the third one and in later ones.
//
// The executable consists of the topology, a '|', and the compile options.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "pjrt/pjrt_c_api.h"

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};

struct PJRT_TopologyDescription {
  std::string name;
};

struct PJRT_Executable {
  std::string module_with_config;
  std::string bytes;
};

struct PJRT_SerializedExecutable {};

namespace {

bool Asked(const char* what) {
  const char* variable = std::getenv("FAKE_PJRT");
  return variable != nullptr && std::strcmp(variable, what) == 0;
}

// Encodes the bytes as field 1 of a message, which is the place of the module in
// HloModuleProtoWithConfig.
std::string AsField1(const std::string& bytes) {
  std::string field = "\x0A";
  for (size_t rest = bytes.size();; rest >>= 7) {
    const bool last = rest < 0x80;
    field.push_back((rest & 0x7F) | (last ? 0 : 0x80));
    if (last) return field + bytes;
  }
}

[[noreturn]] void FailCheck() {
  std::fputs("W1123 23:05:00.000000 7 other.cc:1] a warning\n", stderr);
  std::fputs("F1123 23:05:00.123456 7 fake.cc:89] Check failed: 1 == 2 (1 vs. 2)\n", stderr);
  std::fputs("*** Check failure stack trace: ***\n    @     0x55 main\n", stderr);
  std::abort();
}

// Hangs in processes that are not the first two.
void CountStart() {
  const char* path = std::getenv("FAKE_PJRT_STARTS");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  std::fputc('.', file);
  std::fflush(file);
  while (std::ftell(file) > 2) sleep(1000);
  std::fclose(file);
}

PJRT_Error* CreateTopology(PJRT_TopologyDescription_Create_Args* args) {
  CountStart();
  const std::string name(args->topology_name, args->topology_name_size);
  if (name == "unknown") {
    return new PJRT_Error{PJRT_Error_Code_NOT_FOUND, "no such topology\n\nknown: a, b"};
  }
  if (name == "abort") FailCheck();
  args->topology = new PJRT_TopologyDescription{name};
  return nullptr;
}

PJRT_Error* Compile(PJRT_Compile_Args* args) {
  const std::string code(args->program->code, args->program->code_size);
  const auto has = [&](const char* word) { return code.find(word) != std::string::npos; };
  if (has("@refuse")) {
    return new PJRT_Error{PJRT_Error_Code_INVALID_ARGUMENT, "cannot\ncompile this\n\ndetails"};
  }
  if (has("@too_large")) {
    return new PJRT_Error{PJRT_Error_Code_RESOURCE_EXHAUSTED, "Ran out of memory\n\n1. a buffer"};
  }
  if (has("@abort")) FailCheck();
  while (has("@hang")) sleep(1000);
  const std::string options(args->compile_options, args->compile_options_size);
  if (Asked("needs_assignment") && options.find("memory_space_assignment") != std::string::npos) {
    return new PJRT_Error{PJRT_Error_Code_FAILED_PRECONDITION, "Unimplemented DMA"};
  }
  args->executable = new PJRT_Executable{AsField1(code), args->topology->name + "|" + options};
  return nullptr;
}

PJRT_Error* OptimizedProgram(PJRT_Executable_OptimizedProgram_Args* args) {
  const std::string& module = args->executable->module_with_config;
  args->program->format = "hlo_with_config";
  args->program->format_size = std::strlen(args->program->format);
  args->program->code_size = module.size();
  if (args->program->code != nullptr) {
    std::memcpy(args->program->code, module.data(), module.size());
  }
  return nullptr;
}

PJRT_Error* Serialize(PJRT_Executable_Serialize_Args* args) {
  args->serialized_bytes = args->executable->bytes.data();
  args->serialized_bytes_size = args->executable->bytes.size();
  args->serialized_executable = nullptr;
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable*) {};
  return nullptr;
}

PJRT_Error* MemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  args->argument_size_in_bytes = 100;
  args->output_size_in_bytes = 20;
  args->alias_size_in_bytes = 3;
  args->temp_size_in_bytes = 4000;
  args->generated_code_size_in_bytes = 50;
  args->peak_memory_in_bytes = 4120;
  return nullptr;
}

PJRT_Error* CostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  static const PJRT_NamedValue kFlops = [] {
    PJRT_NamedValue value = {};
    value.name = "flops";
    value.name_size = 5;
    value.type = PJRT_NamedValue_kFloat;
    value.float_value = 7;
    return value;
  }();
  args->properties = &kFlops;
  args->num_properties = 1;
  return nullptr;
}

PJRT_Error* Fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  args->executable_fingerprint = "\xFF\x01";
  args->executable_fingerprint_size = 2;
  return nullptr;
}

PJRT_Error* PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  args->platform_version = "fake 1.2\nbuilt today";
  args->platform_version_size = std::strlen(args->platform_version);
  return nullptr;
}

PJRT_Api MakeApi() {
  PJRT_Api api = {};
  api.struct_size = sizeof(api);
  api.pjrt_api_version.struct_size = sizeof(PJRT_Api_Version);
  api.pjrt_api_version.major_version = PJRT_API_MAJOR + (Asked("other_major") ? 1 : 0);
  api.pjrt_api_version.minor_version = Asked("old") ? 12 : PJRT_API_MINOR;
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* args) { delete args->error; };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
    args->message = args->error->message.data();
    args->message_size = args->error->message.size();
  };
  api.PJRT_Error_GetCode = [](PJRT_Error_GetCode_Args* args) -> PJRT_Error* {
    args->code = args->error->code;
    return nullptr;
  };
  api.PJRT_Plugin_Initialize = [](PJRT_Plugin_Initialize_Args*) -> PJRT_Error* { return nullptr; };
  api.PJRT_TopologyDescription_Create = CreateTopology;
  api.PJRT_TopologyDescription_Destroy =
      [](PJRT_TopologyDescription_Destroy_Args* args) -> PJRT_Error* {
    delete args->topology;
    return nullptr;
  };
  api.PJRT_Compile = Compile;
  api.PJRT_Executable_Destroy = [](PJRT_Executable_Destroy_Args* args) -> PJRT_Error* {
    delete args->executable;
    return nullptr;
  };
  api.PJRT_Executable_OptimizedProgram = OptimizedProgram;
  api.PJRT_Executable_Serialize = Serialize;
  if (Asked("truncated")) api.struct_size = offsetof(PJRT_Api, PJRT_Compile);
  if (Asked("no_optional")) return api;
  api.PJRT_TopologyDescription_PlatformVersion = PlatformVersion;
  api.PJRT_Executable_GetCompiledMemoryStats = MemoryStats;
  api.PJRT_Executable_GetCostAnalysis = CostAnalysis;
  api.PJRT_Executable_Fingerprint = Fingerprint;
  return api;
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api kApi = MakeApi();
  return &kApi;
}
