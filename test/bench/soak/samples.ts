import { quantile } from "../jobs/statistics.ts";
import { table } from "../table.ts";
import { type Point, type Slope, slopeOf } from "./slope.ts";

/** Programs of a fleet that are measured. */
export const roles = ["bus", "steady master", "killed master", "peel"] as const;
export type Role = (typeof roles)[number];

/** What one program was at a time. */
export interface Program {
  readonly role: Role;
  /** A restarted program is another one. */
  readonly pid: number;
  /** How long this process has run, hours. */
  readonly age: number;
  readonly residentMib: number;
  readonly privateMib: number;
  readonly openFiles: number;
  /** Since the sample before. */
  readonly cpuMs: number;
}

/** The fleet at a time. */
export interface Sample {
  /** Since the start. */
  readonly hours: number;
  readonly programs: readonly Program[];
  readonly consumers: number;
  readonly streams: number;
  readonly storedMib: number;
  /** Files below the directories of the masters and the peels. */
  readonly files: number;
  /** Jobs that ended since the sample before, milliseconds from the request to the last answer. */
  readonly times: readonly number[];
}

interface Row {
  readonly name: string;
  readonly unit: string;
  /** The lives of what is measured: of each process for itself. */
  readonly lives: readonly (readonly Point[])[];
}

const digits = 2;

/**
 * The measured values in time, and what each grows per hour.
 *
 * @param warmUpHours what a program, or the fleet, was before this age does not count
 */
export function formatSamples(samples: readonly Sample[], warmUpHours: number): string {
  const rows = rowsOf(samples, warmUpHours).map(({ name, unit, lives }) => {
    const values = lives.flat().map(([, value]) => value);
    const at = (share: number) => (values.length === 0 ? "-" : quantile(values, share).toFixed(digits));
    const [first, last] = [lives[0]?.[0]?.[1], lives.at(-1)?.at(-1)?.[1]];
    const number = (value?: number) => (value === undefined ? "-" : value.toFixed(digits));
    return [name, unit, number(first), at(0.5), at(1), number(last), ...phrase(slopeOf(lives))];
  });
  return table(["", "unit", "first", "median", "most", "last", "per hour", "+- 95 %", "grows"], rows, 2);
}

function phrase({ perUnit, plusMinus }: Slope): string[] {
  if (!Number.isFinite(plusMinus)) return ["-", "-", "too little to tell"];
  const sign = perUnit < 0 ? "" : "+";
  const verdict = perUnit - plusMinus > 0 ? "yes" : perUnit + plusMinus < 0 ? "shrinks" : "no";
  return [`${sign}${perUnit.toFixed(2)}`, plusMinus.toFixed(2), verdict];
}

function rowsOf(samples: readonly Sample[], warmUpHours: number): Row[] {
  const ofFleet = (name: string, unit: string, measure: (sample: Sample) => number | undefined): Row => {
    const points = samples
      .filter(({ hours }) => hours >= warmUpHours)
      .flatMap((sample): Point[] => {
        const value = measure(sample);
        return value === undefined ? [] : [[sample.hours, value]];
      });
    return { name, unit, lives: [points] };
  };
  const ofRole = (role: Role, name: string, unit: string, measure: (program: Program) => number): Row => {
    const lives = new Map<number, Point[]>();
    for (const { hours, programs } of samples) {
      for (const program of programs) {
        if (program.role !== role || program.age < warmUpHours) continue;
        const points = lives.get(program.pid) ?? [];
        points.push([hours, measure(program)]);
        lives.set(program.pid, points);
      }
    }
    return { name: `${role}: ${name}`, unit, lives: [...lives.values()] };
  };
  return [
    ...roles.flatMap((role) => [
      ofRole(role, "resident", "MiB", ({ residentMib }) => residentMib),
      ofRole(role, "private", "MiB", ({ privateMib }) => privateMib),
      ofRole(role, "open files", "", ({ openFiles }) => openFiles),
      ofRole(role, "processor time", "ms/s", ({ cpuMs }) => cpuMs),
    ]),
    ofFleet("consumers", "", ({ consumers }) => consumers),
    ofFleet("streams", "", ({ streams }) => streams),
    ofFleet("stored", "MiB", ({ storedMib }) => storedMib),
    ofFleet("files of masters and peels", "", ({ files }) => files),
    ofFleet("job, median", "ms", ({ times }) => (times.length === 0 ? undefined : quantile(times, 0.5))),
    ofFleet("job, 99 %", "ms", ({ times }) => (times.length === 0 ? undefined : quantile(times, 0.99))),
  ];
}
