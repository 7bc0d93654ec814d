import { afterAll, describe, expect, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { svc as run } from "../../test/harness/svc.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { parseYaml, plainValue } from "../base/yaml/yaml.ts";
import { childrenOf, metaOf } from "../program/command-line/command.ts";
import { formatFields, formatResult } from "../program/command-line/print.ts";
import { tree } from "./tree.ts";

const base = mkdtempSync(join(tmpdir(), "svc-cli-"));
const now = Date.UTC(2026, 0, 1);
const clock: Clock = { ...systemClock, now: () => now };
let count = 0;

afterAll(() => rmSync(base, { recursive: true, force: true }));

const fresh = () => join(base, `dir-${count++}`);

const svc = (...argv: string[]) => run(argv, { clock });

/** A CA made by the command itself. */
async function newCa() {
  const dir = fresh();
  expect((await svc("ca", "init", "--dir", dir, "--org", "Example")).exit).toBe(0);
  return dir;
}

describe("the frame", () => {
  test.each([
    [
      ["ca"],
      "svc: name a command: init, fingerprint, print, issue, renew-root, renew-intermediate, rotate; see svc ca --help\n",
    ],
    [["cq"], 'svc: svc has no command "cq" (did you mean ca?); see svc --help\n'],
    [["ca", "inti"], 'svc: svc ca has no command "inti" (did you mean init?); see svc ca --help\n'],
    [
      ["--outputt", "json", "ca"],
      'svc: unknown option "--outputt" (did you mean --output?); see svc --help\n',
    ],
    [
      ["ca", "init", "--orgg", "x"],
      'svc: unknown option "--orgg" (did you mean --org?); see svc ca init --help\n',
    ],
    [["ca", "init", "-x"], 'svc: unknown option "-x"; see svc ca init --help\n'],
    [["ca", "init", "extra"], 'svc: unexpected argument "extra"; see svc ca init --help\n'],
    [["ca", "init", "--dir"], "svc: --dir needs a value; see svc ca init --help\n"],
    [
      ["ca", "init", "--dir", "--org"],
      'svc: --dir needs a value; one that starts with "-" is written --dir=VALUE; see svc ca init --help\n',
    ],
    [["ca", "init", "--dir", "a", "--dir", "b"], "svc: --dir appears twice; see svc ca init --help\n"],
    [["ca", "issue", "enroll", "--force=1"], "svc: --force takes no value; see svc ca issue enroll --help\n"],
    [
      ["ca", "init", "--output", "jsn"],
      'svc: --output is table, json, jsonl, yaml, csv, not "jsn" (did you mean json?); see svc ca init --help\n',
    ],
    [["nats-auth", "init"], "svc: --dir is required; see svc nats-auth init --help\n"],
    [["nats-auth", "lint"], "svc: <creds-file> is required; see svc nats-auth lint --help\n"],
    [["ca", "init", "--help=yes"], "svc: --help takes no value; see svc ca init --help\n"],
  ])("%p is a mistake that is explained in one line", async (argv, stderr) => {
    expect(await svc(...argv)).toEqual({ exit: 2, stdout: "", stderr });
  });

  test("no command at all is the help", async () => {
    const help = await svc("--help");
    expect(await svc()).toEqual(help);
    expect(help).toEqual({
      exit: 0,
      stdout: expect.stringContaining("\n\nFirst steps:\n  init "),
      stderr: "",
    });
    const names = ((await childrenOf(tree)) ?? []).map((child) => metaOf(child).name).join(", ");
    expect((await svc("--output", "json")).stderr).toBe(`svc: name a command: ${names}; see svc --help\n`);
  });

  test("help is a command, for every command and group", async () => {
    expect(await svc("help")).toEqual(await svc("--help"));
    expect(await svc("help", "ca")).toEqual(await svc("ca", "--help"));
    expect(await svc("help", "ca", "init")).toEqual(await svc("ca", "init", "--help"));
    expect(await svc("help", "ca", "inti")).toEqual({
      exit: 2,
      stdout: "",
      stderr: 'svc: svc ca has no command "inti" (did you mean init?); see svc ca --help\n',
    });
    expect((await svc("help", "run", "web-1")).stderr).toBe(
      'svc: svc run has no command "web-1"; see svc run --help\n',
    );
  });

  test("global options stand before or after the command, in both notations", async () => {
    const dir = await newCa();
    const expected = await svc("ca", "fingerprint", "--dir", dir, "--output", "json");
    expect(JSON.parse(expected.stdout)).toEqual({ spki_pin: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    expect(await svc("--output", "json", "ca", "fingerprint", "--dir", dir)).toEqual(expected);
    expect(await svc("ca", "--no-color", "--output=json", "fingerprint", `--dir=${dir}`)).toEqual(expected);
  });

  test("--version and --help work everywhere, and a value that looks like one is a value", async () => {
    const version = { exit: 0, stdout: `svc ${manifest.version}\n`, stderr: "" };
    expect(await svc("--version")).toEqual(version);
    expect(await svc("ca", "init", "--version")).toEqual(version);
    expect(await svc("version")).toEqual(version);
    expect(JSON.parse((await svc("version", "--output", "json")).stdout)).toEqual({
      version: manifest.version,
    });
    expect((await svc("-h")).stdout).toContain("Usage: svc <command> [options]");
    expect((await svc("ca", "init", "--dir", "x", "-h")).stdout).toContain("Usage: svc ca init [options]");
    expect((await svc("nats-auth", "lint", "--help")).stdout).toContain(
      "svc nats-auth lint <creds-file> [options]",
    );
    expect((await svc("nats-auth", "lint", "--", "--help")).stderr).toContain("--help: no such file");
  });

  test("every command explains itself and each of its options", async () => {
    const walk = async (command: typeof tree, path: string[]): Promise<void> => {
      const { exit, stdout } = await svc(...path, "--help");
      expect(exit).toBe(0);
      expect(stdout.replaceAll("\n", " ")).toStartWith(metaOf(command).description);
      expect(metaOf(command).description).toEndWith(".");
      for (const name of Object.keys(command.args ?? {}))
        expect(stdout).toMatch(new RegExp(`(--|<)${name}\\b.*(  |\\n {4,})\\S`));
      for (const child of (await childrenOf(command)) ?? []) await walk(child, [...path, metaOf(child).name]);
    };
    await walk(tree, []);
  });
});

describe("results", () => {
  test("a value cannot act on the terminal", async () => {
    const hostile = "a\u001b[2Jb\nc\u009b\u202ed";
    expect(formatFields([["Host", hostile]])).toBe("Host  a\\u001b[2Jb\\u000ac\\u009b\\u202ed");
    const json = await formatResult("json", { hostile }, () => "");
    expect(JSON.parse(json)).toEqual({ hostile });
    expect(json.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  });
});

describe("svc ca", () => {
  test("init makes a CA, says what it is, and never overwrites it", async () => {
    const dir = fresh();
    const first = await svc(
      "ca",
      "init",
      "--dir",
      dir,
      "--org",
      "Example",
      "--cn",
      "Top",
      "--output",
      "yaml",
    );
    expect(first.exit).toBe(0);
    expect(plainValue(parseYaml(first.stdout, "output"))).toEqual({
      dir,
      subject: "O=Example, CN=Top",
      not_before: "2025-12-31T23:55:00.000Z",
      not_after: "2035-12-30T00:00:00.000Z",
      certificate_fingerprint: new X509Certificate(readFileSync(join(dir, "root.crt"))).fingerprint256,
      spki_pin: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    const before = readFileSync(join(dir, "root.key"), "utf8");
    expect(await svc("ca", "init", "--dir", dir)).toEqual({
      exit: 1,
      stdout: "",
      stderr: `svc: ${dir}/root.key already exists and is not overwritten: choose another --dir, or move the existing CA\n`,
    });
    expect(readFileSync(join(dir, "root.key"), "utf8")).toBe(before);
  });

  test("init by two processes at once: one wins, and what is there is whole", async () => {
    const dir = fresh();
    const start = () =>
      Bun.spawn(
        [process.execPath, join(import.meta.dir, "../../cmd/svc/main.ts"), "ca", "init", "--dir", dir],
        {
          stdin: "ignore",
          stdout: "ignore",
          stderr: "ignore",
        },
      );
    const exits = await Promise.all([start(), start(), start()].map((process) => process.exited));
    expect(exits.sort()).toEqual([0, 1, 1]);
    expect((await svc("ca", "issue", "enroll", "--dir", dir, "--out", join(dir, "out"))).exit).toBe(0);
    expect(readdirSync(dir).sort()).toEqual([
      "intermediate.crt",
      "intermediate.key",
      "out",
      "root.crt",
      "root.key",
    ]);
  });

  test("fingerprint is one line, and a missing CA names the file and the command", async () => {
    const dir = await newCa();
    expect((await svc("ca", "fingerprint", "--dir", dir)).stdout).toMatch(/^sha256:[0-9a-f]{64}\n$/);
    const missing = fresh();
    expect((await svc("ca", "fingerprint", "--dir", missing)).stderr).toBe(
      `svc: cannot read the CA file ${missing}/root.crt: no such file: create a CA with svc ca init --dir ${missing}\n`,
    );
  });

  test("print shows the hierarchy and a bundle that is the root, and notes an absent root key", async () => {
    const dir = await newCa();
    const root = readFileSync(join(dir, "root.crt"), "utf8");
    const present = await svc("ca", "print", "--dir", dir);
    expect(present.stdout).toContain("O=Example, CN=Example Intermediate CA");
    expect(present.stdout).toEndWith(root);
    expect(present.stdout).toContain("The root key is in this directory.");
    rmSync(join(dir, "root.key"));
    expect((await svc("ca", "print", "--dir", dir)).stdout).toContain("The root key is absent.");
    const data = JSON.parse((await svc("ca", "print", "--dir", dir, "--output", "json")).stdout);
    expect(data).toMatchObject({ root_key_present: false, ca_bundle_pem: root });
  });

  test("issue nats-server writes leaf and intermediate, the key for the owner alone, and the root", async () => {
    const [dir, out] = [await newCa(), fresh()];
    const flags = ["--dns", "bus.example.com, *.example.com", "--ip", "10.0.0.5,::1"];
    const done = await svc("ca", "issue", "nats-server", "--dir", dir, "--out", out, ...flags);
    expect(done).toMatchObject({ exit: 0, stderr: "" });
    const pem = readFileSync(join(out, "nats-server.crt"), "utf8");
    const leaf = new X509Certificate(pem);
    expect(leaf.subject).toBe("CN=nats");
    expect(leaf.subjectAltName).toBe(
      "DNS:bus.example.com, DNS:*.example.com, IP Address:10.0.0.5, IP Address:0:0:0:0:0:0:0:1",
    );
    expect(Date.parse(leaf.validTo)).toBe(now + 8760 * 3_600_000);
    expect(pem).toEndWith(readFileSync(join(dir, "intermediate.crt"), "utf8"));
    expect(leaf.checkPrivateKey(createPrivateKey(readFileSync(join(out, "nats-server.key"))))).toBe(true);
    expect(statSync(join(out, "nats-server.key")).mode & 0o777).toBe(0o600);
    expect(statSync(join(out, "nats-server.crt")).mode & 0o777).toBe(0o644);
    expect(readFileSync(join(out, "nats-ca.crt"), "utf8")).toBe(readFileSync(join(dir, "root.crt"), "utf8"));
  });

  test("issue overwrites with --force alone, and says when the intermediate ends sooner", async () => {
    const [dir, out] = [await newCa(), fresh()];
    const issue = ["ca", "issue", "nats-server", "--dir", dir, "--out", out, "--dns", "bus"];
    await svc(...issue);
    const before = readFileSync(join(out, "nats-server.crt"), "utf8");
    expect(await svc(...issue)).toEqual({
      exit: 1,
      stdout: "",
      stderr: `svc: ${out}/nats-server.key already exists and is not overwritten: use --force to replace it, or choose another --out\n`,
    });
    expect(readFileSync(join(out, "nats-server.crt"), "utf8")).toBe(before);
    const forced = await svc(...issue, "--force", "--validity", "90000h");
    expect(forced).toMatchObject({ exit: 0, stderr: expect.stringContaining("when the intermediate ends") });
    expect(readFileSync(join(out, "nats-server.crt"), "utf8")).not.toBe(before);
    expect(statSync(join(out, "nats-server.key")).mode & 0o777).toBe(0o600);
  });

  test("issue enroll stands for this host and localhost unless names are given", async () => {
    const [dir, out] = [await newCa(), fresh()];
    const issue = ["ca", "issue", "enroll", "--dir", dir, "--out", out];
    await svc(...issue);
    const leaf = () => new X509Certificate(readFileSync(join(out, "enroll.crt")));
    expect(leaf()).toMatchObject({ subject: "CN=svc-master", subjectAltName: "DNS:host-1, DNS:localhost" });
    await svc(...issue, "--force", "--dns", "master.example.com");
    expect(leaf().subjectAltName).toBe("DNS:master.example.com");
    expect(readdirSync(out).sort()).toEqual(["enroll.crt", "enroll.key"]);
  });

  test.each([
    [["init", "--root-validity", "10"], "--root-validity: "],
    [["issue", "nats-server"], "--dns or --ip is required"],
    [["issue", "nats-server", "--ip", "10.0.0.300"], '--ip: "10.0.0.300" is not an IP address'],
    [["issue", "nats-server", "--dns", "10.0.0.5"], '--dns: "10.0.0.5" is not a DNS name'],
    [["issue", "nats-server", "--dns", "a,,b"], '--dns: "" is not a DNS name'],
    [["issue", "enroll", "--validity", "soon"], '--validity: "soon" is not a duration'],
  ])("%p names the option", async (argv, message) => {
    const dir = fresh();
    const { exit, stderr } = await svc("ca", ...argv, "--dir", dir);
    expect(exit).toBe(2);
    expect(stderr).toStartWith(`svc: ${message}`);
    expect(existsSync(dir)).toBe(false);
  });
});

describe("svc nats-auth", () => {
  test("init writes the files, lists who needs each, and refuses a second time", async () => {
    const dir = fresh();
    const done = await svc("nats-auth", "init", "--dir", dir, "--listen", "[::]:5222", "--operator", "ops");
    expect(done.exit).toBe(0);
    expect(done.stdout).toMatch(/^FILE +MODE +FOR\n/);
    expect(done.stdout).toMatch(/masters\.seed +0600 +a safe place, offline\n/);
    expect(done.stderr).toContain(`svc ca issue nats-server --dns NAME --out ${dir}`);
    const config = readFileSync(join(dir, "nats-server.conf"), "utf8");
    expect(config).toContain('listen: "[::]:5222"');
    expect(config).toContain('server_name: "host-1"');
    expect(config).toContain(`cert_file: "${dir}/nats-server.crt"`);
    expect(config).toContain(`store_dir: "${dir}/store"`);
    expect(await svc("nats-auth", "init", "--dir", dir)).toMatchObject({
      exit: 1,
      stdout: "",
      stderr: `svc: ${dir}/operator.seed already exists and is not overwritten\n`,
    });
  });

  test("init puts relative paths of other files into the configuration as absolute ones", async () => {
    const dir = fresh();
    await svc(
      "nats-auth",
      "init",
      "--dir",
      dir,
      "--tls-cert",
      "a.crt",
      "--tls-key",
      "b.key",
      "--store-dir",
      "s",
    );
    const config = readFileSync(join(dir, "nats-server.conf"), "utf8");
    for (const name of ["a.crt", "b.key", "s"]) expect(config).toContain(`"${join(process.cwd(), name)}"`);
  });

  test.each([
    [["--listen", "4222"], '--listen: "4222" is not host:port'],
    [["--listen", "h:0"], '--listen: "h:0" is not host:port'],
    [["--tls-cert", "a"], "--tls-key is missing: set both or neither"],
    [["--tls-key", "a"], "--tls-cert is missing: set both or neither"],
    [["--operator", " "], "--operator: expected a name"],
  ])("init with %p names the option and writes nothing", async (argv, message) => {
    const dir = fresh();
    const { exit, stderr } = await svc("nats-auth", "init", "--dir", dir, ...argv);
    expect(exit).toBe(2);
    expect(stderr).toStartWith(`svc: ${message}`);
    expect(existsSync(dir)).toBe(false);
  });

  test("lint reports the size, and never what a wrong file holds", async () => {
    const dir = fresh();
    await svc("nats-auth", "init", "--dir", dir);
    const creds = join(dir, "admin.creds");
    expect((await svc("nats-auth", "lint", creds)).stdout).toMatch(
      /admin\.creds: ok, the JWT has \d+ bytes\n$/,
    );
    const large = join(dir, "large.creds");
    writeFileSync(large, readFileSync(creds, "utf8").replace(/^ey/m, `${"x".repeat(4096)}ey`));
    const warned = await svc("nats-auth", "lint", large, "--output", "json");
    expect(warned.exit).toBe(0);
    expect(JSON.parse(warned.stdout).warnings[0]).toContain("needs max_control_line: 16384");
    const seed = join(dir, "account.seed");
    const wrong = await svc("nats-auth", "lint", seed);
    expect(wrong.exit).toBe(1);
    expect(wrong.stderr).toStartWith(`svc: ${seed}: not a credentials file`);
    expect(wrong.stderr).not.toContain(readFileSync(seed, "utf8").trim());
  });
});
