import { accessSync, constants, statSync } from "node:fs";
import { basename } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { atLine } from "../../base/place.ts";
import { readConfigFile } from "../../program/config/mod.ts";
import type { Policy, PolicyRule } from "./policy.ts";
import { readPolicy } from "./read-policy.ts";

/** What checking a policy file found. */
export interface LintedPolicy {
  /** Absent when the file has a problem. */
  policy?: Policy;
  /** `<file>:<line>:<column>: …` */
  problems: string[];
  /** What a person should look at: `<file>:<line>: …` */
  warnings: string[];
}

/**
 * Checks a policy file on this host.
 *
 * @throws SvcError `not_found` when there is none
 */
export function lintPolicy(path: string): LintedPolicy {
  try {
    const text = readConfigFile(path);
    if (text === undefined) throw new SvcError("not_found", `${path}: no such file: name the policy file`);
    const policy = readPolicy(text, path);
    return { policy, problems: [], warnings: [...warningOfMode(path), ...warningsOf(policy, path)] };
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.kind === "not_found") throw thrown;
    return { problems: [thrown.message], warnings: [] };
  }
}

/** A writer of the file can admit hosts. */
function warningOfMode(path: string): string[] {
  return canOthersWrite(path)
    ? [`${path}: group or others can change it, and so decide which hosts join: chmod go-w`]
    : [];
}

function warningsOf({ rules }: Policy, path: string): string[] {
  return rules.flatMap((rule, at) => {
    const place = `${atLine(basename(path), rule.at.line)}: rule ${rule.name}`;
    const found = [...warningOfName(rule), ...warningsOfProgram(rule)];
    const isUnreached = rules.slice(0, at).some(({ match }) => Object.keys(match).length === 0);
    if (isUnreached) found.push("is never reached: a rule before it matches every host");
    return found.map((text) => `${place}: ${text}`);
  });
}

/** A host chooses its peel id itself. */
function warningOfName({ match, decider }: PolicyRule): string[] {
  const isOpen = "decide" in decider && decider.decide === "approve";
  if (!isOpen || match.address !== undefined || match.evidence !== undefined) return [];
  return [
    "approves every host that claims such a peel id: match address or evidence too, or use tokens or expected hosts",
  ];
}

function warningsOfProgram({ decider }: PolicyRule): string[] {
  if (!("program" in decider)) return [];
  const [program] = decider.program.argv;
  try {
    accessSync(program, constants.X_OK);
  } catch (thrown) {
    return [`${program} cannot be run here: ${reasonOf(thrown)}`];
  }
  return canOthersWrite(program) ? [`${program} can be changed by group or others`] : [];
}

function canOthersWrite(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o022) !== 0;
}
