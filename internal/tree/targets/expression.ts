import { quote } from "../../base/cut.ts";

/** A parsed target expression. */
export type Expression<M extends Matcher = Matcher> =
  | M
  | { readonly kind: "and" | "or"; readonly terms: readonly Expression<M>[] }
  | { readonly kind: "not"; readonly term: Expression<M> };

/** An expression with expanded node groups. */
export type ExpandedExpression = Expression<PeelMatcher>;

/** A matcher that is evaluated on a peel. */
export type PeelMatcher = Exclude<Matcher, { kind: "group" }>;

/** A leaf of an expression. `at` is its column, counted from 1. */
export type Matcher = { readonly at: number } & (
  | {
      readonly kind: "id";
      /** A glob on the encoded peel id. */
      readonly glob: string;
    }
  | { readonly kind: "id-regex"; readonly regex: string }
  | {
      readonly kind: "ids";
      /** Encoded peel ids. */
      readonly ids: readonly string[];
    }
  | {
      readonly kind: "fact" | "setting";
      readonly matches: "glob" | "regex";
      /** Path and pattern, split at colons; the facts of a peel decide where the path ends. */
      readonly parts: readonly string[];
    }
  | {
      readonly kind: "label";
      readonly name: string;
      /** A glob on its value. */
      readonly glob: string;
    }
  | { readonly kind: "group"; readonly name: string }
);

/** The matchers of an expression, from left to right. */
export function* matchersOf<M extends Matcher>(expression: Expression<M>): Generator<M> {
  if ("terms" in expression) for (const term of expression.terms) yield* matchersOf(term);
  else if ("term" in expression) yield* matchersOf(expression.term);
  else yield expression;
}

/** A matcher as it is written, on one line of limited length. */
export function shownMatcher(matcher: Matcher): string {
  return quote(writtenMatcher(matcher), 60);
}

function writtenMatcher(matcher: Matcher): string {
  switch (matcher.kind) {
    case "id":
      return matcher.glob;
    case "id-regex":
      return `E@${matcher.regex}`;
    case "ids":
      return `L@${matcher.ids.join(",")}`;
    case "group":
      return `N@${matcher.name}`;
    case "label":
      return `T@${matcher.name}:${matcher.glob}`;
    case "fact":
      return `${matcher.matches === "regex" ? "P" : "G"}@${matcher.parts.join(":")}`;
    case "setting":
      return `I@${matcher.parts.join(":")}`;
  }
}
