import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { SvcError } from "../base/errors.ts";
import type { DirectWords } from "./direct-args.ts";
import { type OperatorCli, operatorFiles } from "./operator.ts";

/** The credentials of a command that was asked to read storage itself; `undefined` otherwise. @throws SvcError `usage` */
export function directOf(
  cli: OperatorCli,
  { direct, creds }: DirectWords,
): { credsFile: string } | undefined {
  if (direct === true) return directCredentials(cli, creds);
  if (creds === undefined) return undefined;
  throw new SvcError("usage", "--creds is for --direct");
}

/** The credentials that read and decide without a master. @throws SvcError `bad_request` without a file */
export function directCredentials(cli: OperatorCli, creds?: string): { credsFile: string } {
  const credsFile = creds ?? directFiles(cli).find(existsSync);
  if (credsFile !== undefined) return { credsFile };
  throw new SvcError(
    "bad_request",
    "there is no direct.creds next to master.creds_file: name it with --creds FILE, or make it with svc nats-auth credentials --role direct",
  );
}

/** Next to the credentials of the operator, or as svc init has it. */
function directFiles(cli: OperatorCli): string[] {
  const { credsFile, operatorFile } = operatorFiles(cli);
  return [
    ...(credsFile === "" ? [] : [join(dirname(credsFile), "direct.creds")]),
    ...(operatorFile === "" ? [] : [join(dirname(operatorFile), "..", "auth", "direct.creds")]),
  ];
}
