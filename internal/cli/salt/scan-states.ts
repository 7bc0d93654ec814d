import type { Copied } from "./copy-tree.ts";
import type { Items } from "./report.ts";
import { type Functions, scanFunctions } from "./scan-functions.ts";
import { usesGpg } from "./without-gpg.ts";

/** Directories of a state tree whose files Salt copies to minions as Python, and what takes their place. */
const extensions: Readonly<Record<string, string>> = {
  _grains: "Write a program for custom facts, see docs/facts.md",
  _states: "Write it with the state functions of docs/state-functions.md",
  _modules: "Call a program with cmd.run, or write a template macro",
};
const otherExtension =
  /^_(?:beacons|clouds|engines|executors|matchers|output|pillar|proxy|renderers|returners|runners|sdb|serializers|tops|utils|wheel)$/;
const shebang = /^#!\s*(\S.*?)\s*$/;
const known = new Set(["jinja|yaml", "yaml", "yaml|jinja"]);

/** Finds what in state files does not exist here, without rendering them. */
export function scanStates(files: readonly Copied[], functions: Functions, items: Items): void {
  for (const { path, below, text } of files) {
    const [top = ""] = below.split("/");
    if (below.includes("/") && (Object.hasOwn(extensions, top) || otherExtension.test(top))) {
      const next = extensions[top] ?? "Look in docs/from-salt.md for what takes its place";
      items.add("modules", { file: path }, `Python code of Salt's ${top} does not run here`, next);
    } else if (below.endsWith(".sls") && text !== undefined) {
      scanRenderer(path, text, "states", items);
      if (/(?:^|\/)top\.sls$/.test(below)) scanTop(path, text, "states", items);
      scanFunctions(path, text, functions, items);
    }
  }
}

/** The same for settings files. */
export function scanSettings(files: readonly Copied[], items: Items): void {
  for (const { path, below, text } of files) {
    if (!below.endsWith(".sls") || text === undefined) continue;
    scanRenderer(path, text, "settings", items);
    if (below === "top.sls") scanTop(path, text, "settings", items);
  }
}

function scanRenderer(path: string, text: string, about: "states" | "settings", items: Items): void {
  const [, named = "jinja|yaml"] = shebang.exec(text.split("\n", 1)[0] ?? "") ?? [];
  if (known.has(named)) return;
  const next = usesGpg(text)
    ? "Write the secrets in the clear: settings are sealed to each peel, see docs/settings.md"
    : "Write the file as jinja|yaml";
  items.add(about, { file: path, line: 1 }, `the renderer ${named.slice(0, 40)} is not supported`, next);
}

function scanTop(path: string, text: string, about: "states" | "settings", items: Items): void {
  for (const [at, line] of text.split("\n").entries()) {
    const [, environment = "base"] = /^["']?([A-Za-z0-9_][^:{#]*?)["']?:\s*(?:#.*)?$/.exec(line) ?? [];
    if (environment === "base") continue;
    items.add(
      about,
      { file: path, line: at + 1 },
      `the environment ${environment} is not read in the top file of base`,
      about === "states"
        ? "Publish it as a branch with its own top.sls, see docs/publishing-states.md"
        : "Move its targets to base",
    );
  }
}
