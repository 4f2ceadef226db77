#include "runtime/event.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace tercel::runtime {

struct Event::State {
  std::atomic<bool> ready{false};
  Status status;  // written before `ready`
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Callback> callbacks;  // until ready
};

Event::Event(const Status& status) {
  if (status.ok()) return;
  state_ = std::make_shared<State>();
  state_->status = status;
  state_->ready.store(true, std::memory_order_release);
}

Event Event::pending() { return Event(std::make_shared<State>()); }

Event Event::all(std::span<const Event> events) {
  struct Join {
    explicit Join(std::span<const Event> events) : events(events.begin(), events.end()) {}
    std::vector<Event> events;
    std::atomic<size_t> left{0};
    Event done = Event::pending();
    void arrive() {
      if (left.fetch_sub(1) != 1) return;
      Status first;
      for (const Event& event : events) {
        if (first.ok()) first = event.status();
      }
      events.clear();
      done.set(first);
    }
  };
  bool ready = true;
  for (const Event& event : events) ready = ready && event.isReady() && event.status().ok();
  if (ready) return Event();
  auto join = std::make_shared<Join>(events);
  join->left = events.size();
  Event done = join->done;
  for (const Event& event : events) event.onReady([join](const Status&) { join->arrive(); });
  return done;
}

bool Event::isReady() const { return !state_ || state_->ready.load(std::memory_order_acquire); }

Status Event::status() const {
  TERCEL_CHECK(isReady(), "status of an event that is not ready");
  return state_ ? state_->status : Status();
}

Status Event::await() const {
  if (!isReady()) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return isReady(); });
  }
  return status();
}

void Event::onReady(Callback callback) const {
  if (!isReady()) {
    std::lock_guard lock(state_->mutex);
    if (!isReady()) return state_->callbacks.push_back(std::move(callback));
  }
  callback(status());
}

bool Event::set(Status status) const {
  if (!state_) return false;
  std::shared_ptr<State> state = state_;  // a callback may drop the last handle
  std::vector<Callback> callbacks;
  {
    std::lock_guard lock(state->mutex);
    if (state->ready.load(std::memory_order_relaxed)) return false;
    state->status = std::move(status);
    state->ready.store(true, std::memory_order_release);
    callbacks.swap(state->callbacks);
  }
  state->changed.notify_all();
  for (Callback& callback : callbacks) callback(state->status);
  return true;
}

}  // namespace tercel::runtime
