import type { Expression, Statement, Target } from "../jinja/syntax/mod.ts";

// The parts of templates, as their syntax has them.

/** The parts of an expression that its value is made of, and those that only choose among them. */
export function partsOf(expression: Expression): { values: readonly Expression[]; choosers: Expression[] } {
  const values = (...all: readonly (Expression | undefined)[]) => ({
    values: all.filter((each) => each !== undefined),
    choosers: [],
  });
  switch (expression.kind) {
    case "constant":
    case "name":
      return values();
    case "list":
    case "tuple":
      return values(...expression.items);
    case "map":
      return values(...expression.entries.flat());
    case "item":
      return { values: [expression.of], choosers: [expression.key] };
    case "slice":
      return values(expression.of, ...expression.parts);
    case "call":
    case "filter":
    case "test":
      return values(expression.of, ...expression.args.map(({ value }) => value));
    case "binary":
    case "and":
    case "or":
      return values(expression.left, expression.right);
    case "concat":
      return values(...expression.parts);
    case "compare":
      return values(expression.first, ...expression.rest.map(({ value }) => value));
    case "choice": {
      const { condition, yes, no } = expression;
      return { ...values(yes, no), choosers: [condition] };
    }
    default:
      return values(expression.of);
  }
}

/** An expression and all that are in it. */
export function* withParts(expression: Expression): Iterable<Expression> {
  yield expression;
  const { values, choosers } = partsOf(expression);
  for (const each of [...values, ...choosers]) yield* withParts(each);
}

/** All statements, also those within others. */
export function* withBodies(statements: readonly Statement[]): Iterable<Statement> {
  for (const statement of statements) {
    yield statement;
    for (const body of bodiesOf(statement)) yield* withBodies(body);
  }
}

function bodiesOf(statement: Statement): readonly (readonly Statement[])[] {
  if (statement.kind === "if") return [...statement.branches.map(({ body }) => body), statement.otherwise];
  if (statement.kind === "for") return [statement.body, statement.otherwise];
  return "body" in statement ? [statement.body] : [];
}

/** The expressions of a statement itself. */
export function expressionsOf(statement: Statement): readonly Expression[] {
  switch (statement.kind) {
    case "output":
    case "do":
    case "set":
      return [statement.value];
    case "if":
      return statement.branches.map(({ condition }) => condition);
    case "for":
      return statement.condition === undefined ? [statement.over] : [statement.over, statement.condition];
    case "set-block":
    case "filter-block":
      return statement.filters.flatMap(({ args }) => args.map(({ value }) => value));
    case "macro":
      return statement.parameters.flatMap(({ fallback }) => fallback ?? []);
    case "call-block":
      return [statement.call, ...statement.parameters.flatMap(({ fallback }) => fallback ?? [])];
    case "with":
      return statement.bindings.map(({ value }) => value);
    default: {
      const name = fileNameOf(statement);
      return name === undefined ? [] : [name];
    }
  }
}

/** The expression that names another file. */
export function fileNameOf(statement: Statement): Expression | undefined {
  if (statement.kind === "extends") return statement.template;
  return "loading" in statement ? statement.loading.template : undefined;
}

/** The names that a target binds. */
export function namesOf(target: Target): readonly string[] {
  if (target.kind === "tuple") return target.items.flatMap(namesOf);
  return target.kind === "name" ? [target.name] : [];
}

/** The name of a function of `salt[…]` that is looked up by a constant. */
export function functionNameOf(expression: Expression): string | undefined {
  if (expression.kind === "item" && isSalt(expression.of) && expression.key.kind === "constant") {
    return String(expression.key.value);
  }
  if (expression.kind !== "attribute" || expression.of.kind !== "attribute") return undefined;
  return isSalt(expression.of.of) ? `${expression.of.name}.${expression.name}` : undefined;
}

export function isSalt(expression: Expression): boolean {
  return expression.kind === "name" && (expression.name === "salt" || expression.name === "svc");
}

/** Whether it is the id of the peel, which is the one that the bus enforces. */
export function isOwnId(expression: Expression): boolean {
  const isId = (each: Expression | undefined) => each?.kind === "constant" && each.value === "id";
  if (expression.kind === "call") {
    const { of, args } = expression;
    const isLookup = /^(?:facts|grains)\.get$/.test(functionNameOf(of) ?? "");
    return isLookup && args.length === 1 && isId(args[0]?.value);
  }
  if (expression.kind !== "attribute" && expression.kind !== "item") return false;
  const { of } = expression;
  const isOfFacts = of.kind === "name" && (of.name === "facts" || of.name === "grains");
  return isOfFacts && (expression.kind === "item" ? isId(expression.key) : expression.name === "id");
}
