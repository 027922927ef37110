#include "contest/contest_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/nearest.h"

namespace lehi::contest {
namespace {

const std::vector<std::string> kFileKeys = {"baseline", "challenger", "rivals", "classics", "probe", "arm", "task"};
const std::vector<std::string> kCommonKeys = {"preset",         "steps",       "tuning_seeds", "seeds",
                                              "effect",         "speed_steps", "speed_rounds", "speed_up",
                                              "speed_up_seeds", "validation",  "settings"};
const std::vector<std::string> kArmKeys = {"name", "optimizer", "label", "control", "rates", "knob"};
const std::vector<std::string> kTaskKeys = {"name", "title", "group", "task", "arms", "rates", "rates_of", "replace"};

/// Settings that the protocol makes. An entry that ends in '.' is a whole table.
const std::vector<std::string> kTaken = {"task",          "preset",      "seed",         "optimizer.name",
                                         "optimizer.lr",  "train.steps", "train.epochs", "train.evaluate_every",
                                         "rate.schedule", "rate.warmup", "rate.floor",   "rate.decay",
                                         "judge.window"};

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

std::string ContestReader::text(const std::string& key, const toml::node& node) const {
  return value<std::string>(key, node, "a quoted string");
}

std::string ContestReader::optimizer(const std::string& key, const toml::node& node) const {
  auto name = text(key, node);
  try {
    train::parse_optimizer_choice(name);
  } catch (const std::invalid_argument& error) {
    throw_at(node, error.what());
  }
  return name;
}

std::vector<std::string> ContestReader::names(const std::string& key, const toml::node& node) const {
  return list<std::string>(key, node, R"(a list of names, such as ["soap", "muon"])");
}

std::vector<double> ContestReader::rates(const std::string& key, const toml::node& node) const {
  auto rates = list<double>(key, node, "a list of numbers, such as [1e-3, 3e-3]");
  for (const double rate : rates) {
    if (!(rate > 0.0)) throw_at(node, fmt::format("{} has the rate {}, but rates must be greater than 0", key, rate));
  }
  std::sort(rates.begin(), rates.end());
  if (const auto same = std::adjacent_find(rates.begin(), rates.end()); same != rates.end()) {
    throw_at(node, fmt::format("{} lists the rate {} twice", key, *same));
  }
  return rates;
}

std::int64_t ContestReader::count(const std::string& key, const toml::node& node, std::int64_t least) const {
  const auto number = value<std::int64_t>(key, node, "a whole number");
  if (number < least) throw_at(node, fmt::format("{} is {}, but must be at least {}", key, number, least));
  return number;
}

Knob ContestReader::read_knob(const toml::node& node, const std::string& arm) const {
  const auto* table = node.as_table();
  const auto* key = table != nullptr ? table->get("key") : nullptr;
  const auto* values = table != nullptr ? table->get("values") : nullptr;
  const auto* list = values != nullptr ? values->as_array() : nullptr;
  if (key == nullptr || list == nullptr || list->empty() || table->size() != 2) {
    throw_at(node, R"(knob must be a table, such as { key = "weight_decay", values = [0.0, 0.1] })");
  }
  Knob knob{.key = text("key", *key), .values = {}};
  if (knob.key.starts_with("optimizer.")) knob.key = knob.key.substr(std::string_view("optimizer.").size());
  if (knob.key == "lr" || knob.key == "name") throw_at(*key, "the knob must be another key than the rate and the name");
  std::set<std::string> seen;
  for (const auto& entry : *list) {
    auto value = train::toml_text(entry);
    if (!seen.insert(value).second) throw_at(entry, fmt::format("the knob of {} lists {} twice", arm, value));
    try {
      train::parse_optimizer_choice(fmt::format("adamw[{}={}]", knob.key, value));
    } catch (const std::invalid_argument& error) {
      throw_at(entry, error.what());
    }
    knob.values.push_back(std::move(value));
  }
  return knob;
}

ArmSpec ContestReader::read_arm(const toml::table& table) const {
  ArmSpec arm;
  const auto* other = table.get("optimizer");
  if (other == nullptr) {
    arm.name = arm.optimizer = optimizer("name", *table.get("name"));
  } else {
    arm.name = text("name", *table.get("name"));
    arm.optimizer = optimizer("optimizer", *other);
  }
  arm.label = arm.name;
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    if (key == "label") {
      arm.label = text(key, node);
    } else if (key == "control") {
      arm.control = value<bool>(key, node, "true or false");
    } else if (key == "rates") {
      arm.rates = rates(key, node);
    } else if (key == "knob") {
      arm.knob = read_knob(node, arm.name);
    } else if (key != "name" && key != "optimizer") {
      throw_unknown_key(node, key, kArmKeys);
    }
  }
  return arm;
}

bool ContestReader::read_common(const std::string& key, const toml::node& node, TaskDefaults& defaults) const {
  auto& task = defaults.task;
  if (key == "preset") {
    task.preset = text(key, node);
  } else if (key == "steps") {
    task.steps = count(key, node, 20);  // a warm-up of 5 % has one step then
  } else if (key == "tuning_seeds") {
    task.tuning_seeds = seeds(key, node);
  } else if (key == "seeds") {
    task.seeds = seeds(key, node);
  } else if (key == "effect") {
    task.effect = value<double>(key, node, "a number");
    if (!(task.effect > 0.0)) throw_at(node, fmt::format("effect is {}, but must be greater than 0", task.effect));
  } else if (key == "speed_steps") {
    task.speed_steps = count(key, node, 1);
  } else if (key == "speed_rounds") {
    task.speed_rounds = count(key, node, 1);
  } else if (key == "speed_up") {
    task.speed_up = names(key, node);
  } else if (key == "speed_up_seeds") {
    task.speed_up_seeds = static_cast<std::size_t>(count(key, node, 0));
  } else if (key == "validation") {
    value<double>(key, node, "a number");
    task.settings.push_back(setting("data.validation", node));
  } else if (key == "settings") {
    read_settings(node, kTaken, task.settings);
  } else {
    return false;
  }
  return true;
}

void ContestReader::read_file(const toml::table& table, Contest& contest, TaskDefaults& common) const {
  common.task.preset = "small";
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    if (key == "baseline") {
      contest.baseline = text(key, node);
    } else if (key == "challenger") {
      contest.question.challenger = text(key, node);
    } else if (key == "rivals") {
      contest.question.rivals = names(key, node);
    } else if (key == "classics") {
      contest.question.classics = names(key, node);
    } else if (key == "probe") {
      contest.question.probe = text(key, node);
    } else if (key != "arm" && key != "task" && !read_common(key, node, common)) {
      throw_unknown_key(node, key, joined(kFileKeys, kCommonKeys));
    }
  }
}

void ContestReader::read_task(const toml::table& table, TaskDefaults& defaults) const {
  auto& task = defaults.task;
  task.origin = {where(), static_cast<std::int64_t>(table.source().begin.line)};
  for (const auto& [name, node] : table) {
    const std::string key(name.str());
    if (key == "name") {
      task.name = text(key, node);
      if (!base::is_safe_name(task.name)) {
        throw_at(node, fmt::format("the name '{}' is not a plain directory name, such as gpt-small", task.name));
      }
    } else if (key == "title") {
      task.title = text(key, node);
    } else if (key == "group") {
      task.group = text(key, node);
    } else if (key == "task") {
      task.task = text(key, node);
    } else if (key == "arms") {
      task.arms = names(key, node);
    } else if (key == "rates") {
      defaults.rates = rates(key, node);
    } else if (key == "rates_of") {
      if (!node.is_table()) throw_at(node, "rates_of must be a table, such as rates_of.lehi = [1e-3, 3e-3]");
      for (const auto& [arm, list] : *node.as_table()) {
        const std::string of(arm.str());
        task.rates_of[of] = rates("rates_of." + of, list);
      }
    } else if (key == "replace") {
      if (!node.is_table()) throw_at(node, "replace must be a table, such as replace.soap = \"soap[sides=automatic]\"");
      for (const auto& [arm, optimizer] : *node.as_table()) {
        task.optimizer_of[std::string(arm.str())] = this->optimizer("replace", optimizer);
      }
    } else if (!read_common(key, node, defaults)) {
      throw_unknown_key(node, key, joined(kTaskKeys, kCommonKeys));
    }
  }
  if (task.title.empty()) task.title = task.name;
}

}  // namespace lehi::contest
