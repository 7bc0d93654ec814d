import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { peelPermissions } from "../../internal/fleet/enrollment/bus-user/permissions.ts";
import { formatCredentials, parseCredentials } from "../../internal/identity/credentials.ts";
import { encodeJwt, readClaims } from "../../internal/identity/jwt.ts";
import { keyPairFromSeed, newKeyPair } from "../../internal/identity/nkey.ts";
import { linesOf } from "../harness/jobs.ts";
import { connectPeel } from "../harness/peel-connection.ts";
import { standUpTwoMasters, type TwoMasters, until } from "./two-masters.ts";

// The signing key of the account and the command key are replaced to the end, with the compiled svc, while two
// masters and three peels run, and jobs come all the time.

setDefaultTimeout(120_000);

const members = ["web-a", "web-b", "web-c"];
let fleet: TwoMasters;

beforeAll(async () => {
  fleet = await standUpTwoMasters();
  for (const id of members) await fleet.admit(id);
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

const keys = (verb: string, key: string, at: 0 | 1 = 0) =>
  fleet.svc("keys", verb, key, "--dir", fleet.auth[at]);
const status = async () =>
  JSON.parse((await fleet.svc("keys", "status", "--dir", fleet.auth[0], "--output", "json")).stdout);
const copy = (name: string) => copyFileSync(join(fleet.auth[0], name), join(fleet.auth[1], name));
const textOf = (name: string) => readFileSync(join(fleet.auth[0], name), "utf8");
const signingKey = (name: string) => keyPairFromSeed("account", textOf(name));
const credentialsOf = (id: string) => readFileSync(join(fleet.dataDir(id), "auth", `${id}.creds`), "utf8");
const issuerOf = (id: string) => readClaims(parseCredentials(credentialsOf(id)).jwt).iss;
/** Tries again while masters have not reported yet, and returns the last answer. */
const finish = (key: string) =>
  until(
    () => keys("finish", key),
    ({ stderr }) => !stderr.includes("try again soon"),
  );

/** Rotates the signing key of the account on both masters, and waits until both issue with it. */
async function rotateAccount(): Promise<string> {
  expect(await keys("rotate", "account")).toMatchObject({ code: 0 });
  copy("account-signing-next.seed");
  const { account } = await until(status, ({ masters, account }) =>
    masters.every((one: Record<string, unknown>) => one.issues_with === account.next && one.issues_since),
  );
  return account.next;
}

async function renewAll(): Promise<void> {
  const ran = await fleet.svc("run", "*", "identity.renew", "--timeout", "30s", "--output", "json");
  expect(JSON.parse(ran.stdout).counts).toEqual({ ok: members.length });
}

/** Whether the bus accepts these credentials. */
async function isAccepted(credentials: string): Promise<boolean> {
  try {
    await using connection = await connectPeel(fleet.bus, { peelId: "web-a", credentials });
    await connection.nats.flush();
    return true;
  } catch {
    return false;
  }
}

/** Sends a job after the other to all peels until it is ended: every peel must have done each of them once. */
function workSteadily(name: string): { end(): Promise<void> } {
  const effects = join(fleet.bus.dir, name);
  const jids: string[] = [];
  let running = true;
  const work = async () => {
    while (running) {
      const effect = `echo ${jids.length} >> ${effects}`;
      const ran = await fleet.svc("run", "*", "cmd.run", effect, "--async", "--output", "json");
      expect(ran).toMatchObject({ code: 0 });
      jids.push(JSON.parse(ran.stdout).jid);
      await sleep(systemClock, 1_000);
    }
  };
  const working = work();
  working.catch(() => {});
  return {
    async end() {
      running = false;
      await working;
      for (const jid of jids) {
        await fleet.svc("job", "watch", jid);
        const shown = JSON.parse((await fleet.svc("job", "show", jid, "--output", "json")).stdout);
        expect(shown).toMatchObject({ status: "completed", counts: { ok: members.length } });
      }
      const expected = jids.flatMap((_, number) => members.map(() => `${number}`));
      expect(linesOf(effects).toSorted()).toEqual(expected.toSorted());
      process.stdout.write(`${jids.length} jobs during the change\n`);
    },
  };
}

test("the signing key of the account is replaced twice; afterwards the first one signs nothing that counts", async () => {
  const work = workSteadily("account");
  const first = await rotateAccount();
  const refused = await finish("account");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("3 unexpired records depend on the key before: web-a, web-b, web-c");
  await renewAll();
  expect(members.map(issuerOf)).toEqual([first, first, first]);
  expect(await finish("account")).toMatchObject({ code: 0 });
  expect(await keys("finish", "account", 1)).toMatchObject({ code: 0 });

  const old = signingKey("account-signing.seed");
  expect(old.publicKey).toBe(first);
  const before = credentialsOf("web-a");
  const next = await rotateAccount();
  // What the first key signed stays valid until finish.
  expect(await isAccepted(before)).toBe(true);
  await renewAll();
  expect(members.map(issuerOf)).toEqual([next, next, next]);
  expect(await finish("account")).toMatchObject({ code: 0 });
  expect(await keys("finish", "account", 1)).toMatchObject({ code: 0 });
  expect(existsSync(join(fleet.auth[1], "account-signing-next.seed"))).toBe(false);

  await until(
    () => isAccepted(before),
    (accepted) => !accepted,
  );
  const thief = newKeyPair("user", systemRandom);
  const account = keyPairFromSeed("account", textOf("account.seed")).publicKey;
  const nats = { ...peelPermissions("web-a"), subs: -1, data: -1, payload: -1 };
  const issuedAt = Math.floor(systemClock.now() / 1000);
  const forged = encodeJwt(
    { type: "user", name: "web-a", subject: thief.publicKey, issuedAt, nats },
    { ...old, issuerAccount: account },
  );
  expect(await isAccepted(formatCredentials(forged, thief.seed))).toBe(false);
  expect(await isAccepted(credentialsOf("web-a"))).toBe(true);
  await fleet.ping(...members);
  await work.end();
  for (const id of members) expect(fleet.peel(id).output()).not.toContain('"msg":"bus disconnected"');
});

test("a new peel gets credentials of the key that took over", async () => {
  await fleet.admit("web-d");
  expect(issuerOf("web-d")).toBe(signingKey("account-signing.seed").publicKey);
  await fleet.stopPeel("web-d");
  const listed = JSON.parse(
    (await fleet.svc("enroll", "list", "--state", "active", "--output", "json")).stdout,
  );
  const found = listed.find((one: { peel_id: string }) => one.peel_id === "web-d");
  expect(await fleet.svc("enroll", "revoke", found.id)).toMatchObject({ code: 0 });
});

test("finish command names an alive peel that has not confirmed, and drops nothing; with a master it confirms", async () => {
  const deaf = await fleet.startPeel("web-c", { reachesMasters: false });
  await deaf.waitFor("peel connected");
  const work = workSteadily("command");
  const before = textOf("command.seed");
  expect(await keys("rotate", "command")).toMatchObject({ code: 0 });
  copy("command-next.seed");
  for (const id of ["web-a", "web-b"]) await fleet.peel(id).waitFor("command keys replaced", 60_000);
  const refused = await until(
    () => keys("finish", "command"),
    ({ stderr }) => stderr.includes("1 alive peel has not confirmed"),
  );
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/^svc: .*1 alive peel has not confirmed the next command key: web-c\n$/);
  expect(textOf("command.seed")).toBe(before);
  expect((await status()).command).toMatchObject({ phase: "waiting", unconfirmed: ["web-c"] });
  // It goes on: commands are still signed with the key that it knows.
  await fleet.ping(...members);
  await work.end();

  const peel = await fleet.startPeel("web-c");
  await peel.waitFor("peel connected");
  const finished = await until(
    () => keys("finish", "command"),
    ({ code }) => code === 0,
  );
  expect(finished).toMatchObject({ code: 0 });
  expect(await keys("finish", "command", 1)).toMatchObject({ code: 0 });
  expect(textOf("command.seed")).not.toBe(before);
  await fleet.ping(...members);
});
