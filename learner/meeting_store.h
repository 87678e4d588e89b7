// The store at which processes meet. For data_parallel.cc: includes LibTorch's headers.

#ifndef MALLOCMUZERO_LEARNER_MEETING_STORE_H_
#define MALLOCMUZERO_LEARNER_MEETING_STORE_H_

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mallocmuzero {

// A TCPStore that can be left once everybody is there. A thread of it waits for messages from
// process 0 and, when that is gone, throws what nobody can catch: a process whose peer has died
// would die too. Groups that have met need no store, but never let go of theirs.
class MeetingStore final : public c10d::Store {
 public:
  explicit MeetingStore(c10::intrusive_ptr<c10d::TCPStore> store)
      : store_(std::make_shared<c10::intrusive_ptr<c10d::TCPStore>>(std::move(store))) {}

  // Ends the connections, those of clones too. Calls to come throw std::logic_error. Nobody may be
  // in a call.
  void Leave() { store_->reset(); }

  // Overrides what current versions of LibTorch have; 1.13 has nothing to override.
  c10::intrusive_ptr<c10d::Store> clone() { return c10::make_intrusive<MeetingStore>(*this); }

  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    store().set(key, value);
  }
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& current,
                                  const std::vector<uint8_t>& value) override {
    return store().compareSet(key, current, value);
  }
  std::vector<uint8_t> get(const std::string& key) override { return store().get(key); }
  int64_t add(const std::string& key, int64_t value) override { return store().add(key, value); }
  bool deleteKey(const std::string& key) override { return store().deleteKey(key); }
  bool check(const std::vector<std::string>& keys) override { return store().check(keys); }
  int64_t getNumKeys() override { return store().getNumKeys(); }
  void wait(const std::vector<std::string>& keys) override { store().wait(keys); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    store().wait(keys, timeout);
  }
  const std::chrono::milliseconds& getTimeout() const noexcept override {
    return *store_ ? (*store_)->getTimeout() : timeout_;
  }
  void setTimeout(const std::chrono::milliseconds& timeout) override {
    store().setTimeout(timeout);
  }

 private:
  c10d::TCPStore& store() const {
    if (!*store_) throw std::logic_error("the processes have met, and left the store");
    return **store_;
  }

  std::shared_ptr<c10::intrusive_ptr<c10d::TCPStore>> store_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_MEETING_STORE_H_
