import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import fc from "fast-check";
import { jsonSchemaOf } from "../../internal/base/document/json-schema.ts";
import { readDocument } from "../../internal/base/document/read.ts";
import type { Schema } from "../../internal/base/document/schemas.ts";
import { SvcError } from "../../internal/base/errors.ts";
import { formatYaml, parseYaml, plainValue } from "../../internal/base/yaml/yaml.ts";
import { policyFile, readPolicy } from "../../internal/fleet/policy/read-policy.ts";
import { readRules, rulesFile } from "../../internal/fleet/reactor/rules/read-rule.ts";
import { readRoles, rolesFile } from "../../internal/fleet/roles/read-roles.ts";
import { configFile, readKeys } from "../../internal/program/config/file.ts";
import { masterOptions } from "../../internal/program/config/master-options.ts";
import { operatorOptions } from "../../internal/program/config/operator-options.ts";
import type { OptionTable } from "../../internal/program/config/option.ts";
import { peelOptions } from "../../internal/program/config/peel-options.ts";
import { statesTop } from "../../internal/tree/language/top.ts";
import { settingsTop } from "../../internal/tree/settings/top.ts";
import { groupsFile, readGroups } from "../../internal/tree/targets/groups.ts";

// Every file that people write: the reader and the JSON Schema of editors are of one mind, and a message names the
// place of what is wrong.

const read = (path: string) => readFileSync(join(import.meta.dir, "../..", path), "utf8");
/** An example of a configuration with every key in force. */
const example = (path: string) => read(path).replace(/^( *)#(?=[a-z_0-9]+:)/gm, "$1");
const blocks = (page: string) =>
  [...read(page).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
const config = (options: OptionTable) => ({
  schema: configFile(options),
  read: (text: string) => void readKeys("f", text, [options]),
});

interface Kind {
  schema: Schema<unknown>;
  read(text: string): void;
  /** Valid files that have every form. */
  examples: readonly string[];
}

const policy = `
workers: 8
rules:
  - name: lab
    match: { peel: 'lab-*', address: [10.20.0.0/16], trust: ok }
    labels: { env: lab, rack: 7 }
    decide: approve
  - match: { evidence: { type: [x509, tpm], fields: { subject: 'CN=web-*' } } }
    decide: reject
    reason: not from here
  - program: { argv: [/usr/local/bin/ask-cmdb, --strict], timeout: 3s }
  - webhook: { url: 'https://hooks.example.com/x', secret_file: /etc/svc/hook, ca_file: /etc/svc/ca.crt }
  - match: { peel: [a, b], evidence: x509 }
    decide: hold
`;
const schedule = `
id: web-1
schedule:
  nightly: { module: state.highstate, cron: '0 3 * * *', splay: 5m, args: { test: true } }
  ping: { module: test.ping, interval: 60s, maxrunning: 2, run_on_start: true, return_job: true, enabled: false }
`;
const master = `
api:
  tokens: [{ username: ann, token_file: /t, roles: [viewer], expires: 2027-01-31T00:00:00Z }]
  oidc:
    - { issuer: 'https://idp.example.com', audience: svc, role_claims: [{ claim: g, value: ops, role: admin }] }
enroll: { networks: { berlin: { cidr: [192.0.2.0/24], capacity: 5, refill: 1s } } }
master: { urls: ['tls://bus:4222'], confirm_above: 5 }
gitfs:
  remotes: [ 'ssh://git@host/a', { url: b, base: x, environments: [dev], tags: [], signers: /f } ]
`;

const kinds: Record<string, Kind> = {
  master: {
    ...config({ ...masterOptions, ...operatorOptions }),
    examples: [example("release/config/master.yaml"), master],
  },
  peel: { ...config(peelOptions), examples: [example("release/config/peel.yaml"), schedule] },
  roles: {
    schema: rolesFile(),
    read: (text) => void readRoles(text, "f"),
    examples: blocks("docs/roles.md"),
  },
  policy: { schema: policyFile(), read: (text) => void readPolicy(text, "f"), examples: [policy] },
  rules: {
    schema: rulesFile(),
    read: (text) => void readRules(text, "f"),
    examples: [
      ...blocks("docs/reactor.md"),
      `rules: [{name: a, match: [b, c/**], source: w*, when: {data.a: {in: [1, x], exists: true}, data.b: 1}, throttle: 5s, unsafe: false, do: [emit: {tag: x, data: {a: [1]}}]}]`,
    ],
  },
  nodegroups: {
    schema: groupsFile(),
    read: (text) => void readGroups(text, "f"),
    examples: blocks("docs/targeting.md"),
  },
};

for (const [name, schema] of [
  ["settings-top", settingsTop()],
  ["states-top", statesTop()],
] as const) {
  const more = name === "states-top" ? "  'db-*': db\n" : "  'off': \n";
  kinds[name] = {
    schema,
    read: (text) => void readDocument(text, "f", schema as Schema<unknown>),
    examples: [`base:\n  '*': [common, web/site]\n  'os:Debian':\n    - match: grain\n    - debian\n${more}`],
  };
}

const ajv = new Ajv({ strict: false, allErrors: false });
const problemOf = (kind: Kind, text: string): string | undefined => {
  try {
    kind.read(text);
    return undefined;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SvcError);
    return (thrown as SvcError).message;
  }
};

describe.each(Object.entries(kinds))("%s", (name, kind) => {
  const accepts = ajv.compile(jsonSchemaOf(name, kind.schema));
  const documents = kind.examples.map((text) => plainValue(parseYaml(text, "f")));

  test("the examples are valid for the reader and for editors", () => {
    expect(kind.examples.length).toBeGreaterThan(0);
    for (const [at, text] of kind.examples.entries()) {
      expect(problemOf(kind, text)).toBeUndefined();
      expect(accepts(documents[at]) ? [] : accepts.errors).toEqual([]);
    }
    expect(accepts(null)).toBe(problemOf(kind, "") === undefined);
  });

  /** Every path of the examples. */
  const places = documents.flatMap((document, at) => pathsOf(document).map((path) => ({ at, path })));
  const place = fc.constantFrom(...places);

  test("a key that is planted anywhere is refused by both where keys are fixed, with its place", () => {
    let refused = 0;
    for (const { at, path } of places) {
      const around = valueAt(documents[at], path);
      if (!isObject(around)) continue;
      const planted = changed(documents[at], path, { ...around, zzz_planted: 5 });
      const text = formatYaml(planted);
      const message = problemOf(kind, text);
      if (message === undefined) {
        expect(accepts(planted)).toBeTrue();
        continue;
      }
      expect(message).toMatch(/^f:\d+:\d+: /);
      if (!message.includes('unknown key "') && !message.includes("unknown kind")) continue;
      refused++;
      expect(wordAt(text, message)).toBe("zzz_planted");
      expect(accepts(planted)).toBeFalse();
    }
    // In these every key is a name.
    expect(refused > 0 || ["nodegroups", "settings-top", "states-top"].includes(name)).toBeTrue();
  });

  const values = fc.oneof(
    fc.constantFrom<unknown[]>(null, true, 5, -1, 1.5, "", "x", "1h", "a b", [], [null], {}, { a: 1 }),
    fc.jsonValue({ maxDepth: 2 }),
  );

  test("what the reader takes, editors take, and what it refuses has a place in the document", () => {
    fc.assert(
      fc.property(place, values, fc.boolean(), ({ at, path }, value, isFlow) => {
        const broken = changed(documents[at], path, value);
        const text = isFlow ? JSON.stringify(broken) : formatYaml(broken);
        const message = problemOf(kind, text);
        if (message === undefined) expect(accepts(broken) ? [] : accepts.errors).toEqual([]);
        else expect(isInside(text, message)).toBeTrue();
      }),
      { numRuns: 1_500 },
    );
  });

  test("a value of another kind is at the place that the message names", () => {
    for (const { at, path } of places) {
      const value = valueAt(documents[at], path);
      if (path.length === 0 || typeof value === "object") continue;
      const text = formatYaml(changed(documents[at], path, { zzz_wrong: [] }));
      const message = problemOf(kind, text);
      // The arguments of a function are judged by the function, as a whole.
      if (message === undefined || path.includes("args")) continue;
      expect([path, wordAt(text, message)]).toEqual([path, "zzz_wrong"]);
    }
  });

  test("whatever a file holds, it is accepted or refused in one line with a place", () => {
    const words = kind.examples
      .join("\n")
      .split(/(\s+|[{}[\]:,"'])/)
      .filter((word) => word !== "");
    const edit = fc.record({
      at: fc.nat(words.length - 1),
      take: fc.nat(4),
      put: fc.array(
        fc.oneof(
          fc.constantFrom(...words),
          fc.string({ maxLength: 8 }),
          fc.constantFrom("null", "1e9", "__proto__", "constructor", "&a", "*a", "<<", "- ", "? "),
        ),
        { maxLength: 4 },
      ),
    });
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        const now = [...words];
        for (const { at, take, put } of edits) now.splice(at, take, ...put);
        const text = now.join("");
        const message = problemOf(kind, text);
        if (message === undefined) return;
        expect(message).not.toContain("\n");
        expect(isInside(text, message)).toBeTrue();
      }),
      { numRuns: 1_000 },
    );
  });
});

type Path = readonly (string | number)[];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pathsOf(value: unknown, path: Path = []): Path[] {
  const inner = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : [];
  return [path, ...[...inner].flatMap(([key, each]) => pathsOf(each, [...path, key]))];
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown>)[key], value);
}

/** The same document with another value at a path. */
function changed(document: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(document))
    return document.map((item, at) => (at === key ? changed(item, rest, value) : item));
  const map = document as Record<string, unknown>;
  return { ...map, [key]: changed(map[key], rest, value) };
}

/** Whether `f:<line>:<column>` is a place of the text, or the end of it. */
function isInside(text: string, message: string): boolean {
  const [, line, column] = /^f:(\d+):(\d+): ./.exec(message) ?? [];
  const found = text.split("\n")[Number(line) - 1];
  return found !== undefined && Number(column) >= 1 && Number(column) <= found.length + 1;
}

/** The word at the place of a message. */
function wordAt(text: string, message: string): string | undefined {
  const [, line, column] = /^f:(\d+):(\d+): /.exec(message) ?? [];
  return /^[\w-]+/.exec(text.split("\n")[Number(line) - 1]?.slice(Number(column) - 1) ?? "")?.[0];
}
