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
 * reason to run.
 */
export function decide(requisites: readonly Met[]): Decision {
  const failed = requisites.flatMap(failuresOf);
  if (failed.length > 0) return { act: "fail", reason: `not run: ${listed(failed)} failed` };
  for (const kind of ["onchanges", "onfail", "prereq"] as const) {
    const asked = requisites.filter((each) => each.kind === kind || each.kind === alternatives[kind]);
    if (asked.length === 0 || asked.some(isReason)) continue;
    const targets = asked.flatMap((each) => each.targets).map(({ label }) => label);
    return { act: "skip", reason: `not run: ${listed(targets)} ${idle[kind]}` };
  }
  const watched = requisites.some(
    ({ kind, targets }) =>
      (kind === "watch" || kind === "watch_any") && targets.some(({ changed }) => changed),
  );
  return { act: "run", watched };
}

const alternatives = { onchanges: "onchanges_any", onfail: "onfail_all", prereq: undefined } as const;
const idle = {
  onchanges: "did not change",
  onfail: "did not fail",
  prereq: "would not change",
} as const;

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
    case "onchanges_any":
      return failed.length < targets.length ? [] : failed;
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
