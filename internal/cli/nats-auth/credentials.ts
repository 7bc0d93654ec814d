import { join } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile, secretMode } from "../../base/file.ts";
import { createFiles } from "../../base/new-files.ts";
import { newCredentials } from "../../bus/accounts/users.ts";
import { keyPairFromSeed } from "../../identity/nkey.ts";
import { command } from "../../program/command-line/command.ts";

export const credentialsCommand = command({
  name: "credentials",
  description: "Make further credentials for an operator or a master, with the permissions of this version.",
  args: {
    dir: {
      type: "string",
      valueHint: "directory",
      required: true,
      description: "What svc nats-auth init wrote, with masters.seed",
    },
    out: {
      type: "string",
      valueHint: "file",
      required: true,
      description: "Where they are written; a file that is there is not overwritten",
    },
    role: { type: "enum", options: ["admin", "master"], default: "admin", description: "Whose they are" },
  },
  async run({ dir, out, role }, cli) {
    const seed = join(dir, "masters.seed");
    const issuedAt = Math.floor(cli.clock.now() / 1000);
    const data = newCredentials(role, accountOf(seed), issuedAt, cli.random);
    createFiles([{ path: out, data: `${data.trimEnd()}\n`, mode: secretMode }]);
    await cli.print({ file: out, role }, () => `${out}: credentials of the role ${role}`);
    cli.say(`${seed} signed them: keep it offline again`);
  },
});

function accountOf(file: string) {
  const text = readTextFile(file, "the seed of the masters' account");
  try {
    return keyPairFromSeed("account", text.trim());
  } catch (cause) {
    throw new SvcError("bad_request", `${file} is no seed of an account`, { cause });
  }
}
