import { resolve } from "node:path";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { refreshToken, type SignedToken, signInWithDevice } from "../../identity/oidc/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { readLogin, type SavedLogin, saveLogin } from "./saved.ts";

/** A token is renewed when it lasts no longer than this. */
const spareMs = 60_000;

/** Signs in at an identity provider, and keeps the token. @throws SvcError */
export async function signInAtProvider(
  cli: Cli,
  {
    issuer,
    clientId,
    scope,
    ca,
  }: { issuer: string; clientId: string; scope: string; ca: string | undefined },
): Promise<void> {
  checkIssuer(issuer);
  const client = { issuer, clientId, ...defined({ caFile: ca === undefined ? undefined : resolve(ca) }) };
  const signed = await signInWithDevice(
    { ...client, scope },
    {
      clock: cli.clock,
      signal: new AbortController().signal,
      prompt({ url, completeUrl, code }) {
        cli.say(`Open ${completeUrl ?? url} and confirm the code ${code}.`);
      },
    },
  );
  const file = saveLogin(cli, { ...client, ...signed });
  const expires_at = rfc3339(signed.expiresAt);
  await cli.print(
    { issuer, file, expires_at },
    () => `signed in at ${issuer} until ${expires_at}; svc token print prints the token`,
  );
}

/** The token of the sign-in that is kept; one that ends is renewed where the provider allows it. @throws SvcError */
export async function currentToken(cli: Pick<Cli, "env" | "clock">): Promise<SavedLogin> {
  const login = readLogin(cli);
  const left = login.expiresAt - cli.clock.now();
  if (left > spareMs) return login;
  const renewed = await renew(cli, login);
  if (renewed !== undefined) {
    const next = { ...login, ...renewed };
    saveLogin(cli, next);
    return next;
  }
  if (left > 0) return login;
  throw new SvcError(
    "unauthorized",
    `your token expired at ${rfc3339(login.expiresAt)}: sign in again with svc login --oidc ${login.issuer}`,
  );
}

/** @throws SvcError when the provider refuses, or when it is away and the token has ended */
async function renew({ clock }: Pick<Cli, "clock">, login: SavedLogin): Promise<SignedToken | undefined> {
  if (login.refreshToken === undefined) return undefined;
  try {
    return await refreshToken(login, login.refreshToken, { clock, signal: new AbortController().signal });
  } catch (thrown) {
    if (login.expiresAt > clock.now()) return undefined;
    throw thrown;
  }
}

function checkIssuer(issuer: string): void {
  if (/^https:\/\/[\x21-\x7e]+$/.test(issuer) && URL.parse(issuer)?.protocol === "https:") return;
  throw new SvcError(
    "usage",
    "--oidc: expected the issuer with https://, as the configuration of masters names it",
  );
}
