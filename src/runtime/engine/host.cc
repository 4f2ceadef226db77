#include "runtime/engine/host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tercel::engine {
namespace {

std::string readLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The folders whose limits bind this process: its own cgroup's and those above it. `controller` is
// empty for the unified hierarchy (version 2).
std::vector<std::string> cgroupFolders(const std::string& controller) {
  std::string root = cat("/sys/fs/cgroup", controller.empty() ? "" : "/", controller);
  std::vector<std::string> folders;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
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
    std::istringstream line(readLine(folder + "/cpu.max"));  // "max 100000" or "150000 100000"
    double quota = 0, period = 0;
    if (line >> quota >> period) use(quota, period);
  }
  for (const std::string& folder : cgroupFolders("cpu")) {
    std::istringstream quota(readLine(folder + "/cpu.cfs_quota_us"));
    std::istringstream period(readLine(folder + "/cpu.cfs_period_us"));
    double microseconds = 0, of = 0;
    if (quota >> microseconds && period >> of) use(microseconds, of);
  }
  return least;
}

bool cpuSupports(std::string_view feature) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define CPU_FEATURE(name) \
  if (feature == name) return __builtin_cpu_supports(name) != 0;
#include "runtime/engine/cpu_features.def"
#endif
  return true;
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
    std::istringstream line(readLine(path));  // a number or "max"
    int64_t limit = 0;
    if (line >> limit && limit > 0) least = std::min(least, limit);
  };
  for (const std::string& folder : cgroupFolders("")) use(folder + "/memory.max");
  for (const std::string& folder : cgroupFolders("memory")) use(folder + "/memory.limit_in_bytes");
  return least;
}

Status checkCpuFeatures(std::string_view features) {
  while (!features.empty()) {
    std::string_view feature = features.substr(0, features.find(','));
    features.remove_prefix(std::min(features.size(), feature.size() + 1));
    if (feature.starts_with('+') && !cpuSupports(feature.substr(1))) {
      return failedPrecondition("the program was compiled for a CPU with ", feature.substr(1),
                                ", which this one lacks");
    }
  }
  return Status();
}

}  // namespace tercel::engine
