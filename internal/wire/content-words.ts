/** Files as an answer shows them: the digest is bytes over the bus, and text in JSON. */
interface Shown {
  environment: string;
  commit: string;
  snapshot: Uint8Array | string;
  sources?: readonly { ref: string; commit: string }[];
}

const shortLength = 12;
const maxSources = 3;

/** The files of a request in one line, for people: `base at 3f2a1b9c04de (commit 90aa51c2d7e8)`. */
export function contentWords({ environment, commit, snapshot, sources = [] }: Shown): string {
  const named = sources.slice(0, maxSources).map((one) => `${one.ref} at ${short(one.commit)}`);
  const more = sources.length > maxSources ? ` and ${sources.length - maxSources} more` : "";
  // Several sources have no one commit.
  const from =
    named.length === 0
      ? short(commit) === commit
        ? commit
        : `commit ${short(commit)}`
      : `${commit}, with ${named.join(", ")}${more}`;
  return `${environment} at ${short(hexOf(snapshot))} (${from})`;
}

const short = (digits: string) => digits.slice(0, shortLength);

/** Browsers have no `Buffer`. */
function hexOf(snapshot: Uint8Array | string): string {
  if (typeof snapshot === "string") return snapshot;
  return [...snapshot].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
