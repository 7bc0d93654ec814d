import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A tree of state files and what it writes to. */
export interface Tree {
  /** `--states` */
  states: string;
  /** Everything that its states make is below. */
  out: string;
  /** States in it. */
  count: number;
}

/** What a managed file holds: a comment that tells it apart, and a page of text. */
const contentOf = (at: number) => `# file ${at}\n${"setting = value\n".repeat(20)}`;

function treeIn(directory: string, name: string, declarations: readonly string[]): Tree {
  const states = join(directory, name);
  mkdirSync(join(states, "web"), { recursive: true });
  writeFileSync(join(states, "top.sls"), "base:\n  '*': [web]\n");
  writeFileSync(join(states, "web/init.sls"), declarations.join(""));
  const out = join(directory, `${name}-out`);
  mkdirSync(out);
  return { states, out, count: declarations.length };
}

const managed = (path: string, source: string) =>
  `${path}:\n  file.managed:\n    - source: svc://web/${source}\n    - mode: 0644\n`;

/** A top file and one state that does nothing: what starting costs. */
export function emptyTree(directory: string): Tree {
  return treeIn(directory, "empty", ["nothing:\n  test.nop: []\n"]);
}

/** Files, each with a source of its own. */
export function fileTree(directory: string, count: number): Tree {
  const out = join(directory, "files-out");
  const names = Array.from({ length: count }, (_, at) => `f${at}.conf`);
  const tree = treeIn(
    directory,
    "files",
    names.map((name) => managed(join(out, name), name)),
  );
  for (const [at, name] of names.entries()) writeFileSync(join(tree.states, "web", name), contentOf(at));
  return tree;
}

/** What a host has of everything: files, directories, links, edited lines, packages, users and groups. */
export function mixedTree(directory: string, packages: readonly string[]): Tree {
  const out = join(directory, "mixed-out");
  const each = (count: number, make: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => make(at));
  const some = packages.slice(0, 20);
  const accounts = ["root", "daemon", "bin", "sys", "mail", "news", "proxy", "backup", "list", "nobody"];
  const groups = ["root", "daemon", "bin", "sys", "adm", "tty", "disk", "mail", "man", "audio"];
  const declarations = [
    ...each(60, (at) => managed(join(out, `f${at}.conf`), `f${at}.conf`)),
    ...each(40, (at) => `${join(out, `d${at}`)}:\n  file.directory:\n    - mode: 0755\n`),
    ...each(
      40,
      (at) => `${join(out, `l${at}`)}:\n  file.symlink:\n    - target: ${join(out, `f${at}.conf`)}\n`,
    ),
    ...each(
      20,
      (at) =>
        `append-${at}:\n  file.append:\n    - name: ${join(out, `f${at}.conf`)}\n    - text: setting = value\n`,
    ),
    ...some.map((name) => `pkg-${name}:\n  pkg.installed:\n    - name: ${name}\n`),
    ...accounts.map((name) => `user-${name}:\n  user.present:\n    - name: ${name}\n`),
    ...groups.map((name) => `group-${name}:\n  group.present:\n    - name: ${name}\n`),
  ];
  const tree = treeIn(directory, "mixed", declarations);
  for (const at of Array(60).keys()) writeFileSync(join(tree.states, "web", `f${at}.conf`), contentOf(at));
  return tree;
}
