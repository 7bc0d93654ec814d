import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tree } from "../states/trees.ts";
import { makeWorkDirectory } from "./cfengine.ts";
import type { Run } from "./cost.ts";
import type { Peers } from "./programs.ts";
import { saltOptions } from "./salt.ts";

/**
 * What other engines are given to bring the files of a tree about, each from a local source of its own and
 * compared by content.
 *
 * @param directory becomes theirs: policies, keys, caches and logs
 * @returns their runs; an engine that is not there is left out
 */
export function enginesFor(peers: Peers, tree: Tree, directory: string): Run[] {
  return [
    ...salt(peers, tree, join(directory, "salt")),
    ...cfengine(peers, tree, join(directory, "cfengine")),
    ...puppet(peers, tree, join(directory, "puppet")),
  ];
}

/** The state files of the tree itself, with the scheme that Salt knows. */
function salt(peers: Peers, { states }: Tree, directory: string): Run[] {
  const program = peers.program("salt-call");
  if (program === undefined) return [];
  const root = join(directory, "states");
  mkdirSync(directory);
  cpSync(states, root, { recursive: true });
  const list = join(root, "web/init.sls");
  writeFileSync(list, readFileSync(list, "utf8").replaceAll("svc://", "salt://"));
  const minion = {
    ...{ ...saltOptions(directory), log_level: "error" },
    ...{ id: "bench-1", file_client: "local", file_roots: { base: [root] } },
  };
  writeFileSync(join(directory, "minion"), JSON.stringify(minion));
  const argv = [program, "--local", "-c", directory, "--retcode-passthrough", "--out", "json"];
  return [{ name: "salt-call", argv: () => [...argv, "state.highstate"] }];
}

function cfengine(peers: Peers, tree: Tree, directory: string): Run[] {
  const program = peers.program("cf-agent");
  if (program === undefined) return [];
  const env = makeWorkDirectory(peers, directory);
  const policy = join(directory, "policy.cf");
  writeFileSync(
    policy,
    `body common control { bundlesequence => { "main" }; }
body copy_from local(from) { source => "$(from)"; compare => "digest"; }
body perms mode(bits) { mode => "$(bits)"; }
bundle agent main {
  files:
${filesOf(tree)
  .map(({ path, source }) => `    "${path}" perms => mode("0644"), copy_from => local("${source}");`)
  .join("\n")}
}
`,
    { mode: 0o600 },
  );
  return [{ name: "cf-agent", argv: () => [program, "-K", "-f", policy], env }];
}

function puppet(peers: Peers, tree: Tree, directory: string): Run[] {
  const program = peers.program("puppet");
  if (program === undefined) return [];
  const manifest = join(directory, "site.pp");
  // It does not make these two everywhere.
  for (const own of ["var/state", "public"]) mkdirSync(join(directory, own), { recursive: true });
  writeFileSync(
    manifest,
    filesOf(tree)
      .map(({ path, source }) => `file { '${path}': ensure => file, source => '${source}', mode => '0644' }`)
      .join("\n"),
  );
  const own = ["conf", "var", "ssl", "log", "run", "public"].map(
    (name) => `--${name}dir=${join(directory, name)}`,
  );
  return [{ name: "puppet apply", argv: () => [program, "apply", ...own, manifest] }];
}

function filesOf({ out, states }: Tree): { path: string; source: string }[] {
  const names = readdirSync(join(states, "web")).filter((name) => name.endsWith(".conf"));
  return names.map((name) => ({ path: join(out, name), source: join(states, "web", name) }));
}
