#include "study/local_launcher.h"

namespace lehi::study {

void LocalLauncher::look(const LaunchEvents& events) {
  while (!waiting_.empty() && processes_.count() < jobs_) {
    const auto run = waiting_.front();
    waiting_.pop_front();
    processes_.start(run, events);
  }
  processes_.look(events);
}

void LocalLauncher::stop(int signal) {
  waiting_.clear();
  processes_.send(signal);
}

}  // namespace lehi::study
