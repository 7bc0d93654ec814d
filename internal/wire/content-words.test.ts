import { expect, test } from "bun:test";
import { contentCell, contentWords } from "./content-words.ts";

const commit = "90aa51c2d7e80000000000000000000000000000";
const snapshot = "3f2a1b9c04de".padEnd(64, "0");
const source = (ref: string) => ({ remote: "https://git.example/a", ref, commit });

test.each([
  [{ commit, snapshot }, "base at 3f2a1b9c04de (commit 90aa51c2d7e8)"],
  [
    { commit, snapshot: new Uint8Array(Buffer.from(snapshot, "hex")) },
    "base at 3f2a1b9c04de (commit 90aa51c2d7e8)",
  ],
  [{ commit: "local", snapshot, sources: [] }, "base at 3f2a1b9c04de (local)"],
  [
    { commit: "local", snapshot, sources: [source("refs/heads/main")] },
    "base at 3f2a1b9c04de (local, with refs/heads/main at 90aa51c2d7e8)",
  ],
  [
    { commit: "local", snapshot, sources: ["a", "b", "c", "d"].map(source) },
    "base at 3f2a1b9c04de (local, with a at 90aa51c2d7e8, b at 90aa51c2d7e8, c at 90aa51c2d7e8 and 1 more)",
  ],
  [{ commit: "4f1d2c" }, "base (commit 4f1d2c)"],
  [{ commit: "" }, "base"],
  [{ environment: "", commit: "" }, "-"],
])("%j: %s", (content, words) => {
  expect(contentWords({ environment: "base", ...content })).toBe(words);
});

test.each([
  [{ environment: "base", commit, snapshot }, "base 90aa51c2d7e8 3f2a1b9c04de"],
  [
    { environment: "base", commit: "local", snapshot: new Uint8Array(Buffer.from(snapshot, "hex")) },
    "base local 3f2a1b9c04de",
  ],
  [{ environment: "base", commit: "" }, "base"],
  [{}, "-"],
  [undefined, "-"],
])("in a cell %j is %s", (content, cell) => {
  expect(contentCell(content)).toBe(cell);
});
