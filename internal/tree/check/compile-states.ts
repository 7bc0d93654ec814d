import type { FileSource } from "../files/mod.ts";
import { StateErrors, type StateProblem } from "../function/mod.ts";
import { compileStates } from "../language/mod.ts";
import { readOnce, unknownHost } from "../plan/mod.ts";
import { type Compat, createTemplates } from "../template/mod.ts";
import { type Allowance, createAllowance, type Turns } from "./budget.ts";
import type { Finding } from "./finding.ts";
import { hideSettings } from "./hide-settings.ts";
import { judgeKinds, type KindFaults, type KindFindings } from "./judge-kinds.ts";
import type { Kind, Kinds } from "./kind.ts";

const topFile = "top.sls";

/** Compiles the highstate of one peel of each kind. @throws SvcError when a file cannot be read */
export async function compileForKinds(
  files: FileSource,
  kinds: Kinds,
  { compat, turns }: { compat: Compat; turns: Turns },
): Promise<KindFindings> {
  if (files.stat(topFile) === undefined) return { problems: [], hints: [] };
  const allowance = createAllowance(turns);
  const { read } = readOnce(files);
  const templates = createTemplates();
  return await judgeKinds(kinds, turns, topFile, async (kind, isLate) => {
    if (kind.settings === undefined) return { faults: [], doubts: [] };
    let isCalled = false;
    const host = unknownHost(() => {
      isCalled = true;
    });
    const { peelId, facts, labels, settings } = kind;
    const source = { ...files, read: inTurns(read, allowance, isLate) };
    try {
      await compileStates(
        { files: source, templates, facts, labels, settings, compat, host, peelId },
        "highstate",
      );
      return { faults: [], doubts: [] };
    } catch (thrown) {
      if (thrown instanceof Late) return { faults: [], doubts: [] };
      if (!(thrown instanceof StateErrors)) throw thrown;
      return await sorted(thrown.problems, { kind, compat, read, isCalled, files });
    }
  });
}

/** There is no time left to compile further. */
class Late extends Error {}

type Read = FileSource["read"];

function inTurns(read: Read, allowance: Allowance, isLate: () => boolean): Read {
  return async (path) => {
    await allowance.turn();
    if (isLate()) throw new Late();
    return await read(path);
  };
}

interface Sorting {
  kind: Kind;
  compat: Compat;
  read: Read;
  files: FileSource;
  /** Whether a template looked at the host: what is wrong then may follow from that. */
  isCalled: boolean;
}

async function sorted(problems: readonly StateProblem[], sorting: Sorting): Promise<KindFaults> {
  const hide = hideSettings({ ...sorting.kind.settings });
  const faults: Finding[] = [];
  const doubts: Finding[] = [];
  for (const problem of problems) {
    const isDoubt = sorting.isCalled || isHarmless(problem.message, sorting.compat);
    (isDoubt ? doubts : faults).push(await findingOf(problem, hide, sorting));
  }
  return { faults, doubts };
}

/** What is a hint alone when no host is known. */
function isHarmless(message: string, compat: Compat): boolean {
  return (
    message.includes("no section for the environment") || (compat !== "strict" && /^unknown /.test(message))
  );
}

async function findingOf(
  { file = topFile, line = 1, column = 1, message }: StateProblem,
  hide: ReturnType<typeof hideSettings>,
  { read, files }: Sorting,
): Promise<Finding> {
  const source = files.stat(file) === undefined ? "" : Buffer.from(await read(file)).toString();
  const place = { file, line: Math.max(1, line), column: Math.max(1, column) };
  return { ...place, reason: hide(message, source) };
}
