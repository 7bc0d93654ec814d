/** A place of the console that one can go to. */
export interface Goal {
  /** `Page`, `Peel` or `Job`. */
  kind: string;
  name: string;
  /** What tells it from others with this name. */
  about?: string;
  path: string;
}

const max = 12;

/** The goals whose names have all of these words, best first: those that begin with the first word, then the others. */
export function findGoals(goals: readonly Goal[], text: string): readonly Goal[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [first = ""] = words;
  const found = goals.filter(({ kind, name, about = "" }) => {
    const all = `${kind} ${name} ${about}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const rank = ({ name }: Goal) => (name.toLowerCase().startsWith(first) ? 0 : 1);
  return found.toSorted((one, other) => rank(one) - rank(other)).slice(0, max);
}
