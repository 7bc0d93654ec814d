import { type Cli, value } from "../../program/command-line/mod.ts";

/** The options of svc login that are about an identity provider. */
export const oidcArgs = {
  oidc: value("issuer", "Sign in at this identity provider, as api.oidc of the masters names it: https://…"),
  "client-id": value("id", "With --oidc: the client that the provider knows for svc", { default: "svc" }),
  scope: value(
    "scope ...",
    "With --oidc: what to ask the provider for; with offline_access, svc renews the token by itself",
    { default: "openid email" },
  ),
  ca: value(
    "file",
    "With --oidc: CA file that verifies the provider (default: the trust store of this host)",
  ),
} as const;

/** Signs in at the provider. @throws SvcError */
export async function loginAtProvider(
  issuer: string,
  args: { "client-id": string; scope: string; ca?: string | undefined },
  cli: Cli,
): Promise<void> {
  const { signInAtProvider } = await import("./provider.ts");
  await signInAtProvider(cli, { issuer, clientId: args["client-id"], scope: args.scope, ca: args.ca });
}
