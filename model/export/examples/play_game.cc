// Plays a whole game with the networks of a TorchScript export, without search. It needs LibTorch
// and nlohmann-json, and nothing of mallocmuzero but the command `mallocmuzero play`, whose stdin
// and stdout it is connected to:
//
//   play_game EXPORT MALLOCMUZERO PROGRAM
//
// Prints the end of the game as JSON.

// ivalue.h comes first: in C++20, clang needs the full definition of this type where other headers
// only declare it.
#include <ATen/core/ivalue.h>
#include <sys/wait.h>
#include <torch/script.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

// The process `mallocmuzero play`, as a stream of lines.
class GameProcess {
 public:
  GameProcess(const std::string& binary, const std::string& program) {
    int to_game[2];
    int from_game[2];
    if (pipe(to_game) != 0 || pipe(from_game) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ < 0) throw std::runtime_error("no process");
    if (child_ == 0) {
      dup2(to_game[0], STDIN_FILENO);
      dup2(from_game[1], STDOUT_FILENO);
      for (const int end : {to_game[0], to_game[1], from_game[0], from_game[1]}) close(end);
      execlp(binary.c_str(), binary.c_str(), "play", "--program", program.c_str(), nullptr);
      _exit(127);
    }
    close(to_game[0]);
    close(from_game[1]);
    in_ = fdopen(from_game[0], "r");
    out_ = fdopen(to_game[1], "w");
  }

  ~GameProcess() {
    std::fclose(out_);
    std::fclose(in_);
    std::free(buffer_);
    waitpid(child_, nullptr, 0);
  }
  GameProcess(const GameProcess&) = delete;
  GameProcess& operator=(const GameProcess&) = delete;

  json ReadLine() {
    const ssize_t length = getline(&buffer_, &capacity_, in_);
    if (length < 0) throw std::runtime_error("mallocmuzero play ended early; see its message");
    return json::parse(buffer_, buffer_ + length);
  }

  void Take(int64_t action) {
    std::fprintf(out_, "%" PRId64 "\n", action);
    std::fflush(out_);
  }

 private:
  pid_t child_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
  char* buffer_ = nullptr;
  size_t capacity_ = 0;
};

class Player {
 public:
  explicit Player(const std::string& folder)
      : manifest_(json::parse(std::ifstream(folder + "/manifest.json"))) {
    for (const json& network : manifest_["networks"]) {
      const std::string path = folder + "/" + network["file"].get<std::string>();
      if (network["name"] == "representation") representation_ = torch::jit::load(path);
      if (network["name"] == "prediction") prediction_ = torch::jit::load(path);
    }
  }

  // The legal action with the highest logit; the first one in the manifest's order if several are
  // equal.
  int64_t Choose(const json& decision) {
    const torch::NoGradGuard no_gradient;
    std::vector<float> observation = decision["observation"];
    const int64_t size = observation.size();
    const torch::Tensor row = torch::from_blob(observation.data(), {1, size});
    const auto latent = representation_.forward({row}).toTuple()->elements()[0];
    const torch::Tensor logits = prediction_.forward({latent}).toTuple()->elements()[0].toTensor();
    const std::vector<int64_t> legal = decision["legal"];
    int64_t best = -1;
    float most = -std::numeric_limits<float>::infinity();
    for (const int64_t action : manifest_["action_order"].get<std::vector<int64_t>>()) {
      if (std::find(legal.begin(), legal.end(), action) == legal.end()) continue;
      const float logit = logits[0][action].item<float>();
      if (best >= 0 && logit <= most) continue;
      best = action;
      most = logit;
    }
    return best;
  }

 private:
  json manifest_;
  torch::jit::Module representation_;
  torch::jit::Module prediction_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: play_game EXPORT MALLOCMUZERO PROGRAM\n";
    return 2;
  }
  try {
    Player player(argv[1]);
    GameProcess game(argv[2], argv[3]);
    for (;;) {
      const json line = game.ReadLine();
      if (line.contains("end")) {
        std::cout << line["end"] << "\n";
        return 0;
      }
      game.Take(player.Choose(line["decision"]));
    }
  } catch (const std::exception& error) {
    std::cerr << "play_game: " << error.what() << "\n";
    return 1;
  }
}
