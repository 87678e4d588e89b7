#include "model/export/export.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_json.h"
#include "base/sha256.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network_config.h"
#include "model/testing/failing_memory.h"
#include "model/testing/random_network.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
    options_.checkpoint = Save("some.checkpoint", "");
    options_.output = Path("out");
    options_.format = std::string(kOnnxFormat);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }

  // Writes a file of that name, and returns its path.
  std::string Write(const std::string& name, const std::string& content) const {
    EXPECT_TRUE(WriteFileAtomically(Path(name), content).ok());
    return Path(name);
  }

  std::string Save(const std::string& name, const std::string& training_state) const {
    Checkpoint checkpoint =
        MakeCheckpoint(*testing::MakeRandomNetwork(NetworkPreset("tiny").value(), 1));
    checkpoint.step = 123;
    checkpoint.training_state = training_state;
    EXPECT_TRUE(SaveCheckpoint(Path(name), checkpoint).ok());
    return Path(name);
  }

  v1::ExportManifest Export() const {
    const absl::StatusOr<v1::ExportReport> report = ExportCheckpoint(options_);
    EXPECT_TRUE(report.ok()) << report.status();
    v1::ExportManifest manifest;
    EXPECT_TRUE(MessageFromJson(ReadFile(Path("out/manifest.json")).value(), manifest).ok());
    return manifest;
  }

  // The message of the error. Expects that no folder or part of one is left.
  std::string Error() const {
    const absl::Status status = ExportCheckpoint(options_).status();
    EXPECT_FALSE(status.ok());
    for (const auto& entry : fs::directory_iterator(root_)) {
      EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr("out")));
    }
    return std::string(status.message());
  }

  const fs::path root_ = fs::path(::testing::TempDir()) / "export_test";
  ExportOptions options_;
};

TEST_F(ExportTest, ListsEveryFileWithItsHash) {
  const ProgramSet programs = testing::RandomProgramSet(1, 5);
  options_.programs = &programs;
  options_.samples = 5;
  for (const absl::string_view format : {kOnnxFormat, kTorchScriptFormat}) {
    options_.format = std::string(format);
    const v1::ExportManifest manifest = Export();
    size_t files = 1;  // the manifest itself
    const auto check = [&](const std::string& name, uint64_t bytes, const std::string& sha256) {
      const std::string content = ReadFile(Path("out/" + name)).value();
      EXPECT_EQ(content.size(), bytes) << name;
      EXPECT_EQ(absl::BytesToHexString(Sha256(content)), sha256) << name;
      ++files;
    };
    for (const auto& network : manifest.networks()) {
      check(network.file(), network.bytes(), network.sha256());
    }
    for (const auto& file : manifest.files()) check(file.file(), file.bytes(), file.sha256());
    size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(Path("out"))) {
      if (entry.is_regular_file()) ++found;
    }
    EXPECT_EQ(found, files);
    EXPECT_EQ(manifest.samples().size(), 9);
    fs::remove_all(Path("out"));
  }
}

TEST_F(ExportTest, SaysSoIfThereIsTooLittleMemoryForSamples) {
  const ProgramSet programs = testing::RandomProgramSet(1, 5);
  options_.programs = &programs;
  options_.samples = 5;
  constexpr int64_t kPlenty = 1 << 20;
  int64_t needed = 0;
  {
    const testing::ShortMemory memory(kPlenty);
    Export();
    needed = kPlenty - memory.left();
  }
  fs::remove_all(Path("out"));
  const testing::ShortMemory memory(needed - 1);  // the samples come last
  EXPECT_THAT(Error(), HasSubstr("the outputs of 5 decisions"));
}

TEST_F(ExportTest, TheManifestDescribesTheNetworks) {
  const v1::ExportManifest manifest = Export();
  EXPECT_EQ(manifest.format(), "onnx");
  EXPECT_EQ(manifest.licence(), "Apache-2.0");
  EXPECT_EQ(manifest.checkpoint().step(), 123);
  EXPECT_EQ(manifest.checkpoint().sha256(),
            absl::BytesToHexString(Sha256(ReadFile(options_.checkpoint).value())));
  ASSERT_EQ(manifest.networks().size(), 3);
  const v1::ExportManifest::Network& dynamics = manifest.networks(1);
  EXPECT_EQ(dynamics.file(), "dynamics.onnx");
  ASSERT_EQ(dynamics.inputs().size(), 2);
  EXPECT_THAT(dynamics.inputs(0).shape(), ElementsAre(-1, 64));
  EXPECT_EQ(dynamics.inputs(1).dtype(), "int64");
  EXPECT_THAT(dynamics.inputs(1).shape(), ElementsAre(-1));
  for (const auto& network : manifest.networks()) {
    for (const auto& output : network.outputs()) EXPECT_NE(output.meaning(), "") << output.name();
  }
  EXPECT_EQ(manifest.decoding().centers().size(), 41);
  EXPECT_FALSE(manifest.has_scores());
}

TEST_F(ExportTest, UnitsComeFromTheTrainingState) {
  EXPECT_EQ(Export().units().kind(), v1::ExportManifest::Units::UNKNOWN);
  fs::remove_all(Path("out"));
  v1::TrainState state;
  state.set_rules_version(3);
  v1::TrainState::Program& program = *state.add_programs();
  program.set_sha256("\x01\xff");
  program.mutable_baseline()->set_scale(0.5);
  program.mutable_baseline()->add_frozen(0.25);
  options_.checkpoint = Save("run.checkpoint", state.SerializeAsString());
  const v1::ExportManifest relative = Export();
  EXPECT_EQ(relative.units().kind(), v1::ExportManifest::Units::RELATIVE);
  EXPECT_EQ(relative.checkpoint().rules_version(), 3);
  v1::ExportBaselines baselines;
  ASSERT_TRUE(MessageFromJson(ReadFile(Path("out/baselines.json")).value(), baselines).ok());
  EXPECT_EQ(baselines.programs(0).sha256(), "01ff");
  EXPECT_EQ(baselines.programs(0).scale(), 0.5);
  EXPECT_THAT(baselines.programs(0).mean(), ElementsAre(0.25));
  // A run of `train` has moved its baseline since the network learned.
  fs::remove_all(Path("out"));
  program.mutable_learned_baseline()->set_measured(true);
  program.mutable_learned_baseline()->set_scale(2);
  program.mutable_learned_baseline()->add_frozen(0.75);
  options_.checkpoint = Save("run.checkpoint", state.SerializeAsString());
  Export();
  baselines.Clear();
  ASSERT_TRUE(MessageFromJson(ReadFile(Path("out/baselines.json")).value(), baselines).ok());
  EXPECT_EQ(baselines.programs(0).scale(), 2);
  EXPECT_THAT(baselines.programs(0).mean(), ElementsAre(0.75));
  fs::remove_all(Path("out"));
  program.mutable_baseline()->set_return_to_beat(0.125);
  options_.checkpoint = Save("run.checkpoint", state.SerializeAsString());
  EXPECT_EQ(Export().units().kind(), v1::ExportManifest::Units::RANKED);
}

TEST_F(ExportTest, RepeatsScoresThatAreGiven) {
  options_.scores =
      Write("scores.json", R"({"simulations": 16, "programs": [{"program": "gpt"}]})");
  EXPECT_EQ(Export().scores().programs(0).program(), "gpt");
  fs::remove_all(Path("out"));
  options_.scores =
      Write("scores.json", R"({"checkpoint_sha256": "00", "programs": [{"program": "gpt"}]})");
  EXPECT_THAT(Error(),
              HasSubstr("scores.json: scores of another checkpoint than the exported one"));
}

TEST_F(ExportTest, RepeatsTheManifestOfAScoredCheckpoint) {
  fs::create_directory(Path("step-1"));
  options_.checkpoint = Save("step-1/checkpoint", "");
  Write("step-1/manifest.json", R"({"score": {"gpt": 0.5}, "rules_version": 4})");
  const v1::ExportManifest manifest = Export();
  EXPECT_EQ(manifest.checkpoint().manifest().fields().count("score"), 1);
  EXPECT_EQ(manifest.checkpoint().rules_version(), 4);
  fs::remove_all(Path("out"));
  Write("step-1/manifest.json", R"({"sha256": "00"})");
  EXPECT_THAT(Error(), HasSubstr("manifest.json: sha256 is that of another checkpoint"));
  Write("step-1/manifest.json", "{");
  EXPECT_THAT(Error(), HasSubstr("step-1/manifest.json: "));
}

TEST_F(ExportTest, NamesWhatIsWrongAndLeavesNoFolder) {
  const std::string good = options_.checkpoint;
  options_.checkpoint = Path("none");
  EXPECT_THAT(Error(), HasSubstr("none: "));
  options_.checkpoint = Write("cut", ReadFile(good).value().substr(0, 5000));
  EXPECT_THAT(Error(), HasSubstr("cut: cut short"));
  options_.checkpoint = Write("text", "not a checkpoint");
  EXPECT_THAT(Error(), HasSubstr("text: not a checkpoint"));
  options_.checkpoint = good;
  options_.scores = Write("scores.json", "[]");
  EXPECT_THAT(Error(), HasSubstr("scores.json: "));
  Write("scores.json", "{}");
  EXPECT_THAT(Error(), HasSubstr("with at least one program expected"));
  options_.scores.clear();
  options_.output = "/proc/out";
  EXPECT_THAT(Error(), HasSubstr("/proc/out: cannot write here: "));
}

}  // namespace
}  // namespace mallocmuzero
