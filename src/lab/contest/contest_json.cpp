#include "contest/contest_json.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "files/files.h"
#include "study/json.h"
#include "train/json_file.h"

namespace lehi::contest {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using study::number_or_null;

constexpr std::uint64_t kLargestResult = std::uint64_t{1} << 26;

template <class T, class Convert>
ordered_json list_of(const std::vector<T>& values, const Convert& convert) {
  auto list = ordered_json::array();
  for (const auto& value : values) list.push_back(convert(value));
  return list;
}

ordered_json to_json(const Trial& trial) {
  return {{"lr", trial.lr}, {"knob", trial.knob}, {"value", number_or_null(trial.value)}};
}

ordered_json to_json(const study::SeedValue& value) {
  return {{"seed", value.seed}, {"value", number_or_null(value.value)}};
}

ordered_json values_json(const std::vector<study::SeedValue>& values) {
  return list_of(values, [](const auto& value) { return to_json(value); });
}

ordered_json to_json(const StepTime& time) {
  return {{"ratio", number_or_null(time.ratio)},
          {"low", number_or_null(time.low)},
          {"high", number_or_null(time.high)},
          {"seconds", number_or_null(time.seconds)}};
}

ordered_json optional_json(const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(); }

ordered_json to_json(const SpeedUp& speed_up) {
  return {{"points", list_of(speed_up.points,
                             [](const auto& point) {
                               return ordered_json{{"fraction", point.fraction}, {"values", values_json(point.values)}};
                             })},
          {"steps_fraction", optional_json(speed_up.steps_fraction)},
          {"seconds_fraction", optional_json(speed_up.seconds_fraction)}};
}

ordered_json to_json(const ArmResult& arm) {
  return {{"arm", arm.arm},
          {"label", arm.label},
          {"control", arm.control},
          {"optimizer", arm.optimizer},
          {"trials", list_of(arm.trials, [](const auto& trial) { return to_json(trial); })},
          {"lr", arm.lr},
          {"knob", arm.knob},
          {"rate_at_edge", arm.rate_at_edge},
          {"time", to_json(arm.time)},
          {"steps", arm.steps},
          {"values", values_json(arm.values)},
          {"speed_up", arm.speed_up ? to_json(*arm.speed_up) : ordered_json()}};
}

ordered_json to_json(const TaskResult& task) {
  return {{"name", task.name},
          {"title", task.title},
          {"group", task.group},
          {"batch_size", task.batch_size},
          {"parameters", task.parameters},
          {"metric", task.metric},
          {"tuning_metric", task.tuning_metric},
          {"baseline", task.baseline},
          {"steps", task.steps},
          {"effect", task.effect},
          {"arms", list_of(task.arms, [](const auto& arm) { return to_json(arm); })}};
}

/// Reads the fields of one object of the file.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::string text(const char* key) const { return train::text_field(object_, key, where_); }
  std::vector<std::string> texts(const char* key) const { return train::strings_field(object_, key, where_); }
  double number(const char* key) const { return train::number_field(object_, key, where_); }
  std::int64_t count(const char* key) const { return train::count_field(object_, key, where_); }

  bool flag(const char* key) const {
    const auto& value = train::field(object_, key, where_);
    if (!value.is_boolean()) throw_type(key, "true or false");
    return value.get<bool>();
  }

  double number_or_nan(const char* key) const {
    return train::field(object_, key, where_).is_null() ? study::kNan : number(key);
  }

  std::optional<double> optional_number(const char* key) const {
    if (train::field(object_, key, where_).is_null()) return {};
    return number(key);
  }

  template <class T>
  std::vector<T> list(const char* key, T (*convert)(const Fields&)) const {
    const auto& list = train::field(object_, key, where_);
    if (!list.is_array()) throw_type(key, "a list");
    std::vector<T> values;
    for (std::size_t i = 0; i < list.size(); ++i) {
      values.push_back(convert(Fields(list[i], fmt::format("{}, {} {}", where_, key, i + 1))));
    }
    return values;
  }

  Fields object(const char* key) const {
    return {train::object_field(object_, key, where_), fmt::format("{}, {}", where_, key)};
  }
  bool is_null(const char* key) const { return train::field(object_, key, where_).is_null(); }

 private:
  [[noreturn]] void throw_type(const char* key, const char* expected) const {
    throw FileError(fmt::format("{}: '{}' must be {}", where_, key, expected));
  }

  const json& object_;
  std::string where_;
};

Trial trial_from(const Fields& fields) {
  return {fields.number("lr"), fields.text("knob"), fields.number_or_nan("value")};
}

study::SeedValue value_from(const Fields& fields) {
  return {static_cast<std::uint64_t>(fields.count("seed")), fields.number_or_nan("value")};
}

SpeedUp::Point point_from(const Fields& fields) {
  return {fields.number("fraction"), fields.list("values", value_from)};
}

SpeedUp speed_up_from(const Fields& fields) {
  return {fields.list("points", point_from), fields.optional_number("steps_fraction"),
          fields.optional_number("seconds_fraction")};
}

StepTime time_from(const Fields& fields) {
  return {.ratio = fields.number_or_nan("ratio"),
          .low = fields.number_or_nan("low"),
          .high = fields.number_or_nan("high"),
          .seconds = fields.number_or_nan("seconds")};
}

ArmResult arm_from(const Fields& fields) {
  ArmResult arm;
  arm.arm = fields.text("arm");
  arm.label = fields.text("label");
  arm.control = fields.flag("control");
  arm.optimizer = fields.text("optimizer");
  arm.trials = fields.list("trials", trial_from);
  arm.lr = fields.number("lr");
  arm.knob = fields.text("knob");
  arm.rate_at_edge = fields.flag("rate_at_edge");
  arm.time = time_from(fields.object("time"));
  arm.steps = fields.count("steps");
  arm.values = fields.list("values", value_from);
  if (!fields.is_null("speed_up")) arm.speed_up = speed_up_from(fields.object("speed_up"));
  return arm;
}

TaskResult task_from(const Fields& fields) {
  TaskResult task;
  task.name = fields.text("name");
  task.title = fields.text("title");
  task.group = fields.text("group");
  task.batch_size = fields.count("batch_size");
  task.parameters = fields.count("parameters");
  task.metric = fields.text("metric");
  task.tuning_metric = fields.text("tuning_metric");
  task.baseline = fields.text("baseline");
  task.steps = fields.count("steps");
  task.effect = fields.number("effect");
  task.arms = fields.list("arms", arm_from);
  return task;
}

}  // namespace

ordered_json to_json(const Result& result) {
  return {{"schema", Result::kSchema},
          {"lehi_version", result.lehi_version},
          {"started", result.started},
          {"finished", result.finished.empty() ? ordered_json() : ordered_json(result.finished)},
          {"machine", result.machine},
          {"command_line", result.command_line},
          {"question",
           {{"challenger", result.question.challenger},
            {"rivals", result.question.rivals},
            {"classics", result.question.classics},
            {"probe", result.question.probe}}},
          {"tasks", list_of(result.tasks, [](const auto& task) { return to_json(task); })},
          {"missing", result.missing}};
}

Result result_from(const json& document, const std::string& where) {
  const Fields fields(document, where);
  const auto schema = fields.count("schema");
  if (schema != Result::kSchema) {
    throw FileError(fmt::format("{}: 'schema' is {}, this lehi reads {}; use the lehi that wrote it", where, schema,
                                Result::kSchema));
  }
  Result result;
  result.lehi_version = fields.text("lehi_version");
  result.started = fields.text("started");
  if (!fields.is_null("finished")) result.finished = fields.text("finished");
  result.machine = fields.text("machine");
  result.command_line = fields.texts("command_line");
  const auto question = fields.object("question");
  result.question = {question.text("challenger"), question.texts("rivals"), question.texts("classics"),
                     question.text("probe")};
  result.tasks = fields.list("tasks", task_from);
  result.missing = fields.texts("missing");
  return result;
}

void write_result(const std::filesystem::path& directory, const Result& result) {
  publish_text(directory / kResultFile,
               to_json(result).dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

Result read_result(const std::filesystem::path& directory) {
  const auto path = directory / kResultFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw FileError(
        fmt::format("{} has no {}; name a directory that `lehi contest --out` wrote", directory.string(), kResultFile));
  }
  return result_from(train::parse_json(read_text(path, kLargestResult), path.string()), path.string());
}

}  // namespace lehi::contest
