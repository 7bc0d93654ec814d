import { expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { memoryFiles } from "../../../test/harness/states.ts";
import { systemRandom } from "../../base/id.ts";
import { createInterning, createManySettings, createOrders } from "../../tree/plan/mod.ts";
import { createCompilers } from "../../tree/settings/mod.ts";
import { makePlan, type Side } from "./make-plan.ts";
import { createPlanTokens } from "./tokens.ts";

// A pull request of a stranger is planned with the settings of the masters: it gets its own plan, and nothing else.

const secret = "hunter2-very-secret";
const settings = treeOf({
  "top.sls": "base:\n  '*': [app]\n",
  "app.sls": `app: {port: 80}\npassword: ${secret}\nother_password: ${secret}\npin_secret: 4711\nlist_secret: [a, b]\n`,
});

/** What a tree gets to see: the whole plan, as text. */
async function planOf(files: Readonly<Record<string, string>>): Promise<string> {
  const compiler = createCompilers()(settings);
  const many = { ...createManySettings(compiler), trace: compiler.trace };
  const interning = createInterning();
  const side = (texts: Readonly<Record<string, string>>): Side => {
    const source = memoryFiles(texts);
    const orders = createOrders({ files: source, compat: "strict", interning });
    return { settings: many, ordersFor: async () => ({ orders, files: source }) };
  };
  const plan = await makePlan({
    ...{ peels: ["web-1"], before: side({ "top.sls": "base: {}\n" }), after: side(files) },
    ...{ factsOf: async () => ({ os: "Debian" }), labelsOf: () => ({}), pause: async () => {} },
    ...{ tokens: createPlanTokens(systemRandom), signal: new AbortController().signal },
  });
  return JSON.stringify(plan);
}

const web = (body: string) => ({ "top.sls": "base:\n  '*': [web]\n", "web.sls": body });
const named = (expression: string) => web(`x:\n  test.nop:\n    - name: 'got {{ ${expression} }}'\n`);

test.each([
  ["as it is", "settings.password"],
  ["all settings", "settings | json | base64_encode"],
  ["changed", "settings.password | upper"],
  ["its first letter", "settings.password[0]"],
  ["backwards", "settings.password | reverse | join('')"],
  ["a number", "settings.pin_secret"],
  ["in a function", "salt['pillar.get']('password')"],
  ["all of it by a function", "salt['pillar.items']() | json"],
])("a secret is not shown: %s", async (_, expression) => {
  const plan = await planOf(named(expression));
  expect(plan).toContain("got ");
  for (const part of [secret, secret.toUpperCase(), [...secret].reverse().join(""), "4711"]) {
    expect(plan).not.toContain(part);
    expect(plan).not.toContain(Buffer.from(part).toString("base64").slice(4, 16));
  }
  expect(plan).not.toContain("got h");
});

test.each([
  ["a condition", "'yes' if settings.password == 'hunter2-very-secret' else 'no'"],
  ["a subscript", "{'hunter2-very-secret': 'yes'}[settings.password] | default('no')"],
  ["a comparison of two", "settings.password == settings.other_password"],
  ["a test", "settings.password is match('h')"],
  ["its letters", "'h' in settings.password"],
])("what a secret decides is not shown: %s", async (_, expression) => {
  const plan = await planOf(named(expression));
  expect(plan).toContain("depends on a secret");
  expect(plan).not.toContain("got ");
});

test("two equal secrets look different, and their number is that of the items that have names", async () => {
  expect(await planOf(named("[settings.password, settings.other_password] | unique | length"))).toContain(
    "got 2",
  );
});

test("what is wrong does not repeat a secret", async () => {
  const plan = await planOf(web("{{ raise(settings.password) }}\n"));
  expect(plan).toContain("********");
  expect(plan).not.toContain(secret);
});

test.each([
  ["another file of the master", "{% include '../../../etc/passwd' %}\n", "template not found"],
  ["a command", "x:\n  test.nop:\n    - name: {{ salt['cmd.run']('id') }}\n", "known only on the host"],
  [
    "an endless loop",
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}\n",
    "web.sls:1",
  ],
  ["an endless text", "{% set a = ['x' * 100000] * 100000 %}{{ a | join('') }}\n", "web.sls:1"],
])("%s: an error or unknown, and nothing else", async (_, body, said) => {
  expect(await planOf(web(body))).toContain(said);
});
