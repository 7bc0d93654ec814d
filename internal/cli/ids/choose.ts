import { SvcError } from "../../base/errors.ts";
import type { IdPrefix } from "../../base/id.ts";

/** A record that an id may mean. */
export interface Candidate {
  id: string;
  /** What it is, for the person who chooses: `web-1.example.com, pending`. */
  text: string;
  /** What it is called as well; an exact match takes precedence over a match of its beginning. */
  name?: string;
}

/** The kinds of ids that may be shortened. */
export type ShortKind = Exclude<IdPrefix, "chl" | "ses" | "pln">;

const nouns: Record<ShortKind, string> = {
  enr: "enrollment",
  job: "job",
  rol: "rollout",
  apr: "request",
  tok: "token",
  jtk: "join token",
};
/** Characters behind the prefix of the kind: fewer would be a guess. */
const minCharacters = 4;
/** The same of a whole id. */
export const lengthOfIds = 27;
/** Maximum number of candidates that an error names. */
export const maxShown = 10;

/** Whether a text is the beginning of an id of this kind, and not a whole one. One that is too short is not. */
export function isShortId(kind: ShortKind, text: string): boolean {
  const max = lengthOfIds - 1;
  return new RegExp(`^${kind}-[0-9A-Za-z]{${minCharacters},${max}}$`).test(text);
}

/**
 * The one record that begins so.
 *
 * @param candidates those that begin so, among all that there are
 * @throws SvcError `not_found` for none; `conflict` for several, with the first of them
 */
export function chooseOne(what: string, text: string, candidates: readonly Candidate[]): Candidate {
  const [first, ...others] = candidates;
  if (first === undefined) throw new SvcError("not_found", `no ${what} begins with ${text}`);
  if (others.length === 0) return first;
  throw new SvcError(
    "conflict",
    `several ${what}s begin with ${text}: give more of it. There are ${listOf(candidates)}`,
  );
}

/** Those that there are, for the person who chooses: no more than ten. */
export function listOf(candidates: readonly Candidate[]): string {
  const shown = candidates.slice(0, maxShown).map(({ id, text }) => (text === "" ? id : `${id} (${text})`));
  return `${shown.join("; ")}${candidates.length > maxShown ? ", …" : ""}`;
}

/** What ids of a kind are of. */
export function nounOf(kind: ShortKind): string {
  return nouns[kind];
}
