import { expect } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { snapshot } from "./honesty.ts";
import { temporaryDirectory } from "./temporary.ts";

/** A user that is on every host and owns nothing. */
const attacker = 1;
const directories = 8;

/**
 * The directory of a user, and a process of this user that keeps replacing it, and each directory in it, with
 * links to the same place outside, where only root can write.
 */
export interface HostileHome extends AsyncDisposable {
  /** Below it the user owns everything. */
  home: string;
  /** What is written to; it belongs to the user, like the directories in it. */
  target: string;
  /** Paths of `count` files, spread over the directories, relative to the target. */
  files(count: number): string[];
  /** Fails if something outside differs from what it was. */
  expectNothingOutside(): void;
}

/** @param populated how many files exist from the beginning, in the target and outside */
export async function startHostileHome(populated = 0): Promise<HostileHome> {
  const base = temporaryDirectory("hostile");
  chmodSync(base.path, 0o755);
  const [home, outside] = [join(base.path, "home"), join(base.path, "outside")];
  const target = join(home, "app");
  const names = Array.from({ length: directories }, (_, at) => `d${at}`);
  const files = (count: number) => Array.from({ length: count }, (_, at) => `d${at % directories}/f${at}`);
  for (const root of [target, outside]) {
    for (const name of names) mkdirSync(join(root, name), { recursive: true });
    for (const file of files(populated))
      writeFileSync(join(root, file), `${root === outside ? "outside" : "inside"}\n`, { mode: 0o600 });
  }
  for (const path of [home, target, ...names.map((name) => join(target, name))]) {
    chownSync(path, attacker, attacker);
  }
  const before = snapshot(outside);
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, "swapper-main.ts"),
      `${attacker}`,
      outside,
      ...[target, ...names.map((name) => join(target, name))],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  await child.stdout.getReader().read();
  return {
    home,
    target,
    files,
    expectNothingOutside: () => expect(snapshot(outside)).toEqual(before),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      base[Symbol.dispose]();
    },
  };
}
