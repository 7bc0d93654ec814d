import { readFileSync } from "node:fs";
import { join } from "node:path";
import { encodeBase64 } from "../../internal/base/base64.ts";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { formatCredentials } from "../../internal/identity/credentials.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { encodeJwt } from "../../internal/identity/jwt.ts";
import { type KeyPair, keyPairFromSeed, newKeyPair, verifySignature } from "../../internal/identity/nkey.ts";
import { type Call, encodeCall } from "../../internal/wire/call.ts";
import { signCommand } from "../../internal/wire/command.ts";
import { createEnvelopeMaker, encodeSettings, type Settings } from "../../internal/wire/settings-envelope.ts";
import type { TestBus } from "./bus.ts";
import { startImpostor, testAuthority } from "./impostor.ts";
import { recordingLog } from "./log.ts";
import { runRecord } from "./run-record.ts";

/** One enrollment as masters keep it. */
interface Kept {
  publicKey: string;
  curvePublicKey: string;
  /** The current one last. */
  busKeys: string[];
  state: string;
}

/**
 * What masters do for one peel that renews, recovers and replaces its keys, written from the specification of
 * the wire: real JWTs on a real bus, and a real HTTPS listener, but a record in memory.
 */
export interface RenewingMasters extends AsyncDisposable {
  readonly url: string;
  /** PEM of the root of the listener. */
  readonly ca: string;
  readonly enrollmentId: string;
  readonly record: Kept;
  /** The key with which the peel enrolled, and its first credentials. */
  readonly key: KeyPair;
  /** Lifetime of what is issued from now on. */
  lifetimeMs: number;
  /** Answers to lose, after what they promise was stored. */
  loseAnswers: number;
  /** Refuses every request on the bus with this code. */
  refuseWith: string | undefined;
  /** How often what was asked. */
  readonly requested: Record<"renew" | "rekey" | "recover" | "byKey", number>;
  /** Sends a signed job, stores what the peel answers, and returns its return. */
  run(call: Call): Promise<Record<string, unknown>>;
  /** Answers hellos with settings that are sealed to the curve key of the record. */
  seal(settings: Settings): void;
  issue(options?: { key?: KeyPair; lifetimeMs?: number }): string;
}

const text = (value: unknown) => String(value ?? "");
const signed = (purpose: string, ...fields: string[]) => Buffer.from([purpose, ...fields].join("\0"));

export async function startRenewingMasters(bus: TestBus, peelId: string): Promise<RenewingMasters> {
  const account = keyPairFromSeed("account", readFileSync(join(bus.authDir, "account.seed"), "utf8"));
  const commandKey = keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8"));
  const key = newKeyPair("user", systemRandom);
  const enrollmentId = newId("enr", systemClock.now(), systemRandom);
  const challenges = new Map<string, Buffer>();
  runRecord.registerSecrets(key.seed);

  const user = (name: string, subject: string, lifetimeMs: number, nats: Record<string, unknown>) => {
    const issuedAt = Math.floor(systemClock.now() / 1000);
    const expiresAt = issuedAt + Math.round(lifetimeMs / 1000);
    return encodeJwt({ type: "user", name, subject, issuedAt, expiresAt, nats }, account);
  };
  const mint = (subject: string, more: { lifetimeMs?: number } = {}) =>
    user(peelId, subject, more.lifetimeMs ?? masters.lifetimeMs, {
      pub: {
        allow: [
          `svc.job.*.return.${peelId}`,
          `svc.job.*.ack.${peelId}`,
          `svc.job.*.progress.${peelId}`,
          ...[`svc.peel.${peelId}.renew`, `svc.peel.${peelId}.rekey`],
          ...[`svc.peel.${peelId}.hello`, `$KV.peel-heartbeat.${peelId}`, `$KV.facts.${peelId}`],
          ...[`$KV.compliance.${peelId}`, `$KV.compliance-diffs.${peelId}`],
        ],
      },
      sub: { allow: [`_INBOX_${peelId}.>`, `svc.job.*.*.${peelId}`, `svc.peel.${peelId}.hint`, "$KV.>"] },
      subs: -1,
      data: -1,
      payload: -1,
    });
  const issued = (subject: string) => ({
    jwt: mint(subject),
    expires_at: new Date(systemClock.now() + masters.lifetimeMs).toISOString(),
    command_keys: [commandKey.publicKey],
  });
  const take = (subject: string) => {
    const { busKeys } = masters.record;
    if (busKeys.at(-1) !== subject) busKeys.push(subject);
  };
  const bytes = (value: unknown) => (value instanceof Uint8Array ? value : new Uint8Array());

  const renew = (requested: Record<string, unknown>) => {
    const { record } = masters;
    const [renews, next, at] = [
      text(requested.renews),
      text(requested.bus_public_key),
      text(requested.signed_at),
    ];
    const message = signed("svc/renew/v1", text(requested.enrollment_id), renews, next, at);
    if (!verifySignature("user", record.publicKey, message, bytes(requested.signature)))
      return "unauthorized";
    const current = record.busKeys.at(-1);
    const isRepeat = next === current && renews === record.busKeys.at(-2);
    if (renews !== current && !isRepeat) return "clone_suspected";
    take(next);
    return next;
  };
  const rekey = (requested: Record<string, unknown>) => {
    const { record } = masters;
    const [publicKey, curve] = [text(requested.public_key), text(requested.curve_public_key)];
    const [next, at] = [text(requested.bus_public_key), text(requested.signed_at)];
    const message = signed("svc/rekey/v1", text(requested.enrollment_id), publicKey, curve, next, at);
    const isSigned =
      verifySignature("user", record.publicKey, message, bytes(requested.signature_old)) &&
      verifySignature("user", publicKey, message, bytes(requested.signature_new));
    if (!isSigned) return "unauthorized";
    Object.assign(record, { publicKey, curvePublicKey: curve });
    take(next);
    return next;
  };

  const authority = await testAuthority("Renewing");
  const json = (status: number, body: Record<string, unknown>) => Response.json(body, { status });
  const server = startImpostor({
    tls: await authority.issue(),
    async answer(request, { pathname }) {
      const { record } = masters;
      if (pathname.startsWith("/api/v1/enroll/by-key/")) {
        masters.requested.byKey++;
        const [, named, signature] =
          /^Nkey (U\w+):([\w-]+)$/.exec(text(request.headers.get("authorization"))) ?? [];
        if (named === undefined || signature === undefined) return json(401, { error: "unauthorized" });
        const isOwn = verifySignature("user", named, Buffer.from(named), Buffer.from(signature, "base64url"));
        if (!isOwn || !pathname.endsWith(`/${named}`)) return json(401, { error: "unauthorized" });
        if (named !== record.publicKey) return json(404, { error: "not found" });
        return json(200, { id: enrollmentId, state: record.state });
      }
      if (pathname === "/api/v1/enroll/nonce") {
        const id = newId("chl", systemClock.now(), systemRandom);
        const challenge = Buffer.from(systemRandom(32));
        challenges.set(id, challenge);
        return json(200, { challenge_id: id, challenge: encodeBase64(challenge) });
      }
      if (pathname === `/api/v1/enroll/${enrollmentId}/recover`) {
        masters.requested.recover++;
        const requested = (await request.json()) as Record<string, unknown>;
        const next = text(requested.bus_public_key);
        const challenge = challenges.get(text(requested.challenge_id));
        challenges.delete(text(requested.challenge_id));
        if (challenge === undefined) return json(401, { error: "challenge verification failed" });
        const message = Buffer.concat([challenge, signed("svc/recover/v1", enrollmentId, next)]);
        const signature = Buffer.from(text(requested.signature), "base64");
        if (!verifySignature("user", record.publicKey, message, signature))
          return json(401, { error: "wrong key" });
        if (!["issued", "active"].includes(record.state)) return json(403, { error: "it has ended" });
        if (record.busKeys.includes(next)) return json(400, { error: "bus_public_key must be a new key" });
        if (requested.revoke_previous === true)
          record.busKeys = record.busKeys.filter((each) => each === next);
        take(next);
        if (masters.loseAnswers-- > 0) return json(503, { error: "lost" });
        return json(200, { peel_id: peelId, recovery_keys: [], ...issued(next) });
      }
      if (pathname === "/api/v1/enroll/ca") {
        const document = { v: 1, ca_bundle_pem: authority.rootPem, fingerprint: authority.pin };
        return json(200, { ...document, nats_urls: [bus.url], command_keys: [commandKey.publicKey] });
      }
      return json(404, { error: "not found" });
    },
  });

  const own = newKeyPair("user", systemRandom);
  const everything = { pub: { allow: [">"] }, sub: { allow: [">"] }, subs: -1, data: -1, payload: -1 };
  const connection: Bus = await connectBus({
    urls: [bus.url],
    name: "renewing-masters",
    identity: {
      credentials: formatCredentials(user("masters", own.publicKey, 3600_000, everything), own.seed),
    },
    ca: bus.caPem,
    clock: systemClock,
    log: recordingLog(),
  });
  for (const [name, act] of Object.entries({ renew, rekey })) {
    connection.nats.subscribe(`svc.peel.${peelId}.${name}`, {
      callback(_, message) {
        masters.requested[name as "renew" | "rekey"]++;
        const outcome = masters.refuseWith ?? act(decode(message.data) as Record<string, unknown>);
        if (masters.loseAnswers-- > 0) return;
        const isKey = outcome.startsWith("U");
        message.respond(
          encode(
            isKey
              ? { ok: true, ...issued(outcome) }
              : { ok: false, error: { code: outcome, message: outcome } },
          ),
        );
      },
    });
  }
  const returns = new Map<string, (value: Record<string, unknown>) => void>();
  /** Commands that the peel has not taken: it may not have subscribed when they were sent. */
  const untaken = new Map<string, Uint8Array>();
  const stored = Buffer.from(JSON.stringify({ stream: "test", seq: 1 }));
  for (const subject of [`svc.job.*.ack.${peelId}`, `svc.job.*.return.${peelId}`, `$KV.*.${peelId}`]) {
    connection.nats.subscribe(subject, {
      callback(_, message) {
        message.respond(stored);
        const [, , jid = "", kind] = message.subject.split(".");
        untaken.delete(jid);
        if (kind === "return") returns.get(jid)?.(decode(message.data) as Record<string, unknown>);
      },
    });
  }
  let sealed: Settings | undefined;
  let version = 0;
  const maker = createEnvelopeMaker(commandKey, systemRandom);
  connection.nats.subscribe(`svc.peel.${peelId}.hello`, {
    callback(_, message) {
      const to = { peelId, curvePublicKey: masters.record.curvePublicKey };
      const bytes = encodeSettings(sealed ?? {});
      const head = { version: ++version, digest: maker.digest(bytes, to) };
      message.respond(
        encode({
          cluster_info: { v: 1, nats_urls: [bus.url], command_keys: [commandKey.publicKey] },
          server_time: new Date(systemClock.now()).toISOString(),
          jobs: [...untaken.values()],
          ...(sealed === undefined ? {} : { settings: maker.make(bytes, to, head) }),
        }),
      );
    },
  });
  await connection.nats.flush();

  const masters: RenewingMasters = {
    url: server.url,
    ca: authority.rootPem,
    enrollmentId,
    record: {
      publicKey: key.publicKey,
      curvePublicKey: deriveCurveKey(key).publicKey,
      busKeys: [],
      state: "active",
    },
    key,
    lifetimeMs: 3600_000,
    loseAnswers: 0,
    refuseWith: undefined,
    requested: { renew: 0, rekey: 0, recover: 0, byKey: 0 },
    run(call) {
      const jid = newId("job", systemClock.now(), systemRandom);
      const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
      returns.set(jid, resolve);
      const deadline = systemClock.now() + 60_000;
      const command = { kind: "dispatch", jid, peel: peelId, deadline, body: encodeCall(call) } as const;
      const signed = signCommand(command, commandKey);
      untaken.set(jid, signed);
      connection.nats.publish(`svc.job.${jid}.dispatch.${peelId}`, signed);
      return promise;
    },
    seal(settings) {
      sealed = settings;
      connection.nats.publish(`svc.peel.${peelId}.hint`);
    },
    issue({ key: first = newKeyPair("user", systemRandom), ...more } = {}) {
      take(first.publicKey);
      runRecord.registerSecrets(first.seed);
      return formatCredentials(mint(first.publicKey, more), first.seed);
    },
    async [Symbol.asyncDispose]() {
      await connection.nats.close();
      await server[Symbol.asyncDispose]();
    },
  };
  return masters;
}
