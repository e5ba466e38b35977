#include "checker/driver/Config.h"

#include <nlohmann/json.hpp>

#include "checker/driver/System.h"

namespace locktidy {
namespace {

using nlohmann::json;

// Locks whose headers are known.
const std::map<std::string, std::string>& knownLocks() {
  static const std::map<std::string, std::string> kLocks{
      {"std::shared_mutex", "<shared_mutex>"},
      {"std::shared_timed_mutex", "<shared_mutex>"},
      {"boost::shared_mutex", "<boost/thread/shared_mutex.hpp>"},
      {"locktidy::fair_shared_mutex", "<locktidy/fair_shared_mutex.h>"},
      {"locktidy::percpu_shared_mutex", "<locktidy/percpu_shared_mutex.h>"},
  };
  return kLocks;
}

// Keys of the format, by section ("": the top); those with `built` do something.
struct Key {
  const char *section, *name;
  bool built;
};
constexpr Key kKeys[] = {
    {"", "$schema", true}, {"", "$comment", true}, {"", "version", true}, {"", "root", true},
    {"", "extends", false}, {"", "build", false}, {"", "report", false}, {"", "rules", false},
    {"", "locks", true}, {"", "ranking", true}, {"", "fix", true}, {"", "suppressions", false},
    {"", "analysis", false}, {"", "db-fixups", false}, {"", "output", false},
    {"locks", "mutex-types", false}, {"locks", "guard-types", false}, {"locks", "pure-functions", false},
    {"locks", "impure-functions", false}, {"locks", "never-suggest", true},
    {"ranking", "include-t1", true}, {"ranking", "min-read-share", false}, {"ranking", "min-section-cost", false},
    {"ranking", "profile", false},
    {"fix", "shared-mutex", true}, {"fix", "unsafe", false}, {"fix", "verify", false}, {"fix", "format", false},
    {"fix", "target-std", false}, {"fix", "promote-to-safe", false}, {"fix", "demote-to-likely", false},
};

std::string badKeys(const json& object, const std::string& section) {
  std::string dot = section.empty() ? "" : section + ".";
  for (const auto& [name, value] : object.items()) {
    std::vector<std::string> names;
    bool known = false, built = false;
    for (const Key& k : kKeys) {
      if (section != k.section) continue;
      names.push_back(k.name);
      if (name == k.name) known = true, built = k.built;
    }
    if (!known) return "unknown key \"" + dot + name + "\"" + didYouMean(name, names);
    if (!built) return "\"" + dot + name + "\" does nothing in this version; take it out";
  }
  return {};
}

}  // namespace

bool Config::read(const std::string& path, Level& out) {
  std::string text, problem;
  if (!readFile(path, text, problem)) {
    error_ = problem;
    return false;
  }
  json j = json::parse(text, nullptr, false);
  auto fail = [&](const std::string& why) {
    error_ = path + ": " + why;
    return false;
  };
  if (j.is_discarded()) {
    try {
      (void)json::parse(text);
    } catch (const json::parse_error& e) {
      std::string what = e.what();
      size_t at = what.find("] ");
      return fail("not valid JSON: " + (at == std::string::npos ? what : what.substr(at + 2)));
    }
  }
  if (!j.is_object()) return fail("must be an object like {\"version\": 1}");
  if (std::string bad = badKeys(j, ""); !bad.empty()) return fail(bad);
  if (!j.contains("version")) return fail("has no \"version\"; add \"version\": 1");
  if (j["version"] != 1) return fail("\"version\" must be 1");
  if (j.contains("root") && !j["root"].is_boolean()) return fail("\"root\" must be true or false");
  out.root = j.value("root", false);
  for (const char* section : {"locks", "ranking", "fix"}) {
    if (!j.contains(section)) continue;
    if (!j[section].is_object()) return fail("\"" + std::string(section) + "\" must be an object");
    if (std::string bad = badKeys(j[section], section); !bad.empty()) return fail(bad);
  }
  if (j.contains("ranking") && j["ranking"].contains("include-t1")) {
    const json& v = j["ranking"]["include-t1"];
    if (!v.is_boolean()) return fail("\"ranking.include-t1\" must be true or false");
    out.includeT1 = v.get<bool>();
  }
  if (j.contains("locks") && j["locks"].contains("never-suggest")) {
    const json& v = j["locks"]["never-suggest"];
    bool strings = v.is_array();
    if (strings)
      for (const json& x : v) strings &= x.is_string() && !x.get<std::string>().empty();
    if (!strings) return fail("\"locks.never-suggest\" must be a list of names like \"acme::Registry::mu_\"");
    out.neverSuggest = v.get<std::vector<std::string>>();
  }
  if (j.contains("fix") && j["fix"].contains("shared-mutex")) {
    const json& v = j["fix"]["shared-mutex"];
    if (v.is_string()) {
      auto it = knownLocks().find(v.get<std::string>());
      if (it == knownLocks().end()) {
        std::vector<std::string> names;
        for (const auto& [name, header] : knownLocks()) names.push_back(name);
        return fail("\"fix.shared-mutex\": the header of \"" + v.get<std::string>() + "\" is not known; write {\"type\": \"" +
                    v.get<std::string>() + "\", \"header\": \"<...>\"}" + didYouMean(v.get<std::string>(), names));
      }
      out.sharedMutex = it->first;
      out.sharedMutexHeader = it->second;
    } else {
      auto text = [&](const char* key) { return v.is_object() && v.contains(key) && v[key].is_string() ? v[key].get<std::string>() : ""; };
      std::string header = text("header");
      bool closed = header.size() > 2 && ((header.front() == '<' && header.back() == '>') || (header.front() == '"' && header.back() == '"'));
      if (!v.is_object() || v.size() != 2 || text("type").empty() || !closed)
        return fail("\"fix.shared-mutex\" must be the name of a lock or {\"type\": \"acme::SharedMutex\", \"header\": \"<acme/lock.h>\"}");
      out.sharedMutex = text("type");
      out.sharedMutexHeader = header;
    }
  }
  return true;
}

const Config::Level& Config::level(const std::string& directory) {
  auto [it, fresh] = levels_.try_emplace(directory);
  Level& l = it->second;
  if (!fresh) return l;
  std::string path = directory + (directory.ends_with('/') ? "" : "/") + ".locktidy.json";
  Level read;
  if (isFile(path) && error_.empty() && this->read(path, read)) l = read;
  std::string git = directory + (directory.ends_with('/') ? "" : "/") + ".git";
  if (isDirectory(git) || isFile(git)) l.root = true;
  return l;
}

LockSettings Config::forFile(const std::string& file) {
  LockSettings out;
  bool haveMutex = false, haveT1 = false, haveNever = false;
  for (std::string dir = parentPath(file);; dir = parentPath(dir)) {
    const Level& l = level(dir);
    if (l.sharedMutex && !haveMutex) out.sharedMutex = *l.sharedMutex, out.sharedMutexHeader = *l.sharedMutexHeader, haveMutex = true;
    if (l.includeT1 && !haveT1) out.includeT1 = *l.includeT1, haveT1 = true;
    if (l.neverSuggest && !haveNever) out.neverSuggest = *l.neverSuggest, haveNever = true;
    if (l.root || dir == "/" || dir.empty() || dir == parentPath(dir)) return out;
  }
}

}  // namespace locktidy
