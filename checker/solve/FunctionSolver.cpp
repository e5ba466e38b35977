// One function, solved.
//
// Problem. From a skeleton (Facts.h) find: what every place really is, which
// locks are held where, and what is read and written, in terms of the
// function's own This, Param and Global, so that callers can substitute.
//
// Steps
//  1. Aliases. Bind and Copy events, and the links of callees, become
//     definitions `place <- target` with the program point where they happen.
//     A place is resolved at a point by following only definitions that can
//     come before it, so a pointer that is still null there points nowhere.
//     Definitions are never killed: the result is a superset. Iterated until
//     nothing is added (at most kRounds; then the function is incomplete).
//  2. Escapes. Locals and fresh objects are private until a pointer to them is
//     stored where others can see it, or handed to unknown code.
//  3. Lock sets. Forward worklist over the blocks; per acquisition May or Must.
//     Catch handlers start from the union of everything.
//  4. Effects, in one last pass, with what is held at each.
//
// Limits are named in FunctionState.h. A place with too many targets, or asked
// after the budget of resolution steps, is Unknown; a function that meets any
// other limit is `incomplete`: its sections are undecided, its callers see an
// Unknown effect.

#include "checker/solve/FunctionState.h"

namespace locktidy {

FunctionResult FunctionSolver::run() {
  if (f_.opaque || f_.blocks.size() > kMaxBlocks) {
    giveUp(f_.opaque ? f_.opaqueReason : 0);
    return std::move(out_);
  }
  prepare();
  changed_ = true;
  for (int round = 0; round < kRounds && changed_; ++round) {
    changed_ = false;
    aliasPass();
  }
  if (changed_) out_.incomplete = "pointers in it are too entangled";
  findEscapes();
  collectActions();
  lockSets();
  recordPass();
  auto endless = [&](uint32_t call) { return call < callPoint_.size() && inEndlessLoop(callPoint_[call].block); };
  for (CallContext& c : out_.contexts) c.endless = endless(c.call);
  for (Acquisition& q : out_.acquisitions) q.endless = endless(q.call);
  summarise();
  return std::move(out_);
}

bool FunctionSolver::inEndlessLoop(uint32_t b) const {
  if (b >= f_.blocks.size() || !inLoop(b)) return false;
  auto together = [&](uint32_t o) { return reach_[b][o] && reach_[o][b]; };
  for (uint32_t o = 0; o < f_.blocks.size(); ++o)
    if (f_.blocks[o].loop == LoopKind::Open && together(o)) return true;
  for (const LocalEffect& e : out_.effects)
    if ((e.kind == Eff::Blocks || e.kind == Eff::Wait) && together(e.block)) return true;
  return false;
}

void FunctionSolver::giveUp(Str why) {
  Effect u;
  u.kind = Eff::Unknown;
  u.path = paths_.unknown();
  u.func = id_;
  u.loc = f_.loc;
  u.via = why;
  LocalEffect l;
  static_cast<Effect&>(l) = u;
  l.direct = true;
  out_.effects.push_back(l);
  out_.summary.effects.push_back(u);
  PathId unknown = paths_.unknown();
  out_.summary.links.push_back({paths_.root(Root::Ret), unknown, true});
  for (uint32_t i = 0; i < f_.params.size(); ++i)
    out_.summary.links.push_back({unknown, paths_.root(Root::Param, i), false});
  out_.summary.solved = true;
}

FunctionResult solveFunction(Engine& engine, FuncId func) { return FunctionSolver(engine, func).run(); }

}  // namespace locktidy
