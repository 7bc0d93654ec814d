import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { lintCredentials } from "../../bus/accounts/mod.ts";
import { command, word } from "../../program/command-line/mod.ts";

export const lintCommand = command({
  name: "lint",
  description: "Check whether a bus server accepts the JWT of a credentials file.",
  examples: ["svc nats-auth lint master.creds"],
  args: { "creds-file": word("Credentials file (.creds)", { required: true }) },
  async run({ "creds-file": file }, cli) {
    const { jwtBytes, warnings } = lint(file);
    await cli.print({ file, jwt_bytes: jwtBytes, warnings }, () =>
      warnings.length === 0
        ? `${file}: ok, the JWT has ${jwtBytes} bytes`
        : warnings.map((warning) => `${file}: warning: ${warning}`).join("\n"),
    );
  },
});

function lint(file: string) {
  try {
    return lintCredentials(readTextFile(file, "the credentials file"));
  } catch (cause) {
    if (!(cause instanceof SvcError) || cause.message.includes(file)) throw cause;
    throw new SvcError("bad_request", `${file}: ${cause.message}`);
  }
}
