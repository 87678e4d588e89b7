#include "cluster/config_overrides.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cluster/set_field.h"

namespace mallocmuzero {
namespace {

constexpr absl::string_view kVariablePrefix = "MALLOCMUZERO_SET_";

// Whether a path comes before another one: names by their letters, numbers by their values.
bool ComesBefore(const ConfigOverride& a, const ConfigOverride& b) {
  const std::vector<std::string> left = absl::StrSplit(a.path, '.');
  const std::vector<std::string> right = absl::StrSplit(b.path, '.');
  for (size_t k = 0; k < std::min(left.size(), right.size()); ++k) {
    if (left[k] == right[k]) continue;
    uint64_t first = 0;
    uint64_t second = 0;
    if (absl::SimpleAtoi(left[k], &first) && absl::SimpleAtoi(right[k], &second)) {
      return first < second;
    }
    return left[k] < right[k];
  }
  return left.size() < right.size();
}

}  // namespace

absl::StatusOr<ConfigOverride> OverrideFromFlag(absl::string_view assignment) {
  const std::string source = absl::StrCat("--set ", assignment);
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": FIELD=VALUE expected"));
  }
  return ConfigOverride{
      .source = source,
      .path = absl::StrReplaceAll(assignment.substr(0, equals), {{"[", "."}, {"]", ""}}),
      .value = std::string(assignment.substr(equals + 1))};
}

std::vector<ConfigOverride> OverridesFromEnvironment(const char* const* environment) {
  std::vector<ConfigOverride> overrides;
  for (; *environment != nullptr; ++environment) {
    absl::string_view rest = *environment;
    const std::string source(rest);
    if (!absl::ConsumePrefix(&rest, kVariablePrefix)) continue;
    const std::pair<std::string, std::string> parts = absl::StrSplit(rest, absl::MaxSplits('=', 1));
    overrides.push_back({.source = source,
                         .path = absl::StrReplaceAll(parts.first, {{"__", "."}}),
                         .value = parts.second});
  }
  std::sort(overrides.begin(), overrides.end(), ComesBefore);
  return overrides;
}

std::map<std::string, std::string> ApplyOverrides(absl::Span<const ConfigOverride> overrides,
                                                  google::protobuf::Message& message,
                                                  ConfigMistakes& mistakes) {
  std::map<std::string, std::string> sources;
  for (const ConfigOverride& given : overrides) {
    const absl::StatusOr<std::string> path = SetField(given.path, given.value, message);
    if (path.ok()) {
      sources[*path] = given.source;
    } else {
      mistakes.AddForOverride(given.source, std::string(path.status().message()));
    }
  }
  return sources;
}

}  // namespace mallocmuzero
