import type { Clock, Timer } from "../clock.ts";
import { openDatagrams } from "./datagrams.ts";

/**
 * The service manager that started this process, such as systemd for a unit with `Type=notify`. Without one
 * nothing happens.
 */
export interface ServiceManager {
  /** Whether there is one that wants to know. */
  readonly listens: boolean;
  /** Says what the service is doing: one line for people. */
  status(text: string): void;
  /**
   * Says that the service has started, and from then on, where the manager asks for it, that it is alive: three times
   * in each `WatchdogSec`. What blocks the process stops that, and so does `problem`; the manager then restarts the
   * service.
   *
   * @param problem why a part that only a restart repairs has ended; absent means that there is no such part
   */
  ready(status: string, problem?: () => string | undefined): void;
  /** Says that it is about to end. */
  stopping(): void;
}

const variable = "NOTIFY_SOCKET";
/** Time until the next notification is due, in microseconds, and which process must do that (sd_watchdog_enabled(3)). */
const watchdogVariables = ["WATCHDOG_USEC", "WATCHDOG_PID"] as const;

/**
 * Takes the address of the service manager out of an environment: what this process starts cannot speak in
 * its name (sd_notify(3)).
 *
 * @param options.clock tells when to say again that the service is alive
 * @param options.onFailure called when a message could not be sent
 * @param options.onProblem called once when notifications to the manager fail
 */
export function takeServiceManager(
  env: Record<string, string | undefined>,
  options: {
    clock: Pick<Clock, "every">;
    onFailure(): void;
    onProblem(reason: string): void;
  },
): ServiceManager {
  const address = env[variable] === "" ? undefined : env[variable];
  const everyMs = watchdogMs(env) / 3;
  for (const name of [variable, ...watchdogVariables]) delete env[name];
  let watchdog: Timer | undefined;
  const send = (...lines: readonly string[]) => {
    if (address !== undefined && !sendDatagram(address, lines.join("\n"))) options.onFailure();
  };
  const keepAlive = (problem: () => string | undefined) => {
    watchdog?.cancel();
    if (address === undefined || everyMs === 0) return;
    let complained = false;
    watchdog = options.clock.every(everyMs, () => {
      const reason = problem();
      if (reason === undefined) return send("WATCHDOG=1");
      if (!complained) options.onProblem(reason);
      complained = true;
    });
  };
  const statusLine = (text: string) => `STATUS=${text.replaceAll("\n", " ")}`;
  return {
    listens: address !== undefined,
    status: (text) => send(statusLine(text)),
    ready(text, problem = () => undefined) {
      send("READY=1", statusLine(text));
      keepAlive(problem);
    },
    stopping() {
      watchdog?.cancel();
      send("STOPPING=1", statusLine("stopping"));
    },
  };
}

/** `WatchdogSec` of the unit in milliseconds; 0 when there is none, or when it is meant for another process. */
function watchdogMs(env: Readonly<Record<string, string | undefined>>): number {
  const [time, pid] = watchdogVariables.map((name) => env[name] ?? "");
  if (pid !== "" && pid !== String(process.pid)) return 0;
  return /^[1-9]\d{0,15}$/.test(time ?? "") ? Number(time) / 1000 : 0;
}

/**
 * Sends one datagram. systemd's own `systemd-notify` would be another process, which a unit with `NotifyAccess=main`
 * does not listen to.
 */
function sendDatagram(address: string, text: string): boolean {
  const datagrams = openDatagrams(address);
  const isSent = datagrams?.send(Buffer.from(text)) ?? false;
  datagrams?.close();
  return isSent;
}
