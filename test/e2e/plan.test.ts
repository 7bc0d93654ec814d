import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { until } from "../harness/until.ts";

// What a change would order, asked of a compiled master with three peels, of which one is a database.

const secret = "hunter2-very-secret";
let bus: TestBus;
let master: MasterDaemon;
const peels: Daemon[] = [];
const names = ["db-1.example", "web-1.example", "web-2.example"];

const states = {
  "top.sls": "base:\n  '*':\n    - web\n  'T@role:db':\n    - match: compound\n    - db\n",
  "web.sls":
    "nginx:\n  service.running:\n    - name: nginx\n    - watch:\n      - file: nginx-conf\n\nnginx-conf:\n  file.managed:\n    - name: /etc/nginx.conf\n    - contents: listen {{ settings.app.port }}\n",
  "db.sls":
    "db-conf:\n  file.managed:\n    - name: /etc/db.conf\n    - contents: {{ settings.db_password }}\n",
};
const settings = {
  "top.sls": "base:\n  '*': [common]\n",
  "common.sls": `app:\n  port: 80\ndb_password: ${secret}\n`,
};

beforeAll(async () => {
  bus = await startBus();
  for (const [path, text] of Object.entries(states)) put(`states/${path}`, text);
  for (const [path, text] of Object.entries(settings)) put(`settings/${path}`, text);
  master = await startMasterBinary(bus, [
    ...["--settings-dir", join(bus.dir, "settings"), "--states-dir", join(bus.dir, "states")],
  ]);
  for (const name of names) {
    const peel = startPeelBinary(bus, master.url, name, { dir: join(bus.dir, name) });
    peels.push(peel);
    await peel.program.waitFor("waiting for an operator's approval");
    const [pending] = JSON.parse((await svc(bus, "enroll", "list", "--output", "json")).stdout);
    await svc(bus, "enroll", "approve", pending.id);
    if (name.startsWith("db")) await svc(bus, "enroll", "label", pending.id, "role=db");
  }
  const facts = async (name: string) => (await svc(bus, "facts", "get", name, "os")).stdout.trim();
  await until(async () => (await Promise.all(names.map(facts))).every((each) => each !== ""));
  await until(async () => (await plan()).code === 0);
}, 90_000);
afterAll(async () => {
  for (const peel of peels) await peel[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

function put(path: string, text: string): void {
  const file = join(bus.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}~`, text);
  renameSync(`${file}~`, file);
}

const plan = (...more: string[]) => svc(bus, "plan", ...more);

/** A checkout of both, with changes. */
function checkout(name: string, changes: Readonly<Record<string, string>>): string {
  for (const each of ["states", "settings"]) {
    cpSync(join(bus.dir, each), join(bus.dir, name, each), { recursive: true });
  }
  for (const [path, text] of Object.entries(changes)) put(`${name}/${path}`, text);
  return join(bus.dir, name);
}

test("what is in force changes nothing", async () => {
  const { stdout, stderr, code } = await plan("--detailed-exitcode");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("on 3 peels, compared with base at ");
  expect(stdout).toContain("nothing changes");
  const same = await plan("--tree", checkout("same", {}), "--detailed-exitcode");
  expect([same.code, same.stderr]).toEqual([0, ""]);
}, 60_000);

test("a setting that changes: where it is written, whom it changes, and what restarts", async () => {
  const tree = checkout("port", {
    "settings/common.sls": settings["common.sls"].replace("80", "8080"),
  });
  const { stdout, stderr, code } = await plan("--tree", tree, "--detailed-exitcode");
  expect([code, stderr]).toEqual([2, ""]);
  const lines = stdout.split("\n");
  expect(lines[2]).toBe("settings/common.sls:2  app:port 80 → 8080  changes 3 peels");
  expect(lines.slice(4, 6)).toEqual([
    "3 peels, such as db-1.example … web-2.example, restarts nginx:",
    '  ~ file.managed /etc/nginx.conf  contents ["listen 80"] → ["listen 8080"]',
  ]);
  expect(Math.max(...lines.slice(1).map((line) => line.length))).toBeLessThanOrEqual(80);
  const json = JSON.parse((await plan("web-*", "--tree", tree, "--output", "json")).stdout);
  expect(json).toMatchObject({ peels: 2, unchanged: 0, commit: "local", target: "web-*" });
  expect(json.groups).toEqual([
    expect.objectContaining({ count: 2, peels: ["web-1.example", "web-2.example"], restarts: ["nginx"] }),
  ]);
  const markdown = (await plan("--tree", tree, "--output", "markdown")).stdout;
  expect(markdown).toContain("### Changes for 3 peels");
  expect(markdown).toContain("<details><summary>3 peels");
}, 60_000);

test("a secret that changes is never shown, and a condition on one is unknown", async () => {
  const tree = checkout("secret", {
    "settings/common.sls": settings["common.sls"].replace(secret, "another-secret"),
  });
  const changed = await plan("--tree", tree, "--output", "json");
  expect(changed.stdout).not.toContain(secret);
  expect(changed.stdout).not.toContain("another-secret");
  expect(JSON.parse(changed.stdout).groups).toEqual([
    expect.objectContaining({
      peels: ["db-1.example"],
      changes: [
        expect.objectContaining({
          before: expect.objectContaining({ contents: ["********"] }),
          after: expect.objectContaining({ contents: ["********"] }),
          why: [
            {
              file: "settings/common.sls",
              line: 3,
              setting: "db_password",
              before: "********",
              after: "********",
            },
          ],
        }),
      ],
    }),
  ]);
  const spying = checkout("spying", {
    "states/web.sls": `${states["web.sls"]}{% if settings.db_password[0] == 'h' %}\nx:\n  test.nop: []\n{% endif %}\n`,
  });
  const { stdout, code } = await plan("web-1.example", "--tree", spying, "--detailed-exitcode");
  expect([code, stdout]).toEqual([2, expect.stringContaining("web.sls depends on a secret")]);
}, 60_000);

test("a checkout over REST: accepted, made, shown; other bodies and other callers are refused", async () => {
  const tree = checkout("rest", {
    "settings/common.sls": settings["common.sls"].replace("80", "8080"),
  });
  const archive = Bun.spawnSync(["tar", "-cf", "-", "-C", tree, "states", "settings"]).stdout;
  const rest = (path: string, type?: string, body?: Uint8Array, token = master.token) =>
    send(master.url, bus.caPem, {
      ...{ path, method: type === undefined ? "GET" : "POST", from: freshAddress() },
      headers: { authorization: `Bearer ${token}`, ...(type === undefined ? {} : { "content-type": type }) },
      ...(body === undefined ? {} : { body }),
    });
  const accepted = await rest("/api/v1/plans?target=web-*", "application/x-tar", archive);
  const location = String(accepted.headers.location ?? "");
  expect([accepted.status, location]).toEqual([202, expect.stringMatching(/^\/api\/v1\/plans\/pln-/)]);
  const made = await until(
    async () => (await rest(location)).json as { state: string; plan?: { groups: unknown[] } },
    ({ state }) => state === "done",
  );
  expect(made.plan?.groups).toEqual([expect.objectContaining({ count: 2, restarts: ["nginx"] })]);
  expect((await rest("/api/v1/plans", "text/plain", archive)).status).toBe(415);
  expect((await rest("/api/v1/plans", "application/x-tar", archive.subarray(0, 700))).status).toBe(400);
  expect((await rest("/api/v1/plans", "application/x-tar", archive, "wrong")).status).toBe(401);
  expect((await rest("/api/v1/plans?environment=gone", "application/x-tar")).status).toBe(202);
  expect((await rest(`${location.slice(0, -1)}x`)).status).toBe(404);
}, 60_000);

test("errors come first, links are left out and named, and a plan of another is not shown", async () => {
  const tree = checkout("broken", {
    "states/db.sls": "db-conf:\n  file.managed:\n    - require:\n      - pkg: gone\n",
    "states/web.sls": states["web.sls"].replace("listen", "port"),
  });
  symlinkSync("/etc/hostname", join(tree, "states", "link.sls"));
  const { stdout, stderr, code } = await plan("--tree", tree);
  expect([code, stderr]).toEqual([1, expect.stringContaining("link.sls: a symbolic link")]);
  expect(stdout.split("\n")[4]).toBe("db-1.example: cannot be compiled");
  expect(stdout).toContain("web-1.example and web-2.example, restarts nginx:");
  const bad = await plan("--tree", tree, "--commit", "abcd", "--detailed-exitcode");
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("exclude each other")]);
}, 60_000);
