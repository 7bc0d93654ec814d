import { expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { planOn, problemsOf, refusal } from "../../../../test/harness/planned-state.ts";
import type { CallArgs } from "../../../host/modules/function.ts";

const path = "/etc/ssh/ssh_known_hosts";
const [one, two] = [`AAAA${"B".repeat(40)}`, `AAAA${"C".repeat(40)}`];
const sha256 = createHash("sha256").update(Buffer.from(one, "base64")).digest();
const md5 = createHash("md5").update(Buffer.from(one, "base64")).digest("hex");
const salt = Buffer.from("salt").toString("base64");
const hashed = `|1|${salt}|${createHmac("sha1", "salt").update("x.test").digest("base64")}`;

async function edited(called: string, before: string, args: CallArgs, host = "x.test") {
  const answer = ([program]: readonly string[]) =>
    program === "ssh-keyscan" ? { stdout: `# x\n${host} ssh-rsa ${two}\n${host} ssh-ed25519 ${one}\n` } : {};
  const fixture = { files: { [path]: before }, programs: ["ssh-keyscan"], answer };
  const { plan, system } = await planOn(fixture, `ssh_known_hosts.${called}`, host, args);
  expect(system.ran).toEqual([]);
  await plan.apply?.();
  return system.files.get(path);
}

test.each<[string, CallArgs, string]>([
  ["", { key: one, enc: "ed25519" }, `x.test ssh-ed25519 ${one}\n`],
  ["", { key: `x.test ssh-ed25519 ${one}` }, `x.test ssh-ed25519 ${one}\n`],
  ["", { key: one, enc: "ssh-rsa", port: 2222 }, `[x.test]:2222 ssh-rsa ${one}\n`],
  [`x.test ssh-rsa ${two}\n`, { key: one }, `x.test ssh-rsa ${one}\n`],
  [`y,x.test ssh-rsa ${two}\n`, { key: one }, `y ssh-rsa ${two}\nx.test ssh-rsa ${one}\n`],
  [`${hashed} ssh-rsa ${one}\n`, { key: one }, `${hashed} ssh-rsa ${one}\n`],
  [
    "",
    { fingerprint: `SHA256:${sha256.toString("base64").replace(/=+$/, "")}` },
    `x.test ssh-ed25519 ${one}\n`,
  ],
  ["", { fingerprint: md5.replace(/..(?=.)/g, "$&:") }, `x.test ssh-ed25519 ${one}\n`],
  [`x.test ssh-ed25519 ${one}\n`, { fingerprint: sha256.toString("hex") }, `x.test ssh-ed25519 ${one}\n`],
])("from %j with %j", async (before, args, after) => {
  expect(await edited("present", before, args)).toBe(after);
  expect(await edited("present", after, args)).toBe(after);
});

test("names are written and found as SSH looks them up", async () => {
  const key = `ssh-ed25519 ${one}`;
  for (const [host, written] of [
    ["FD00:0::A", "fd00::a"],
    ["::FFFF:a00:1", "::ffff:10.0.0.1"],
    ["X.Test", "x.test"],
  ] as const) {
    expect(await edited("present", "", { key }, host)).toBe(`${written} ${key}\n`);
    const capitals = `${written.toUpperCase()} ${key}\n`;
    expect(await edited("present", capitals, { key }, host)).toBe(capitals);
    expect(await edited("absent", capitals, {}, host)).toBe("");
  }
  expect(await edited("present", "", { key, port: 2222 }, "FD00:0::A")).toBe(`[fd00::a]:2222 ${key}\n`);
  expect(await edited("present", `${hashed} ${key}\n`, { key }, "X.TEST")).toBe(`${hashed} ${key}\n`);
});

test("patterns cover a server, and exclude it once it has another key or none", async () => {
  const [key, other] = [`ssh-ed25519 ${one}`, `ssh-ed25519 ${two}`];
  const covered = `*.TEST,!y.test ${key}\n`;
  expect(await edited("present", covered, { key })).toBe(covered);
  expect(await edited("present", covered, { key }, "y.test")).toBe(`${covered}y.test ${key}\n`);
  const excluded = `*.TEST,!y.test,!x.test ${key}\n`;
  expect(await edited("absent", covered, {})).toBe(excluded);
  expect(await edited("absent", excluded, {})).toBe(excluded);
  expect(await edited("present", covered, { key: other })).toBe(`${excluded}x.test ${other}\n`);
  expect(await edited("absent", `x.test,!z.test ${key}\n`, {})).toBe("");
});

test("a server is forgotten, also where its name is hashed", async () => {
  const before = `# kept\n${hashed} ssh-rsa ${one}\nx.test,y ssh-rsa ${one}\n@revoked x.test ssh-rsa ${two}\n`;
  expect(await edited("absent", before, {})).toBe(
    `# kept\ny ssh-rsa ${one}\n@revoked x.test ssh-rsa ${two}\n`,
  );
});

test("line ends of a file that stay are kept, and new lines have them", async () => {
  const kept = `# kept\r\ny ssh-rsa ${two}\r\n`;
  expect(await edited("present", kept, { key: one })).toBe(`${kept}x.test ssh-rsa ${one}\r\n`);
  expect(await edited("present", `${kept}y,x.test ssh-rsa ${two}\r\n`, { key: one })).toBe(
    `${kept}y ssh-rsa ${two}\r\nx.test ssh-rsa ${one}\r\n`,
  );
  expect(await edited("absent", `${kept}x.test ssh-rsa ${one}\r\n`, {})).toBe(kept);
  const { plan, system } = await planOn({ files: { [path]: kept } }, "ssh_known_hosts.absent", "x.test", {});
  expect([plan.changes, system.files.get(path)]).toEqual([{}, kept]);
});

test("a server with another key is not accepted", async () => {
  await expect(edited("present", "", { fingerprint: "0".repeat(64) })).rejects.toThrow(
    "has no key with the fingerprint",
  );
});

test("what is not a key, a host or a user is refused", async () => {
  expect(await problemsOf("ssh_known_hosts.present", { enc: "a b" })).toContain("enc: expected a type");
  expect(await refusal({}, "ssh_known_hosts.present", "x.test", { key: "x" })).toContain(
    "expected the key in Base64",
  );
  const both = { key: one, fingerprint: "x" };
  expect(await refusal({}, "ssh_known_hosts.present", "x.test", both)).toContain("give only one of");
  expect(await refusal({}, "ssh_known_hosts.present", "-x", { key: one })).toContain("is not a valid name");
  const { plan } = await planOn({}, "ssh_known_hosts.present", "x.test", { key: one, user: "nobody-here" });
  await expect(plan.apply?.()).rejects.toThrow("user nobody-here does not exist on this host");
});
