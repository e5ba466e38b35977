// Type names that mean the same in every unit, and what they stand for.
//
// Clang's printer is not used for classes: its names depend on which default
// arguments are visible and on the path of the checkout, and the closures of
// two instantiations of one template print alike.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

bool isPointerLike(QualType type) {
  return type->isAnyPointerType() || type->isMemberPointerType() || type->isBlockPointerType() ||
         type->isReferenceType();
}

bool carriesPointer(QualType type) {
  if (isPointerLike(type)) return true;
  if (!type->isIntegerType()) return false;
  for (auto* alias = type->getAs<TypedefType>(); alias;
       alias = alias->desugar()->getAs<TypedefType>()) {
    StringRef name = alias->getDecl()->getName();
    if (name == "intptr_t" || name == "uintptr_t") return true;
    // What the portable atomics that many projects copied call their words.
    if (name == "AtomicWord" || name == "Atomic64") return true;
  }
  return false;
}

std::string Unit::unnamedTag(const TagDecl* tag) {
  auto* record = dyn_cast<CXXRecordDecl>(tag);
  if (record && record->isLambda()) {
    std::string text = (llvm::Twine("(lambda at ") + sources.position(tag->getLocation())).str();
    if (tag->getLocation().isMacroID())
      text += "#" + std::to_string(record->getLambdaIndexInContext());
    return text + ")";
  }
  return (llvm::Twine("(unnamed ") + tag->getKindName() + " at " +
          sources.position(tag->getLocation()) + ")")
      .str();
}

std::string Unit::className(const TagDecl* tag) {
  tag = tag->getCanonicalDecl();
  if (auto found = classNames_.find(tag); found != classNames_.end())
    return strings.text(found->second);
  std::string text = scope(tag->getDeclContext(), /*withFile=*/true);
  if (tag->getIdentifier())
    text += tag->getName().str();
  else if (auto* alias = tag->getTypedefNameForAnonDecl())
    text += alias->getName().str();
  else
    text += unnamedTag(tag);
  if (auto* spec = dyn_cast<ClassTemplateSpecializationDecl>(tag))
    text += "<" + printArguments(spec->getTemplateArgs().asArray()) + ">";
  classNames_[tag] = str(text);
  return text;
}

std::string Unit::prototype(const FunctionType* type, std::string inner) {
  std::string text = inner + "(";
  if (auto* proto = dyn_cast<FunctionProtoType>(type)) {
    bool first = true;
    for (QualType param : proto->param_types()) {
      if (!first) text += ", ";
      first = false;
      text += typeName(param);
    }
    if (proto->isVariadic()) text += first ? "..." : ", ...";
    text += ")";
    if (proto->isConst()) text += " const";
    if (proto->isVolatile()) text += " volatile";
    if (proto->getRefQualifier() == RQ_LValue) text += " &";
    if (proto->getRefQualifier() == RQ_RValue) text += " &&";
  } else {
    text += ")";
  }
  // Whether it throws is left out: pointers to both kinds of function convert.
  return declare(type->getReturnType(), std::move(text));
}

// The declaration of `inner` with the given type, as in C: `void (*inner)(int)`.
std::string Unit::declare(QualType type, std::string inner) {
  type = type.getCanonicalType();
  const Type* t = type.getTypePtr();
  auto qualified = [&](std::string name) {
    std::string text;
    if (type.isConstQualified()) text += "const ";
    if (type.isVolatileQualified()) text += "volatile ";
    text += name;
    if (!inner.empty()) text += " " + inner;
    return text;
  };
  auto indirect = [&](QualType pointee, std::string sigil) {
    if (type.isConstQualified()) sigil += inner.empty() ? "const" : "const ";
    sigil += inner;
    if (pointee->isFunctionType() || pointee->isArrayType())
      sigil = (llvm::Twine("(") + sigil + ")").str();
    return declare(pointee, std::move(sigil));
  };
  if (auto* builtin = dyn_cast<BuiltinType>(t)) return qualified(builtin->getName(policy).str());
  if (auto* tag = t->getAsTagDecl()) {
    const TagDecl* canonical = tag->getCanonicalDecl();
    return qualified(className(canonical));
  }
  if (auto* pointer = dyn_cast<clang::PointerType>(t))
    return indirect(pointer->getPointeeType(), "*");
  if (isa<LValueReferenceType>(t)) return indirect(t->getPointeeType(), "&");
  if (isa<RValueReferenceType>(t)) return indirect(t->getPointeeType(), "&&");
  if (auto* member = dyn_cast<clang::MemberPointerType>(t)) {
    std::string cls;
    if (auto* record = member->getMostRecentCXXRecordDecl())
      cls = className(record->getCanonicalDecl());
    return indirect(member->getPointeeType(), cls + "::*");
  }
  if (auto* array = dyn_cast<clang::ConstantArrayType>(t))
    return declare(array->getElementType(),
                   inner + "[" + std::to_string(array->getZExtSize()) + "]");
  if (auto* array = dyn_cast<clang::ArrayType>(t))
    return declare(array->getElementType(), inner + "[]");
  if (auto* fn = dyn_cast<FunctionType>(t)) return prototype(fn, std::move(inner));
  if (auto* atomic = dyn_cast<AtomicType>(t))
    return qualified((llvm::Twine("_Atomic(") + typeName(atomic->getValueType()) + ")").str());
  std::string text = QualType(t, 0).getAsString(policy);
  return qualified(text);
}

std::string Unit::typeName(QualType type) {
  if (type.isNull()) return "";
  return declare(type, "");
}

namespace {

// Clang can be asked for the size. Code that did not compile leaves types for
// which it cannot.
bool hasSize(ASTContext& ctx, QualType type) {
  type = ctx.getBaseElementType(type).getCanonicalType();
  const Type* t = type.getTypePtr();
  if (t->isDependentType() || t->isIncompleteType() || t->isUndeducedType()) return false;
  if (auto* record = t->getAsRecordDecl())
    return !record->isInvalidDecl() && !record->isDependentContext();
  if (t->isVariableArrayType() || t->isSizelessType() || t->isPlaceholderType()) return false;
  return t->isArithmeticType() || t->isEnumeralType() || t->isAnyPointerType() ||
         t->isMemberFunctionPointerType() || t->isNullPtrType();
}

}  // namespace

Str Unit::type(QualType original) {
  if (original.isNull()) return 0;
  QualType type = original.getCanonicalType();
  // Arrays carry their qualifiers on the element.
  type = type->isArrayType() ? QualType(type.getTypePtr(), 0) : type.getUnqualifiedType();
  const void* key = type.getAsOpaquePtr();
  if (auto found = types_.find(key); found != types_.end()) return found->second;
  Str name = str(typeName(type));
  types_[key] = name;
  if (typeFacts_.contains(name)) return name;
  typeFacts_[name].name = name;  // ends recursion

  TypeFact fact;
  fact.name = name;
  const Type* t = type.getTypePtr();
  auto pointsTo = [&](TypeKind kind, QualType pointee) {
    fact.kind = kind;
    fact.pointee = this->type(pointee);
    fact.pointeeConst =
        pointee.getCanonicalType().isConstQualified() ||
        (pointee->isArrayType() && ctx.getBaseElementType(pointee).isConstQualified());
  };
  if (t->isBooleanType()) {
    fact.kind = TypeKind::Bool;
  } else if (auto* tag = t->getAsTagDecl(); tag && isa<EnumDecl>(tag)) {
    fact.kind = TypeKind::Enum;
    fact.clsName = qualifiedName(tag);
  } else if (auto* record = t->getAsRecordDecl()) {
    fact.kind = TypeKind::Class;
    fact.cls = usr(record);
    fact.clsName = qualifiedName(record);
    if (auto* spec = dyn_cast<ClassTemplateSpecializationDecl>(record)) {
      auto add = [&](auto&& self, const TemplateArgument& arg) -> void {
        if (arg.getKind() == TemplateArgument::Type)
          fact.args.push_back(this->type(arg.getAsType()));
        else if (arg.getKind() == TemplateArgument::Pack)
          for (const TemplateArgument& element : arg.pack_elements()) self(self, element);
      };
      for (const TemplateArgument& arg : spec->getTemplateArgs().asArray()) add(add, arg);
    }
  } else if (t->isAnyPointerType() || t->isBlockPointerType()) {
    pointsTo(TypeKind::Pointer, t->getPointeeType());
  } else if (t->isReferenceType()) {
    pointsTo(TypeKind::Ref, t->getPointeeType());
  } else if (auto* array = t->getAsArrayTypeUnsafe()) {
    pointsTo(TypeKind::Array, array->getElementType());
  } else if (t->isFunctionType()) {
    fact.kind = TypeKind::Function;
  } else if (t->isMemberPointerType()) {
    pointsTo(TypeKind::MemberPointer, t->getPointeeType());
  } else if (t->isIntegralOrEnumerationType()) {
    fact.kind = TypeKind::Int;
  } else if (t->isRealFloatingType()) {
    fact.kind = TypeKind::Float;
  } else if (auto* atomic = t->getAs<AtomicType>()) {
    fact.pointee = this->type(atomic->getValueType());
  }
  if (hasSize(ctx, type))
    fact.size = static_cast<uint32_t>(ctx.getTypeSizeInChars(type).getQuantity());
  typeFacts_[name] = std::move(fact);
  if (auto* record = t->getAsRecordDecl()) noteClass(record);
  return name;
}

}  // namespace locktidy::extract
