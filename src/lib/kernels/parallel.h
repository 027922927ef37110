// Parallel loops without a thread pool of our own: the caller of a kernel passes a ParallelFor, which runs the kernel's
// loop bodies on the caller's threads. By default a loop runs on the calling thread.
#pragma once

#include <cstdint>

namespace lehi::kernels {

/// A reference to a callable body(begin, end). The callable must outlive the reference.
class LoopBody {
 public:
  template <class Body>
  LoopBody(const Body& body)  // NOLINT(google-explicit-constructor): kernels pass lambdas
      : body_(&body), call_([](const void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<const Body*>(object))(begin, end);
        }) {}

  void operator()(std::int64_t begin, std::int64_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void* object, std::int64_t begin, std::int64_t end);
};

/// `run` calls body(begin, end) on ranges that together cover [0, size) once, in any order, possibly at the same time
/// on several threads, and returns when all calls have returned. Where the loop is worth one thread only (size <=
/// grain), it is one call. Exceptions of the body reach the caller.
struct ParallelFor {
  using Run = void (*)(void* context, std::int64_t size, std::int64_t grain, const LoopBody& body);

  Run run = [](void* /*context*/, std::int64_t size, std::int64_t /*grain*/, const LoopBody& body) { body(0, size); };
  void* context = nullptr;

  void operator()(std::int64_t size, std::int64_t grain, const LoopBody& body) const {
    if (size > 0) run(context, size, grain, body);
  }
};

}  // namespace lehi::kernels
