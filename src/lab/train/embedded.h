// What is built into the program, so that it works wherever it is copied to: the files of configs/, the report page of
// web/, the PyTorch script of bench/, and its source's revision.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lehi::train {

/// The text of a file by its name in configs/, e.g. "paper/mnist.toml", or "web/dist/report.html",
/// "bench/torch_steps.py".
std::optional<std::string_view> embedded_text(std::string_view name);

/// The names of all of them.
std::vector<std::string_view> embedded_names();

/// The commit that the program was built from; "" when it was built outside a checkout.
std::string_view source_revision();

}  // namespace lehi::train
