#include "study/local_launcher.h"

namespace lehi::study {

void LocalLauncher::poll(const LaunchEvents& events) {
  while (!queue_.empty() && processes_.count() < jobs_) {
    const auto run = queue_.front();
    queue_.pop_front();
    processes_.start(run, events);
  }
  processes_.poll(events);
}

void LocalLauncher::stop(int signal) {
  queue_.clear();
  processes_.send(signal);
}

}  // namespace lehi::study
