import { type Program, startProgram } from "../harness/process.ts";
import type { Host, Network } from "./network.ts";

/** One daemon of the run, which can be killed and started again. */
export interface Unit {
  readonly host: Host;
  readonly dir: string;
  /** Starts it, unless it runs. @param env more than its usual environment */
  start(env?: Record<string, string>): void;
  /** Sends a signal, if it runs. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it, and resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Its process, as long as it runs. */
  pid(): number | undefined;
  /** Resolves when its current process wrote this. */
  wrote(text: string): Promise<void>;
  /** What all its processes wrote. */
  output(): string;
}

/** @param words its command line, without the network around it */
export function createUnit(
  network: Network,
  host: Host,
  dir: string,
  words: readonly string[],
  usual: Record<string, string> = {},
): Unit {
  let program: Program | undefined;
  let running = false;
  let earlier = "";
  return {
    host,
    dir,
    start(env = {}) {
      if (running) return;
      earlier += program?.output() ?? "";
      const started = startProgram([...network.on(host), ...words], { cwd: dir, env: { ...usual, ...env } });
      program = started;
      running = true;
      void started.exited.then(() => {
        if (program === started) running = false;
      });
    },
    signal(signal) {
      if (running) program?.kill(signal);
    },
    async end(signal) {
      if (!running) return;
      program?.kill(signal);
      // A frozen process takes other signals only when it continues.
      program?.kill("SIGCONT");
      await program?.exited;
    },
    pid: () => (running ? program?.pid : undefined),
    wrote: async (text) => program?.waitFor(text),
    output: () => earlier + (program?.output() ?? ""),
  };
}
