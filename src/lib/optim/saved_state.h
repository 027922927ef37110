// An optimizer's state in files: torch's archives, and tensors with names.
#pragma once

#include <string>
#include <string_view>

#include "optim/parts.h"

namespace lehi {

/// Throws std::invalid_argument when the state was saved with another recipe; `source` is the sentence's subject.
void expect_recipe(std::string_view source, const std::string& saved, const Recipe& recipe);

void save_archive(const OptimizerParts& parts, const Groups& groups, const States& states,
                  torch::serialize::OutputArchive& archive);
void load_archive(OptimizerParts& parts, Groups& groups, States& states, torch::serialize::InputArchive& archive);

/// The entries that Optimizer::named_state() documents.
Optimizer::NamedState make_named_state(const OptimizerParts& parts, const Groups& groups, const States& states);
void restore_named_state(OptimizerParts& parts, const Groups& groups, States& states, Optimizer::NamedState&& state);

}  // namespace lehi
