import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { natsServerVersions, startBus } from "../../../test/harness/bus.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { subjectsOfScopes } from "../../doors/rooms/grants.ts";
import {
  type AccountSigner,
  formatCredentials,
  keyPairFromSeed,
  newKeyPair,
  readClaims,
} from "../../identity/mod.ts";
import { connectBus } from "../connection/connect.ts";
import { encodeOperatorUser, operatorInboxPrefix, operatorScope } from "./operator-users.ts";

const day = 24 * 3600;
const allow = (kind: "pub" | "sub") => {
  const { template } = operatorScope("A") as {
    template: Record<string, { allow: string[]; deny?: string[] }>;
  };
  return template[kind] ?? { allow: [] };
};

test("the template allows no subject of all, of storage, or of the system", () => {
  for (const subject of [...allow("pub").allow, ...allow("sub").allow]) {
    expect(subject).not.toMatch(
      /^>|^\*|^\$SYS|^\$KV\.>|^\$JS\.API\.>|STREAM\.(?:CREATE|DELETE|UPDATE|PURGE)/,
    );
  }
  const others = [...allow("pub").allow, ...allow("sub").allow].filter(
    (subject) => !/^(?:svc\.op|_INBOX)\.\{\{subject\(\)\}\}\./.test(subject),
  );
  expect(others).toEqual([]);
});

test("the JWT of an operator with everything is far below what a server accepts by default", () => {
  const jwt = encodeOperatorUser(
    userOf(newKeyPair("user", systemRandom).publicKey, Object.keys(subjectsOfScopes)),
    {
      ...newKeyPair("account", systemRandom),
      issuerAccount: newKeyPair("account", systemRandom).publicKey,
    },
    subjectsOfScopes,
  );
  expect(jwt.length).toBeLessThan(3_000);
});

test("a scope that nobody knows has no subject", () => {
  const account = newKeyPair("account", systemRandom);
  const signer = { ...account, issuerAccount: account.publicKey };
  const jwt = encodeOperatorUser(
    userOf("U", ["flights list", "toString", "__proto__"]),
    signer,
    subjectsOfScopes,
  );
  expect(readClaims(jwt).nats.tags).toEqual([]);
  expect(readClaims(jwt).nats).not.toHaveProperty("pub");
});

function userOf(publicKey: string, scopes: readonly string[]) {
  const issuedAt = Math.floor(systemClock.now() / 1000);
  return { name: "anna", publicKey, scopes, issuedAt, expiresAt: issuedAt + 30 * day };
}

describe.each(natsServerVersions())("on a server $version", ({ path }) => {
  test("an operator has the subjects of its scopes, its own inbox, and nothing else", async () => {
    await using bus = await startBus({ server: path });
    const text = (name: string) => readFileSync(join(bus.authDir, name), "utf8");
    const account = readClaims(text("masters.jwt")).sub;
    const key = keyPairFromSeed("account", text("masters-operators.seed"));
    const signer: AccountSigner = { ...key, issuerAccount: account };
    const options = {
      ...{ urls: [bus.url], name: "test", ca: bus.caPem, clock: systemClock, log: recordingLog() },
    };
    const master = await connectBus({ ...options, identity: { credentials: text("master.creds") } });
    master.nats.subscribe("svc.>", { callback: (_, message) => message.respond(Buffer.from("yes")) });
    await master.nats.flush();

    const connectAs = (scopes: readonly string[]) => {
      const user = newKeyPair("user", systemRandom);
      const jwt = encodeOperatorUser(userOf(user.publicKey, scopes), signer, subjectsOfScopes);
      const identity = { credentials: formatCredentials(jwt, user.seed) };
      return connectBus({ ...options, identity, inboxPrefix: operatorInboxPrefix(user.publicKey) });
    };
    const requested = [
      "svc.admin.operator.whoami",
      "svc.admin.role.can",
      "svc.job.request",
      "svc.job.job-1.cancel",
      "svc.admin.enroll.approve",
      "svc.admin.enroll.decisions-one",
      "svc.job.job-1.return.web-1",
      "svc.job.job-1.dispatch.web-1",
      "svc.peel.web-1.hello",
      "$JS.API.STREAM.INFO.KV_jobs",
      "$JS.API.STREAM.INFO.KV_secrets",
      "$JS.API.STREAM.DELETE.KV_jobs",
      "$KV.operators.anna",
    ];
    const may = async (scopes: readonly string[], below = (user: string) => `svc.op.${user}.`) => {
      const operator = await connectAs(scopes);
      const found: string[] = [];
      for (const subject of requested) {
        const answer = await operator.nats
          .request(subject.startsWith("$") ? subject : `${below(operator.user)}${subject}`, "", {
            timeout: 2_000,
          })
          .then(() => "answered")
          .catch((thrown: { code?: string }) => thrown.code);
        if (answer !== "PERMISSIONS_VIOLATION") found.push(subject);
      }
      await operator.drain();
      return found;
    };
    const self = ["svc.admin.operator.whoami", "svc.admin.role.can"];
    expect(await may([])).toEqual(self);
    expect(await may(["jobs show"])).toEqual(self);
    expect(await may(["enrollments approve"])).toEqual([...self, "svc.admin.enroll.approve"]);
    expect(await may(Object.keys(subjectsOfScopes))).toEqual(requested.slice(0, 6));

    // Neither the subject without its key, nor below the key of another user.
    const everything = Object.keys(subjectsOfScopes);
    expect(await may(everything, () => "")).toEqual([]);
    const other = newKeyPair("user", systemRandom).publicKey;
    for (const below of [`svc.op.${other}.`, "svc.op.*.", "svc.op."]) {
      expect(await may(everything, () => below)).toEqual([]);
    }

    // Replies to others are out of reach.
    const listener = await connectAs(Object.keys(subjectsOfScopes));
    const refused = Promise.withResolvers<string | undefined>();
    (async () => {
      for await (const status of listener.nats.status()) {
        if (status.type === "error") refused.resolve(status.permissionContext?.subject);
      }
    })();
    listener.nats.subscribe("_INBOX.>");
    expect(await refused.promise).toBe("_INBOX.>");
    await listener.nats.close();
    await master.drain();
  }, 60_000);
});
