#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "report/contest_answers.h"
#include "report/contest_blocks.h"
#include "report/contest_report.h"
#include "report/contest_sentences.h"
#include "report/format.h"

namespace lehi::report {

namespace {

Document verdict_blocks(const contest::Result& result, const std::vector<TaskAnalysis>& tasks) {
  Document blocks = {Heading{2, "Verdict"}};
  std::vector<std::string> winners;
  for (const auto& task : tasks) {
    if (task.task->group.empty()) winners.push_back(winner_sentence(task, result.question.challenger));
  }
  if (winners.empty()) {
    blocks.push_back(Paragraph{"No task has a result yet."});
  } else {
    blocks.push_back(List{winners});
  }
  blocks.push_back(Heading{2, "Goals"});
  Table table{{{"goal", "", "outcome"}}, {"goal", "", "outcome"}};
  const auto all = answers(result, tasks);
  for (const auto& answer : all) {
    table.rows.push_back({fmt::format("({})", answer.letter), answer.goal, outcome_text(answer.outcome)});
  }
  blocks.push_back(table);
  for (const auto& answer : all) {
    blocks.push_back(Heading{3, fmt::format("({}) {}", answer.letter, outcome_text(answer.outcome))});
    if (!answer.sentences.empty()) blocks.push_back(List{answer.sentences});
  }
  return blocks;
}

Document protocol_blocks() {
  return {
      Heading{2, "Protocol"},
      List{{"Warm-up of 5 % of the steps, then linear decay to 0, for each run and optimizer.",
            ("Each optimizer is tuned alone: first rates, then values of one declared knob at the best rate, on rows "
             "held out from training and with tuning seeds. No run of the verdict has a tuning seed."),
            ("The verdict has fresh seeds, the same for all optimizers, so differences are paired. An interval of the "
             "mean of the differences by Student's t at 95 % decides; it is not corrected for the number of "
             "comparisons, so about 1 in 20 differences between equals is called clear."),
            ("Equal time: step times are measured in runs that take turns, and each optimizer gets as many steps as "
             "fit the baseline's time, with its decay ending there. The step time is relative to the baseline's: "
             "median over the rounds, and the smallest and largest round."),
            ("Speed-up: the smallest fraction of the baseline's steps, with a decay of its own, that reaches the "
             "baseline's final result; in time, that fraction multiplied by the step time."),
            ("± after a mean is half of its 95 % interval over seeds. Seeds choose the first weights and the order of "
             "the rows; all have the same test rows, so no interval says how another choice of rows would come out."),
            ("A seed that diverged counts as worst. Where one did, a sign test over the pairs decides instead of the "
             "interval."),
            "Controls change a part of the challenger, to ask whether that is the cause. They can't win.",
            ("\"No clear difference\" means that the seeds do not show one, not that there is none; each task says "
             "what its seeds can find. \"At least level\" and \"worse on no task\" are met where the interval leaves "
             "less than the difference worth finding to lose, and not shown where it leaves more.")}}};
}

Document origin_blocks(const contest::Result& result) {
  Document blocks = {Heading{2, "How it was made"}};
  std::vector<std::string> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back(fmt::format("{}: {}", name, value));
  };
  add("lehi", result.lehi_version);
  add("Machine", result.machine);
  add("Started", result.started);
  add("Finished", result.finished);
  if (!facts.empty()) blocks.push_back(List{facts});
  if (!result.command_line.empty()) blocks.push_back(Commands{{shell_line(result.command_line)}});
  if (blocks.size() == 1) blocks.push_back(Paragraph{"Not recorded."});
  return blocks;
}

Document missing_blocks(const contest::Result& result) {
  if (result.missing.empty()) return {};
  return {Heading{2, "What is missing"}, List{result.missing}};
}

}  // namespace

void add_blocks(Document& document, Document more) {
  std::move(more.begin(), more.end(), std::back_inserter(document));
}

Document contest_document(const contest::Result& result, const std::string& pictures) {
  const auto tasks = analyse(result);
  std::string introduction = "Written by lehi from contest.json; all numbers and sentences are computed.";
  if (result.finished.empty()) introduction += " The contest is not finished.";
  if (!result.missing.empty())
    introduction += fmt::format(" Missing: {}, listed below.", counted(result.missing.size(), "item"));
  Document document = {Heading{1, "Contest"}, Paragraph{introduction}};
  add_blocks(document, verdict_blocks(result, tasks));
  for (const auto& task : tasks) {
    if (task.task->group.empty()) add_blocks(document, task_blocks(result, task, pictures, 2));
  }
  for (const auto& panel : batch_panels(result)) {
    add_blocks(document, panel_blocks(result, panel, pictures));
    for (const auto& task : tasks) {
      if (task.task->group == panel.group) add_blocks(document, task_blocks(result, task, pictures, 3));
    }
  }
  add_blocks(document, protocol_blocks());
  add_blocks(document, missing_blocks(result));
  add_blocks(document, origin_blocks(result));
  return document;
}

}  // namespace lehi::report
