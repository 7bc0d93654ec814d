import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, natsServerVersions, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { until } from "../../../test/harness/until.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { subjectsOfScopes } from "../../doors/rooms/grants.ts";
import { formatCredentials, keyPairFromSeed, newKeyPair, readClaims } from "../../identity/mod.ts";
import { assets, lintBus, provision } from "../assets/mod.ts";
import { type Bus, connectBus } from "../connection/mod.ts";
import { encodeOperatorUser, operatorInboxPrefix } from "./operator-users.ts";

// What people connect with has no JetStream: who makes a consumer has the server publish in the name of the account,
// which masters and peels believe.

/** Scopes of a role that may ask for everything; every other role has a part of them. */
const everything = Object.keys(subjectsOfScopes);

async function connectOperator(of: TestBus): Promise<Bus> {
  const text = (name: string) => readFileSync(join(of.authDir, name), "utf8").trim();
  const user = newKeyPair("user", systemRandom);
  const issuedAt = Math.floor(systemClock.now() / 1000);
  const jwt = encodeOperatorUser(
    { name: "ann", publicKey: user.publicKey, scopes: everything, issuedAt, expiresAt: issuedAt + 600 },
    {
      ...keyPairFromSeed("account", text("masters-operators.seed")),
      issuerAccount: readClaims(text("masters.jwt")).sub,
    },
    subjectsOfScopes,
  );
  return connectBus({
    ...{ urls: [of.url], name: "ann", ca: of.caPem, clock: systemClock, log: recordingLog() },
    identity: { credentials: formatCredentials(jwt, user.seed) },
    inboxPrefix: operatorInboxPrefix(user.publicKey),
  });
}

/** Another operator, and a peel. */
const other = newKeyPair("user", systemRandom).publicKey;

const api = [
  ...["INFO", "STREAM.NAMES", "STREAM.LIST", "ACCOUNT.PURGE.x", "CONSUMER.CREATE.job-events"],
  ...[
    "job-events",
    "events",
    "audit",
    "KV_jobs",
    "KV_settings",
    "KV_secrets",
    "KV_probe",
    "KV_leases",
  ].flatMap((stream) => [
    ...[
      `STREAM.INFO.${stream}`,
      `STREAM.UPDATE.${stream}`,
      `STREAM.DELETE.${stream}`,
      `STREAM.PURGE.${stream}`,
    ],
    ...[`STREAM.MSG.GET.${stream}`, `STREAM.MSG.DELETE.${stream}`, `STREAM.SNAPSHOT.${stream}`],
    ...[`CONSUMER.CREATE.${stream}.c`, `CONSUMER.DURABLE.CREATE.${stream}.c`, `CONSUMER.LIST.${stream}`],
    ...[`CONSUMER.DELETE.${stream}.c`, `CONSUMER.INFO.${stream}.c`, `CONSUMER.MSG.NEXT.${stream}.c`],
    `DIRECT.GET.${stream}`,
  ]),
].map((request) => `$JS.API.${request}`);
const published = [
  ...api,
  ...[
    "$JS.FC.x",
    "$JS.ACK.job-events.c.1.1.1.1.1",
    "$KV.probe.x",
    "$KV.jobs.x",
    "$KV.enrollments.x",
    "$O.states.M.x",
  ],
  ...["svc.job.job-1.dispatch.web-1", "svc.job.job-1.return.web-1", "svc.event.web-1.x", "svc.audit.x"],
  ...["svc.master.known-keys", "svc.peel.web-1.hello", "$SYS.REQ.SERVER.PING"],
  ...[`_INBOX.${other}.x`, `svc.op.${other}.svc.job.request`, `svc.op.${other}.svc.admin.follow.x`],
  ...["_INBOX.x", "_INBOX_web-1.x", "svc.op.x"],
];
const subscribed = [
  ...[
    ">",
    "_INBOX.*",
    "_R_.>",
    "svc.>",
    "svc.job.>",
    "svc.job.*.return.*",
    "svc.op.>",
    "svc.event.>",
    "svc.audit.>",
  ],
  ...["$KV.>", "$KV.jobs.*", "$KV.rollouts.*", "$JS.>", "$JS.EVENT.>", "$SYS.>"],
  ...[`_INBOX.${other}.>`, `svc.op.${other}.>`, "_INBOX_web-1.>", "svc.admin.>"],
];

describe.each(natsServerVersions())("on a server $version", ({ path }) => {
  test.each(["an operator with every role", "admin.creds"])(
    "%s has no JetStream",
    async (who) => {
      await using files = await startBus({ server: path });
      const master = await connectTo(files, "master");
      await provision(master, { replicas: 1, onlyRaise: true }, recordingLog());
      const person = who === "admin.creds" ? await connectTo(files, "admin") : await connectOperator(files);
      const refused = new Set<string>();
      void (async () => {
        for await (const { permissionContext: at } of person.nats.status()) {
          if (at !== undefined) refused.add(`${at.operation} ${at.subject}`);
        }
      })();
      for (const subject of published) person.nats.publish(subject, "x");
      for (const subject of subscribed) person.nats.subscribe(subject, { callback() {} });
      await person.nats.flush();
      // Who signs with a key and connects with admin.creds gets answers in the inbox of that key.
      const own = who === "admin.creds" ? ["_INBOX.*", `_INBOX.${other}.>`] : [];
      const wanted = [
        ...published.map((subject) => `publish ${subject}`),
        ...subscribed.filter((subject) => !own.includes(subject)).map((subject) => `subscription ${subject}`),
      ];
      await until(
        () => wanted.filter((one) => !refused.has(one)),
        (left) => left.length === 0,
        10_000,
      );

      const config = {
        stream_name: "job-events",
        config: { deliver_subject: "svc.job.request", ack_policy: "none" },
      };
      for (const subject of [
        "$JS.API.CONSUMER.CREATE.job-events",
        "$JS.API.CONSUMER.DURABLE.CREATE.job-events.c",
      ]) {
        await expect(person.nats.request(subject, JSON.stringify(config))).rejects.toThrow(
          "Permissions Violation",
        );
      }
      const { streams } = await master.nats.jetstreamManager();
      expect((await streams.info("job-events")).state.consumer_count).toBe(0);
      // A master may do all that: the same consumer is made, and named as one that no master needs.
      const made = await master.nats.request("$JS.API.CONSUMER.CREATE.job-events", JSON.stringify(config));
      expect(made.json()).not.toHaveProperty("error");
      const { foreign } = await lintBus(master, assets.audit.ttlMs);
      expect(foreign).toMatchObject([{ stream: "job-events", delivers_to: "svc.job.request" }]);
      await person.nats.close();
      await master.nats.close();
    },
    60_000,
  );
});
