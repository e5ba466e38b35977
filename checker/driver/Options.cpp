#include "checker/driver/Options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <set>

#include "checker/driver/System.h"

namespace locktidy {
namespace {

constexpr const char* kAbout =
    "Finds exclusive locks held only for reads, and writes under shared locks, in a whole C or C++ "
    "program.";
constexpr const char* kFooter =
    "Exit codes: 0 nothing found; 1 findings (fix --diff: differences); 2 could not run;\n"
    "            3 some units could not be analysed; 4 some fixes were not applied.\n"
    "Options of a command: locktidy COMMAND --help";

// The texts of options whose values are looked at after CLI11 is done.
struct Texts {
  std::vector<std::string> outputs;
  std::string jobs = "auto", timeout = "300s", memory = "4G", maxFailed = "0";
  std::string failOn = "warning", incomplete = "error", verify = "parse", cacheDir;
  bool noCache = false, fixFlag = false;
};

// ---------------------------------------------------------------------------
// Which options a command has. CLI11 takes references and fills them.

// A repeatable option takes one value each time: without this `-p build src`
// would swallow the path.
template <class T>
CLI::Option* repeatable(CLI::App* app, const std::string& name, T& value, const std::string& help) {
  return app->add_option(name, value, help)->allow_extra_args(false)->take_all();
}

void addInput(CLI::App* app, Options& o) {
  repeatable(app, "-p,--build", o.build,
             "compilation database: file or its directory; several make one program")
      ->type_name("PATH");
  repeatable(app, "--extra-arg", o.changes.after, "append this to every command")->type_name("ARG");
  repeatable(app, "--extra-arg-before", o.changes.before,
             "put this in front of every command's arguments")
      ->type_name("ARG");
  repeatable(app, "--removed-arg", o.changes.removed, "take this out of every command")
      ->type_name("ARG");
}

void addRun(CLI::App* app, Options& o, Texts& t) {
  app->add_option("-j,--jobs", t.jobs, "worker processes: a number, or auto (default)")
      ->type_name("N|auto");
  app->add_option("--tu-timeout", t.timeout, "time one unit may take (default 300s)")
      ->type_name("TIME");
  app->add_option("--tu-memory", t.memory, "memory one unit may take (default 4G)")
      ->type_name("SIZE");
  app->add_flag("--no-cache", t.noCache,
                "analyse every unit anew, whatever --cache-dir holds, and store nothing");
  app->add_option("--cache-dir", t.cacheDir,
                  "keep the facts of units here, and analyse only those that changed (default: none)")
      ->type_name("DIR");
  app->add_flag("-q,--quiet", o.quiet, "no progress and no notes; -qq: no summary line, either");
  app->add_flag("-v,--verbose", o.verbose, "list every unit that could not be analysed");
}

void addAnalysis(CLI::App* app, Options& o) {
  repeatable(app, "--models", o.models,
             "more models of locks and effects: a JSON file or a directory of them")
      ->type_name("DIR");
  app->add_flag("--open-world", o.openWorld, "other programs may derive from classes and call in");
  app->add_flag("--trust-const", o.trustConst, "const methods without a body only read");
  repeatable(app, "--select", o.select,
             "run only these: rules, codes, globs, all; safe, likely, candidate")
      ->delimiter(',')
      ->type_name("RULE,...");
  repeatable(app, "--extend-select", o.extendSelect, "run these, too")
      ->delimiter(',')
      ->type_name("RULE,...");
  repeatable(app, "--ignore", o.ignore, "leave these out")->delimiter(',')->type_name("RULE,...");
}

void addReporting(CLI::App* app, Options& o, Texts& t) {
  repeatable(app, "-o,--output", t.outputs,
             "text (default), concise or json, to stdout or a file; repeatable")
      ->type_name("FORMAT[=PATH]");
  app->add_option("--fail-on", t.failOn, "lowest level that makes exit code 1 (default warning)")
      ->type_name("note|warning|error|never");
  app->add_flag("--exit-zero", o.exitZero, "findings do not make exit code 1");
  app->add_option("--incomplete", t.incomplete,
                  "too many units failed: exit code 3 (error, default), a warning, or nothing")
      ->type_name("error|warn|ignore");
  app->add_option("--max-failed-tus", t.maxFailed,
                  "how many units may fail or be degraded (default 0)")
      ->type_name("N|P%");
  app->add_option("--color", o.color, "auto (default), always or never")->type_name("WHEN");
  app->add_option("--width", o.width, "columns of text output")->type_name("N");
}

void addCheck(CLI::App* app, Options& o, Texts& t) {
  app->add_option("PATHS", o.paths, "report only findings under these paths");
  addInput(app, o);
  addAnalysis(app, o);
  addRun(app, o, t);
  addReporting(app, o, t);
  app->add_option("--save-result", o.saveResult, "also write the result for `locktidy report`")
      ->type_name("FILE");
  app->add_flag("--statistics", o.statistics, "count exclusive sections by verdict");
  app->add_flag("--explain-unknown", o.explainUnknown,
                "rank the calls that leave most sections undecided");
}

void addFix(CLI::App* app, Options& o, Texts& t) {
  app->add_flag("--diff", o.diff,
                "print one patch and write nothing; exit code 1 if it is not empty");
  app->add_flag("--check", o.checkOnly, "like --diff, without the patch");
  app->add_flag("--unsafe,--unsafe-fixes", o.unsafe, "also apply the fixes of likely findings");
  repeatable(app, "--only", o.only, "only these fixes: rules, locks or finding ids")
      ->delimiter(',')
      ->type_name("RULE|LOCK|ID");
  app->add_option("--verify", t.verify,
                  "parse every affected unit with the edits in memory first (default), or none")
      ->type_name("parse|none");
}

struct CommandSpec {
  const char* name;
  Command command;
  const char* help;
};
constexpr CommandSpec kCommands[] = {
    {"check", Command::Check, "analyse the program and report findings (default)"},
    {"fix", Command::Fix, "check, then apply the fixes that are safe"},
    {"why", Command::Why, "why a lock or a line is not reported: what blocks it"},
    {"locks", Command::Locks, "list every lock with its sections: who reads, who writes, what is undecided"},
    {"explain", Command::Explain, "a rule's manual, or the full proof of one finding"},
    {"rules", Command::Rules, "list the rules"},
    {"report", Command::Report, "print a saved result again, without analysis"},
    {"facts", Command::Facts, "print the facts of one source file (facts dump FILE)"},
    {"doctor", Command::Doctor, "check the installation and the compilation database"},
    {"version", Command::Version, "print the version"},
};

std::vector<std::string> commandNames() {
  std::vector<std::string> names;
  for (const CommandSpec& spec : kCommands) names.push_back(spec.name);
  return names;
}

void addCommand(CLI::App* app, const CommandSpec& spec, Options& o, Texts& t) {
  switch (spec.command) {
  case Command::Check:
    addCheck(app, o, t);
    app->add_flag("--fix", t.fixFlag, "the same as the command fix");
    return;
  case Command::Fix:
    addCheck(app, o, t);
    addFix(app, o, t);
    return;
  case Command::Why:
    app->add_option("SUBJECT", o.subject, "a lock (Registry::mu_) or a place (src/registry.cpp:42)")
        ->required()
        ->type_name("LOCK|FILE:LINE");
    addInput(app, o);
    addAnalysis(app, o);
    addRun(app, o, t);
    return;
  case Command::Locks:
    app->add_option("PATHS", o.paths, "list only locks declared under these paths");
    addInput(app, o);
    addAnalysis(app, o);
    addRun(app, o, t);
    repeatable(app, "-o,--output", t.outputs, "text (default) or json")->type_name("FORMAT[=PATH]");
    return;
  case Command::Explain:
    app->add_option("SUBJECT", o.subject, "a rule's name or code, or a finding's id")
        ->required()
        ->type_name("RULE|ID");
    addInput(app, o);
    addAnalysis(app, o);
    addRun(app, o, t);
    app->add_option("--color", o.color, "auto (default), always or never")->type_name("WHEN");
    app->add_option("--width", o.width, "columns of text output")->type_name("N");
    return;
  case Command::Rules:
    repeatable(app, "-o,--output", t.outputs, "text (default), json or markdown")
        ->type_name("FORMAT[=PATH]");
    return;
  case Command::Report:
    app->add_option("SUBJECT", o.subject, "a file that --save-result or -o json wrote")
        ->required()
        ->type_name("RESULT.json");
    addReporting(app, o, t);
    app->add_flag("-q,--quiet", o.quiet, "no notes; -qq: no summary line, either");
    return;
  case Command::Facts: {
    CLI::App* dump = app->add_subcommand("dump", "print facts as text");
    dump->add_option("FILE", o.subject, "a source file of the database, or a facts file")
        ->required();
    dump->allow_extras();
    addInput(dump, o);
    addRun(dump, o, t);
    app->require_subcommand(1);
    return;
  }
  case Command::Doctor:
    addInput(app, o);
    repeatable(app, "--models", o.models, "more models: a JSON file or a directory")
        ->type_name("DIR");
    addRun(app, o, t);
    return;
  case Command::Version:
    app->add_flag("--json", o.json, "as JSON");
    return;
  }
}

// ---------------------------------------------------------------------------
// Before CLI11

std::vector<std::string> optionNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// LLVM's spelling to ours: `-fix` to `--fix`, `-p=build` to `-p build`. Only
// names the command has; `-j4` and `-qq` stay.
std::vector<std::string> normalise(const std::vector<std::string>& arguments, const CLI::App* app) {
  std::vector<std::string> names = optionNames(app), out;
  auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  bool files = false;
  for (const std::string& argument : arguments) {
    files |= argument == "--";
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    if (files || name.size() < 2 || name[0] != '-' || name[1] == '-') {
      out.push_back(argument);
    } else if (name.size() == 2 && equals != std::string::npos && known(name)) {
      out.push_back(name);
      out.push_back(argument.substr(equals + 1));
    } else if (name.size() > 2 && known("-" + name)) {
      out.push_back("-" + argument);
    } else {
      out.push_back(argument);
    }
  }
  return out;
}

bool looksLikePath(const std::string& text) {
  return text.find('/') != std::string::npos || text.find('.') != std::string::npos ||
         isDirectory(text) || isFile(text);
}

// ---------------------------------------------------------------------------
// After CLI11

bool fail(const std::string& text) { return printError(text), false; }

template <class E>
bool choose(const char* option, const std::string& text,
            const std::vector<std::pair<std::string, E>>& values, E& out) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& [name, value] : values) {
    if (name == text) return out = value, true;
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + name;
  }
  std::string near = didYouMean(text, names);
  return fail(std::string(option) + ": unknown value \"" + text + "\"" +
              (near.empty() ? "; it takes " + list : near));
}

bool parseNumber(const std::string& text, uint64_t& out) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

bool parseOutputs(Command command, const std::vector<std::string>& texts,
                  std::vector<OutputSpec>& outputs) {
  std::vector<std::pair<std::string, int>> formats = {{"text", 0}, {"concise", 0}, {"json", 0}};
  if (command == Command::Locks) formats = {{"text", 0}, {"json", 0}};
  if (command == Command::Rules) formats = {{"text", 0}, {"json", 0}, {"markdown", 0}};
  std::set<std::string> targets;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    OutputSpec spec{text.substr(0, equals),
                    equals == std::string::npos ? "" : text.substr(equals + 1)};
    int ignored;
    if (!choose("--output", spec.format, formats, ignored)) return false;
    if (spec.path == "-") spec.path.clear();
    if (!targets.insert(spec.path).second)
      return fail("--output: two outputs to " + (spec.path.empty() ? "stdout" : spec.path) +
                  "; give one a file: -o " + spec.format + "=FILE");
    outputs.push_back(std::move(spec));
  }
  if (outputs.empty()) outputs.push_back({"text", ""});
  return true;
}

bool interpret(const Texts& t, Options& o) {
  if (t.fixFlag) o.command = Command::Fix;
  if (!parseOutputs(o.command, t.outputs, o.outputs)) return false;
  if (o.diff || o.checkOnly) {
    // The patch is what stdout is for; --check prints nothing.
    auto toStdout = [](const OutputSpec& spec) { return spec.path.empty(); };
    if (!t.outputs.empty() && std::any_of(o.outputs.begin(), o.outputs.end(), toStdout))
      return fail("--output: with --diff or --check stdout is taken; give it a file: -o " +
                  o.outputs.front().format + "=FILE");
    std::erase_if(o.outputs, toStdout);
  }
  uint64_t number = 0;
  if (!t.noCache) o.cacheDir = t.cacheDir;
  if (t.jobs != "auto") {
    if (!parseNumber(t.jobs, number) || number < 1 || number > 4096)
      return fail("--jobs: \"" + t.jobs + "\" is no number from 1 to 4096, nor auto");
    o.jobs = static_cast<unsigned>(number);
  }
  if (!parseDuration(t.timeout, o.tuTimeout))
    return fail("--tu-timeout: \"" + t.timeout + "\" is no time; write 300s, 5m or 500ms");
  if (!parseSize(t.memory, o.tuMemory))
    return fail("--tu-memory: \"" + t.memory + "\" is no size; write 4G or 500M");
  std::string failed = t.maxFailed;
  o.maxFailedIsPercent = !failed.empty() && failed.back() == '%';
  if (o.maxFailedIsPercent) failed.pop_back();
  if (!parseNumber(failed, number) || number > (o.maxFailedIsPercent ? 100 : UINT32_MAX))
    return fail("--max-failed-tus: \"" + t.maxFailed +
                "\" is neither a number nor a share such as 1%");
  o.maxFailedTus = static_cast<uint32_t>(number);
  std::string colour;
  return choose<FailOn>("--fail-on", t.failOn,
                        {{"note", FailOn::Note},
                         {"warning", FailOn::Warning},
                         {"error", FailOn::Error},
                         {"never", FailOn::Never}},
                        o.failOn) &&
         choose<IncompletePolicy>("--incomplete", t.incomplete,
                                  {{"error", IncompletePolicy::Error},
                                   {"warn", IncompletePolicy::Warn},
                                   {"ignore", IncompletePolicy::Ignore}},
                                  o.incomplete) &&
         choose<Verify>("--verify", t.verify, {{"parse", Verify::Parse}, {"none", Verify::None}},
                        o.verify) &&
         choose<std::string>("--color", o.color, {{"auto", ""}, {"always", ""}, {"never", ""}},
                             colour);
}

int unknownArgument(const CLI::App* app, const std::string& argument) {
  std::string name = argument.substr(0, argument.find('='));
  bool option = name.size() > 1 && name[0] == '-';
  std::string near = option ? didYouMean(name, optionNames(app)) : "";
  printError(
      (option ? "unknown option \"" + name + "\"" : "unexpected argument \"" + argument + "\"") +
      (near.empty() ? "; see locktidy " + app->get_name() + " --help" : near));
  return 2;
}

}  // namespace

bool parseDuration(const std::string& text, std::chrono::milliseconds& out) {
  size_t digits = text.find_first_not_of("0123456789");
  uint64_t value = 0;
  if (!digits || !parseNumber(text.substr(0, digits), value) || value > 1000000000) return false;
  std::string unit = digits == std::string::npos ? "s" : text.substr(digits);
  int64_t factor = unit == "ms"  ? 1
                   : unit == "s" ? 1000
                   : unit == "m" ? 60000
                   : unit == "h" ? 3600000
                                 : 0;
  out = std::chrono::milliseconds(static_cast<int64_t>(value) * factor);
  return factor != 0;
}

bool parseSize(const std::string& text, uint64_t& out) {
  size_t digits = text.find_first_not_of("0123456789");
  uint64_t value = 0;
  if (!digits || !parseNumber(text.substr(0, digits), value) || value > UINT32_MAX) return false;
  std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  int shift = unit.empty()  ? 0
              : unit == "K" ? 10
              : unit == "M" ? 20
              : unit == "G" ? 30
              : unit == "T" ? 40
                            : -1;
  if (shift < 0 || (value << shift >> shift) != value) return false;
  out = value << shift;
  return true;
}

int parseOptions(int argc, char** argv, Options& options) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  std::vector<std::string> names = commandNames();
  if (!arguments.empty() && arguments[0] == "--version") arguments[0] = "version";
  bool help = !arguments.empty() &&
              (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help");
  if (!help &&
      (arguments.empty() || std::find(names.begin(), names.end(), arguments[0]) == names.end())) {
    if (!arguments.empty() && arguments[0][0] != '-' && !looksLikePath(arguments[0])) {
      std::string near = didYouMean(arguments[0], names);
      printError("unknown command \"" + arguments[0] + "\"" +
                 (near.empty() ? "; see locktidy --help" : near));
      return 2;
    }
    arguments.insert(arguments.begin(), "check");
  }

  CLI::App app(kAbout, "locktidy");
  app.footer(kFooter);
  app.require_subcommand(1);
  Texts texts;
  std::vector<CLI::App*> commands;
  // Every command fills the same values, but only one of them is parsed.
  for (const CommandSpec& spec : kCommands) {
    CLI::App* command = app.add_subcommand(spec.name, spec.help);
    command->allow_extras();  // reported below, with a suggestion
    addCommand(command, spec, options, texts);
    commands.push_back(command);
  }
  if (help) {
    printOut(app.help() + "\n");
    return 0;
  }

  size_t at =
      static_cast<size_t>(std::find(names.begin(), names.end(), arguments[0]) - names.begin());
  options.command = kCommands[at].command;
  CLI::App* chosen = commands[at];
  if (!chosen->get_subcommands({}).empty()) {  // facts dump
    CLI::App* sub = chosen->get_subcommands({}).front();
    if (arguments.size() < 2 ||
        (arguments[1] != sub->get_name() && arguments[1] != "--help" && arguments[1] != "-h")) {
      printError("facts: say what to do: locktidy facts dump FILE");
      return 2;
    }
    if (arguments[1] == sub->get_name()) chosen = sub;
  }
  std::vector<std::string> normal = normalise(arguments, chosen);
  std::reverse(normal.begin(), normal.end());  // as CLI11 wants them
  try {
    app.parse(normal);
  } catch (const CLI::CallForHelp&) {
    std::string above = chosen->get_parent() == &app ? "locktidy" : "locktidy " + arguments[0];
    printOut(chosen->help(above) + "\n");
    return 0;
  } catch (const CLI::ParseError& e) {
    // An unknown option is the likelier cause of whatever else is wrong.
    if (!chosen->remaining().empty()) return unknownArgument(chosen, chosen->remaining().front());
    printError(std::string(e.what()) + "; see locktidy " + arguments[0] + " --help");
    return 2;
  }
  if (!chosen->remaining().empty()) return unknownArgument(chosen, chosen->remaining().front());
  return interpret(texts, options) ? -1 : 2;
}

}  // namespace locktidy
