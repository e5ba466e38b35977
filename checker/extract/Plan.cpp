// One look at a body before it is lowered. Clang's graph presents a constructor
// call before the declaration, field or return statement it constructs; the
// plan knows beforehand which object each one makes.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

namespace {

bool needsDestruction(const VarDecl* variable) {
  QualType type = variable->getType();
  if (type->isReferenceType() || variable->hasGlobalStorage()) return false;
  return type.isDestructedType() == QualType::DK_cxx_destructor;
}

bool isObject(QualType type) { return type->isRecordType() || type->isArrayType(); }

Target at(Target target, Step step) {
  target.path.steps.push_back(step);
  return target;
}

const Expr* lastExpr(const StmtExpr* expr) {
  auto* body = expr->getSubStmt();
  return body->body_empty() ? nullptr : dyn_cast<Expr>(body->body_back());
}

}  // namespace

const Expr* skipTransparent(const Expr* expr) {
  while (expr) {
    const Expr* inner = expr->IgnoreParens();
    if (auto* full = dyn_cast<FullExpr>(inner))
      inner = full->getSubExpr();
    else if (auto* bound = dyn_cast<CXXBindTemporaryExpr>(inner))
      inner = bound->getSubExpr();
    else if (auto* arg = dyn_cast<CXXDefaultArgExpr>(inner))
      inner = arg->getExpr();
    else if (auto* init = dyn_cast<CXXDefaultInitExpr>(inner))
      inner = init->getExpr();
    else if (auto* subst = dyn_cast<SubstNonTypeTemplateParmExpr>(inner))
      inner = subst->getReplacement();
    else if (auto* rewritten = dyn_cast<CXXRewrittenBinaryOperator>(inner))
      inner = rewritten->getSemanticForm();
    else if (auto* opaque = dyn_cast<OpaqueValueExpr>(inner); opaque && opaque->getSourceExpr())
      inner = opaque->getSourceExpr();
    if (inner == expr) return expr;
    expr = inner;
  }
  return expr;
}

bool isStringLike(const Expr* expr) {
  expr = expr->IgnoreParenImpCasts();
  if (auto* choice = dyn_cast<ConditionalOperator>(expr))
    return isStringLike(choice->getTrueExpr()) && isStringLike(choice->getFalseExpr());
  return isa<clang::StringLiteral>(expr) || isa<PredefinedExpr>(expr) || isa<SourceLocExpr>(expr);
}

uint32_t Plan::local(const VarDecl* variable) {
  variable = variable->getCanonicalDecl();
  auto [at, fresh] = locals_.try_emplace(variable, facts_.locals.size());
  if (!fresh) return at->second;
  uint32_t index = at->second;
  LocalInfo info;
  describe(variable, nullptr, info);
  facts_.locals.push_back(std::move(info));
  return index;
}

uint32_t Plan::slot(const Expr* expr) {
  auto [at, fresh] = slots_.try_emplace(expr, facts_.locals.size());
  if (!fresh) return at->second;
  uint32_t index = at->second;
  LocalInfo info;
  QualType type = expr->getType();
  info.type = u_.type(type);
  // The slot of an lvalue holds a reference to it.
  info.isRef = expr->isGLValue() && !isa<MaterializeTemporaryExpr>(expr);
  info.isClass = !info.isRef && type->isRecordType();
  info.isPtr = !info.isRef && isPointerLike(type);
  info.loc = u_.sources.loc(expr->getBeginLoc());
  facts_.locals.push_back(std::move(info));
  return index;
}

void Plan::finish() {
  for (auto [variable, index] : locals_)
    if (auto found = uses.find(variable); found != uses.end())
      facts_.locals[index].writes = found->second.writes;
}

bool Plan::isStable(const VarDecl* variable) const {
  if (variable->getType().isConstQualified()) return true;
  auto found = uses.find(variable->getCanonicalDecl());
  return found == uses.end() || (found->second.writes == 0 && !found->second.escapes);
}

void Plan::describe(const VarDecl* variable, const DeclStmt* statement, LocalInfo& info) {
  QualType type = variable->getType();
  info.name = u_.str(variable->getName());
  info.type = u_.type(type);
  info.isRef = type->isReferenceType();
  info.isPtr = !info.isRef && isPointerLike(type);
  info.isClass = type->isRecordType();
  info.loc = u_.sources.loc(variable->getLocation());
  info.soleDeclarator = !statement || statement->isSingleDecl();
  if (!statement || variable->isImplicit()) return;
  if (TypeSourceInfo* written = variable->getTypeSourceInfo())
    info.isAuto = written->getType()->getContainedAutoType() != nullptr;
  info.typeText = u_.specifier(variable);
  if (info.isAuto && variable->getInit()) {
    const Expr* init = variable->getInit()->IgnoreImplicit();
    if (auto* cast = dyn_cast<CXXFunctionalCastExpr>(init))
      info.initTypeText = u_.sources.anchor(cast->getTypeInfoAsWritten()->getTypeLoc().getSourceRange());
    else if (auto* temporary = dyn_cast<CXXTemporaryObjectExpr>(init))
      info.initTypeText = u_.sources.anchor(temporary->getTypeSourceInfo()->getTypeLoc().getSourceRange());
  }
  SourceLocation begin = variable->getTypeSpecStartLoc();
  if (info.typeText.valid()) {
    TypeLoc loc = variable->getTypeSourceInfo()->getTypeLoc();
    while (loc.getNextTypeLoc()) loc = loc.getNextTypeLoc();
    info.declText = u_.sources.anchor(
        SourceRange(loc.getUnqualifiedLoc().getBeginLoc(), variable->getEndLoc()));
  }
  SourceLocation macro = begin.isMacroID() ? begin : variable->getLocation();
  if (!u_.sources.isWritten(macro)) {
    info.macro = u_.sources.macroName(macro);
    u_.sources.macroAnchors(macro, info.macroName, info.macroCall);
  }
}

void Plan::declare(const VarDecl* variable, const DeclStmt* statement) {
  if (variable->isInvalidDecl() || variable->getType()->isUndeducedType()) {
    broken = true;
    return;
  }
  if (variable->hasGlobalStorage()) {
    if (!variable->getInit()) return;
    if (variable->isStaticLocal() && variable->hasConstantInitialization()) {
      // Runs before anything else; not part of this body.
      markUnevaluated(variable->getInit());
      u_.enqueueInitializer(variable);
      return;
    }
    Target target;
    target.path.root = Root::Global;
    target.path.entity = u_.global(variable);
    if (isObject(variable->getType())) assignTarget(variable->getInit(), target);
    return walk(variable->getInit());
  }
  uint32_t index = local(variable);
  LocalInfo& info = facts_.locals[index];
  describe(variable, statement, info);
  if (needsDestruction(variable)) scope_.push_back(variable);
  const Expr* init = variable->getInit();
  if (!init) return;
  if (isObject(variable->getType())) {
    Target target;
    target.path.root = Root::Local;
    target.path.index = index;
    assignTarget(init, target);
  }
  walk(init);
}

// ---------------------------------------------------------------------------
// Which expression makes which object
// ---------------------------------------------------------------------------

void Plan::assignTarget(const Expr* expr, Target target) {
  expr = skipTransparent(expr);
  if (!expr) return;
  if (auto* made = dyn_cast<CXXConstructExpr>(expr)) {
    if (made->isElidable() && made->getNumArgs() >= 1) {
      // Before C++17 the tree still has the copy that nobody makes.
      targets[made] = target;
      const Expr* source = skipTransparent(made->getArg(0));
      while (auto* cast = dyn_cast<ImplicitCastExpr>(source))
        source = skipTransparent(cast->getSubExpr());
      if (auto* temporary = dyn_cast<MaterializeTemporaryExpr>(source))
        assignTarget(temporary->getSubExpr(), target);
      return;
    }
    targets[made] = made->getType()->isArrayType() ? at(target, {Sel::Elem, 0, 0}) : target;
    return;
  }
  if (auto* list = dyn_cast<InitListExpr>(expr)) {
    if (list->isSyntacticForm() && list->getSemanticForm()) list = list->getSemanticForm();
    if (list->isTransparent()) return assignTarget(list->getInit(0), target);
    targets[list] = target;
    return assignList(list, list->inits(), target);
  }
  if (auto* list = dyn_cast<CXXParenListInitExpr>(expr)) {
    targets[list] = target;
    return assignList(list, list->getInitExprs(), target);
  }
  if (auto* loop = dyn_cast<ArrayInitLoopExpr>(expr)) {
    targets[loop] = target;
    if (isObject(loop->getSubExpr()->getType()))
      assignTarget(loop->getSubExpr(), at(target, {Sel::Elem, 0, 0}));
    return;
  }
  if (auto* choice = dyn_cast<AbstractConditionalOperator>(expr)) {
    targets[choice] = target;
    assignTarget(choice->getTrueExpr(), target);
    return assignTarget(choice->getFalseExpr(), target);
  }
  if (auto* op = dyn_cast<BinaryOperator>(expr)) {
    if (op->getOpcode() == BO_Comma) assignTarget(op->getRHS(), target);
    return;
  }
  if (auto* block = dyn_cast<StmtExpr>(expr)) {
    if (const Expr* last = lastExpr(block)) assignTarget(last, target);
    return;
  }
  if (auto* cast = dyn_cast<CastExpr>(expr)) {
    switch (cast->getCastKind()) {
    case CK_NoOp:
    case CK_ConstructorConversion:
    case CK_UserDefinedConversion:
      return assignTarget(cast->getSubExpr(), target);
    default:
      return;
    }
  }
  if (isa<CallExpr, LambdaExpr, CXXInheritedCtorInitExpr, CXXStdInitializerListExpr,
          CXXScalarValueInitExpr, ImplicitValueInitExpr, CompoundLiteralExpr>(expr))
    targets[expr] = target;
}

void Plan::assignList(const Expr* list, ArrayRef<Expr*> inits, const Target& target) {
  QualType type = list->getType();
  if (type->isArrayType()) {
    for (size_t i = 0; i < inits.size(); ++i)
      if (isObject(inits[i]->getType()))
        assignTarget(inits[i], at(target, {Sel::Elem, 0, u_.str(std::to_string(i))}));
    return;
  }
  forEachInit(list, inits, [&](const FieldDecl* field, const Expr* init) {
    if (!isObject(init->getType())) return;
    if (!field) return assignTarget(init, target);  // a base
    if (!field->getType()->isReferenceType())
      assignTarget(init, at(target, {Sel::Field, u_.usr(field), 0}));
  });
}

void forEachInit(const Expr* list, ArrayRef<Expr*> inits,
                 llvm::function_ref<void(const FieldDecl*, const Expr*)> use) {
  auto* record = list->getType()->getAsRecordDecl();
  if (!record) return;
  size_t i = 0;
  if (record->isUnion()) {
    const FieldDecl* field = nullptr;
    if (auto* braces = dyn_cast<InitListExpr>(list)) field = braces->getInitializedFieldInUnion();
    if (auto* parens = dyn_cast<CXXParenListInitExpr>(list))
      field = parens->getInitializedFieldInUnion();
    if (field && !inits.empty()) use(field, inits[0]);
    return;
  }
  if (auto* cxx = dyn_cast<CXXRecordDecl>(record))
    for (unsigned n = cxx->getNumBases(); n && i < inits.size(); --n) use(nullptr, inits[i++]);
  for (const FieldDecl* field : record->fields()) {
    if (field->isUnnamedBitField()) continue;
    if (i >= inits.size()) return;
    if (inits[i]) use(field, inits[i]);
    ++i;
  }
}

// ---------------------------------------------------------------------------
// The walk
// ---------------------------------------------------------------------------

void Plan::scan(const Stmt* body) { walk(body); }

void Plan::scanInitializer(const CXXCtorInitializer* init) {
  const Expr* expr = init->getInit();
  if (!expr) return;
  Target target;
  target.path.root = Root::This;
  if (const FieldDecl* member = init->getMember()) {
    target.path.steps.push_back({Sel::Field, u_.usr(member), 0});
  } else if (const IndirectFieldDecl* chain = init->getIndirectMember()) {
    for (const NamedDecl* link : chain->chain())
      target.path.steps.push_back({Sel::Field, u_.usr(link), 0});
  }
  if (isObject(expr->getType())) assignTarget(expr, target);
  walk(expr);
}

void Plan::scanGlobal(const VarDecl* variable) {
  Target target;
  target.path.root = Root::Global;
  target.path.entity = u_.global(variable);
  if (isObject(variable->getType())) assignTarget(variable->getInit(), target);
  walk(variable->getInit());
}

// The temporary that an elided copy would have been made from.
void Plan::markElided(const Expr* source) {
  while (true) {
    source = source->IgnoreParens();
    if (auto* bound = dyn_cast<CXXBindTemporaryExpr>(source)) {
      elided.insert(bound);
      source = bound->getSubExpr();
    } else if (auto* full = dyn_cast<FullExpr>(source)) {
      source = full->getSubExpr();
    } else if (auto* temporary = dyn_cast<MaterializeTemporaryExpr>(source)) {
      source = temporary->getSubExpr();
    } else if (auto* cast = dyn_cast<CastExpr>(source)) {
      source = cast->getSubExpr();
    } else if (auto* choice = dyn_cast<AbstractConditionalOperator>(source)) {
      markElided(choice->getTrueExpr());
      source = choice->getFalseExpr();
    } else {
      return;
    }
  }
}

void Plan::discard(const Stmt* stmt) {
  auto* expr = dyn_cast_or_null<Expr>(stmt);
  while (expr) {
    expr = skipTransparent(expr);
    discarded.insert(expr);
    if (auto* cast = dyn_cast<CastExpr>(expr); cast && cast->getCastKind() == CK_ToVoid) {
      expr = cast->getSubExpr();
    } else if (auto* op = dyn_cast<BinaryOperator>(expr); op && op->getOpcode() == BO_Comma) {
      expr = op->getRHS();
    } else if (auto* choice = dyn_cast<ConditionalOperator>(expr)) {
      discard(choice->getTrueExpr());
      expr = choice->getFalseExpr();
    } else {
      break;
    }
  }
}

void Plan::markImplicit(const Stmt* stmt) {
  if (!stmt) return;
  if (auto* expr = dyn_cast<Expr>(stmt)) implicit.insert(expr);
  for (const Stmt* child : stmt->children()) markImplicit(child);
}

void Plan::markUnevaluated(const Stmt* stmt) {
  if (!stmt) return;
  if (auto* expr = dyn_cast<Expr>(stmt)) unevaluated.insert(expr);
  if (auto* init = dyn_cast<CXXDefaultInitExpr>(stmt)) markUnevaluated(init->getExpr());
  for (const Stmt* child : stmt->children()) markUnevaluated(child);
}

void Plan::walkChildren(const Stmt* stmt) {
  for (const Stmt* child : stmt->children()) walk(child);
}

void Plan::walk(const Stmt* stmt) {
  if (!stmt || broken) return;
  if (auto* expr = dyn_cast<Expr>(stmt);
      expr && (expr->containsErrors() || expr->isTypeDependent())) {
    broken = true;
    return;
  }
  auto writtenVariable = [](const Expr* expr) -> const VarDecl* {
    auto* ref = dyn_cast<DeclRefExpr>(expr->IgnoreParens());
    auto* variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
    return variable && !variable->getType()->isReferenceType() ? variable->getCanonicalDecl()
                                                               : nullptr;
  };
  switch (stmt->getStmtClass()) {
  case Stmt::DeclStmtClass: {
    auto* decls = cast<DeclStmt>(stmt);
    for (const Decl* decl : decls->decls()) {
      if (auto* variable = dyn_cast<VarDecl>(decl)) {
        declare(variable, decls);
        if (auto* pieces = dyn_cast<DecompositionDecl>(variable))
          for (const BindingDecl* piece : pieces->bindings())
            if (const VarDecl* holder = piece->getHoldingVar()) {
              markImplicit(holder->getInit());
              declare(holder, nullptr);
            }
      } else if (auto* record = dyn_cast<CXXRecordDecl>(decl)) {
        u_.enqueueClass(record);
      }
    }
    return;
  }
  case Stmt::CompoundStmtClass: {
    size_t depth = scope_.size();
    for (const Stmt* child : cast<CompoundStmt>(stmt)->body()) {
      discard(child);
      walk(child);
    }
    scope_.resize(depth);
    return;
  }
  case Stmt::IfStmtClass: {
    auto* branch = cast<IfStmt>(stmt);
    size_t depth = scope_.size();
    discard(branch->getInit());
    discard(branch->getThen());
    discard(branch->getElse());
    walkChildren(stmt);
    scope_.resize(depth);
    return;
  }
  case Stmt::ForStmtClass: {
    auto* loop = cast<ForStmt>(stmt);
    size_t depth = scope_.size();
    discard(loop->getInit());
    discard(loop->getInc());
    discard(loop->getBody());
    walkChildren(stmt);
    scope_.resize(depth);
    return;
  }
  case Stmt::CXXForRangeStmtClass: {
    auto* loop = cast<CXXForRangeStmt>(stmt);
    size_t depth = scope_.size();
    markImplicit(loop->getBeginStmt());
    markImplicit(loop->getEndStmt());
    markImplicit(loop->getCond());
    markImplicit(loop->getInc());
    discard(loop->getInc());
    discard(loop->getBody());
    // `*__begin` is written nowhere; conversions of it are.
    if (const VarDecl* variable = loop->getLoopVariable(); variable && variable->getInit())
      markImplicit(variable->getInit());
    for (const Stmt* part :
         {loop->getInit(), cast_or_null<Stmt>(loop->getRangeStmt()),
          cast_or_null<Stmt>(loop->getBeginStmt()), cast_or_null<Stmt>(loop->getEndStmt()),
          cast_or_null<Stmt>(loop->getCond()), cast_or_null<Stmt>(loop->getInc()),
          cast_or_null<Stmt>(loop->getLoopVarStmt()), loop->getBody()})
      walk(part);
    scope_.resize(depth);
    return;
  }
  case Stmt::WhileStmtClass:
  case Stmt::DoStmtClass:
  case Stmt::SwitchStmtClass:
  case Stmt::LabelStmtClass:
  case Stmt::CaseStmtClass:
  case Stmt::DefaultStmtClass:
  case Stmt::AttributedStmtClass: {
    size_t depth = scope_.size();
    for (const Stmt* child : stmt->children()) {
      bool condition = false;
      if (auto* loop = dyn_cast<WhileStmt>(stmt)) condition = child == loop->getCond();
      if (auto* loop = dyn_cast<DoStmt>(stmt)) condition = child == loop->getCond();
      if (auto* choice = dyn_cast<SwitchStmt>(stmt)) condition = child == choice->getCond();
      if (!condition) discard(child);
      walk(child);
    }
    // A label opens no scope.
    if (isa<WhileStmt, DoStmt, SwitchStmt>(stmt)) scope_.resize(depth);
    return;
  }
  case Stmt::CXXTryStmtClass: {
    auto* attempt = cast<CXXTryStmt>(stmt);
    size_t outer = tryScope_;
    tryScope_ = scope_.size();
    walk(attempt->getTryBlock());
    tryScope_ = outer;
    for (unsigned i = 0; i < attempt->getNumHandlers(); ++i) walk(attempt->getHandler(i));
    return;
  }
  case Stmt::CXXCatchStmtClass: {
    auto* handler = cast<CXXCatchStmt>(stmt);
    size_t depth = scope_.size();
    if (const VarDecl* caught = handler->getExceptionDecl()) {
      describe(caught, nullptr, facts_.locals[local(caught)]);
      if (needsDestruction(caught)) scope_.push_back(caught);
    }
    walk(handler->getHandlerBlock());
    scope_.resize(depth);
    return;
  }
  case Stmt::CXXThrowExprClass: {
    std::vector<const VarDecl*> left(scope_.begin() + tryScope_, scope_.end());
    std::ranges::reverse(left);
    throws[cast<CXXThrowExpr>(stmt)] = std::move(left);
    return walkChildren(stmt);
  }
  case Stmt::ReturnStmtClass: {
    const Expr* result = cast<ReturnStmt>(stmt)->getRetValue();
    if (result && result->getType()->isRecordType() && !result->isGLValue()) {
      Target target;
      target.path.root = Root::Ret;
      assignTarget(result, target);
    }
    return walk(result);
  }
  case Stmt::LambdaExprClass: {
    auto* lambda = cast<LambdaExpr>(stmt);
    u_.enqueueLambda(lambda, facts_.usr);
    Target target;
    if (auto found = targets.find(lambda); found != targets.end()) {
      target = found->second;
    } else {
      target.path.root = Root::Local;
      target.path.index = slot(lambda);
      targets[lambda] = target;
    }
    auto field = lambda->getLambdaClass()->field_begin();
    for (const Expr* init : lambda->capture_inits()) {
      if (init) {
        if (isObject(init->getType()) && !(*field)->getType()->isReferenceType())
          assignTarget(init, at(target, {Sel::Field, u_.usr(*field), 0}));
        walk(init);
      }
      ++field;
    }
    return;
  }
  case Stmt::CXXNewExprClass: {
    auto* made = cast<CXXNewExpr>(stmt);
    uint32_t id = fresh.size();
    fresh[made] = id;
    if (const Expr* init = made->getInitializer()) {
      Target target;
      target.path.root = Root::Fresh;
      target.path.index = id;
      if (made->getNumPlacementArgs() == 1 && made->getOperatorNew() &&
          made->getOperatorNew()->isReservedGlobalPlacementOperator())
        target.placement = made->getPlacementArg(0);
      if (made->isArray() && !init->getType()->isArrayType())
        target = at(target, {Sel::Elem, 0, 0});
      if (isObject(init->getType())) assignTarget(init, target);
    }
    return walkChildren(stmt);
  }
  case Stmt::CXXDefaultArgExprClass:
    return walk(cast<CXXDefaultArgExpr>(stmt)->getExpr());
  case Stmt::CXXDefaultInitExprClass:
    return walk(cast<CXXDefaultInitExpr>(stmt)->getExpr());
  case Stmt::UnaryExprOrTypeTraitExprClass:
  case Stmt::CXXNoexceptExprClass:
  case Stmt::RequiresExprClass:
  case Stmt::ConceptSpecializationExprClass:
  case Stmt::TypeTraitExprClass:
    return markUnevaluated(stmt);
  case Stmt::CXXTypeidExprClass: {
    auto* id = cast<CXXTypeidExpr>(stmt);
    if (id->isTypeOperand() || !id->isPotentiallyEvaluated()) return markUnevaluated(stmt);
    return walkChildren(stmt);
  }
  case Stmt::GenericSelectionExprClass:
    return walk(cast<GenericSelectionExpr>(stmt)->getResultExpr());
  case Stmt::ChooseExprClass:
    return walk(cast<ChooseExpr>(stmt)->getChosenSubExpr());
  case Stmt::BinaryConditionalOperatorClass:
  case Stmt::ConditionalOperatorClass: {
    auto* choice = cast<AbstractConditionalOperator>(stmt);
    if (!choice->isGLValue() && choice->getType()->isRecordType() && !targets.count(choice)) {
      Target target;
      target.path.root = Root::Local;
      target.path.index = slot(choice);
      assignTarget(choice, target);
    }
    if (auto* elvis = dyn_cast<BinaryConditionalOperator>(choice)) {
      walk(elvis->getCommon());
      return walk(elvis->getFalseExpr());
    }
    return walkChildren(stmt);
  }
  case Stmt::InitListExprClass:
  case Stmt::CXXParenListInitExprClass: {
    auto* list = cast<Expr>(stmt);
    if (auto* braces = dyn_cast<InitListExpr>(list);
        braces && braces->isSyntacticForm() && braces->getSemanticForm())
      list = braces->getSemanticForm();
    auto* braces = dyn_cast<InitListExpr>(list);
    bool sugar = braces && braces->isTransparent();
    if (!sugar && isObject(list->getType()) && !list->isGLValue() && !targets.count(list)) {
      Target target;
      target.path.root = Root::Local;
      target.path.index = slot(list);
      assignTarget(list, target);
    }
    return walkChildren(list);
  }
  case Stmt::ArrayInitLoopExprClass: {
    auto* loop = cast<ArrayInitLoopExpr>(stmt);
    walk(loop->getCommonExpr()->getSourceExpr());
    return walk(loop->getSubExpr());
  }
  case Stmt::BinaryOperatorClass:
  case Stmt::CompoundAssignOperatorClass: {
    auto* op = cast<BinaryOperator>(stmt);
    if (op->getOpcode() == BO_Comma) discard(op->getLHS());
    if (op->isAssignmentOp())
      if (const VarDecl* variable = writtenVariable(op->getLHS())) {
        ++uses[variable].writes;
        return walk(op->getRHS());
      }
    return walkChildren(stmt);
  }
  case Stmt::UnaryOperatorClass: {
    auto* op = cast<UnaryOperator>(stmt);
    if (op->isIncrementDecrementOp())
      if (const VarDecl* variable = writtenVariable(op->getSubExpr())) {
        ++uses[variable].writes;
        return;
      }
    return walkChildren(stmt);
  }
  case Stmt::CXXConstructExprClass: {
    auto* made = cast<CXXConstructExpr>(stmt);
    if (made->isElidable() && made->getNumArgs() >= 1) markElided(made->getArg(0));
    return walkChildren(stmt);
  }
  case Stmt::CXXFunctionalCastExprClass: {
    auto* cast = llvm::cast<CXXFunctionalCastExpr>(stmt);
    if (auto* made = dyn_cast<CXXConstructExpr>(skipTransparent(cast->getSubExpr())))
      functionalCasts[made] = cast;
    return walkChildren(stmt);
  }
  case Stmt::DeclRefExprClass: {
    auto* variable = dyn_cast<VarDecl>(cast<DeclRefExpr>(stmt)->getDecl());
    if (variable) uses[variable->getCanonicalDecl()].escapes = true;
    return;
  }
  case Stmt::CallExprClass:
  case Stmt::CXXMemberCallExprClass:
  case Stmt::CXXOperatorCallExprClass:
  case Stmt::UserDefinedLiteralClass: {
    auto* call = cast<CallExpr>(stmt);
    const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    callees.insert(callee);
    return walkChildren(stmt);
  }
  default:
    break;
  }
  if (auto* cast = dyn_cast<CastExpr>(stmt)) {
    CastKind kind = cast->getCastKind();
    if (kind == CK_LValueToRValue && writtenVariable(cast->getSubExpr())) return;
    if (kind == CK_ToVoid) discard(cast->getSubExpr());
    if ((kind == CK_ConstructorConversion || kind == CK_UserDefinedConversion) &&
        isa<ImplicitCastExpr>(cast))
      implicit.insert(skipTransparent(cast->getSubExpr()));
  }
  walkChildren(stmt);
}

}  // namespace locktidy::extract
