import { quote } from "../../base/cut.ts";
import { suggestion } from "../../base/nearest.ts";
import type { FileSource } from "../files/mod.ts";
import { treePath } from "../functions/mod.ts";
import { examineState, examineTop, expandName, treeOf } from "../language/mod.ts";
import { type Compat, createTemplates, type Templates, variablesOf } from "../template/mod.ts";
import { type Allowance, createAllowance, type Turns } from "./budget.ts";
import type { Checked, Finding } from "./finding.ts";
import { type Judged, judgeFile, type NeededSource, type Said } from "./judge-file.ts";
import { type Reading, readFile } from "./read-file.ts";
import { createMemory, textOf, type Uses } from "./remember.ts";
import { walk } from "./walk.ts";
import { isUnknownText } from "./worlds.ts";

/** Checks state files. It remembers what it found in a file, and reads it again only when it is another one. */
export interface StateCheck {
  /** @throws SvcError when a file cannot be read */
  check(files: FileSource, options: StateCheckOptions): Promise<Checked>;
}

export interface StateCheckOptions {
  /** How state files are read. */
  compat: Compat;
  /** Whether files are read that no top file reaches: they give hints alone. */
  all?: boolean;
}

const topFile = "top.sls";
/** Variables that only a host knows. */
const unknown: ReadonlySet<string> = new Set(["facts", "grains", "settings", "pillar", "labels", "opts"]);

export function createStateCheck(turns: Turns): StateCheck {
  const templates = createTemplates(true);
  const memory = createMemory();
  return {
    async check(files, { compat, all = false }) {
      const tree = treeOf(files);
      const allowance = createAllowance(turns);
      const remembered = memory.of(files, compat);
      const judging = { files, compat, templates, allowance, names: tree.names };
      return await walk(
        {
          top: files.stat(topFile) === undefined ? undefined : topFile,
          rest: () => tree.names().flatMap((name) => tree.pathOf(name) ?? []),
          async judge(path) {
            const judged = await remembered(path, (uses) => judgeState(path, { ...judging, uses }));
            allowance.count(path, judged.work);
            return judged;
          },
          find(name) {
            const isGlob = /[*?[]/.test(name);
            const paths = expandName(name, tree.names).flatMap((each) => tree.pathOf(each) ?? []);
            if (isGlob || paths.length > 0) return { paths };
            return { reason: `state file ${name} does not exist${suggestion(name, tree.names())}` };
          },
          missing: (source) => missingSource(source, files),
          // As in Salt, state files may.
          refusesCycles: false,
        },
        allowance,
        all,
      );
    },
  };
}

/** Why none of the files that a state needs is there; what is unknown may be any of them. */
function missingSource(
  { argument, names, isDirectory }: NeededSource,
  files: FileSource,
): string | undefined {
  if (names.some(isUnknownText)) return undefined;
  const exists = (name: string) => {
    const path = (treePath(name) ?? "").replace(/\/+$/, "");
    return isDirectory ? files.list(path).length > 0 : files.stat(path) !== undefined;
  };
  if (names.some(exists)) return undefined;
  const [first = ""] = names;
  const near = suggestion(
    first,
    isDirectory ? [] : files.list("").map((path) => `${/^\w+:\/\//.exec(first)?.[0] ?? ""}${path}`),
  );
  const what = isDirectory ? "no files are below" : "no file is";
  return `${argument}: ${what} ${quote(first, 200)} in this environment${near}`;
}

interface Judging {
  files: FileSource;
  compat: Compat;
  templates: Templates;
  allowance: Allowance;
  uses: Uses;
  names(): readonly string[];
}

async function judgeState(path: string, judging: Judging): Promise<Judged> {
  const { files, compat, templates, allowance, uses } = judging;
  const source = await textOf(path, files);
  if ("problem" in source) {
    const problem = { file: path, line: 1, column: 1, reason: source.problem };
    return { problems: [problem], hints: [], references: [], sources: [], work: 0 };
  }
  const { environment } = files;
  const sls = path === topFile ? undefined : nameOf(path);
  const variables = uses.watched(
    sls === undefined ? { saltenv: environment, env: environment } : variablesOf(sls, path, environment),
  );
  const renderer = templates.renderer(uses.read, uses.paths);
  const options = { renderer, unknown, compat, variables, namesOldWords: true };
  const names = () => {
    uses.paths();
    return judging.names();
  };
  return await judgeFile(
    async (assumption) => {
      await allowance.turn();
      return await readFile(path, source.text, assumption, options);
    },
    async (reading) => {
      const { root, isTouched } = reading;
      const file = { path, root };
      const examining = { compat, isUnknown: isUnknownText, isKnown: !isTouched };
      const examined =
        sls === undefined
          ? examineTop(file, variables.env ?? environment, names)
          : await examineState(sls, file, examining);
      return said(examined, reading);
    },
  );
}

function said(
  { faults, forms, notes, names, sources }: ReturnType<typeof examineTop>,
  { placeOf }: Pick<Reading, "placeOf">,
): Said {
  const findings = (problems: typeof faults): Finding[] =>
    problems.flatMap(({ message, line }) =>
      isUnknownText(message) ? [] : [{ ...placeOf({ line: line ?? 1 }), reason: message }],
    );
  return {
    ...{ faults: findings(faults), forms: findings(forms), hints: findings(notes) },
    references: names.map(({ name, line }) => ({ name, at: placeOf({ line }) })),
    sources: sources.map(({ line, ...source }) => ({ ...source, at: placeOf({ line }) })),
  };
}

const nameOf = (path: string): string => path.replace(/(?:\/init)?\.sls$/, "").replaceAll("/", ".");
