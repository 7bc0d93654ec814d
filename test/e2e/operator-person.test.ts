import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConsoleClient } from "../harness/console-client.ts";
import { binaries } from "../harness/fleet.ts";
import { runProgram, startProgram } from "../harness/process.ts";
import { initSingleHost, type SingleHost } from "../harness/single-host.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { until } from "../harness/until.ts";

// The way of a person, with the built binaries: a key on a laptop, one line to an administrator, one file back,
// and a lost laptop.

setDefaultTimeout(60_000);

let host: SingleHost;
const files = temporaryDirectory("persons");

/** A laptop: its own home directory, and nothing of the fleet but what `svc login` installed. */
function laptop(name: string) {
  const home = join(files.path, name);
  mkdirSync(home, { recursive: true });
  const env = { HOME: home, PATH: process.env.PATH ?? "" };
  return {
    home,
    env,
    svc: (...args: string[]) => runProgram([binaries.cli, ...args], { cwd: home, env }),
    file(from: string, text: string) {
      const path = join(home, from);
      writeFileSync(path, text);
      return path;
    },
  };
}

beforeAll(async () => {
  host = await initSingleHost();
  await host.startMaster();
});
afterAll(async () => {
  await host?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

test("the first operator is who ran svc init, with a file that only it can read", async () => {
  const [file = ""] = readdirSync(join(host.dir, "operator"));
  expect(file).toMatch(/\.operator$/);
  expect(statSync(join(host.dir, "operator", file)).mode & 0o777).toBe(0o600);
  const name = file.replace(/\.operator$/, "");
  const who = await host.svc("whoami", "--output", "json");
  expect(JSON.parse(who.stdout)).toMatchObject({ name, roles: ["admin"], registered: true, signed: true });
  expect(readFileSync(join(host.dir, "auth", "administrators"), "utf8")).toMatch(
    new RegExp(`^U[A-Z2-7]{55} ${name}\n$`),
  );
});

test("login --new, add, login FILE, whoami, disable: the connection is gone, and the next one refused", async () => {
  const anna = laptop("anna");
  const made = await anna.svc("login", "--new", "--name", "anna", "--output", "json");
  const { public_key, seed_file, command } = JSON.parse(made.stdout);
  expect(command).toBe(`svc operator add anna --role ROLE --public-key ${public_key} > anna.operator`);
  expect(made.stdout + made.stderr).not.toContain(readFileSync(seed_file, "utf8").trim());
  expect(statSync(seed_file).mode & 0o777).toBe(0o600);

  const added = await host.svc("operator", "add", "anna", "--role", "operator", "--public-key", public_key);
  expect([added.code, added.stdout]).toEqual([0, expect.stringContaining(`public_key: ${public_key}`)]);
  expect(added.stdout).not.toContain("seed");
  const file = anna.file("anna.operator", added.stdout);

  // Another laptop cannot use the file: the key is not there.
  const other = laptop("other");
  const stolen = await other.svc("login", file);
  expect([stolen.code, stolen.stderr]).toEqual([1, expect.stringContaining("is not on this host")]);

  const login = await anna.svc("login", file);
  expect(login.code).toBe(0);
  const installed = join(anna.home, ".svc", "contexts", "anna.operator");
  expect(statSync(installed).mode & 0o777).toBe(0o600);
  expect(JSON.parse((await anna.svc("whoami", "--output", "json")).stdout)).toMatchObject({
    name: "anna",
    roles: ["operator"],
    public_key,
    signed: true,
  });
  // What runs on peels is signed with how many others must agree: its bus user may ask.
  expect((await anna.svc("can", "run", "*", "test.ping")).code).toBe(0);
  expect((await anna.svc("enroll", "list")).code).toBe(0);
  const refused = await anna.svc("operator", "list");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    "svc: anna may not list operators (operator list): no role of anna allows it; an operator with role admin changes them with svc operator roles anna ROLE\n",
  ]);

  const stateOf = async () => {
    const { stdout } = await host.svc("operator", "show", "anna", "--output", "json");
    return JSON.parse(stdout).state;
  };
  expect(await stateOf()).toBe("active");
  const disabled = await host.svc("operator", "disable", "anna", "--output", "json");
  expect(disabled.code).toBe(0);
  const after = await anna.svc("whoami");
  expect([after.code, after.stderr]).toEqual([
    1,
    expect.stringMatching(
      /anna is disabled or removed, or has other roles, or this bus belongs to another fleet than the operator file \(A\w{55}\); an operator with role admin/,
    ),
  ]);
  expect(await stateOf()).toBe("disabled");

  expect((await host.svc("operator", "enable", "anna")).code).toBe(0);
  expect((await anna.svc("whoami")).code).toBe(0);

  const narrowed = await host.svc("operator", "roles", "anna", "viewer");
  expect((await anna.svc("whoami")).code).toBe(1);
  const again = await anna.svc("login", anna.file("again.operator", narrowed.stdout));
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(JSON.parse((await anna.svc("whoami", "--output", "json")).stdout).roles).toEqual(["viewer"]);

  const removed = await host.svc("operator", "remove", "anna");
  expect([removed.code, removed.stdout]).toEqual([0, expect.stringMatching(/^removed anna: /)]);
  expect((await anna.svc("whoami")).code).toBe(1);
});

test("a live connection is closed within a second, and the reply says after how many milliseconds", async () => {
  const bert = laptop("bert");
  const added = await host.svc("operator", "add", "bert", "--role", "operator", "--with-key");
  expect(added.stderr).toContain("the file holds the secret key");
  const login = await bert.svc("login", bert.file("bert.operator", added.stdout));
  expect(login.stderr).toContain("holds your secret key too: remove it");
  const peel = host.startPeel("web-1.example");
  await peel.waitFor("waiting for an operator's approval");
  const [{ id }] = JSON.parse((await bert.svc("enroll", "list", "--output", "json")).stdout);
  expect((await bert.svc("enroll", "approve", id)).code).toBe(0);
  await peel.waitFor("peel connected");
  // It waits for the end of a job, over a connection that lasts.
  const waiting = startProgram([binaries.cli, "run", "web-1.example", "cmd.run", "sleep 30"], {
    cwd: bert.home,
    env: bert.env,
  });
  await until(async () => (await host.svc("job", "list", "--output", "json")).stdout.includes('"cmd.run"'));
  const disabled = await host.svc("operator", "disable", "bert", "--output", "json");
  const { closed_in_ms } = JSON.parse(disabled.stdout);
  expect(closed_in_ms).toBeGreaterThan(0);
  // The bound of the answer: a busy machine takes longer than it promises on a quiet one.
  expect(closed_in_ms).toBeLessThan(5_000);
  await waiting[Symbol.asyncDispose]();
});

test("svc console signs a browser in once, and the session ends with its operator", async () => {
  const eva = laptop("eva");
  const added = await host.svc("operator", "add", "eva", "--role", "viewer", "--with-key");
  expect((await eva.svc("login", eva.file("eva.operator", added.stdout))).code).toBe(0);
  const master = {
    url: `https://localhost:${host.apiPort}`,
    ca: readFileSync(join(host.dir, "auth", "ca", "root.crt"), "utf8"),
  };
  const made = await eva.svc("console", "--no-open", "--url", master.url, "--output", "json");
  expect([made.code, made.stderr]).toEqual([0, expect.stringContaining("It is good once")]);
  const caFile =
    /^A browser .*\(ERR_CERT_AUTHORITY_INVALID, in Firefox SEC_ERROR_UNKNOWN_ISSUER\)\. Import (\S+) into/m.exec(
      made.stderr,
    )?.[1];
  expect(caFile).toEndWith("/.svc/fleet-ca.crt");
  expect(readFileSync(caFile ?? "", "utf8").trim()).toBe(master.ca.trim());
  const { link } = JSON.parse(made.stdout);
  const [, page, code = ""] = /^(.*)#link=([\w-]{43})$/.exec(link) ?? [];
  expect(page).toBe(`${master.url}/console/`);
  const browser = new ConsoleClient();
  const opened = await browser.signIn(master, { link: code });
  expect([opened.status, opened.json]).toMatchObject([201, { name: "eva", roles: ["viewer"] }]);
  expect((await new ConsoleClient().signIn(master, { link: code })).status).toBe(401);
  const status = async () => (await browser.request(master, "GET", "/api/v1/peels")).status;
  expect(await status()).toBe(200);
  expect((await browser.request(master, "GET", "/api/v1/operators")).status).toBe(403);
  // The roles of now count.
  expect((await host.svc("operator", "roles", "eva", "admin")).code).toBe(0);
  expect((await browser.request(master, "GET", "/api/v1/operators")).status).toBe(200);
  expect((await host.svc("operator", "disable", "eva")).code).toBe(0);
  expect(await status()).toBe(401);
  expect((await host.svc("operator", "enable", "eva")).code).toBe(0);
  expect(await status()).toBe(401);
  const wrong = await eva.svc("console", "--url", "http://localhost");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--url: expected the address")]);
});

test("contexts: each fleet by its name, the chosen one without a name, and SVC_CONFIG before both", async () => {
  const carl = laptop("carl");
  for (const name of ["prod", "test"]) {
    const { stdout } = await host.svc("operator", "add", name, "--role", "viewer", "--with-key");
    expect((await carl.svc("login", carl.file(`${name}.operator`, stdout))).code).toBe(0);
  }
  const nameOf = async (...args: string[]) =>
    JSON.parse((await carl.svc("whoami", "--output", "json", ...args)).stdout).name;
  expect(await nameOf()).toBe("test");
  expect(await nameOf("--context", "prod")).toBe("prod");
  expect((await carl.svc("context", "use", "prod")).code).toBe(0);
  expect(await nameOf()).toBe("prod");
  const list = JSON.parse((await carl.svc("context", "list", "--output", "json")).stdout);
  expect(
    list.map(({ context, current }: { context: string; current: boolean }) => [context, current]),
  ).toEqual([
    ["prod", true],
    ["test", false],
  ]);
  const wrong = await carl.svc("whoami", "--context", "prd");
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    "svc: --context: the context prd does not exist (did you mean prod?); known are prod, test\n",
  ]);
  const both = await carl.svc("whoami", "--context", "prod", "--config", "x.yaml");
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("exclude each other")]);
  const env = { ...carl.env, SVC_CONFIG: join(host.dir, "svc.yaml") };
  const first = await runProgram([binaries.cli, "whoami", "--output", "json"], { cwd: carl.home, env });
  expect(JSON.parse(first.stdout).roles).toEqual(["admin"]);
  const none = await laptop("dora").svc("whoami");
  expect([none.code, none.stderr]).toEqual([
    1,
    expect.stringContaining("install an operator file with svc login"),
  ]);
});

test("bad input is one line, and nothing is half-written", async () => {
  const emil = laptop("emil");
  const said = async (...args: string[]) => {
    const { code, stderr } = await emil.svc(...args);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    return [code, stderr] as const;
  };
  expect(await said("login")).toEqual([2, expect.stringContaining("name one of")]);
  expect(await said("login", "--new", "--name", "Emil")).toEqual([2, expect.stringContaining("lower-case")]);
  expect(await said("login", join(emil.home, "none"))).toEqual([1, expect.stringContaining("no such file")]);
  expect(await said("login", emil.file("bad", "fleet: x\n"))).toEqual([
    1,
    expect.stringContaining("is missing"),
  ]);
  expect(readdirSync(emil.home)).toEqual(["bad"]);
  const add = (...args: string[]) => host.svc("operator", "add", ...args);
  expect((await add("emil", "--role", "viewer")).stderr).toContain("name one of: --public-key, --with-key");
  expect((await add("emil", "--role", "viewr", "--with-key")).stderr).toContain("did you mean viewer?");
  expect((await add("emil", "--role", "viewer", "--public-key", "UABC")).stderr).toContain("copy it whole");
  expect((await add("emil", "--role", "viewer", "--with-key", "--expires", "soon")).code).toBe(2);
  expect((await host.svc("operator", "show", "emil")).stderr).toContain("the operator emil does not exist");
});
