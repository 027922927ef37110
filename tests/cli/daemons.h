// A Slurm of one node for one test: munged, slurmctld and slurmd with their own configuration, keys, logs, spool
// directory and ports, on loopback only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "distributed/environment.h"
#include "study/process.h"
#include "support/environment.h"
#include "train/scratch.h"

namespace lehi::testing {

/// A free port on loopback.
inline int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

class SlurmDaemons {
 public:
  SlurmDaemons() : configuration_("SLURM_CONF", (folder_ / "slurm.conf").string()) { problem_ = start(); }
  SlurmDaemons(const SlurmDaemons&) = delete;
  SlurmDaemons(SlurmDaemons&&) = delete;
  SlurmDaemons& operator=(const SlurmDaemons&) = delete;
  SlurmDaemons& operator=(SlurmDaemons&&) = delete;
  ~SlurmDaemons() {
    // Jobs are not children of this process; only running daemons can end them.
    if (problem_.empty()) study::run_command({"scancel", "--user=root"});
    for (int i = 0; problem_.empty() && i < 100; ++i) {
      if (study::run_command({"squeue", "--noheader"}).out.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    while (!daemons_.empty()) daemons_.pop_back();  // kills it
  }

  /// Why Slurm does not run here; "" if it does.
  const std::string& problem() const { return problem_; }

 private:
  std::string start() {
    for (const auto* command : {"munged", "slurmctld", "slurmd", "sbatch", "sinfo"}) {
      if (path_of(command).empty()) return std::string(command) + " is not installed (Debian: slurm-wlm)";
    }
    if (::geteuid() != 0) return "starting Slurm needs root";
    write_files();
    const auto in = [&](const char* name) { return (folder_ / name).string(); };
    daemon({"munged", "--foreground", "--force", "--key-file=" + in("munge/key"), "--socket=" + in("munge/socket"),
            "--pid-file=" + in("munge/pid"), "--log-file=" + in("munge/log"), "--seed-file=" + in("munge/seed"),
            "--num-threads=1"});
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!std::filesystem::exists(in("munge/socket"))) {
      if (std::chrono::steady_clock::now() > until) return "munged does not start: " + last_line("munge/log");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    daemon({"slurmctld", "-D"});
    daemon({"slurmd", "-D", "-N", "localhost"});
    while (study::run_command({"sinfo", "--noheader", "--format=%T"}).out != "idle\n") {
      if (std::chrono::steady_clock::now() > until) {
        return "Slurm's node does not come up: " + last_line("slurmctld.log") + "; " + last_line("slurmd.log");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return "";
  }

  void write_files() {
    for (const auto* name : {"munge", "spool", "state"}) {
      std::filesystem::create_directory(folder_ / name);
      std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
    }
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    std::random_device random;
    std::string key;
    for (int i = 0; i < 128; ++i) key += static_cast<char>(random());
    spill(folder_ / "munge/key", key);
    std::filesystem::permissions(folder_ / "munge/key", std::filesystem::perms::owner_read);
    const auto at = folder_.path().string() + "/";
    spill(folder_ / "slurm.conf",
          "ClusterName=lehi\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser=root\n"
          "SlurmctldPort=" +
              std::to_string(free_port()) + "\nSlurmdPort=" + std::to_string(free_port()) +
              "\nCommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n"
              "AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket=" +
              at +
              "munge/socket\n"
              "MpiDefault=none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
              "JobAcctGatherType=jobacct_gather/none\n"
              "AccountingStorageType=accounting_storage/none\nJobCompType=jobcomp/none\n"
              "SlurmctldPidFile=" +
              at + "slurmctld.pid\nSlurmdPidFile=" + at +
              "slurmd.pid\n"
              "SlurmctldLogFile=" +
              at + "slurmctld.log\nSlurmdLogFile=" + at +
              "slurmd.log\n"
              "SlurmdSpoolDir=" +
              at + "spool\nStateSaveLocation=" + at +
              "state\n"
              "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
              "SchedulerType=sched/builtin\nSchedulerParameters=sched_interval=1\n"
              "SlurmctldDebug=error\nSlurmdDebug=error\nReturnToService=2\nSlurmdParameters=config_overrides\n"
              "NodeName=localhost NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n"
              "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
  }

  // Daemons are often not on the PATH of users.
  static std::string path_of(const std::string& command) {
    auto found = study::find_command(command);
    const auto there = "/usr/sbin/" + command;
    return found.empty() && ::access(there.c_str(), X_OK) == 0 ? there : found;
  }

  void daemon(std::vector<std::string> arguments) {
    const auto program = path_of(arguments.front());
    daemons_.emplace_back(program, std::move(arguments), distributed::whole_environment(), -1);
  }

  std::string last_line(const std::string& log) const {
    if (!std::filesystem::exists(folder_ / log)) return "no " + log;
    const auto text = slurp(folder_ / log);
    const auto end = text.find_last_not_of('\n');
    const auto begin = text.rfind('\n', end);
    return text.substr(begin + 1, end - begin);
  }

  Scratch folder_;
  Environment configuration_;
  std::vector<study::Child> daemons_;
  std::string problem_;
};

}  // namespace lehi::testing
