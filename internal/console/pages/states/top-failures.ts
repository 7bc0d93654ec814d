/** What is needed of a peel whose states failed. */
interface FailedPeel {
  peel: string;
  failures?: readonly { id: string; function: string; file: string; line: number; comment: string }[];
}

/** A state that failed on peels. */
export interface TopFailure {
  id: string;
  function: string;
  /** Where it is declared: `web/init.sls:12` */
  at: string;
  /** The peels on which it failed, in the order in which they came. */
  peels: string[];
  /** What the function said on the first of them. */
  comment: string;
}

const maxShown = 10;

/** The states that fail on the most peels; a peel names the first failures of its run only. */
export function topFailures(peels: readonly FailedPeel[]): TopFailure[] {
  const found = new Map<string, TopFailure>();
  for (const { peel, failures = [] } of peels) {
    for (const { id, function: name, file, line, comment } of failures) {
      const at = file === "" ? "" : `${file}:${line}`;
      const key = JSON.stringify([id, name, at]);
      const known = found.get(key);
      if (known === undefined) found.set(key, { id, function: name, at, peels: [peel], comment });
      else if (known.peels.at(-1) !== peel) known.peels.push(peel);
    }
  }
  return [...found.values()]
    .toSorted((one, other) => other.peels.length - one.peels.length)
    .slice(0, maxShown);
}
