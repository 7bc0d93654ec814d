import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { natsServerDirectory } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { type Bindings, bind, compareOutput } from "./compare.ts";
import { type Step, stepsOf } from "./page.ts";
import { pages, readPage } from "./pages.ts";
import { openSession, type Session } from "./session.ts";

// What the pages tell their readers to type is typed here, page after page, with the built programs, in one
// directory; what they print is compared with what the pages show.

setDefaultTimeout(60_000);

const root = join(import.meta.dir, "../..");

/** The pages that are walked, in this order; each goes on where the one before ended. */
const walked = [
  "docs/quickstart.md",
  "docs/states-tutorial.md",
  "docs/approvals.md",
  "docs/states.md",
  "docs/targeting.md",
  "docs/settings.md",
  "docs/from-salt.md",
  "docs/facts.md",
  "docs/jobs.md",
  "docs/rest.md",
  "docs/enrollment.md",
  "docs/ca.md",
  "docs/bus.md",
  "docs/upgrading.md",
  "docs/sign-on.md",
  "docs/operating.md",
];
/** What ends the fleet is the last that is done, whatever page comes between. */
const ending = "## 9. Stop, and remove";

/** How many blocks of commands a page has that do not run here, marked `sh host`: those for other hosts, as root. */
const elsewhere: Readonly<Record<string, number>> = {
  "README.md": 3,
  "CONTRIBUTING.md": 1,
  "docs/audit.md": 2,
  "docs/bench.md": 2,
  "docs/bus.md": 2,
  "docs/ca-rotation.md": 2,
  "docs/clusters.md": 7,
  "docs/development.md": 3,
  "docs/enrollment.md": 2,
  "docs/exports.md": 3,
  "docs/facts.md": 3,
  "docs/events.md": 2,
  "docs/jobs.md": 4,
  "docs/from-salt.md": 3,
  "docs/joining.md": 9,
  "docs/key-rotation.md": 3,
  "docs/logs.md": 2,
  "docs/operators.md": 12,
  "docs/packages.md": 3,
  "docs/quickstart.md": 3,
  "docs/reactor.md": 3,
  "docs/releases.md": 3,
  "docs/renewal.md": 2,
  "docs/roles.md": 2,
  "docs/rollouts.md": 2,
  "docs/compliance.md": 1,
  "docs/configuration.md": 1,
  "docs/console.md": 1,
  "docs/peels.md": 1,
  "docs/plans.md": 2,
  "docs/publishing-states.md": 1,
  "docs/settings.md": 1,
  "docs/sites.md": 4,
  "docs/sign-on.md": 2,
  "docs/states.md": 4,
  "docs/succession.md": 1,
  "docs/templates.md": 1,
  "docs/upgrading-peels.md": 1,
  "docs/upgrading.md": 2,
};

const commandsOf = (page: string) => stepsOf(readPage(page)).filter((step) => step.kind === "commands");

test("every block of commands runs here, or says that it does not", () => {
  const unmarked = pages
    .filter((page) => !walked.includes(page))
    .flatMap((page) =>
      commandsOf(page)
        .filter(({ here }) => here)
        .map(({ line }) => `${page}:${line}: no test runs this: mark it \`sh host\``),
    );
  expect(unmarked).toEqual([]);
  const counts = pages.map((page) => [page, commandsOf(page).filter(({ here }) => !here).length] as const);
  expect(Object.fromEntries(counts.filter(([, count]) => count > 0))).toEqual(elsewhere);
});

/** Where the pages say that the fleet is. */
const shownDir = "/home/ann/first-fleet";
let session: Session;
const files = temporaryDirectory("page-programs");
const bindings: Bindings = new Map();
/** Where the pages say a port, the walk has a free one. */
const ports = new Map<string, string>();

beforeAll(async () => {
  const shown = ["4222", "8443", "9091", "9181", "9182", "8444", "9092"];
  const free = await freePorts(shown.length);
  for (const [at, port] of shown.entries()) ports.set(port, `${free[at]}`);
  // svc init has these ports as defaults, which no page writes down.
  const bin = join(files.path, "bin");
  mkdirSync(bin);
  const program = `#!/bin/sh
[ "$1" = init ] || exec ${join(root, "dist/svc")} "$@"
${join(root, "dist/svc")} "$@" --bus-port ${ports.get("4222")} --api-port ${ports.get("8443")} &&
  echo "health_addr: 127.0.0.1:${ports.get("9091")}" >> "$2/master.yaml"
`;
  writeFileSync(join(bin, "svc"), program);
  chmodSync(join(bin, "svc"), 0o755);
  session = await openSession({
    PATH: [bin, join(root, "dist"), natsServerDirectory(), process.env.PATH].join(":"),
  });
});
afterAll(async () => {
  await session?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const forRun = (text: string) =>
  bind(text, bindings)
    .replaceAll(shownDir, session.dir)
    .replace(/(?<!\d)\d{4}(?!\d)/g, (port) => ports.get(port) ?? port);

function asShown(printed: string): string {
  let text = printed
    .replaceAll(session.dir, shownDir)
    .replace(new RegExp(`\\b${hostname()}\\b`, "g"), "laptop");
  for (const [shown, port] of ports) text = text.replace(new RegExp(`\\b${port}\\b`, "g"), shown);
  return text;
}

async function take(step: Step): Promise<void> {
  if (step.kind === "file") return session.write(step.path, forRun(step.text));
  if (step.kind === "wait") {
    for (const file of step.files) await session.waitFor(file, step.says);
    return;
  }
  if (!step.here) return;
  const { printed, failed } = await session.type(forRun(step.text));
  if ((failed !== "") !== step.fails)
    throw new Error(`${failed === "" ? "nothing failed" : failed}\n${printed}`);
  if (step.output === undefined) return;
  const difference = compareOutput(step.output, asShown(printed), bindings);
  if (difference !== undefined) throw new Error(difference);
}

async function walk(page: string, isMeant: (line: number) => boolean): Promise<void> {
  for (const step of stepsOf(readPage(page)).filter(({ line }) => isMeant(line))) {
    await take(step).catch((cause) => {
      throw new Error(`${page}:${step.line}: ${cause.message}`);
    });
  }
}

describe("walking", () => {
  const [first = "", ...others] = walked;
  const end = readPage(first).split("\n").indexOf(ending) + 1;
  test(`${first}, up to its end`, () => walk(first, (line) => line < end));
  test.each(others)("%s", (page) => walk(page, () => true));
  test(`the end of ${first}`, () => walk(first, (line) => line >= end));
});
