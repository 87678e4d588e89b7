#include "model/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/sha256.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using TensorProto = v1::CheckpointHeader::Tensor;

// A file name for the running test, because tests run in parallel.
std::string Path(const std::string& name) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  return ::testing::TempDir() + "/" + test.name() + "." + name;
}

// Writes a new file. The old one is removed first, because some file systems flush a file that is
// truncated and written again to the disk at once.
void WriteRaw(const std::string& path, const std::string& bytes) {
  std::remove(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes;
}

v1::NetworkConfig SmallConfig() {
  v1::NetworkConfig config = ReferenceNetworkConfig(4, 3, 3);
  config.set_memory_channels(2);
  config.set_access_channels(2);
  return config;
}

Checkpoint TrainedCheckpoint() {
  Checkpoint checkpoint = MakeCheckpoint(*testing::MakeRandomNetwork(SmallConfig(), 1));
  checkpoint.step = 12345678901;
  checkpoint.training_state = std::string("state\0with zero", 15);
  checkpoint.optimizer = {
      {.name = "moment/a", .shape = {2}, .bytes = std::string("\0\0\0\0\0\0\x80\x3f", 8)},
      {.name = "steps", .shape = {}, .type = TensorProto::TYPE_INT64, .bytes = "12345678"},
      {.name = "empty", .shape = {0, 5}, .type = TensorProto::TYPE_UINT8, .bytes = ""}};
  return checkpoint;
}

void ExpectSameTensors(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].name, b[k].name);
    EXPECT_EQ(a[k].shape, b[k].shape);
    EXPECT_EQ(a[k].type, b[k].type);
    EXPECT_EQ(a[k].bytes, b[k].bytes);
  }
}

// Splits a file into its header and the bytes of its tensors.
std::pair<v1::CheckpointHeader, std::string> Parts(const std::string& file) {
  size_t length = 0;
  for (size_t k = 0; k < 8; ++k) length |= size_t{static_cast<uint8_t>(file[8 + k])} << (8 * k);
  v1::CheckpointHeader head;
  EXPECT_TRUE(head.ParseFromString(file.substr(48, length)));
  return {head, file.substr(48 + length)};
}

// Builds a file with the format that checkpoint.h describes.
std::string Join(const v1::CheckpointHeader& head, const std::string& payload) {
  const std::string bytes = head.SerializeAsString();
  std::string length(8, '\0');
  for (size_t k = 0; k < 8; ++k) length[k] = bytes.size() >> (8 * k);
  return absl::StrCat("MMZMODEL", length, Sha256(bytes + payload), bytes, payload);
}

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SaveCheckpoint(Path("good"), TrainedCheckpoint()).ok());
    good_ = ReadFile(Path("good")).value();
    std::tie(head_, payload_) = Parts(good_);
  }

  // The error message for a file with these bytes, without the file's name.
  static std::string ErrorOf(const std::string& bytes) {
    WriteRaw(Path("bad"), bytes);
    const absl::Status status = LoadNetwork(Path("bad")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(status.message());
    EXPECT_EQ(message.substr(0, Path("bad: ").size()), Path("bad: "));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.substr(std::min(message.size(), Path("bad: ").size()));
  }

  std::string ErrorOfParts() const { return ErrorOf(Join(head_, payload_)); }

  std::string good_;
  v1::CheckpointHeader head_;
  std::string payload_;
};

TEST_F(CheckpointTest, KeepsEverything) {
  const Checkpoint written = TrainedCheckpoint();
  const Checkpoint read = LoadCheckpoint(Path("good")).value();
  EXPECT_EQ(SerializeDeterministically(read.network), SerializeDeterministically(written.network));
  EXPECT_EQ(read.step, 12345678901);
  EXPECT_EQ(read.training_state, written.training_state);
  EXPECT_EQ(read.git_commit, written.git_commit);
  ExpectSameTensors(read.weights, written.weights);
  ExpectSameTensors(read.optimizer, written.optimizer);
  ExpectSameTensors(LoadNetwork(Path("good")).value()->ExportWeights(), written.weights);
}

TEST_F(CheckpointTest, EqualCheckpointsGiveEqualFiles) {
  ASSERT_TRUE(SaveCheckpoint(Path("again"), LoadCheckpoint(Path("good")).value()).ok());
  EXPECT_EQ(ReadFile(Path("again")).value(), good_);
  EXPECT_EQ(Join(head_, payload_), good_);
}

TEST_F(CheckpointTest, StatesTheCommit) {
  EXPECT_THAT(TrainedCheckpoint().git_commit, MatchesRegex("([0-9a-f]{40})?"));
}

TEST_F(CheckpointTest, SavingReplacesAndLeavesNothingElse) {
  Checkpoint checkpoint = TrainedCheckpoint();
  checkpoint.step = 2;
  ASSERT_TRUE(SaveCheckpoint(Path("good"), checkpoint).ok());
  EXPECT_EQ(LoadCheckpoint(Path("good")).value().step, 2);
  EXPECT_THAT(std::string(SaveCheckpoint("/nowhere/at/all", checkpoint).message()),
              HasSubstr("/nowhere/at/all: cannot create"));
}

TEST_F(CheckpointTest, WhatCouldNotBeReadAgainIsNotSaved) {
  const Checkpoint checkpoint = TrainedCheckpoint();
  const uint64_t head_bytes = head_.ByteSizeLong();
  const CheckpointLimits exact = {.head = head_bytes, .file = good_.size()};
  WriteRaw(Path("saved"), "before");
  for (const CheckpointLimits& limits :
       {CheckpointLimits{.head = head_bytes - 1}, CheckpointLimits{.file = good_.size() - 1}}) {
    const absl::Status status = SaveCheckpoint(Path("saved"), checkpoint, limits);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path("saved: not saved: ")));
    EXPECT_EQ(ReadFile(Path("saved")).value(), "before");
  }
  EXPECT_EQ(SaveCheckpoint(Path("saved"), checkpoint, exact), absl::OkStatus());
  EXPECT_EQ(ReadFile(Path("saved")).value(), good_);
}

TEST_F(CheckpointTest, MissingFileIsNotFound) {
  EXPECT_EQ(LoadNetwork(Path("none")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointTest, ForeignFilesAreCalledThat) {
  const std::string expected = "not a checkpoint: one begins with \"MMZMODEL\"";
  EXPECT_EQ(ErrorOf(""), expected);
  EXPECT_EQ(ErrorOf("{}"), expected);
  EXPECT_EQ(ErrorOf(std::string(1000, 'x')), expected);
  EXPECT_EQ(ErrorOf(head_.SerializeAsString()), expected);
}

TEST_F(CheckpointTest, EveryTruncationIsAnError) {
  for (size_t size = 1; size < good_.size(); size += size < 3000 ? 1 : 97) {
    EXPECT_THAT(ErrorOf(good_.substr(0, size)), HasSubstr("cut short")) << size;
  }
  EXPECT_THAT(ErrorOf(good_.substr(0, good_.size() - 1)), HasSubstr("cut short"));
  EXPECT_THAT(ErrorOf(good_ + "x"), HasSubstr("damaged: tensors take"));
}

TEST_F(CheckpointTest, EveryFlippedByteIsAnError) {
  for (size_t k = 0; k < good_.size(); k += k < 3000 ? 1 : 97) {
    std::string bytes = good_;
    bytes[k] = bytes[k] ^ 0x21;
    EXPECT_FALSE(ErrorOf(bytes).empty()) << k;
  }
  std::string bytes = good_;
  bytes.back() = bytes.back() ^ 1;
  EXPECT_EQ(ErrorOf(bytes), "damaged: the SHA-256 of its content is not the one it states");
}

TEST_F(CheckpointTest, OtherVersionsAreNamed) {
  head_.mutable_header()->set_version(head_.header().version() + 1);
  EXPECT_THAT(ErrorOfParts(), HasSubstr("version"));
  FillHeader(head_);
  head_.mutable_observation()->set_version(kObservationVersion + 1);
  EXPECT_EQ(ErrorOfParts(),
            absl::StrCat("network is for observations of version ", kObservationVersion + 1,
                         ", this build makes version ", kObservationVersion));
}

TEST_F(CheckpointTest, OtherMessagesAreNamed) {
  head_.mutable_header()->set_message("mallocmuzero.v1.Program");
  EXPECT_THAT(ErrorOfParts(), HasSubstr("mallocmuzero.v1.Program"));
}

TEST_F(CheckpointTest, InvalidConfigIsNamed) {
  head_.mutable_network()->set_bins(4);
  EXPECT_EQ(ErrorOfParts(), "network config: bins is 4, must be odd");
}

TEST_F(CheckpointTest, NetworksForOtherActionsAreNamed) {
  head_.mutable_network()->set_actions(4);
  EXPECT_EQ(ErrorOfParts(), "network config: actions is 4, must be 3, as many as the game has");
}

TEST_F(CheckpointTest, TensorOfAnotherShapeIsNamed) {
  head_.mutable_network()->set_head_hidden(5);
  EXPECT_EQ(ErrorOfParts(),
            "tensor dynamics.reward_hidden.weight has shape [4, 4], must be [5, 4]");
}

TEST_F(CheckpointTest, NoNetworkIsMadeThatIsMuchLargerThanTheFile) {
  // The queries have 1024 x 65536 weights and the trunk as many: half a gigabyte.
  head_.mutable_network()->set_latent(1024);
  head_.mutable_network()->set_access_channels(1024);
  head_.mutable_network()->set_heads(64);
  EXPECT_THAT(ErrorOfParts(), MatchesRegex("network config: has 1[0-9]{8} weights, must have the "
                                           "[0-9]{4} of the tensors"));
}

TEST_F(CheckpointTest, MissingAndAdditionalTensorsAreNamed) {
  const std::string first = head_.tensors(0).name();
  head_.mutable_tensors(0)->set_name("other");
  EXPECT_EQ(ErrorOfParts(), absl::StrCat("tensor ", first, " is missing"));
  head_.mutable_tensors(0)->set_name(first);
  const size_t weights = TrainedCheckpoint().weights.size();
  head_.mutable_tensors(weights)->set_name("more");
  EXPECT_EQ(ErrorOfParts(),
            absl::StrCat("there are ", weights + 1, " tensors of weights, must be ", weights));
}

TEST_F(CheckpointTest, NonsensicalTensorsAreErrors) {
  const v1::CheckpointHeader good = head_;
  head_.mutable_tensors(0)->set_type(TensorProto::TYPE_UNSPECIFIED);
  EXPECT_THAT(ErrorOfParts(), HasSubstr("unknown type"));
  head_ = good;
  head_.mutable_tensors(0)->set_shape(0, -1);
  EXPECT_THAT(ErrorOfParts(), HasSubstr(good.tensors(0).name()));
  head_.mutable_tensors(0)->set_shape(0, int64_t{1} << 62);
  EXPECT_THAT(ErrorOfParts(), HasSubstr(good.tensors(0).name()));
  head_ = good;
  head_.mutable_tensors(1)->set_offset(1);
  EXPECT_THAT(ErrorOfParts(), HasSubstr("begins at 1, must begin at"));
}

}  // namespace
}  // namespace mallocmuzero
