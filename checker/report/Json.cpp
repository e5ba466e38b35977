// Result <-> JSON, schema locktidy-result/1 (docs/result.schema.json, docs/output.md).
//
// Keys are written in a fixed order and findings are sorted, so equal results are
// equal bytes. Reading trusts nothing: a saved result comes from another machine.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

using nlohmann::json;
using Object = nlohmann::ordered_json;

constexpr const char* kSchema = "locktidy-result/1";

// ---------------------------------------------------------------------------
// Writing
Object toJson(const Place& at) {
  return {{"file", at.file},
          {"line", at.line},
          {"column", at.column},
          {"offset", at.offset},
          {"length", at.length}};
}

template <typename T, typename F>
Object toArray(const std::vector<T>& values, F convert) {
  Object out = Object::array();
  for (const T& value : values) out.push_back(convert(value));
  return out;
}

Object toJson(const std::vector<std::string>& values) {
  return toArray(values, [](const std::string& value) { return Object(value); });
}

Object toJson(const CallStep& step) { return {{"function", step.function}, {"location", toJson(step.at)}}; }

Object toJson(const AccessNote& access) {
  return {{"path", access.path},
          {"kind", access.kind},
          {"via", access.via},
          {"location", toJson(access.at)},
          {"chain", toArray(access.chain, [](const CallStep& step) { return toJson(step); })}};
}

// CLI.md calls what was found out about a section its "mode"; how the lock is
// taken there is "held".
Object toJson(const SectionNote& section) {
  return {{"function", section.function},
          {"mode", section.verdict},
          {"held", section.mode},
          {"reason", section.reason},
          {"cost", section.cost},
          {"loop_depth", section.loopDepth},
          {"location", toJson(section.at)},
          {"accesses", toArray(section.accesses, [](const AccessNote& access) { return toJson(access); })}};
}

Object toJson(const Edit& edit) {
  return {{"file", edit.file}, {"sha256", edit.sha256}, {"offset", edit.offset}, {"length", edit.length},
          {"line", edit.line}, {"column", edit.column}, {"old", edit.oldText},   {"new", edit.newText}};
}

Object toJson(const IncludeEdit& include) { return {{"file", include.file}, {"add", include.header}}; }

Object toJson(const Finding& finding) {
  Object out;
  out["id"] = finding.id;
  out["fingerprint"] = finding.fingerprint;
  out["rule"] = finding.rule;
  out["code"] = finding.code;
  out["level"] = toString(finding.level);
  out["safety"] = toString(finding.safety);
  out["location"] = toJson(finding.at);
  out["label"] = finding.label;
  out["message"] = finding.message;
  out["lock"] = {{"name", finding.lock.name},
                 {"usr", finding.lock.usr},
                 {"type", finding.lock.type},
                 {"location", toJson(finding.lock.at)}};
  out["sections"] = toArray(finding.sections, [](const SectionNote& section) { return toJson(section); });
  out["proof"] = {{"reads", finding.reads},
                  {"writes", finding.writes},
                  {"calls_resolved", finding.callsResolved},
                  {"calls_unresolved", finding.callsUnresolved},
                  {"because", toJson(finding.because)},
                  {"assumptions", toJson(finding.assumes)}};
  out["cost"] = finding.cost;
  out["evidence"] = finding.evidence;
  out["help"] = toJson(finding.help);
  // JSON has no infinities; the library would write null.
  out["rank"] = std::isfinite(finding.rank) ? finding.rank : 0.0;
  // Baselines, suppressions and causes are not part of Finding yet.
  out["state"] = "new";
  out["suppressed"] = nullptr;
  out["cause"] = nullptr;
  if (finding.fix.empty()) {
    out["fix"] = nullptr;
  } else {
    const Fix& fix = finding.fix;
    out["fix"] = {
        {"title", fix.title},
        {"safety", toString(fix.safety)},
        {"reasons", fix.safety == Safety::Safe ? Object::array() : toJson(finding.assumes)},
        {"group", fix.group},
        {"edits", toArray(fix.edits, [](const Edit& edit) { return toJson(edit); })},
        {"includes", toArray(fix.includes, [](const IncludeEdit& include) { return toJson(include); })}};
  }
  out["seen_in_tus"] = finding.seenInTus;
  return out;
}

Object toJson(const Coverage& coverage) {
  std::vector<FailedTu> problems = coverage.problems;
  std::sort(problems.begin(), problems.end(), [](const FailedTu& a, const FailedTu& b) {
    return std::tie(a.file, a.reason, a.degraded) < std::tie(b.file, b.reason, b.degraded);
  });
  return {{"tus", coverage.tus},
          {"ok", coverage.ok},
          {"degraded", coverage.degraded},
          {"failed", coverage.failed},
          {"from_cache", coverage.fromCache},
          {"locks", coverage.locks},
          {"unresolved_calls", coverage.unresolvedCalls},
          {"variants", toJson(coverage.variants)},
          {"problems", toArray(problems, [](const FailedTu& tu) {
             return Object{{"file", tu.file}, {"reason", tu.reason}, {"degraded", tu.degraded}};
           })}};
}

// ---------------------------------------------------------------------------
// Reading

// A value and the way to it. The first wrong value sets `error`; from then on
// every read gives a default, so callers need no checks of their own.
class Node {
 public:
  Node(const json& value, std::string& error) : value_(&value), error_(&error) {}

  Node operator[](const char* key) const {
    if (failed()) return Node(this, key, nullptr);
    if (!value_->is_object()) {
      fail("must be an object");
      return Node(this, key, nullptr);
    }
    const auto found = value_->find(key);
    const Node node(this, key, found == value_->end() ? nullptr : &*found);
    if (!node.value_) node.fail("missing");
    return node;
  }

  template <typename F>
  void each(F f) const {
    if (failed()) return;
    if (!value_->is_array()) return fail("must be an array");
    for (size_t i = 0; i < value_->size() && !failed(); ++i) f(Node(this, i, &(*value_)[i]));
  }

  bool isNull() const { return !failed() && value_->is_null(); }

  std::string string() const {
    if (failed()) return {};
    if (const auto* text = value_->get_ptr<const json::string_t*>()) return *text;
    fail("must be a string");
    return {};
  }

  std::vector<std::string> strings() const {
    std::vector<std::string> out;
    each([&](const Node& item) { out.push_back(item.string()); });
    return out;
  }

  uint64_t natural(uint64_t max) const {
    if (failed()) return 0;
    // Counts are written without sign or fraction; anything else is not ours.
    if (value_->is_number_unsigned() && value_->get<uint64_t>() <= max) return value_->get<uint64_t>();
    fail("must be an integer from 0 to " + std::to_string(max));
    return 0;
  }
  uint32_t u32() const { return static_cast<uint32_t>(natural(std::numeric_limits<uint32_t>::max())); }
  size_t size() const { return natural(std::numeric_limits<size_t>::max()); }
  int integer() const { return static_cast<int>(natural(std::numeric_limits<int>::max())); }

  double number() const {
    if (failed()) return 0;
    if (value_->is_number()) return value_->get<double>();
    fail("must be a number");
    return 0;
  }

  bool boolean() const {
    if (failed()) return false;
    if (value_->is_boolean()) return value_->get<bool>();
    fail("must be true or false");
    return false;
  }

  template <typename E>
  E oneOf(std::initializer_list<E> values) const {
    const std::string text = string();
    std::string known;
    for (E value : values) {
      if (text == toString(value)) return value;
      if (!known.empty()) known += ", ";
      known += toString(value);
    }
    if (!failed()) fail("must be one of " + known);
    return *values.begin();
  }

  void fail(const std::string& what) const {
    if (error_->empty()) *error_ = path() + ": " + what;
  }

 private:
  Node(const Node* parent, const char* key, const json* value)
      : value_(value), error_(parent->error_), parent_(parent), key_(key) {}
  Node(const Node* parent, size_t index, const json* value)
      : value_(value), error_(parent->error_), parent_(parent), index_(index) {}

  bool failed() const { return !value_ || !error_->empty(); }

  std::string path() const {
    if (!parent_) return "result";
    const std::string above = parent_->parent_ ? parent_->path() : "";
    if (!key_) return above + '[' + std::to_string(index_) + ']';
    return above.empty() ? key_ : above + '.' + key_;
  }

  const json* value_ = nullptr;
  std::string* error_ = nullptr;
  const Node* parent_ = nullptr;  // lives as long as the expression that made this one
  const char* key_ = nullptr;
  size_t index_ = 0;
};

Place readPlace(const Node& node) {
  Place at;
  at.file = node["file"].string();
  at.line = node["line"].u32();
  at.column = node["column"].u32();
  at.offset = node["offset"].u32();
  at.length = node["length"].u32();
  return at;
}

AccessNote readAccess(const Node& node) {
  AccessNote access;
  access.path = node["path"].string();
  access.kind = node["kind"].string();
  access.via = node["via"].string();
  access.at = readPlace(node["location"]);
  node["chain"].each([&](const Node& step) {
    access.chain.push_back({step["function"].string(), readPlace(step["location"])});
  });
  return access;
}

SectionNote readSection(const Node& node) {
  SectionNote section;
  section.function = node["function"].string();
  section.verdict = node["mode"].string();
  section.mode = node["held"].string();
  section.reason = node["reason"].string();
  section.cost = node["cost"].string();
  section.loopDepth = node["loop_depth"].integer();
  section.at = readPlace(node["location"]);
  node["accesses"].each([&](const Node& access) { section.accesses.push_back(readAccess(access)); });
  return section;
}

Safety readSafety(const Node& node) { return node.oneOf({Safety::Safe, Safety::Likely, Safety::Candidate}); }

Fix readFix(const Node& node) {
  Fix fix;
  if (node.isNull()) return fix;
  fix.title = node["title"].string();
  fix.safety = readSafety(node["safety"]);
  node["reasons"].strings();  // derived from the finding's assumptions
  fix.group = node["group"].string();
  node["edits"].each([&](const Node& item) {
    Edit edit;
    edit.file = item["file"].string();
    edit.sha256 = item["sha256"].string();
    edit.offset = item["offset"].u32();
    edit.length = item["length"].u32();
    edit.line = item["line"].u32();
    edit.column = item["column"].u32();
    edit.oldText = item["old"].string();
    edit.newText = item["new"].string();
    fix.edits.push_back(std::move(edit));
  });
  node["includes"].each([&](const Node& item) {
    fix.includes.push_back({item["file"].string(), item["add"].string()});
  });
  return fix;
}

Finding readFinding(const Node& node) {
  Finding finding;
  finding.id = node["id"].string();
  finding.fingerprint = node["fingerprint"].string();
  finding.rule = node["rule"].string();
  finding.code = node["code"].string();
  finding.level = node["level"].oneOf({Level::Off, Level::Note, Level::Warning, Level::Error});
  finding.safety = readSafety(node["safety"]);
  finding.at = readPlace(node["location"]);
  finding.label = node["label"].string();
  finding.message = node["message"].string();
  const Node lock = node["lock"];
  finding.lock.name = lock["name"].string();
  finding.lock.usr = lock["usr"].string();
  finding.lock.type = lock["type"].string();
  finding.lock.at = readPlace(lock["location"]);
  node["sections"].each([&](const Node& section) { finding.sections.push_back(readSection(section)); });
  const Node proof = node["proof"];
  finding.reads = proof["reads"].size();
  finding.writes = proof["writes"].size();
  finding.callsResolved = proof["calls_resolved"].size();
  finding.callsUnresolved = proof["calls_unresolved"].size();
  finding.because = proof["because"].strings();
  finding.assumes = proof["assumptions"].strings();
  finding.cost = node["cost"].string();
  finding.evidence = node["evidence"].string();
  finding.help = node["help"].strings();
  finding.rank = node["rank"].number();
  finding.fix = readFix(node["fix"]);
  finding.seenInTus = node["seen_in_tus"].u32();
  return finding;
}

Coverage readCoverage(const Node& node) {
  Coverage coverage;
  coverage.tus = node["tus"].u32();
  coverage.ok = node["ok"].u32();
  coverage.degraded = node["degraded"].u32();
  coverage.failed = node["failed"].u32();
  coverage.fromCache = node["from_cache"].u32();
  coverage.locks = node["locks"].u32();
  coverage.unresolvedCalls = node["unresolved_calls"].u32();
  coverage.variants = node["variants"].strings();
  node["problems"].each([&](const Node& item) {
    coverage.problems.push_back({item["file"].string(), item["reason"].string(), item["degraded"].boolean()});
  });
  return coverage;
}

// The library says only *that* a text is not JSON unless it may throw; this
// handler is run over a bad text to learn where it breaks.
struct ErrorPosition : nlohmann::json_sax<json> {
  size_t position = 0;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    position = at;
    return false;
  }
};

std::string syntaxError(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "not JSON: the file is empty";
  ErrorPosition handler;
  json::sax_parse(text.begin(), text.end(), &handler);
  if (handler.position > text.size())
    return "not JSON: ends in the middle after " + std::to_string(text.size()) + " bytes (truncated?)";
  const auto lines = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(handler.position), '\n');
  return "not JSON: error at byte " + std::to_string(handler.position) + ", line " +
         std::to_string(lines + 1);
}

}  // namespace

std::string emitJson(const Result& result) {
  std::vector<const Finding*> sorted;
  for (const Finding& finding : result.findings) sorted.push_back(&finding);
  std::sort(sorted.begin(), sorted.end(), [](const Finding* a, const Finding* b) {
    return std::tie(a->at.file, a->at.line, a->at.column, a->rule, a->fingerprint, a->message) <
           std::tie(b->at.file, b->at.line, b->at.column, b->rule, b->fingerprint, b->message);
  });

  Object out;
  out["schema"] = kSchema;
  out["tool"] = {{"name", "locktidy"},
                 {"version", result.tool.version},
                 {"clang", result.tool.clang},
                 {"build_id", result.tool.buildId}};
  out["root"] = ".";
  out["exit"] = {{"code", result.exitCode}, {"reasons", toJson(result.exitReasons)}};
  out["coverage"] = toJson(result.coverage);
  out["findings"] = toArray(sorted, [](const Finding* finding) { return toJson(*finding); });
  // Source text and paths are bytes; what is not UTF-8 becomes U+FFFD.
  return out.dump(2, ' ', false, Object::error_handler_t::replace) + '\n';
}

bool parseResult(std::string_view text, Result& result, std::string& error) {
  error.clear();
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) {
    error = syntaxError(text);
    return false;
  }
  const Node node(document, error);
  const std::string schema = node["schema"].string();
  if (error.empty() && schema != kSchema)
    node["schema"].fail(std::string("must be ") + kSchema + "; another version of locktidy wrote this");

  Result read;
  const Node tool = node["tool"];
  if (tool["name"].string() != "locktidy") tool["name"].fail("must be locktidy");
  read.tool.version = tool["version"].string();
  read.tool.clang = tool["clang"].string();
  read.tool.buildId = tool["build_id"].string();
  node["root"].string();
  const Node exit = node["exit"];
  read.exitCode = exit["code"].integer();
  read.exitReasons = exit["reasons"].strings();
  read.coverage = readCoverage(node["coverage"]);
  node["findings"].each([&](const Node& finding) { read.findings.push_back(readFinding(finding)); });
  if (!error.empty()) return false;
  result = std::move(read);
  return true;
}

}  // namespace locktidy
