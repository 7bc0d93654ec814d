import { readFileSync } from "node:fs";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/file.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, plainValue } from "../../base/yaml.ts";
import { builtinFacts, collectFacts, systemHost } from "../../host/facts/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";

/** The peel to compile states for. */
export interface Subject {
  facts: Readonly<Record<string, Plain>>;
  settings: Readonly<Record<string, Plain>>;
}

export const subjectArgs = {
  facts: {
    type: "string",
    valueHint: "file",
    description: "YAML file of facts that override the facts of this host",
  },
  settings: {
    type: "string",
    valueHint: "file",
    description: "YAML file of settings (default: no settings)",
  },
} as const;

/** @throws SvcError naming the file */
export async function readSubject(
  args: { facts?: string | undefined; settings?: string | undefined },
  cli: Cli,
): Promise<Subject> {
  const own = await collectFacts(builtinFacts, systemHost(cli.hostname, cli.env), cli.clock);
  const given = args.facts === undefined ? {} : readMap("--facts", args.facts);
  return {
    facts: { id: cli.hostname, ...own.facts, ...given },
    settings: args.settings === undefined ? {} : readMap("--settings", args.settings),
  };
}

function readMap(flag: string, file: string): Record<string, Plain> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    throw new SvcError("bad_request", `${flag}: cannot read ${file}: ${reasonOf(thrown)}`, { cause: thrown });
  }
  const node = parseYaml(text, file);
  if (node.kind === "map") return plainValue(node) as Record<string, Plain>;
  throw new SvcError("bad_request", `${flag}: ${file} does not contain a map`);
}
