// See allocations.h. The replacements call glibc's own functions.
#include "faults/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT: glibc's names
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT
void* __libc_realloc(void* place, std::size_t size);             // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT
}

namespace lehi::faults {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): malloc has no other state
std::atomic<bool> counting = false;
std::atomic<std::int64_t> counted = 0;
std::int64_t failing = 0;
bool failing_after = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool fails_now() {
  if (!counting) return false;
  const auto number = counted.fetch_add(1) + 1;
  if (failing == 0 || number < failing || (number > failing && !failing_after)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

void fail_allocation(std::int64_t at, bool all_after) {
  failing = at;
  failing_after = all_after;
  counted = 0;
  counting = true;
}

std::int64_t stop_counting_allocations() {
  counting = false;
  return counted;
}

}  // namespace lehi::faults

namespace faults = lehi::faults;
extern "C" {

void* malloc(std::size_t size) { return faults::fails_now() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return faults::fails_now() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* place, std::size_t size) { return faults::fails_now() ? nullptr : __libc_realloc(place, size); }
void* memalign(std::size_t alignment, std::size_t size) {
  return faults::fails_now() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return faults::fails_now() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** place, std::size_t alignment, std::size_t size) {
  if (faults::fails_now()) return ENOMEM;
  void* found = __libc_memalign(alignment, size);
  if (found == nullptr) return ENOMEM;
  *place = found;
  return 0;
}

}  // extern "C"
