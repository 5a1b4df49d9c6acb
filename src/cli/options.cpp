// The only file that knows the option parser.
#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "config/reader.hpp"
#include "overlap/error.hpp"

namespace overlap::cli {

struct Options::Impl {
  CLI::App* app = nullptr;
  Action* chosen = nullptr;
  std::vector<std::unique_ptr<Impl>> below;
};

void Options::argument(const std::string& name, std::string& into, const std::string& help, bool required) {
  CLI::Option* o = impl_.app->add_option(name, into, help)->type_name("");
  if (required) o->required();
}

void Options::arguments(const std::string& name, std::vector<std::string>& into, const std::string& help,
                        bool required) {
  CLI::Option* o = impl_.app->add_option(name, into, help)->type_name("");
  if (required) o->required();
}

void Options::flag(const std::string& name, bool& into, const std::string& help) {
  impl_.app->add_flag(name, into, help);
}
void Options::option(const std::string& name, std::string& into, const std::string& value, const std::string& help) {
  impl_.app->add_option(name, into, help)->type_name(value);
}
void Options::option(const std::string& name, std::vector<std::string>& into, const std::string& value,
                     const std::string& help) {
  impl_.app->add_option(name, into, help)->type_name(value)->expected(1)->take_all();
}
void Options::option(const std::string& name, std::int64_t& into, const std::string& value, const std::string& help) {
  impl_.app->add_option(name, into, help)->type_name(value);
}
void Options::option(const std::string& name, double& into, const std::string& value, const std::string& help) {
  impl_.app->add_option(name, into, help)->type_name(value);
}

void Options::choice(const std::string& name, std::string& into, const std::vector<std::string>& choices,
                     const std::string& help) {
  const auto check = [name, choices](const std::string& given) -> std::string {
    if (std::find(choices.begin(), choices.end(), given) != choices.end()) return {};
    return fmt::format("'{}' is not one of {}", given, fmt::join(choices, ", "));
  };
  impl_.app->add_option(name, into, help)
      ->type_name(fmt::format("{}", fmt::join(choices, "|")))
      ->check(CLI::Validator(check, ""));
}

void Options::format(Format& into) {
  const auto set = [&into](const std::string& given) {
    into = given == "json" ? Format::json : given == "csv" ? Format::csv : Format::text;
  };
  const auto check = [](const std::string& given) -> std::string {
    if (given == "text" || given == "json" || given == "csv") return {};
    return fmt::format("'{}' is not one of text, json, csv", given);
  };
  impl_.app->add_option_function<std::string>("--format", set, "How to print the result")
      ->type_name("text|json|csv")
      ->check(CLI::Validator(check, ""));
}

void Options::footer(const std::string& text) {
  impl_.app->footer(text);
}

void Options::command(const std::string& name, const std::string& summary,
                      const std::function<Action(Options&)>& declare) {
  CLI::App* app = impl_.app->add_subcommand(name, summary);
  impl_.below.push_back(std::make_unique<Impl>(Impl{app, impl_.chosen, {}}));
  Options below(*impl_.below.back());
  const Action action = declare(below);
  if (!impl_.below.back()->below.empty()) {
    app->require_subcommand(1);
    return;
  }
  Action* const chosen = impl_.chosen;
  app->callback([action, chosen] { *chosen = action; });
}

namespace {

int refuse(const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", message);
  return 2;
}

// The first word that should name a command and does not, as a message; empty when there is none.
std::string misspelt_command(const CLI::App& program, int argc, const char* const* argv) {
  const CLI::App* at = &program;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> known;
    const CLI::App* next = nullptr;
    for (const CLI::App* below : at->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(below->get_name());
      if (below->get_name() == argv[i]) next = below;
    }
    if (known.empty()) return {};
    if (next == nullptr) return config::unknown_name("command", argv[i], known);
    at = next;
  }
  return {};
}

int run_chosen(const Action& action) {
  try {
    return action();
  } catch (const CheckError& e) {
    std::fflush(stdout);
    fmt::print(stderr, "failed: {}\n", e.what());
    return 1;
  } catch (const InputError& e) {
    return refuse(e.what());
  } catch (const UnitError& e) {
    return refuse(e.what());
  } catch (const std::bad_alloc&) {
    return refuse("out of memory: the experiment is too large for this machine");
  }
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app(
      "Predicts how long a tensor-parallel layer takes under every published way to overlap its communication\n"
      "with computation, and says which wins and why.",
      "overlapsim");
  app.set_version_flag("--version", "overlapsim " OVERLAPSIM_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 fine, 1 a check failed, 2 bad input. Example: overlapsim run configs/default.json");
  Action chosen;
  Options::Impl root{&app, &chosen, {}};
  Options options(root);
  for (const Command& c : commands()) options.command(std::string(c.name), std::string(c.summary), c.declare);
  const std::string misspelt = misspelt_command(app, argc, argv);
  if (!misspelt.empty()) return refuse(misspelt);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    if (argc <= 1) {
      fmt::print("{}", app.help());
      return 2;
    }
    return refuse(fmt::format("{} (see overlapsim --help)", e.what()));
  }
  return run_chosen(chosen);
}

}  // namespace overlap::cli
