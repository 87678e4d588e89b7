// Tests of the errors that reading a damaged program file reports.

#include "base/compression.h"
#include "base/message_file.h"
#include "base/testing/raw_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadRaw;
using testing::TemporaryPath;
using testing::WriteRaw;

v1::Program SmallProgram() {
  testing::ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10, {testing::Read(weights, 5)});
  return builder.BuildProto();
}

// Does what LoadProgram does, but with bytes in memory instead of a file.
absl::StatusOr<Program> LoadBytes(const std::string& bytes) {
  const absl::StatusOr<std::string> content = Decompress(bytes, "f");
  if (!content.ok()) return content.status();
  v1::Program proto;
  absl::Status status = ParseMessage(*content, /*text=*/false, "f", proto);
  if (!status.ok()) return status;
  return Program::FromProto(proto);
}

TEST(ProgramFile, EveryTruncationIsAnError) {
  ASSERT_TRUE(WriteMessage(TemporaryPath("whole.program"), SmallProgram()).ok());
  for (const std::string& whole :
       {ReadRaw(TemporaryPath("whole.program")), SerializeDeterministically(SmallProgram())}) {
    ASSERT_TRUE(LoadBytes(whole).ok());
    for (size_t size = 0; size < whole.size(); ++size) {
      const absl::Status status = LoadBytes(whole.substr(0, size)).status();
      ASSERT_FALSE(status.ok()) << size;
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
    }
  }
}

TEST(ProgramFile, ErrorsOfTheContentNameTheFile) {
  const std::string whole = SerializeDeterministically(SmallProgram());
  WriteRaw(TemporaryPath("cut.program"),
           whole.substr(0, whole.size() - 35));  // cuts off the fingerprint
  EXPECT_EQ(LoadProgram(TemporaryPath("cut.program")).status().message(),
            TemporaryPath("cut.program") +
                ": fingerprint: does not match the content; the program is damaged or was edited");
}

// A flipped bit may have no meaning (`true` has many encodings): then the program must be the same.
TEST(ProgramFile, EveryFlippedBitIsAnErrorOrChangesNothing) {
  const std::string whole = SerializeDeterministically(SmallProgram());
  size_t errors = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= 1 << bit % 8;
    const absl::StatusOr<Program> program = LoadBytes(damaged);
    if (program.ok()) {
      EXPECT_EQ(SerializeDeterministically(program->proto()), whole) << bit;
    } else {
      ++errors;
    }
  }
  EXPECT_GT(errors, 7 * whole.size());
}

TEST(ProgramFile, EveryFlippedBitOfACompressedFileIsAnErrorOrChangesNothing) {
  ASSERT_TRUE(WriteMessage(TemporaryPath("whole.program"), SmallProgram()).ok());
  const std::string whole = ReadRaw(TemporaryPath("whole.program"));
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= 1 << bit % 8;
    const absl::StatusOr<Program> program = LoadBytes(damaged);
    if (program.ok()) {
      EXPECT_EQ(program->proto().fingerprint(), SmallProgram().fingerprint()) << bit;
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
