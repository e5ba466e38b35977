// The model files as shipped say what the standard says, and every mistake a
// file can contain is reported with its place.
#include "checker/model/Models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace locktidy;
using nlohmann::json;

namespace {

const std::string kDirectory = std::string(LOCKTIDY_SOURCE_DIR) + "/rules/models";

const Models& shipped() {
  static const Models models = [] {
    Models m;
    std::string error;
    if (!m.loadDirectory(kDirectory, error)) ADD_FAILURE() << error;
    return m;
  }();
  return models;
}

std::vector<std::string> effects(const std::string& name, bool constMethod, size_t args) {
  const FunctionModel* f = shipped().function(name, constMethod, args);
  if (!f) return {"no entry"};
  std::vector<std::string> out;
  for (const ModelEffect& e : f->effects) out.push_back(toString(e));
  return out;
}

bool has(const std::string& name, bool constMethod, size_t args, const std::string& effect) {
  std::vector<std::string> all = effects(name, constMethod, args);
  return std::find(all.begin(), all.end(), effect) != all.end();
}

bool writes(const std::string& name, bool constMethod, size_t args) {
  for (const std::string& e : effects(name, constMethod, args)) {
    if (e.starts_with("write self") || e.starts_with("write arg") || e == "no entry") return true;
  }
  return false;
}

std::string loadError(const std::string& text) {
  Models m;
  std::string error;
  return m.loadText(text, "f.json", error) ? "loaded" : error;
}

// `text` inside a file that is otherwise right.
std::string bodyError(const std::string& text) {
  return loadError(R"({"schema":1,"library":"x",)" + text + "}");
}

json readJson(const std::filesystem::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

std::vector<std::filesystem::path> shippedFiles() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(kDirectory)) {
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json")
      out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// ---- effects of the standard library ---------------------------------------

TEST(ShippedModels, NonConstAccessToSequencesReads) {
  for (const char* name :
       {"std::vector::begin", "std::vector::end", "std::vector::front", "std::vector::back",
        "std::vector::data", "std::deque::begin", "std::list::begin", "std::array::begin"}) {
    EXPECT_FALSE(writes(name, false, 0)) << name;
    EXPECT_TRUE(has(name, false, 0, "bind ret -> self[]")) << name;
  }
  for (const char* name :
       {"std::vector::operator[]", "std::vector::at", "std::basic_string::operator[]",
        "std::deque::operator[]", "std::map::at", "std::map::find", "std::map::lower_bound",
        "std::unordered_map::find", "std::set::find"}) {
    EXPECT_FALSE(writes(name, false, 1)) << name;
    EXPECT_TRUE(has(name, false, 1, "bind ret -> self[]")) << name;
  }
  EXPECT_TRUE(has("std::span::operator[]", true, 1, "bind ret -> self*"));
}

TEST(ShippedModels, SubscriptOfAssociativeContainersWrites) {
  for (const char* name :
       {"std::map::operator[]", "std::unordered_map::operator[]", "absl::flat_hash_map::operator[]",
        "absl::container_internal::raw_hash_map::operator[]", "boost::unordered_map::operator[]",
        "folly::F14FastMap::operator[]", "google::protobuf::Map::operator[]"}) {
    EXPECT_TRUE(has(name, false, 1, "write self")) << name;
    EXPECT_TRUE(has(name, false, 1, "bind ret -> self[]")) << name;
  }
}

TEST(ShippedModels, MutatorsWrite) {
  EXPECT_TRUE(has("std::vector::push_back", false, 1, "write self"));
  EXPECT_TRUE(has("std::vector::push_back", false, 1, "copy self[] <- arg0"));
  EXPECT_TRUE(has("std::vector::push_back", false, 1, "moves arg0"));
  EXPECT_TRUE(has("std::map::emplace", false, 2, "bind ret -> self[]"));
  EXPECT_TRUE(has("std::map::emplace", false, 2, "construct self[] (args)"));
  EXPECT_TRUE(has("std::map::erase", false, 1, "destroy self[]"));
  EXPECT_TRUE(has("std::list::splice", false, 3, "write arg1"));
  EXPECT_TRUE(has("std::list::splice", false, 3, "write self"));
  EXPECT_TRUE(has("std::list::sort", false, 1, "invoke arg0 (self[], self[])"));
  EXPECT_TRUE(has("std::swap", false, 2, "write arg1"));
  EXPECT_TRUE(has("std::mersenne_twister_engine::operator()", false, 0, "write self"));
  EXPECT_TRUE(has("std::uniform_int_distribution::operator()", false, 1, "write arg0"));
  EXPECT_TRUE(has("std::basic_ostream::operator<<", false, 1, "write self"));
  EXPECT_TRUE(has("std::operator<<", false, 2, "write arg0"));
  EXPECT_TRUE(has("std::basic_ifstream::basic_ifstream", false, 2, "external"));
}

TEST(ShippedModels, ConstructorsDestructorsConversions) {
  EXPECT_TRUE(has("std::vector::vector", false, 1, "copies arg0[]"));
  EXPECT_TRUE(has("std::vector::vector", false, 1, "moves arg0"));
  EXPECT_EQ(effects("std::vector::vector", false, 0), std::vector<std::string>());
  EXPECT_TRUE(has("std::vector::~vector", false, 0, "destroy self[]"));
  EXPECT_TRUE(has("std::optional::operator bool", true, 0, "peek self"));
  EXPECT_TRUE(has("std::__atomic_base::operator long", true, 0, "atomic-read self"));
  EXPECT_TRUE(has("std::basic_string::operator std::basic_string_view<char>", true, 0,
                  "bind ret -> self[]"));
  EXPECT_TRUE(has("std::basic_ios::operator bool", true, 0, "peek self"));
}

TEST(ShippedModels, SmartPointers) {
  EXPECT_TRUE(has("std::unique_ptr::operator->", true, 0, "bind ret -> self[]"));
  EXPECT_TRUE(has("std::__shared_ptr_access::operator->", true, 0, "bind ret -> self*"));
  // A counted copy is no write (RULES.md 1); the source only changes when it is moved from.
  EXPECT_FALSE(writes("std::shared_ptr::shared_ptr", false, 1));
  EXPECT_TRUE(has("std::shared_ptr::shared_ptr", false, 1, "copy self <- arg0"));
  EXPECT_TRUE(has("std::shared_ptr::~shared_ptr", false, 0, "destroy self"));
  EXPECT_TRUE(has("std::weak_ptr::lock", true, 0, "copy ret <- self"));
  EXPECT_TRUE(has("std::make_shared", false, 2, "fresh ret"));
  EXPECT_TRUE(shipped().isCountedPointer("std::shared_ptr"));
  EXPECT_TRUE(shipped().isUniqueOwner("std::unique_ptr"));
  EXPECT_FALSE(shipped().isUniqueOwner("std::shared_ptr"));
  // Its count is the program's own, and may be a plain int.
  EXPECT_FALSE(shipped().isCountedPointer("boost::intrusive_ptr"));
  EXPECT_EQ(shipped().function("boost::intrusive_ptr::intrusive_ptr", false, 1), nullptr);
}

TEST(ShippedModels, Algorithms) {
  EXPECT_TRUE(has("std::find_if", false, 3, "invoke arg2 (arg0*)"));
  EXPECT_FALSE(writes("std::find_if", false, 3));
  EXPECT_FALSE(writes("std::accumulate", false, 4));
  EXPECT_TRUE(has("std::accumulate", false, 4, "invoke arg3 (arg2, arg0*)"));
  EXPECT_TRUE(has("std::sort", false, 2, "write arg0*"));
  EXPECT_TRUE(has("std::sort", false, 3, "invoke arg2 (arg0*, arg0*)"));
  EXPECT_TRUE(has("std::copy_if", false, 4, "write arg2*"));
  EXPECT_TRUE(has("std::transform", false, 5, "write arg3*"));
  EXPECT_TRUE(has("std::back_inserter", false, 1, "bind ret -> arg0"));
  EXPECT_TRUE(has("std::move", false, 1, "bind ret -> arg0"));
  EXPECT_TRUE(has("std::move", false, 3, "write arg2*"));
  EXPECT_TRUE(has("std::ranges::__find_if_fn::operator()", true, 3, "invoke arg1 (arg0[])"));
  // Where the number of arguments leaves no room for a callable, none is named.
  for (size_t args : {2u, 3u, 4u}) {
    const FunctionModel* f = shipped().function("std::sort", false, args);
    ASSERT_TRUE(f);
    for (const ModelEffect& e : f->effects) {
      if (e.kind != EffectKind::Invoke) continue;
      EXPECT_LT(e.place.arg, static_cast<int>(args));
    }
  }
}

TEST(ShippedModels, Atomics) {
  EXPECT_TRUE(has("std::__atomic_base::fetch_add", false, 2, "atomic-rmw self"));
  EXPECT_TRUE(has("std::atomic::load", true, 1, "atomic-read self"));
  EXPECT_TRUE(has("std::atomic::store", false, 2, "atomic-write self"));
  EXPECT_TRUE(has("std::__atomic_base::compare_exchange_weak", false, 3, "write arg0"));
  EXPECT_TRUE(has("__atomic_fetch_add", false, 3, "atomic-rmw arg0*"));
  EXPECT_TRUE(has("_Atomic::load", false, 1, "atomic-read arg0*"));
  EXPECT_TRUE(has("_Atomic::rmw", false, 2, "atomic-rmw arg0*"));
  EXPECT_TRUE(shipped().isAtomic("std::atomic"));
}

TEST(ShippedModels, ThreadsAndWaiting) {
  EXPECT_TRUE(has("std::thread::thread", false, 1, "later arg0 (arg1...)"));
  EXPECT_TRUE(has("std::thread::join", false, 0, "wait"));
  EXPECT_TRUE(has("std::jthread::~jthread", false, 0, "wait"));
  EXPECT_TRUE(has("std::future::get", false, 0, "wait"));
  EXPECT_TRUE(has("std::condition_variable::wait", false, 2, "invoke arg1 ()"));
  EXPECT_TRUE(has("std::this_thread::sleep_for", false, 1, "blocks"));
  EXPECT_TRUE(has("pthread_create", false, 4, "later arg2 (arg3)"));
  EXPECT_TRUE(has("pthread_atfork", false, 3, "atfork arg2"));
  EXPECT_TRUE(has("signal", false, 2, "signal-handler arg1"));
  EXPECT_TRUE(shipped().isConditionVariable("std::condition_variable_any"));
  EXPECT_TRUE(shipped().isCallableWrapper("std::function"));
  EXPECT_EQ(effects("std::chrono::steady_clock::now", false, 0), std::vector<std::string>());
}

TEST(ShippedModels, CLibrary) {
  EXPECT_TRUE(has("localtime", false, 1, "hostile"));
  EXPECT_FALSE(has("localtime_r", false, 2, "hostile"));
  EXPECT_TRUE(has("localtime_r", false, 2, "write arg1*"));
  EXPECT_TRUE(has("memcpy", false, 3, "copy arg0* <- arg1*"));
  EXPECT_TRUE(has("strlen", false, 1, "read arg0*"));
  EXPECT_FALSE(writes("strlen", false, 1));
  EXPECT_TRUE(has("malloc", false, 1, "fresh ret"));
  EXPECT_TRUE(has("printf", false, 1, "log"));
  EXPECT_TRUE(has("fseek", false, 3, "external"));
  EXPECT_TRUE(has("open", false, 2, "external"));
  EXPECT_TRUE(has("abort", false, 0, "noreturn"));
  EXPECT_TRUE(has("qsort", false, 4, "invoke arg3 (arg0*, arg0*)"));
}

TEST(ShippedModels, QtDetaches) {
  EXPECT_TRUE(has("QList::begin", false, 0, "write self"));
  EXPECT_FALSE(writes("QList::begin", true, 0));
  EXPECT_FALSE(writes("QList::cbegin", true, 0));
  EXPECT_TRUE(has("QHash::operator[]", false, 1, "write self"));
  EXPECT_FALSE(writes("QHash::operator[]", true, 1));
}

TEST(ShippedModels, Policies) {
  EXPECT_EQ(shipped().policy("std::something::unheard_of"), Policy::ConstReads);
  EXPECT_EQ(shipped().policy("std::filesystem::something"), Policy::Unknown);
  EXPECT_EQ(shipped().policy("google::LogMessage::stream"), Policy::Log);
  EXPECT_EQ(shipped().policy("spdlog::logger::info"), Policy::Log);
  EXPECT_EQ(shipped().policy("fmt::format"), Policy::Pure);
  EXPECT_EQ(shipped().policy("app::run"), Policy::Unknown);
  EXPECT_EQ(shipped().policy("stdx::run"), Policy::Unknown);
  EXPECT_TRUE(shipped().hasClass("std::vector"));
  EXPECT_FALSE(shipped().hasClass("std::vectors"));
  EXPECT_EQ(shipped().function("app::run", false, 0), nullptr);
  EXPECT_EQ(shipped().function("run", false, 0), nullptr);
  EXPECT_EQ(shipped().function("std::vector::no_such_method", false, 0), nullptr);
}

// ---- locks -------------------------------------------------------------------

TEST(ShippedModels, StandardLocks) {
  const MutexModel* shared = shipped().mutex("std::shared_mutex");
  ASSERT_TRUE(shared);
  EXPECT_TRUE(shared->hasShared);
  EXPECT_TRUE(shared->prefersReaders);
  EXPECT_EQ(shared->ops.at("lock").mode, Mode::Exclusive);
  EXPECT_EQ(shared->ops.at("lock_shared").mode, Mode::Shared);
  EXPECT_EQ(shared->ops.at("lock_shared").kind, LockOpKind::Acquire);
  EXPECT_EQ(shared->ops.at("try_lock_shared").kind, LockOpKind::Try);
  EXPECT_EQ(shared->sharedForm.at("unlock"), "unlock_shared");
  const MutexModel* plain = shipped().mutex("std::mutex");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->hasShared);
  EXPECT_EQ(plain->sharedReplacement, "std::shared_mutex");
  EXPECT_EQ(plain->header, "<shared_mutex>");
  EXPECT_EQ(plain->minStandard, "c++17");
  EXPECT_TRUE(shipped().mutex("std::recursive_mutex")->recursive);
  EXPECT_TRUE(shipped().mutex("std::timed_mutex")->ops.at("try_lock_for").timed);
  EXPECT_EQ(shipped().mutex("std::vector"), nullptr);
}

TEST(ShippedModels, StandardGuards) {
  const GuardModel* unique = shipped().guard("std::unique_lock");
  ASSERT_TRUE(unique);
  EXPECT_EQ(unique->mode, Mode::Exclusive);
  EXPECT_EQ(unique->sharedForm, "std::shared_lock");
  EXPECT_EQ(unique->tags.at("std::defer_lock_t"), LockOpKind::Defer);
  EXPECT_EQ(unique->tags.at("std::adopt_lock_t"), LockOpKind::Adopt);
  EXPECT_EQ(unique->tags.at("std::try_to_lock_t"), LockOpKind::Try);
  EXPECT_EQ(unique->ops.at("release").kind, LockOpKind::Detach);
  const GuardModel* shared = shipped().guard("std::shared_lock");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->mode, Mode::Shared);
  EXPECT_EQ(shared->ops.at("lock").mode, Mode::Shared);
  EXPECT_EQ(shared->exclusiveForm, "std::unique_lock");
  EXPECT_TRUE(shipped().guard("std::scoped_lock")->variadic);
  EXPECT_EQ(shipped().guard("std::string"), nullptr);
}

TEST(ShippedModels, LockFunctions) {
  const LockFunctionModel* write = shipped().lockFunction("pthread_rwlock_wrlock");
  ASSERT_TRUE(write);
  EXPECT_EQ(write->op.mode, Mode::Exclusive);
  EXPECT_EQ(write->sharedForm, "pthread_rwlock_rdlock");
  EXPECT_EQ(shipped().lockFunction("pthread_rwlock_rdlock")->op.mode, Mode::Shared);
  EXPECT_TRUE(shipped().lockFunction("pthread_rwlock_unlock")->op.sharedOrExclusive);
  EXPECT_EQ(shipped().lockFunction("pthread_mutex_lock")->exclusiveForm, "pthread_rwlock_wrlock");
  EXPECT_TRUE(shipped().lockFunction("pthread_mutex_trylock")->zeroIsSuccess);
  EXPECT_FALSE(shipped().lockFunction("g_mutex_trylock")->zeroIsSuccess);
  EXPECT_EQ(shipped().lockFunction("pthread_cond_wait")->lockArg, 1);
  EXPECT_EQ(shipped().lockFunction("pthread_cond_wait")->op.kind, LockOpKind::Wait);
  EXPECT_EQ(shipped().lockFunction("std::lock")->op.kind, LockOpKind::AcquireMany);
  const LockFunctionModel* byArgument = shipped().lockFunction("LWLockAcquire");
  ASSERT_TRUE(byArgument);
  EXPECT_EQ(byArgument->modeArg, 1);
  EXPECT_EQ(byArgument->modeValues.at("LW_SHARED"), Mode::Shared);
  EXPECT_EQ(shipped().lockFunction("no_such_function"), nullptr);
}

TEST(ShippedModels, OtherLibrariesLocks) {
  EXPECT_EQ(shipped().guard("absl::MutexLock")->sharedForm, "absl::ReaderMutexLock");
  EXPECT_EQ(shipped().mutex("absl::Mutex")->sharedForm.at("Lock"), "ReaderLock");
  EXPECT_EQ(shipped().guard("QWriteLocker")->sharedForm, "QReadLocker");
  EXPECT_TRUE(shipped().mutex("QReadWriteLock")->ops.at("unlock").sharedOrExclusive);
  EXPECT_EQ(shipped().mutex("folly::Synchronized")->ops.at("wlock").kind, LockOpKind::Guard);
  EXPECT_EQ(shipped().mutex("folly::Synchronized")->sharedForm.at("withWLock"), "withRLock");
  EXPECT_EQ(shipped().mutex("folly::rcu_domain")->ops.at("lock").mode, Mode::Shared);
  EXPECT_EQ(shipped().guard("tbb::spin_rw_mutex::scoped_lock")->modeValues.at("false"),
            Mode::Shared);
  EXPECT_EQ(shipped().guard("Poco::ScopedRWLock")->mode, Mode::Shared);
  EXPECT_EQ(shipped().mutex("ACE_Thread_Mutex")->ops.at("acquire_read").mode, Mode::Exclusive);
  EXPECT_EQ(shipped().mutex("boost::shared_mutex")->ops.at("lock_upgrade").mode, Mode::Upgrade);
  EXPECT_EQ(shipped().mutex("boost::shared_mutex")->ops.at("unlock_upgrade_and_lock").kind,
            LockOpKind::Convert);
  const std::vector<std::string>& never = shipped().neverSuggest();
  EXPECT_NE(std::find(never.begin(), never.end(), "boost::fibers::mutex"), never.end());
}

// Every form that a fix may write must exist, or the fix would not compile.
TEST(ShippedModels, FormsAndReplacementsAreModelled) {
  json dump = json::parse(shipped().dump());
  for (const auto& [type, guard] : dump["guards"].items()) {
    for (const char* key : {"sharedForm", "exclusiveForm"}) {
      if (!guard.contains(key)) continue;
      std::string form = guard[key];
      if (form == "folly::SharedMutex::ReadHolder" || form == "folly::SharedMutex::WriteHolder")
        continue;  // aliases
      const GuardModel* other = shipped().guard(form);
      ASSERT_TRUE(other) << type << ": " << form;
      EXPECT_EQ(other->mode, std::string(key) == "sharedForm" ? Mode::Shared : Mode::Exclusive)
          << type;
    }
  }
  for (const auto& [type, mutex] : dump["mutexes"].items()) {
    if (!mutex.contains("sharedReplacement")) continue;
    const MutexModel* other = shipped().mutex(std::string(mutex["sharedReplacement"]));
    ASSERT_TRUE(other) << type;
    EXPECT_TRUE(other->hasShared) << type;
    EXPECT_TRUE(mutex.contains("header")) << type;
  }
  for (const auto& [name, function] : dump["lockFunctions"].items()) {
    for (const char* key : {"sharedForm", "exclusiveForm"}) {
      if (!function.contains(key)) continue;
      EXPECT_TRUE(shipped().lockFunction(std::string(function[key]))) << name;
    }
  }
}

TEST(ShippedModels, EveryNameIsInOneFile) {
  std::map<std::string, std::string> where;
  for (const auto& file : shippedFiles()) {
    json root = readJson(file);
    std::set<std::string> names;
    for (const char* key : {"functions", "lockFunctions", "classes"}) {
      for (const json& entry : root.value(key, json::array())) {
        for (const json& name : entry["names"])
          names.insert(std::string(key) + " " + name.get<std::string>());
      }
    }
    for (const char* key : {"mutexes", "guards"}) {
      for (const json& entry : root.value(key, json::array())) {
        for (const json& name : entry["types"])
          names.insert(std::string(key) + " " + name.get<std::string>());
      }
    }
    for (const std::string& name : names) {
      auto [it, fresh] = where.emplace(name, file.filename().string());
      EXPECT_TRUE(fresh) << name << " in " << file.filename() << " and " << it->second;
    }
  }
}

// ---- schema.json -------------------------------------------------------------

// Checks `value` against the part of JSON Schema that schema.json uses.
void checkKeys(const json& schema, const json& rule, const json& value, const std::string& path) {
  if (rule.contains("$ref")) {
    std::string name = rule["$ref"].get<std::string>().substr(std::string("#/definitions/").size());
    ASSERT_TRUE(schema["definitions"].contains(name)) << name;
    return checkKeys(schema, schema["definitions"][name], value, path);
  }
  if (rule.contains("enum")) {
    EXPECT_NE(std::find(rule["enum"].begin(), rule["enum"].end(), value), rule["enum"].end())
        << path << ": " << value;
  }
  if (value.is_array() && rule.contains("items")) {
    for (size_t i = 0; i < value.size(); ++i)
      checkKeys(schema, rule["items"], value[i], path + "[" + std::to_string(i) + "]");
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    if (rule.contains("properties") && rule["properties"].contains(key)) {
      checkKeys(schema, rule["properties"][key], member, path + "." + key);
    } else if (rule.contains("additionalProperties") && rule["additionalProperties"].is_object()) {
      checkKeys(schema, rule["additionalProperties"], member, path + "." + key);
    } else {
      ADD_FAILURE() << path << "." << key << " is not in schema.json";
    }
  }
  for (const json& key : rule.value("required", json::array())) {
    EXPECT_TRUE(value.contains(key.get<std::string>())) << path << " lacks " << key;
  }
}

TEST(Schema, ListsEveryKeyOfTheShippedFiles) {
  json schema = readJson(kDirectory + "/schema.json");
  for (const auto& file : shippedFiles())
    checkKeys(schema, schema, readJson(file), file.filename().string());
}

// The loader and the schema must know the same keys: each property of the
// schema is accepted, with a value that fits.
TEST(Schema, LoaderKnowsEveryKey) {
  EXPECT_EQ(loadError(R"({
    "schema": 1, "library": "x", "note": "n",
    "prefixes": [{"prefix": "x::", "policy": "sync", "note": "n"}],
    "categories": {"c": {"methods": {"m": []}, "note": "n"}},
    "classes": [{"names": ["x::C"], "categories": ["c"], "kind": "atomic", "methods": {"m/1": []}, "note": "n"}],
    "functions": [{"names": ["x::f"], "minArgs": 1, "maxArgs": 2, "effects": ["sync"], "note": "n"}],
    "mutexes": [
      {"types": ["x::M"], "hasShared": true, "recursive": true, "timed": true, "prefersReaders": true, "perCpu": true,
       "ops": {"a": "acquire exclusive", "b": "acquire shared"}, "sharedForm": {"a": "b"}, "header": "<x>",
       "minStandard": "c++17", "note": "n"},
      {"types": ["x::N"], "sharedReplacement": "x::M"}],
    "guards": [{"types": ["x::G"], "mode": "exclusive", "lockArg": 1, "variadic": false, "modeArg": 1,
      "modeValues": {"1": "shared"}, "tags": {"x::t": "defer"}, "ops": {"u": "release"}, "sharedForm": "x::S",
      "exclusiveForm": "x::E", "header": "<x>", "note": "n"}],
    "lockFunctions": [{"names": ["x_lock"], "op": "try exclusive timed", "lockArg": 1, "sharedForm": "s",
      "exclusiveForm": "e", "zeroIsSuccess": false, "modeArg": 0, "modeValues": {"A": "upgrade"}, "note": "n"}],
    "neverSuggest": ["x::F"]})"),
            "loaded");
}

// ---- the loader ----------------------------------------------------------------

TEST(Loader, OverloadsByConstnessAndArguments) {
  Models m;
  std::string error;
  ASSERT_TRUE(m.loadText(R"({"schema":1,"library":"x",
    "categories": {"cat": {"methods": {"begin": ["read self"], "only_here": ["sync"]}}},
    "classes": [{"names": ["n::C"], "categories": ["cat"], "methods": {
      "begin non-const": ["write self"], "get/1": ["external"], "get/2+": ["wait"], "get/5-6": ["blocks"],
      "constructor/0": [], "constructor": ["log"], "destructor": ["alloc"], "conversion": ["hostile"],
      "operator/": ["sync"], "operator/=/1": ["sync"], "operator bool": ["noreturn"] }}]})",
                         "f.json", error))
      << error;
  auto kind = [&](const char* name, bool isConst, size_t args) {
    const FunctionModel* f = m.function(name, isConst, args);
    return !f ? "none" : f->effects.empty() ? "nothing" : toString(f->effects[0]);
  };
  EXPECT_EQ(kind("n::C::begin", false, 0), "write self");
  EXPECT_EQ(kind("n::C::begin", true, 0), "read self");  // falls through to the category
  EXPECT_EQ(kind("n::C::only_here", true, 3), "sync");
  EXPECT_EQ(kind("n::C::get", false, 0), "none");
  EXPECT_EQ(kind("n::C::get", false, 1), "external");
  EXPECT_EQ(kind("n::C::get", false, 4), "wait");
  EXPECT_EQ(kind("n::C::get", false, 5), "blocks");
  EXPECT_EQ(kind("n::C::C", false, 0), "nothing");
  EXPECT_EQ(kind("n::C::C", false, 2), "log");
  EXPECT_EQ(kind("n::C::~C", false, 0), "alloc");
  EXPECT_EQ(kind("n::C::operator int", true, 0), "hostile");
  EXPECT_EQ(kind("n::C::operator std::string", true, 0), "hostile");
  EXPECT_EQ(kind("n::C::operator bool", true, 0), "noreturn");
  EXPECT_EQ(kind("n::C::operator/", true, 1), "sync");
  EXPECT_EQ(kind("n::C::operator/=", false, 1), "sync");
  EXPECT_EQ(kind("n::D::begin", false, 0), "none");
}

TEST(Loader, EffectsRoundTrip) {
  for (const char* text : {"read self",
                           "peek self",
                           "write arg0*",
                           "atomic-read self",
                           "atomic-write arg1*",
                           "atomic-rmw self*",
                           "bind ret -> self[]",
                           "copy self[] <- arg0",
                           "fresh ret",
                           "invoke arg2 (arg0*, arg1[])",
                           "invoke self ()",
                           "later arg0 (arg1...)",
                           "stores args",
                           "destroy self[]*",
                           "construct ret* (args)",
                           "copies arg0[]",
                           "moves arg0",
                           "compare self[]",
                           "external",
                           "wait",
                           "blocks",
                           "sync",
                           "log",
                           "alloc",
                           "hostile",
                           "noreturn",
                           "signal-handler arg1",
                           "atfork arg0",
                           "write global"}) {
    Models m;
    std::string error;
    ASSERT_TRUE(m.loadText(
        std::string(R"({"schema":1,"library":"x","functions":[{"names":["f"],"effects":[")") +
            text + R"("]}]})",
        "f.json", error))
        << error;
    ASSERT_EQ(m.function("f", false, 0)->effects.size(), 1u);
    EXPECT_EQ(toString(m.function("f", false, 0)->effects[0]), text);
  }
}

TEST(Loader, PeekIsAShallowRead) {
  const FunctionModel* f = shipped().function("std::vector::size", true, 0);
  ASSERT_TRUE(f && f->effects.size() == 1);
  EXPECT_EQ(f->effects[0].kind, EffectKind::Read);
  EXPECT_TRUE(f->effects[0].shallow);
}

TEST(Loader, LaterFilesWin) {
  Models m;
  std::string error;
  ASSERT_TRUE(m.loadText(R"({"schema":1,"library":"a","prefixes":[{"prefix":"n::","policy":"sync"}],
    "categories":{"k":{"methods":{"p":["wait"],"q":["wait"]}}},
    "classes":[{"names":["n::C"],"categories":["k"],"kind":"atomic","methods":{"m":["read self"],"o":["log"]}}],
    "mutexes":[{"types":["n::M"]}],"neverSuggest":["n::M"]})",
                         "a.json", error))
      << error;
  ASSERT_TRUE(m.loadText(
      R"({"schema":1,"library":"b","prefixes":[{"prefix":"n::","policy":"pure"},{"prefix":"n::C::z","policy":"log"}],
    "categories":{"k":{"methods":{"p":["sync"]}}},
    "classes":[{"names":["n::C"],"methods":{"m":["write self"]}}],
    "mutexes":[{"types":["n::M"],"recursive":true}],"neverSuggest":["n::M","n::N"]})",
      "b.json", error))
      << error;
  EXPECT_EQ(toString(m.function("n::C::m", false, 0)->effects[0]), "write self");
  EXPECT_EQ(toString(m.function("n::C::o", false, 0)->effects[0]), "log");
  EXPECT_EQ(toString(m.function("n::C::p", false, 0)->effects[0]), "sync");
  EXPECT_EQ(toString(m.function("n::C::q", false, 0)->effects[0]), "wait");
  EXPECT_TRUE(m.isAtomic("n::C"));
  EXPECT_TRUE(m.mutex("n::M")->recursive);
  EXPECT_EQ(m.policy("n::x"), Policy::Pure);
  EXPECT_EQ(m.policy("n::C::zz"), Policy::Log);
  EXPECT_EQ(m.neverSuggest(), (std::vector<std::string>{"n::M", "n::N"}));
}

TEST(Loader, ABadFileLeavesNothingBehind) {
  Models m;
  std::string error;
  EXPECT_FALSE(m.loadText(
      R"({"schema":1,"library":"x","functions":[{"names":["f"],"effects":[]}],"guards":[{}]})",
      "f.json", error));
  EXPECT_EQ(m.function("f", false, 0), nullptr);
}

TEST(Loader, FilesAndDirectories) {
  namespace fs = std::filesystem;
  fs::path dir =
      fs::temp_directory_path() /
      ("locktidy-models-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
       "-" + std::to_string(reinterpret_cast<uintptr_t>(&dir)));
  fs::create_directories(dir / "below");
  auto write = [&](const char* name, const std::string& text) {
    std::ofstream(dir / name) << text;
  };
  // The category is defined in a file that sorts after its use.
  write("a.json",
        R"({"schema":1,"library":"a","classes":[{"names":["C"],"categories":["late"]}]})");
  write("below/z.json",
        R"({"schema":1,"library":"z","categories":{"late":{"methods":{"m":["wait"]}}}})");
  write("schema.json", "not a model");
  write("notes.txt", "not a model");
  Models m;
  std::string error;
  ASSERT_TRUE(m.loadDirectory(dir.string(), error)) << error;
  EXPECT_EQ(toString(m.function("C::m", false, 0)->effects[0]), "wait");
  EXPECT_FALSE(Models().loadFile((dir / "a.json").string(), error));
  EXPECT_NE(error.find("classes[0].categories[0]: unknown category 'late'"), std::string::npos)
      << error;
  write("below/z.json", R"({"schema":1,"library":"z"})");
  Models fresh;
  EXPECT_FALSE(fresh.loadDirectory(dir.string(), error));
  EXPECT_NE(error.find("a.json: classes[0].categories[0]: unknown category 'late'"),
            std::string::npos)
      << error;
  write("b.json", "{");
  EXPECT_FALSE(fresh.loadDirectory(dir.string(), error));
  EXPECT_NE(error.find("b.json: "), std::string::npos) << error;
  EXPECT_FALSE(fresh.hasClass("C"));
  EXPECT_FALSE(fresh.loadFile((dir / "none.json").string(), error));
  EXPECT_NE(error.find("none.json: cannot be opened"), std::string::npos);
  EXPECT_FALSE(fresh.loadDirectory((dir / "none").string(), error));
  EXPECT_NE(error.find("none: "), std::string::npos);
  fs::remove_all(dir);
}

TEST(Loader, DumpIsJson) {
  json dump = json::parse(shipped().dump(), nullptr, false);
  ASSERT_FALSE(dump.is_discarded());
  EXPECT_EQ(dump["mutexes"]["std::shared_mutex"]["ops"]["lock_shared"], "acquire shared");
  EXPECT_EQ(dump["guards"]["std::unique_lock"]["tags"]["std::defer_lock_t"], "defer");
  EXPECT_EQ(dump["classes"]["std::shared_ptr"]["kind"], "counted-pointer");
  EXPECT_EQ(dump["prefixes"]["std::"], "const-reads");
  EXPECT_EQ(dump["lockFunctions"]["pthread_rwlock_unlock"]["op"], "release any");
  EXPECT_EQ(dump["functions"]["memset"][0]["effects"][0], "write arg0*");
}

// ---- errors ----------------------------------------------------------------------

struct BadFile {
  const char* text;
  const char* error;
};
void PrintTo(const BadFile& f, std::ostream* out) { *out << f.text; }

class BadFiles : public ::testing::TestWithParam<BadFile> {};
TEST_P(BadFiles, AreReportedWithTheirPlace) {
  EXPECT_EQ(loadError(GetParam().text), std::string("f.json: ") + GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    TopLevel, BadFiles,
    ::testing::Values(
        BadFile{"[]", "(top level): must be an object"},
        BadFile{R"({"library":"x"})", "(top level): missing key 'schema'"},
        BadFile{R"({"schema":1})", "(top level): missing key 'library'"},
        BadFile{R"({"schema":2,"library":"x"})",
                "schema: must be 1, the only version this locktidy reads"},
        BadFile{R"({"schema":"1","library":"x"})",
                "schema: must be 1, the only version this locktidy reads"},
        BadFile{R"({"schema":1,"library":""})", "library: must be a string that is not empty"},
        BadFile{R"({"schema":1,"library":"x","schema":1})", "schema: key written twice"}));

class BadBodies : public ::testing::TestWithParam<BadFile> {};
TEST_P(BadBodies, AreReportedWithTheirPlace) {
  EXPECT_EQ(bodyError(GetParam().text), std::string("f.json: ") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Structure, BadBodies,
    ::testing::Values(
        BadFile{R"("klasses":[])", "klasses: unknown key"},
        BadFile{R"("note":1)", "note: must be a string"},
        BadFile{R"("classes":{})", "classes: must be a list"},
        BadFile{R"("classes":[1])", "classes[0]: must be an object"},
        BadFile{R"("classes":[{}])", "classes[0]: missing key 'names'"},
        BadFile{R"("classes":[{"names":["a"]},{"names":["b"],"note":7}])",
                "classes[1].note: must be a string"},
        BadFile{R"("classes":[{"names":"a"}])",
                "classes[0].names: must be a list that is not empty"},
        BadFile{R"("classes":[{"names":[]}])",
                "classes[0].names: must be a list that is not empty"},
        BadFile{R"("classes":[{"names":[1]}])",
                "classes[0].names[0]: must be a string that is not empty"},
        BadFile{R"("classes":[{"names":["a","a"]}])", "classes[0].names[1]: 'a' is listed twice"},
        BadFile{R"("classes":[{"names":["a<int>"]}])",
                "classes[0].names[0]: 'a<int>' must be a plain qualified name, without template "
                "arguments"},
        BadFile{R"("classes":[{"names":["::a"]}])",
                "classes[0].names[0]: '::a' is no qualified name"},
        BadFile{R"("classes":[{"names":["a"]},{"names":["a"]}])",
                "classes[1].names[0]: class 'a' is defined twice, first at classes[0].names[0]"},
        BadFile{R"("classes":[{"names":["a"],"kind":"odd"}])",
                "classes[0].kind: unknown kind 'odd'"},
        BadFile{R"("classes":[{"names":["a"],"kind":3}])",
                "classes[0].kind: must be a string that is not empty"},
        BadFile{R"("classes":[{"names":["a"],"categories":["none"]}])",
                "classes[0].categories[0]: unknown category 'none'"},
        BadFile{R"("classes":[{"names":["a"],"methods":[]}])",
                "classes[0].methods: must be an object"},
        BadFile{R"("categories":[])", "categories: must be an object"},
        BadFile{R"("categories":{"k":{}})", "categories.k: missing key 'methods'"},
        BadFile{R"("categories":{"k":{"methods":{},"m":1}})", "categories.k.m: unknown key"},
        BadFile{R"("prefixes":[{"prefix":"a::","policy":"maybe"}])",
                "prefixes[0].policy: unknown policy 'maybe'"},
        BadFile{R"("prefixes":[{"prefix":"a::"}])", "prefixes[0]: missing key 'policy'"},
        BadFile{R"("prefixes":[{"prefix":"","policy":"pure"}])",
                "prefixes[0].prefix: must be a string that is not empty"},
        BadFile{R"("prefixes":[{"prefix":"a","policy":"pure"},{"prefix":"a","policy":"log"}])",
                "prefixes[1]: prefix 'a' is defined twice, first at prefixes[0]"},
        BadFile{R"("neverSuggest":["a","a"])", "neverSuggest[1]: 'a' is listed twice"},
        BadFile{R"("neverSuggest":"a")", "neverSuggest: must be a list that is not empty"},
        BadFile{R"("categories":{"k":{"methods":{"m":[],"m":[]}}})",
                "categories.k.methods.m: key written twice"}));

INSTANTIATE_TEST_SUITE_P(
    Methods, BadBodies,
    ::testing::Values(
        BadFile{R"("categories":{"k":{"methods":{"":[]}}})",
                "categories.k.methods.: no method name in ''"},
        BadFile{R"("categories":{"k":{"methods":{"const":[]}}})",
                "categories.k.methods.const: no method name in 'const'"},
        BadFile{R"("categories":{"k":{"methods":{"/1":[]}}})",
                "categories.k.methods./1: no method name in '/1'"},
        BadFile{R"("categories":{"k":{"methods":{"const a":[]}}})",
                "categories.k.methods.const a: 'const' must come last in 'const a'"},
        BadFile{R"("categories":{"k":{"methods":{"a/1x":[]}}})",
                "categories.k.methods.a/1x: bad number of arguments '1x' (N, N+ or N-M)"},
        BadFile{R"("categories":{"k":{"methods":{"a/3-2":[]}}})",
                "categories.k.methods.a/3-2: bad number of arguments '3-2' (N, N+ or N-M)"},
        BadFile{R"("categories":{"k":{"methods":{"C::a":[]}}})",
                "categories.k.methods.C::a: a method key has no '::': 'C::a'"},
        BadFile{R"("categories":{"k":{"methods":{"a b":[],"b":[]}}})",
                "categories.k.methods.b: method 'b' is defined twice"},
        BadFile{R"("categories":{"k":{"methods":{"a":"read self"}}})",
                "categories.k.methods.a: must be a list of effects"},
        BadFile{
            R"("functions":[{"names":["C::m"],"effects":[]}],"classes":[{"names":["D"]}],"x":1)",
            "x: unknown key"}));

INSTANTIATE_TEST_SUITE_P(
    Effects, BadBodies,
    ::testing::Values(
        BadFile{R"("functions":[{"names":["f"]}])", "functions[0]: missing key 'effects'"},
        BadFile{R"("functions":[{"names":["f"],"effects":[1]}])",
                "functions[0].effects[0]: must be an effect string"},
        BadFile{R"("functions":[{"names":["f"],"effects":[""]}])",
                "functions[0].effects[0]: empty effect in ''"},
        BadFile{R"("functions":[{"names":["f"],"effects":["sync","rite self"]}])",
                "functions[0].effects[1]: unknown effect 'rite' in 'rite self'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["write"]}])",
                "functions[0].effects[0]: expected a place (self, argN, args, argN..., ret, "
                "global) in 'write'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["write me"]}])",
                "functions[0].effects[0]: unknown place 'me' (self, argN, args, argN..., ret, "
                "global) in 'write me'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["write argx"]}])",
                "functions[0].effects[0]: unknown place 'argx' (self, argN, args, argN..., ret, "
                "global) in 'write argx'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["write self.x"]}])",
                "functions[0].effects[0]: unexpected '.x' after the effect in 'write self.x'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["sync self"]}])",
                "functions[0].effects[0]: unexpected 'self' after the effect in 'sync self'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["bind ret <- self"]}])",
                "functions[0].effects[0]: expected '->' after the place of 'bind' in 'bind ret <- "
                "self'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["copy ret"]}])",
                "functions[0].effects[0]: expected '<-' after the place of 'copy' in 'copy ret'"},
        BadFile{R"("functions":[{"names":["f"],"effects":["copy ret <- "]}])",
                "functions[0].effects[0]: expected a place (self, argN, args, argN..., ret, "
                "global) in 'copy ret <- '"},
        BadFile{R"("functions":[{"names":["f"],"effects":["invoke arg0 (arg1"]}])",
                "functions[0].effects[0]: expected ',' or ')' in the arguments of 'invoke' in "
                "'invoke arg0 (arg1'"},
        BadFile{R"x("functions":[{"names":["f"],"effects":["invoke arg0 (arg1,)"]}])x",
                "functions[0].effects[0]: expected a place (self, argN, args, argN..., ret, "
                "global) in 'invoke arg0 (arg1,)'"},
        BadFile{R"("functions":[{"names":["f"],"effects":[]},{"names":["f"],"effects":[]}])",
                "functions[1].names[0]: function 'f' is defined twice"},
        BadFile{
            R"("classes":[{"names":["C"],"methods":{"constructor":[]}}],"functions":[{"names":["C::C"],"effects":[]}])",
            "functions[0].names[0]: function 'C::C' is defined twice"},
        BadFile{R"("functions":[{"names":["f"],"minArgs":-1,"effects":[]}])",
                "functions[0].minArgs: must be a number from 0 to 1000"},
        BadFile{R"("functions":[{"names":["f"],"maxArgs":"2","effects":[]}])",
                "functions[0].maxArgs: must be a number from 0 to 1000"},
        BadFile{R"("functions":[{"names":["f"],"minArgs":3,"maxArgs":2,"effects":[]}])",
                "functions[0]: minArgs is greater than maxArgs"},
        BadFile{R"x("functions":[{"names":["f()"],"effects":[]}])x",
                "functions[0].names[0]: 'f()' must be a plain qualified name, without template "
                "arguments"}));

INSTANTIATE_TEST_SUITE_P(
    Locks, BadBodies,
    ::testing::Values(
        BadFile{R"("mutexes":[{"types":["M"],"hasShared":1}])",
                "mutexes[0].hasShared: must be true or false"},
        BadFile{R"("mutexes":[{"types":["M"]},{"types":["M"]}])",
                "mutexes[1].types[0]: mutex 'M' is defined twice, first at mutexes[0].types[0]"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":[]}])", "mutexes[0].ops: must be an object"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"lock":1}}])",
                "mutexes[0].ops.lock: must be a string such as \"acquire exclusive\""},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"lock":""}}])",
                "mutexes[0].ops.lock: empty operation"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"lock":"grab"}}])",
                "mutexes[0].ops.lock: unknown operation 'grab'"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"lock":"acquire alone"}}])",
                "mutexes[0].ops.lock: unknown word 'alone' in 'acquire alone'"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"lock":"acquire any"}}])",
                "mutexes[0].ops.lock: 'any' needs a release, not 'acquire'"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"lock/1":"acquire"}}])",
                "mutexes[0].ops.lock/1: operations are not told apart by overload"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"":"acquire"}}])",
                "mutexes[0].ops.: no method name in ''"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"a b":"acquire","b":"release"}}])",
                "mutexes[0].ops.b: operation 'b' is defined twice"},
        BadFile{R"("mutexes":[{"types":["M"],"sharedForm":[]}])",
                "mutexes[0].sharedForm: must be an object"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"a":"acquire"},"sharedForm":{"a":1}}])",
                "mutexes[0].sharedForm.a: must be the name of a method"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"a":"acquire"},"sharedForm":{"b":"a"}}])",
                "mutexes[0].sharedForm.b: 'b' is not among the operations"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"a":"acquire"},"sharedForm":{"a":"b"}}])",
                "mutexes[0].sharedForm.a: 'b' is not among the operations"},
        BadFile{R"("mutexes":[{"types":["M"],"ops":{"a":"acquire"},"sharedForm":{"a":"a"}}])",
                "mutexes[0].sharedForm: needs \"hasShared\": true"},
        BadFile{R"("mutexes":[{"types":["M"],"hasShared":true,"sharedReplacement":"N"}])",
                "mutexes[0].sharedReplacement: the type has a shared mode already"},
        BadFile{R"("guards":[{"types":["G"]}])", "guards[0]: missing key 'mode'"},
        BadFile{R"("guards":[{"types":["G"],"mode":"read"}])",
                "guards[0].mode: must be shared, upgrade or exclusive"},
        BadFile{R"("guards":[{"types":["G"],"mode":"shared","tags":[]}])",
                "guards[0].tags: must be an object"},
        BadFile{R"("guards":[{"types":["G"],"mode":"shared","tags":{"t":"release"}}])",
                "guards[0].tags.t: must be defer, adopt or try"},
        BadFile{R"("guards":[{"types":["G"],"mode":"shared","modeArg":1}])",
                "guards[0]: 'modeArg' and 'modeValues' go together"},
        BadFile{R"("guards":[{"types":["G"],"mode":"shared","modeArg":1,"modeValues":{}}])",
                "guards[0].modeValues: must be an object that is not empty"},
        BadFile{
            R"("guards":[{"types":["G"],"mode":"shared","modeArg":1,"modeValues":{"1":"read"}}])",
            "guards[0].modeValues.1: must be shared, upgrade or exclusive"},
        BadFile{R"("guards":[{"types":["G"],"mode":"shared","lockArg":1.5}])",
                "guards[0].lockArg: must be a number from 0 to 1000"},
        BadFile{R"("guards":[{"types":["G"],"mode":"shared"},{"types":["G"],"mode":"shared"}])",
                "guards[1].types[0]: guard 'G' is defined twice, first at guards[0].types[0]"},
        BadFile{R"("lockFunctions":[{"names":["f"]}])", "lockFunctions[0]: missing key 'op'"},
        BadFile{R"("lockFunctions":[{"names":["f"],"op":"lock"}])",
                "lockFunctions[0].op: unknown operation 'lock'"},
        BadFile{R"("lockFunctions":[{"names":["f"],"op":"try","zeroIsSuccess":"yes"}])",
                "lockFunctions[0].zeroIsSuccess: must be true or false"},
        BadFile{R"("lockFunctions":[{"names":["f"],"op":"try"},{"names":["f"],"op":"try"}])",
                "lockFunctions[1].names[0]: lock function 'f' is defined twice, first at "
                "lockFunctions[0].names[0]"}));

TEST(Loader, SyntaxErrorsSayWhere) {
  std::string error = loadError("{\"schema\":1,\n\"library\":}");
  EXPECT_TRUE(error.starts_with("f.json: library: ")) << error;
  EXPECT_NE(error.find("line 2"), std::string::npos) << error;
  EXPECT_NE(loadError("").find("f.json: "), std::string::npos);
}

}  // namespace
