#include "train/broadcast_checkpoint.h"

namespace lehi::train {

using nlohmann::json;

namespace {

json shapes_of(const NamedTensors& tensors) {
  json list = json::array();
  for (const auto& [name, tensor] : tensors) {
    list.push_back(
        {{"name", name}, {"dtype", static_cast<int>(tensor.scalar_type())}, {"sizes", tensor.sizes().vec()}});
  }
  return list;
}

NamedTensors tensors_of(const json& list) {
  NamedTensors tensors;
  for (const auto& entry : list) {
    const auto dtype = static_cast<torch::Dtype>(entry.at("dtype").get<int>());
    tensors.emplace_back(entry.at("name"), torch::empty(entry.at("sizes").get<std::vector<std::int64_t>>(), dtype));
  }
  return tensors;
}

}  // namespace

void broadcast_checkpoint(std::optional<FoundCheckpoint>& checkpoint, distributed::ProcessRanks& ranks) {
  json header;
  if (checkpoint) {
    header = {{"path", checkpoint->path.string()},
              {"step", checkpoint->step},
              {"state", checkpoint->checkpoint.state},
              {"model", shapes_of(checkpoint->checkpoint.model)},
              {"optimizer", shapes_of(checkpoint->checkpoint.optimizer)}};
  }
  header = json::parse(ranks.broadcast_string(header.dump()));
  if (header.is_null()) return;
  if (ranks.rank() != 0) {
    checkpoint = FoundCheckpoint{.path = header.at("path").get<std::string>(),
                                 .step = header.at("step"),
                                 .checkpoint = {.model = tensors_of(header.at("model")),
                                                .optimizer = tensors_of(header.at("optimizer")),
                                                .state = header.at("state"),
                                                .model_config = ""}};
  }
  for (const NamedTensors* tensors : {&checkpoint->checkpoint.model, &checkpoint->checkpoint.optimizer}) {
    for (const auto& [name, tensor] : *tensors) ranks.broadcast(tensor);
  }
}

}  // namespace lehi::train
