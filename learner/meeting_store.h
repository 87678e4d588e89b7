// The store through which processes find each other. Only data_parallel.cc may include this header,
// because it includes LibTorch's.

#ifndef MALLOCMUZERO_LEARNER_MEETING_STORE_H_
#define MALLOCMUZERO_LEARNER_MEETING_STORE_H_

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace mallocmuzero {

// A thread of TCPStore waits for messages from process 0. If process 0 resets the connection, that
// thread throws an exception that nothing can catch. While this object lives, the process then ends
// with one line and exit code 1 instead of SIGABRT. There may be one at a time.
class MeetingWatch {
 public:
  MeetingWatch() : before_(std::set_terminate(&End)) {}
  ~MeetingWatch() { std::set_terminate(before_); }
  MeetingWatch(const MeetingWatch&) = delete;
  MeetingWatch& operator=(const MeetingWatch&) = delete;

 private:
  [[noreturn]] static void End() {
    try {
      if (const std::exception_ptr thrown = std::current_exception()) {
        std::rethrow_exception(thrown);
      }
    } catch (const std::system_error& error) {
      Log(LogLevel::kError, "learner",
          absl::StrCat("lost process 0 while the processes met (", error.what(),
                       "); this process must start again"));
      std::_Exit(EXIT_FAILURE);
    } catch (...) {
      std::abort();  // not of that thread
    }
    std::abort();
  }

  const std::terminate_handler before_;
};

// A TCPStore whose connections can be closed once all processes have met, so that its thread (see
// MeetingWatch) cannot end the process later. A group does not need its store after the meeting,
// but keeps it.
class MeetingStore final : public c10d::Store {
 public:
  explicit MeetingStore(c10::intrusive_ptr<c10d::TCPStore> store)
      : store_(std::make_shared<c10::intrusive_ptr<c10d::TCPStore>>(std::move(store))) {}

  // Ends the connections, including those of clones. Later calls throw std::logic_error. No other
  // call may be in progress.
  void Leave() { store_->reset(); }

  // Overrides a function of current versions of LibTorch; LibTorch 1.13 does not have it.
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
