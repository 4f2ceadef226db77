#include "runtime/engine/host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/cpu_features.h"

namespace tercel::engine {
namespace {

// The lines of a small file; none where it cannot be read. Streams of C: those of C++ would be half
// of a library that tercel.aot saves.
std::vector<std::string> readLines(const std::string& path) {
  std::vector<std::string> lines;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return lines;
  for (char buffer[4096]; std::fgets(buffer, sizeof buffer, file);) {
    lines.emplace_back(buffer);
    if (lines.back().ends_with('\n')) lines.back().pop_back();
  }
  std::fclose(file);
  return lines;
}

// The numbers of a file's first line; one that is no number, as "max", ends them.
std::vector<double> readNumbers(const std::string& path) {
  std::vector<double> numbers;
  const std::vector<std::string> lines = readLines(path);
  if (lines.empty()) return numbers;
  const char* at = lines[0].c_str();
  for (char* end; numbers.size() < 2; at = end) {
    const double number = std::strtod(at, &end);
    if (end == at) break;
    numbers.push_back(number);
  }
  return numbers;
}

// The folders whose limits bind this process: its own cgroup's and those above it. `controller` is
// empty for the unified hierarchy (version 2).
std::vector<std::string> cgroupFolders(const std::string& controller) {
  std::string root = cat("/sys/fs/cgroup", controller.empty() ? "" : "/", controller);
  std::vector<std::string> folders;
  for (const std::string& line : readLines("/proc/self/cgroup")) {
    // hierarchy:controllers:path
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string names = cat(',', line.substr(first + 1, second - first - 1), ',');
    bool mine = controller.empty() ? names == ",,"
                                   : names.find(cat(',', controller, ',')) != std::string::npos;
    if (!mine) continue;
    std::string path = line.substr(second + 1);
    for (; path.size() > 1; path = path.substr(0, path.rfind('/'))) folders.push_back(root + path);
  }
  folders.push_back(root);
  return folders;
}

double cpuQuota() {
  double least = 1e9;
  auto use = [&](double quota, double period) {
    if (quota > 0 && period > 0) least = std::min(least, quota / period);
  };
  for (const std::string& folder : cgroupFolders("")) {
    // "max 100000" or "150000 100000"
    const std::vector<double> line = readNumbers(folder + "/cpu.max");
    if (line.size() == 2) use(line[0], line[1]);
  }
  for (const std::string& folder : cgroupFolders("cpu")) {
    const std::vector<double> quota = readNumbers(folder + "/cpu.cfs_quota_us");
    const std::vector<double> period = readNumbers(folder + "/cpu.cfs_period_us");
    if (!quota.empty() && !period.empty()) use(quota[0], period[0]);
  }
  return least;
}

}  // namespace

int availableCpus() {
  cpu_set_t set;
  int count = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = CPU_COUNT(&set);
  return std::max(1, std::min(count, static_cast<int>(cpuQuota() + 0.999)));
}

int64_t availableMemory() {
  int64_t least = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  auto use = [&](const std::string& path) {
    const std::vector<double> line = readNumbers(path);  // a number or "max"
    if (!line.empty() && line[0] > 0) least = std::min(least, static_cast<int64_t>(line[0]));
  };
  for (const std::string& folder : cgroupFolders("")) use(folder + "/memory.max");
  for (const std::string& folder : cgroupFolders("memory")) use(folder + "/memory.limit_in_bytes");
  return least;
}

Status checkCpu(Architecture architecture, std::string_view features) {
  if (architecture != kHostArchitecture) {
    return failedPrecondition("the program was compiled for ", toString(architecture),
                              ", and this machine is ", toString(kHostArchitecture));
  }
  while (!features.empty()) {
    std::string_view feature = features.substr(0, features.find(','));
    features.remove_prefix(std::min(features.size(), feature.size() + 1));
    if (feature.starts_with('+') && !cpuHas(feature.substr(1))) {
      return failedPrecondition("the program was compiled for a CPU with ", feature.substr(1),
                                ", which this one lacks");
    }
  }
  return Status();
}

}  // namespace tercel::engine
