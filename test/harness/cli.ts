import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { runCli } from "../../internal/cli/run.ts";
import type { TestBus } from "./bus.ts";
import { runRecord } from "./run-record.ts";
import { operatorConfig, type Ran } from "./svc.ts";

/** A command line of `svc` that runs in this process, as the operator of a bus. */
export interface RunningCli {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: Promise<number>;
  /** Resolves when it has written this; rejects when it ends without. */
  wrote(pattern: RegExp): Promise<RegExpExecArray>;
  /** Ctrl-C. Throws when no handler is registered: then the program would have ended. */
  interrupt(): void;
}

/**
 * Starts `svc`.
 *
 * @param options.tty a person at a terminal of 80 columns reads what it writes
 * @param options.operatorFile signs its requests
 * @param options.answer what the person at the terminal types when asked, or does before they type it
 */
export function startCli(
  bus: Pick<TestBus, "url" | "dir" | "authDir" | "caFile">,
  argv: readonly string[],
  options: {
    tty?: boolean;
    operatorFile?: string;
    answer?: string | (() => Promise<string>);
    confirmAbove?: number;
  } = {},
): RunningCli {
  const config = operatorConfig(bus, options.operatorFile, options.confirmAbove);
  const written = { stdout: "", stderr: "" };
  const kept = runRecord.openLog("svc");
  const readers = new Set<() => void>();
  const listeners = new Set<() => void>();
  const capture = (name: "stdout" | "stderr") => ({
    ...(options.tty === true ? { isTTY: true, columns: 80 } : {}),
    write(text: string) {
      kept.write(text);
      written[name] += text;
      for (const check of readers) check();
    },
  });
  const answerWith = (given: string | (() => Promise<string>)) => async (question: string) => {
    const answer = typeof given === "string" ? given : await given();
    written.stderr += `${question}${answer}\n`;
    return answer;
  };
  let ended = false;
  const exit = runCli({
    argv: ["--config", config, ...argv],
    env: options.tty === true ? { TERM: "xterm" } : {},
    hostname: "operator-host",
    stdout: capture("stdout"),
    stderr: capture("stderr"),
    signals: { on: (_, run) => listeners.add(run), off: (_, run) => listeners.delete(run) },
    ...(options.answer === undefined ? {} : { prompt: answerWith(options.answer) }),
    clock: systemClock,
    random: systemRandom,
  }).finally(() => {
    ended = true;
    kept.close();
    for (const check of readers) check();
  });
  return {
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    exit,
    wrote: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = pattern.exec(written.stdout) ?? pattern.exec(written.stderr);
          if (found === null && !ended) return;
          readers.delete(check);
          if (found !== null) resolve(found);
          else reject(new Error(`svc ended without ${pattern}:\n${written.stdout}${written.stderr}`));
        };
        readers.add(check);
        check();
      }),
    interrupt() {
      if (listeners.size === 0) throw new Error("nobody listens to Ctrl-C");
      for (const run of [...listeners]) run();
    },
  };
}

/** Runs `svc` to its end, as the operator of a bus. */
export async function cli(bus: Parameters<typeof startCli>[0], ...argv: string[]): Promise<Ran> {
  const running = startCli(bus, argv);
  const exit = await running.exit;
  return { exit, stdout: running.stdout, stderr: running.stderr };
}
