// Reads TensorBoard event files according to their published format, without code of the program's writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::fuzz {

struct EventScalar {
  std::string tag;
  float value = 0.0F;
};

struct Event {
  double wall_time = 0.0;
  std::int64_t step = 0;
  std::string version;
  std::vector<EventScalar> scalars;
};

/// Throws Finding unless the bytes are a complete event file with correct checksums.
std::vector<Event> read_events(std::string_view bytes);

}  // namespace lehi::fuzz
