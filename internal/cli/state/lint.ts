import { encodePeelId } from "../../base/names/peel-id.ts";
import { choice, command, word } from "../../program/command-line/mod.ts";
import type { FileSource } from "../../tree/files/mod.ts";
import type { StateProblem } from "../../tree/function/mod.ts";
import { checkArg, checkCompats, turnsOf } from "../check-args.ts";
import { printFindings, type ShownCheck, type ShownFinding } from "../print-findings.ts";
import { checkKinds, requestKinds } from "../request-kinds.ts";
import { readSubject, type Subject, subjectArgs } from "./subject.ts";

export const lintCommand = command({
  name: "lint",
  description: "Check state files as masters check them before they publish them, and show all problems.",
  examples: [
    "svc state lint ./states",
    "svc state lint ./states --check compile",
    "svc state lint ./states --salt-compat salt",
    "svc state lint ./states --facts test/debian.yaml --settings test/settings.yaml",
  ],
  args: {
    dir: word("Directory of the state files", { required: true }),
    check: checkArg,
    ...subjectArgs,
    "salt-compat": choice(checkCompats, "How state files are read, as states.salt_compat of masters", {
      default: "strict",
    }),
  },
  async run(args, cli) {
    const { createDirectorySource } = await import("../../tree/files/mod.ts");
    const { compatOf, compileForKinds, createStateCheck } = await import("../../tree/check/mod.ts");
    const compat = compatOf(args["salt-compat"]);
    const files = createDirectorySource(args.dir);
    // A host that is described is one more that the files must be right for.
    const isDescribed = args.facts !== undefined || args.settings !== undefined;
    const subject = isDescribed ? await readSubject({ ...args, "salt-compat": compat }, cli) : undefined;
    const turns = turnsOf(cli);
    const all = await createStateCheck(turns).check(files, { compat, all: true });
    const compile = async () => compileForKinds(files, await requestKinds(cli), { compat, turns });
    const found = args.check === "compile" ? await checkKinds(all, compile) : all;
    const shown = subject === undefined ? found : await compiled(found, files, subject, cli.hostname);
    await printFindings(cli, "state", shown);
  },
});

/** Adds what is wrong for a host with known facts and settings. */
async function compiled(
  found: ShownCheck,
  files: FileSource,
  subject: Subject,
  hostname: string,
): Promise<ShownCheck> {
  const { lintStates } = await import("../../tree/language/mod.ts");
  const id = typeof subject.facts.id === "string" ? subject.facts.id : hostname;
  const { problems, warnings } = await lintStates({ ...subject, files, peelId: encodePeelId(id) });
  return {
    checked: found.checked,
    problems: merged(found.problems, problems.map(shownOf)),
    hints: merged(found.hints, warnings.map(shownOf)),
  };
}

function shownOf({ file = "top.sls", line, column, message, excerpt }: StateProblem): ShownFinding {
  const place = { file, line: Math.max(1, line ?? 1), column: Math.max(1, column ?? 1) };
  return { ...place, reason: message, ...(excerpt === undefined ? {} : { excerpt }) };
}

/** What both found is shown once, with the lines around it. */
function merged(one: readonly ShownFinding[], other: readonly ShownFinding[]): ShownFinding[] {
  const keyOf = ({ file, reason }: ShownFinding) => `${file}: ${reason}`;
  const known = new Set(other.map(keyOf));
  return [...one.filter((each) => !known.has(keyOf(each))), ...other];
}
