import { table } from "../bench/table.ts";
import { invariants } from "./check/check.ts";
import type { Entry, FaultSpan, Violation } from "./history.ts";

const outside = "none";

/** The table of faults and invariants: heads, and a row for each kind of fault. */
export type Report = readonly (readonly string[])[];

/** How often each fault happened, how long recoveries took, and the violations that began in or after it. */
export function reportOf(history: readonly Entry[], violations: readonly Violation[]): Report {
  const faults = history.filter((entry): entry is FaultSpan => entry.kind === "fault");
  const names = Object.keys(invariants);
  const kinds = [...new Set(faults.map(({ fault }) => fault))].sort();
  const blamed = Map.groupBy(violations, (violation) => faultAt(faults, violation.at));
  const rows = [...kinds, ...(blamed.has(outside) ? [outside] : [])].map((kind) => {
    const own = faults.filter(({ fault }) => fault === kind);
    const broken = blamed.get(kind) ?? [];
    return [
      kind,
      `${own.length}`,
      spanOf(own.map(({ readyMs }) => readyMs)),
      spanOf(own.map(({ firstJobMs }) => firstJobMs)),
      spanOf(own.map(({ recoveredMs }) => recoveredMs)),
      ...names.map((name) => {
        const count = broken.filter(({ invariant }) => invariant === name).length;
        return count === 0 ? "held" : `${count} BROKEN`;
      }),
    ];
  });
  return [["fault", "times", "ready", "first job", "all masters", ...names], ...rows];
}

/** The table for a terminal. */
export function formatReport([heads = [], ...rows]: Report): string {
  return table(
    [...heads],
    rows.map((row) => [...row]),
  );
}

/** The table for a page of the documentation. */
export function markdownOf([heads = [], ...rows]: Report): string {
  const lines = [heads, heads.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The fault during or after which something began. */
function faultAt(faults: readonly FaultSpan[], at: number): string {
  return faults.filter((fault) => fault.at <= at).sort((a, b) => b.at - a.at)[0]?.fault ?? outside;
}

/** The shortest and the longest time. */
function spanOf(times: readonly (number | undefined)[]): string {
  if (times.length === 0) return "-";
  const known = times.filter((ms) => ms !== undefined);
  const ends = [Math.min(...known), Math.max(...known)].map((ms) => (ms / 1000).toFixed(1));
  const inTime = known.length === 0 ? "" : `${[...new Set(ends)].join("-")} s`;
  const lateTimes = times.length - known.length;
  if (lateTimes === 0) return inTime;
  return `${inTime}${inTime === "" ? "" : ", "}${lateTimes} not in time`;
}
