import { mebibytes, milliseconds, table } from "../table.ts";
import { type Point, slopeOf } from "./slope.ts";

/** What was measured in one tenth of the time, and at its end. */
export interface Step {
  /** Since the start. */
  readonly hours: number;
  /** Jobs that have ended since the start. */
  readonly jobs: number;
  /** Jobs that ended in this tenth. */
  readonly ended: number;
  /** Messages in the stream of acknowledgements and returns. */
  readonly stored: number;
  /** Medians of this tenth. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of each role. */
  readonly residentMib: Readonly<Record<Role, number>>;
  readonly cpuSeconds: Readonly<Record<Role, number>>;
}

export type Role = "bus" | "master" | "peel";

const heads = [
  "minutes",
  "jobs",
  "stored",
  "p50 ms",
  "p99 ms",
  ...["bus MiB", "master MiB", "peel MiB"],
  ...["bus cpu ms", "master cpu ms", "peel cpu ms"],
];

const roles: readonly Role[] = ["bus", "master", "peel"];

/** The steps, and what grows per hour: over the whole time, and over its second half. */
export function formatSteps(steps: readonly Step[]): string {
  const rows = steps.map((step) => [
    (step.hours * 60).toFixed(1),
    `${step.jobs}`,
    `${step.stored}`,
    milliseconds(step.p50Ms),
    milliseconds(step.p99Ms),
    ...roles.map((role) => mebibytes(step.residentMib[role])),
    ...roles.map((role) => milliseconds(cpuMsPerJob(step, role))),
  ]);
  const line = (name: string, some: readonly Step[]) => {
    const slope = (measure: (step: Step) => number) =>
      slopeOf(some.map((step): Point => [step.hours, measure(step)]));
    return [
      name,
      slope(({ jobs }) => jobs).toFixed(0),
      slope(({ stored }) => stored).toFixed(0),
      signed(slope(({ p50Ms }) => p50Ms)),
      signed(slope(({ p99Ms }) => p99Ms)),
      ...roles.map((role) =>
        signed(
          slope(({ residentMib }) => residentMib[role]),
          1,
        ),
      ),
      ...roles.map((role) => signed(slope((step) => cpuMsPerJob(step, role)))),
    ];
  };
  return table(heads, [
    ...rows,
    line("per hour", steps),
    line("second half", steps.slice(Math.floor(steps.length / 2))),
  ]);
}

function cpuMsPerJob({ cpuSeconds, ended }: Step, role: Role): number {
  return (cpuSeconds[role] * 1000) / ended;
}

function signed(value: number, digits = 2): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(digits)}`;
}
