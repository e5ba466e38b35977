// From Clang's control-flow graph to blocks of events.
//
// Every sub-expression is an element of the graph, in evaluation order; each is
// visited once and alone, so nothing here recurses for effects. (Default
// arguments are the exception: Clang keeps them out of the graph.)
#include "checker/extract/Internal.h"

namespace locktidy::extract {

Lowering::Lowering(Unit& unit, FunctionFacts& out, const FunctionDecl* fn)
    : u(unit), facts(out), function(fn), plan(unit, out) {
  if (auto* method = dyn_cast_or_null<CXXMethodDecl>(fn); method && method->getParent()->isLambda())
    method->getParent()->getCaptureFields(captures, thisCapture);
}

void Lowering::opaque(StringRef reason) {
  facts.opaque = true;
  facts.opaqueReason = u.str(reason);
  facts.blocks.clear();
  facts.calls.clear();
}

void Lowering::run(const FunctionDecl* definition) {
  const Stmt* body = definition->getBody();
  fallback = body->getBeginLoc();
  if (isa<CoroutineBodyStmt>(body)) {
    facts.isCoroutine = true;
    return opaque("coroutine");
  }
  if (auto* ctor = dyn_cast<CXXConstructorDecl>(definition))
    for (const CXXCtorInitializer* init : ctor->inits()) plan.scanInitializer(init);
  plan.scan(body);
  build(definition, const_cast<Stmt*>(body));
}

void Lowering::runInitializer(const VarDecl* variable) {
  fallback = variable->getLocation();
  constantInit = variable->hasConstantInitialization();
  plan.scanGlobal(variable);
  build(variable, const_cast<Expr*>(variable->getInit()));
  if (facts.opaque || facts.blocks.empty()) return;
  // The variable itself is initialised at the end: just before the last block.
  const Expr* init = variable->getInit();
  Path path;
  path.root = Root::Global;
  path.entity = u.global(variable);
  QualType type = variable->getType();
  if (type->isRecordType() || type->isArrayType()) return;
  Block& last = facts.blocks.back();
  block = &last;
  if (type->isReferenceType())
    bind(path, value(init), init);
  else
    initialize(path, type, init, init);
}

namespace {

CFG::BuildOptions buildOptions() {
  CFG::BuildOptions options;
  options.PruneTriviallyFalseEdges = false;  // a write behind `if (kDebug)` counts
  options.AddImplicitDtors = true;
  options.AddTemporaryDtors = true;
  options.AddInitializers = true;
  options.AddCXXDefaultInitExprInCtors = true;
  options.AddCXXDefaultInitExprInAggregates = true;
  options.setAllAlwaysAdd();
  return options;
}

// `while (false)`, `do ... while (0)`: dead in every configuration, unlike what
// hides behind a named constant.
std::optional<bool> literalCondition(const CFGBlock& block) {
  if (block.succ_size() != 2 || isa_and_nonnull<SwitchStmt>(block.getTerminatorStmt())) return std::nullopt;
  const auto* condition = dyn_cast_or_null<Expr>(block.getTerminatorCondition());
  if (!condition) return std::nullopt;
  condition = condition->IgnoreParenImpCasts();
  if (const auto* literal = dyn_cast<CXXBoolLiteralExpr>(condition)) return literal->getValue();
  if (const auto* literal = dyn_cast<IntegerLiteral>(condition)) return literal->getValue() != 0;
  return std::nullopt;
}

// Does `condition` compare a variable with a constant, so that it cannot hold
// for ever? Who changes the variable is not asked.
bool hasConstantBound(const Expr* condition, const ASTContext& ctx) {
  condition = condition->IgnoreParenImpCasts();
  auto* op = dyn_cast<BinaryOperator>(condition);
  if (!op) return false;
  if (op->getOpcode() == BO_LAnd)
    return hasConstantBound(op->getLHS(), ctx) || hasConstantBound(op->getRHS(), ctx);
  if (op->getOpcode() == BO_LOr)
    return hasConstantBound(op->getLHS(), ctx) && hasConstantBound(op->getRHS(), ctx);
  if (!op->isRelationalOp() && op->getOpcode() != BO_NE) return false;
  auto counter = [](const Expr* e) {
    auto* ref = dyn_cast<DeclRefExpr>(e->IgnoreParenImpCasts());
    auto* variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
    return variable && variable->isLocalVarDeclOrParm() && !variable->getType().isVolatileQualified();
  };
  auto constant = [&](const Expr* e) {
    Expr::EvalResult result;
    return !e->isValueDependent() && e->getType()->isIntegralOrEnumerationType() && e->EvaluateAsInt(result, ctx);
  };
  return (counter(op->getLHS()) && constant(op->getRHS())) || (counter(op->getRHS()) && constant(op->getLHS()));
}

LoopKind loopKind(const CFGBlock& block, const ASTContext& ctx) {
  const Stmt* terminator = block.getTerminatorStmt();
  if (!terminator || literalCondition(block) == false) return LoopKind::None;
  const Expr* condition = nullptr;
  if (auto* loop = dyn_cast<ForStmt>(terminator)) {
    condition = loop->getCond();
  } else if (auto* loop = dyn_cast<WhileStmt>(terminator)) {
    condition = loop->getCond();
  } else if (auto* loop = dyn_cast<DoStmt>(terminator)) {
    condition = loop->getCond();
  } else if (auto* loop = dyn_cast<CXXForRangeStmt>(terminator)) {
    return loop->getRangeInit() && loop->getRangeInit()->getType()->isArrayType() ? LoopKind::Constant
                                                                                 : LoopKind::Open;
  } else {
    return LoopKind::None;
  }
  return condition && hasConstantBound(condition, ctx) ? LoopKind::Constant : LoopKind::Open;
}

}  // namespace

void Lowering::build(const Decl* decl, Stmt* body) {
  if (plan.broken) return opaque("does not compile");
  static const CFG::BuildOptions options = buildOptions();
  std::unique_ptr<CFG> cfg = CFG::buildCFG(decl, body, &u.ctx, options);
  if (!cfg) return opaque("no control-flow graph");

  // Clang numbers blocks from the exit; here the entry is first, the exit last.
  unsigned count = cfg->getNumBlockIDs();
  auto index = [&](const CFGBlock* b) { return count - 1 - b->getBlockID(); };
  facts.blocks.assign(count, Block());
  facts.entry = index(&cfg->getEntry());
  std::vector<const CFGBlock*> order(count);
  for (const CFGBlock* b : *cfg) order[index(b)] = b;
  for (const CFGBlock* b : order) {
    Block& out = facts.blocks[index(b)];
    block = &out;
    bool throws = false;
    for (const CFGElement& each : *b) {
      element(each);
      if (auto stmt = each.getAs<CFGStmt>()) throws |= isa<CXXThrowExpr>(stmt->getStmt());
    }
    if (const Stmt* label = b->getLabel()) out.handler = isa<CXXCatchStmt>(label);
    out.branch = branch(*b);
    out.loop = loopKind(*b, u.ctx);
    // After a call that never returns nothing follows.
    if (b->hasNoReturnElement() && !throws) continue;
    const std::optional<bool> always = literalCondition(*b);
    unsigned edge = 0;
    for (const CFGBlock::AdjacentBlock& next : b->succs()) {
      // The first edge is the one taken when the condition holds.
      if (always && (edge++ == 0) != *always) continue;
      const CFGBlock* to = next.getReachableBlock();
      if (!to) to = next.getPossiblyUnreachableBlock();
      if (to) out.succs.push_back(index(to));
    }
  }
  plan.finish();
}

void Lowering::element(const CFGElement& element) {
  switch (element.getKind()) {
  case CFGElement::Statement:
  case CFGElement::Constructor:
  case CFGElement::CXXRecordTypedCall:
    visit(element.castAs<CFGStmt>().getStmt());
    break;
  case CFGElement::Initializer:
    memberInitializer(element.castAs<CFGInitializer>().getInitializer());
    break;
  case CFGElement::AutomaticObjectDtor: {
    auto dtor = element.castAs<CFGAutomaticObjDtor>();
    const Stmt* trigger = dtor.getTriggerStmt();
    SourceLocation at = fallback;
    if (trigger) at = isa<CompoundStmt>(trigger) ? trigger->getEndLoc() : trigger->getBeginLoc();
    destroyVariable(dtor.getVarDecl(), at);
    break;
  }
  case CFGElement::DeleteDtor: {
    auto dtor = element.castAs<CFGDeleteDtor>();
    const CXXDeleteExpr* expr = dtor.getDeleteExpr();
    Path self = deref(pointer(expr->getArgument()));
    destroy(std::move(self), u.ctx.getCanonicalTagType(dtor.getCXXRecordDecl()),
            expr->getBeginLoc(), !expr->isArrayForm());
    break;
  }
  case CFGElement::BaseDtor: {
    Path self;
    self.root = Root::This;
    destroy(std::move(self), element.castAs<CFGBaseDtor>().getBaseSpecifier()->getType(), fallback,
            false);
    break;
  }
  case CFGElement::MemberDtor: {
    const FieldDecl* member = element.castAs<CFGMemberDtor>().getFieldDecl();
    Path self;
    self.root = Root::This;
    self.steps.push_back({Sel::Field, u.usr(member), 0});
    destroy(std::move(self), member->getType(), fallback, false);
    break;
  }
  case CFGElement::TemporaryDtor:
    temporaryDestructor(element.castAs<CFGTemporaryDtor>().getBindTemporaryExpr());
    break;
  case CFGElement::CleanupFunction:
    cleanupFunction(element.castAs<CFGCleanupFunction>().getVarDecl());
    break;
  default:
    break;
  }
}

// ---------------------------------------------------------------------------
// Branches on the result of a call
// ---------------------------------------------------------------------------

Branch Lowering::branch(const CFGBlock& b) {
  if (b.succ_size() != 2 || !b.getTerminator().isStmtBranch()) return Branch();
  const Stmt* terminator = b.getTerminatorStmt();
  if (!terminator || isa<SwitchStmt, CXXTryStmt>(terminator)) return Branch();
  // The condition is the last expression; temporaries may die after it.
  for (auto it = b.rbegin(); it != b.rend(); ++it)
    if (auto stmt = it->getAs<CFGStmt>()) {
      auto* expr = dyn_cast<Expr>(stmt->getStmt());
      return expr ? condition(expr) : Branch();
    }
  return Branch();
}

Branch Lowering::condition(const Expr* expr) {
  Branch result;
  auto isZero = [&](const Expr* e) {
    e = e->IgnoreParenImpCasts();
    if (isa<CXXNullPtrLiteralExpr, GNUNullExpr>(e)) return true;
    if (auto* literal = dyn_cast<IntegerLiteral>(e)) return literal->getValue().isZero();
    if (auto* literal = dyn_cast<CXXBoolLiteralExpr>(e)) return !literal->getValue();
    return false;
  };
  auto isTrue = [&](const Expr* e) {
    auto* literal = dyn_cast<CXXBoolLiteralExpr>(e->IgnoreParenImpCasts());
    return literal && literal->getValue();
  };
  while (true) {
    expr = skipTransparent(expr);
    if (auto* cast = dyn_cast<CastExpr>(expr)) {
      if (cast->getCastKind() == CK_LValueToRValue) {
        auto* ref = dyn_cast<DeclRefExpr>(skipTransparent(cast->getSubExpr()));
        auto* variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
        if (!variable || !plan.isStable(variable)) return Branch();
        auto found = initCalls.find(variable->getCanonicalDecl());
        if (found == initCalls.end()) return Branch();
        result.call = found->second;
        return result;
      }
      expr = cast->getSubExpr();
      continue;
    }
    if (auto* op = dyn_cast<UnaryOperator>(expr); op && op->getOpcode() == UO_LNot) {
      result.negated = !result.negated;
      expr = op->getSubExpr();
      continue;
    }
    if (auto* op = dyn_cast<BinaryOperator>(expr)) {
      if (op->getOpcode() == BO_Comma) {
        expr = op->getRHS();
        continue;
      }
      if (op->isEqualityOp()) {
        bool equal = op->getOpcode() == BO_EQ;
        const Expr *left = op->getLHS(), *right = op->getRHS();
        if (isZero(left) || isTrue(left)) std::swap(left, right);
        if (isZero(right)) {
          if (equal) result.negated = !result.negated;
          expr = left;
          continue;
        }
        if (isTrue(right)) {
          if (!equal) result.negated = !result.negated;
          expr = left;
          continue;
        }
      }
      // `(rc = f())` is what f returned.
      if (op->getOpcode() == BO_Assign) {
        expr = op->getRHS();
        continue;
      }
      return Branch();
    }
    if (auto* call = dyn_cast<CallExpr>(expr)) {
      unsigned builtin = call->getBuiltinCallee();
      if (builtin == Builtin::BI__builtin_expect ||
          builtin == Builtin::BI__builtin_expect_with_probability) {
        expr = call->getArg(0);
        continue;
      }
    }
    auto found = callIds.find(expr);
    if (found == callIds.end()) return Branch();
    result.call = found->second;
    return result;
  }
}

// ---------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------

Event& Lowering::emit(EventKind kind, SourceLocation at) {
  Event event;
  event.kind = kind;
  if (usedAt.isValid()) at = usedAt;
  event.loc = u.sources.loc(at.isValid() ? at : fallback);
  block->events.push_back(std::move(event));
  return block->events.back();
}

Event& Lowering::emit(EventKind kind, const Stmt* at) {
  return emit(kind, at ? at->getBeginLoc() : fallback);
}

void Lowering::read(Path place, QualType type, const Stmt* at) {
  if (constantInit) return;
  Event& event = emit(EventKind::Read, at);
  event.isVolatile = type.isVolatileQualified();
  event.type = u.type(type);
  event.place = std::move(place);
}

void Lowering::write(Path place, QualType type, StringRef op, const Stmt* at, bool rmw, bool used) {
  if (constantInit) return;
  Event& event = emit(EventKind::Write, at);
  event.isVolatile = type.isVolatileQualified();
  event.type = u.type(type);
  event.op = u.str(op);
  event.rmw = rmw;
  event.rmwUsed = used;
  event.place = std::move(place);
}

void Lowering::bind(Path place, Value value, const Stmt* at) {
  if (value.kind == ValueKind::None) return;
  Event& event = emit(value.kind == ValueKind::Bind ? EventKind::Bind : EventKind::Copy, at);
  event.place = std::move(place);
  event.value = std::move(value);
}

namespace {

// Memory that came into being here and that nobody else can see yet.
bool isOwn(const Path& path) {
  if (path.root != Root::Local && path.root != Root::Ret && path.root != Root::Fresh) return false;
  return std::ranges::none_of(path.steps, [](const Step& step) { return step.sel == Sel::Deref; });
}

}  // namespace

void Lowering::initialize(Path place, QualType type, const Expr* init, const Stmt* at) {
  if (type->isReferenceType()) return bind(std::move(place), value(init), at);
  if (!isOwn(place)) write(place, type, "init", at);
  if (carriesPointer(type)) bind(std::move(place), pointer(init), at);
}

}  // namespace locktidy::extract
