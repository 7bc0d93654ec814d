import { join } from "node:path";
import { openOutbox, startLocal } from "../../internal/agent/daemon/local.ts";
import { startSession } from "../../internal/agent/daemon/session.ts";
import { createConnection } from "../../internal/agent/link/connection.ts";
import { createSpread } from "../../internal/agent/link/spread.ts";
import { noMask } from "../../internal/agent/masking/mask.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { makeDirectory } from "../../internal/base/files/file.ts";
import { systemJitter, systemRandom } from "../../internal/base/id.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { peelInboxPrefix } from "../../internal/bus/subjects/subjects.ts";
import { fixedFacts } from "../harness/facts.ts";
import { fixedSettings } from "../harness/settings.ts";
import { noStateFiles } from "../harness/state-files.ts";
import { type Behavior, good, shapeConnection } from "./behavior.ts";
import type { Counter } from "./counter.ts";
import type { Member } from "./credentials.ts";
import { serveFloor } from "./floor.ts";

export interface SimulatedPeelOptions {
  busUrl: string;
  caPem: string;
  member: Member;
  /** Keys whose commands it accepts. */
  commandKeys: readonly string[];
  /** The fleet's directory; each peel has its own below it. */
  dataDir: string;
  counter: Counter;
}

/** One peel with the protocol code of the real one and a TLS connection of its own, without its program. */
export interface SimulatedPeel {
  behave(behavior: Behavior): void;
  /** Closes the connection and stays disconnected until `comeBack`. Its memory stays. */
  goAway(): Promise<void>;
  comeBack(): void;
  /** Is killed, and restarts from its data directory. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Connects a peel and lets it work. */
export async function startSimulatedPeel(options: SimulatedPeelOptions): Promise<SimulatedPeel> {
  let behavior = good;
  let life = await live(options, () => behavior);
  return {
    behave(next) {
      behavior = next;
    },
    goAway: () => life.goAway(),
    comeBack: () => life.comeBack(),
    async restart() {
      await life.die();
      life = await live(options, () => behavior);
    },
    stop: () => life.die(),
  };
}

async function live(options: SimulatedPeelOptions, behavior: () => Behavior) {
  const { busUrl, member, counter } = options;
  const { peelId } = member;
  const [clock, jitter, log] = [systemClock, systemJitter, counter.log];
  const dataDir = join(options.dataDir, peelId);
  makeDirectory(dataDir, 0o700);
  const spread = createSpread(jitter);
  let away = Promise.withResolvers<void>();
  away.resolve();
  let current: Bus | undefined;
  const open = async () => {
    await away.promise;
    current = await connectBus({
      urls: [busUrl],
      name: `svc-peel ${peelId}`,
      identity: { credentials: member.credentials },
      ca: options.caPem,
      inboxPrefix: peelInboxPrefix(peelId),
      reconnectDelayMs: spread.reconnectDelayMs,
      clock,
      log,
    });
    return current;
  };
  const bare = createConnection({ first: { bus: await open(), urls: [busUrl] }, open, clock, jitter, log });
  const connection = shapeConnection(bare, behavior, () => counter.greeted(peelId));
  const forget = bare.onConnect(() => counter.connected(peelId));

  const [key = ""] = options.commandKeys;
  serveFloor(bare, (subject, data) => current?.publish(subject, data), peelId, key, log);
  const facts = fixedFacts({ id: peelId, os: "Simulated", kernel: "Linux" });
  const settings = fixedSettings();
  const context = (signal: AbortSignal) => ({ clock, facts, settings, signal });
  const kept = openOutbox({ dataDir, clock, jitter, log });
  const local = startLocal({
    mask: () => noMask,
    ...kept,
    peelId,
    dataDir,
    context,
    clock,
    jitter,
    log,
  });
  const session = startSession({
    connection,
    peelId,
    commandKeys: { current: options.commandKeys },
    facts,
    settings,
    stateFiles: noStateFiles(),
    onCluster: async () => {},
    local,
    spread,
    clock,
    random: systemRandom,
    jitter,
    log,
  });

  return {
    async goAway() {
      away = Promise.withResolvers<void>();
      counter.gone(peelId);
      await current?.nats.close();
    },
    comeBack: () => away.resolve(),
    async die() {
      forget();
      counter.gone(peelId);
      // The connection first: its unsent messages are lost with it.
      const closed = current?.nats.close();
      // Running calls end without a record on disk.
      local.outbox.stop();
      local.dedup.stop();
      session.stop();
      await local.executor.stop();
      away.resolve();
      await closed;
      await bare.stop();
    },
  };
}
