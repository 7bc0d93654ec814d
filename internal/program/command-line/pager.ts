import { spawn } from "node:child_process";
import type { Machine } from "./command.ts";

/** What decides whether a pager shows a result. */
interface Wish {
  /** `--no-pager`, or the result is shown while it comes. */
  isOff: boolean;
  text: string;
}

/** What a shell says of a program that it cannot run. */
const notStarted: ReadonlySet<number> = new Set([126, 127]);

/**
 * The command of the pager for a result: that of the person, or `less`. Absent where nobody reads at a terminal, where
 * the result fits on it, and where the person wants none.
 */
export function pagerFor(
  { isOff, text }: Wish,
  { env, stdout }: Pick<Machine, "env" | "stdout">,
  which: (program: string) => string | null,
): string | undefined {
  const { rows = 0 } = stdout;
  if (isOff || stdout.isTTY !== true || [undefined, "", "dumb"].includes(env.TERM)) return undefined;
  // One line is for the prompt that comes after it.
  if (rows === 0 || text.split("\n").length <= rows) return undefined;
  const chosen = env.SVC_PAGER ?? env.PAGER ?? (which("less") === null ? "" : "less -FRX");
  return chosen.trim() === "" || chosen.trim() === "cat" ? undefined : chosen;
}

/**
 * Shows a text with a pager, until the person leaves it: nobody has to read to the end.
 *
 * @param command as a shell reads it
 * @returns whether the pager was there
 */
export function showWithPager(command: string, text: string, env: Machine["env"]): Promise<boolean> {
  const shell = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "inherit", "inherit"], env: { ...env } });
  // A pager that ends early closes its input.
  shell.stdin.on("error", () => {});
  shell.stdin.end(text);
  return new Promise((resolve) => {
    shell.once("error", () => resolve(false));
    shell.once("close", (code) => resolve(!notStarted.has(code ?? 0)));
  });
}
