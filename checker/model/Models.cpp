#include "checker/model/Models.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace locktidy {

using nlohmann::json;

namespace {

// ---------------------------------------------------------------------------
// Words of the little languages. One table each, used for reading and writing.
// ---------------------------------------------------------------------------

enum class Shape : uint8_t { Bare, Place, BindPlaces, CopyPlaces, WithArguments };
struct EffectWord {
  std::string_view word;
  EffectKind kind;
  Shape shape;
  bool shallow = false;
};
constexpr EffectWord kEffectWords[] = {
    {"read", EffectKind::Read, Shape::Place},
    {"peek", EffectKind::Read, Shape::Place, true},
    {"write", EffectKind::Write, Shape::Place},
    {"atomic-read", EffectKind::AtomicRead, Shape::Place},
    {"atomic-write", EffectKind::AtomicWrite, Shape::Place},
    {"atomic-rmw", EffectKind::AtomicRmw, Shape::Place},
    {"bind", EffectKind::Bind, Shape::BindPlaces},
    {"copy", EffectKind::Copy, Shape::CopyPlaces},
    {"fresh", EffectKind::Fresh, Shape::Place},
    {"invoke", EffectKind::Invoke, Shape::WithArguments},
    {"later", EffectKind::Later, Shape::WithArguments},
    {"stores", EffectKind::Stores, Shape::Place},
    {"destroy", EffectKind::Destroy, Shape::Place},
    {"construct", EffectKind::Construct, Shape::WithArguments},
    {"copies", EffectKind::Copies, Shape::Place},
    {"moves", EffectKind::Moves, Shape::Place},
    {"steals", EffectKind::Steals, Shape::Place},
    {"scan", EffectKind::Scan, Shape::Place},
    {"compare", EffectKind::Compare, Shape::Place},
    {"free", EffectKind::Free, Shape::Place},
    {"external", EffectKind::External, Shape::Bare},
    {"wait", EffectKind::Wait, Shape::Bare},
    {"blocks", EffectKind::Blocks, Shape::Bare},
    {"sync", EffectKind::Sync, Shape::Bare},
    {"log", EffectKind::Log, Shape::Bare},
    {"log-to", EffectKind::LogTo, Shape::Place},
    {"alloc", EffectKind::Alloc, Shape::Bare},
    {"hostile", EffectKind::Hostile, Shape::Bare},
    {"noreturn", EffectKind::NoReturn, Shape::Bare},
    {"signal-handler", EffectKind::SignalHandler, Shape::Place},
    {"atfork", EffectKind::AtFork, Shape::Place},
};

template <typename T> using Words = std::initializer_list<std::pair<std::string_view, T>>;

const Words<Mode> kModes = {
    {"shared", Mode::Shared}, {"upgrade", Mode::Upgrade}, {"exclusive", Mode::Exclusive}};
const Words<Policy> kPolicies = {{"unknown", Policy::Unknown},
                                 {"const-reads", Policy::ConstReads},
                                 {"pure", Policy::Pure},
                                 {"sync", Policy::Sync},
                                 {"log", Policy::Log}};
const Words<LockOpKind> kOpKinds = {{"acquire", LockOpKind::Acquire},
                                    {"release", LockOpKind::Release},
                                    {"try", LockOpKind::Try},
                                    {"defer", LockOpKind::Defer},
                                    {"adopt", LockOpKind::Adopt},
                                    {"detach", LockOpKind::Detach},
                                    {"query", LockOpKind::Query},
                                    {"wait", LockOpKind::Wait},
                                    {"assert", LockOpKind::Assert},
                                    {"none", LockOpKind::None},
                                    {"acquire-many", LockOpKind::AcquireMany},
                                    {"init", LockOpKind::Init},
                                    {"destroy", LockOpKind::Destroy},
                                    {"guard", LockOpKind::Guard},
                                    {"with", LockOpKind::With},
                                    {"view", LockOpKind::View},
                                    {"convert", LockOpKind::Convert}};
constexpr std::string_view kClassKinds[] = {"condition-variable", "callable", "unique-owner",
                                            "counted-pointer", "reference-wrapper", "atomic"};

template <typename T> const T* findWord(const Words<T>& words, std::string_view word) {
  for (const auto& [text, value] : words) {
    if (text == word) return &value;
  }
  return nullptr;
}

template <typename T> std::string_view wordOf(const Words<T>& words, T value) {
  for (const auto& [text, v] : words) {
    if (v == value) return text;
  }
  return "?";
}

bool isIdentChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> splitSpaces(std::string_view text) {
  std::vector<std::string_view> out;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

bool parseNumber(std::string_view text, int& out) {
  if (text.empty()) return false;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size() && out >= 0;
}

// ---------------------------------------------------------------------------
// Effects
// ---------------------------------------------------------------------------

// A cursor over one effect string.
struct EffectParser {
  std::string_view text;
  size_t at = 0;
  std::string what;  // the error

  bool fail(std::string message) {
    if (what.empty()) what = std::move(message);
    return false;
  }
  void skipSpaces() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool eat(std::string_view token) {
    skipSpaces();
    if (text.substr(at, token.size()) != token) return false;
    at += token.size();
    return true;
  }
  std::string_view word() {
    skipSpaces();
    size_t begin = at;
    while (at < text.size() && (isIdentChar(text[at]) || text[at] == '-')) ++at;
    return text.substr(begin, at - begin);
  }

  bool place(ModelPlace& out) {
    skipSpaces();
    size_t begin = at;
    while (at < text.size() && isIdentChar(text[at])) ++at;
    std::string_view base = text.substr(begin, at - begin);
    if (base == "self") {
      out.base = ModelPlace::Base::Self;
    } else if (base == "ret") {
      out.base = ModelPlace::Base::Ret;
    } else if (base == "global") {
      out.base = ModelPlace::Base::Global;
    } else if (base == "args") {
      out.base = ModelPlace::Base::Args;
    } else if (base.starts_with("arg") && parseNumber(base.substr(3), out.arg)) {
      out.base = ModelPlace::Base::Arg;
      if (text.substr(at, 3) == "...") {
        at += 3;
        out.base = ModelPlace::Base::Args;
      }
    } else if (base.empty()) {
      return fail("expected a place (self, argN, args, argN..., ret, global)");
    } else {
      return fail("unknown place '" + std::string(base) +
                  "' (self, argN, args, argN..., ret, global)");
    }
    while (at < text.size()) {
      if (text[at] == '*' || text[at] == '&') {
        out.selectors += text[at];
        ++at;
      } else if (text.substr(at, 2) == "[]") {
        out.selectors += '[';
        at += 2;
      } else {
        break;
      }
    }
    return true;
  }

  bool effect(ModelEffect& out) {
    std::string_view name = word();
    const EffectWord* entry = std::find_if(std::begin(kEffectWords), std::end(kEffectWords),
                                           [&](const auto& w) { return w.word == name; });
    if (entry == std::end(kEffectWords)) {
      return fail(name.empty() ? "empty effect" : "unknown effect '" + std::string(name) + "'");
    }
    out.kind = entry->kind;
    out.shallow = entry->shallow;
    if (entry->shape != Shape::Bare && !place(out.place)) return false;
    if (entry->shape == Shape::BindPlaces || entry->shape == Shape::CopyPlaces) {
      std::string_view arrow = entry->shape == Shape::BindPlaces ? "->" : "<-";
      if (!eat(arrow))
        return fail("expected '" + std::string(arrow) + "' after the place of '" +
                    std::string(name) + "'");
      if (!place(out.source)) return false;
    }
    if (entry->shape == Shape::WithArguments && eat("(") && !eat(")")) {
      do {
        ModelPlace argument;
        if (!place(argument)) return false;
        out.invokeArgs.push_back(std::move(argument));
      } while (eat(","));
      if (!eat(")"))
        return fail("expected ',' or ')' in the arguments of '" + std::string(name) + "'");
    }
    skipSpaces();
    if (at != text.size())
      return fail("unexpected '" + std::string(text.substr(at)) + "' after the effect");
    return true;
  }
};

std::string spell(const ModelPlace& place) {
  std::string out;
  switch (place.base) {
  case ModelPlace::Base::Self:
    out = "self";
    break;
  case ModelPlace::Base::Ret:
    out = "ret";
    break;
  case ModelPlace::Base::Global:
    out = "global";
    break;
  case ModelPlace::Base::Args:
    out = place.arg == 0 ? "args" : "arg" + std::to_string(place.arg) + "...";
    break;
  case ModelPlace::Base::Arg:
    out = "arg" + std::to_string(place.arg);
    break;
  }
  for (char c : place.selectors) out += c == '[' ? std::string("[]") : std::string(1, c);
  return out;
}

// ---------------------------------------------------------------------------
// Method keys: "begin end", "find/1", "operator[] const", "insert/2+", "get/1-2"
// ---------------------------------------------------------------------------

struct MethodKey {
  std::string name;
  std::optional<bool> constMethod;
  std::optional<int> minArgs, maxArgs;
};

bool parseMethodKey(std::string_view key, std::vector<MethodKey>& out, std::string& what) {
  std::vector<std::string_view> words = splitSpaces(key);
  std::optional<bool> constMethod;
  if (!words.empty() && (words.back() == "const" || words.back() == "non-const")) {
    constMethod = words.back() == "const";
    words.pop_back();
  }
  if (words.empty()) {
    what = "no method name in '" + std::string(key) + "'";
    return false;
  }
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    // "operator bool" is one name; a conversion to any other type is "conversion".
    std::string prefix;
    if (word == "operator" && i + 1 < words.size()) {
      prefix = "operator ";
      word = words[++i];
    }
    MethodKey method;
    method.constMethod = constMethod;
    // "operator/" and "operator/=" have a slash of their own; a count has a digit behind it.
    size_t slash = word.rfind('/');
    if (slash != std::string_view::npos && slash + 1 < word.size() && word[slash + 1] >= '0' &&
        word[slash + 1] <= '9') {
      std::string_view count = word.substr(slash + 1);
      word = word.substr(0, slash);
      int low = 0, high = 0;
      bool fine = false;
      if (size_t dash = count.find('-'); dash != std::string_view::npos) {
        fine = parseNumber(count.substr(0, dash), low) &&
               parseNumber(count.substr(dash + 1), high) && low <= high;
        method.maxArgs = high;
      } else if (count.ends_with('+')) {
        fine = parseNumber(count.substr(0, count.size() - 1), low);
      } else {
        fine = parseNumber(count, low);
        method.maxArgs = low;
      }
      if (!fine) {
        what = "bad number of arguments '" + std::string(count) + "' (N, N+ or N-M)";
        return false;
      }
      method.minArgs = low;
    }
    if (word == "const" || word == "non-const") {
      what = "'" + std::string(word) + "' must come last in '" + std::string(key) + "'";
      return false;
    }
    if (word.find("::") != std::string_view::npos) {
      what = "a method key has no '::': '" + std::string(word) + "'";
      return false;
    }
    method.name = prefix + std::string(word);
    if (method.name.empty()) {
      what = "no method name in '" + std::string(key) + "'";
      return false;
    }
    out.push_back(std::move(method));
  }
  return true;
}

// "std::map::find" -> {"std::map", "find"}. The type named by a conversion
// operator may itself contain "::".
std::pair<std::string_view, std::string_view> splitName(std::string_view name) {
  size_t at = name.rfind("::operator");
  if (at == std::string_view::npos || (at + 10 < name.size() && isIdentChar(name[at + 10])))
    at = name.rfind("::");
  if (at == std::string_view::npos) return {std::string_view(), name};
  return {name.substr(0, at), name.substr(at + 2)};
}

// How a method is called in the keys: "constructor", "destructor", "conversion".
std::string_view methodKeyOf(std::string_view cls, std::string_view method) {
  std::string_view last = splitName(cls).second;
  if (method == last) return "constructor";
  if (method.starts_with('~')) return "destructor";
  if (method.starts_with("operator ") && method.size() > 9 &&
      (isIdentChar(method[9]) || method[9] == ':')) {
    std::string_view type = method.substr(9);
    if (type != "new" && type != "delete" && type != "new[]" && type != "delete[]" &&
        type != "co_await") {
      return "conversion";
    }
  }
  return method;
}

std::string storedName(const std::string& cls, const std::string& key) {
  std::string last(splitName(cls).second);
  if (key == "constructor") return cls + "::" + last;
  if (key == "destructor") return cls + "::~" + last;
  return cls + "::" + key;
}

const FunctionModel* choose(const std::vector<FunctionModel>& overloads, bool constMethod,
                            size_t args) {
  const FunctionModel* best = nullptr;
  int bestRank = -1;
  for (const FunctionModel& f : overloads) {
    if (f.constMethod && *f.constMethod != constMethod) continue;
    if (f.minArgs && args < static_cast<size_t>(*f.minArgs)) continue;
    if (f.maxArgs && args > static_cast<size_t>(*f.maxArgs)) continue;
    // The more is said about the overload, the better it fits.
    int rank = (f.constMethod ? 4 : 0) + (f.maxArgs ? 2 : 0) + (f.minArgs ? 1 : 0);
    if (rank > bestRank) {
      bestRank = rank;
      best = &f;
    }
  }
  return best;
}

bool sameOverload(const FunctionModel& a, const FunctionModel& b) {
  return a.constMethod == b.constMethod && a.minArgs == b.minArgs && a.maxArgs == b.maxArgs;
}

// ---------------------------------------------------------------------------
// JSON text. A first pass through the text finds syntax errors and keys written
// twice, which the document tree can no longer show.
// ---------------------------------------------------------------------------
struct DuplicateCheck : nlohmann::json_sax<json> {
  struct Level {
    bool array = false;
    int index = -1;
    std::string key;
    std::set<std::string> keys;
  };
  std::vector<Level> levels;
  std::string path, what;

  std::string currentPath() const {
    std::string out;
    for (const Level& level : levels) {
      if (level.array) {
        out += "[" + std::to_string(std::max(level.index, 0)) + "]";
      } else if (!level.key.empty()) {
        out += (out.empty() ? "" : ".") + level.key;
      }
    }
    return out;
  }
  bool value() {
    if (!levels.empty() && levels.back().array) ++levels.back().index;
    return true;
  }
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override {
    value();
    levels.push_back({});
    return true;
  }
  bool end_object() override {
    levels.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    value();
    levels.push_back({true, -1, {}, {}});
    return true;
  }
  bool end_array() override {
    levels.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    levels.back().key = name;
    if (levels.back().keys.insert(name).second) return true;
    path = currentPath();
    what = "key written twice";
    return false;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    path = currentPath();
    what = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    if (size_t end = what.find("] "); end != std::string::npos) what = what.substr(end + 2);
    return false;
  }
};

}  // namespace

std::string toString(const ModelEffect& effect) {
  const EffectWord* entry =
      std::find_if(std::begin(kEffectWords), std::end(kEffectWords), [&](const auto& w) {
        return w.kind == effect.kind && w.shallow == effect.shallow;
      });
  if (entry == std::end(kEffectWords)) return "?";
  std::string out(entry->word);
  if (entry->shape == Shape::Bare) return out;
  out += " " + spell(effect.place);
  if (entry->shape == Shape::BindPlaces) out += " -> " + spell(effect.source);
  if (entry->shape == Shape::CopyPlaces) out += " <- " + spell(effect.source);
  if (entry->shape == Shape::WithArguments) {
    out += " (";
    for (size_t i = 0; i < effect.invokeArgs.size(); ++i)
      out += (i ? ", " : "") + spell(effect.invokeArgs[i]);
    out += ")";
  }
  return out;
}

// Reads one file into a Models of its own; nothing of a bad file is kept.
struct ModelsLoader {
  struct CategoryUse {
    std::string category, where;  // where: "FILE: KEY PATH"
  };

  Models out;
  std::string file;
  std::string error;
  std::vector<CategoryUse> uses;
  std::map<std::string, std::string> places;  // "mutex std::mutex" -> key path of its entry

  bool fail(const std::string& path, const std::string& what) {
    if (error.empty()) error = file + ": " + (path.empty() ? "(top level)" : path) + ": " + what;
    return false;
  }

  bool only(const json& object, const std::string& path,
            std::initializer_list<std::string_view> allowed,
            std::initializer_list<std::string_view> required = {}) {
    if (!object.is_object()) return fail(path, "must be an object");
    for (const auto& [key, value] : object.items()) {
      if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
        return fail(path.empty() ? key : path + "." + key, "unknown key");
      }
      if (key == "note" && !value.is_string())
        return fail(path.empty() ? key : path + "." + key, "must be a string");
    }
    for (std::string_view key : required) {
      if (!object.contains(key)) return fail(path, "missing key '" + std::string(key) + "'");
    }
    return true;
  }

  bool getString(const json& object, const std::string& path, const char* key, std::string& value) {
    auto it = object.find(key);
    if (it == object.end()) return true;
    if (!it->is_string() || it->get_ref<const std::string&>().empty()) {
      return fail(path + "." + key, "must be a string that is not empty");
    }
    value = it->get<std::string>();
    return true;
  }
  bool getBool(const json& object, const std::string& path, const char* key, bool& value) {
    auto it = object.find(key);
    if (it == object.end()) return true;
    if (!it->is_boolean()) return fail(path + "." + key, "must be true or false");
    value = it->get<bool>();
    return true;
  }
  bool getInt(const json& object, const std::string& path, const char* key, int& value) {
    auto it = object.find(key);
    if (it == object.end()) return true;
    if (!it->is_number_integer() || it->get<int64_t>() < 0 || it->get<int64_t>() > 1000) {
      return fail(path + "." + key, "must be a number from 0 to 1000");
    }
    value = it->get<int>();
    return true;
  }
  bool getStrings(const json& object, const std::string& path, const char* key,
                  std::vector<std::string>& values, bool mayBeEmpty = false) {
    auto it = object.find(key);
    if (it == object.end()) return true;
    std::string here = path.empty() ? key : path + "." + key;
    if (!it->is_array() || (it->empty() && !mayBeEmpty))
      return fail(here, "must be a list that is not empty");
    for (size_t i = 0; i < it->size(); ++i) {
      const json& item = (*it)[i];
      std::string at = here + "[" + std::to_string(i) + "]";
      if (!item.is_string() || item.get_ref<const std::string&>().empty()) {
        return fail(at, "must be a string that is not empty");
      }
      if (std::find(values.begin(), values.end(), item.get<std::string>()) != values.end()) {
        return fail(at, "'" + item.get<std::string>() + "' is listed twice");
      }
      values.push_back(item.get<std::string>());
    }
    return true;
  }

  // "std::map", "_Atomic::load", "operator new", "~x": no templates, no blanks around.
  bool checkName(const std::string& path, const std::string& name) {
    bool isOperator = splitName(name).second.starts_with("operator");
    if (name.find("::::") != std::string::npos || name.starts_with("::") || name.ends_with("::")) {
      return fail(path, "'" + name + "' is no qualified name");
    }
    if (!isOperator && name.find_first_of("<>() *&,") != std::string::npos) {
      return fail(path,
                  "'" + name + "' must be a plain qualified name, without template arguments");
    }
    return true;
  }

  bool claim(const std::string& what, const std::string& name, const std::string& path) {
    auto [it, fresh] = places.emplace(what + " " + name, path);
    if (!fresh)
      return fail(path, what + " '" + name + "' is defined twice, first at " + it->second);
    return true;
  }

  bool effects(const json& list, const std::string& path, std::vector<ModelEffect>& result) {
    if (!list.is_array()) return fail(path, "must be a list of effects");
    for (size_t i = 0; i < list.size(); ++i) {
      std::string at = path + "[" + std::to_string(i) + "]";
      if (!list[i].is_string()) return fail(at, "must be an effect string");
      const std::string& text = list[i].get_ref<const std::string&>();
      EffectParser parser{text, 0, {}};
      ModelEffect effect;
      if (!parser.effect(effect)) return fail(at, parser.what + " in '" + text + "'");
      result.push_back(std::move(effect));
    }
    return true;
  }

  bool methods(const json& object, const std::string& path,
               std::map<std::string, std::vector<FunctionModel>, std::less<>>& result) {
    if (!object.is_object()) return fail(path, "must be an object");
    for (const auto& [key, list] : object.items()) {
      std::string at = path + "." + key;
      std::vector<MethodKey> keys;
      std::string what;
      if (!parseMethodKey(key, keys, what)) return fail(at, what);
      FunctionModel model;
      if (!effects(list, at, model.effects)) return false;
      for (const MethodKey& method : keys) {
        model.constMethod = method.constMethod;
        model.minArgs = method.minArgs;
        model.maxArgs = method.maxArgs;
        std::vector<FunctionModel>& overloads = result[method.name];
        for (const FunctionModel& other : overloads) {
          if (sameOverload(other, model))
            return fail(at, "method '" + method.name + "' is defined twice");
        }
        overloads.push_back(model);
      }
    }
    return true;
  }

  // "acquire exclusive", "try shared timed", "release any", "query"
  bool lockOp(const json& value, const std::string& path, Mode defaultMode, LockOp& result) {
    if (!value.is_string()) return fail(path, "must be a string such as \"acquire exclusive\"");
    const std::string& text = value.get_ref<const std::string&>();
    result.mode = defaultMode;
    std::vector<std::string_view> words = splitSpaces(text);
    if (words.empty()) return fail(path, "empty operation");
    const LockOpKind* kind = findWord(kOpKinds, words[0]);
    if (!kind) return fail(path, "unknown operation '" + std::string(words[0]) + "'");
    result.kind = *kind;
    size_t at = 1;
    if (at < words.size()) {
      if (const Mode* mode = findWord(kModes, words[at])) {
        result.mode = *mode;
        ++at;
      } else if (words[at] == "any") {
        if (result.kind == LockOpKind::Acquire || result.kind == LockOpKind::Try) {
          return fail(path, "'any' needs a release, not '" + std::string(words[0]) + "'");
        }
        result.sharedOrExclusive = true;
        ++at;
      }
    }
    if (at < words.size() && words[at] == "timed") {
      result.timed = true;
      ++at;
    }
    if (at != words.size())
      return fail(path, "unknown word '" + std::string(words[at]) + "' in '" + text + "'");
    return true;
  }

  bool lockOps(const json& object, const std::string& path, Mode defaultMode,
               std::map<std::string, LockOp>& result) {
    auto it = object.find("ops");
    if (it == object.end()) return true;
    if (!it->is_object()) return fail(path + ".ops", "must be an object");
    for (const auto& [key, value] : it->items()) {
      std::string at = path + ".ops." + key;
      std::vector<MethodKey> keys;
      std::string what;
      if (!parseMethodKey(key, keys, what)) return fail(at, what);
      LockOp op;
      if (!lockOp(value, at, defaultMode, op)) return false;
      for (const MethodKey& method : keys) {
        if (method.constMethod || method.minArgs)
          return fail(at, "operations are not told apart by overload");
        if (!result.emplace(method.name, op).second)
          return fail(at, "operation '" + method.name + "' is defined twice");
      }
    }
    return true;
  }

  bool modeValues(const json& object, const std::string& path, int& modeArg,
                  std::map<std::string, Mode>& values) {
    if (object.contains("modeArg") != object.contains("modeValues")) {
      return fail(path, "'modeArg' and 'modeValues' go together");
    }
    if (!object.contains("modeArg")) return true;
    if (!getInt(object, path, "modeArg", modeArg)) return false;
    const json& map = object["modeValues"];
    if (!map.is_object() || map.empty())
      return fail(path + ".modeValues", "must be an object that is not empty");
    for (const auto& [key, value] : map.items()) {
      const Mode* mode =
          value.is_string() ? findWord(kModes, value.get_ref<const std::string&>()) : nullptr;
      if (!mode) return fail(path + ".modeValues." + key, "must be shared, upgrade or exclusive");
      values[key] = *mode;
    }
    return true;
  }

  bool prefix(const json& entry, const std::string& path) {
    if (!only(entry, path, {"prefix", "policy", "note"}, {"prefix", "policy"})) return false;
    std::string name, policy;
    if (!getString(entry, path, "prefix", name) || !getString(entry, path, "policy", policy))
      return false;
    const Policy* value = findWord(kPolicies, policy);
    if (!value) return fail(path + ".policy", "unknown policy '" + policy + "'");
    if (!claim("prefix", name, path)) return false;
    out.prefixes_[name] = *value;
    return true;
  }

  bool category(const std::string& name, const json& entry, const std::string& path) {
    if (!only(entry, path, {"methods", "note"}, {"methods"})) return false;
    return methods(entry["methods"], path + ".methods", out.categories_[name]);
  }

  bool cls(const json& entry, const std::string& path) {
    if (!only(entry, path, {"names", "categories", "kind", "methods", "note"}, {"names"}))
      return false;
    std::vector<std::string> names, categories;
    std::string kind;
    if (!getStrings(entry, path, "names", names) ||
        !getStrings(entry, path, "categories", categories, true) ||
        !getString(entry, path, "kind", kind)) {
      return false;
    }
    if (!kind.empty() &&
        std::find(std::begin(kClassKinds), std::end(kClassKinds), kind) == std::end(kClassKinds)) {
      return fail(path + ".kind", "unknown kind '" + kind + "'");
    }
    std::map<std::string, std::vector<FunctionModel>, std::less<>> own;
    if (entry.contains("methods") && !methods(entry["methods"], path + ".methods", own))
      return false;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string& name = names[i];
      std::string at = path + ".names[" + std::to_string(i) + "]";
      if (!checkName(at, name) || !claim("class", name, at)) return false;
      out.classCategories_[name] = categories;
      if (!kind.empty()) out.classKinds_[name] = kind;
      for (const auto& [method, overloads] : own) {
        std::string full = storedName(name, method);
        if (out.functions_.count(full)) return fail(at, "function '" + full + "' is defined twice");
        out.functions_[full] = overloads;
      }
    }
    for (size_t i = 0; i < categories.size(); ++i) {
      uses.push_back(
          {categories[i], file + ": " + path + ".categories[" + std::to_string(i) + "]"});
    }
    return true;
  }

  bool function(const json& entry, const std::string& path) {
    if (!only(entry, path, {"names", "minArgs", "maxArgs", "effects", "note"},
              {"names", "effects"}))
      return false;
    std::vector<std::string> names;
    int minArgs = -1, maxArgs = -1;
    FunctionModel model;
    if (!getStrings(entry, path, "names", names) || !getInt(entry, path, "minArgs", minArgs) ||
        !getInt(entry, path, "maxArgs", maxArgs) ||
        !effects(entry["effects"], path + ".effects", model.effects)) {
      return false;
    }
    if (minArgs >= 0) model.minArgs = minArgs;
    if (maxArgs >= 0) model.maxArgs = maxArgs;
    if (minArgs >= 0 && maxArgs >= 0 && minArgs > maxArgs)
      return fail(path, "minArgs is greater than maxArgs");
    for (size_t i = 0; i < names.size(); ++i) {
      std::string at = path + ".names[" + std::to_string(i) + "]";
      if (!checkName(at, names[i])) return false;
      std::vector<FunctionModel>& overloads = out.functions_[names[i]];
      for (const FunctionModel& other : overloads) {
        if (sameOverload(other, model))
          return fail(at, "function '" + names[i] + "' is defined twice");
      }
      overloads.push_back(model);
    }
    return true;
  }

  bool mutex(const json& entry, const std::string& path) {
    if (!only(entry, path,
              {"types", "hasShared", "recursive", "timed", "prefersReaders", "perCpu", "ops",
               "sharedForm", "sharedReplacement", "initializers", "header", "minStandard", "note"},
              {"types"})) {
      return false;
    }
    std::vector<std::string> types;
    MutexModel model;
    if (!getStrings(entry, path, "types", types) ||
        !getBool(entry, path, "hasShared", model.hasShared) ||
        !getBool(entry, path, "recursive", model.recursive) ||
        !getBool(entry, path, "timed", model.timed) ||
        !getBool(entry, path, "prefersReaders", model.prefersReaders) ||
        !getBool(entry, path, "perCpu", model.perCpu) ||
        !lockOps(entry, path, Mode::Exclusive, model.ops) ||
        !getString(entry, path, "sharedReplacement", model.sharedReplacement) ||
        !getString(entry, path, "header", model.header) ||
        !getString(entry, path, "minStandard", model.minStandard)) {
      return false;
    }
    if (auto it = entry.find("sharedForm"); it != entry.end()) {
      if (!it->is_object()) return fail(path + ".sharedForm", "must be an object");
      for (const auto& [from, to] : it->items()) {
        std::string at = path + ".sharedForm." + from;
        if (!to.is_string()) return fail(at, "must be the name of a method");
        std::string target = to.get<std::string>();
        // Both must be operations, or a fix would write a call nobody checked.
        if (!model.ops.count(from)) return fail(at, "'" + from + "' is not among the operations");
        if (!model.ops.count(target))
          return fail(at, "'" + target + "' is not among the operations");
        model.sharedForm[from] = target;
      }
      if (!model.hasShared) return fail(path + ".sharedForm", "needs \"hasShared\": true");
    }
    if (auto it = entry.find("initializers"); it != entry.end()) {
      if (!it->is_object()) return fail(path + ".initializers", "must be an object");
      for (const auto& [from, to] : it->items()) {
        if (!to.is_string()) return fail(path + ".initializers." + from, "must be the name of a macro");
        model.initializers[from] = to.get<std::string>();
      }
    }
    if (model.hasShared && !model.sharedReplacement.empty()) {
      return fail(path + ".sharedReplacement", "the type has a shared mode already");
    }
    for (size_t i = 0; i < types.size(); ++i) {
      std::string at = path + ".types[" + std::to_string(i) + "]";
      if (!checkName(at, types[i]) || !claim("mutex", types[i], at)) return false;
      model.type = types[i];
      out.mutexes_[types[i]] = model;
    }
    return true;
  }

  bool guard(const json& entry, const std::string& path) {
    if (!only(entry, path,
              {"types", "mode", "lockArg", "variadic", "modeArg", "modeValues", "tags", "ops",
               "sharedForm", "exclusiveForm", "header", "note"},
              {"types", "mode"})) {
      return false;
    }
    std::vector<std::string> types;
    std::string mode;
    GuardModel model;
    if (!getStrings(entry, path, "types", types) || !getString(entry, path, "mode", mode) ||
        !getInt(entry, path, "lockArg", model.lockArg) ||
        !getBool(entry, path, "variadic", model.variadic) ||
        !modeValues(entry, path, model.modeArg, model.modeValues) ||
        !getString(entry, path, "sharedForm", model.sharedForm) ||
        !getString(entry, path, "exclusiveForm", model.exclusiveForm) ||
        !getString(entry, path, "header", model.header)) {
      return false;
    }
    const Mode* value = findWord(kModes, mode);
    if (!value) return fail(path + ".mode", "must be shared, upgrade or exclusive");
    model.mode = *value;
    if (!lockOps(entry, path, model.mode, model.ops)) return false;
    if (auto it = entry.find("tags"); it != entry.end()) {
      if (!it->is_object()) return fail(path + ".tags", "must be an object");
      for (const auto& [tag, word] : it->items()) {
        const LockOpKind* kind =
            word.is_string() ? findWord(kOpKinds, word.get_ref<const std::string&>()) : nullptr;
        if (!kind || (*kind != LockOpKind::Defer && *kind != LockOpKind::Adopt &&
                      *kind != LockOpKind::Try)) {
          return fail(path + ".tags." + tag, "must be defer, adopt or try");
        }
        model.tags[tag] = *kind;
      }
    }
    for (size_t i = 0; i < types.size(); ++i) {
      std::string at = path + ".types[" + std::to_string(i) + "]";
      if (!checkName(at, types[i]) || !claim("guard", types[i], at)) return false;
      model.type = types[i];
      out.guards_[types[i]] = model;
    }
    return true;
  }

  bool lockFunction(const json& entry, const std::string& path) {
    if (!only(entry, path,
              {"names", "op", "lockArg", "sharedForm", "exclusiveForm", "zeroIsSuccess", "modeArg",
               "modeValues", "note"},
              {"names", "op"})) {
      return false;
    }
    std::vector<std::string> names;
    LockFunctionModel model;
    if (!getStrings(entry, path, "names", names) ||
        !lockOp(entry["op"], path + ".op", Mode::Exclusive, model.op) ||
        !getInt(entry, path, "lockArg", model.lockArg) ||
        !getString(entry, path, "sharedForm", model.sharedForm) ||
        !getString(entry, path, "exclusiveForm", model.exclusiveForm) ||
        !getBool(entry, path, "zeroIsSuccess", model.zeroIsSuccess) ||
        !modeValues(entry, path, model.modeArg, model.modeValues)) {
      return false;
    }
    for (size_t i = 0; i < names.size(); ++i) {
      std::string at = path + ".names[" + std::to_string(i) + "]";
      if (!checkName(at, names[i]) || !claim("lock function", names[i], at)) return false;
      model.name = names[i];
      out.lockFunctions_[names[i]] = model;
    }
    return true;
  }

  template <typename F> bool each(const json& root, const char* key, F&& f) {
    auto it = root.find(key);
    if (it == root.end()) return true;
    if (!it->is_array()) return fail(key, "must be a list");
    for (size_t i = 0; i < it->size(); ++i) {
      if (!f((*it)[i], std::string(key) + "[" + std::to_string(i) + "]")) return false;
    }
    return true;
  }

  bool parse(std::string_view text, const std::string& name) {
    file = name;
    DuplicateCheck check;
    if (!json::sax_parse(text, &check)) return fail(check.path, check.what);
    json root = json::parse(text, nullptr, false);
    if (root.is_discarded()) return fail("", "not JSON");
    if (!only(root, "",
              {"schema", "library", "note", "prefixes", "categories", "classes", "functions",
               "mutexes", "guards", "lockFunctions", "neverSuggest"},
              {"schema", "library"})) {
      return false;
    }
    if (!root["schema"].is_number_integer() || root["schema"] != 1) {
      return fail("schema", "must be 1, the only version this locktidy reads");
    }
    if (!root["library"].is_string() || root["library"].get_ref<const std::string&>().empty()) {
      return fail("library", "must be a string that is not empty");
    }
    if (auto it = root.find("categories"); it != root.end()) {
      if (!it->is_object()) return fail("categories", "must be an object");
      for (const auto& [key, entry] : it->items()) {
        if (!category(key, entry, "categories." + key)) return false;
      }
    }
    if (!each(root, "prefixes",
              [&](const json& e, const std::string& p) { return prefix(e, p); }) ||
        !each(root, "classes", [&](const json& e, const std::string& p) { return cls(e, p); }) ||
        !each(root, "functions",
              [&](const json& e, const std::string& p) { return function(e, p); }) ||
        !each(root, "mutexes", [&](const json& e, const std::string& p) { return mutex(e, p); }) ||
        !each(root, "guards", [&](const json& e, const std::string& p) { return guard(e, p); }) ||
        !each(root, "lockFunctions",
              [&](const json& e, const std::string& p) { return lockFunction(e, p); })) {
      return false;
    }
    return getStrings(root, "", "neverSuggest", out.neverSuggest_, true);
  }

  bool read(const std::string& path) {
    file = path;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
      error = path + ": cannot be opened";
      return false;
    }
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (stream.bad()) {
      error = path + ": cannot be read";
      return false;
    }
    return parse(text, path);
  }

  bool categoriesKnown(const Models& base) {
    for (const CategoryUse& use : uses) {
      if (out.categories_.count(use.category) || base.categories_.count(use.category)) continue;
      error = use.where + ": unknown category '" + use.category + "'";
      return false;
    }
    return true;
  }

  // Later entries replace earlier ones name by name. A class's own methods are
  // replaced one by one, so that a user's file can correct a single method.
  void mergeInto(Models& base) {
    for (auto& [name, overloads] : out.functions_) base.functions_[name] = std::move(overloads);
    for (auto& [name, methods] : out.categories_) {
      for (auto& [method, overloads] : methods)
        base.categories_[name][method] = std::move(overloads);
    }
    for (auto& [name, categories] : out.classCategories_) {
      auto [it, fresh] = base.classCategories_.emplace(name, categories);
      if (!fresh && !categories.empty()) it->second = std::move(categories);
    }
    for (auto& [name, policy] : out.prefixes_) base.prefixes_[name] = policy;
    for (auto& [name, model] : out.mutexes_) base.mutexes_[name] = std::move(model);
    for (auto& [name, model] : out.guards_) base.guards_[name] = std::move(model);
    for (auto& [name, model] : out.lockFunctions_) base.lockFunctions_[name] = std::move(model);
    for (auto& [name, kind] : out.classKinds_) base.classKinds_[name] = std::move(kind);
    for (auto& pattern : out.neverSuggest_) {
      if (std::find(base.neverSuggest_.begin(), base.neverSuggest_.end(), pattern) ==
          base.neverSuggest_.end()) {
        base.neverSuggest_.push_back(std::move(pattern));
      }
    }
  }
};

bool Models::loadText(std::string_view text, const std::string& name, std::string& error) {
  ModelsLoader loader;
  if (!loader.parse(text, name) || !loader.categoriesKnown(*this)) {
    error = loader.error;
    return false;
  }
  loader.mergeInto(*this);
  return true;
}

bool Models::loadFile(const std::string& file, std::string& error) {
  ModelsLoader loader;
  if (!loader.read(file) || !loader.categoriesKnown(*this)) {
    error = loader.error;
    return false;
  }
  loader.mergeInto(*this);
  return true;
}

bool Models::loadDirectory(const std::string& directory, std::string& error) {
  namespace fs = std::filesystem;
  std::error_code code;
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(directory, code), end; !code && it != end;
       it.increment(code)) {
    if (it->path().extension() != ".json" || it->path().filename() == "schema.json") continue;
    std::error_code ignored;
    if (it->is_regular_file(ignored)) files.push_back(it->path().string());
  }
  if (code) {
    error = directory + ": " + code.message();
    return false;
  }
  std::sort(files.begin(), files.end());
  // A category may be defined in a file that sorts later, so look at them last.
  Models merged = *this;
  std::vector<ModelsLoader> loaders(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    if (!loaders[i].read(files[i])) {
      error = loaders[i].error;
      return false;
    }
    loaders[i].mergeInto(merged);
  }
  for (ModelsLoader& loader : loaders) {
    if (!loader.categoriesKnown(merged)) {
      error = loader.error;
      return false;
    }
  }
  *this = std::move(merged);
  return true;
}

const FunctionModel* Models::function(std::string_view name, bool constMethod, size_t args) const {
  auto [cls, method] = splitName(name);
  std::string_view key = cls.empty() ? method : methodKeyOf(cls, method);
  auto exact = functions_.find(name);
  if (exact == functions_.end() && key == "conversion")
    exact = functions_.find(std::string(cls) + "::conversion");
  if (exact != functions_.end()) {
    if (const FunctionModel* model = choose(exact->second, constMethod, args)) return model;
  }
  auto categories = classCategories_.find(cls);
  if (cls.empty() || categories == classCategories_.end()) return nullptr;
  for (const std::string& name : categories->second) {
    auto category = categories_.find(name);
    if (category == categories_.end()) continue;
    auto entry = category->second.find(method);
    if (entry == category->second.end()) entry = category->second.find(key);
    if (entry == category->second.end()) continue;
    if (const FunctionModel* model = choose(entry->second, constMethod, args)) return model;
  }
  return nullptr;
}

Policy Models::policy(std::string_view name) const {
  Policy best = Policy::Unknown;
  size_t length = 0;
  for (const auto& [prefix, policy] : prefixes_) {
    if (prefix.size() >= length && name.starts_with(prefix)) {
      best = policy;
      length = prefix.size();
    }
  }
  return best;
}

const MutexModel* Models::mutex(std::string_view type) const {
  auto it = mutexes_.find(type);
  return it == mutexes_.end() ? nullptr : &it->second;
}

const GuardModel* Models::guard(std::string_view type) const {
  auto it = guards_.find(type);
  return it == guards_.end() ? nullptr : &it->second;
}

const LockFunctionModel* Models::lockFunction(std::string_view name) const {
  auto it = lockFunctions_.find(name);
  return it == lockFunctions_.end() ? nullptr : &it->second;
}

bool Models::isConditionVariable(std::string_view type) const {
  auto it = classKinds_.find(type);
  return it != classKinds_.end() && it->second == "condition-variable";
}
bool Models::isCallableWrapper(std::string_view type) const {
  auto it = classKinds_.find(type);
  return it != classKinds_.end() && it->second == "callable";
}
bool Models::isUniqueOwner(std::string_view type) const {
  auto it = classKinds_.find(type);
  return it != classKinds_.end() && it->second == "unique-owner";
}
bool Models::isCountedPointer(std::string_view type) const {
  auto it = classKinds_.find(type);
  return it != classKinds_.end() && it->second == "counted-pointer";
}
bool Models::isReferenceWrapper(std::string_view type) const {
  auto it = classKinds_.find(type);
  return it != classKinds_.end() && it->second == "reference-wrapper";
}
bool Models::isAtomic(std::string_view type) const {
  auto it = classKinds_.find(type);
  return it != classKinds_.end() && it->second == "atomic";
}
bool Models::ownsElements(std::string_view type) const {
  auto it = classCategories_.find(type);
  return it != classCategories_.end() && std::find(it->second.begin(), it->second.end(), "container") != it->second.end();
}

bool Models::hasClass(std::string_view type) const { return classCategories_.count(type) != 0; }

namespace {

json overloadsJson(const std::vector<FunctionModel>& overloads) {
  json list = json::array();
  for (const FunctionModel& f : overloads) {
    json entry = json::object();
    if (f.constMethod) entry["const"] = *f.constMethod;
    if (f.minArgs) entry["minArgs"] = *f.minArgs;
    if (f.maxArgs) entry["maxArgs"] = *f.maxArgs;
    entry["effects"] = json::array();
    for (const ModelEffect& effect : f.effects) entry["effects"].push_back(toString(effect));
    list.push_back(std::move(entry));
  }
  return list;
}

std::string opText(const LockOp& op) {
  std::string out(wordOf(kOpKinds, op.kind));
  out += op.sharedOrExclusive ? " any" : " " + std::string(wordOf(kModes, op.mode));
  if (op.timed) out += " timed";
  return out;
}

json opsJson(const std::map<std::string, LockOp>& ops) {
  json out = json::object();
  for (const auto& [name, op] : ops) out[name] = opText(op);
  return out;
}

json modesJson(const std::map<std::string, Mode>& values) {
  json out = json::object();
  for (const auto& [name, mode] : values) out[name] = wordOf(kModes, mode);
  return out;
}

void put(json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

}  // namespace

std::string Models::dump() const {
  json root = json::object();
  root["schema"] = 1;
  for (const auto& [prefix, policy] : prefixes_)
    root["prefixes"][prefix] = wordOf(kPolicies, policy);
  for (const auto& [name, methods] : categories_) {
    for (const auto& [method, overloads] : methods)
      root["categories"][name][method] = overloadsJson(overloads);
  }
  for (const auto& [name, categories] : classCategories_) {
    root["classes"][name]["categories"] = categories;
    auto kind = classKinds_.find(name);
    if (kind != classKinds_.end()) root["classes"][name]["kind"] = kind->second;
  }
  for (const auto& [name, overloads] : functions_)
    root["functions"][name] = overloadsJson(overloads);
  for (const auto& [type, m] : mutexes_) {
    json entry = {{"hasShared", m.hasShared}, {"recursive", m.recursive},
                  {"timed", m.timed},         {"prefersReaders", m.prefersReaders},
                  {"perCpu", m.perCpu},       {"ops", opsJson(m.ops)}};
    entry["sharedForm"] = m.sharedForm;
    if (!m.initializers.empty()) entry["initializers"] = m.initializers;
    put(entry, "sharedReplacement", m.sharedReplacement);
    put(entry, "header", m.header);
    put(entry, "minStandard", m.minStandard);
    root["mutexes"][type] = std::move(entry);
  }
  for (const auto& [type, g] : guards_) {
    json entry = {{"mode", wordOf(kModes, g.mode)},
                  {"lockArg", g.lockArg},
                  {"variadic", g.variadic},
                  {"ops", opsJson(g.ops)}};
    for (const auto& [tag, kind] : g.tags) entry["tags"][tag] = wordOf(kOpKinds, kind);
    if (g.modeArg >= 0) {
      entry["modeArg"] = g.modeArg;
      entry["modeValues"] = modesJson(g.modeValues);
    }
    put(entry, "sharedForm", g.sharedForm);
    put(entry, "exclusiveForm", g.exclusiveForm);
    put(entry, "header", g.header);
    root["guards"][type] = std::move(entry);
  }
  for (const auto& [name, f] : lockFunctions_) {
    json entry = {{"op", opText(f.op)}, {"lockArg", f.lockArg}, {"zeroIsSuccess", f.zeroIsSuccess}};
    if (f.modeArg >= 0) {
      entry["modeArg"] = f.modeArg;
      entry["modeValues"] = modesJson(f.modeValues);
    }
    put(entry, "sharedForm", f.sharedForm);
    put(entry, "exclusiveForm", f.exclusiveForm);
    root["lockFunctions"][name] = std::move(entry);
  }
  root["neverSuggest"] = neverSuggest_;
  // Names come from checked JSON, so they are UTF-8; be lenient all the same.
  return root.dump(2, ' ', false, json::error_handler_t::replace);
}

}  // namespace locktidy
