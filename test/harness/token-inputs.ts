import type { Plain } from "../../internal/base/msgpack.ts";

const digest = "0".repeat(64);

/** Fields that operations on tokens and sessions take, and for each some value that it does not. */
export const tokenInputs: Record<string, [fields: Record<string, Plain>, wrong: Record<string, Plain>]> = {
  "tokens.create": [{ name: "ci", roles: ["viewer"], expires: "90d", digest }, { roles: "viewer" }],
  "tokens.revoke": [{ id: "ci" }, { id: 5 }],
  "join-tokens.create": [{ peel: "web-*", uses: 5, label: { env: "lab" } }, { uses: 0 }],
  "join-tokens.show": [{ id: "jtk-1" }, { id: 5 }],
  "join-tokens.revoke": [{ id: "jtk-1" }, { id: 5 }],
  "sessions.open": [{ token: "x" }, { token: 5 }],
  "sessions.end": [{ everywhere: "yes" }, { everywhere: "no" }],
  "sessions.link": [{ digest }, { digest: "0" }],
  "sessions.begin-oidc": [
    { issuer: "https://idp.example.com", redirect_uri: "https://localhost:8443/console/oidc" },
    { redirect_uri: "https://evil.example.com/" },
  ],
};
