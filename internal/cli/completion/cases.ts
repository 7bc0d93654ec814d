import { followsWord, type Place, quoted } from "./places.ts";

/** How bash and zsh differ in the branches of `case`. */
interface Shell {
  /** The pattern of a branch. */
  pattern(text: string): string;
  /** Sets the words that can follow an option. */
  setWords(values: readonly string[]): string;
  /** Index of the first element of an array. */
  first: number;
}

/** For the values of options. */
export function valueCases(places: readonly Place[], shell: Shell): string {
  return places
    .flatMap(({ path, valued }) =>
      valued.flatMap(({ option, values, ids }) => {
        if (ids === undefined && values.length === 0) return [];
        const set = ids === undefined ? shell.setWords(values) : `ids=${ids}`;
        return [`      ${shell.pattern(quoted(`${path} ${option}`))} ${set} ;;`];
      }),
    )
    .join("\n");
}

/** For arguments at one position. */
export function argumentCases(places: readonly Place[], shell: Shell): string {
  return places
    .flatMap(({ path, arguments: found }) =>
      found.map(({ position, ids }) => {
        const before = followsWord({ position, ids }) ? ` ${wordBefore(position, shell)}` : "";
        return `        ${shell.pattern(quoted(`${path} ${position}`))} ids=${ids}${before} ;;`;
      }),
    )
    .join("\n");
}

/** Where all remaining words have one kind, which the word before the first of them decides. */
export function restCases(places: readonly Place[], shell: Shell): string {
  return places
    .flatMap(({ path, rest }) => {
      if (rest === undefined) return [];
      const { position, ids } = rest;
      const set = `ids=${ids} ${wordBefore(position, shell)}`;
      return [`        ${shell.pattern(quoted(path))} if ((position >= ${position})); then ${set}; fi ;;`];
    })
    .join("\n");
}

const wordBefore = (position: number, { first }: Shell) => `before=\${given[${position - 1 + first}]}`;
