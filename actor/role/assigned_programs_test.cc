#include "actor/role/assigned_programs.h"

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/compression.h"
#include "base/message_file.h"
#include "env/program_rules.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

// Provides an assignment of one program with its file.
class AssignedProgramsTest : public ::testing::Test {
 protected:
  AssignedProgramsTest() {
    std::mt19937_64 random(11);
    program_ = testing::RandomGameProgram(random).proto();
    SealProgram(program_);
    assignment_.set_rules_version(kGameRulesVersion);
    assignment_.mutable_search()->set_kind(v1::SearchOptions::GUMBEL);
    assignment_.mutable_search()->set_simulations(4);
    assignment_.mutable_search()->set_max_considered_actions(3);
    v1::Assignment::Program& assigned = *assignment_.add_programs();
    assigned.set_name("prog_x");
    assigned.set_sha256(program_.fingerprint());
    assigned.set_file_sha256("file");
    SetFile(*Compress(SerializeDeterministically(program_), "a"));
  }

  void SetFile(const std::string& bytes) {
    files_["file"] = std::make_shared<const std::string>(bytes);
  }

  std::string Error() const {
    return std::string(ReadAssignment(assignment_, files_).status().message());
  }

  v1::Program program_;
  v1::Assignment assignment_;
  ProgramFiles files_;
};

TEST_F(AssignedProgramsTest, AreReadyToBePlayed) {
  const auto assigned = ReadAssignment(assignment_, files_);
  ASSERT_TRUE(assigned.ok()) << assigned.status();
  EXPECT_EQ((*assigned)->programs[0].sha256(), program_.fingerprint());
  EXPECT_EQ((*assigned)->search.simulations, 4);
}

TEST_F(AssignedProgramsTest, OfAReleaseWithOtherRulesAreRefusedInOneLine) {
  for (const uint32_t version : {0U, kGameRulesVersion + 1}) {
    assignment_.set_rules_version(version);
    EXPECT_THAT(Error(), HasSubstr(absl::StrCat("the learner's release has rules ", version,
                                                ", this one has rules ", kGameRulesVersion)));
  }
}

TEST_F(AssignedProgramsTest, AFileThatIsNotTheProgramIsRefused) {
  SetFile("no program at all");
  EXPECT_THAT(Error(), HasSubstr("prog_x"));
  const std::string whole = *Compress(SerializeDeterministically(program_), "a");
  SetFile(whole.substr(0, whole.size() / 2));
  EXPECT_THAT(Error(), HasSubstr("cut short"));
  SetFile(whole);
  assignment_.mutable_programs(0)->set_sha256("another's");
  EXPECT_THAT(Error(), HasSubstr("another program's"));
  files_.clear();
  EXPECT_THAT(Error(), HasSubstr("its file is missing"));
}

}  // namespace
}  // namespace mallocmuzero
