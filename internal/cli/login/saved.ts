import { homedir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { makePrivateDirectory, writing } from "../../base/files/new-files.ts";
import { instant } from "../../base/instant.ts";
import type { Cli } from "../../program/command-line/mod.ts";

/** A sign-in at an identity provider, as it is kept for its person. */
export interface SavedLogin {
  issuer: string;
  clientId: string;
  caFile?: string;
  token: string;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
  refreshToken?: string;
}

const stored = v.object({
  issuer: v.string(),
  client_id: v.string(),
  ca_file: v.optional(v.string()),
  token: v.string(),
  expires_at: instant,
  refresh_token: v.optional(v.string()),
});

function pathOf({ env }: Pick<Cli, "env">): string {
  return join(env.HOME || homedir(), ".svc", "oidc.json");
}

/** Keeps a sign-in; it takes the place of the previous one. @throws SvcError `storage` @returns the file */
export function saveLogin(cli: Pick<Cli, "env">, login: SavedLogin): string {
  const path = pathOf(cli);
  const { issuer, clientId, caFile, token, expiresAt, refreshToken } = login;
  const text = JSON.stringify({
    ...{ issuer, client_id: clientId, token, expires_at: rfc3339(expiresAt) },
    ...defined({ ca_file: caFile, refresh_token: refreshToken }),
  });
  writing(path, () => {
    makePrivateDirectory(join(path, ".."));
    writeFileAtomic(path, `${text}\n`, secretMode);
  });
  return path;
}

/** The sign-in that is kept. @throws SvcError `bad_request` when there is none, or it cannot be read */
export function readLogin(cli: Pick<Cli, "env">): SavedLogin {
  const path = pathOf(cli);
  const text = readTextIfPresent(path);
  if (text === undefined) throw new SvcError("bad_request", "you are not signed in: svc login --oidc ISSUER");
  const found = v.safeParse(v.pipe(v.string(), v.parseJson(), stored), text);
  if (!found.success)
    throw new SvcError("bad_request", `${path} is damaged: sign in again with svc login --oidc ISSUER`);
  const { issuer, client_id, ca_file, token, expires_at, refresh_token } = found.output;
  return {
    ...{ issuer, clientId: client_id, token, expiresAt: expires_at },
    ...defined({ caFile: ca_file, refreshToken: refresh_token }),
  };
}
