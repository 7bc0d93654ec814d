import { displayPeelId } from "../../base/names/peel-id.ts";
import { nameOfScope, type Scope } from "../operation/mod.ts";
import { allowsFiles, type FilesOfWork, linesFor, usesFiles, whyNotFiles } from "./files-of-work.ts";
import { type LabelChange, rightsToLabel } from "./label-change.ts";
import type { Grant, JobRule, Role, RoleBook } from "./role.ts";

/** What a request needs to be allowed. */
export interface Wanted {
  scope: Scope;
  /** The part that concerns peels: the job or the rollout that it starts, or that it is about. */
  work?: Work;
  /** What it does to labels. */
  labels?: LabelChange | undefined;
}

/** A function, or several, on peels. */
export interface Work {
  /**
   * `start` to let it run, with the approvals that this needs; `continue` for what was started before; `stop` to end
   * it.
   */
  to: "start" | "continue" | "stop";
  /** Names of functions, no aliases. */
  functions: readonly string[];
  /** Encoded ids of all its peels. */
  peels: readonly string[];
  /** The state files that those of its functions run that use any. */
  files?: FilesOfWork | undefined;
  /** Whether a peel is among those that the expression of a rule means. */
  within(targets: string, peel: string): boolean;
}

/** What roles say about a request. */
export type Decision =
  | {
      allowed: true;
      /** The rules that allow it, for people. */
      rule: string;
      /** How many others must agree before it happens. */
      approvals: number;
    }
  | {
      allowed: false;
      /** Why, as the end of a sentence: `no rule of it allows state.apply`. */
      reason: string;
      /** What is lacking: `jobs run state.apply`, `enrollments approve`. */
      lacking: string;
      /** Names of the roles that have it. */
      holders: readonly string[];
    };

/** The function whose job changes the program of a peel. */
const upgradeFunction = "upgrade.apply";
const maxNamed = 3;

/**
 * Decides whether these roles allow a request; what no rule allows is refused. Of several rules those that need the
 * fewest approvals count, and the peels of a job may be covered by several rules together.
 *
 * @param names of the roles that the caller has; unknown ones allow nothing
 */
export function decide(book: RoleBook, names: readonly string[], wanted: Wanted): Decision {
  const roles = [...new Set(names)].flatMap((name) => book.get(name) ?? []);
  const found = decideFor(roles, wanted);
  if (found.allowed) return found;
  return { ...found, holders: holdersOf(book, wanted) };
}

/** A decision before it is known who else has what is lacking. */
type Judged = Extract<Decision, { allowed: true }> | { allowed: false; reason: string; lacking: string };

function decideFor(roles: readonly Role[], { labels, ...wanted }: Wanted): Judged {
  const found = withoutLabels(roles, wanted);
  return labels === undefined || !found.allowed ? found : together([found, labelsOf(roles, labels)]);
}

function labelsOf(roles: readonly Role[], change: LabelChange): Judged {
  const found = rightsToLabel(roles, change);
  if ("rights" in found) {
    return together(found.rights.map(({ rule, approvals }) => ({ allowed: true, rule, approvals })));
  }
  const lacking = `enrollments label ${found.lacking}`;
  return { allowed: false, reason: `no rule allows ${lacking}`, lacking };
}

function withoutLabels(roles: readonly Role[], { scope, work }: Wanted): Judged {
  if (scope.kind === "jobs" && scope.action === "run") {
    if (work === undefined) return untold(scope);
    return together([...callsOf(roles, work), ...upgradeOf(roles, work)]);
  }
  const word = wordOf(roles, scope);
  if (isPlan(scope)) return work === undefined ? word : together([word, planOf(roles, work)]);
  if (scope.kind === "jobs" && scope.action === "cancel") {
    // Without the word, the rules count that would let it run.
    return word.allowed || work === undefined ? word : together(callsOf(roles, work));
  }
  if (scope.kind !== "rollouts") return word;
  if (work === undefined) return startsOrContinues(scope) ? untold(scope) : word;
  const isStop = work.to === "stop" && wordOf(roles, { kind: "jobs", action: "cancel" }).allowed;
  return together([word, ...(isStop ? [] : callsOf(roles, work)), ...upgradeOf(roles, work)]);
}

export const isPlan = ({ kind, action }: Scope): boolean => kind === "states" && action === "plan";

/** Whether all peels of a plan are among those that its words name. */
function planOf(roles: readonly Role[], { peels, within }: Work): Judged {
  const grants = roles.flatMap(({ grants: all }) => all.filter((one) => isPlan(one as Scope)));
  const outside = peels.filter(
    (peel) => !grants.some(({ targets = "*" }) => targets === "*" || within(targets, peel)),
  );
  const [first] = grants;
  if (first !== undefined && outside.length === 0) return { allowed: true, rule: first.rule, approvals: 0 };
  const named = outside.slice(0, maxNamed).map(displayPeelId).join(", ");
  const more = outside.length > maxNamed ? ` and ${outside.length - maxNamed} more` : "";
  const lie = outside.length === 1 ? "lies" : "lie";
  const reason = `${outside.length} of ${peels.length} peels ${lie} outside of the targets for states plan: ${named}${more}`;
  return { allowed: false, reason, lacking: "states plan" };
}

const startsOrContinues = ({ action }: Scope) => action === "start" || action === "resume";

/** What would run on peels is refused while it is not known what it is. */
function untold(scope: Scope): Judged {
  return { allowed: false, reason: "it names no function", lacking: nameOfScope(scope) };
}

/**
 * Whether a word of a list allows it. A rule of jobs also allows to read jobs, and to resolve targets; the right to start
 * rollouts, to see them.
 */
export function wordOf(roles: readonly Role[], scope: Scope): Judged {
  const grants = roles.flatMap(({ grants }) =>
    grants.filter(({ kind, action }) => kind === scope.kind && action === scope.action),
  );
  const started = isSeeing(scope) ? roles.flatMap(({ grants }) => grants.filter(isStart)) : [];
  const [first, ...others] = [
    ...grants,
    ...started.map(({ rule }) => ({ rule, approvals: 0 })),
    ...(isForRunning(scope) ? impliedBy(roles) : []),
  ];
  if (first !== undefined) {
    const best = others.reduce((min, one) => (one.approvals < min.approvals ? one : min), first);
    return { allowed: true, rule: best.rule, approvals: best.approvals };
  }
  const lacking = nameOfScope(scope);
  return { allowed: false, reason: `no rule allows ${lacking}`, lacking };
}

const isSeeing = ({ kind, action }: Scope) => kind === "rollouts" && action === "show";
const isStart = ({ kind, action }: Grant) =>
  action === "start" && (kind === "rollouts" || kind === "upgrades");

const isForRunning = ({ kind, action }: Scope) =>
  (kind === "jobs" && (action === "list" || action === "show")) || (kind === "facts" && action === "resolve");

const impliedBy = (roles: readonly Role[]): Pick<Grant, "rule" | "approvals">[] =>
  roles.flatMap(({ jobs }) => jobs.map(({ rule }) => ({ rule, approvals: 0 })));

function callsOf(roles: readonly Role[], work: Work): Judged[] {
  return work.functions.map((name) => callOf(roles, name, work));
}

function callOf(roles: readonly Role[], name: string, { to, peels, within, files: given }: Work): Judged {
  const ofFunction = roles
    .flatMap(({ jobs }) => jobs.filter(({ functions }) => functions.has(name)))
    .sort((a, b) => a.approvals - b.approvals);
  const lacking = `jobs run ${name}`;
  if (ofFunction.length === 0) return { allowed: false, reason: `no rule allows ${name}`, lacking };
  const files = usesFiles(name) ? given : undefined;
  const rules = files === undefined ? ofFunction : ofFunction.filter((rule) => allowsFiles(rule, files));
  if (files !== undefined && rules.length === 0) {
    return { allowed: false, reason: whyNotFiles(name, ofFunction, files), lacking };
  }
  // The rules are tried from the one with the fewest approvals, so the last one that is needed decides.
  const used = new Set<JobRule>();
  const outside: string[] = [];
  for (const peel of peels) {
    const rule = rules.find(({ targets }) => targets === "*" || within(targets, peel));
    if (rule === undefined) outside.push(peel);
    else used.add(rule);
  }
  if (outside.length > 0) {
    const [first, more] = [outside.slice(0, maxNamed).map(displayPeelId), outside.length - maxNamed];
    const named = `${first.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    const lie = outside.length === 1 ? "lies" : "lie";
    const other = ofFunction.find(
      (rule) =>
        !rules.includes(rule) && outside.every((peel) => rule.targets === "*" || within(rule.targets, peel)),
    );
    const lines = files === undefined ? "" : linesFor(other, files);
    const reason = `${outside.length} of ${peels.length} peels ${lie} outside of the targets for ${name}: ${named}${lines}`;
    return { allowed: false, reason, lacking };
  }
  const counted = used.size === 0 ? rules.slice(0, 1) : [...used];
  const needed = Math.max(...counted.map(({ approvals }) => approvals));
  return {
    allowed: true,
    rule: [...new Set(counted.map(({ rule }) => rule))].join("; "),
    // Nothing happens without a peel, and to continue or to stop needs no approval.
    approvals: to === "start" && peels.length > 0 ? needed : 0,
  };
}

function upgradeOf(roles: readonly Role[], { to, functions }: Work): Judged[] {
  if (to === "stop" || !functions.includes(upgradeFunction)) return [];
  return [wordOf(roles, { kind: "upgrades", action: "start" })].map((one) =>
    one.allowed && to !== "start" ? { ...one, approvals: 0 } : one,
  );
}

/** All of it must be allowed. */
function together(parts: readonly Judged[]): Judged {
  const rules = new Set<string>();
  let approvals = 0;
  for (const part of parts) {
    if (!part.allowed) return part;
    rules.add(part.rule);
    approvals = Math.max(approvals, part.approvals);
  }
  return { allowed: true, rule: [...rules].join("; "), approvals };
}

/** Stands for each peel: only a rule for all of them covers it. */
const anyPeel = "*";

/** The first roles that allow all of it on every peel; `admin` always does. */
function holdersOf(book: RoleBook, { scope, work, labels }: Wanted): string[] {
  const everywhere = work === undefined ? {} : { work: { ...work, peels: [anyPeel], within: () => false } };
  return [...book.values()]
    .filter((role) => decideFor([role], { scope, labels, ...everywhere }).allowed)
    .map(({ name }) => name)
    .slice(0, maxNamed);
}
