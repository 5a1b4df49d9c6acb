// What a command declares: a thin face over the option parser, so that one file alone compiles it.
//
//   Action topo_show(Options& o) {
//     auto file = std::make_shared<std::string>();
//     o.argument("FILE", *file, "topology file");
//     return [file] { ...; return 0; };
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace overlap::cli {

using Action = std::function<int()>;  // returns the exit code

enum class Format : std::uint8_t { text, json, csv };

class Options {
 public:
  // A required (or optional) argument without a dash; a list takes all that are left.
  void argument(const std::string& name, std::string& into, const std::string& help, bool required = true);
  void arguments(const std::string& name, std::vector<std::string>& into, const std::string& help,
                 bool required = true);
  // --name or "-n,--name"
  void flag(const std::string& name, bool& into, const std::string& help);
  void option(const std::string& name, std::string& into, const std::string& value, const std::string& help);
  void option(const std::string& name, std::vector<std::string>& into, const std::string& value,
              const std::string& help);  // may be given several times
  void option(const std::string& name, std::int64_t& into, const std::string& value, const std::string& help);
  void option(const std::string& name, double& into, const std::string& value, const std::string& help);
  void choice(const std::string& name, std::string& into, const std::vector<std::string>& choices,
              const std::string& help);
  // --format text|json|csv
  void format(Format& into);
  // Text below the options in --help: an example, what the columns mean.
  void footer(const std::string& text);
  // A command below this one. A command with sub-commands runs one of them.
  void command(const std::string& name, const std::string& summary, const std::function<Action(Options&)>& declare);

 private:
  friend int run_program(int argc, const char* const* argv);
  struct Impl;
  explicit Options(Impl& impl) : impl_(impl) {}
  Impl& impl_;
};

// A command of the program: its line in src/cli/table.cpp.
struct Command {
  std::string_view name;
  std::string_view summary;
  Action (*declare)(Options&);
};
const std::vector<Command>& commands();

// The whole program: parses, runs, prints errors. Exit codes: 0 fine, 1 a check failed, 2 bad input.
int run_program(int argc, const char* const* argv);

}  // namespace overlap::cli
