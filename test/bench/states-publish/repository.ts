import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../internal/base/clock.ts";
import { openGit } from "../../../internal/tree/git/git.ts";
import { openMirror } from "../../../internal/tree/git/mirror.ts";
import { binaries } from "../../harness/fleet.ts";
import { makeRepository } from "../../harness/git.ts";
import { sshKeys } from "../../harness/ssh-keys.ts";

/** A repository with the files of a directory, whose commits are signed, and mirrors of it. */
export function repositoryOf(directory: string, dir: string) {
  const remote = makeRepository(join(dir, "git"));
  mkdirSync(join(dir, "keys"));
  const key = sshKeys(join(dir, "keys")).make("ed25519");
  const signers = join(dir, "signers");
  writeFileSync(signers, `ann@example.com namespaces="git" ${key.publicKey}\n`);
  const who = ["-c", "user.name=t", "-c", "user.email=t@test"];
  const signing = ["-c", "gpg.format=ssh", "-c", `user.signingKey=${key.path}`];
  const work = ["--work-tree", directory];
  /** Commits what the directory has now, and points the branch to it. */
  const commit = (...changed: string[]) => {
    remote.git(...work, "add", "--", ...(changed.length > 0 ? changed : [directory]));
    const tree = remote.git("write-tree");
    const parents = last === undefined ? [] : ["-p", last];
    last = remote.git(...who, ...signing, "commit-tree", "-S", "-m", "x", ...parents, tree);
    remote.git("update-ref", "refs/heads/main", last);
    return last;
  };
  let last: string | undefined;
  const { signal } = new AbortController();
  return {
    commit,
    mirror(isSigned: boolean) {
      const mirror = openMirror(
        {
          ...{ url: remote.url, base: "main", environments: [], tags: [] },
          ...(isSigned ? { signers } : {}),
        },
        {
          git: openGit({ sshKey: "", knownHosts: "/nonexistent", clock: systemClock, signal }),
          dir: join(dir, `mirror-${isSigned}`),
          ...{ maxBytes: 1024 ** 3, maxEnvironments: 200, sshProgram: binaries.master, clock: systemClock },
        },
      );
      let inForce: string | undefined;
      return {
        stop: () => mirror.stop(),
        /** The files of the branch now. @throws Error when the newest commit is not used */
        async read() {
          const { environments } = await mirror.sync({
            ...{ inForce: () => inForce, released: () => undefined, report: () => {}, othersMs: 60_000 },
          });
          const base = environments.get("base");
          if (base?.commit !== last) throw new Error("the newest commit is not used");
          inForce = base?.commit;
          return base?.files ?? new Map();
        },
      };
    },
  };
}
