import { abortable } from "../base/abortable.ts";
import { SvcError } from "../base/errors.ts";
import { type Bus, type BusOptions, connectBus } from "../bus/connection/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";
import { closeAtOnce } from "./close-at-once.ts";

/** How long a command that finds out what is wrong may take; with closing and printing that stays below 10 s. */
const limitMs = 8_000;
/** How long one server may take to accept a connection. */
const connectMs = 3_000;

/** What a command has that must answer whatever is broken. */
export interface InTime {
  /** Aborts when the time is up, with an error that reports it. */
  late: AbortSignal;
  /** Connects, and closes the connection in the end. @throws SvcError `unavailable` */
  connect(options: BusOptions): Promise<Bus>;
}

/**
 * Runs a command that must answer within 10 s whatever is broken: a bus that is frozen, full, or without a
 * majority accepts connections and requests, and then says nothing.
 */
export async function inTime<T>(
  cli: Pick<Cli, "clock" | "connectTimeoutMs">,
  run: (time: InTime) => Promise<T>,
): Promise<T> {
  const { clock } = cli;
  const timeoutMs = Math.min(connectMs, cli.connectTimeoutMs);
  const late = new AbortController();
  const timer = clock.after(limitMs, () =>
    late.abort(
      new SvcError("unavailable", `no answer within ${limitMs / 1000} s: check the servers of the bus`),
    ),
  );
  const open: Bus[] = [];
  try {
    return await run({
      late: late.signal,
      async connect(options) {
        const connection = connectBus({ ...options, timeoutMs });
        const bus = await abortable(connection, late.signal, (one) => void one.nats.close());
        open.push(bus);
        return bus;
      },
    });
  } finally {
    timer.cancel();
    await closeAtOnce(open, clock);
  }
}
