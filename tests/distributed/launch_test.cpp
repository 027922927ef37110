#include "distributed/launch.h"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>

namespace lehi::distributed {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launch> launch_with(const Variables& variables) {
  return launch_of([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const Variables& variables) {
  try {
    launch_with(variables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

const Variables torchrun_variables = {{"RANK", "3"},
                                      {"WORLD_SIZE", "4"},
                                      {"LOCAL_RANK", "1"},
                                      {"LOCAL_WORLD_SIZE", "2"},
                                      {"MASTER_ADDR", "node1"},
                                      {"MASTER_PORT", "29501"}};

TEST(Launch, NoLauncherMeansOneProcess) {
  EXPECT_FALSE(launch_with({}));
  EXPECT_FALSE(launch_with({{"WORLD_SIZE", "1"}, {"RANK", "0"}}));
  // A batch script of Slurm that srun has not started.
  EXPECT_FALSE(launch_with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}));
}

TEST(Launch, ReadsTorchrunsVariables) {
  auto variables = torchrun_variables;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  const auto launch = launch_with(variables);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "torchrun");
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->size, 4);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->local_size, 2);
  EXPECT_EQ(launch->address, "node1");
  EXPECT_EQ(launch->port, 29501);
  EXPECT_TRUE(launch->launcher_serves_store);
  EXPECT_EQ(launch->attempt, 2);
  EXPECT_FALSE(launch_with(torchrun_variables)->launcher_serves_store);
}

TEST(Launch, ReadsOpenMpisVariables) {
  const Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"PMIX_NAMESPACE", "2573729793"}};
  const auto launch = launch_with(variables);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 1);
  EXPECT_EQ(launch->address, "127.0.0.1");
  EXPECT_GE(launch->port, 20000);
  EXPECT_FALSE(launch->launcher_serves_store);
  auto several_hosts = variables;
  several_hosts["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_THAT(error_of(several_hosts), testing::HasSubstr("set MASTER_ADDR to rank 0's host"));
  several_hosts["MASTER_ADDR"] = "10.0.0.1";
  EXPECT_EQ(launch_with(several_hosts)->address, "10.0.0.1");
}

TEST(Launch, ReadsSlurmsVariables) {
  const auto launch = launch_with({{"SLURM_PROCID", "5"},
                                   {"SLURM_STEP_NUM_TASKS", "6"},
                                   {"SLURM_LOCALID", "1"},
                                   {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                                   {"SLURM_STEP_NODELIST", "gpu[007-009]"},
                                   {"SLURM_JOB_ID", "12"},
                                   {"SLURM_STEP_ID", "0"}});
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "srun");
  EXPECT_EQ(launch->rank, 5);
  EXPECT_EQ(launch->local_size, 2);
  EXPECT_EQ(launch->address, "gpu007");
}

TEST(Launch, FindsTheFirstHostOfSlurmsShortForm) {
  EXPECT_EQ(first_host(""), "");
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b[1-2]"), "a");
  EXPECT_EQ(first_host("n[03-05,9],m"), "n03");
  EXPECT_EQ(first_host("n[7,9]"), "n7");
  EXPECT_EQ(first_host("n[7]"), "n7");
  EXPECT_EQ(first_host("n[7"), "n7");
}

TEST(Launch, NamesAnInvalidVariable) {
  const auto with = [](const std::string& name, const std::string& value) {
    auto variables = torchrun_variables;
    if (value.empty()) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
    return error_of(variables);
  };
  EXPECT_THAT(with("RANK", "4"), testing::HasSubstr("RANK is '4'; expected an integer from 0 to 3"));
  EXPECT_THAT(with("RANK", ""), testing::HasSubstr("WORLD_SIZE is set, but RANK is not"));
  EXPECT_THAT(with("WORLD_SIZE", "two"), testing::HasSubstr("WORLD_SIZE is 'two'"));
  EXPECT_THAT(with("MASTER_PORT", "0"), testing::HasSubstr("MASTER_PORT is '0'"));
  EXPECT_THAT(with("MASTER_PORT", ""), testing::HasSubstr("WORLD_SIZE is set, but MASTER_PORT is not"));
}

}  // namespace
}  // namespace lehi::distributed
