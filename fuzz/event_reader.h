// TensorBoard event files, read by their published format alone: nothing of the program's writer is used.
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

/// Throws Finding where the bytes are no whole file of events with right checksums.
std::vector<Event> read_events(std::string_view bytes);

}  // namespace lehi::fuzz
