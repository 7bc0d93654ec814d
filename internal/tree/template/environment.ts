import { readFileSync } from "node:fs";
import * as glue from "minijinja-js/dist/bundler/minijinja_js_bg.js";
import wasmPath from "minijinja-js/dist/bundler/minijinja_js_bg.wasm" with { type: "file" };
import { limitMemory } from "./memory-limit.ts";

/** 128 MiB, for everything that templates hold at the same time. */
const memoryPages = 2048;
/** Instructions of one rendering: some tenths of a second. */
const fuel = 5_000_000;

export type Environment = glue.Environment;

let compiled: WebAssembly.Module | undefined;
let memory: WebAssembly.Memory | undefined;

/**
 * Makes an environment in which templates are rendered: no access to the host, bounded fuel, memory and
 * recursion, and whatever is undefined is an error. There is one at a time.
 */
export function createEnvironment(): Environment {
  if (memory === undefined) instantiate();
  const environment = new glue.Environment();
  environment.debug = true;
  environment.keepTrailingNewline = true;
  environment.undefinedBehavior = "strict";
  environment.fuel = fuel;
  environment.enablePyCompat();
  // It shows every variable there is, secrets of the settings included.
  environment.removeGlobal("debug");
  return environment;
}

/** Gives up after a trap: the code inside stopped halfway, and nothing in there can be relied on. */
export function abandonEnvironment(environment: Environment): void {
  environment.__destroy_into_raw();
  // The glue holds on to a view of the memory until it is detached, which growing by nothing does.
  memory?.grow(0);
  memory = undefined;
}

function instantiate(): void {
  compiled ??= new WebAssembly.Module(limitMemory(readFileSync(wasmPath), memoryPages));
  const imports = Object.entries(glue).map(([name, value]): [string, unknown] =>
    // What it has to say when it stops is told by whoever catches the trap.
    name.startsWith("__wbg_error_") ? [name, () => undefined] : [name, value],
  );
  const instance = new WebAssembly.Instance(compiled, {
    "./minijinja_js_bg.js": Object.fromEntries(imports) as Bun.WebAssembly.ModuleImports,
  });
  glue.__wbg_set_wasm(instance.exports);
  memory = instance.exports.memory as WebAssembly.Memory;
}
