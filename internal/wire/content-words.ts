import { displayPeelId } from "../base/names/peel-id.ts";

/** Files as an answer shows them: the digest is bytes over the bus, and text in JSON. A report may lack some. */
interface Shown {
  environment?: string;
  commit?: string;
  snapshot?: Uint8Array | string;
  sources?: readonly { ref: string; commit: string }[];
}

interface ShownReleased {
  commit: string;
  snapshot: Uint8Array | string;
  peels?: readonly string[];
  peel_count?: number;
}

const shortLength = 12;
const maxSources = 3;
const maxPeels = 8;

/** The commit of files that no single commit describes. */
export const localCommit = "local";

/** The first digits of a snapshot or a commit, for people. */
export const shortSnapshot = (digest: Uint8Array | string): string => hexOf(digest).slice(0, shortLength);

/** The files of something in one line, for people: `base at 3f2a1b9c04de (commit 90aa51c2d7e8)`. */
export function contentWords({ environment, commit, snapshot, sources }: Shown): string {
  const at = snapshot === undefined ? "" : ` at ${shortSnapshot(snapshot)}`;
  const from = originWords(commit, sources);
  return `${environment || "-"}${at}${from === "" ? "" : ` (${from})`}`;
}

/** The same in a cell of a table: environment, commit and snapshot, `base 90aa51c2d7e8 3f2a1b9c04de`. */
export function contentCell(content: Shown | undefined): string {
  if (content === undefined) return "-";
  const { environment, commit, snapshot } = content;
  const parts = [environment, commit && shortSnapshot(commit), snapshot && shortSnapshot(snapshot)];
  return parts.filter(Boolean).join(" ") || "-";
}

function originWords(commit = "", sources: NonNullable<Shown["sources"]> = []): string {
  if (commit === "") return "";
  // Several sources have no one commit.
  if (sources.length > 0) {
    const named = sources.slice(0, maxSources).map((one) => `${one.ref} at ${shortSnapshot(one.commit)}`);
    const more = sources.length > maxSources ? ` and ${sources.length - maxSources} more` : "";
    return `${commit}, with ${named.join(", ")}${more}`;
  }
  return commit === localCommit ? commit : `commit ${shortSnapshot(commit)}`;
}

/** What peels that obey operators only run in place of it, in one line. */
export function releasedWords({ commit, snapshot, peels, peel_count: count }: ShownReleased): string {
  const files = `${shortSnapshot(snapshot)} (${originWords(commit)}), released`;
  const who = "that obey operators only";
  if (peels === undefined) return `${files}, on the peels ${who}`;
  const all = count ?? peels.length;
  const named = peels.slice(0, maxPeels).map(displayPeelId).join(", ");
  const more = all > maxPeels ? ` and ${all - maxPeels} more` : "";
  return `${files}, on ${all} ${all === 1 ? "peel that obeys operators only" : `peels ${who}`}: ${named}${more}`;
}

/** A digest as text, also in a browser, which has no `Buffer`. */
export function hexOf(digest: Uint8Array | string): string {
  if (typeof digest === "string") return digest;
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
