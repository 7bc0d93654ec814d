import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { decode } from "../../internal/base/msgpack.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import {
  attestation,
  bearer,
  call,
  type Door,
  type Enrollee,
  newEnrollee,
  postJson,
  submission,
  submit,
  takeNonce,
} from "../harness/enrollee.ts";
import { binaries, type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { startMaster } from "../harness/master.ts";
import { runProgram, startProgram } from "../harness/process.ts";

// Hosts that join with a token: over the wire as it is described, and with the compiled programs.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: MasterDaemon;
let stack: AsyncDisposableStack;

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  bus = stack.use(await startBus());
  master = stack.use(await startMasterBinary(bus));
});
afterAll(async () => {
  await stack?.[Symbol.asyncDispose]();
});

const doorOf = ({ url }: { url: string }): Door => ({ url, ca: bus.caPem });
const path = "/api/v1/enroll-tokens";

/** What a token is made of. */
interface Made {
  id: string;
  token: string;
  urls: string[];
  pins: string[];
  secret: Uint8Array;
}

async function create(
  from: { url: string; token?: string },
  requested: Record<string, unknown> = {},
): Promise<Made> {
  const headers = from.token === undefined ? bearer : { authorization: `Bearer ${from.token}` };
  const { status, json, text } = await postJson(doorOf(from), path, requested, { headers });
  if (status !== 201) throw new Error(`${status} ${text}`);
  const { token, id } = json as { token: string; id: string };
  const [, word = ""] = /^svcjoin1\.([A-Za-z0-9_-]+)$/.exec(token) ?? [];
  return { ...(decode(Buffer.from(word, "base64url")) as Omit<Made, "token">), id, token };
}

/** Asks to join. */
async function request(door: Door, peel: Enrollee, { id, secret, pins }: Made, root = pins[0] ?? "") {
  const nonce = await takeNonce(door, peel);
  const message = Buffer.concat([Buffer.from(nonce.challenge, "base64"), Buffer.from(`\0${peel.publicKey}`)]);
  const proof = createHmac("sha256", secret).update(message).digest("base64");
  const body = { ...submission(peel, nonce, attestation(peel, nonce, root)), token: { id, proof } };
  return submit(door, body);
}

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((one) => one === status).length;

describe("over the wire", () => {
  test("the answers are those of the description", async () => {
    const door = doorOf(master);
    const lab = await create(master, { peel: "lab-*", uses: 2, label: { env: "lab" }, url: ["https://a:1"] });
    expect(lab).toMatchObject({ urls: ["https://a:1"] });
    const first = newEnrollee("lab-1_example_com");
    expect(await request(door, first, lab)).toMatchObject({ status: 201, json: { state: "approved" } });
    const outside = await request(door, newEnrollee("web-1"), lab);
    expect([outside.status, (outside.json as { error: string }).error]).toEqual([
      403,
      "join token is for hosts that match lab-*, and not for web-1",
    ]);
    const wrong = await request(door, newEnrollee("lab-2"), { ...lab, secret: new Uint8Array(32) });
    expect([wrong.status, (wrong.json as { error: string }).error]).toEqual([
      401,
      "join token verification failed",
    ]);
    const mismatch = await request(door, newEnrollee("lab-3"), lab, `sha256:${"00".repeat(32)}`);
    expect(mismatch).toMatchObject({ status: 201, json: { state: "pending" } });
    const waiting = newEnrollee("lab-4");
    const pending = await submit(door, submission(waiting, await takeNonce(door, waiting)));
    expect(pending).toMatchObject({ status: 201, json: { state: "pending" } });
    expect(await request(door, waiting, lab)).toMatchObject({ status: 200, json: { state: "approved" } });
    const full = await request(door, newEnrollee("lab-5"), lab);
    expect([full.status, (full.json as { error: string }).error]).toEqual([
      403,
      "join token is used up: 2 hosts have joined with it",
    ]);
    const headers = { authorization: `Bearer ${master.token}` };
    const { json } = await call(door, { path: `${path}/${lab.id}`, headers });
    expect(json).toMatchObject({ state: "used up", uses_left: 0, used_by: [{}, {}] });
    expect(JSON.stringify(json)).not.toContain(Buffer.from(lab.secret).toString("base64url"));
  });

  test("a stolen token is of no use after its revocation, on every master", async () => {
    await using other = await startMaster(bus);
    const token = await create(master, { uses: 5 });
    const door = doorOf(other);
    expect(await request(door, newEnrollee(), token)).toMatchObject({ status: 201 });
    const gone = await svc(bus, "enroll", "token", "revoke", token.id);
    expect(gone.stdout).toBe(`revoked ${token.id}: 4 of 5 uses were left\n`);
    const refused = await request(door, newEnrollee(), token);
    expect([refused.status, (refused.json as { error: string }).error]).toEqual([
      403,
      "join token was revoked",
    ]);
  });
});

test("100 hosts with 50 uses on two masters: exactly 50", async () => {
  await using other = await startMaster(bus);
  const token = await create(master, { uses: 50 });
  const doors = [doorOf(master), doorOf(other)];
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => request(doors[n % 2] ?? doorOf(master), newEnrollee(), token)),
  );
  const statuses = answers.map(({ status }) => status);
  expect([countOf(statuses, 201), countOf(statuses, 403)]).toEqual([50, 50]);
});

test("N uses, 2N hosts, and a master that is killed in between: never more, and none is lost for good", async () => {
  await using doomed = await startMasterBinary(bus);
  await using other = await startMaster(bus);
  const uses = 20;
  const token = await create(other, { uses });
  const hosts = Array.from({ length: 2 * uses }, () => newEnrollee());
  let answered = 0;
  const answers = await Promise.all(
    hosts.map(async (host, n) => {
      try {
        const { status } = await request(doorOf(n % 2 === 0 ? doomed : other), host, token);
        if (++answered === 5) doomed.program.kill("SIGKILL");
        return status;
      } catch {
        return 0;
      }
    }),
  );
  const admitted = async (door: Door) => {
    const { json } = await call(door, {
      path: "/api/v1/enrollments?state=approved&limit=500",
      headers: bearer,
    });
    const ids = new Set(hosts.map(({ peelId }) => peelId));
    return (json as { peel_id: string }[]).filter(({ peel_id }) => ids.has(peel_id)).length;
  };
  expect(countOf(answers, 201)).toBeLessThanOrEqual(uses);
  expect(await admitted(doorOf(other))).toBeLessThanOrEqual(uses);
  // Three minutes later: what the dead master left behind is settled.
  const later = { ...systemClock, now: () => systemClock.now() + 180_000 };
  await using survivor = await startMaster(bus, { clock: later });
  for (const host of hosts) await request(doorOf(survivor), host, token);
  expect(await admitted(doorOf(survivor))).toBe(uses);
  const { json } = await call(doorOf(survivor), { path: `${path}/${token.id}`, headers: bearer });
  expect(json).toMatchObject({ state: "used up", uses_left: 0 });
});

describe("svc-peel join", () => {
  /** A host with nothing but the program. */
  function newHost(name: string) {
    const dir = join(bus.dir, name);
    mkdirSync(dir);
    const config = join(dir, "etc", "peel.yaml");
    const data = join(dir, "data");
    const argv = (...words: string[]) => [binaries.peel, "join", "--config", config, "--id", name, ...words];
    const env = { SVC_DATA_DIR: data };
    return {
      ...{ config, data, argv, env },
      join: (...words: string[]) => runProgram(argv("--once", ...words), { env }),
    };
  }
  const save = (name: string, text: string) => {
    const file = join(bus.dir, `${name}.token`);
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    return file;
  };

  test("makes a host a member with a file, and runs the peel", async () => {
    const made = await svc(bus, "enroll", "token", "create", "--uses", "2", "--url", master.url);
    expect([made.code, made.stderr]).toEqual([0, expect.stringMatching(/^jtk-\S+ admits 2 hosts until /m)]);
    expect(made.stderr).toContain(
      `because the bus is at ${bus.url}: for other hosts, set bus_advertise_urls`,
    );
    const host = newHost("host-1");
    const file = save("host-1", made.stdout.trim());
    const health = ["--health-addr", "127.0.0.1:0"];
    const once = await host.join("--token-file", file, ...health, "--output", "json");
    expect([once.code, once.stderr]).toEqual([0, expect.stringContaining("enrolled")]);
    expect(JSON.parse(once.stdout)).toMatchObject({ peel_id: "host-1", joined: true });
    expect(readFileSync(host.config, "utf8")).toMatch(
      /^# Written by svc-peel join\.\nid: host-1\nhealth_addr: 127\.0\.0\.1:0\nmaster_urls:\n {2}- https:\/\/localhost:\d+\nenroll_ca_pin:\n {2}- sha256:[0-9a-f]{64}\nbus_url: tls:\/\/127\.0\.0\.1:\d+\n$/,
    );
    const auth = (name: string) => join(host.data, "auth", name);
    expect(readFileSync(auth("enroll-ca.crt"), "utf8")).toStartWith("-----BEGIN CERTIFICATE-----");
    expect(statSync(auth("host-1.creds")).mode & 0o777).toBe(0o600);
    const again = await host.join(...health);
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringMatching(/^host-1 is a member already: enr-/),
    ]);
    const other = await host.join("--health-addr", "127.0.0.1:1");
    expect([other.code, other.stderr]).toEqual([
      1,
      `svc-peel: ${host.config} has another health_addr: leave out --health-addr, or change it there\n`,
    ]);
    const bad = await newHost("host-bad").join("--token-file", file, "--health-addr", "localhost");
    expect([bad.code, bad.stderr]).toEqual([
      2,
      expect.stringContaining("--health-addr: expected host:port, such as 127.0.0.1:8443"),
    ]);
    await using peel = startProgram(host.argv(), { env: host.env });
    await peel.waitFor("peel connected");
  });

  test("takes the token from the environment and from a credential of systemd", async () => {
    const { token } = await create(master, { uses: 2, url: [master.url] });
    const [one, other] = [newHost("host-2"), newHost("host-3")];
    const ran = await runProgram(one.argv("--once"), { env: { ...one.env, SVC_JOIN_TOKEN: token } });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("host-2 has joined the fleet")]);
    const credentials = join(bus.dir, "credentials");
    mkdirSync(credentials);
    writeFileSync(join(credentials, "join-token"), token);
    const env = { ...other.env, CREDENTIALS_DIRECTORY: credentials };
    const second = await runProgram(other.argv("--once"), { env });
    expect([second.code, second.stdout]).toEqual([0, expect.stringContaining("host-3 has joined the fleet")]);
  });

  test("that runs twice at once joins with one use, and can be repeated", async () => {
    const { token, id } = await create(master, { uses: 2, url: [master.url] });
    const host = newHost("host-twice");
    const file = save("host-twice", token);
    const runs = await Promise.all([host.join("--token-file", file), host.join("--token-file", file)]);
    // The second is refused while the first runs, or finds that this host is a member.
    const refused = runs.filter(({ code }) => code !== 0);
    expect(refused.length).toBeLessThan(2);
    for (const { stderr } of refused)
      expect(stderr).toContain("another svc-peel join is running on this host");
    const again = await host.join("--token-file", file);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("is a member already")]);
    // The unit of the package does not know these places.
    expect(again.stderr).toContain(
      `Start the peel: SVC_DATA_DIR=${host.data} svc-peel --config ${host.config}`,
    );
    const headers = { authorization: `Bearer ${master.token}` };
    const { json } = await call(doorOf(master), { path: `${path}/${id}`, headers });
    expect(json).toMatchObject({ uses_left: 1 });
  });

  test("warns of a token among the arguments, and never repeats it", async () => {
    const { token } = await create(master, { url: [master.url] });
    const { code, stdout, stderr } = await newHost("host-4").join(token);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining("other users of this host can see the token"),
    ]);
    expect(stdout + stderr).not.toContain(token);
  });

  test("says in one line what is wrong, with the next step", async () => {
    const { token, id } = await create(master, { url: [master.url] });
    const { code } = await newHost("host-5").join("--token-file", save("host-5", token));
    expect(code).toBe(0);
    const used = await newHost("host-6").join("--token-file", save("host-6", token));
    expect([used.code, used.stderr]).toEqual([
      1,
      expect.stringContaining(
        `the masters do not admit host-6: join token is used up: another host has joined with it (${id}); make another one with svc enroll token create`,
      ),
    ]);
    const { join: run, config } = newHost("host-7");
    for (const [text, message] of [
      ["garbage", "this is not a join token; copy the whole line"],
      [token.slice(0, -5), "the join token is damaged or cut off; copy the whole line"],
      [token.replace("svcjoin1", "svcjoin2"), "made by a later version; upgrade svc-peel on this host"],
    ] as const) {
      const { code: exit, stderr } = await run("--token-file", save("host-7", text));
      expect([exit, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(existsSync(config)).toBe(false);
    }
    const bare = await run();
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("give --token-file FILE")]);
  });

  test("changes nothing on a host of another fleet", async () => {
    const { token } = await create(master, { url: [master.url] });
    const host = newHost("host-8");
    mkdirSync(join(host.config, ".."));
    const before = `enroll_ca_pin: [sha256:${"ab".repeat(32)}]\n`;
    writeFileSync(host.config, before);
    const { code, stderr } = await host.join("--token-file", save("host-8", token));
    expect([code, stderr]).toEqual([1, expect.stringContaining("this host belongs to another fleet")]);
    expect(readFileSync(host.config, "utf8")).toBe(before);
    // The use is still there.
    const next = await newHost("host-9").join("--token-file", save("host-9", token));
    expect(next.code).toBe(0);
  });
});

describe("svc enroll token create", () => {
  test.each([
    ["command", /^printf '%s\\n' 'svcjoin1\.[\w-]+' \| sudo svc-peel join --token-file -\n$/],
    ["json", /^\{\n {2}"id": "jtk-[\s\S]+"token": "svcjoin1\.[\w-]+"[\s\S]+\}\n$/],
    ["cloud-init", /^#cloud-config\nwrite_files:\n[\s\S]+ {6}svcjoin1\.[\w-]+\nruncmd:\n/],
  ])("prints %s", async (format, expected) => {
    const made = await svc(bus, "enroll", "token", "create", "--format", format, "--label", "env=lab");
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(expected)]);
  });

  test.each([
    [["--uses", "0"], '--uses: "0" is not a number from 1 to 10000'],
    [["--ttl", "31d"], "--ttl: must be 1m to 30d"],
    [["--label", "env"], "is not a change of a label"],
    [["--label", "a=1", "--label", "a=2"], "--label: a appears twice"],
    [["--url", "http://a"], "must be https://host:port"],
    [["--peel", "a b"], "must be a glob on peel ids"],
  ])("refuses %j", async (argv, message) => {
    const { code, stdout, stderr } = await svc(bus, "enroll", "token", "create", ...argv);
    expect([code > 0, stdout, stderr]).toEqual([true, "", expect.stringContaining(message)]);
  });
});
