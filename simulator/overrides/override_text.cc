#include "simulator/overrides/override_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

// A filter without a tuple index matches every index; one with an empty index matches arrays only.
std::string TupleIndex(const std::vector<uint32_t>& tuple_index) {
  if (tuple_index.empty()) return " tuple_index {}";
  std::string text = " tuple_index {";
  for (const uint32_t i : tuple_index) absl::StrAppend(&text, " index: ", i);
  return absl::StrCat(text, " }");
}

std::string NameMatcher(absl::string_view name) {
  return absl::StrCat("instruction_name_regex: ", QuotedNameRegex(name));
}

void AppendBounds(absl::optional<int64_t> size_gte, absl::optional<int64_t> size_lte,
                  std::string& filter) {
  if (size_gte) absl::StrAppend(&filter, " size_gte: ", *size_gte);
  if (size_lte) absl::StrAppend(&filter, " size_lte: ", *size_lte);
}

std::string Override(const Definition& definition, absl::string_view what) {
  std::string matcher =
      absl::StrCat(NameMatcher(definition.instruction), TupleIndex(definition.tuple_index));
  // One byte to either side: no other size lies there, whether or not the range includes its
  // bounds.
  if (definition.bytes) AppendBounds(*definition.bytes - 1, *definition.bytes + 1, matcher);
  return absl::StrCat("overrides { hlo_position_matcher { ", matcher, " } ", what, " }");
}

std::string Override(const Use& use, absl::string_view what) {
  std::string filter = absl::StrCat(NameMatcher(use.instruction), " operand_number: ", use.operand,
                                    TupleIndex(use.tuple_index));
  AppendBounds(use.size_gte, use.size_lte, filter);
  return absl::StrCat("overrides { hlo_operand_filter { ", filter, " } ", what, " }");
}

std::string PrefetchOptions(const PrefetchTime& time) {
  switch (time.kind) {
    case PrefetchTime::Kind::kBefore:
      return absl::StrCat("before_instruction { ", NameMatcher(time.instruction), " }");
    case PrefetchTime::Kind::kAfter:
      return absl::StrCat("after_instruction { ", NameMatcher(time.instruction), " }");
    case PrefetchTime::Kind::kEagerness:
      break;
  }
  return absl::StrCat("prefetch_eagerness: ", time.eagerness);
}

}  // namespace

std::string QuotedNameRegex(absl::string_view name) {
  std::string regex = "^";
  for (const char c : name) {
    // Bytes beyond ASCII are parts of a character and must not be separated.
    const bool literal = absl::ascii_isalnum(c) || c == '_' || c == '-' || !absl::ascii_isascii(c);
    if (!literal) regex.push_back('\\');
    regex.push_back(c);
  }
  return absl::StrCat("\"", absl::CEscape(absl::StrCat(regex, "$")), "\"");
}

std::string KeepInHbm(const Definition& definition) {
  return Override(definition, "keep_in_default_memory {}");
}

std::string KeepInHbm(const Use& use) { return Override(use, "keep_in_default_memory {}"); }

std::string Prefetch(const Use& use, const PrefetchTime& time) {
  return Override(use, absl::StrCat("prefetch { ", PrefetchOptions(time), " }"));
}

std::string PinInFastMemory(const Definition& definition) {
  return Override(definition, "pin_in_alternate_memory {}");
}

std::string AssignFirst(const Definition& definition) {
  return Override(definition, "override_options { assign_first: true }");
}

}  // namespace mallocmuzero
