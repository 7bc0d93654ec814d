// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of rules are written this way
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import type { Event } from "./events/event.ts";
import { render } from "./render.ts";
import { fill, placeholderProblem, placeholdersOf, Unrendered } from "./rules/placeholder.ts";
import { readRules } from "./rules/read-rule.ts";
import type { Action } from "./rules/rule.ts";

const eventOf = (more: Partial<Event> = {}): Event => ({
  id: "events:1",
  tag: "disk/full",
  source: "web1_example_com",
  origin: "peel",
  at: 5,
  depth: 1,
  data: {},
  ...more,
});
const withData = (data: Record<string, Plain>, more: Partial<Event> = {}) => eventOf({ ...more, data });
function actionOf(text: string, match = "a"): Action {
  const action = readRules(`rules: [{name: r, match: ${match}, do: [${text}]}]`, "f").rules[0]?.actions[0];
  if (action === undefined) throw new Error("no action");
  return action;
}

describe("placeholders", () => {
  test("keep the type of a value that they are alone for, and are text within text", () => {
    const event = withData({
      n: 5,
      yes: true,
      list: [1],
      map: { a: 1 },
      none: null,
      bytes: Uint8Array.of(1),
    });
    expect(fill(["${data.n}", "${data.yes}", "${data.list}", "${data.map}", "${data.none}"], event)).toEqual([
      5,
      true,
      [1],
      { a: 1 },
      null,
    ]);
    expect(fill("${source}: ${data.n}, ${data.yes} at ${tag}", event)).toBe(
      "web1_example_com: 5, true at disk/full",
    );
    for (const path of ["list", "map", "none", "bytes"]) {
      expect(() => fill(`x\${data.${path}}`, event)).toThrow(
        `data.${path} is not a string, number or boolean`,
      );
    }
    expect(() => fill("${data.other}", event)).toThrow("data.other is not in the event");
  });

  test("are kept as they are behind a second dollar", () => {
    expect(fill("$${data.n} $${x} $HOME $5 {a} ${source}", eventOf())).toBe(
      "${data.n} ${x} $HOME $5 {a} web1_example_com",
    );
    expect(fill("$${source}", eventOf())).toBe("${source}");
    expect(placeholdersOf("$${a} ${b} $$${c}")).toEqual(["b"]);
  });

  test.each(["${percent}", "${}", "${data}", "${ source }", "${data.a b}", "${data..a}", "${data.a"])(
    "%s is rejected",
    (text) => {
      expect(placeholderProblem(text)).toBeString();
    },
  );

  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "${source}",
      "${data.b}",
      "$${data.b}",
      '"}, {"target": "*"',
      "$(reboot)",
      "'; reboot #",
      "$&",
      "$1",
      "$`",
      "-rf",
      "*",
      "web* or *",
      "\n- job: {target: '*'}",
      "\u0000",
      "__proto__",
    ),
  );

  test("a hostile text stays one text, and nothing in it is looked at again", () => {
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        const event = withData({ a, b });
        expect(fill({ k: ["x ${data.a} y ${data.b}", "${data.a}"] }, event)).toEqual({
          k: [`x ${a} y ${b}`, a],
        });
      }),
      { numRuns: 1_000 },
    );
  });

  test("event data never changes the structure of the rule, except for whole values", () => {
    const template = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom("${data.a}", "x${data.a}", "${source}", "plain", 1, null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("k", "l", "__proto__", "${data.a}"), tie("value"), { maxKeys: 3 }),
      ),
    })).value;
    const sameShape = (rule: unknown, made: unknown): void => {
      if (typeof rule === "string" && rule === "${data.a}") return;
      if (Array.isArray(rule)) {
        expect(made).toBeArrayOfSize(rule.length);
        for (const [at, item] of rule.entries()) sameShape(item, (made as unknown[])[at]);
      } else if (rule !== null && typeof rule === "object") {
        expect(Object.keys(made as object)).toEqual(Object.keys(rule));
        for (const [key, item] of Object.entries(rule)) {
          sameShape(item, Object.getOwnPropertyDescriptor(made, key)?.value);
        }
      } else {
        expect(typeof made).toBe(typeof rule);
      }
    };
    fc.assert(
      fc.property(template, fc.jsonValue(), (rule, a) => {
        try {
          sameShape(rule, fill(rule as Plain, withData({ a: a as Plain })));
        } catch (thrown) {
          if (!(thrown instanceof Unrendered)) throw thrown;
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("an action", () => {
  test("has the values of the event", () => {
    const event = withData({ text: "hello", service: "nginx" });
    expect(
      render(
        actionOf(
          'job: {target: "${source}", function: cmd.run, args: {argv: [logger, --, "${data.text}"]}, timeout: 9s}',
        ),
        event,
      ),
    ).toEqual({
      kind: "job",
      request: {
        targets: ["web1_example_com"],
        function: "cmd.run",
        args: { argv: ["logger", "--", "hello"] },
        timeout: "9s",
      },
    });
    expect(render(actionOf('states: {target: "G@role:web", sls: [web, db]}'), event)).toEqual({
      kind: "job",
      request: { target: "G@role:web", function: "state.sls", args: { mods: ["web", "db"], test: false } },
    });
    expect(render(actionOf('states: {target: "*", test: true}'), event)).toEqual({
      kind: "job",
      request: { target: "*", function: "state.highstate", args: { test: true } },
    });
    expect(render(actionOf('emit: {tag: a/b, data: {of: "${source}"}}'), event)).toEqual({
      kind: "emit",
      tag: "a/b",
      data: { of: "web1_example_com" },
    });
    expect(
      render(actionOf('webhook: {url: "https://h/", token_file: /t, body: {text: "${data.text}!"}}'), event),
    ).toEqual({ kind: "webhook", url: "https://h/", tokenFile: "/t", body: { text: "hello!" } });
  });

  test("without a body sends the event itself to a webhook", () => {
    expect(render(actionOf('webhook: {url: "https://h/"}'), withData({ a: 1 }))).toMatchObject({
      body: {
        id: "events:1",
        tag: "disk/full",
        source: "web1_example_com",
        at: "1970-01-01T00:00:00.005Z",
        depth: 1,
        data: { a: 1 },
      },
    });
  });

  test("approves the enrollment of an event of the service, but not with a mismatch", () => {
    const approve = actionOf("approve: {}", "svc/enrollment/created");
    const created = (data: Record<string, Plain>, more: Partial<Event> = {}) =>
      render(
        approve,
        withData(data, { tag: "svc/enrollment/created", source: "_master", origin: "service", ...more }),
      );
    expect(created({ id: "enr-1", trust: "ok" })).toEqual({ kind: "approve", enrollment: "enr-1" });
    expect(created({ id: "enr-1", trust: "-" })).toEqual({ kind: "approve", enrollment: "enr-1" });
    expect(created({ id: "enr-1", trust: "MISMATCH!" })).toMatchObject({
      kind: "refused",
      reason: "the enrollment has a trust mismatch, which only an operator may approve",
    });
    expect(created({ id: "enr-1" }).kind).toBe("refused");
    expect(created({ trust: "ok" }).kind).toBe("refused");
    expect(created({ id: "enr-1", trust: "ok" }, { origin: "peel" }).kind).toBe("refused");
    expect(created({ id: "enr-1", trust: "ok" }, { tag: "a" }).kind).toBe("refused");
  });

  test.each<[string, Record<string, Plain>, string]>([
    [
      'job: {target: "*", function: service.restart, args: {name: "${data.a}"}}',
      {},
      "data.a is not in the event",
    ],
    [
      'job: {target: "*", function: service.restart, args: {name: "${data.a}"}}',
      { a: 5 },
      "expected a string",
    ],
    [
      'job: {target: "*", function: service.restart, args: {name: "${data.a}"}}',
      { a: ["x"] },
      "expected a string",
    ],
    [
      'job: {target: "*", function: service.restart, args: {name: "${data.a}"}}',
      { a: "-H host" },
      "name begins with - or has control characters",
    ],
    [
      'job: {target: "*", function: cmd.run, args: {argv: [ls, --, "${data.a}"]}}',
      { a: "x\0y" },
      "argv.2 has a zero byte",
    ],
    [
      'job: {target: "*", function: cmd.run, args: {argv: [ls, --, "${data.a}"]}}',
      { a: ["x", "y"] },
      "argv.2 is not a string, number or boolean",
    ],
    [
      'job: {target: "*", function: cmd.run, args: {argv: [ls], env: {EVENT_A: "${data.a}"}}}',
      { a: null },
      "env.EVENT_A is not a string, number or boolean",
    ],
    [
      'emit: {tag: x, data: {a: "${data.a}", b: "${data.a}"}}',
      { a: "x".repeat(40_000) },
      "larger than 64 KiB",
    ],
    ['emit: {tag: x, data: {a: "${data.a}"}}', { a: nested(100_000) }, "nested too deeply"],
    ['webhook: {url: "https://h/"}', { a: nested(100_000) }, "nested too deeply"],
  ])("%s is refused for an event it does not fit", (text, data, reason) => {
    const rendered = render(actionOf(text), withData(data));
    expect(rendered).toMatchObject({ kind: "refused", reason: expect.stringContaining(reason) });
    expect(JSON.stringify(rendered).length).toBeLessThan(300);
  });

  test("for the source has no target when the source is not a peel", () => {
    const action = actionOf('job: {target: "${source}", function: test.ping}');
    for (const source of ["_master", "*", "web1 or *", "G@os:x", ""]) {
      expect(render(action, eventOf({ source })).kind).toBe("refused");
    }
    const applied = eventOf({ tag: "svc/enrollment/created", origin: "service" });
    expect(render(action, applied).kind).toBe("refused");
  });

  test("has the target and the function of the rule, with any event data", () => {
    const actions = [
      'job: {target: "G@role:web", function: test.echo, args: {text: "${data.a}"}}',
      'job: {target: "${source}", function: cmd.run, args: {argv: [logger, --, "${data.a}", "${data.b}"]}}',
      'states: {target: "web*", sls: [web]}',
      'webhook: {url: "https://h/x", body: {a: "${data.a}", b: ["${data.b}"]}}',
      'emit: {tag: a/b, data: {a: "${data.a}"}}',
    ].map((text) => actionOf(text));
    const value = fc.oneof(
      fc.jsonValue(),
      fc.string({ unit: "binary" }),
      fc.constantFrom("${source}", "*", "-x"),
    );
    fc.assert(
      fc.property(fc.constantFrom(...actions), value, value, fc.string(), (action, a, b, tag) => {
        const rendered = render(action, withData({ a: a as Plain, b: b as Plain }, { tag }));
        if (rendered.kind === "refused") return;
        if (rendered.kind === "job") {
          const { target, targets, function: name } = rendered.request;
          if (action.kind === "job") expect(name).toBe(action.function);
          if ("target" in action && "expression" in action.target)
            expect(target).toBe(action.target.expression);
          else expect({ target, targets }).toEqual({ target: undefined, targets: ["web1_example_com"] });
          for (const word of (rendered.request.args?.argv as Plain[] | undefined) ?? []) {
            expect(word).toBeString();
          }
        }
        if (rendered.kind === "webhook") expect(rendered.url).toBe("https://h/x");
        if (rendered.kind === "emit") expect(rendered.tag).toBe("a/b");
        expect(decode(encode(rendered))).toBeObject();
      }),
      { numRuns: 1_000 },
    );
  });
});

function nested(levels: number): Plain {
  let value: Plain = 1;
  for (let at = 0; at < levels; at++) value = [value];
  return value;
}
