import { readFileSync } from "node:fs";
import * as glue from "minijinja-js/dist/bundler/minijinja_js_bg.js";
import wasmPath from "minijinja-js/dist/bundler/minijinja_js_bg.wasm" with { type: "file" };
import { limitMemory } from "./memory-limit.ts";

/** 128 MiB, for everything that the templates of a sandbox hold at the same time. */
const memoryPages = 2048;
/** Instruction limit of one rendering: some tenths of a second. */
const fuel = 10_000_000;

export type Environment = glue.Environment;

/** A WebAssembly instance of the template engine, with a memory of its own. */
export interface Sandbox {
  /**
   * Makes the environment in which templates are rendered: no access to the host, bounded fuel, memory and
   * recursion, and whatever is undefined is an error. There is one at a time.
   */
  createEnvironment(): Environment;
  /** Must be called before the environment is used: the glue code works with one instance at a time. */
  enter(): void;
  /** Gives up after a trap: the code inside stopped halfway, and nothing in there can be relied on. */
  abandon(environment: Environment): void;
}

export function createSandbox(): Sandbox {
  let compiled: WebAssembly.Module | undefined;
  let exports: glue.Exports | undefined;
  /** Whether the glue code works with this instance now. */
  let bound = false;

  /** The glue holds on to a view of the memory until it is detached, which growing by nothing does. */
  const release = (memory: WebAssembly.Memory) => {
    bound = false;
    memory.grow(0);
  };
  const bind = (next: glue.Exports) => {
    if (bound) return;
    releaseOther();
    glue.__wbg_set_wasm(next);
    bound = true;
  };

  return {
    createEnvironment() {
      compiled ??= new WebAssembly.Module(limitMemory(readFileSync(wasmPath), memoryPages));
      exports ??= instantiate(compiled, release);
      bind(exports);
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
    enter() {
      if (exports !== undefined) bind(exports);
    },
    abandon(environment) {
      environment.__destroy_into_raw();
      exports = undefined;
      releaseOther();
    },
  };
}

/**
 * Has the sandbox that the glue is bound to let go of it. Only the glue knows which one that is, so the word
 * goes through it: freeing the null pointer, which is never an environment.
 */
function releaseOther(): void {
  try {
    glue.Environment.prototype.free.call({ __destroy_into_raw: () => 0 });
  } catch {
    // It is bound to none yet.
  }
}

/** @param release called when another sandbox needs the glue, or this instance is given up */
function instantiate(
  compiled: WebAssembly.Module,
  release: (memory: WebAssembly.Memory) => void,
): glue.Exports {
  const imports = Object.entries(glue).map(([name, value]): [string, unknown] =>
    // The code that catches the trap reports the error.
    name.startsWith("__wbg_error_") ? [name, () => undefined] : [name, value],
  );
  const instance = new WebAssembly.Instance(compiled, {
    "./minijinja_js_bg.js": Object.fromEntries(imports) as Bun.WebAssembly.ModuleImports,
  });
  const exports = instance.exports as unknown as glue.Exports;
  return {
    ...exports,
    __wbg_environment_free(pointer, flag) {
      if (pointer === 0) release(exports.memory);
      else exports.__wbg_environment_free(pointer, flag);
    },
  };
}
