// Files that are built into the program, so that it needs none beside it: configs/, the report page of web/, the
// PyTorch script of bench/; and the revision of its source.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lehi::train {

/// A file's contents by its name: "paper/mnist.toml" for configs/paper/mnist.toml, "web/dist/report.html",
/// "bench/torch_steps.py".
std::optional<std::string_view> embedded_text(std::string_view name);

/// All names.
std::vector<std::string_view> embedded_names();

/// The commit that the program was built from; "" if it was not built in a checkout.
std::string_view source_revision();

}  // namespace lehi::train
