import { SvcError } from "../../base/errors.ts";
import type { FileSource } from "../files/mod.ts";
import {
  examineSettings,
  examineTemplates,
  groupFaults,
  hintsOf,
  pathOfName,
  type SettingsTree,
  settingsVariables,
  topFile,
} from "../settings/mod.ts";
import { matchGlob } from "../targets/mod.ts";
import { createTemplates, type Templates } from "../template/mod.ts";
import { type Allowance, createAllowance, type Turns } from "./budget.ts";
import { type Checked, type Finding, sortFindings } from "./finding.ts";
import { type Judged, judgeFile } from "./judge-file.ts";
import { type ReadOptions, readFile } from "./read-file.ts";
import { createMemory, textOf, type Uses } from "./remember.ts";
import { walk } from "./walk.ts";
import { isUnknownText } from "./worlds.ts";

/** Checks settings files, as a `StateCheck` checks state files. */
export interface SettingsCheck {
  check(tree: SettingsTree, options: SettingsCheckOptions): Promise<Checked>;
}

export interface SettingsCheckOptions {
  /** `settings.strict_facts` of the masters. */
  strictFacts: boolean;
  /** Whether files are read that no top file reaches, node groups as well, and what uses facts is named. */
  all?: boolean;
}

/** Variables that only a peel gives. Settings are empty while they are compiled. */
const unknown: ReadonlySet<string> = new Set(["facts", "grains", "id", "labels", "opts"]);

export function createSettingsCheck(turns: Turns): SettingsCheck {
  const templates = createTemplates(true);
  const memory = createMemory();
  return {
    async check(tree, { strictFacts, all = false }) {
      const files = sourceOf(tree);
      const allowance = createAllowance(turns);
      const remembered = memory.of(files, String(strictFacts));
      const templatesOfTree = examineTemplates(tree);
      const rest = [...tree.files.keys()].filter((path) => path.endsWith(".sls") && path !== topFile);
      const found = await walk(
        {
          top: tree.files.has(topFile) ? topFile : undefined,
          rest: () => rest,
          async judge(path) {
            const judged = await remembered(path, (uses) =>
              judgeSettings(path, { files, tree, strictFacts, templates, allowance, uses }),
            );
            allowance.count(path, judged.work);
            const { faults = [], choices = [] } = templatesOfTree.get(path) ?? {};
            const refused = strictFacts
              ? choices.map(({ line, reason }) => ({
                  line,
                  reason: `${reason}, which settings.strict_facts refuses`,
                }))
              : [];
            const unsafe = [...faults, ...refused].map((fault) => ({ file: path, column: 1, ...fault }));
            return { ...judged, problems: [...judged.problems, ...unsafe] };
          },
          find(name, from) {
            if (!name.includes("*")) {
              const lead = pathOfName(name, from, tree);
              return "path" in lead ? { paths: [lead.path] } : lead;
            }
            return { paths: rest.filter((path) => matchGlob(name.replaceAll("/", "."), nameOf(path))) };
          },
          missing: () => undefined,
          refusesCycles: true,
        },
        allowance,
        all,
      );
      if (!all) return found;
      const hints = sortFindings([...found.hints, ...choicesIn(tree, found)]);
      const known = new Set(found.problems.map(({ file }) => file));
      const groups = groupFaults(tree).flatMap((fault) => (known.has(fault.file) ? [] : [fault]));
      const problems = sortFindings([...found.problems, ...groups]);
      return { checked: tree.files.size, problems, hints };
    },
  };
}

interface Judging {
  files: FileSource;
  tree: SettingsTree;
  strictFacts: boolean;
  templates: Templates;
  allowance: Allowance;
  uses: Uses;
}

async function judgeSettings(path: string, judging: Judging): Promise<Judged> {
  const { files, tree, strictFacts, templates, allowance, uses } = judging;
  const source = await textOf(path, files);
  if ("problem" in source) {
    const problem = { file: path, line: 1, column: 1, reason: source.problem };
    return { problems: [problem], hints: [], references: [], sources: [], work: 0 };
  }
  const { id: _, labels: __, ...variables } = settingsVariables(path);
  const options = {
    renderer: templates.renderer(uses.read, uses.paths),
    ...{ unknown, variables, namesOldWords: false },
    compat: "strict",
    scope: { isOfSettings: true },
  } satisfies ReadOptions;
  return await judgeFile(
    async (assumption) => {
      await allowance.turn();
      return withoutTexts(await readFile(path, source.text, assumption, options));
    },
    async ({ root, placeOf }) => {
      // What a top file says depends on the groups.
      if (path === topFile) await uses.read("nodegroups.yaml").catch(() => undefined);
      const { faults, names } = examineSettings(path, root, { tree, strictFacts });
      const finding = ({ file, line, reason }: (typeof faults)[number]): Finding =>
        file === path ? { ...placeOf({ line }), reason } : { file, line, column: 1, reason };
      return {
        faults: [],
        forms: faults.filter(({ reason }) => !isUnknownText(reason)).map(finding),
        hints: [],
        references: names.map(({ name, line }) => ({ name, at: placeOf({ line }) })),
        sources: [],
      };
    },
  );
}

/** A reason with words of a template in it could repeat a secret that is written in one. */
function withoutTexts<Each extends { fault?: Finding }>(reading: Each): Each {
  const { fault } = reading;
  if (fault === undefined) return reading;
  const reason = fault.reason.replace(/unexpected '[^']{2,}'/, "unexpected text");
  return { ...reading, fault: { ...fault, reason } };
}

/** Where a fact chooses, and words that Salt reads differently; not what is a problem anyway. */
function choicesIn(tree: SettingsTree, { problems }: Checked): Finding[] {
  const known = new Set(problems.map(({ file, line }) => `${file}:${line}`));
  return hintsOf(tree).flatMap(({ file, line, reason }) =>
    known.has(`${file}:${line}`) ? [] : [{ file, line, column: 1, reason }],
  );
}

const nameOf = (path: string): string => path.replace(/(?:\/init)?\.sls$/, "").replaceAll("/", ".");

/** The files of settings as those of an environment. */
function sourceOf({ files }: SettingsTree): FileSource {
  const paths = [...files.keys()].sort();
  return {
    environment: "base",
    stat(path) {
      const file = files.get(path);
      return file && { digest: file.digest, size: file.text?.length ?? 0, executable: false };
    },
    async read(path) {
      const file = files.get(path);
      if (file?.text !== undefined) return Buffer.from(file.text);
      throw new SvcError("bad_request", file?.problem ?? "it does not exist");
    },
    list: () => paths,
  };
}
