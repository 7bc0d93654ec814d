import { systemClock } from "../../base/clock.ts";
import { describeError, meaningOf, toSvcError } from "../../base/errors.ts";
import { createLog, type Log, type LogLevel, type logFormats } from "../../base/log.ts";
import { createMessages } from "../../base/messages.ts";
import { createJournalLog } from "../../base/service/journal.ts";
import { type ServiceManager, takeServiceManager } from "../../base/service/service-manager.ts";
import { version } from "../../base/version.ts";
import { ignoredVariables, readVariables } from "../config/mod.ts";

/** What the command line of a daemon requests. */
export type Invocation<Values> =
  | { kind: "help"; text: string }
  | { kind: "version" }
  | { kind: "print"; text: string }
  | { kind: "run"; values: Values; file?: string };

/** What every daemon is configured with. */
interface LogValues {
  log_level: LogLevel;
  log_format: (typeof logFormats)[number];
}

/** What a daemon runs with. */
export interface DaemonContext {
  log: Log;
  /** Aborts when the daemon is to end. */
  signal: AbortSignal;
  /** Called by the daemon when it has started. */
  service: ServiceManager;
}

export interface DaemonOptions<Values> {
  /** Name of the program, for messages. */
  name: "svc-master" | "svc-peel";
  /** Reads command line and configuration. @throws SvcError */
  load(): Invocation<Values>;
  /** Runs until the signal aborts. A throw before that is fatal. */
  run(values: Values, context: DaemonContext): Promise<void>;
}

/**
 * The life cycle of a daemon: configuration, log, signals, exit code. The first SIGTERM or SIGINT stops
 * it gracefully, the second at once.
 *
 * @returns the exit code
 */
export async function runDaemon<Values extends LogValues>(options: DaemonOptions<Values>): Promise<number> {
  let invocation: Invocation<Values>;
  try {
    invocation = options.load();
  } catch (thrown) {
    return complain(options.name, thrown);
  }
  switch (invocation.kind) {
    case "help":
    case "print":
      process.stdout.write(`${invocation.text.trimEnd()}\n`);
      return 0;
    case "version":
      process.stdout.write(`${options.name} ${version}\n`);
      return 0;
    case "run":
      return runUntilSignal(options, invocation);
  }
}

async function runUntilSignal<Values extends LogValues>(
  options: DaemonOptions<Values>,
  { values, file }: Extract<Invocation<Values>, { kind: "run" }>,
): Promise<number> {
  const output = writeTogether((text) => process.stderr.write(text));
  process.on("exit", output.flush);
  const { log_format: format, log_level: level } = values;
  const writing = { level, clock: systemClock, write: output.write };
  const log =
    format === "journal"
      ? createJournalLog({ ...writing, program: options.name })
      : createLog({ ...writing, format });
  const service = takeServiceManager(process.env, {
    clock: systemClock,
    onFailure: () => log.warn("service manager not notified"),
    onProblem: (reason) =>
      log.error("a part has ended; the service manager restarts the service", { reason }),
  });
  const stopping = new AbortController();
  const onSignal = (signal: string) => {
    if (stopping.signal.aborted) process.exit(1);
    log.info("stopping", { signal });
    service.stopping();
    stopping.abort(new Error(`stopped by ${signal}`));
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  log.info("starting", { program: options.name, version, config: file });
  const variables = ignoredVariables(options.name, process.env);
  // A watchdog has said it of the environment that its peel has from it.
  if (variables.length > 0 && process.env.SVC_WATCHDOG === undefined) {
    log.warn("environment variables are ignored", {
      variables,
      next: `set them in the configuration or with flags: of the environment, ${options.name} reads ${readVariables[options.name].join(", ")}`,
    });
  }
  try {
    await options.run(values, { log, signal: stopping.signal, service });
  } catch (thrown) {
    if (!stopping.signal.aborted) {
      if (toSvcError(thrown).kind === "internal") {
        log.error("stopped by a failure", { error: describeError(thrown) });
      }
      output.flush();
      return complain(options.name, thrown);
    }
  }
  log.info("stopped", { program: options.name });
  return 0;
}

/**
 * Joins the lines written within one turn of the event loop, so that a busy daemon does not block on
 * each line.
 */
function writeTogether(write: (text: string) => void): { write(line: string): void; flush(): void } {
  let waiting: string[] = [];
  const flush = () => {
    const lines = waiting;
    waiting = [];
    if (lines.length > 0) write(lines.join(""));
  };
  return {
    flush,
    write(line) {
      if (waiting.push(line) === 1) setImmediate(flush);
    },
  };
}

/** Writes one line for the person at the terminal. Details of an unexpected error go to the log. */
function complain(name: string, thrown: unknown): number {
  const error = toSvcError(thrown);
  const text = error.kind === "internal" ? describeError(thrown) : error.message;
  createMessages({ name, write: (line) => process.stderr.write(line) }).error(text);
  return meaningOf(error.kind).exit;
}
