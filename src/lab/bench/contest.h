// Contestants that take turns, and ratios of their times. A round is one turn of each; every other round goes through
// them backwards, so that nobody always follows the same one. A ratio is taken within a round and the median over the
// rounds is kept: what slows the machine for a while slows both sides of a ratio.
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

/// The middle one, or the mean of the two in the middle; NaN of nothing.
double median(std::vector<double> values);

double seconds_of(const std::function<void()>& work);

/// Seconds of each round, by name.
class Times {
 public:
  struct Share {
    std::string name;
    double weight = 1.0;
  };
  using Sum = std::vector<Share>;

  void add(const std::string& name, double seconds) { seconds_[name].push_back(seconds); }
  double median_of(const std::string& name) const;
  /// The median over rounds of the one weighted sum divided by the other.
  double ratio(const Sum& above, const Sum& below) const;
  std::size_t rounds() const { return seconds_.empty() ? 0 : seconds_.begin()->second.size(); }

 private:
  double sum_of(const Sum& sum, std::size_t round) const;

  std::map<std::string, std::vector<double>> seconds_;
};

class Contest {
 public:
  /// A turn that times itself: seconds of each of the names.
  using Turn = std::function<std::vector<double>()>;
  using Work = std::function<void()>;
  /// warm_up: what to do once before the first round; without one, a turn that does not count.
  void add_timed(std::vector<std::string> names, Turn turn, Work warm_up = {});
  /// A turn of so many calls; its time is that of one.
  void add(const std::string& name, Work work, int calls = 1, Work warm_up = {});

  /// `starts` is told the number of a round, 0 for the warm-up.
  Times run(int rounds, const std::function<void(int round)>& starts = {}) const;

 private:
  struct Contestant {
    std::vector<std::string> names;
    Turn turn;
    Work warm_up;
  };
  std::vector<Contestant> contestants_;
};

}  // namespace lehi::bench
