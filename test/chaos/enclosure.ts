import type { Clock } from "../../internal/base/clock.ts";

/** Programs that the run itself needs. */
const needed = ["unshare", "nsenter", "ip", "mount"];

/** Why a run is not possible here; absent when it is. */
export function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return "it needs root, for network namespaces of its own";
  const missing = needed.filter((program) => Bun.which(program) === null);
  return missing.length === 0 ? undefined : `it needs ${missing.join(", ")} (util-linux, iproute2)`;
}

/**
 * Runs this program again, in mount, network and process namespaces of its own. The kernel ends its processes,
 * and removes its mounts and networks, with the first of them: also after Ctrl-C, or when this process is killed.
 *
 * @returns its exit code
 */
export async function enclose(main: string, words: readonly string[], limitMs: number, clock: Clock) {
  const unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const child = Bun.spawn([...unshare, process.execPath, main, ...words], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const end = () => child.kill("SIGKILL");
  const late = clock.after(limitMs, () => {
    process.stderr.write(
      `chaos: not at its end after ${Math.round(limitMs / 60_000)} minutes, and stopped\n`,
    );
    end();
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  const code = await child.exited;
  late.cancel();
  return code;
}
