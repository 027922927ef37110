// From predictions to g and s: evaluation and pull-backs. Micro-batches are in optimizer_accumulate.cpp, several ranks
// in optimizer_ranks.cpp, what happens to g and s in optimizer_apply.cpp.
#include "lehi/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "curvature/pull_back.h"
#include "lehi/error.h"
#include "optim/rank_sums.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

std::vector<Tensor> values_of(const torch::OrderedDict<std::string, Tensor>& parameters) {
  std::vector<Tensor> values;
  for (const auto& item : parameters) values.push_back(item.value());
  return values;
}

// Checked before the base class copies them.
Options checked(Options options) {
  check(options);
  return options;
}

void check_delivery(const std::vector<Tensor>& pulled, std::size_t cotangents, const Tensor& parameter,
                    const std::string& name) {
  if (pulled.size() != cotangents) {
    refuse("the network's pull_back delivered {} tensors of {} for {} cotangents", pulled.size(), name, cotangents);
  }
  for (const Tensor& tensor : pulled) {
    if (!tensor.defined()) refuse("the network's pull_back delivered an undefined tensor of {}", name);
    if (tensor.sizes() == parameter.sizes()) continue;
    refuse("the network's pull_back delivered shape [{}] of {}, which has shape [{}]", fmt::join(tensor.sizes(), ", "),
           name, fmt::join(parameter.sizes(), ", "));
  }
}

// sum += part; a sparse part has rows of the first dimension.
void add_to(Tensor& sum, const Tensor& part) {
  if (part.is_sparse()) {
    sum.index_add_(0, part._indices()[0], part._values());
  } else {
    sum.add_(part);
  }
}

// What the losses' own parameters get beside what comes back through the network, by the parameters' indices.
class Owned {
 public:
  Owned(std::span<const Term> terms, std::span<Evaluation> evaluations, const std::vector<Tensor>& parameters,
        bool second) {
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const auto own = terms[t].loss.parameters();
      for (std::size_t p = 0; p < own.size(); ++p) {
        const auto found = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const Tensor& parameter) { return parameter.is_same(own[p]); });
        if (found == parameters.end()) continue;  // not this optimizer's, or frozen
        std::vector<Tensor> parts = {evaluations[t].parameter_gradients[p]};
        if (second) parts.push_back(evaluations[t].parameter_probes[p]);
        add(static_cast<std::size_t>(found - parameters.begin()), std::move(parts));
      }
    }
  }

  // The whole of a parameter's g and s, as dense tensors: `pulled` and what the losses had for it, which is then gone.
  std::vector<Tensor> joined_with(std::size_t index, const std::vector<Tensor>& pulled) {
    std::vector<Tensor> sums;
    if (const auto found = parts_.find(index); found != parts_.end()) {
      sums = std::move(found->second);
      parts_.erase(found);
      for (std::size_t c = 0; c < sums.size(); ++c) add_to(sums[c], pulled[c]);
      return sums;
    }
    for (const Tensor& tensor : pulled) sums.push_back(tensor.is_sparse() ? tensor.to_dense() : tensor);
    return sums;
  }

  // What no network has taken.
  const std::map<std::size_t, std::vector<Tensor>>& rest() const { return parts_; }

 private:
  void add(std::size_t index, std::vector<Tensor> parts) {
    const auto [place, is_new] = parts_.emplace(index, parts);
    if (is_new) return;
    for (std::size_t c = 0; c < parts.size(); ++c) place->second[c] = place->second[c] + parts[c];
  }

  std::map<std::size_t, std::vector<Tensor>> parts_;
};

// What a rank without rows adds to a step.
Evaluation evaluation_of_no_rows(const Term& term, bool second) {
  const torch::NoGradGuard no_grad;
  Evaluation evaluation;
  evaluation.gradient = torch::zeros_like(term.predictions);
  if (second) evaluation.probe = torch::zeros_like(term.predictions);
  for (const Tensor& parameter : term.loss.parameters()) {
    evaluation.parameter_gradients.push_back(torch::zeros_like(parameter));
    if (second) evaluation.parameter_probes.push_back(torch::zeros_like(parameter));
  }
  return evaluation;
}

// Sends every parameter's g and s, complete, to `take(index, parts)`: what the network delivers, joined with what the
// losses have.
template <class Take>
void pull_through(const Differentiable& network, const std::vector<Tensor>& cotangents,
                  const std::vector<Tensor>& parameters, Owned& owned, Take&& take) {
  if (!network.pull_back) refuse("the network has no pull_back: without one nothing can be differentiated");
  const torch::NoGradGuard no_grad;
  std::vector<bool> delivered(parameters.size(), false);
  bool any = false;
  network.pull_back(cotangents, [&](const Tensor& parameter, const std::vector<Tensor>& pulled) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].is_same(parameter)) continue;
      const std::string name = fmt::format("parameter {}", i);
      check_delivery(pulled, cotangents.size(), parameter, name);
      if (delivered[i]) refuse("the network's pull_back delivered {} twice", name);
      delivered[i] = any = true;
      take(i, owned.joined_with(i, pulled));
      return;
    }
  });
  for (const auto& [index, parts] : owned.rest()) {
    any = true;
    take(index, parts);
  }
  if (!any) refuse("none of the optimizer's parameters takes part in the network: there is nothing to train");
}

}  // namespace

Optimizer::Optimizer(std::vector<torch::optim::OptimizerParamGroup> groups, Options options)
    : torch::optim::Optimizer(std::move(groups), std::make_unique<GroupOptions>(checked(options).group)),
      options_(std::move(options)) {
  check_parameters();
}

Optimizer::Optimizer(std::vector<Tensor> parameters, Options options)
    : Optimizer(
          std::vector<torch::optim::OptimizerParamGroup>{torch::optim::OptimizerParamGroup(std::move(parameters))},
          std::move(options)) {}

Optimizer::Optimizer(const torch::OrderedDict<std::string, Tensor>& parameters, Options options)
    : Optimizer(values_of(parameters), std::move(options)) {
  name_parameters(parameters);
}

void Optimizer::check_parameters() {
  all_parameters();
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    check(group_options(group), options_.recipe.rule);
    const auto& parameters = param_groups_[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_floating_point() && parameters[i].layout() == torch::kStrided) continue;
      refuse("{} is a {} tensor of layout {}; expected a dense floating-point one", parameter_name(group, i),
             c10::toString(parameters[i].scalar_type()),
             parameters[i].layout() == torch::kStrided ? "strided" : "sparse");
    }
  }
}

const std::vector<Tensor>& Optimizer::all_parameters() {
  // A user may have added parameters since the last step, to a group or as one.
  std::size_t known = 0;
  bool same = true;
  for (const auto& group : param_groups_) {
    for (const Tensor& parameter : group.params()) {
      same = same && known < members_.parameters.size() && members_.parameters[known].is_same(parameter);
      ++known;
    }
  }
  if (same && known == members_.parameters.size()) return members_.parameters;

  Members members;
  std::set<const void*> seen;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    const auto& parameters = param_groups_[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].defined()) refuse("parameter {} of group {} is an undefined tensor", i, group);
      if (!seen.insert(parameters[i].unsafeGetTensorImpl()).second) {
        refuse("{} is listed twice: it would take two steps at once", parameter_name(group, i));
      }
      members.parameters.push_back(parameters[i]);
      members.keys.push_back(compat::state_key(parameters[i]));
      members.groups.push_back(group);
      members.places.push_back(i);
    }
  }
  members_ = std::move(members);
  if (ranks_ != nullptr) make_rank_sums();
  return members_.parameters;
}

std::size_t Optimizer::parameter_total() const {
  std::size_t total = 0;
  for (const auto& group : param_groups_) total += group.params().size();
  return total;
}

const GroupOptions& Optimizer::group_options(std::size_t group) const {
  const auto* options = dynamic_cast<const GroupOptions*>(&param_groups_[group].options());
  if (options == nullptr) {
    refuse("parameter group {} has another optimizer's options: give it lehi::GroupOptions, or none", group);
  }
  return *options;
}

// The schedule's answer for the coming step. It starts anew when parameters were added: they need a scale of their own,
// and a noisy probe its dense start.
Refresh Optimizer::next_refresh() const {
  const bool newcomers = known_parameters_ != parameter_total();
  Refresh refresh = refresh_at(options_.recipe.schedule, newcomers ? 1 : step_ + 1 - schedule_start_);
  if (options_.recipe.probe == Probe::gradient) refresh.use_gradient = true;
  // With a mix, g^2 enters at every step: a v that hears of curvature only now and then has no brake when gradients
  // grow.
  if (options_.recipe.mix != Mix::none && !refresh.due) refresh = {.due = true, .use_gradient = true, .covers = 1};
  return refresh;
}

bool Optimizer::needs_second_pull_back(const Refresh& refresh) const {
  return refresh.due && !refresh.use_gradient && options_.recipe.rule != Rule::sgd;
}

ProbeRequest Optimizer::probe_request(const Term& term, std::size_t index, const Refresh& refresh) const {
  ProbeRequest request;
  if (needs_second_pull_back(refresh)) request.probe = options_.recipe.probe;
  request.scale = options_.recipe.scale;
  std::int64_t first_row = micro_batches_ > 0 ? sums_[index].rows : 0;
  if (const Tensor& predictions = term.predictions; ranks_ != nullptr && predictions.dim() > 0) {
    const std::int64_t own = std::max<std::int64_t>(1, predictions.size(0));
    first_row += first_row_.value_or(ranks_->rank() * own) * (row_shape(predictions).rows / own);
  }
  request.key = {options_.seed, static_cast<std::uint64_t>(step_ + 1), static_cast<std::uint64_t>(first_row),
                 static_cast<std::uint32_t>(index)};
  return request;
}

// Fills evaluations_. Returns what is not finite, or "".
std::string Optimizer::evaluate_terms(const std::vector<Term>& terms, const Refresh& refresh) {
  evaluations_.resize(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (!(terms[t].weight >= 0.0) || std::isinf(terms[t].weight)) {
      refuse("term {} has weight {}, but a weight must be finite and >= 0", t, terms[t].weight);
    }
    if (ranks_ != nullptr && terms[t].predictions.numel() == 0) {
      evaluations_[t] = evaluation_of_no_rows(terms[t], needs_second_pull_back(refresh));
      continue;
    }
    try {
      terms[t].loss.evaluate(terms[t].predictions, terms[t].targets, probe_request(terms[t], t, refresh),
                             evaluations_[t]);
    } catch (const NonFiniteError& error) {
      return error.what();
    }
  }
  return "";
}

// trouble: what keeps this rank from going on, or "". totals are summed over the ranks. False when one of them can't go
// on, under the policies that do not raise then.
bool Optimizer::all_go_on(const std::string& trouble, std::vector<double*> totals) {
  std::string text = trouble;
  if (ranks_ != nullptr) {
    double in_trouble = trouble.empty() ? 0.0 : 1.0;
    totals.push_back(&in_trouble);
    sum_over_ranks(totals);
    if (text.empty() && in_trouble > 0.0) text = "the predictions of another rank are not finite";
  }
  if (text.empty()) return true;
  if (options_.non_finite != NonFinite::raise) return false;
  discard_accumulated();
  throw NonFiniteError(fmt::format("step {}: {}", step_ + 1, text));
}

// Each list of cotangents, one a term, pulled back to all parameters: through the terms' graphs, or by the network.
// evaluations: of the terms.
void Optimizer::pull(std::span<const Term> terms, std::span<Evaluation> evaluations,
                     const std::vector<Tensors>& cotangents, bool keep_graph, const Differentiable* network,
                     const Take& take) {
  const Tensors& parameters = all_parameters();
  Owned owned(terms, evaluations, parameters, cotangents.size() == 2);
  if (network != nullptr) {
    Tensors of_the_term;
    for (const Tensors& list : cotangents) of_the_term.push_back(list.front());
    return pull_through(*network, of_the_term, parameters, owned, take);
  }
  Tensors predictions;
  for (const Term& term : terms) predictions.push_back(term.predictions);
  std::vector<Tensors> results(cotangents.size());
  for (std::size_t c = 0; c < cotangents.size(); ++c) {
    const bool again = c + 1 < cotangents.size();
    results[c] = pull_back(predictions, cotangents[c], parameters, keep_graph || again);
    for (const auto& [index, parts] : owned.rest()) {
      results[c][index] = results[c][index].defined() ? results[c][index] + parts[c] : parts[c];
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!results.front()[i].defined()) continue;
    Tensors parts;
    for (Tensors& result : results) parts.push_back(std::move(result[i]));
    take(i, parts);
  }
}

// The term's part of the value, and its factors: left to the update where it is the only term, at no cost.
void Optimizer::scale_term(const Term& term, std::size_t index, bool alone, Pulled& pulled) {
  Evaluation& evaluation = evaluations_[index];
  if (evaluation.count <= 0.0) {
    refuse("term {}: every target is ignored or has weight 0, so its mean does not exist", index);
  }
  pulled.value += term.weight * evaluation.mean();
  const double g_factor = term.weight / evaluation.count;
  const double s_factor = probe_factor(options_.recipe.scale, term.weight, evaluation.count);
  if (alone) {
    pulled.g_factor = g_factor;
    pulled.s_factor = s_factor;
    return;
  }
  evaluation.gradient.mul_(g_factor);
  for (Tensor& gradient : evaluation.parameter_gradients) gradient.mul_(g_factor);
  if (evaluation.probe.defined()) evaluation.probe.mul_(s_factor);
  for (Tensor& probe : evaluation.parameter_probes) probe.mul_(s_factor);
}

Optimizer::Pulled Optimizer::pull_terms(const std::vector<Term>& terms, const Refresh& refresh, bool keep_graph,
                                        const Differentiable* network) {
  const bool second = needs_second_pull_back(refresh);
  Pulled pulled;
  std::vector<Tensors> cotangents(second ? 2 : 1);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    scale_term(terms[t], t, terms.size() == 1, pulled);
    cotangents[0].push_back(evaluations_[t].gradient);
    if (second) cotangents[1].push_back(evaluations_[t].probe);
  }
  pulled.count = evaluations_.front().count;
  pulled.g.resize(parameter_total());
  if (second) pulled.s.resize(pulled.g.size());
  const Take keep = [&](std::size_t index, const Tensors& parts) {
    pulled.g[index] = parts[0];
    if (second) pulled.s[index] = parts[1];
  };
  if (ranks_ == nullptr) {
    pull(terms, evaluations_, cotangents, keep_graph, network, keep);
    return pulled;
  }
  all_parameters();
  rank_sums_->begin(cotangents.size());
  pull(terms, evaluations_, cotangents, keep_graph, network,
       [this](std::size_t index, const Tensors& parts) { rank_sums_->add(index, parts); });
  rank_sums_->flush();
  rank_sums_->complete(/*pending=*/0, keep);
  return pulled;
}

// Every parameter is updated as it arrives, and its g and s are let go.
double Optimizer::step_during_pull_back(const Term& term, const Refresh& refresh, const Differentiable& network) {
  check_parameters();
  const bool second = needs_second_pull_back(refresh);
  const Tensors& parameters = all_parameters();
  Pulled pulled;
  pulled.g.resize(parameters.size());
  if (second) pulled.s.resize(parameters.size());
  pulled.count = evaluations_.front().count;
  scale_term(term, 0, /*alone=*/true, pulled);
  begin_report(pulled, refresh, second);
  Measured measured{.largest = std::vector<double>(param_groups_.size())};
  Tensors cotangents = {evaluations_.front().gradient};
  if (second) cotangents.push_back(evaluations_.front().probe);
  Owned owned(std::span(&term, 1), evaluations_, parameters, second);
  const Take update = [&](std::size_t index, const Tensors& parts) {
    pulled.g[index] = parts[0];
    if (second) pulled.s[index] = parts[1];
    measure(pulled, index, measured);
    update_parameter(pulled, index, refresh);
    pulled.g[index].reset();
    if (second) pulled.s[index].reset();
  };
  if (ranks_ == nullptr) {
    pull_through(network, cotangents, parameters, owned, update);
  } else {
    // One bucket is summed while the next one fills, and no more are kept.
    const auto complete = [&](std::size_t pending) {
      rank_sums_->complete(pending, update);
      rank_sums_->release();
    };
    rank_sums_->begin(cotangents.size());
    pull_through(network, cotangents, parameters, owned, [&](std::size_t index, const Tensors& parts) {
      rank_sums_->add(index, parts);
      complete(/*pending=*/1);
    });
    rank_sums_->flush();
    complete(/*pending=*/0);
    share_weights();
  }
  report_norms(pulled, measured);
  return finish_step(pulled);
}

double Optimizer::step(const Tensor& predictions, const Loss& loss, const Tensor& targets, bool keep_graph) {
  return run_step({Term{predictions, loss, targets}}, {}, keep_graph, nullptr);
}

double Optimizer::step(const Differentiable& network, const Loss& loss, const Tensor& targets) {
  return run_step({Term{network.predictions, loss, targets}}, {}, /*keep_graph=*/false, &network);
}

double Optimizer::step(const std::vector<Term>& terms, const Tensor& regulariser, bool keep_graph) {
  return run_step(terms, regulariser, keep_graph, nullptr);
}

// network: what differentiates the one term; nullptr: the terms' graphs.
double Optimizer::run_step(const std::vector<Term>& terms, const Tensor& regulariser, bool keep_graph,
                           const Differentiable* network) {
  if (terms.empty() && micro_batches_ == 0) refuse("step() was given no loss term and nothing was accumulated");
  if (!terms.empty() && micro_batches_ > 0) {
    refuse("{} accumulated micro-batches wait for step(): call it without terms, or discard_accumulated() first",
           micro_batches_);
  }
  const bool at_once = options_.update_during_pull_back;
  if (at_once && (network == nullptr || regulariser.defined())) {
    refuse(
        "update_during_pull_back is for networks that differentiate themselves (lehi::Differentiable), without a "
        "regulariser: nothing else tells when a weight's gradient is complete");
  }
  const Refresh refresh = next_refresh();
  Pulled pulled;
  std::vector<double*> totals;
  if (terms.empty()) {
    for (TermSums& sums : sums_) totals.insert(totals.end(), {&sums.value, &sums.count});
    const std::string trouble = poisoned_ ? "the predictions of a micro-batch are not finite" : "";
    if (!all_go_on(trouble, totals)) return skip_step(std::numeric_limits<double>::quiet_NaN());
    pulled = gather_accumulated(refresh);
  } else {
    const std::string trouble = evaluate_terms(terms, refresh);
    for (Evaluation& evaluation : evaluations_) totals.insert(totals.end(), {&evaluation.sum, &evaluation.count});
    if (!all_go_on(trouble, totals)) return skip_step(std::numeric_limits<double>::quiet_NaN());
    if (at_once) return step_during_pull_back(terms.front(), refresh, *network);
    pulled = pull_terms(terms, refresh, keep_graph || regulariser.defined(), network);
  }
  if (regulariser.defined()) add_regulariser(regulariser, keep_graph, pulled);
  return apply(pulled, refresh);
}

void Optimizer::add_regulariser(const Tensor& regulariser, bool keep_graph, Pulled& pulled) {
  if (regulariser.numel() != 1) {
    refuse("the regulariser has {} elements, but must be a scalar tensor", regulariser.numel());
  }
  const auto parts = pull_back({regulariser}, {torch::ones_like(regulariser)}, all_parameters(), keep_graph);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (pulled.g[i].defined()) pulled.g[i] = pulled.g[i] * pulled.g_factor;
    if (!parts[i].defined()) continue;
    pulled.g[i] = pulled.g[i].defined() ? pulled.g[i] + parts[i] : parts[i];
  }
  pulled.g_factor = 1.0;
  pulled.value += regulariser.detach().item<double>();
}

// value: what the closure returned; undefined without one.
Optimizer::Pulled Optimizer::gather_gradients(const Tensor& value) {
  Pulled pulled;
  pulled.value_known = value.defined();
  pulled.value = value.defined() ? value.detach().item<double>() : std::numeric_limits<double>::quiet_NaN();
  pulled.count = 1.0;
  for (const Tensor& parameter : all_parameters()) {
    const Tensor& gradient = parameter.grad();
    if (gradient.defined() && gradient.layout() != torch::kStrided) {
      refuse("a parameter has a sparse .grad(): use dense embeddings (sparse = false)");
    }
    pulled.g.push_back(gradient.defined() ? gradient.detach() : gradient);
  }
  if (ranks_ != nullptr) {
    const double ranks = ranks_->size();
    if (pulled.value_known) {
      sum_over_ranks({&pulled.value});
      pulled.value /= ranks;
    }
    sum_over_ranks(pulled);
    pulled.g_factor = 1.0 / ranks;
  }
  return pulled;
}

Tensor Optimizer::step(LossClosure closure) {
  if (micro_batches_ > 0) {
    if (closure) refuse("step() after accumulate() takes no closure: the gradients are already there");
    return torch::tensor(step(std::vector<Term>{}), torch::kFloat64);
  }
  if (options_.recipe.probe != Probe::gradient) {
    refuse(
        "{} pulls back a {} probe, for which it must see the predictions: call step(predictions, loss, targets) "
        "instead "
        "of step(closure)",
        options_.name, name(options_.recipe.probe));
  }
  Tensor value;
  if (closure) {
    const torch::AutoGradMode with_grad(true);
    value = closure();
  }
  apply(gather_gradients(value), next_refresh());
  return value;
}

}  // namespace lehi
