import { createSpread } from "../../../internal/agent/link/spread.ts";
import { createBackoff } from "../../../internal/base/backoff.ts";
import { rfc3339, systemClock, type Timer } from "../../../internal/base/clock.ts";
import { systemJitter } from "../../../internal/base/id.ts";
import { decode, encode } from "../../../internal/base/msgpack.ts";
import { version } from "../../../internal/base/version.ts";
import {
  ackSubject,
  dispatchSubject,
  helloSubject,
  hintSubject,
  keySubject,
  parseJobSubject,
  peelInboxPrefix,
  returnSubject,
  siteDispatchSubject,
  stopSubject,
} from "../../../internal/bus/subjects/subjects.ts";
import { parseCredentials } from "../../../internal/identity/credentials.ts";
import { readVersion } from "../../../internal/wire/settings-envelope.ts";
import { encodeReport } from "../../../internal/wire/state-report.ts";
import { answerSubject, floorJob, floorModes, requestSubject } from "../floor.ts";
import type { SimulatedPeel, SimulatedPeelOptions } from "../peel.ts";
import { openWire, pub, type Wire } from "./wire.ts";

// A peel that costs its machine little: it says what a peel says, at the times at which a peel says it, and believes
// every command. So a machine can hold many, and what is measured is the bus and the masters.

/** A simulated peel that can also send the report of a state run, as large as that of a run without a change. */
export interface LightPeel extends SimulatedPeel {
  readonly peelId: string;
  /** The server that it is connected to, or tries. */
  url(): string;
  report(): void;
}

/** As in internal/agent/link and internal/agent/daemon/hello.ts. */
const heartbeatMs = 10_000;
const helloTimeoutMs = 5_000;
const helloPauses = { firstMs: 2_000, maxMs: 5 * 60_000 };
const confirmedWithinMs = 5_000;
const hourMs = 3_600_000;
const hintSpreadMs = 10_000;
const ownSpreadMs = 1_000;
const connectedSpreadMs = 2_000;

const accepted = encode({ accepted: true });
const answer = encode({
  success: true,
  retcode: 0,
  return: true,
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 0,
});
/** Of a run that begins now and changes nothing. */
export const unchangedReport = () =>
  encodeReport({
    ...{ run_at: rfc3339(systemClock.now()), trigger: "schedule", environment: "base", commit: "" },
    ...{ test: false, ok: 40, changed: 0, failed: 0, skipped: 0, would_change: 0, duration_ms: 12 },
    ...{ failures: [], drift: [] },
  });

/** The job of a subject of a command. */
const jobOf = (subject: string): string | undefined => {
  const job = parseJobSubject(subject);
  return job?.kind === "dispatch" ? job.jid : undefined;
};

/** Connects a peel, and again whenever the connection is lost. */
export function startLightPeel(
  options: Omit<SimulatedPeelOptions, "dataDir" | "busUrl"> & {
    siteName?: string;
    /** The servers of the bus, and which of them it tries first. */
    urls: readonly string[];
    first: number;
  },
): LightPeel {
  const { urls, caPem, member, commandKeys, counter, siteName } = options;
  const { peelId, credentials } = member;
  const random = systemJitter;
  const spread = createSpread(random);
  const { jwt, key } = parseCredentials(credentials);
  const inbox = peelInboxPrefix(peelId);
  const first = [
    `${inbox}.>`,
    dispatchSubject("*", peelId),
    stopSubject("*", peelId),
    keySubject("secrets", "_cluster_info"),
    hintSubject(peelId),
    requestSubject(peelId),
    ...(siteName === undefined ? [] : [siteDispatchSubject(siteName, "*")]),
  ]
    .map((subject, at) => `SUB ${subject} ${at + 1}\r\n`)
    .join("");
  /** Of the settings that masters told it. */
  let settingsVersion = 0;
  const hello = () =>
    encode({
      version,
      sent_at: rfc3339(systemClock.now()),
      settings_version: settingsVersion,
      knows_command_keys: commandKeys,
    });
  const life = {
    peel_id: peelId,
    version,
    started_at: "2026-01-01T00:00:00.000Z",
    site: siteName,
  };
  const beat = pub(keySubject("peel-heartbeat", peelId), `${inbox}.beat`, encode(life));
  const facts = encode({ id: peelId, os: "Light", kernel: "Linux" });
  const helloInbox = `${inbox}.hello`;
  let wire: Wire | undefined;
  let timers: Timer[] = [];
  let away = false;
  let isOpen = false;
  let closed = Promise.withResolvers<void>();

  const later = (ms: number, run: () => void) => timers.push(systemClock.after(ms, run));
  let isDue = false;
  /** One hello for all that was said meanwhile. */
  const soon = (spreadMs: number) => {
    if (isDue) return;
    isDue = true;
    later(spreadMs * random(), () => {
      isDue = false;
      sayHello();
    });
  };
  /** Counts hellos: the answer to an earlier one is as good, and only the last one is asked again. */
  let hellos = 0;
  let isGreeted = false;
  const unanswered = createBackoff({ ...helloPauses, jitter: random });
  /** What nobody has confirmed, by the subject of the confirmation: masters that have too much to do drop some. */
  const unconfirmed = new Map<string, Buffer>();
  let reported = 0;
  const reportAgain = (confirmation: string) => {
    const message = unconfirmed.get(confirmation);
    if (message === undefined || !isOpen) return;
    wire?.write(message);
    later(confirmedWithinMs * (1 + random()), () => reportAgain(confirmation));
  };
  const send = (subject: string, data: Uint8Array) => {
    const confirmation = `${inbox}.told.${++reported}`;
    unconfirmed.set(confirmation, pub(subject, confirmation, data));
    reportAgain(confirmation);
  };
  const sendFacts = () => send(keySubject("facts", peelId), facts);
  const sayHello = () => {
    const own = ++hellos;
    isGreeted = false;
    wire?.write(pub(helloSubject(peelId), helloInbox, hello()));
    later(helloTimeoutMs, () => {
      if (!isGreeted && own === hellos) later(unanswered.next(), sayHello);
    });
  };
  const onMessage = (subject: string, _: string, data: Uint8Array) => {
    if (subject === helloInbox) {
      const reported = data.length === 0 ? undefined : (decode(data) as Record<string, unknown>);
      // No master serves, or it answers that it has too much to do.
      if (reported === undefined || reported.jobs === undefined) later(400 + random() * 400, sayHello);
      else {
        isGreeted = true;
        unanswered.reset();
        spread.reported(reported.spread_ms);
        const { fingerprints = [] } = reported.cluster_info as { fingerprints?: readonly string[] };
        counter.reported(peelId, fingerprints);
        if (reported.settings instanceof Uint8Array)
          settingsVersion = readVersion(reported.settings, peelId) ?? 0;
        counter.greeted(peelId);
        for (const missed of Array.isArray(reported.jobs) ? reported.jobs : []) {
          const command = Buffer.from(missed);
          const [jid] = /job-[0-9A-Za-z]{27}/.exec(command.toString("latin1")) ?? [];
          if (jid !== undefined) run(jid, command);
        }
      }
      return;
    }
    if (unconfirmed.has(subject)) {
      if (data.length > 0 && !Buffer.from(data).includes('"error"')) unconfirmed.delete(subject);
      return;
    }
    if (subject === hintSubject(peelId)) return soon(ownSpreadMs);
    if (subject === keySubject("secrets", "_cluster_info")) return soon(hintSpreadMs);
    // The floor: a bare answer, or one that the bus stores.
    if (subject === requestSubject(peelId)) {
      if (data[0] === floorModes.bare) wire?.write(pub(answerSubject(peelId), "", answer));
      else send(returnSubject(floorJob, peelId), answer);
      return;
    }
    const isForSite = subject.startsWith("svc.site.");
    const jid = isForSite ? subject.split(".")[4] : jobOf(subject);
    const command = Buffer.from(data.buffer, data.byteOffset, data.length);
    if (jid === undefined || (isForSite && !command.includes(peelId))) return;
    run(jid, command);
  };
  const run = (jid: string, command: Buffer) => {
    // The return of a quick function is neither announced nor confirmed, where masters send the command again.
    if (command.includes("test.ping") && command.includes("resends")) {
      wire?.write(pub(returnSubject(jid, peelId), "", answer));
      return;
    }
    wire?.write(pub(ackSubject(jid, peelId), `${inbox}.ack`, accepted));
    send(returnSubject(jid, peelId), answer);
  };
  /** Index of the server, and when each of them was tried. */
  let server = options.first;
  const triedAt: number[] = [];
  const url = () => urls[server] ?? "";
  /** As the client library of a real peel does: the next server at once, unless it was tried a moment ago. */
  const openNext = () => {
    server = (server + 1) % urls.length;
    const pauseMs = spread.reconnectDelayMs() - (systemClock.monotonic() - (triedAt[server] ?? -hourMs));
    if (pauseMs <= 0) open();
    else systemClock.after(pauseMs, openNext);
  };
  const open = () => {
    if (away) return;
    triedAt[server] = systemClock.monotonic();
    const { hostname: host, port } = new URL(url());
    closed = Promise.withResolvers();
    wire = openWire({
      host,
      port: Number(port),
      caPem,
      first,
      onMessage,
      connect: (nonce) => ({
        verbose: false,
        pedantic: false,
        lang: "light",
        version: "1",
        protocol: 1,
        headers: true,
        no_responders: true,
        name: `svc-peel ${peelId}`,
        jwt,
        sig: Buffer.from(key.sign(Buffer.from(nonce))).toString("base64url"),
      }),
      onOpen() {
        [isOpen, isGreeted, isDue] = [true, false, false];
        unanswered.reset();
        counter.connected(peelId);
        wire?.write(beat);
        for (const confirmation of unconfirmed.keys()) reportAgain(confirmation);
        soon(connectedSpreadMs);
        timers.push(systemClock.every(heartbeatMs, () => wire?.write(beat)));
      },
      onClose(reason) {
        for (const timer of timers) timer.cancel();
        timers = [];
        isOpen = false;
        counter.gone(peelId);
        closed.resolve();
        if (away) return;
        counter.log.warn(`closed: ${reason}`);
        openNext();
      },
    });
  };
  const goAway = () => {
    away = true;
    wire?.close();
    return closed.promise;
  };
  const comeBack = () => {
    away = false;
    open();
  };
  sendFacts();
  open();
  return {
    ...{ peelId, url },
    report: () => send(keySubject("compliance", peelId), unchangedReport()),
    behave() {
      throw new Error("a light peel does what a peel does, and nothing else");
    },
    goAway,
    comeBack,
    async restart() {
      await goAway();
      sendFacts();
      comeBack();
    },
    stop: goAway,
  };
}
