// Measures the times of several pieces of work ("contestants") that take turns, and ratios of these times. A round is
// one turn of each; every second round reverses the order, so that no contestant always follows the same one. A ratio
// is taken within a round, and the result is the median over the rounds: what slows the machine for a while slows both
// sides of a ratio.
//
//   Contest contest;
//   contest.add("ours", [&] { ours(); });
//   contest.add("theirs", [&] { theirs(); });
//   const double faster = contest.run(7).ratio({{"theirs"}}, {{"ours"}});
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lehi::bench {

/// NaN for no values.
double median(std::vector<double> values);

double seconds_of(const std::function<void()>& work);

/// Seconds per round, by contestant.
class Times {
 public:
  struct Share {
    std::string name;
    double weight = 1.0;
  };
  using Sum = std::vector<Share>;  ///< a weighted sum of times

  void add(const std::string& name, double seconds) { seconds_[name].push_back(seconds); }
  double median_of(const std::string& name) const;
  /// The median over the rounds of the quotient of two weighted sums.
  double ratio(const Sum& numerator, const Sum& denominator) const;
  std::size_t rounds() const { return seconds_.empty() ? 0 : seconds_.begin()->second.size(); }

 private:
  double sum_of(const Sum& sum, std::size_t round) const;

  std::map<std::string, std::vector<double>> seconds_;
};

class Contest {
 public:
  /// Work that measures its own times: returns the seconds of each of its names.
  using Turn = std::function<std::vector<double>()>;
  using Work = std::function<void()>;
  /// `warm_up` runs once before the first round. Without it, one turn is run and its times are dropped.
  void add_timed(std::vector<std::string> names, Turn turn, Work warm_up = {});
  /// A turn calls `work` `calls` times; its time is the mean.
  void add(const std::string& name, Work work, int calls = 1, Work warm_up = {});

  /// Calls `on_round` with the number of each round before it starts; 0 is the warm-up.
  Times run(int rounds, const std::function<void(int round)>& on_round = {}) const;

 private:
  struct Contestant {
    std::vector<std::string> names;
    Turn turn;
    Work warm_up;
  };
  std::vector<Contestant> contestants_;
};

}  // namespace lehi::bench
