#include "base/message_file.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/testing/raw_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using testing::ReadRaw;
using testing::TemporaryPath;
using testing::WriteRaw;

v1::Program SmallProgram() {
  v1::Program program;
  FillHeader(program);
  program.add_instructions()->set_name("a");
  return program;
}

template <typename T>
std::string ReadError(const std::string& path) {
  return std::string(ReadMessage<T>(path).status().message());
}

TEST(MessageFile, ProgramsAreCompressedAndReproducible) {
  ASSERT_TRUE(WriteMessage(TemporaryPath("a.program"), SmallProgram()).ok());
  ASSERT_TRUE(WriteMessage(TemporaryPath("b.program"), SmallProgram()).ok());
  EXPECT_EQ(ReadRaw(TemporaryPath("a.program")).substr(0, 4), "\x28\xB5\x2F\xFD");
  EXPECT_EQ(ReadRaw(TemporaryPath("a.program")), ReadRaw(TemporaryPath("b.program")));
}

TEST(MessageFile, WriterFillsTheHeader) {
  ASSERT_TRUE(WriteMessage(TemporaryPath("h.mapping"), v1::Mapping()).ok());
  const absl::StatusOr<v1::Mapping> back = ReadMessage<v1::Mapping>(TemporaryPath("h.mapping"));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->header().message(), "mallocmuzero.v1.Mapping");
  EXPECT_EQ(back->header().version(), 1);
}

// A reader would refuse the file.
TEST(MessageFile, TextThatIsNotUtf8IsNotWritten) {
  std::remove(TemporaryPath("not_utf_8.program").c_str());
  v1::Program program = SmallProgram();
  program.mutable_instructions(0)->set_op_name("a\xff");
  const absl::Status status = WriteMessage(TemporaryPath("not_utf_8.program"), program);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), TemporaryPath("not_utf_8.program") +
                                  ": instructions[0].op_name: UTF-8 expected, found a\\xff");
  EXPECT_TRUE(absl::IsNotFound(ReadFile(TemporaryPath("not_utf_8.program")).status()));
  program.mutable_instructions(0)->set_op_name("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_TRUE(WriteMessage(TemporaryPath("utf_8.program"), program).ok());
}

TEST(MessageFile, EmptyFileIsNamed) {
  WriteRaw(TemporaryPath("e.program"), "");
  EXPECT_EQ(ReadError<v1::Program>(TemporaryPath("e.program")),
            TemporaryPath("e.program") + ": empty file, expected mallocmuzero.v1.Program");
}

TEST(MessageFile, OtherMessageIsNamed) {
  for (const char* name : {"o.mapping", "o.textproto"}) {
    ASSERT_TRUE(WriteMessage(TemporaryPath(name), v1::Mapping()).ok());
    EXPECT_EQ(
        ReadError<v1::Program>(TemporaryPath(name)),
        TemporaryPath(name) + ": expected mallocmuzero.v1.Program, found mallocmuzero.v1.Mapping");
  }
}

// A field that the expected message does not have must not hide that the file contains another
// message.
TEST(MessageFile, OtherMessageInTextIsNamedBeforeItsFields) {
  v1::Mapping mapping;
  mapping.set_solver("x");
  ASSERT_TRUE(WriteMessage(TemporaryPath("f.textproto"), mapping).ok());
  EXPECT_EQ(ReadError<v1::Program>(TemporaryPath("f.textproto")),
            TemporaryPath("f.textproto") +
                ": expected mallocmuzero.v1.Program, found mallocmuzero.v1.Mapping");
}

TEST(MessageFile, OtherVersionIsNamed) {
  v1::Mapping mapping;
  FillHeader(mapping);
  mapping.mutable_header()->set_version(7);
  WriteRaw(TemporaryPath("v.mapping"), mapping.SerializeAsString());
  EXPECT_EQ(ReadError<v1::Mapping>(TemporaryPath("v.mapping")),
            TemporaryPath("v.mapping") +
                ": header.version: 1 expected, found 7; the file is from a newer build of this "
                "software");
}

TEST(MessageFile, OlderVersionsAreRead) {
  v1::Program program = SmallProgram();
  EXPECT_EQ(program.header().version(), 2);
  program.mutable_header()->set_version(1);
  WriteRaw(TemporaryPath("v.program"), program.SerializeAsString());
  EXPECT_TRUE(ReadMessage<v1::Program>(TemporaryPath("v.program")).ok());
  for (const uint32_t version : {0, 3}) {
    program.mutable_header()->set_version(version);
    WriteRaw(TemporaryPath("v.program"), program.SerializeAsString());
    EXPECT_THAT(ReadError<v1::Program>(TemporaryPath("v.program")),
                HasSubstr(absl::StrCat(": header.version: 1 to 2 expected, found ", version)));
  }
}

TEST(MessageFile, ForeignFilesAreNamed) {
  for (const std::string& bytes : {std::string("HloModule jit_f, is_scheduled=true\n"),
                                   std::string("\x7f"
                                               "ELF\x02\x01"),
                                   std::string("\x0a\x05hello"), std::string(100, '\0')}) {
    WriteRaw(TemporaryPath("foreign"), bytes);
    EXPECT_EQ(ReadError<v1::Program>(TemporaryPath("foreign")),
              TemporaryPath("foreign") +
                  ": not a file of this software: a header with message mallocmuzero.v1.Program "
                  "expected");
  }
}

TEST(MessageFile, TextErrorsHaveLineAndColumn) {
  WriteRaw(TemporaryPath("t.textproto"),
           "header { message: \"mallocmuzero.v1.Mapping\" version: 1 }\nsolver: 5\n");
  EXPECT_EQ(ReadError<v1::Mapping>(TemporaryPath("t.textproto")),
            TemporaryPath("t.textproto") + ":2:9: Expected string, got: 5");
  WriteRaw(TemporaryPath("u.textproto"), "solvent: \"x\"\n");
  EXPECT_THAT(ReadError<v1::Mapping>(TemporaryPath("u.textproto")),
              HasSubstr("u.textproto:1:8: Message type \"mallocmuzero.v1.Mapping\" has no field"));
}

TEST(ParseBytes, ReadsWhatWasSerialized) {
  v1::Program program;
  EXPECT_TRUE(ParseBytes(SmallProgram().SerializeAsString(), program));
  EXPECT_EQ(program.instructions(0).name(), "a");
}

TEST(ParseBytes, RefusesDamagedBytes) {
  std::string bytes = SmallProgram().SerializeAsString();
  bytes.pop_back();
  v1::Program program;
  EXPECT_FALSE(ParseBytes(bytes, program));
}

// protobuf counts in int. The bytes are never read, so that the test needs no 4 GiB.
TEST(ParseBytes, RefusesMoreBytesThanProtobufCanCount) {
  const std::string bytes = SmallProgram().SerializeAsString();
  const size_t too_many = (size_t{1} << 32) + bytes.size();
  v1::Program program;
  EXPECT_FALSE(ParseBytes(absl::string_view(bytes.data(), too_many), program));
}

TEST(MessageFile, RandomBytesAreAnError) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = random();
    v1::Program program;
    EXPECT_FALSE(ParseMessage(bytes, /*text=*/round % 2 == 0, "f", program).ok());
  }
}

}  // namespace
}  // namespace mallocmuzero
