import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cleanEnvironment } from "../../internal/base/process/environment.ts";

/** A bare repository that a test fills, as a server would have it. */
export interface TestRepository {
  /** `file://…` */
  readonly url: string;
  readonly path: string;
  /** Commits exactly these files on a branch and returns the commit; `null` is a link to /etc/passwd. */
  commit(branch: string, files: Readonly<Record<string, string | Uint8Array | null>>): string;
  git(...args: string[]): string;
}

/** @param dir where the repository is made; nothing else is below it */
export function makeRepository(dir: string): TestRepository {
  const path = join(dir, "remote.git");
  const work = join(dir, "work");
  const env = {
    ...cleanEnvironment(undefined),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_NAME: "t",
    GIT_AUTHOR_EMAIL: "t@test",
    GIT_COMMITTER_NAME: "t",
    GIT_COMMITTER_EMAIL: "t@test",
  };
  const run = (cwd: string, args: readonly string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(["git", "-c", "protocol.file.allow=always", ...args], {
      cwd,
      env,
    });
    if (exitCode !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.toString().trim();
  };
  mkdirSync(path, { recursive: true });
  run(path, ["init", "--quiet", "--bare", "--initial-branch=main"]);
  return {
    url: `file://${path}`,
    path,
    commit(branch, files) {
      rmSync(work, { recursive: true, force: true });
      mkdirSync(work);
      run(work, ["init", "--quiet", "--initial-branch=new"]);
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(work, name)), { recursive: true });
        if (text === null) symlinkSync("/etc/passwd", join(work, name));
        else writeFileSync(join(work, name), text, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
      }
      run(work, ["add", "--all"]);
      run(work, ["commit", "--quiet", "--allow-empty", "-m", "a commit"]);
      run(work, ["push", "--quiet", "--force", path, `new:refs/heads/${branch}`]);
      return run(work, ["rev-parse", "HEAD"]);
    },
    git: (...args) => run(path, args),
  };
}
