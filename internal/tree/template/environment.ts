import { readFileSync } from "node:fs";
import * as glue from "minijinja-js/dist/bundler/minijinja_js_bg.js";
import wasmPath from "minijinja-js/dist/bundler/minijinja_js_bg.wasm" with { type: "file" };
import { limitMemory } from "./memory-limit.ts";

/** 128 MiB, shared by all templates. */
const memoryPages = 2048;
/** Instruction limit of one rendering: some tenths of a second. */
const fuel = 5_000_000;

export type Environment = glue.Environment;

let compiled: WebAssembly.Module | undefined;
let memory: WebAssembly.Memory | undefined;

/**
 * Creates the sandbox for templates: no access to the host; limited fuel, memory and recursion; undefined
 * values are errors. Only one environment exists at a time.
 */
export function createEnvironment(): Environment {
  if (memory === undefined) instantiate();
  const environment = new glue.Environment();
  environment.debug = true;
  environment.keepTrailingNewline = true;
  environment.undefinedBehavior = "strict";
  environment.fuel = fuel;
  environment.enablePyCompat();
  // It would print all variables, including secrets of the settings.
  environment.removeGlobal("debug");
  return environment;
}

/** Discards the instance after a trap, because its state is undefined. */
export function abandonEnvironment(environment: Environment): void {
  environment.__destroy_into_raw();
  // The glue code keeps a view of the memory until it is detached; growing by zero pages detaches it.
  memory?.grow(0);
  memory = undefined;
}

function instantiate(): void {
  compiled ??= new WebAssembly.Module(limitMemory(readFileSync(wasmPath), memoryPages));
  const imports = Object.entries(glue).map(([name, value]): [string, unknown] =>
    // The code that catches the trap reports the error.
    name.startsWith("__wbg_error_") ? [name, () => undefined] : [name, value],
  );
  const instance = new WebAssembly.Instance(compiled, {
    "./minijinja_js_bg.js": Object.fromEntries(imports) as Bun.WebAssembly.ModuleImports,
  });
  glue.__wbg_set_wasm(instance.exports);
  memory = instance.exports.memory as WebAssembly.Memory;
}
