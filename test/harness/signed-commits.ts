import { cleanEnvironment } from "../../internal/base/process/environment.ts";
import type { TestRepository } from "./git.ts";
import type { SshKey } from "./ssh-keys.ts";

/** A commit of a repository as a person, or a forge, makes it. */
export interface Made {
  files: Readonly<Record<string, string | Uint8Array>>;
  parents?: readonly string[];
  /** Signs it; nobody without. */
  key?: SshKey;
  /** The date that author and committer claim. */
  date?: string;
}

/** Makes commits in a repository with Git alone; no branch points to them. */
export function commitsIn(remote: TestRepository) {
  const git = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...signing(undefined), ...args], {
      cwd: remote.path,
      env: { ...cleanEnvironment(undefined), ...plain, ...env },
    });
    if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.toString()}`);
    return stdout.toString().trim();
  };
  return {
    make({ files, parents = [], key, date }: Made): string {
      // Below no pattern of a test.
      remote.commit("made/files", files);
      return git(
        [
          ...signing(key),
          ...["commit-tree", "-m", date ?? "a change", ...(key === undefined ? [] : ["-S"])],
          ...[...parents.flatMap((parent) => ["-p", parent]), "made/files^{tree}"],
        ],
        date === undefined ? {} : { GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date },
      );
    },
    /** Writes the text of a commit as it is. */
    write(text: string): string {
      const { stdout } = Bun.spawnSync(
        ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"],
        {
          cwd: remote.path,
          stdin: Buffer.from(text),
        },
      );
      return stdout.toString().trim();
    },
    /** An annotated tag. */
    tag(name: string, object: string, key: SshKey): void {
      git([...signing(key), "tag", "--force", "-s", "-m", name, name, object]);
    },
  };
}

const plain = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };

const signing = (key: SshKey | undefined): string[] => [
  ...["-c", "user.name=t", "-c", "user.email=t@test", "-c", "gpg.format=ssh"],
  ...(key === undefined ? [] : ["-c", `user.signingKey=${key.path}`]),
];
