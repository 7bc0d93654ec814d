import { expect } from "bun:test";
import type { PrivateRoot } from "./private-root.ts";

/** Results in short: `id:true+`, where + is a change. */
export async function brief(
  root: PrivateRoot,
  sls: string,
  options?: { test?: boolean; settings?: string },
): Promise<string> {
  const states = await root.apply(sls, options);
  const failed = states
    .filter(({ result }) => result === false)
    .map(({ id, comment }) => `${id}: ${comment}`);
  expect(failed).toEqual([]);
  return states
    .map(({ id, result, changes }) => `${id}:${result}${Object.keys(changes).length > 0 ? "+" : ""}`)
    .join(" ");
}

/** What a command line says, in the private root. */
export async function output(root: PrivateRoot, command: string): Promise<string> {
  const { stdout, stderr } = await root.run(["/bin/sh", "-c", command]);
  return (stdout + stderr).trim();
}

/**
 * Tests states, applies them twice and takes them back twice. What a test says changes nothing, and what is
 * done once is not done again.
 *
 * @param probe a command that shows what the states are about
 */
export async function roundTrip(
  root: PrivateRoot,
  states: { there: string; gone: string; ids: readonly string[] },
  probe: string,
): Promise<{ before: string; there: string; gone: string }> {
  const all = (result: string) => states.ids.map((id) => `${id}:${result}`).join(" ");
  const before = await output(root, probe);
  expect(await brief(root, states.there, { test: true })).toBe(all("null+"));
  expect(await output(root, probe)).toBe(before);
  expect(await brief(root, states.there)).toBe(all("true+"));
  const there = await output(root, probe);
  expect(await brief(root, states.there)).toBe(all("true"));
  expect(await brief(root, states.gone, { test: true })).toBe(all("null+"));
  expect(await output(root, probe)).toBe(there);
  expect(await brief(root, states.gone)).toBe(all("true+"));
  const gone = await output(root, probe);
  expect(await brief(root, states.gone)).toBe(all("true"));
  return { before, there, gone };
}
