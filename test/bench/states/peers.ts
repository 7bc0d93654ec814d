import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tree } from "./trees.ts";

/** Another engine that brings the files of a tree about, when it is installed. */
export interface Peer {
  name: string;
  /** Its program, and the arguments; absent when it is not installed. */
  argv: readonly string[] | undefined;
}

/** Writes the policies of other engines for the files of a tree. */
export function peersFor(tree: Tree, directory: string): Peer[] {
  const names = readdirSync(join(tree.states, "web")).filter((name) => name.endsWith(".conf"));
  const files = names.map((name) => ({ path: join(tree.out, name), source: join(tree.states, "web", name) }));
  const cfengine = join(directory, "policy.cf");
  writeFileSync(
    cfengine,
    `body common control { bundlesequence => { "main" }; }
body copy_from local(from) { source => "$(from)"; compare => "digest"; }
body perms mode(bits) { mode => "$(bits)"; }
bundle agent main {
  files:
${files.map(({ path, source }) => `    "${path}" perms => mode("0644"), copy_from => local("${source}");`).join("\n")}
}
`,
    { mode: 0o600 },
  );
  const puppet = join(directory, "site.pp");
  writeFileSync(
    puppet,
    files
      .map(({ path, source }) => `file { '${path}': ensure => file, source => '${source}', mode => '0644' }`)
      .join("\n"),
  );
  return [
    { name: "CFEngine", argv: found("cf-agent", "-K", "-f", cfengine) },
    { name: "Puppet", argv: found("puppet", "apply", puppet) },
  ];
}

function found(program: string, ...args: string[]): readonly string[] | undefined {
  const path = Bun.which(program);
  return path === null ? undefined : [path, ...args];
}
