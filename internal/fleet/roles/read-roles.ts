import { basename } from "node:path";
import * as v from "valibot";
import { keysOf, type NameOf, readDocument } from "../../base/document/read.ts";
import {
  fields,
  formOf,
  integer,
  list,
  mapOf,
  oneOf,
  refuse,
  type Schema,
  text,
  unknownKey,
} from "../../base/document/schemas.ts";
import { roleNameForm } from "../../base/names/names.ts";
import { suggestion } from "../../base/nearest.ts";
import { atLine } from "../../base/place.ts";
import { openSetIn, parseTarget } from "../../tree/targets/mod.ts";
import { isLabelName } from "../enrollment/record/mod.ts";
import { type ScopeKind, scopes } from "../operation/mod.ts";
import { builtIn } from "./built-in.ts";
import { type DeclaredJobRule, type DeclaredWord, roleOf } from "./declared.ts";
import { functionsOf } from "./function-pattern.ts";
import { type Persons, personsSchema } from "./persons.ts";
import { commitChoices, type Role, type RoleBook } from "./role.ts";

const maxRoles = 1_000;
const maxItems = 256;
const maxTargetLength = 4_096;
const maxPatternLength = 128;
const kinds = Object.keys(scopes) as ScopeKind[];
/**
 * Of these kinds nothing is ever parked until others agree: agreeing itself, and what is never requested from
 * masters.
 */
const neverParked: readonly ScopeKind[] = [
  ...(["approvals", "audit", "console", "events", "facts", "settings", "states"] as const),
];
/** What only reads is not parked either. */
const reading = ["list", "show", "read", "status", "rules", "test"];

/** What a roles file says. */
export interface RolesFile {
  /** The roles of the file, and those that are built in. */
  readonly book: RoleBook;
  readonly persons: Persons;
}

/**
 * Reads the text of a roles file.
 *
 * @param file its path, for messages
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <what>: <reason>`
 */
export function readRoles(written: string, file: string): RolesFile {
  const document = readDocument(written, file, rolesFile(), nameOf);
  const book = new Map<string, Role>(builtIn);
  for (const [name, lists] of document.value?.roles ?? []) {
    const path = ["roles", name];
    if (builtIn.has(name)) {
      const reason = "is built in and cannot be changed: use another name";
      throw document.failure(path, reason, document.keyAt(path));
    }
    const placeOf = (kind: string, item: number) =>
      atLine(basename(file), document.at([...path, kind, item]).line);
    book.set(name, roleOf(name, lists, placeOf));
  }
  return { book, persons: document.value?.persons ?? new Map() };
}

const nameOf: NameOf = ([first, name, ...rest]) => {
  if (first === undefined || name === undefined) return keysOf([first ?? 0]);
  return [`${first === "persons" ? "person" : "role"} ${name}`, ...keysOf(rest)];
};

/** What a roles file may hold. */
export function rolesFile() {
  const name = v.pipe(
    v.string(),
    v.regex(
      roleNameForm,
      "a role has a name of 1 to 63 small letters, digits, hyphens and underscores, and begins with a letter",
    ),
  );
  const lists = kinds.map((kind) => [kind, v.exactOptional(itemsOf(kind))] as const);
  const role = fields(Object.fromEntries(lists), { unknown: unknownKey(kinds, "kind") });
  const roles = v.pipe(
    mapOf(role, name),
    refuse(({ size }) => (size > maxRoles ? `more than ${maxRoles} roles` : undefined)),
  );
  const persons = v.exactOptional(v.nullable(personsSchema()));
  return v.nullable(fields({ roles: v.exactOptional(v.nullable(roles)), persons }));
}

/** The items of a kind, none of whose actions may appear twice. */
function itemsOf(kind: ScopeKind): Schema<Item[]> {
  return v.pipe(
    list(itemOf(kind), maxItems),
    refuse((items) => {
      const actions = items.map((item) => ("do" in item ? item.do : item));
      const twice = actions.findIndex((action, at) => actions.indexOf(action) < at);
      return twice < 0 ? undefined : { at: [twice], message: `${actions[twice]} appears twice` };
    }),
  );
}

type Item = DeclaredJobRule | Exclude<DeclaredWord, string>;

/** What the list of a kind may hold: words, and among those of `jobs` rules. */
function itemOf(kind: ScopeKind): Schema<Item> {
  const action = actionOf(kind);
  const word: Schema<Item> = v.pipe(
    action,
    v.transform((one) => ({ do: one })),
  );
  const waiting: Schema<Item> = v.pipe(
    fields({ do: action, approvals, labels: labelLimits(), targets: v.exactOptional(targetText()) }),
    refuse(({ do: requested, targets }) =>
      targets === undefined || (kind === "states" && requested === "plan")
        ? undefined
        : { at: ["targets"], message: "is only for states plan, and for rules of jobs" },
    ),
    refuse(({ do: requested, labels }) =>
      labels === undefined || (kind === "enrollments" && requested === "label")
        ? undefined
        : { at: ["labels"], message: "is only for enrollments label" },
    ),
    refuse(({ do: requested, approvals: wanted = 0 }) =>
      wanted === 0 || mayWait(kind, requested)
        ? undefined
        : {
            at: ["approvals"],
            message: `${kind} ${requested} cannot wait for approvals: write only ${requested}`,
          },
    ),
  );
  const rule = kind === "jobs" ? jobRule() : waiting;
  const options = [word, waiting, ...(rule === waiting ? [] : [rule])];
  return formOf(options, (value) => (value instanceof Map ? (value.has("do") ? waiting : rule) : word));
}

/** Names of labels, and globs of their values. */
function labelLimits() {
  const name = v.pipe(
    v.string(),
    v.check(isLabelName, "a label is named by a small letter and up to 62 of a-z, 0-9, _, . and -"),
  );
  const value = v.pipe(text(maxPatternLength), refuse(setProblem));
  const values = v.pipe(list(value, maxItems), v.minLength(1, "names no value: write ['*'] for all"));
  return v.exactOptional(mapOf<readonly string[]>(values, name));
}

const approvals = v.exactOptional(integer(0, 16, "number"));

function mayWait(kind: ScopeKind, action: string): boolean {
  return kind !== "jobs" && !neverParked.includes(kind) && !reading.includes(action);
}

const examples: Readonly<Record<string, string>> = {
  functions: "[test.*], or ['*'] for all",
  targets: "an expression, or '*' for all",
};

const targetText = () =>
  v.pipe(
    text(maxTargetLength),
    refuse((one) => void parseTarget(one, "target")),
  );

function jobRule(): Schema<DeclaredJobRule> {
  const pattern = v.pipe(
    text(maxPatternLength),
    refuse((one) => void functionsOf(one)),
  );
  const functions = v.pipe(list(pattern, maxItems), v.minLength(1, "names no function"));
  const targets = targetText();
  const environment = v.pipe(text(maxPatternLength), refuse(globProblem));
  const environments = v.exactOptional(
    v.pipe(list(environment, maxItems), v.minLength(1, "names no environment: leave it out for base alone")),
  );
  const commits = v.exactOptional(oneOf(commitChoices));
  return fields(
    { functions, targets, environments, commits, approvals },
    { missing: (key) => `${key} is required: ${examples[key]}` },
  );
}

/** As in `gitfs.environments`: a set without its end would match only itself, which nobody means. */
function globProblem(glob: string): string | undefined {
  if (glob.startsWith("refs/")) {
    return "expected the name of an environment, without refs/heads/ or refs/tags/";
  }
  return setProblem(glob);
}

const setProblem = (glob: string): string | undefined =>
  openSetIn(glob) === undefined ? undefined : `${JSON.stringify(glob)} has a [ that nothing closes`;

/** A job is run by a rule that names functions and targets, and not by a word. */
function actionOf(kind: ScopeKind): Schema<string> {
  const known = (scopes[kind] as readonly string[]).filter((one) => kind !== "jobs" || one !== "run");
  return oneOf(known, (word) =>
    kind === "jobs" && word === "run"
      ? "run needs functions and targets: {functions: [test.*], targets: '*'}"
      : `unknown action ${JSON.stringify(word.slice(0, 60))}${suggestion(word, known)}; known are ${known.join(", ")}`,
  );
}
