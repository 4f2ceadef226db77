// Texts that parse: what the tests of the IRs have of them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tercel::test {

// Modules: an example of each op, and those of the folders of cases.
std::vector<std::string> textExamples();
// Kernels of each nest.
std::vector<std::string> kernelsOf(const std::filesystem::path& artifacts);

}  // namespace tercel::test
