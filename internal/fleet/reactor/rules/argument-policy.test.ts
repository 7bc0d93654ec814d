// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of rules are written this way
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../../base/msgpack.ts";
import { allFunctions } from "../../../host/modules/registry.ts";
import type { Event } from "../events/event.ts";
import { render } from "../render.ts";
import { placeholderRefusals } from "./argument-policy.ts";
import { readRules } from "./read-rule.ts";
import type { Action } from "./rule.ts";

const textOf = (job: string, more = "") =>
  `rules: [{name: r, match: a/b, ${more} do: [job: {target: "*", ${job}}]}]`;
/** Why a rule with this job is refused; empty when it is loaded. */
const refusal = (job: string) =>
  readRules(textOf(job), "f")
    .refused.flatMap(({ places }) => places)
    .map(({ text }) => text)
    .join("\n");
const run = (args: string) => `function: cmd.run, args: {${args}}`;

describe("of a program, event data is at most a word after --", () => {
  test.each<[string, string]>([
    ['command: "df ${data.a}"', "a shell runs the text"],
    ['command: "df ${source}"', "a shell runs the text"],
    ['command: "${data.a}"', "a shell runs the text"],
    ['argv: ["${data.a}"]', "a placeholder cannot be the program"],
    ['argv: [--, "${data.a}"]', "write -- before it"],
    ['argv: "${data.a}"', "a placeholder cannot replace all of argv"],
    ['argv: [logger, "${data.a}"]', "write -- before it"],
    ['argv: [logger, "${data.a}", --]', "write -- before it"],
    [
      'argv: [logger, -t, "${source}"]',
      "argv: item 3 (${source}): the program would read it as an option: write -- before it",
    ],
    ['argv: ["${data.a}"]', "argv: item 1 (${data.a}): a placeholder cannot be the program"],
    ['argv: [logger, --, "x ${data.a}"]', "must be a whole word"],
    ['argv: [logger, --, "${source}: ${data.a}"]', "must be a whole word"],
    ['argv: [tar, cf, /x, "--checkpoint-action=exec=${data.a}"]', "must be a whole word"],
    ['argv: [tar, cf, /x, --checkpoint-action, "${data.a}"]', "write -- before it"],
    ['argv: [rsync, -a, --rsh, "${data.a}", /a, h:/b]', "rsync runs or interprets its arguments"],
    ['argv: [rsync, -a, "--rsh=${data.a}", /a, h:/b]', "rsync runs or interprets its arguments"],
    ['argv: [rsync, -a, --, "${data.a}", /b]', "rsync runs or interprets its arguments"],
    ['argv: [sed, -n, "${data.a}", /etc/motd]', "sed runs or interprets its arguments"],
    ['argv: [sed, -n, --, "${data.a}", /etc/motd]', "sed runs or interprets its arguments"],
    ['argv: [/bin/sed, -i, "s/x/${data.a}/", /etc/motd]', "sed runs or interprets its arguments"],
    ['argv: [docker, exec, web, "${data.a}"]', "docker runs or interprets its arguments"],
    ['argv: [docker, exec, web, --, "${data.a}"]', "docker runs or interprets its arguments"],
    ['argv: [env, --, "${data.a}"]', "env runs or interprets its arguments"],
    ['argv: [/usr/bin/sudo, -u, x, --, "${data.a}"]', "sudo runs or interprets its arguments"],
    ['argv: [/usr/bin/perl5.36, /x, --, "${data.a}"]', "perl runs or interprets its arguments"],
    ['argv: [sh, -c, "${data.a}"]', "sh would run it"],
    ['argv: [sh, -c, --, "${data.a}"]', "sh would run it"],
    ['argv: [sh, -c, "echo $1", --, "${data.a}"]', "sh would run it"],
    ['argv: [/bin/bash, --, "${data.a}"]', "bash would run it"],
    ['argv: [python3.11, -u, --, "${data.a}"]', "python would run it"],
    ['argv: [sh, /dev/stdin, --, "${data.a}"]', "sh would run it"],
    ['argv: [ls], cwd: "/${source}"', "the sender of the event would control it"],
    ['argv: [ls], user: "${data.a}"', "the sender of the event would control it"],
    ['argv: [ls], umask: "${data.a}"', "the sender of the event would control it"],
    ['argv: [ls], timeout: "${data.a}"', "the sender of the event would control it"],
    ['argv: [ls], env: {LD_PRELOAD: "${data.a}"}', "placeholders are not allowed in LD_PRELOAD"],
    ['argv: [ls], env: {EVENT_a: "${data.a}"}', "placeholders are not allowed in EVENT_a"],
    ['argv: [ls], env: {EVENT_A: "x${data.a}"}', "env: EVENT_A: a placeholder must be the whole value"],
    ['argv: [ls], env: "${data.a}"', "a placeholder cannot replace all of env"],
    ['argv: [cat], stdin: "x ${data.a}"', "must be the whole value"],
    ['argv: [sh], stdin: "${data.a}"', "sh reads commands from its standard input"],
    ['argv: [docker, exec, -i, web, bash], stdin: "${data.a}"', "bash reads commands"],
    ['argv: [xargs, rm], stdin: "${data.a}"', "xargs reads commands from its standard input"],
    ['argv: [python3, -u], stdin: "${data.a}"', "python reads commands"],
    ['command: "sh", stdin: "${data.a}"', "sh reads commands"],
    ['command: "true && /bin/bash -s", stdin: "${data.a}"', "bash reads commands"],
    ['command: ". /dev/stdin", stdin: "${data.a}"', "reads commands from its standard input"],
    ['command: "cc -x c /dev//stdin", stdin: "${data.a}"', "/dev//stdin reads commands"],
    ['argv: [run, /dev/fd/0], stdin: "${data.a}"', "/dev/fd/0 reads commands"],
    ['command: "cat | xargs rm", stdin: "${data.a}"', "xargs reads commands"],
    ['command: "eval \\"$(cat)\\"", stdin: "${data.a}"', "eval reads commands"],
  ])("%s is refused", (args, reason) => {
    expect(refusal(run(args))).toContain(reason);
    // An operator who trusts the events can have it anyway.
    const { rules } = readRules(textOf(run(args), "unsafe: true,"), "f");
    expect(rules[0]?.unsafe?.length).toBeGreaterThan(0);
  });

  test.each([
    'argv: [logger, -t, svc, --, "${data.a}", "${source}"]',
    'argv: [tar, cf, /x.tar, --, "${data.a}"]',
    'argv: [/usr/local/bin/clean, --, "${data.a}"], stdin: "${data.b}"',
    'argv: [python3, /opt/note.py, --, "${data.a}"], stdin: "${data.a}"',
    'command: "echo \\"$EVENT_A\\"", env: {EVENT_A: "${data.a}", OTHER: x}',
    'command: "cat >> /var/log/notes", stdin: "${data.a}"',
    'command: "python3 /opt/note.py", stdin: "${data.a}"',
    'command: "/opt/reports/stdin", stdin: "${data.a}"',
    'argv: [tee, /srv/stdin], stdin: "${data.a}"',
    'argv: [logger, "$${data.a}"]',
  ])("%s is accepted", (args) => {
    expect(refusal(run(args))).toBe("");
  });
});

describe("of a function, event data is at most the whole of an argument that is declared for it", () => {
  test.each<[string, string]>([
    ['function: pkg.install, args: {names: ["${data.a}"]}', "would control it"],
    ['function: state.sls, args: {mods: ["${data.a}"]}', "would control it"],
    ['function: state.single, args: {fun: cmd.run, name: x, args: {a: "${data.a}"}}', "would control it"],
    ['function: file.write, args: {path: "/x/${source}", content: y}', "would control it"],
    ['function: file.append, args: {path: /x, text: "at ${data.a}"}', "must be the whole value"],
    ['function: event.send, args: {tag: x, data: {a: ["x${data.a}"]}}', "must be the whole value"],
    ['function: upgrade.apply, args: {manifest: "${data.a}", sha256: x, size: 1}', "would control it"],
    ['function: service.mask, args: {name: "${source}"}', "would control it"],
    ['function: service.restart, args: {name: "${data.a}.service"}', "must be the whole value"],
  ])("%s is refused", (job, reason) => {
    expect(refusal(job)).toContain(reason);
  });

  test.each([
    'function: service.restart, args: {name: "${data.service}"}',
    'function: file.write, args: {path: /var/log/x, content: "${data.a}"}',
    'function: event.send, args: {tag: x, data: {a: ["${data.a}"], b: {c: "${tag}"}}}',
    'function: test.echo, args: {text: "$${data.a}"}',
  ])("%s is accepted", (job) => {
    expect(refusal(job)).toBe("");
  });

  test("every argument that is not declared refuses, and no declared one names a path or a mode", () => {
    for (const called of allFunctions) {
      for (const [name, { data, type }] of Object.entries(called.args)) {
        if (data === undefined) {
          expect(placeholderRefusals(called, name, { [name]: "${data.a}" })).toHaveLength(1);
        } else {
          expect(["string", "strings", "map", "any"]).toContain(type);
        }
      }
      expect(placeholderRefusals(called, "__proto__", { ["__proto__"]: "${data.a}" })).toHaveLength(1);
    }
  });
});

const event = (data: Record<string, Plain>): Event => ({
  id: "events:1",
  tag: "a/b",
  source: "web1",
  origin: "peel",
  at: 5,
  depth: 1,
  data,
});
const jobs = [
  run('argv: [logger, -t, svc, --, "${data.a}", fixed, "${data.b}"]'),
  run('argv: [python3, /opt/x.py, --, "${data.a}"], stdin: "${data.b}"'),
  run('command: "printf %s \\"$EVENT_A\\"", env: {EVENT_A: "${data.a}", EVENT_B: "${data.b}"}'),
  run('command: "cat >> /x", stdin: "${data.a}"'),
  'function: file.append, args: {path: /x, text: "${data.a}"}',
  'function: service.restart, args: {name: "${data.a}"}',
  'function: user.info, args: {name: "${data.a}"}',
  'function: test.echo, args: {text: "${data.a}"}',
  'function: event.send, args: {tag: x, data: {a: "${data.a}", b: ["${data.b}"]}}',
].map((job): Extract<Action, { kind: "job" }> => {
  const action = readRules(textOf(job), "f").rules[0]?.actions[0];
  if (action?.kind !== "job") throw new Error(`not a job: ${job}`);
  return action;
});
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("-", "=", " ", "\n", "\0", "$", "`", ";", "|", "'", '"', "\\", "*") }),
  fc.constantFrom("--rsh=sh -c reboot", "-rf", "--", "${source}", "$(reboot)", "'; reboot #", "\u2014", "-"),
  fc.jsonValue(),
  fc.uint8Array({ maxLength: 4 }),
);

test("no event value changes the words, becomes an option, or reaches the text of a shell", () => {
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(fc.constantFrom(...jobs), hostile, hostile, (action, a, b) => {
      const rendered = render(action, event({ a: a as Plain, b: b as Plain }));
      outcomes.add(rendered.kind);
      if (rendered.kind !== "job") return;
      const { function: name, args = {} } = rendered.request;
      expect(name).toBe(action.function);
      expect(Object.keys(args)).toEqual(Object.keys(action.args));
      // What a shell, or a program before `--`, reads is what the rule says.
      expect(args.command).toBe(action.args.command as Plain);
      const { argv: written, env: variables } = action.args;
      if (Array.isArray(written)) {
        const words = args.argv as Plain[];
        expect(words).toHaveLength(written.length);
        for (const word of words) {
          expect(word).toBeString();
          expect(word).not.toContain("\0");
        }
        const end = written.indexOf("--");
        expect(words.slice(0, end + 1)).toEqual(written.slice(0, end + 1));
        expect(words[5]).toBe(written[5] as Plain);
      }
      if (variables !== undefined) {
        expect(Object.keys(args.env as object)).toEqual(Object.keys(variables as object));
        for (const value of Object.values(args.env as object)) {
          expect(value).toBeString();
          expect(value).not.toContain("\0");
        }
      }
      if (args.stdin !== undefined) expect(args.stdin).toBeString();
      if (args.text !== undefined) expect(args.text).toBeString();
      if (args.name !== undefined) expect(String(args.name)).toMatch(/^[^-]|^$/);
    }),
    { numRuns: 3_000 },
  );
  expect([...outcomes].sort()).toEqual(["job", "refused"]);
});

test("whatever a rule has in argv, a loaded one has event data only as whole words after --", () => {
  const word = fc.oneof(
    fc.constantFrom("${data.a}", "x${data.a}", "--", "-c", "-x", "$${data.a}", "/opt/x", "--a=${source}"),
    fc.constantFrom("logger", "sh", "sed", "docker", "/usr/bin/tar", "python3", "env"),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (argv) => {
      const rule = {
        name: "r",
        match: "a",
        do: [{ job: { target: "*", function: "cmd.run", args: { argv } } }],
      };
      const { rules } = readRules(JSON.stringify({ rules: [rule] }), "f");
      if (rules.length === 0) return;
      for (const [at, one] of argv.entries()) {
        if (one.replaceAll("$${", "").includes("${")) {
          expect(one).toBe("${data.a}");
          expect(argv.indexOf("--", 1)).toBeWithin(1, at);
          if (argv[0] === "sh" || argv[0] === "python3") expect(argv[1]).toStartWith("/");
          expect(["sed", "docker", "env"]).not.toContain(argv[0]);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a number is a text where a program reads it, and yesterday's guards hold for a name", () => {
  const [note, , , , , restart] = jobs;
  if (note === undefined || restart === undefined) throw new Error("no jobs");
  expect(render(note, event({ a: 5, b: true }))).toMatchObject({
    request: { args: { argv: ["logger", "-t", "svc", "--", "5", "fixed", "true"] } },
  });
  expect(render(restart, event({ a: "-H host" }))).toMatchObject({ kind: "refused" });
  expect(render(restart, event({ a: 5 }))).toMatchObject({ kind: "refused" });
});

test("a rule with unsafe: true puts the value where the rule says", () => {
  const action = readRules(textOf(run('command: "df ${data.a}"'), "unsafe: true,"), "f").rules[0]?.actions[0];
  if (action === undefined) throw new Error("no action");
  expect(render(action, event({ a: "-h /var" }))).toMatchObject({
    request: { args: { command: "df -h /var" } },
  });
});
