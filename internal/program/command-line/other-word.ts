/** What other programs, and people, call an option; the first that a command has is meant. */
const meant: readonly (readonly [words: string, options: readonly string[]])[] = [
  ["by user actor who author", ["operator", "created-by"]],
  ["from after begin start", ["since"]],
  ["to before until end", ["until"]],
  ["n count max num lines top", ["limit"]],
  ["host hosts node minion name", ["peel", "match", "source", "name"]],
  ["format o json yaml", ["output"]],
  ["y force assume-yes confirm", ["yes"]],
  ["f tail watch", ["follow", "wait"]],
  ["expiry expire ttl lifetime valid", ["expires", "ttl"]],
  ["comment message m why", ["reason"]],
  ["dry-run check noop", ["test"]],
  ["status", ["state"]],
  ["state", ["status"]],
  ["v verbose all long full", ["wide", "full"]],
  ["parallel concurrency forks serial", ["batch"]],
];

/**
 * The option that is meant by a word which is not spelled like it.
 *
 * @param word without dashes
 * @param options names of the options that there are
 */
export function otherWord(word: string, options: readonly string[]): string | undefined {
  const wanted = meant.filter(([words]) => words.split(" ").includes(word)).flatMap(([, names]) => names);
  return wanted.find((name) => options.includes(name));
}
