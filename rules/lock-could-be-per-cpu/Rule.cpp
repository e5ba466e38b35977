// LT301: a reader-writer lock that is written while the program starts and
// stops, and read in short sections on many threads: every reader writes the
// one cache line of the lock. A per-CPU lock gives each reader its own.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

#include "rules/Describe.h"
#include "rules/Rule.h"
#include "rules/mutex-could-be-atomic/Removal.h"

namespace locktidy {
namespace {

constexpr size_t kMaxInstances = 8;  // WHEN_IT_PAYS.md: memory is slots times locks
constexpr size_t kMany = kMaxInstances + 1;

// Words of names that say "registration, configuration, start or end". They
// decide only where the calls do not: nobody in the program calls the function,
// or main does while threads run.
bool soundsLikeSetUp(const std::string& name) {
  static const std::array<std::string_view, 20> kWords{
      "register", "unregister", "deregister", "init", "initialize", "initialise", "setup", "configure", "config", "load",
      "reload", "install", "uninstall", "shutdown", "close", "teardown", "stop", "destroy", "reset", "startup"};
  std::vector<std::string> words(1);
  char before = 0;
  for (char c : std::string(lastName(name))) {
    bool upper = std::isupper(static_cast<unsigned char>(c));
    if (!std::isalnum(static_cast<unsigned char>(c)) || (upper && std::islower(static_cast<unsigned char>(before)))) words.emplace_back();
    if (std::isalnum(static_cast<unsigned char>(c))) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    before = c;
  }
  return std::any_of(words.begin(), words.end(), [](const std::string& w) { return std::find(kWords.begin(), kWords.end(), w) != kWords.end(); });
}

class Counter {
 public:
  explicit Counter(const Solution& s) : s_(s), p_(s.program) {}

  // How many locks of the class there are in a run; kMany: too many to tell.
  size_t instances(Str lock) {
    const FieldFact* f = p_.field(lock);
    if (!f) {
      const GlobalFact* g = p_.global(lock);
      const TypeFact* t = g ? p_.type(g->type) : nullptr;
      return !g || g->isThreadLocal || (t && t->kind == TypeKind::Array) ? kMany : 1;
    }
    if (f->isStatic) return isArray(f->type) ? kMany : 1;
    const ClassFact* owner = p_.fieldOwner(lock);
    if (!owner || isArray(f->type) || owner->isTemplateInstance) return kMany;
    std::set<Str> open;
    return std::min(objects(*owner, open), kMany);
  }

 private:
  bool isArray(Str type) const {
    const TypeFact* t = p_.type(type);
    return t && t->kind == TypeKind::Array;
  }
  bool isOwner(const TypeFact& t) const {
    return s_.models.isUniqueOwner(p_.text(t.clsName)) || s_.models.isCountedPointer(p_.text(t.clsName));
  }

  // Objects of a class: globals, members of other classes, locals and `new`.
  size_t objects(const ClassFact& c, std::set<Str>& open) {
    if (!open.insert(c.usr).second) return kMany;
    size_t n = 0;
    for (const GlobalFact& g : p_.globals) {
      if (g.type == c.type) n += g.isThreadLocal ? kMany : 1;
      if (const TypeFact* t = p_.type(g.type); t && t->kind == TypeKind::Array && t->pointee == c.type) n += kMany;
    }
    for (const auto& [name, t] : p_.types)
      if (t.kind == TypeKind::Class && !isOwner(t) && s_.models.hasClass(p_.text(t.clsName)) && !s_.models.guard(p_.text(t.clsName)))
        if (std::find(t.args.begin(), t.args.end(), c.type) != t.args.end() && holds(p_.text(t.clsName))) return kMany;
    for (const ClassFact& d : p_.classes) {
      if (d.usr == c.usr) continue;
      bool part = std::find(d.bases.begin(), d.bases.end(), c.type) != d.bases.end();
      for (const FieldFact& f : d.fields) {
        if (f.isStatic) continue;
        if (f.type == c.type) part = true;
        if (const TypeFact* t = p_.type(f.type); t && t->kind == TypeKind::Array && t->pointee == c.type) n += kMany;
      }
      if (part && n < kMany) n += objects(d, open);
    }
    for (FuncId id = 0; id < p_.functions.size() && n < kMany; ++id) {
      const FunctionFacts& f = p_.functions[id];
      for (const LocalInfo& l : f.locals)
        if (l.type == c.type && l.name && !l.isParamCopy) n += once(id) ? 1 : kMany;
      for (uint32_t k = 0; k < f.calls.size(); ++k) {
        const Call& call = f.calls[k];
        bool made = call.kind == CallKind::Construct && call.selfType == c.type && call.self.root == Root::Fresh;
        if (std::string_view name = p_.text(call.name); name == "std::make_unique" || name == "std::make_shared")
          if (const TypeFact* t = p_.type(call.resultType)) made |= std::find(t->args.begin(), t->args.end(), c.type) != t->args.end();
        if (made) n += once(id) && !callInLoop(id, k) ? 1 : kMany;
      }
    }
    open.erase(c.usr);
    return std::min(n, kMany);
  }
  // A library class that has objects of its argument in it.
  static bool holds(const std::string& cls) {
    return cls == "std::vector" || cls == "std::deque" || cls == "std::list" || cls == "std::map" || cls == "std::unordered_map" ||
           cls == "std::array" || cls == "std::set" || cls == "std::unordered_set" || cls == "std::optional" || cls == "std::pair";
  }
  // main, and what only runs while there is one thread.
  bool once(FuncId f) const { return p_.functions[f].isMain || s_.contexts[f].phase == Context::StartUp; }
  bool callInLoop(FuncId id, uint32_t call) const {
    const FunctionFacts& f = p_.functions[id];
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for (const Event& e : f.blocks[b].events)
        if (e.kind == EventKind::Call && e.call == call) return inLoop(f, b);
    return false;
  }

  const Solution& s_;
  const Program& p_;
};

// A lock class that is an array of locks, one for each CPU.
bool isPerCpu(const Solution& s, Str type) {
  if (const MutexModel* m = s.models.mutex(s.program.className(type)); m && m->perCpu) return true;
  const ClassFact* c = s.program.classOfType(type);
  if (!c) return false;
  for (const FieldFact& f : c->fields) {
    const TypeFact* t = s.program.type(f.type);
    if (!t || (t->kind != TypeKind::Array && (t->args.empty() || t->kind != TypeKind::Class))) continue;
    Str element = t->kind == TypeKind::Array ? t->pointee : t->args[0];
    if (s.engine.isLockClass(element)) return true;
    if (const ClassFact* e = s.program.classOfType(element))
      for (const FieldFact& inner : e->fields)
        if (s.engine.isLockClass(inner.type)) return true;
  }
  return false;
}

struct Roles {
  std::vector<const Section*> readers, writers;
};

// Why the lock is none for a per-CPU read side; "" with `roles` filled in.
std::string assess(const Solution& s, const LockClass& lock, Counter& counter, Roles& roles) {
  if (!lock.hasShared || !lock.loc.valid()) return "it has no shared mode";
  if (!lock.barred.empty()) return lock.barred;
  if (isPerCpu(s, lock.type)) return "it is one for each CPU already";
  bool hot = false;
  for (uint32_t i : lock.sections) {
    const Section& x = s.sections[i];
    const Context& c = s.contexts[x.func];
    const FunctionFacts& f = s.function(x.func);
    const Acquisition& q = s.acquisition(x);
    if (q.many || q.ambiguous) return "which lock a section takes could not be told";
    bool reads = x.verdict.proved();
    bool setUp = c.phase == Context::StartUp || f.isCtor || f.isDtor ||
                 (c.phase == Context::Perhaps && soundsLikeSetUp(s.program.text(f.name)));
    if (!reads && setUp) {
      roles.writers.push_back(&x);
      continue;
    }
    std::string where = lineOf(s, x.loc);
    if (!reads) return "a section that may run at any time does more than read (" + where + ")";
    if (setUp) continue;
    if (x.verdict.cost > 1) return "the section at " + where + " is long: there a shared lock is as good";
    roles.readers.push_back(&x);
    hot |= c.phase == Context::Running && (c.manyThreads || (c.roots & (c.roots - 1)));
  }
  if (roles.readers.empty() || !hot) return "no section that only reads runs on several threads";
  if (roles.writers.empty()) return "nothing is written under it";
  if (counter.instances(lock.id) > kMaxInstances) return "there are many locks of it: each would need a slot for every CPU";
  return {};
}

Finding describe(const Solution& s, const LockClass& lock, const Roles& roles) {
  Finding f;
  f.rule = "lock-could-be-per-cpu";
  f.code = "LT301";
  f.level = Level::Note;
  f.safety = Safety::Candidate;
  f.lock = lockNote(s, lock.id);
  f.at = f.lock.at;
  f.label = "every reader writes its one cache line";
  f.message = "`" + lock.name + "` is read in short sections on many threads and written only at start-up: a per-CPU lock would spare readers its cache line";
  int cost = 0;
  for (const Section* x : roles.readers) cost = std::max(cost, x->verdict.cost);
  f.cost = costName(cost);
  for (const auto* group : {&roles.readers, &roles.writers})
    for (const Section* x : *group) {
      f.sections.push_back(sectionNote(s, *x));
      f.seenInTus = std::max(f.seenInTus, s.program.unitsSeeing[x->func]);
    }
  f.because.push_back("every section that can run once the program is up only reads, and is short");
  f.because.push_back(std::to_string(roles.writers.size()) + (roles.writers.size() == 1 ? " section writes" : " sections write") +
                      " at start-up, registration, configuration or teardown only");
  f.because.push_back("there are few locks of it, so a slot for every CPU costs little memory");
  std::string own;
  for (const auto& [id, other] : s.locks)
    if (own.empty() && id != lock.id && isPerCpu(s, other.type)) own = s.program.text(other.type);
  f.help.push_back(own.empty() ? "use `locktidy::percpu_shared_mutex` (locktidy/percpu_shared_mutex.h), or publish a snapshot that readers take without a lock"
                               : "use the per-CPU lock the program already has, `" + own + "`");
  f.help.push_back("it takes a cache line for every CPU and lock, and a writer touches all of them: not where writers are in a hurry");
  f.help.push_back("no edit: measure first, it pays only where many CPUs read at once");
  f.help.push_back("locktidy why " + lock.name);
  f.rank = 20;
  identify(f, {s.program.text(lock.id)});
  f.fix.safety = f.safety;
  f.fix.group = f.id;
  return f;
}

std::vector<Finding> check(const Solution& s, const RuleOptions& options) {
  std::vector<Finding> out;
  Counter counter(s);
  std::optional<std::set<Str>> atomic;
  std::set<std::pair<uint32_t, uint32_t>> done;
  for (const auto& [id, lock] : s.locks) {
    Roles roles;
    if (!assess(s, lock, counter, roles).empty()) continue;
    if (!atomic) atomic = atomicLocks(s, options);  // of the whole-lock rules one speaks
    if (atomic->count(id) || !done.insert({lock.loc.file, lock.loc.offset}).second) continue;
    out.push_back(describe(s, lock, roles));
  }
  return out;
}

}  // namespace

extern const Rule rule_lock_could_be_per_cpu;
const Rule rule_lock_could_be_per_cpu{
    "lock-could-be-per-cpu", "LT301", "a read-mostly lock makes every reader write its one cache line",
    "0.1.0", Level::Note, true, check};

}  // namespace locktidy
