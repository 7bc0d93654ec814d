import type { Outcome } from "../../kit/outcome.ts";
import type { ChainState } from "./use-chain.ts";

/** What the verification says: a word with its look, and a sentence. */
export function chainWords({ entries, first, verified, last, done, found }: Omit<ChainState, "problems">): {
  word: string;
  outcome: Outcome;
  text: string;
} {
  const count = (some: number, what: string, many = `${what}s`) =>
    `${some.toLocaleString("en")} ${some === 1 ? what : many}`;
  if (found > 0) {
    const text = `${count(found, "problem")} among ${count(entries, "entry", "entries")} that were verified.`;
    return { word: "broken", outcome: "failed", text };
  }
  if (!done) {
    const text = `Entry ${verified.toLocaleString("en")} of ${last.toLocaleString("en")}.`;
    return { word: "verifying", outcome: "running", text };
  }
  if (entries === 0) return { word: "empty", outcome: "skipped", text: "No entry is stored." };
  const older = first > 1 ? ` It begins with entry ${first.toLocaleString("en")}: older ones expired.` : "";
  return {
    word: "chain whole",
    outcome: "ok",
    text: `${count(entries, "entry", "entries")}: masters of this fleet signed each, and each names the one before.${older}`,
  };
}
