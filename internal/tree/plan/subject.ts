import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import {
  compileTarget,
  createFactPacker,
  type ExpandedExpression,
  type FactMap,
  type FactPacker,
  type PeelTest,
} from "../targets/mod.ts";
import { likeSalt, type WatchedTable } from "../template/mod.ts";
import type { Question } from "./question.ts";

type Values = Readonly<Record<string, Plain>>;

/** The peel that an order is compiled for. */
export interface Subject {
  /** Encoded. */
  peelId: string;
  facts: Values;
  labels: Readonly<Record<string, string>>;
  settings: Values;
  /** What targets see of the settings: a secret has its name alone. */
  shownSettings: Values;
  /** Whether there is a secret at a place of the settings; nothing is one unless given. */
  isSecret?(path: readonly string[]): boolean;
}

/** A peel as questions look at it. */
export interface View {
  readonly subject: Subject;
  /** The same text for the same answer. */
  answer(question: Question): string;
  matches(expression: ExpandedExpression): boolean;
  /** The same in a template. @param peelId another one, encoded */
  meets(expression: ExpandedExpression, peelId?: string): boolean;
}

/** Makes views of peels, which share what their facts and targets have in common. */
export function createViews(): (subject: Subject) => View {
  const packer = createFactPacker(2_048);
  /** Questions retain their expressions, and each is compiled once. */
  const known = new WeakMap<ExpandedExpression, PeelTest>();
  const testOf = (expression: ExpandedExpression): PeelTest => {
    const test = known.get(expression) ?? compileTarget(expression);
    known.set(expression, test);
    return test;
  };
  return (subject) => viewOf(subject, { packer, testOf });
}

interface Shared {
  packer: FactPacker;
  testOf(expression: ExpandedExpression): PeelTest;
}

function viewOf(subject: Subject, { packer, testOf }: Shared): View {
  let facts: FactMap | undefined;
  let more: FactMap | undefined;
  let settings: FactMap | undefined;
  const peel = (id: string, isOfTemplate: boolean) => ({
    ...{ id, labels: subject.labels },
    get facts() {
      if (isOfTemplate) {
        more ??= packer.pack({ ...subject.facts, ...likeSalt, ...subject.facts }).facts;
        return more;
      }
      facts ??= packer.pack({ ...subject.facts }).facts;
      return facts;
    },
    get settings() {
      settings ??= packer.pack({ ...subject.shownSettings }).facts;
      return settings;
    },
  });
  const matches = (expression: ExpandedExpression) => testOf(expression)(peel(subject.peelId, false));
  const meets = (expression: ExpandedExpression, peelId = subject.peelId) =>
    testOf(expression)(peel(peelId, true));
  return {
    ...{ subject, matches, meets },
    answer(question) {
      if (question.kind === "target") {
        const { expression, isOfTemplate, peelId } = question;
        return String(isOfTemplate ? meets(expression, peelId) : matches(expression));
      }
      const value = valueAt(subject[question.table], question.path);
      switch (question.how) {
        case "presence":
          return String(value !== undefined);
        case "names":
          return isMap(value) ? JSON.stringify(Object.keys(value)) : textOf(value);
        case "value":
          return isMap(value) ? "a map" : textOf(value);
        case "entries":
          return isMap(value)
            ? JSON.stringify(
                Object.entries(value).map(([name, inner]) => [name, isMap(inner) ? {} : inner]),
                byBytes,
              )
            : textOf(value);
      }
    },
  };
}

/** The value that names lead to; `undefined` when there is none. */
export function valueAt(table: Subject[WatchedTable], path: readonly string[]): Plain | undefined {
  let at: Plain | undefined = table as Plain;
  for (const name of path) {
    if (!isMap(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name] as Plain;
  }
  return at;
}

const textOf = (value: Plain | undefined): string =>
  value === undefined ? "none" : JSON.stringify(value, byBytes);

const byBytes = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : value;
