import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SvcError } from "../../base/errors.ts";
import { explainPolicy, openRules } from "./describe.ts";
import { type Applicant, mismatchOf } from "./match.ts";
import { readPolicy } from "./read-policy.ts";

const whole = `
workers: 8
rules:
  - name: lab
    match: { peel: 'lab-*', address: [10.20.0.0/16, 2001:db8::1], trust: ok }
    labels: { env: lab, rack: 7 }
    decide: approve
  - name: racks
    match: { peel: ['*.dc1.example.com', '*.dc2.example.com'], evidence: x509 }
    decide: approve
  - name: names
    match: { evidence: { type: [x509, tpm], fields: { subject: 'CN=web-*' } } }
    decide: reject
    reason: not from here
  - name: cmdb
    match: { peel: '*.prod.example.com' }
    program: { argv: [/usr/local/bin/ask-cmdb, --strict], timeout: 3s }
  - name: hook
    match: { trust: unknown }
    webhook: { url: 'https://hooks.example.com/x', secret_file: /etc/svc/hook, ca_file: /etc/svc/ca.crt }
  - decide: hold
`;

const policy = readPolicy(whole, "p.yaml");
const trusting = { trustedCaSpki: "sha256:00" };
const host = (peelId: string, more: Partial<Applicant> = {}): Applicant => ({ peelId, ...trusting, ...more });
const x509 = (subject: string | string[]) => ({ evidence: { type: "x509", fields: { subject } } }) as const;

test("a file is read with its defaults", () => {
  expect(policy.workers).toBe(8);
  expect(policy.rules.map(({ name }) => name)).toEqual(["lab", "racks", "names", "cmdb", "hook", "rule-6"]);
  expect(policy.rules[0]).toMatchObject({
    labels: { env: "lab", rack: "7" },
    decider: { decide: "approve" },
  });
  expect(policy.rules[3]?.decider).toEqual({
    program: { argv: ["/usr/local/bin/ask-cmdb", "--strict"], timeoutMs: 3_000 },
  });
  expect(policy.rules[4]?.decider).toMatchObject({
    webhook: { timeoutMs: 5_000, caFile: "/etc/svc/ca.crt" },
  });
  for (const empty of ["", "rules:", "rules: []"]) expect(readPolicy(empty, "p").rules).toEqual([]);
});

describe("the first rule that matches decides:", () => {
  test.each<[string, Applicant, string]>([
    ["a name and an address", host("lab-1", { address: "10.20.3.4" }), "lab"],
    ["IPv6", host("lab-1", { address: "2001:db8::1" }), "lab"],
    ["an address outside", host("lab-1", { address: "10.21.3.4" }), "rule-6"],
    ["no address", host("lab-1"), "rule-6"],
    ["a host that did not say what it trusts", { peelId: "lab-1", address: "10.20.3.4" }, "hook"],
    ["evidence", host("a_dc2_example_com", x509("CN=db-1")), "racks"],
    ["the same name without evidence", host("a_dc2_example_com"), "rule-6"],
    ["a field of it", host("b", x509("CN=web-1")), "names"],
    ["one of several values", host("b", x509(["CN=db", "CN=web-1"])), "names"],
    ["another value", host("b", x509("CN=db-1")), "rule-6"],
    ["another kind", host("b", { evidence: { type: "ssh", fields: { subject: "CN=web-1" } } }), "rule-6"],
    ["a field that it does not have", host("b", { evidence: { type: "tpm", fields: {} } }), "rule-6"],
    ["a name that a program is asked about", host("c_prod_example_com"), "cmdb"],
  ])("%s", (_, applicant, rule) => {
    const verdict = explainPolicy(policy, applicant);
    expect(verdict.rule).toBe(rule);
    const at = verdict.rules.findIndex(({ result }) => result === "decides");
    const expected = policy.rules.map((_rule, index) =>
      index < at ? "no match" : index === at ? "decides" : "unreached",
    );
    expect(verdict.rules.map(({ result }) => result)).toEqual(expected);
  });

  test("what it claims about itself is ignored", () => {
    const claims = { hostname: "lab-1", metadata: { address: "10.20.3.4" }, labels: { env: "lab" } };
    expect(explainPolicy(policy, { ...host("x"), ...claims }).rule).toBe("rule-6");
  });

  test("and says why the others do not", () => {
    const why = (applicant: Applicant) => explainPolicy(policy, applicant).rules.map((one) => one.why);
    expect(why(host("lab-1", { address: "192.0.2.1" }))).toEqual([
      "the address 192.0.2.1 is not in 10.20.0.0/16, 2001:db8::1",
      "the peel id lab-1 does not match *.dc1.example.com, *.dc2.example.com",
      "it has no evidence; wanted is x509 or tpm",
      "the peel id lab-1 does not match *.prod.example.com",
      "its trust is ok; wanted is unknown",
      "it matches every host",
    ]);
    expect(why(host("lab-1", { address: "10.20.0.1" })).slice(0, 2)).toEqual([
      "the peel id lab-1 matches; from 10.20.0.0/16, 2001:db8::1; trust ok",
      "lab decides before it",
    ]);
    expect(explainPolicy({ rules: [], workers: 4 }, host("a1"))).toEqual({
      ...{ decides: "hold", labels: {}, rules: [] },
    });
  });
});

test("the ways in are the rules that may approve, without what may be secret", () => {
  expect(openRules(policy).map(({ name, decides }) => [name, decides])).toEqual([
    ["lab", "approve"],
    ["racks", "approve"],
    ["cmdb", "program /usr/local/bin/ask-cmdb"],
    ["hook", "webhook of https://hooks.example.com"],
  ]);
});

describe("refuses, with the place:", () => {
  const rule = (text: string) => `rules:\n  - ${text}\n`;
  test.each<[string, string]>([
    ["rule: []", 'p:1:1: unknown key "rule" (did you mean rules?); known are rules, workers'],
    ["workers: 4", "p:1:1: rules is required: rules: [] for a policy without any"],
    ["rules: []\nworkers: 0", "p:2:10: workers: expected a number from 1 to 64, not 0"],
    [rule("{}"), "p:2:5: rule rule-1: one of decide, program, webhook is required"],
    [rule("decide: approv"), "p:2:13: rule rule-1: decide: expected approve, reject or hold"],
    [rule("{decide: hold, name: 'a b'}"), "p:2:26: rule 1: name: expected letters"],
    [
      rule("decide: hold\n    program: {argv: [/x]}"),
      "p:2:5: rule rule-1: decide and program exclude each other",
    ],
    [
      rule("match: {peels: a}\n    decide: hold"),
      'p:2:13: rule rule-1: match: unknown key "peels" (did you mean peel?)',
    ],
    [
      rule("match: {peel: []}\n    decide: hold"),
      "p:2:19: rule rule-1: match: peel: an empty list matches nothing",
    ],
    [
      rule("match: {address: 10.0.0.1/8}\n    decide: hold"),
      "p:2:22: rule rule-1: match: address: expected an address",
    ],
    [
      rule("match: {trust: mismatch}\n    decide: hold"),
      "p:2:20: rule rule-1: match: trust: expected ok, or unknown",
    ],
    [
      rule("match: {evidence: x50}\n    decide: hold"),
      "p:2:23: rule rule-1: match: evidence: expected one of x509, ssh, tpm",
    ],
    [
      rule("labels: {Env: a}\n    decide: hold"),
      "p:2:13: rule rule-1: labels: must be named by a lower-case letter",
    ],
    [
      rule("labels: {env: [a]}\n    decide: hold"),
      "p:2:19: rule rule-1: labels: env: expected a string, found a list",
    ],
    [
      rule("program: {argv: [ask]}"),
      "p:2:21: rule rule-1: program: argv: expected a list that begins with the absolute path",
    ],
    [
      rule("program: {argv: [/x], timeout: 1m}"),
      "p:2:36: rule rule-1: program: timeout: expected 100ms to 8s",
    ],
    [rule("program: {argv: [/x]}\n    reason: a"), "p:2:5: rule rule-1: reason is for decide"],
    [
      rule("webhook: {url: 'http://localhost/', secret_file: /s}"),
      "p:2:20: rule rule-1: webhook: url: expected https://",
    ],
    [
      rule("webhook: {url: 'https://a:b@h/', secret_file: /s}"),
      "rule rule-1: webhook: url: a URL must not contain a password: use secret_file",
    ],
    [rule("webhook: {url: 'https://h/'}"), "rule rule-1: webhook: secret_file is required"],
    [
      rule("webhook: {url: 'https://h/', secret_file: s3cret}"),
      "secret_file: expected the absolute path of a file, not its content",
    ],
    [
      "rules:\n  - {name: a, decide: hold}\n  - {name: a, decide: hold}\n",
      "p:3:5: the name a is already used by the rule at p:2",
    ],
  ])("%j", (text, message) => {
    let found = "";
    try {
      readPolicy(text, "p");
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(SvcError);
      found = String((thrown as Error).message);
    }
    expect(found).toContain(message);
  });
});

test("a rule matches exactly when each of its conditions alone matches", () => {
  const glob = fc.constantFrom("*", "lab-*", "web-*", "lab-1");
  const match = fc.record(
    {
      peel: fc.array(glob, { minLength: 1, maxLength: 2 }),
      trust: fc.constantFrom("ok" as const, "unknown" as const),
      evidence: fc.record({
        types: fc.uniqueArray(fc.constantFrom("x509" as const, "ssh" as const), { minLength: 1 }),
        fields: fc.constantFrom<Record<string, string>>({}, { subject: "CN=*" }),
      }),
    },
    { requiredKeys: [] },
  );
  const applicant = fc.record(
    {
      peelId: fc.constantFrom("lab-1", "web-2", "db"),
      trustedCaSpki: fc.constant("sha256:00"),
      evidence: fc.constantFrom(x509("CN=a").evidence, { type: "ssh" as const, fields: {} }),
    },
    { requiredKeys: ["peelId"] },
  );
  fc.assert(
    fc.property(match, applicant, (wanted, one) => {
      const alone = Object.entries(wanted).map(([key, value]) => mismatchOf({ [key]: value }, one));
      expect(mismatchOf(wanted, one) === undefined).toBe(alone.every((reason) => reason === undefined));
    }),
  );
});
