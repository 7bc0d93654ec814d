import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Tracer } from "../../base/trace.ts";
import type { FactStore } from "../../host/facts/mod.ts";
import type { BootstrapDocument } from "../../identity/bootstrap/mod.ts";
import type { Instance } from "../../wire/instance.ts";
import type { Insistence } from "../consent/mod.ts";
import {
  type AuditHeads,
  type Connection,
  type Heartbeat,
  type Spread,
  startHeartbeat,
  subscribeToSite,
  withHedging,
} from "../link/mod.ts";
import type { PeelSettings } from "../settings/mod.ts";
import type { StateFiles } from "../state-files/mod.ts";
import type { Administrators } from "../trust/mod.ts";
import { startHello } from "./hello.ts";
import type { Local } from "./local.ts";
import { publishFacts } from "./publish-facts.ts";
import { startWorker } from "./worker.ts";

export interface SessionOptions {
  connection: Connection;
  /** Encoded peel id. */
  peelId: string;
  /** This process, and the next number of its messages; absent in tests of other parts. */
  instance?(): Instance;
  /** Read for each command, because keys can be replaced. */
  commandKeys: { readonly current: readonly string[] };
  /** The site in the credentials of this peel. */
  grantedSite?(): string | undefined;
  facts: FactStore;
  settings: PeelSettings;
  stateFiles: StateFiles;
  audit?: AuditHeads;
  /** Spreads what the whole fleet does after the bus was away. */
  spread: Spread;
  /** Absent in tests of other parts. */
  administrators?: Administrators;
  /** Handles the bootstrap document. After a failure, the request is repeated later. */
  onCluster(document: BootstrapDocument): Promise<void>;
  /** Verifies the requester of a command; absent on a peel that obeys masters. */
  insistence?: Insistence;
  /** Whether another program listens on `health_addr`. */
  isHealthOff?(): boolean;
  /** Begins a span for each job. */
  tracer?: Tracer;
  /** Runs the jobs, and stores their returns. */
  local: Local;
  clock: Clock;
  random: Random;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
}

export interface Session {
  readonly heartbeat: Pick<Heartbeat, "store">;
  /** Resolves when the masters know, or cannot be reached. */
  stop(): Promise<void>;
}

/** The work of a peel on the bus: accepts jobs, sends heartbeats, publishes facts, sends hellos. */
export function startSession(options: SessionOptions): Session {
  const { connection, local } = options;
  // For requests that may be sent twice.
  const hedged = withHedging(connection, options.clock);
  const worker = startWorker(options);
  const uncount = connection.onConnect(() => local.counts.connects++);
  // On a cluster, masters relay what it sends to the storage, and one of them may be frozen.
  local.outbox.attach(withHedging(connection, options.clock));
  const site = subscribeToSite({
    connection,
    granted: options.grantedSite ?? (() => undefined),
    onCommand: worker.takeForSite,
    onHint: () => hello.hinted(),
  });
  let lacksKey = false;
  const heartbeat = startHeartbeat({
    ...options,
    site,
    ...{ refused: local.counts.refused, isDiskFull: () => local.fullDisk() !== undefined },
    lacksKey: () => lacksKey,
    ...(options.insistence === undefined ? {} : defined({ insistsOn: options.administrators })),
  });
  const facts = publishFacts({
    ...options,
    onStored() {
      local.counts.factsStoredAt = options.clock.now();
    },
  });
  const detach = options.stateFiles.attach(hedged);
  const hello = startHello({
    ...options,
    connection: hedged,
    onCommand: worker.take,
    onKeys(missing) {
      lacksKey = missing;
    },
    onLackingFacts: facts.repeat,
  });
  options.settings.attach(hello.now);
  return {
    heartbeat,
    stop() {
      uncount();
      site.stop();
      hello.stop();
      worker.stop();
      detach();
      facts.stop();
      return heartbeat.stop();
    },
  };
}
