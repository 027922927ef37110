#include "lehi/recipe.h"

namespace lehi {

Refresh refresh_at(const Schedule& schedule, std::int64_t step) {
  const std::int64_t past_dense = step - 1 - schedule.dense;
  Refresh refresh;
  std::int64_t index = step - 1;  // how many refreshes came before this one
  if (past_dense < 0) {
    refresh.due = true;
    refresh.covers = 1;
  } else if (past_dense % schedule.every == 0) {
    refresh.due = true;
    refresh.covers = schedule.every;
    index = schedule.dense + past_dense / schedule.every;
  }
  refresh.use_gradient = refresh.due && schedule.alternate && index % 2 == 1;
  return refresh;
}

}  // namespace lehi
