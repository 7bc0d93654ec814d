import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { context, files, template } from "./grammar.ts";
import { type Rendered, type Requested, renderWithJinja } from "./jinja.ts";
import { reasonFor } from "./meant.ts";
import { renderWithOurs } from "./ours.ts";
import { saltTemplate } from "./salt-grammar.ts";

// Renders random templates with Jinja and with this engine, and prints what differs. The same seed gives the same
// templates. With --refresh, the data that the tests use is made anew from what Jinja gives.

const { values } = parseArgs({
  options: {
    python: { type: "string", default: ".tools/jinja/bin/python" },
    /** The Python has Salt, whose filters are used as well. */
    salt: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    cases: { type: "string", default: "5000" },
    /** Shows also what this engine writes where Jinja fails. */
    lenient: { type: "boolean", default: false },
    refresh: { type: "boolean", default: false },
  },
});
const dataFile = "internal/tree/jinja/as-jinja.json";
/** How many of the random templates become data: each is a part of the time of every test run. */
const kept = 400;

const isFailure = ([text]: Rendered) => text === null;
const areEqual = (one: Rendered, other: Rendered) =>
  isFailure(one) ? isFailure(other) : one[0] === other[0];

const seed = Number(values.seed);
const sampled = fc.sample(values.salt ? saltTemplate : template, { seed, numRuns: Number(values.cases) });
const requested: Requested = { context, files, templates: [...new Set(sampled)] };
const { jinja, results } = await renderWithJinja(values.python, requested, values.salt);
const ours = renderWithOurs(requested, values.salt);
const meant = new Map<string, number>();
const same: [template: string, text: string | null][] = [];
let faults = 0;
for (const [at, text] of requested.templates.entries()) {
  const [one, other] = [ours[at], results[at]];
  if (one === undefined || other === undefined) throw new Error("a result is missing");
  if (areEqual(one, other)) {
    same.push([text, other[0]]);
    continue;
  }
  const isLenient = isFailure(other) && !values.lenient;
  const reason = isLenient ? "it is written where Jinja fails" : reasonFor(text, one, other);
  if (reason !== undefined) meant.set(reason, (meant.get(reason) ?? 0) + 1);
  else {
    faults++;
    process.stdout.write(`${JSON.stringify(text)}\n  Jinja ${shown(other)}\n  svc   ${shown(one)}\n`);
  }
}
process.stdout.write(
  `Jinja ${jinja}, seed ${seed}: ${requested.templates.length} templates, ${same.filter(([, text]) => text !== null).length} render, ` +
    `${same.length} are equal, ${faults} differ\n`,
);
for (const [reason, count] of meant) process.stdout.write(`  ${count} more: ${reason}\n`);
if (values.refresh) await refresh();
process.exitCode = faults === 0 ? 0 : 1;

/** Writes the data of the tests: what it has rendered again, and some of the new templates. */
async function refresh(): Promise<void> {
  const { fixed }: { fixed: { context: unknown; cases: [string, string | null][] }[] } = JSON.parse(
    readFileSync(dataFile, "utf8"),
  );
  for (const part of fixed) {
    const templates = part.cases.map(([text]) => text);
    const again = await renderWithJinja(values.python, { context: part.context, files, templates }, false);
    part.cases = templates.map((text, at) => [text, again.results[at]?.[0] ?? null]);
  }
  const rendering = same.filter(([, text]) => text !== null);
  const failing = same.filter(([, text]) => text === null).slice(0, kept / 8);
  const random = { context, files, cases: [...rendering.slice(0, kept - failing.length), ...failing] };
  writeFileSync(dataFile, `${JSON.stringify({ fixed, random }, undefined, 2)}\n`);
}

function shown([text, error]: Rendered): string {
  return text === null ? `fails with ${error}` : `writes ${JSON.stringify(text)}`;
}
