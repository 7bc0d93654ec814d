import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { FactStore } from "../../host/facts/mod.ts";
import type { BootstrapDocument } from "../../identity/bootstrap/mod.ts";
import { type Connection, type Heartbeat, startHeartbeat } from "../link/mod.ts";
import type { StateFiles } from "../state-files/mod.ts";
import { startHello } from "./hello.ts";
import type { Local } from "./local.ts";
import { publishFacts } from "./publish-facts.ts";
import type { PeelSettings } from "./settings.ts";
import { startWorker } from "./worker.ts";

export interface SessionOptions {
  connection: Connection;
  /** Encoded peel id. */
  peelId: string;
  /** Read for each command, because keys can be replaced. */
  commandKeys: { readonly current: readonly string[] };
  facts: FactStore;
  settings: PeelSettings;
  stateFiles: StateFiles;
  /** Handles the bootstrap document. After a failure, the masters are asked again later. */
  onCluster(document: BootstrapDocument): Promise<void>;
  /** Runs the jobs, and stores their returns. */
  local: Local;
  clock: Clock;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

export interface Session {
  readonly heartbeat: Pick<Heartbeat, "store">;
  stop(): void;
}

/** The work of a peel on the bus: accepts jobs, sends heartbeats, publishes facts, sends hellos. */
export function startSession(options: SessionOptions): Session {
  const { connection, local } = options;
  const worker = startWorker(options);
  const uncount = connection.onConnect(() => local.counts.connects++);
  local.outbox.attach(connection);
  const heartbeat = startHeartbeat(options);
  const facts = publishFacts({
    ...options,
    onStored() {
      local.counts.factsStoredAt = options.clock.now();
    },
  });
  const detach = options.stateFiles.attach(connection);
  const hello = startHello({ ...options, onCommand: worker.take });
  options.settings.attach(hello.now);
  return {
    heartbeat,
    stop() {
      uncount();
      hello.stop();
      detach();
      facts.stop();
      heartbeat.stop();
    },
  };
}
