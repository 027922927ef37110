#include "cli/list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/loss_table.h"
#include "cli/optimizer_description.h"
#include "cli/table.h"
#include "data/catalogue.h"
#include "data/find_files.h"
#include "text/tokenizer.h"
#include "train/config.h"
#include "train/task_data.h"
#include "train/task_model.h"
#include "train/task_presets.h"

namespace lehi::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

// The entries as JSON and as rows of a table.
struct Listing {
  Json json = Json::array();
  Rows rows;  ///< the first is the header
};

Listing list_optimizers() {
  Listing listing;
  listing.rows.push_back(
      {"name", "probe", "schedule", "accumulator", "mix", "rule", "scale", "shape", "lr", "eps", "summary"});
  for (const auto which : all_presets()) {
    const auto options = preset(which);
    const auto& recipe = options.recipe;
    Json entry = {{"name", name(which)}, {"summary", summary(which)}};
    entry.update(recipe_json(recipe));
    entry["defaults"] = numbers_json(options.group);
    listing.json.push_back(entry);
    listing.rows.push_back({options.name, std::string(name(recipe.probe)), describe_schedule(recipe.schedule),
                            std::string(name(recipe.accumulator)), std::string(name(recipe.mix)),
                            std::string(name(recipe.rule)), std::string(name(recipe.scale)),
                            std::string(name(recipe.shape)), short_number(options.group.lr),
                            short_number(options.group.eps), std::string(summary(which))});
  }
  return listing;
}

Listing list_losses() {
  Listing listing;
  listing.rows.push_back({"name", "numbers", "probes", "summary"});
  for (const auto& entry : loss_table()) {
    const auto loss = entry.make({});
    std::vector<std::string_view> supported;
    for (const auto probe : all_probes()) {
      if (loss->supports(probe)) supported.push_back(name(probe));
    }
    listing.json.push_back({{"name", entry.name}, {"summary", entry.summary}, {"probes", supported}});
    listing.rows.push_back({std::string(entry.name), std::string(entry.numbers),
                            fmt::format("{}", fmt::join(supported, " ")), std::string(entry.summary)});
  }
  return listing;
}

std::string_view meaning(Probe probe) {
  switch (probe) {
    case Probe::gradient:
      return "v = u = dl/dp, as in Adam; needs no second backward pass";
    case Probe::imitation:
      return "v = dz/dp, the gradient of the paper's auxiliary loss, whose square imitates d2l/dp2";
    case Probe::diagonal:
      return "v_i = sqrt(|d2l/dp_i^2|), the paper's derivation without cross terms";
    case Probe::gauss_newton:
      return "v = L r with L L^T = d2l/dp2 and random signs r: E[v v^T] = d2l/dp2 exactly";
    case Probe::sampled_label:
      return "v = dl/dp at a label sampled from the model, as in Sophia-G: E[v v^T] is the Fisher matrix";
  }
  return "";
}

Listing list_probes() {
  Listing listing;
  listing.rows.push_back({"name", "random", "meaning"});
  for (const auto probe : all_probes()) {
    listing.json.push_back({{"name", name(probe)}, {"random", is_random(probe)}, {"meaning", meaning(probe)}});
    listing.rows.push_back({std::string(name(probe)), is_random(probe) ? "yes" : "no", std::string(meaning(probe))});
  }
  return listing;
}

// The sizes of inputs and outputs, which are known without the task's data.
train::TaskSize size_of(const train::RunConfig& config, const data::TaskFiles& task) {
  if (!train::is_text_task(config.task)) return {task.inputs, task.outputs};
  return {0, text::vocabulary_size(text::tokenizer_named(config.text.tokenizer))};
}

bool is_present(const data::TaskFiles& task) {
  const auto places = data::search(task, "");
  return std::any_of(places.begin(), places.end(), [](const auto& place) { return place.complete(); });
}

Listing list_tasks() {
  Listing listing;
  listing.rows.push_back({"name", "preset", "model", "parameters", "batch", "length", "data", "about"});
  for (const auto& name : train::task_names()) {
    const auto& task = data::task_files(name);
    for (const auto& preset : train::preset_names(name)) {
      train::ConfigRequest request;
      request.task = name;
      request.preset = preset;
      const auto config = train::resolve(request);
      const auto size = size_of(config, task);
      const auto parameters = model::parameter_count(train::model_parameters(config, size));
      const auto model = train::describe_model(config, size);
      // A small preset may train on another text than the task's own.
      const auto& files = config.text.corpus.empty() ? task : data::task_files(config.text.corpus);
      const std::string state = is_present(files) ? "present" : "missing";
      listing.json.push_back({{"name", name},
                              {"preset", preset},
                              {"model", model},
                              {"parameters", parameters},
                              {"batch_size", config.batch_size},
                              {"epochs", config.epochs},
                              {"steps", config.steps},
                              {"metric", config.judge.metric},
                              {"data", state},
                              {"about", files.about}});
      const auto length =
          config.epochs > 0 ? fmt::format("{} epochs", config.epochs) : fmt::format("{} steps", config.steps);
      listing.rows.push_back({name, preset, model, std::to_string(parameters), std::to_string(config.batch_size),
                              length, state, files.about});
    }
  }
  return listing;
}

}  // namespace

ListConfig parse_list(const Arguments& arguments) {
  ListConfig config;
  CLI::App app("List the tasks, optimizers, losses or probes that the other commands accept.", "lehi list");
  app.add_option("WHAT", config.what, "tasks, optimizers, losses or probes")
      ->required()
      ->check(CLI::IsMember({"tasks", "optimizers", "losses", "probes"}));
  app.add_flag("--json", config.json, "print a JSON list of objects");
  app.footer(
      "Examples:\n"
      "  lehi list optimizers\n"
      "  lehi list losses --json");
  parse_arguments(app, arguments);
  return config;
}

int run_list(const ListConfig& config, std::ostream& out, std::ostream& /*err*/) {
  const auto listing = config.what == "tasks"        ? list_tasks()
                       : config.what == "optimizers" ? list_optimizers()
                       : config.what == "losses"     ? list_losses()
                                                     : list_probes();
  if (config.json) {
    out << listing.json.dump(2) << '\n';
  } else {
    print_table(out, listing.rows, Align::left);
  }
  return done;
}

}  // namespace lehi::cli
