import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, secretMode } from "../../base/files/file.ts";
import { createFiles } from "../../base/files/new-files.ts";
import { newCredentials } from "../../bus/accounts/mod.ts";
import { keyPairFromSeed } from "../../identity/mod.ts";
import { choice, command, value } from "../../program/command-line/mod.ts";

export const credentialsCommand = command({
  name: "credentials",
  description:
    "Create more credentials for an operator, for --direct-kv, or for a master, with the permissions of this version.",
  examples: ["svc nats-auth credentials --dir ./auth --out master-2.creds --role master"],
  args: {
    dir: value("directory", "Directory that svc nats-auth init wrote, with masters.seed", { required: true }),
    out: value("file", "Output file; an existing file is not overwritten", { required: true }),
    role: choice(["admin", "direct", "master"], "Role of the credentials", { default: "admin" }),
  },
  async run({ dir, out, role }, cli) {
    const seed = join(dir, "masters.seed");
    const issuedAt = Math.floor(cli.clock.now() / 1000);
    const data = newCredentials(role, accountOf(seed), issuedAt, cli.random);
    createFiles([{ path: out, data: `${data.trimEnd()}\n`, mode: secretMode }]);
    await cli.print({ file: out, role }, () => `${out}: credentials of the role ${role}`);
    cli.say(`The credentials were signed with ${seed}: move it back to offline storage.`);
  },
});

function accountOf(file: string) {
  const text = readTextFile(file, "the account seed of the masters");
  try {
    return keyPairFromSeed("account", text.trim());
  } catch (cause) {
    throw new SvcError("bad_request", `${file} is not an account seed`, { cause });
  }
}
