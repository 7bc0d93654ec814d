import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { systemRandom } from "../../../base/id.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { readHosts } from "./read-hosts.ts";

const pair = newKeyPair("user", systemRandom);
const key = pair.publicKey;
const host = (peel_id: string, labels?: Record<string, string>) => ({
  ...{ peel_id, public_key: key },
  ...(labels === undefined ? {} : { labels }),
});

describe("reads", () => {
  test.each<[string, string, ReturnType<typeof host>[]]>([
    ["a line", `web-1.example.com ${key}\n`, [host("web-1_example_com")]],
    [
      "lines with labels, comments and empty lines",
      `# racks\r\n\r\n  web-1   ${key}\tenv=lab rack=7,8\r\nweb-2 ${key}`,
      [host("web-1", { env: "lab", rack: "7,8" }), host("web-2")],
    ],
    ["a value with =, and an empty one", `web-1 ${key} a=b=c d=`, [host("web-1", { a: "b=c", d: "" })]],
    [
      "CSV",
      `web-1,${key},env=lab rack=7\nweb-2,${key}`,
      [host("web-1", { env: "lab", rack: "7" }), host("web-2")],
    ],
    ["CSV with blanks around fields", `web-1 , ${key} , env=lab`, [host("web-1", { env: "lab" })]],
    [
      "CSV as spreadsheets write it",
      `\uFEFFpeel_id,public_key,labels\r\n"web-1","${key}","env=lab tags=a,b"\r\n# gone\r\n`,
      [host("web-1", { env: "lab", tags: "a,b" })],
    ],
    ["another header", `Peel ID,Public Key,Labels\nweb-1,${key},`, [host("web-1")]],
  ])("%s", (_, text, hosts) => expect(readHosts(text, "f")).toEqual({ hosts, problems: [] }));
});

describe("refuses, with line and field:", () => {
  const long =
    "peel_id: must be 2 to 255 letters, digits, dots and hyphens, with a letter or digit first and last";
  test.each<[string, string[]]>([
    ["", ["f: names no host"]],
    ["# nothing", ["f: names no host"]],
    [`-web ${key}`, [`f:1: ${long}`]],
    ["web-1", ["f:1: public_key: is missing"]],
    [
      `\n\nweb-1 ${key.slice(1)}`,
      ["f:3: public_key: must be an Ed25519 user public key: U and 55 more characters"],
    ],
    [
      `web-1 ${pair.seed}`,
      ["f:1: public_key: is a seed, which is secret: give the public key, which begins with U"],
    ],
    [`web-1 ${key} env`, ["f:1: labels: must be name=value, separated by blanks"]],
    [`web-1 ${key} env=a env=b`, ["f:1: labels: a name appears twice"]],
    [
      `web-1 ${key} Env=a`,
      ["f:1: labels: must be named by a lower-case letter and up to 62 of a-z, 0-9, _, . and -"],
    ],
    [`web.1 ${key}\nweb_1 ${key}`, ["f:2: peel_id: is on line 1 already"]],
    [`,${key},`, ["f:1: peel_id: is missing"]],
    [
      `web-1,${key},env=lab,rack=7`,
      ["f:1: labels: expected 3 fields, found 4: labels are in one field, separated by blanks"],
    ],
    [
      `web-1 ${key}\n- x\n`,
      [`f:2: ${long}`, "f:2: public_key: must be an Ed25519 user public key: U and 55 more characters"],
    ],
  ])("%j", (text, problems) => expect(readHosts(text, "f")).toEqual({ hosts: [], problems }));

  test("at most 20 problems, and nothing of the file for one", () => {
    const { hosts, problems } = readHosts(`web-1 ${key}\n${"bad\n".repeat(100)}`, "f");
    expect([hosts, problems.length]).toEqual([[], 20]);
  });

  test("CSV that is not closed", () => {
    expect(() => readHosts(`web-1,${key},"env=lab`, "f")).toThrow("f:1: not valid CSV: ");
  });
});

test("whatever a file holds: hosts or problems, and never a secret", () => {
  const piece = fc.constantFrom(
    "web-1",
    key,
    pair.seed,
    `web-1 ${key} ${pair.seed}=`,
    ",",
    " ",
    "\n",
    '"',
    "env=lab",
    "#",
    "=",
    "\r",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      let shown: string;
      try {
        const { hosts, problems } = readHosts(pieces.join(""), "f");
        expect(hosts.length === 0).toBe(problems.length > 0);
        shown = problems.join("\n");
      } catch (thrown) {
        shown = String(thrown);
      }
      expect(shown).not.toContain(pair.seed);
    }),
  );
});
