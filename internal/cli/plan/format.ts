import { beginningOf } from "../../base/cut.ts";
import { atLine } from "../../base/place.ts";
import type { PlanCause, PlanDocument, PlanGroup } from "../../fleet/plans/mod.ts";
import { visible } from "../../program/command-line/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";

type Change = PlanGroup["changes"][number];

/** One screen for the common case; JSON has all of it. */
const maxCauses = 8;
const maxGroups = 8;
const maxChanges = 10;
const maxReasons = 3;
const columns = 80;

const drift = "A plan compares orders, not hosts: what drifted on a host is not in it.";

/** A plan for people: what makes a difference and how far it reaches, then what changes on which peels. */
export function formatPlan(plan: PlanDocument): string {
  const { groups, causes } = plan;
  const lines = [headOf(plan), ""];
  if (causes.length > 0) {
    lines.push(...causes.slice(0, maxCauses).map(causeLine), ...moreOf(causes, maxCauses, "reasons"), "");
  }
  for (const group of groups.slice(0, maxGroups)) lines.push(...groupLines(group, causes), "");
  lines.push(...moreOf(groups, maxGroups, "groups"));
  return [...lines, ...endOf(plan)].map(visible).join("\n");
}

export function headOf({ id, snapshot, commit, compared_with: base, peels, target }: PlanDocument): string {
  const files = commit === "local" ? `the tree ${shortSnapshot(snapshot)}` : commit.slice(0, 12);
  const before =
    base === "last run"
      ? "what each ran last"
      : `${base.environment} at ${base.commit === "local" ? shortSnapshot(base.snapshot) : base.commit.slice(0, 12)}`;
  const whom = target === "*" ? "" : ` of ${target}`;
  return `${id}: ${files} on ${countOf(peels, "peel")}${whom}, compared with ${before}`;
}

/** `settings/web.yaml:12  app:port 80 → 8080  changes 812 peels in 2 groups` */
export function causeLine(cause: PlanCause): string {
  const { file, line, setting, before, after, peels, groups } = cause;
  const what = setting === undefined ? "" : `  ${setting} ${shortOf(before, 16)} → ${shortOf(after, 16)}`;
  const reach = `changes ${countOf(peels, "peel")}${groups > 1 ? ` in ${groups} groups` : ""}`;
  return `${atLine(file, line)}${what}  ${reach}`;
}

function groupLines({ peels, ...group }: PlanGroup, causes: readonly PlanCause[]): string[] {
  const { changes, error, unknown, error_before: errorBefore, restarts = [] } = group;
  const restarted = restarts.length === 0 ? "" : `, restarts ${restarts.join(", ")}`;
  if (error !== undefined) {
    return [`${namesOf(peels)}: cannot be compiled`, ...reasons(error)];
  }
  if (unknown !== undefined) return [`${namesOf(peels)}: unknown until it runs`, ...reasons(unknown)];
  return [
    `${namesOf(peels)}${restarted}:`,
    ...(errorBefore === undefined ? [] : ["  cannot be compiled now:", ...reasons(errorBefore)]),
    ...changes.slice(0, maxChanges).map((change) => changeLine(change, causes.length > 1)),
    ...moreOf(changes, maxChanges, "changes").map((line) => `  ${line}`),
  ];
}

const reasons = (lines: readonly string[]): string[] => [
  ...lines.slice(0, maxReasons).map((line) => `  ${beginningOf(line.split("\n")[0] ?? "", columns * 2)}`),
  ...moreOf(lines, maxReasons, "problems").map((line) => `  ${line}`),
];

/** `812 peels, such as web-1 … web-9` */
export function namesOf(peels: readonly string[]): string {
  const [first = "", second = ""] = peels;
  if (peels.length === 1) return first;
  if (peels.length === 2) return `${first} and ${second}`;
  return `${countOf(peels.length, "peel")}, such as ${first} … ${peels.at(-1)}`;
}

function changeLine({ op, function: called, name, before, after, why }: Change, isPlaced: boolean): string {
  const [place] = why;
  const end = isPlaced && place !== undefined ? `  (${atLine(place.file, place.line)})` : "";
  const head = `  ${op} ${called} ${name}`;
  const room = Math.max(16, columns - head.length - end.length - 2);
  const what = op === "~" ? differences(before ?? {}, after ?? {}, room) : "";
  return `${head}${what === "" ? "" : `  ${what}`}${end}`;
}

/** The arguments that differ, as far as there is room. */
function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  room: number,
): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const found = names.flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    if (old === undefined) return [`${name} added`];
    if (now === undefined) return [`${name} removed`];
    if (name === "content") return ["content"];
    return [`${name} ${shortOf(old, 24)} → ${shortOf(now, 24)}`];
  });
  const whole = found.join(", ");
  if (whole.length <= room) return whole;
  const [first = "", ...more] = found;
  const rest = more.length === 0 ? "" : ` and ${more.length} more`;
  return `${beginningOf(first, Math.max(8, room - rest.length))}${rest}`;
}

function shortOf(value: unknown, length: number): string {
  if (value === undefined) return "nothing";
  return beginningOf(typeof value === "string" ? value : JSON.stringify(value), length);
}

function endOf({ peels, unchanged, cannot_be_bound: unbound, notes, groups }: PlanDocument): string[] {
  const nothing =
    unchanged === peels && groups.length === 0
      ? "nothing changes"
      : `${countOf(unchanged, "peel")}: nothing changes`;
  const [first] = unbound;
  const bound =
    first === undefined
      ? []
      : [`${countOf(unbound.length, "peel")} cannot be bound, such as ${first.peel}: ${first.reason}`];
  return [nothing, ...bound, ...notes, drift];
}

const moreOf = (items: readonly unknown[], shown: number, what: string): string[] =>
  items.length <= shown ? [] : [`and ${items.length - shown} more ${what}: --output json has all`];

export const countOf = (count: number, what: string): string =>
  `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
