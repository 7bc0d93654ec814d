import { readFileSync } from "node:fs";
import { readDocument } from "../../base/document/read.ts";
import { plainMap } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { systemRandom } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import { builtinFacts, collectFacts, findFact, systemHost } from "../../host/facts/mod.ts";
import { type Cli, choice, value } from "../../program/command-line/mod.ts";
import { accessLevels, openHostFunctions } from "../../tree/host-functions/mod.ts";
import { type Compat, compatLevels, type HostFunctions } from "../../tree/template/mod.ts";

/** The peel to compile states for. */
export interface Subject {
  facts: Readonly<Record<string, Plain>>;
  settings: Readonly<Record<string, Plain>>;
  compat: Compat;
  /** Functions of this host that templates may call. */
  host: HostFunctions;
}

export const subjectArgs = {
  facts: value("file", "YAML file of facts that override the facts of this host"),
  settings: value("file", "YAML file of settings (default: no settings)"),
  "salt-compat": choice(compatLevels, "How state files are read, as salt_compat of a peel", {
    default: "strict",
  }),
  "host-functions": choice(
    accessLevels,
    "What templates may call on this host, as templates.host_functions of a peel",
    { default: "read" },
  ),
} as const;

/** @throws SvcError naming the file */
export async function readSubject(
  args: {
    facts?: string | undefined;
    settings?: string | undefined;
    "salt-compat"?: string | undefined;
    "host-functions"?: string | undefined;
  },
  cli: Cli,
): Promise<Subject> {
  const own = await collectFacts(builtinFacts, systemHost(cli.hostname, cli.env), cli.clock);
  const given = args.facts === undefined ? {} : readMap("--facts", args.facts);
  const facts: Record<string, Plain> = { id: cli.hostname, ...own.facts, ...given };
  const { signal } = new AbortController();
  const context = { clock: cli.clock, signal, facts: { get: (path: string) => findFact(facts, path) } };
  return {
    facts,
    settings: args.settings === undefined ? {} : readMap("--settings", args.settings),
    compat: compatLevels.find((level) => level === args["salt-compat"]) ?? "strict",
    host: openHostFunctions({
      access: accessLevels.find((level) => level === args["host-functions"]) ?? "none",
      ...{ context, random: systemRandom },
    }),
  };
}

function readMap(flag: string, file: string): Record<string, Plain> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    throw new SvcError("bad_request", `${flag}: cannot read ${file}: ${reasonOf(thrown)}`, { cause: thrown });
  }
  return readDocument(text, file, plainMap()).value;
}
