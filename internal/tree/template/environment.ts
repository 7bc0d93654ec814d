import { readFileSync } from "node:fs";
import * as glue from "minijinja-js/dist/bundler/minijinja_js_bg.js";
import wasmPath from "minijinja-js/dist/bundler/minijinja_js_bg.wasm" with { type: "file" };
import { limitMemory } from "./memory-limit.ts";

/** 128 MiB, for everything that the templates of a sandbox hold at the same time. */
const memoryPages = 2048;
/** Instructions of one rendering: some tenths of a second. */
const fuel = 5_000_000;

export type Environment = glue.Environment;

/** A WebAssembly instance of the template engine, with a memory of its own. */
export interface Sandbox {
  /**
   * Makes the environment in which templates are rendered: no access to the host, bounded fuel, memory and
   * recursion, and whatever is undefined is an error. There is one at a time.
   */
  createEnvironment(): Environment;
  /** Runs what uses the environment. The glue code works with one instance at a time: here it is this one. */
  enter<T>(run: () => T): T;
  /** Gives up after a trap: the code inside stopped halfway, and nothing in there can be relied on. */
  abandon(environment: Environment): void;
}

export function createSandbox(): Sandbox {
  let compiled: WebAssembly.Module | undefined;
  let instance: WebAssembly.Instance | undefined;

  /** The glue holds on to a view of the memory until it is detached, which growing by nothing does. */
  const leave = () => void (instance?.exports.memory as WebAssembly.Memory | undefined)?.grow(0);

  return {
    createEnvironment() {
      compiled ??= new WebAssembly.Module(limitMemory(readFileSync(wasmPath), memoryPages));
      instance ??= instantiate(compiled);
      glue.__wbg_set_wasm(instance.exports);
      const environment = new glue.Environment();
      environment.debug = true;
      environment.keepTrailingNewline = true;
      environment.undefinedBehavior = "strict";
      environment.fuel = fuel;
      environment.enablePyCompat();
      // It shows every variable there is, secrets of the settings included.
      environment.removeGlobal("debug");
      return environment;
    },
    enter(run) {
      if (instance !== undefined) glue.__wbg_set_wasm(instance.exports);
      try {
        return run();
      } finally {
        leave();
      }
    },
    abandon(environment) {
      environment.__destroy_into_raw();
      leave();
      instance = undefined;
    },
  };
}

function instantiate(compiled: WebAssembly.Module): WebAssembly.Instance {
  const imports = Object.entries(glue).map(([name, value]): [string, unknown] =>
    // What it has to say when it stops is told by whoever catches the trap.
    name.startsWith("__wbg_error_") ? [name, () => undefined] : [name, value],
  );
  return new WebAssembly.Instance(compiled, {
    "./minijinja_js_bg.js": Object.fromEntries(imports) as Bun.WebAssembly.ModuleImports,
  });
}
