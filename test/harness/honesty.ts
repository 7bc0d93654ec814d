import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { SvcError } from "../../internal/base/errors.ts";
import type { Plain } from "../../internal/base/msgpack.ts";
import type { FileSource } from "../../internal/tree/files/files.ts";
import type { Changes, Plan, StateContext, StateFunction } from "../../internal/tree/function/function.ts";
import { problemsOfCall } from "../../internal/tree/language/arguments.ts";
import { createTemplates } from "../../internal/tree/template/render.ts";
import { fixedFacts } from "./facts.ts";
import { fixedSettings } from "./settings.ts";
import { memoryFiles } from "./states.ts";

const templates = createTemplates();

/** What a state is planned with: for real, on this machine, with files and settings that are told. */
export function stateContext(
  options: {
    files?: FileSource;
    settings?: { [name: string]: Plain };
    described?: StateContext["described"];
  } = {},
): StateContext {
  const { files = memoryFiles({}), settings = {}, described = [] } = options;
  const renderer = templates.renderer(async () => undefined);
  return {
    clock: systemClock,
    facts: fixedFacts({ id: "web-1", os: "Debian" }),
    settings: fixedSettings(settings),
    signal: new AbortController().signal,
    described,
    files,
    compat: "strict",
    environment: new Map(),
    cache: new Map(),
    call: (name) => Promise.reject(new SvcError("bad_request", `unknown function ${name}`)),
    render: (template, variables) =>
      renderer.render(template, { facts: { os: "Debian" }, settings }, variables),
  };
}

/** Checks the arguments of a state as the engine does, and plans it. */
export async function planState(
  states: readonly StateFunction[],
  name: string,
  about: string,
  args: Record<string, Plain> = {},
  context = stateContext(),
): Promise<Plan> {
  const found = states.find((state) => state.name === name);
  if (found === undefined) throw new Error(`there is no state ${name}`);
  const [problem] = problemsOfCall(found, args);
  if (problem !== undefined) throw new SvcError("bad_request", problem);
  return found.plan(about, args, context);
}

/** Plans and applies a state, whatever it changes. @returns what changed, and what was said in the end */
export async function applyState(
  ...call: Parameters<typeof planState>
): Promise<{ changes: Changes; comment: string }> {
  const plan = await planState(...call);
  const done = await plan.apply?.();
  return { changes: done?.changes ?? plan.changes, comment: done?.comment ?? plan.comment };
}

/**
 * Proves of a state that differs from the host: planning touches nothing below `root`, applying changes
 * what was predicted and nothing else there, and planning again finds nothing left to do.
 *
 * @returns the prediction
 */
export async function proveHonest(root: string, ...call: Parameters<typeof planState>): Promise<Plan> {
  const before = snapshot(root);
  const plan = await planState(...call);
  expect(snapshot(root)).toEqual(before);
  expect(plan.changes).not.toEqual({});
  const planned = await plan.apply?.();
  const after = snapshot(root);
  const changes = planned?.changes ?? plan.changes;
  expect(changes).toEqual(plan.changes);
  expect(unpredicted(before, after, changes)).toEqual([]);
  expect(after).not.toEqual(before);
  const again = await planState(...call);
  expect(again.changes).toEqual({});
  expect(again.apply).toBeUndefined();
  expect(snapshot(root)).toEqual(after);
  return plan;
}

/** Proves of a state that describes what is there already that it changes nothing. */
export async function proveIdle(root: string, ...call: Parameters<typeof planState>): Promise<string> {
  const before = snapshot(root);
  const plan = await planState(...call);
  expect(plan.changes).toEqual({});
  expect(plan.apply).toBeUndefined();
  expect(snapshot(root)).toEqual(before);
  return plan.comment;
}

/** Everything below a directory, as text that tells any difference. */
export function snapshot(root: string): { [path: string]: string } {
  const found: { [path: string]: string } = {};
  const visit = (path: string) => {
    const stats = lstatSync(path);
    const owner = `${stats.uid}:${stats.gid} ${(stats.mode & 0o7777).toString(8)}`;
    if (stats.isDirectory()) {
      found[path] = `directory ${owner}`;
      for (const name of readdirSync(path)) visit(join(path, name));
    } else if (stats.isSymbolicLink()) found[path] = `link ${stats.uid}:${stats.gid} ${readlinkSync(path)}`;
    else if (stats.isFile()) {
      const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
      found[path] = `file ${owner} ${stats.ino} ${stats.mtimeMs} ${digest}`;
    } else found[path] = `other ${owner}`;
  };
  visit(root);
  return found;
}

/** Paths that differ and are neither named in the changes, nor below or above one that is. */
function unpredicted(
  before: { [path: string]: string },
  after: { [path: string]: string },
  changes: Changes,
): string[] {
  const named = Object.keys(changes);
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((path) => before[path] !== after[path])
    .filter((path) => {
      const made = before[path] === undefined && after[path]?.startsWith("directory");
      return !named.some(
        (each) => path === each || path.startsWith(`${each}/`) || (made && each.startsWith(`${path}/`)),
      );
    });
}
