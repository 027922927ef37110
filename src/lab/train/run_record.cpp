#include "train/run_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>

#include "files/files.h"
#include "train/json_file.h"

namespace lehi::train {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestRecord = 16'000'000;

constexpr std::array<std::pair<RunStatus, std::string_view>, 5> kStatuses = {{{RunStatus::running, "running"},
                                                                              {RunStatus::done, "done"},
                                                                              {RunStatus::diverged, "diverged"},
                                                                              {RunStatus::interrupted, "interrupted"},
                                                                              {RunStatus::failed, "failed"}}};

json host_json(const RunRecord& record) {
  const auto& host = record.host;
  return {{"name", record.host_name},
          {"cpu", host.cpu},
          {"vendor", host.vendor},
          {"vector_units", host.vector_units},
          {"cores", host.cores},
          {"memory_bytes", host.memory_bytes},
          {"blas", host.blas},
          {"blas_kernel", host.blas_kernel},
          {"torch_version", host.torch_version},
          {"torch_threads", host.torch_threads}};
}

nlohmann::ordered_json document_of(const RunRecord& record) {
  return {{"schema", RunRecord::kSchema},
          {"lehi_version", record.lehi_version},
          {"git_hash", record.git_hash},
          {"host", host_json(record)},
          {"command_line", record.command_line},
          {"status", status_name(record.status)},
          {"message", record.message},
          {"task", record.task},
          {"preset", record.preset},
          {"optimizer", record.optimizer},
          {"lr", record.lr},
          {"seed", record.seed},
          {"parameters", record.parameters},
          {"started", record.started},
          {"finished", record.finished.empty() ? json() : json(record.finished)},
          {"sessions", record.sessions},
          {"result", record.result},
          {"notices", record.notices}};
}

int small_count(const json& document, const char* key, const std::string& where) {
  const auto count = count_field(document, key, where);
  if (count <= std::numeric_limits<int>::max()) return static_cast<int>(count);
  throw FileError(
      fmt::format("{}: '{}' is {}, expected at most {}", where, key, count, std::numeric_limits<int>::max()));
}

runtime::Host host_from(const json& document, const std::string& where) {
  runtime::Host host;
  host.cpu = text_field(document, "cpu", where);
  host.vendor = text_field(document, "vendor", where);
  host.vector_units = text_field(document, "vector_units", where);
  host.cores = small_count(document, "cores", where);
  host.memory_bytes = count_field(document, "memory_bytes", where);
  host.blas = text_field(document, "blas", where);
  host.blas_kernel = text_field(document, "blas_kernel", where);
  host.torch_version = text_field(document, "torch_version", where);
  host.torch_threads = small_count(document, "torch_threads", where);
  return host;
}

RunStatus status_from(const json& document, const std::string& where) {
  const auto text = text_field(document, "status", where);
  for (const auto& [status, name] : kStatuses) {
    if (text == name) return status;
  }
  throw FileError(fmt::format("{}: 'status' is {}, expected running, done, diverged, interrupted or failed", where,
                              in_quotes(text)));
}

// Empty in records of earlier versions.
std::vector<std::int64_t> sessions_from(const json& document, const std::string& where) {
  const auto found = document.find("sessions");
  if (found == document.end()) return {};
  std::vector<std::int64_t> steps;
  if (found->is_array()) {
    for (const auto& step : *found) {
      if (step.is_number_unsigned()) steps.push_back(count_field(json{{"sessions", step}}, "sessions", where));
    }
  }
  if (!found->is_array() || steps.size() != found->size()) {
    throw FileError(fmt::format("{}: 'sessions' is not a list of steps", where));
  }
  return steps;
}

}  // namespace

std::string_view status_name(RunStatus status) { return kStatuses.at(static_cast<std::size_t>(status)).second; }

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

double unix_time(const std::string& utc, const std::string& where) {
  std::tm parts{};
  const char* end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0' || utc.size() != 20) {
    throw FileError(fmt::format("{}: {} is not a time like 2024-05-06T07:08:09Z", where, in_quotes(utc)));
  }
  return static_cast<double>(::timegm(&parts));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

void write_run_record(const std::filesystem::path& path, const RunRecord& record) {
  publish_text(path, document_of(record).dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

RunRecord read_run_record(const std::filesystem::path& path) {
  const auto where = path.string();
  const auto document = parse_json(read_text(path, kLargestRecord), where);
  const auto schema = count_field(document, "schema", where);
  if (schema != RunRecord::kSchema) {
    throw FileError(fmt::format("{}: 'schema' is {}, this lehi reads {}; use the lehi that wrote it", where, schema,
                                RunRecord::kSchema));
  }
  RunRecord record;
  record.lehi_version = text_field(document, "lehi_version", where);
  record.git_hash = text_field(document, "git_hash", where);
  const auto& host = object_field(document, "host", where);
  record.host_name = text_field(host, "name", where + ", 'host'");
  record.host = host_from(host, where + ", 'host'");
  record.command_line = strings_field(document, "command_line", where);
  record.status = status_from(document, where);
  record.message = text_field(document, "message", where);
  record.task = text_field(document, "task", where);
  record.preset = text_field(document, "preset", where);
  record.optimizer = text_field(document, "optimizer", where);
  record.lr = number_field(document, "lr", where);
  if (!field(document, "seed", where).is_number_unsigned()) count_field(document, "seed", where);  // throws
  record.seed = document["seed"].get<std::uint64_t>();
  record.parameters = count_field(document, "parameters", where);
  record.started = text_field(document, "started", where);
  unix_time(record.started, where + ", 'started'");
  if (!field(document, "finished", where).is_null()) {
    record.finished = text_field(document, "finished", where);
    unix_time(record.finished, where + ", 'finished'");
  }
  record.sessions = sessions_from(document, where);
  record.result = object_field(document, "result", where);
  record.notices = strings_field(document, "notices", where);
  static const json known = json::parse(document_of(RunRecord()).dump());
  record.unknown = about_unknown_key(document, known, where);
  return record;
}

std::string rounding_differences(const runtime::Host& before, const runtime::Host& now) {
  std::vector<std::string> changes;
  const auto compare = [&](std::string_view what, const auto& then, const auto& here) {
    if (then != here) changes.push_back(fmt::format("{} {} instead of {}", what, here, then));
  };
  compare("threads:", before.torch_threads, now.torch_threads);
  compare("BLAS", before.blas, now.blas);
  if (before.blas == now.blas) compare("BLAS kernel", before.blas_kernel, now.blas_kernel);
  compare("vector units", before.vector_units, now.vector_units);
  compare("LibTorch", before.torch_version, now.torch_version);
  if (changes.empty()) return "";
  return fmt::format("the run began on a machine that rounds differently, so its last bits may differ from here on: {}",
                     fmt::join(changes, ", "));
}

}  // namespace lehi::train
