// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of rules are written this way
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { temporaryDirectory } from "../../../../test/harness/temporary.ts";
import { SvcError } from "../../../base/errors.ts";
import { loadRules } from "./load.ts";
import { readRules } from "./read-rule.ts";

const read = (text: string) => readRules(text, "f").rules;
const problem = (text: string): string => {
  try {
    read(text);
  } catch (thrown) {
    if (thrown instanceof SvcError) return thrown.message;
    throw thrown;
  }
  return "";
};
/** A rule of one line that is right but for what is given. */
const rule = (fields: string) => `rules: [{name: r, match: a/b, ${fields}}]`;
const doing = (action: string) => problem(rule(`do: [${action}]`));
const job = (fields: string) => doing(`job: {target: "*", ${fields}}`);

const whole = `
rules:
  - name: clean-disk
    match: [disk/full, "disk/*/full"]
    source: "web*"
    when:
      data.percent: { gte: 90, lt: 101 }
      data.mount: /var
      data.kind: { in: [ssd, 3, null] }
    throttle: 10m
    do:
      - job:
          target: "\${source}"
          function: cmd.run
          args: { argv: [logger, --, "\${data.message}"], env: { EVENT_A: "\${data.a}" } }
          timeout: 60s
      - states: { target: "G@role:web", sls: [web], test: true }
      - states: { target: "*" }
      - emit: { tag: cleanup/started, data: { of: "\${source}" } }
      - webhook: { url: "https://h.example.com/x", token_file: /etc/token, body: { text: "\${tag}" } }
  - name: let-in
    match: svc/enrollment/created
    do: [approve: {}]
`;

test("a file of rules is read as it stands", () => {
  const [clean, letIn] = read(whole);
  expect(clean).toMatchObject({
    name: "clean-disk",
    match: ["disk/full", "disk/*/full"],
    source: "web*",
    throttleMs: 600_000,
    file: "f",
    at: { line: 3, column: 5 },
    when: [
      { path: "data.percent", operator: "gte", operand: 90 },
      { path: "data.percent", operator: "lt", operand: 101 },
      { path: "data.mount", operator: "eq", operand: "/var" },
      { path: "data.kind", operator: "in", operand: ["ssd", 3, null] },
    ],
  });
  expect(clean?.actions.map(({ kind }) => kind)).toEqual(["job", "states", "states", "emit", "webhook"]);
  expect(clean?.actions[0]).toMatchObject({ target: { source: true }, timeout: "60s" });
  expect(clean?.actions[1]).toEqual({
    kind: "states",
    target: { expression: "G@role:web" },
    sls: ["web"],
    test: true,
  });
  expect(letIn).toMatchObject({ name: "let-in", when: [], actions: [{ kind: "approve" }] });
});

test.each(["", "# nothing", "rules:", "rules: []"])("%j has no rules", (text) => {
  expect(read(text)).toEqual([]);
});

test.each<[string, string]>([
  ["rule: []", 'f:1:1: unknown key "rule" (did you mean rules?); known are rules'],
  ["[]", "f:1:1: expected a map, found a list"],
  ["rules: {}", "f:1:8: rules: expected a list, found a map"],
  ["rules: [a]", "f:1:9: rule 1: expected a map, found a string"],
  ["rules: [{name: r, match: a}]", "f:1:9: rule r: do is missing"],
  [
    "rules: [{name: r, mach: a, do: []}]",
    'f:1:19: rule r: unknown key "mach" (did you mean match?); known are name, match, source, when, throttle, unsafe, do',
  ],
  [
    "rules: [{name: a b, match: a, do: []}]",
    "f:1:16: rule 1: name: expected letters, digits, -, _ and dots, with a letter or digit first",
  ],
  [rule("do: []"), "f:1:35: rule r: do: expected at least one action"],
  [rule("do: {job: {}}"), "f:1:35: rule r: do: expected a list of actions, found a map: start each with -"],
  [
    rule("do: [{}]"),
    "f:1:36: rule r: do: expected one of job, states, approve, emit, webhook in each item, such as - approve: {}",
  ],
  [
    rule("do: [jop: {}]"),
    'f:1:36: rule r: do: unknown key "jop" (did you mean job?); known are job, states, approve, emit, webhook',
  ],
  [rule("do: [job: {function: test.ping}]"), "f:1:41: rule r: do: job: target is missing"],
  [
    rule("do: [approve: {}]"),
    "f:1:36: rule r: do: approve is only for rules with match: svc/enrollment/created",
  ],
  [
    rule("throttle: 5, do: [approve: {}]"),
    'f:1:41: rule r: throttle: "5" is not a duration: write a number and a unit (ms, s, m, h, d), such as 90s or 1h30m',
  ],
  [rule("throttle: 900h, do: [approve: {}]"), "f:1:41: rule r: throttle: expected 0 to 30d"],
  [
    rule("source: 'a b', do: [approve: {}]"),
    "f:1:39: rule r: source: expected a glob on peel ids, such as web*",
  ],
  [
    rule("when: {percent: 3}, do: [approve: {}]"),
    'f:1:38: rule r: when: "percent": expected source, tag, id, depth, or a path such as data.disk.percent',
  ],
  [
    rule("when: {data.a: {gt: x}}, do: [approve: {}]"),
    'f:1:51: rule r: when: "data.a": gt: expected a number, found a string',
  ],
  [
    rule("when: {data.a: {gr: 1}}, do: [approve: {}]"),
    'f:1:47: rule r: when: "data.a": unknown key "gr" (did you mean gt?); known are eq, ne, gt, gte, lt, lte, glob, in, exists',
  ],
  [
    rule("when: {data.a: [1, 2]}, do: [approve: {}]"),
    'f:1:46: rule r: when: "data.a": expected one value, found a list: for several values write in: [a, b]',
  ],
])("%s is refused where it is wrong", (text, message) => {
  expect(problem(text)).toBe(message);
});

test.each<[string, string]>([
  ["a//b", "a segment between two / is empty"],
  ["a b", "a tag must not contain spaces"],
  ["a/b**", "** matches whole segments: write it between two /"],
  ["disk.full", "separate the segments of a tag with /, not with dots"],
  [`${"a/".repeat(40)}a`, "more than 32 segments"],
  ["${tag}", "placeholders are not allowed here: the sender of the event would control the value"],
])("the tag glob %s is refused", (pattern, reason) => {
  expect(problem(`rules: [{name: r, match: "${pattern}", do: [approve: {}]}]`)).toEndWith(`match: ${reason}`);
});

describe("event data chooses no target, name or address", () => {
  test.each<[string, string]>([
    [
      'job: {target: "${data.a}", function: test.ping}',
      "target: the only value with a placeholder that is allowed here is ${source}",
    ],
    [
      'job: {target: "${source} or *", function: test.ping}',
      "the only value with a placeholder that is allowed here is ${source}",
    ],
    [
      'states: {target: "L@${source}"}',
      "the only value with a placeholder that is allowed here is ${source}",
    ],
    ['states: {target: "*", sls: ["${data.a}"]}', "sls: placeholders are not allowed here"],
    ['emit: {tag: "a/${source}"}', "tag: placeholders are not allowed here"],
    ["emit: {tag: svc/job}", "tags that begin with svc/ are reserved for the service"],
    ["emit: {tag: a.b}", "expected letters, digits, - and _, in segments separated by /"],
    ['emit: {tag: a, data: {"${tag}": 1}}', "placeholders are not allowed in keys"],
    ['webhook: {url: "https://x/${data.a}"}', "url: placeholders are not allowed here"],
    ["webhook: {url: http://x.example.com/}", "expected https://; http:// is only allowed for this host"],
    ["webhook: {url: https://u:p@x/}", "a URL must not contain a password: use token_file"],
    [
      "webhook: {url: https://x/, token_file: secret}",
      "expected the absolute path of a file, not its content",
    ],
    ['webhook: {url: https://x/, body: "${data.a b}"}', "is not a field of an event"],
    ['webhook: {url: https://x/, body: ["${data.a"]}', "a placeholder is not closed"],
    ['job: {target: "*", function: "cmd.${data.a}"}', "placeholders are not allowed here"],
    ['job: {target: "*", function: test.ping, timeout: "${data.a}"}', "not a duration"],
    [
      'job: {target: "*", function: service.restart, args: {"na${source}": x}}',
      "placeholders are not allowed in keys",
    ],
    ["approve: {force: true}", "takes no fields: write approve: {}"],
  ])("%s", (action, reason) => {
    expect(doing(action)).toContain(reason);
  });
});

test.each<[string, string]>([
  ["function: cmd.runn", 'function: unknown function "cmd.runn" (did you mean cmd.run?)'],
  ["function: test.ping, args: {a: 1}", 'test.ping: unknown argument "a"'],
  ["function: cmd.run, args: {argv: [ls], comand: x}", "comand"],
  ['function: file.write, args: {path: "/a", contents: "${tag}"}', "content"],
  ['function: file.write, args: {content: "${tag}"}', "path: missing"],
  ['function: file.write, args: {path: a, content: "${tag}"}', "path: expected an absolute path"],
  ["function: test.ping, timeout: 25h", "timeout: expected 1ms to 24h"],
])("a job is checked as far as it can be: %s", (fields, reason) => {
  expect(job(fields)).toContain(reason);
});

test("a rule that misuses event data is refused alone, and keeps its name", () => {
  using directory = temporaryDirectory("rules");
  const file = join(directory.path, "a.yaml");
  const bad =
    '{name: bad, match: a, do: [job: {target: "*", function: cmd.run, args: {command: "${data.a}"}}]}';
  const good = "{name: good, match: a, do: [emit: {tag: x}]}";
  writeFileSync(file, `rules:\n  - ${bad}\n  - ${good}\n`);
  const { rules, refused } = loadRules(directory.path);
  expect(rules.map(({ name }) => name)).toEqual(["good"]);
  expect(refused).toMatchObject([
    {
      name: "bad",
      at: { line: 2 },
      places: [
        {
          line: 2,
          text: `${file}:2: rule bad: do: job: args: command: placeholders are not allowed here: a shell runs the text`,
        },
      ],
    },
  ]);
  writeFileSync(join(directory.path, "b.yaml"), `rules: [${good.replace("good", "bad")}]`);
  expect(() => loadRules(directory.path)).toThrow("the name bad is already used by the rule at");
});

test("with unsafe: true the same rule is loaded, and has its places", () => {
  const text = (unsafe: string) =>
    `rules:\n  - name: r\n    match: a\n    unsafe: ${unsafe}\n    do:\n      - job:\n          target: "*"\n          function: cmd.run\n          args: {command: "x \${data.a}", cwd: "/\${source}"}\n`;
  const { rules, refused } = readRules(text("true"), "f");
  expect(refused).toEqual([]);
  expect(rules[0]?.unsafe?.map(({ text }) => text)).toEqual([
    "f:9: rule r: do: job: args: command: placeholders are not allowed here: a shell runs the text",
    "f:9: rule r: do: job: args: cwd: placeholders are not allowed here: the sender of the event would control it",
  ]);
  expect(readRules(text("false"), "f")).toMatchObject({ rules: [], refused: [{ name: "r" }] });
  expect(problem(text("maybe"))).toBe("f:4:13: rule r: unsafe: expected true or false, found a string");
  const target = rule('unsafe: true, do: [job: {target: "${data.a}", function: test.ping}]');
  expect(problem(target)).toContain("target: the only value with a placeholder");
});

test("a directory is read file by file, and its digest depends on the content", () => {
  using directory = temporaryDirectory("rules");
  const write = (name: string, text: string) => writeFileSync(join(directory.path, name), text);
  expect(loadRules(join(directory.path, "none"))).toMatchObject({ rules: [], files: [] });
  write("b.yaml", rule("do: [emit: {tag: x}]"));
  write("a.yaml", rule("do: [emit: {tag: x}]").replace("name: r", "name: q"));
  write("notes.txt", "{{");
  write(".hidden.yaml", "{{");
  const first = loadRules(directory.path);
  expect(first.rules.map(({ name }) => name)).toEqual(["q", "r"]);
  expect(first.files).toEqual([join(directory.path, "a.yaml"), join(directory.path, "b.yaml")]);
  expect(loadRules(directory.path).digest).toBe(first.digest);
  write("b.yaml", "");
  expect(loadRules(directory.path).digest).not.toBe(first.digest);
  write("b.yaml", rule("do: [emit: {tag: x}]").replace("name: r", "name: q"));
  expect(() => loadRules(directory.path)).toThrow(
    `${directory.path}/b.yaml:1:9: the name q is already used by the rule at ${directory.path}/a.yaml:1`,
  );
});

test("files that would be ignored or block are refused", () => {
  using directory = temporaryDirectory("rules");
  mkdirSync(join(directory.path, "d.yaml"));
  expect(() => loadRules(directory.path)).toThrow("d.yaml: not a regular file");
  using other = temporaryDirectory("rules");
  writeFileSync(join(other.path, "r.yml"), "");
  expect(() => loadRules(other.path)).toThrow(
    "r.yml: the file would be ignored; rename it to end with .yaml",
  );
  writeFileSync(join(other.path, "f"), "");
  expect(() => loadRules(join(other.path, "f"))).toThrow("cannot read the rules directory");
  using bytes = temporaryDirectory("rules");
  writeFileSync(join(bytes.path, "r.yaml"), Uint8Array.of(0xff, 0xfe));
  expect(() => loadRules(bytes.path)).toThrow("r.yaml: not UTF-8 text");
});

test("more rules than there may be are refused", () => {
  const many = Array.from({ length: 501 }, (_, at) => `{name: r${at}, match: a, do: [emit: {tag: x}]}`);
  using directory = temporaryDirectory("rules");
  writeFileSync(join(directory.path, "a.yaml"), `rules: [${many.join(",")}]`);
  writeFileSync(
    join(directory.path, "b.yaml"),
    `rules: [${many.join(",").replaceAll("name: r", "name: s")}]`,
  );
  expect(() => loadRules(directory.path)).toThrow("b.yaml:1:");
  expect(() => loadRules(directory.path)).toThrow("more than 1000 rules");
});

test("whatever a file holds, it is rules or a failure with a place", () => {
  const words = whole.split(/(\s+|[{}[\]:,"])/).filter((word) => word !== "");
  const check = (text: string) => {
    try {
      for (const { actions } of read(text)) expect(actions.length).toBeGreaterThan(0);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(SvcError);
      expect((thrown as SvcError).message).toMatch(/^f:(?:\d+:\d+:|\s)/);
    }
  };
  const edit = fc.record({
    at: fc.nat(words.length - 1),
    take: fc.nat(4),
    put: fc.array(
      fc.oneof(
        fc.constantFrom(...words),
        fc.string({ maxLength: 8 }),
        fc.constantFrom("${", "}", "null", "1e9", "__proto__", "constructor", "&a", "*a"),
      ),
      { maxLength: 4 },
    ),
  });
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      const changed = [...words];
      for (const { at, take, put } of edits) changed.splice(at, take, ...put);
      check(changed.join(""));
    }),
    { numRuns: 1_500 },
  );
  const json = fc.json({ maxDepth: 6 });
  fc.assert(
    fc.property(json, (text) => check(`rules: [{name: r, match: a, do: ${text}}]`)),
    { numRuns: 300 },
  );
  fc.assert(
    fc.property(json, (text) => check(`rules: ${text}`)),
    { numRuns: 300 },
  );
  fc.assert(
    fc.property(json, (text) => check(rule(`when: ${text}, do: [emit: {tag: x}]`))),
    { numRuns: 300 },
  );
});
