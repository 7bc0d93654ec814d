import { expect, test } from "bun:test";
import { hasEnded, identityOf, statOf } from "./process-stat.ts";

/** The fields after the name, as Linux 6 writes them. */
const fields = (state: string, threads: number) =>
  `${state} 1 7 7 0 -1 4194560 9 0 0 0 1 1 0 0 20 0 ${threads} 0 4211 0 0`.split(" ");

test.each<[string, string[], boolean]>([
  ["that sleeps", fields("S", 9), false],
  ["of which no thread is left but the zombie of the first", fields("Z", 1), true],
  ["whose first thread is a zombie while others still have its files", fields("Z", 4), false],
  ["that is dead", fields("X", 1), true],
  ["that does not exist", [], true],
])("a process %s", (_, found, isOver) => {
  expect(hasEnded(found)).toBe(isOver);
});

test("this process has an identity, and one that ended has none", async () => {
  expect(identityOf(process.pid)).toMatchObject({ pid: process.pid });
  expect(hasEnded(statOf(String(process.pid)))).toBe(false);
  const program = Bun.spawn(["true"]);
  await program.exited;
  expect(identityOf(program.pid)).toBeUndefined();
});
