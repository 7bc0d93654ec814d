import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Turns } from "./budget.ts";
import { type Finding, sortFindings } from "./finding.ts";
import { type Kind, type Kinds, maxKinds } from "./kind.ts";

/** How long the files of a tree may be compiled. */
const maxMs = 60_000;

/** What is wrong for one kind. */
export interface KindFaults {
  faults: readonly Finding[];
  /** What may be wrong. */
  doubts: readonly Finding[];
}

/** What is wrong for the kinds of a fleet. */
export interface KindFindings {
  problems: readonly Finding[];
  hints: readonly Finding[];
}

interface Seen {
  finding: Finding;
  /** Peels for which it is one. */
  peels: number;
  example: string;
  isProblem: boolean;
}

/**
 * Compiles files for one peel of each kind. What is wrong for a kind of a single peel is a hint: one host alone must
 * not keep files from all others.
 *
 * @param file of the hint that not all kinds were compiled
 * @param judge compiles for a kind; gets whether there is time left, for what takes long
 */
export async function judgeKinds(
  { kinds, left }: Kinds,
  { pause, now }: Turns,
  file: string,
  judge: (kind: Kind, isLate: () => boolean) => Promise<KindFaults>,
): Promise<KindFindings> {
  const begun = now();
  const isLate = () => now() - begun >= maxMs;
  const seen = new Map<string, Seen>();
  const note = (finding: Finding, { peelId, peels }: Kind, isProblem: boolean) => {
    const key = `${finding.file}:${finding.line}:${finding.column}: ${finding.reason}`;
    const known = seen.get(key) ?? { finding, peels: 0, example: displayPeelId(peelId), isProblem: false };
    seen.set(key, { ...known, peels: known.peels + peels, isProblem: known.isProblem || isProblem });
  };
  let missed = left;
  for (const [at, kind] of kinds.entries()) {
    await pause();
    if (at >= maxKinds || isLate()) {
      missed += kind.peels;
      continue;
    }
    const { faults, doubts } = await judge(kind, isLate);
    // What did not end in time says nothing.
    if (isLate()) missed += kind.peels;
    else {
      for (const each of faults) note(each, kind, kind.peels > 1);
      for (const each of doubts) note(each, kind, false);
    }
  }
  const found = (isProblem: boolean) =>
    sortFindings([...seen.values()].filter((each) => each.isProblem === isProblem).map(named));
  const hints = found(false);
  return { problems: found(true), hints: missed === 0 ? hints : [...hints, missing(file, missed)] };
}

function named({ finding, peels, example }: Seen): Finding {
  const which = peels === 1 ? `${example} alone` : `${peels} peels such as ${example}`;
  return { ...finding, reason: `for ${which}: ${finding.reason}` };
}

const missing = (file: string, peels: number): Finding => ({
  ...{ file, line: 1, column: 1 },
  reason: `not compiled for ${peels} ${peels === 1 ? "peel" : "peels"}: at most ${maxKinds} kinds are, within ${maxMs / 1000} s`,
});
