import type { RequisiteKind } from "../function/mod.ts";

/** The result of a state that another state depends on. */
export interface Ended {
  /** `file: /etc/motd` */
  label: string;
  /** `null` in test mode, when something would change. */
  result: boolean | null;
  /** Whether something changed, or would change. */
  changed: boolean;
}

/**
 * A requisite with the results of its targets. For `prereq`, `changed` says whether the target would change
 * something.
 */
export interface Met {
  kind: RequisiteKind;
  targets: readonly Ended[];
}

/** What the engine does with a state. */
export type Decision =
  /** `watched`: a watched state changed. */
  | { act: "run"; watched: boolean }
  /** The state does not have to run. */
  | { act: "skip"; reason: string }
  | { act: "fail"; reason: string };

/**
 * Decides by its requisites whether a state runs. A failed requisite takes precedence over one that gives no
 * reason to run. The entries of one list count together, as in Salt.
 */
export function decide(written: readonly Met[]): Decision {
  const requisites = byKind(written);
  const failed = requisites.flatMap(failuresOf);
  if (failed.length > 0) return { act: "fail", reason: `not run: ${listed(failed)} failed` };
  // A change in either list of onchanges is a reason to run; each list of onfail is a condition of its own.
  const onchanges = requisites.filter(({ kind }) => kind === "onchanges" || kind === "onchanges_any");
  const conditions = requisites.filter(({ kind }) => waitsForReason(kind)).map((each) => [each]);
  for (const requested of [onchanges, ...conditions]) {
    const [first] = requested;
    if (first === undefined || requested.some(isReason)) continue;
    const labels = requested.flatMap(idlersOf).map(({ label }) => label);
    return { act: "skip", reason: `not run: ${listed(labels)} ${idleOf(first.kind)}` };
  }
  const watched = requisites.some(
    ({ kind, targets }) => (kind === "watch" || kind === "watch_any") && targets.some(hasChanged),
  );
  return { act: "run", watched };
}

/** What a failed state changed does not count. */
function hasChanged({ changed, result }: Ended): boolean {
  return changed && result !== false;
}

/** One requisite of each kind, with the targets of all entries. */
function byKind(written: readonly Met[]): Met[] {
  const targets = new Map<RequisiteKind, Ended[]>();
  for (const each of written) targets.set(each.kind, [...(targets.get(each.kind) ?? []), ...each.targets]);
  return [...targets].map(([kind, all]) => ({ kind, targets: all }));
}

function waitsForReason(kind: RequisiteKind): boolean {
  return kind === "onfail" || kind === "onfail_all" || kind === "prereq";
}

function idleOf(kind: RequisiteKind): string {
  if (kind === "prereq") return "would not change";
  return kind === "onfail" || kind === "onfail_all" ? "did not fail" : "did not change";
}

/** The targets that gave no reason. */
function idlersOf({ kind, targets }: Met): readonly Ended[] {
  return kind === "onfail_all" ? targets.filter(({ result }) => result !== false) : targets;
}

/** The states that keep this one from running. */
function failuresOf({ kind, targets }: Met): string[] {
  const failed = targets.filter(({ result }) => result === false).map(({ label }) => label);
  switch (kind) {
    case "require":
    case "watch":
    case "onchanges":
      return failed;
    case "require_any":
    case "watch_any":
      return failed.length < targets.length ? [] : failed;
    case "onchanges_any":
      return targets.some(hasChanged) ? [] : failed;
    default:
      return [];
  }
}

/** Whether the requisite gives a reason to run. */
function isReason({ kind, targets }: Met): boolean {
  switch (kind) {
    case "onfail":
      return targets.some(({ result }) => result === false);
    case "onfail_all":
      return targets.length > 0 && targets.every(({ result }) => result === false);
    default:
      return targets.some(({ changed }) => changed);
  }
}

const maxListed = 3;

function listed(labels: readonly string[]): string {
  const shown = [...new Set(labels)];
  const more = shown.length - maxListed;
  return more > 0 ? `${shown.slice(0, maxListed).join(", ")} and ${more} more` : shown.join(", ");
}
