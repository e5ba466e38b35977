// LT203: a queue and a thread that takes messages from it only to count. Each
// message costs a hand-over between threads; an atomic, or a shared lock around
// a map of atomics, costs a few nanoseconds.
//
// The shape: a function that one thread runs has a loop; in it the next message
// is received (something waits on a condition variable and takes an element out
// of a container), and all the rest of the loop reads and writes scalars or
// containers of them, and replies.
#include <algorithm>
#include <map>

#include "rules/Describe.h"
#include "rules/Rule.h"

namespace locktidy {
namespace {

constexpr size_t kMaxFunctions = 300;  // a handler that calls more does more than count

class Consumer {
 public:
  Consumer(const Solution& s, FuncId func) : s_(s), e_(s.engine), p_(s.program), func_(func) {}

  bool run() {
    if (!findReceive()) return false;
    return collect(func_, func_) && !state_.empty() && pickHandler();
  }

  FuncId handler() const { return handler_; }
  Str lock() const { return lock_; }
  const std::map<Str, std::string>& state() const { return state_; }
  bool replies() const { return replies_; }
  bool map() const { return map_; }

 private:
  // A function that waits with a lock of its own and takes something out of a
  // container: the lock's class, or 0.
  Str receives(FuncId f) const {
    Str lock = 0;
    for (const Acquisition& q : s_.results[f].acquisitions)
      if (q.waits) lock = e_.lockClass(q.lock);
    if (!lock) return 0;
    for (const Call& c : p_.functions[f].calls) {
      std::string_view method = lastName(p_.text(c.name));
      if (method == "pop_front" || method == "pop" || method == "pop_back" || method == "erase" || method == "swap" || method == "dequeue") return lock;
    }
    return 0;
  }

  bool findReceive() {
    const FunctionFacts& f = p_.functions[func_];
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      for (const Event& e : f.blocks[b].events) {
        if (e.kind != EventKind::Call || !inLoop(f, b)) continue;
        for (FuncId callee : p_.targetsOf(f.calls[e.call].callee).bodies)
          if (Str lock = receives(callee)) {
            if (lock_ && lock != lock_) return false;  // several queues: order between them may matter
            lock_ = lock;
            receivers_.insert(callee);
          }
      }
    }
    // The same call also stands before the loop, in a `for`.
    return lock_ != 0;
  }

  // What `f` does by itself and what it calls does; `via`: the function that the
  // loop calls to get there (the loop's own at first).
  bool collect(FuncId f, FuncId via) {
    if (!seen_.insert({f, via}).second) return true;
    // Copies and moves of messages.
    if (p_.functions[f].isImplicit || p_.functions[f].isDefaulted) return true;
    const FunctionResult& r = s_.results[f];
    if (!r.incomplete.empty() || seen_.size() > kMaxFunctions) return false;
    for (const LocalEffect& e : r.effects)
      if (e.direct && !e.init && !fine(f, via, e)) return false;
    for (const Call& c : p_.functions[f].calls)
      if (p_.targetsOf(c.callee).bodies.empty() && !harmless(c)) return false;
    for (const CallContext& c : r.contexts) {
      if (c.later) return false;
      if (receivers_.count(c.callee)) continue;
      if (!collect(c.callee, f == func_ ? c.callee : via)) return false;
    }
    return true;
  }

  // A library call without a body here. Outside of sections the solver keeps no
  // effects of calls, so they are judged by name: what holds values, compares
  // and moves them, and what answers.
  bool harmless(const Call& c) const {
    static const std::set<std::string_view> kClasses{
        "map", "unordered_map", "multimap", "set", "unordered_set", "vector", "array", "basic_string", "basic_string_view", "deque",
        "pair", "tuple", "optional", "variant", "promise", "less", "hash", "equal_to", "move", "forward", "get", "min", "max",
        "swap", "exchange", "to_string", "make_pair", "find", "begin", "end", "_Rb_tree_iterator", "_Rb_tree_const_iterator",
        "__normal_iterator", "__detail", "chrono", "unique_ptr", "shared_ptr", "__shared_ptr_access", "_Optional_base",
        "visit", "holds_alternative", "get_if", "as_const", "numeric_limits", "allocator"};
    std::string_view name = p_.text(c.name);
    if (c.kind == CallKind::Indirect || name.empty()) return false;
    if (name.starts_with("__gnu_cxx::")) return true;
    if (name.starts_with("operator")) return name == "operator==" || name == "operator!=" || name == "operator<";
    if (!name.starts_with("std::")) return p_.targetsOf(c.callee).bodies.empty() && c.implicit;
    name.remove_prefix(5);
    if (name.starts_with("operator")) return name != "operator<<" && name != "operator>>";
    return kClasses.count(name.substr(0, name.find("::"))) != 0;
  }

  bool fine(FuncId func, FuncId via, const LocalEffect& e) {
    const std::string& name = p_.text(e.via);
    switch (e.kind) {
      case Eff::Log: return false;  // a journal: the thread is there to write it
      case Eff::Alloc:
      case Eff::Drop:
      case Eff::Assumption: return true;
      case Eff::Sync:
      case Eff::Wait:
      case Eff::Unknown:
      case Eff::External:
        if (!name.starts_with("std::promise::set_")) return false;
        replies_ = true;
        return true;
      case Eff::Read:
      case Eff::AtomicRead:
      case Eff::AtomicWrite:
      case Eff::Free: return true;
      case Eff::Touch:
      case Eff::Write: break;
      default: return false;
    }
    if (name.starts_with("std::promise::")) {
      replies_ = true;
      return true;
    }
    bool callers = false;
    std::vector<PathId> places = s_.publicPlaces(func, e.path, &callers);
    // (An object that starts its thread while it is made is nobody else's yet.)
    if (places.empty() && e_.paths.rootOf(e.path).root == Root::This) places.push_back(e.path);
    for (PathId place : places) {
      if (reply(place)) {
        replies_ = true;
        continue;
      }
      Str entity = stateOf(place);
      if (!entity) return false;
      handlers_.insert(via);
      state_[entity] = e_.describe(place);
    }
    return true;
  }

  // What a message points to: a slot for the answer.
  bool reply(PathId place) const {
    const PathNode& root = e_.paths.rootOf(place);
    return e_.paths.derefs(place) > 0 && (root.root == Root::Result || root.root == Root::Unknown || root.root == Root::Local);
  }

  // The member, global or captured variable that holds the counters.
  Str stateOf(PathId place) {
    std::vector<const PathNode*> steps;
    for (PathId at = place;; at = e_.paths.at(at).parent) {
      steps.push_back(&e_.paths.at(at));
      if (e_.paths.at(at).kind == StepKind::Root) break;
    }
    std::reverse(steps.begin(), steps.end());
    // The first member (or the global itself), through what a capture refers to.
    for (const PathNode* n : steps) {
      Str type = 0, entity = 0;
      if (n->kind == StepKind::Field) {
        if (const FieldFact* f = p_.field(n->entity)) type = f->type, entity = n->entity;
      } else if (n->kind == StepKind::Root && n->root == Root::Global) {
        if (const GlobalFact* g = p_.global(n->entity)) type = g->type, entity = n->entity;
      }
      const TypeFact* t = p_.type(type);
      if (t && t->kind == TypeKind::Ref) t = p_.type(t->pointee);
      if (!entity || !t) continue;
      if (counts(*t)) return entity;
      if (const ClassFact* c = p_.classOfType(t->name); !c || c->inSystemHeader) return 0;
    }
    return 0;
  }
  static bool scalar(const TypeFact& t) {
    return t.kind == TypeKind::Int || t.kind == TypeKind::Bool || t.kind == TypeKind::Enum || t.kind == TypeKind::Float;
  }
  // A scalar, or a container whose elements hold numbers.
  bool counts(const TypeFact& t) {
    if (scalar(t)) return true;
    const std::string& cls = p_.text(t.clsName);
    bool mapped = cls.ends_with("map") && t.args.size() >= 2;
    if (t.kind == TypeKind::Array || mapped || cls == "std::vector" || cls == "std::array") {
      const TypeFact* value = p_.type(mapped ? t.args[1] : t.kind == TypeKind::Array ? t.pointee : t.args.empty() ? 0 : t.args[0]);
      if (!value) return false;
      bool numbers = scalar(*value);
      if (const ClassFact* c = p_.classOfType(value->name); c && !c->inSystemHeader)
        for (const FieldFact& f : c->fields)
          if (const TypeFact* x = p_.type(f.type)) numbers |= scalar(*x);
      map_ |= numbers;
      return numbers;
    }
    return false;
  }

  // The one function that all of it is in, if the loop has one; else the loop.
  bool pickHandler() {
    handler_ = handlers_.size() == 1 ? *handlers_.begin() : func_;
    const FunctionFacts& f = p_.functions[handler_];
    return f.loc.valid() && !f.inSystemHeader;
  }

  const Solution& s_;
  Engine& e_;
  const Program& p_;
  FuncId func_;
  Str lock_ = 0;
  std::set<FuncId> receivers_, handlers_;
  std::set<std::pair<FuncId, FuncId>> seen_;
  std::map<Str, std::string> state_;
  bool replies_ = false, map_ = false;
  FuncId handler_ = 0;
};

Finding describe(const Solution& s, const Consumer& c) {
  const FunctionFacts& h = s.function(c.handler());
  Finding f;
  f.rule = "mailbox-around-counter";
  f.code = "LT203";
  f.level = Level::Note;
  f.safety = Safety::Candidate;
  f.lock = lockNote(s, c.lock());
  f.at = placeOf(s, h.loc, 1);
  f.label = "handles messages that only count";
  std::string names;
  for (const auto& [entity, name] : c.state()) {
    std::string plain = s.program.field(entity) ? s.program.text(s.program.field(entity)->name)
                                                : std::string(lastName(s.program.text(s.program.global(entity)->name)));
    names += (names.empty() ? "`" : ", `") + plain + "`";
  }
  f.message = "a queue and a thread only to count in " + names + ": each message is a hand-over between threads";
  f.cost = costName(0);
  f.seenInTus = s.program.unitsSeeing[c.handler()];
  f.because.push_back("the messages of the queue behind `" + f.lock.name + "` only read and change " + names + (c.replies() ? ", and are answered" : ""));
  f.because.push_back("one thread runs the handler: nothing else orders the messages");
  f.help.push_back(c.map() ? "keep " + names + " under a shared lock with atomic counters in the entries: counting finds the entry under the shared side and adds, only new entries take it exclusively"
                           : "make " + names + " atomic: senders add to it themselves, readers load it");
  if (c.replies()) f.help.push_back("the answers then come from the call itself: no promise, no waiting for the thread");
  f.help.push_back("no edit: callers may rely on the order in which messages are handled");
  f.rank = 25;
  identify(f, {s.program.text(h.usr)});
  f.fix.safety = f.safety;
  f.fix.group = f.id;
  return f;
}

std::vector<Finding> check(const Solution& s, const RuleOptions&) {
  std::vector<Finding> out;
  std::set<std::pair<uint32_t, uint32_t>> done;
  for (FuncId id = 0; id < s.program.functions.size(); ++id) {
    const FunctionFacts& f = s.program.functions[id];
    const Context& x = s.contexts[id];
    // On one thread, which something starts.
    if (!f.hasBody || f.inSystemHeader || x.phase != Context::Running || x.manyThreads) continue;
    Consumer c(s, id);
    if (!c.run()) continue;
    const Loc& loc = s.function(c.handler()).loc;
    if (done.insert({loc.file, loc.offset}).second) out.push_back(describe(s, c));
  }
  return out;
}

}  // namespace

extern const Rule rule_mailbox_around_counter;
const Rule rule_mailbox_around_counter{
    "mailbox-around-counter", "LT203", "a thread takes messages from a queue only to count",
    "0.1.0", Level::Note, true, check};

}  // namespace locktidy
