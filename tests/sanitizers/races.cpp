// Whether the thread sanitizer sees what it should here, OpenMP's loops included: one that finds nothing in a program
// that races would prove nothing.   usage: lehi_races thread | loop | none
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

int racing_threads() {
  int sum = 0;
  std::thread other([&] { ++sum; });
  ++sum;
  other.join();
  return sum;
}

int racing_loop(const std::vector<int>& values) {
  int sum = 0;
#pragma omp parallel for num_threads(2)
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += values[i];  // NOLINT(openmp-exception-escape): a race, on purpose
  return sum;
}

// Written by two threads, then read by one: correct, for the loop ends in a barrier.
int correct_loop(std::vector<int> values) {
#pragma omp parallel for num_threads(2)
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= 2;
  int sum = 0;
  for (const int value : values) sum += value;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "none";
  const std::vector<int> values(100'000, 1);
  const int sum = what == "thread" ? racing_threads() : what == "loop" ? racing_loop(values) : correct_loop(values);
  std::printf("%d\n", sum);
}
