import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createTemplates } from "./render.ts";
import names from "./salt-names.json" with { type: "json" };

// salt-names.json has the names that templates of Salt 3007.1 see; as-salt.json what they give.

const page = readFileSync(new URL("../../../docs/templates.md", import.meta.url), "utf8");
const [, differing = ""] = page.split(/^### What differs from Salt$/m);
const documented = new Set(
  [...(differing.split(/^#+ /m)[0] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name),
);
/** Where values go through it, and a word that the refusal of an unknown one has. */
const uses = {
  filters: (name: string) => [`{{ 1 | ${name} }}`, "unknown filter"],
  tests: (name: string) => [`{{ 1 is ${name} }}`, "unknown test"],
  globals: (name: string) => [`{{ ${name} is defined }}`, "False"],
} as const;

/** Whether a template knows a name, whatever it makes of the value. */
async function isKnown(kind: keyof typeof uses, name: string): Promise<boolean> {
  const renderer = createTemplates().renderer(
    async () => undefined,
    () => [],
  );
  const [text = "", refusal = ""] = uses[kind](name);
  try {
    return !(await renderer.render({ name: "t", text }, { facts: {}, settings: {} }, {})).includes(refusal);
  } catch (thrown) {
    return !(thrown instanceof Error && thrown.message.includes(refusal));
  }
}

test.each(["filters", "tests", "globals"] as const)(
  "%s of Salt exist, or the page says that they do not",
  async (kind) => {
    const found = await Promise.all(
      names[kind].map(async (name) => [name, await isKnown(kind, name)] as const),
    );
    const missing = found.filter(([, known]) => !known).map(([name]) => name);
    expect(missing.filter((name) => !documented.has(name))).toEqual([]);
    expect(await isKnown(kind, "nothing_of_this_name")).toBe(false);
  },
);

test.each([
  ["{{ None | strftime }}", "strftime: a template has no clock"],
  ["{{ 'tomorrow' | strftime }}", "strftime: expected seconds since 1970 or a date"],
  ["{{ '2026-02-31' | strftime }}", "strftime: expected seconds since 1970 or a date"],
  ["{{ '2026-02-03' | strftime('%Q') }}", "%Q is not a part of a time"],
  ["{{ 'x' | mac_str_to_bytes }}", "expected the address of a card"],
  ["{{ 1 | to_entries }}", "expected a map or a list"],
  ["{{ range(60) | permutations | list }}", "there are more than 65536 such choices"],
  ["{{ range(30) | combinations(15) | list }}", "there are more than 65536 such choices"],
])("%s is refused", async (text, message) => {
  const renderer = createTemplates().renderer(
    async () => undefined,
    () => [],
  );
  const rendering = renderer.render({ name: "t", text }, { facts: {}, settings: {} }, {});
  await expect(rendering).rejects.toThrow(message);
});

test("a time is that of the clock of this host, and sorted lists are seen", async () => {
  const renderer = createTemplates().renderer(
    async () => undefined,
    () => [],
  );
  const text =
    "{{ 1040814000 | strftime('%Y-%m-%d %H:%M') }} {{ '1040814000.5' | strftime('%f') }} {{ [1, 2, 2] | is_sorted }} {{ ['b', 'a'] | is_sorted }}";
  const local = new Date(1040814000 * 1000);
  const two = (number: number) => String(number).padStart(2, "0");
  const day = `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())}`;
  expect(await renderer.render({ name: "t", text }, { facts: {}, settings: {} }, {})).toBe(
    `${day} ${two(local.getHours())}:${two(local.getMinutes())} 500000 True False`,
  );
});
