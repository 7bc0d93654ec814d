import type { Finding } from "./finding.ts";
import type { Reading } from "./read-file.ts";
import { type Assumption, assumptions } from "./worlds.ts";

/** A name of another file, with its place. */
export interface Reference {
  name: string;
  at: Omit<Finding, "reason">;
  /** Whether it is there whatever is unknown. */
  isCertain: boolean;
}

/** Files of the tree that a state needs, of which the first that exists is taken. */
export interface NeededSource {
  argument: string;
  names: readonly string[];
  isDirectory: boolean;
  at: Omit<Finding, "reason">;
}

/** What one file is, whatever is unknown of the hosts that it is for. */
export interface Judged {
  problems: readonly Finding[];
  hints: readonly Finding[];
  references: readonly Reference[];
  sources: readonly NeededSource[];
  work: number;
}

/** What a file says for one assumption. */
export interface Said {
  /** Words that are there, and mean nothing. */
  faults: readonly Finding[];
  /** What is not of the form that it needs to have: something may be missing that is only unknown. */
  forms: readonly Finding[];
  hints: readonly Finding[];
  references: readonly Omit<Reference, "isCertain">[];
  sources: readonly NeededSource[];
}

interface Seen extends Said {
  /** It cannot be rendered, or is not YAML: what it would say is not known. */
  fatal: Finding | undefined;
  reading: Reading;
}

/**
 * Reads a file for as many assumptions as are needed to tell what is wrong with it for all of them.
 *
 * @param read renders and parses the file
 * @param examine says what the data of the file says
 */
export async function judgeFile(
  read: (assumption: Assumption) => Promise<Reading>,
  examine: (reading: Reading & { root: NonNullable<Reading["root"]> }) => Promise<Said>,
): Promise<Judged> {
  const seen = new Map<Assumption, Seen>();
  const see = async (assumption: Assumption): Promise<Seen> => {
    const known = seen.get(assumption);
    if (known !== undefined) return known;
    const reading = await read(assumption);
    const { root, fault } = reading;
    const said = root === undefined ? nothing : await examine({ ...reading, root });
    const found = { ...said, fatal: fault, reading };
    seen.set(assumption, found);
    return found;
  };
  /** A word in place of a whole block is not YAML, while nothing in its place may be. */
  const choose = async (truth: boolean): Promise<Seen> => {
    const first = await see(assumptions[truth ? "full" : "bare"]);
    if (first.fatal === undefined || !first.reading.isTouched) return first;
    const second = await see(assumptions[truth ? "fullEmpty" : "bareEmpty"]);
    return second.fatal === undefined ? { ...second, forms: [] } : first;
  };
  const chosen = [await choose(false)];
  if (chosen[0]?.reading.isTouched) chosen.push(await choose(true));
  const doubtful = certainOf(chosen);
  // Only what may be wrong needs further assumptions.
  if (chosen.length > 1 && doubtful.length > 0)
    for (const each of Object.values(assumptions)) await see(each);
  const others = [...seen.values()].filter(
    (each) => each.fatal === undefined || chosen[0]?.fatal !== undefined,
  );
  const problems = certainOf([...chosen, ...others]);
  return combined(problems, chosen, [...seen.values()]);
}

const nothing: Said = { faults: [], forms: [], hints: [], references: [], sources: [] };

function combined(problems: readonly Finding[], chosen: readonly Seen[], all: readonly Seen[]): Judged {
  const certain = new Set(problems.map(keyOf));
  const doubtful = chosen
    .flatMap(({ fatal, faults, forms }) => [...(fatal === undefined ? [] : [fatal]), ...faults, ...forms])
    .filter((fault) => !certain.has(keyOf(fault)))
    .map((fault) => ({ ...fault, reason: `${fault.reason} (it depends on what only a host knows)` }));
  const hints = chosen.flatMap((each) => [...each.reading.hints, ...each.hints]);
  const isFatal = problems.length > 0 && chosen[0]?.fatal !== undefined;
  return {
    problems,
    hints: isFatal ? hints : [...hints, ...doubtful],
    references: referencesOf(chosen),
    sources: chosen.flatMap(({ sources }) => sources),
    work: all.reduce((sum, { reading }) => sum + reading.work, 0),
  };
}

/** What is wrong for every one of these. */
function certainOf(seen: readonly Seen[]): Finding[] {
  const [first, ...others] = seen;
  if (first === undefined) return [];
  const { fatal } = first;
  if (fatal !== undefined) {
    // The same mistake shows at other places, depending on what stands behind it.
    const isSame = ({ fatal: other }: Seen) =>
      other !== undefined &&
      (other.reason === fatal.reason || (other.file === fatal.file && other.line === fatal.line));
    return others.every(isSame) ? [fatal] : [];
  }
  const wrongIn = ({ faults, forms }: Said) => [...faults, ...forms];
  const keys = others.map((each) => new Set(wrongIn(each).map(keyOf)));
  return wrongIn(first).filter((fault) => keys.every((known) => known.has(keyOf(fault))));
}

function referencesOf(seen: readonly Seen[]): Reference[] {
  const found = new Map<string, { reference: Omit<Reference, "isCertain">; times: number }>();
  for (const { references } of seen) {
    const own = new Map(references.map((each) => [`${each.at.file}:${each.at.line} ${each.name}`, each]));
    for (const [key, reference] of own) {
      found.set(key, { reference, times: (found.get(key)?.times ?? 0) + 1 });
    }
  }
  return [...found.values()].map(({ reference, times }) => ({
    ...reference,
    isCertain: times === seen.length,
  }));
}

const keyOf = ({ file, line, reason }: Finding): string => `${file}:${line}: ${reason}`;
