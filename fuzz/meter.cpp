#include "meter.h"

#include <atomic>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LEHI_FUZZ_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEHI_FUZZ_SANITIZED
#endif

namespace {

std::atomic<long long> in_use{0};
std::atomic<long long> peak_in_use{0};

void count_more(std::size_t bytes) {
  const long long now = in_use.fetch_add(static_cast<long long>(bytes)) + static_cast<long long>(bytes);
  long long peak = peak_in_use.load();
  while (now > peak && !peak_in_use.compare_exchange_weak(peak, now)) {
  }
}

void count_less(std::size_t bytes) { in_use.fetch_sub(static_cast<long long>(bytes)); }

}  // namespace

#ifdef LEHI_FUZZ_SANITIZED

// The sanitizer's allocator reports every allocation.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
}

namespace {

const int installed =
    __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t bytes) { count_more(bytes); },
                                              [](const volatile void* memory) {
                                                if (memory != nullptr)
                                                  count_less(__sanitizer_get_allocated_size(memory));
                                              });

}  // namespace

#else

// These definitions replace the C library's malloc and free; they count, then call the C library.
#include <errno.h>   // NOLINT(modernize-deprecated-headers): these are C's functions
#include <malloc.h>  // malloc_usable_size

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);

namespace {

void* counted(void* memory) {
  if (memory != nullptr) count_more(malloc_usable_size(memory));
  return memory;
}

}  // namespace

void* malloc(std::size_t bytes) { return counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return counted(__libc_calloc(count, bytes)); }
void* memalign(std::size_t alignment, std::size_t bytes) { return counted(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* found = memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}

void* realloc(void* memory, std::size_t bytes) {
  const std::size_t before = memory != nullptr ? malloc_usable_size(memory) : 0;
  void* moved = __libc_realloc(memory, bytes);
  if (moved == nullptr && bytes > 0) return nullptr;  // the old memory is kept
  count_less(before);
  return counted(moved);
}

void free(void* memory) {
  if (memory == nullptr) return;
  count_less(malloc_usable_size(memory));
  __libc_free(memory);
}
}  // extern "C"

#endif

namespace lehi::fuzz {

Meter::Meter() : begin_(in_use.load()) { peak_in_use.store(begin_); }

std::size_t Meter::peak() const { return static_cast<std::size_t>(peak_in_use.load() - begin_); }

}  // namespace lehi::fuzz
