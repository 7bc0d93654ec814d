import { systemClock } from "../clock.ts";

/**
 * How many times later than usual the runtime compiles the code of a program that starts; executables are built with it.
 * A start runs most of its code a few times, and compiling that takes longer than interpreting it.
 */
export const startPolicy = 32;

/** After this time, a command no longer starts: code that runs then may run often. */
const startMs = 300;

/** Lets the runtime compile as late as during a start: for a program that has nothing to do. */
export function compileLate(): void {
  Bun.unsafe.setJITPolicy(startPolicy);
}

/** Lets the runtime compile as early as usual. */
export function compileAsUsual(): void {
  Bun.unsafe.setJITPolicy(1);
}

/** The same for a command, if it has not ended when its start has. */
export function compileAfterStart(): Disposable {
  const timer = systemClock.after(startMs, compileAsUsual);
  return { [Symbol.dispose]: () => timer.cancel() };
}
