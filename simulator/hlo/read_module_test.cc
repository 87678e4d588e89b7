#include "simulator/hlo/read_module.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "simulator/hlo/print_module.h"
#include "simulator/hlo/testing/corpus.h"
#include "simulator/hlo/testing/describe.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

constexpr char kFolder[] = MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo_proto";
constexpr char kNeither[] =
    "f: expected HLO text that begins with 'HloModule', or a whole xla.HloModuleProto";

// The smallest module. Tests choose its name so that the bytes look like something else.
xla::HloModuleProto SmallModule(absl::string_view name) {
  xla::HloModuleProto module;
  module.set_name(std::string(name));
  module.set_entry_computation_name("main");
  xla::HloComputationProto& computation = *module.add_computations();
  computation.set_name("main");
  xla::HloInstructionProto& instruction = *computation.add_instructions();
  instruction.set_name("p");
  instruction.set_opcode("parameter");
  instruction.mutable_shape()->set_element_type(11);
  return module;
}

// A message with `bytes` as field 1, and with another field behind it.
std::string Wrapped(const std::string& bytes) {
  return absl::StrCat("\x0a", std::string(1, bytes.size()), bytes, "\x12\x01x");
}

std::string ErrorOf(std::string bytes) {
  const absl::Status status = HloTextOf(std::move(bytes), "f").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

// The messages were made from the texts by jaxlib.
TEST(HloTextOf, MessagesReadAsTheTextsOfTheSameModules) {
  const absl::StatusOr<std::vector<CorpusFile>> texts = ReadCorpus(kFolder);
  const absl::StatusOr<std::vector<CorpusFile>> messages = ReadCorpus(kFolder, ".pb.zst");
  ASSERT_TRUE(texts.ok() && messages.ok());
  ASSERT_EQ(texts->size(), 4);
  ASSERT_EQ(messages->size(), 4);
  for (size_t i = 0; i < texts->size(); ++i) {
    const CorpusFile& text = texts->at(i);
    const CorpusFile& message = messages->at(i);
    ASSERT_EQ(absl::StrReplaceAll(text.path, {{".hlo.", ".pb."}}), message.path);
    const absl::StatusOr<std::string> printed = HloTextOf(message.text, message.path);
    ASSERT_TRUE(printed.ok()) << printed.status();
    EXPECT_EQ(FirstDifference(MustParse(text.text), MustParse(*printed)), "") << text.path;
  }
}

TEST(HloTextOf, TextStaysAsItIs) {
  for (const absl::string_view text :
       {"HloModule m\n", "\n\nHloModule m", "\n// by hand\nHloModule m", "", "rubbish",
        "\xff\xfe rubbish"}) {
    const absl::StatusOr<std::string> kept = HloTextOf(std::string(text), "f");
    ASSERT_TRUE(kept.ok()) << kept.status();
    EXPECT_EQ(*kept, text);
  }
}

// The name follows a tag, which is a line end, and its length: 9 is a tab, 10 another line end. A
// module called HloModule therefore begins like text.
TEST(HloTextOf, ModuleMayHaveAnyName) {
  for (const absl::string_view name :
       {"m", "HloModule", "HloModule1", "jit_<lambda>", "a, is_scheduled=true", ""}) {
    for (const bool wrapped : {false, true}) {
      std::string bytes = SmallModule(name).SerializeAsString();
      if (wrapped) bytes = Wrapped(bytes);
      const absl::StatusOr<std::string> text = HloTextOf(bytes, "f");
      ASSERT_TRUE(text.ok()) << name << ": " << text.status();
      EXPECT_EQ(MustParse(*text).computations.size(), 1);
      EXPECT_FALSE(MustParse(*text).is_scheduled);
    }
  }
}

TEST(HloTextOf, MessageThatIsNoneOrDamagedIsAnErrorOfOneLine) {
  const std::string whole = SmallModule("m").SerializeAsString();
  EXPECT_EQ(ErrorOf(whole.substr(0, whole.size() - 1)), kNeither);
  EXPECT_EQ(ErrorOf("\n"), kNeither);
  EXPECT_EQ(ErrorOf("\nrubbish"), kNeither);
  EXPECT_EQ(ErrorOf(absl::StrReplaceAll(SmallModule("name").SerializeAsString(),
                                        {{"name", "\xff\xff\xff\xff"}})),
            kNeither);
  EXPECT_EQ(ErrorOf(std::string("\x0a\xff\xff\xff\xff\x07", 6)), kNeither);
  xla::HloModuleProto module = SmallModule("m");
  module.set_entry_computation_id(3);
  EXPECT_EQ(ErrorOf(module.SerializeAsString()),
            "f: entry_computation_id: expected the id of a computation, found 3");
}

}  // namespace
}  // namespace mallocmuzero::hlo
