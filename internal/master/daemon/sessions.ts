import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { sourceOf } from "../../base/names/ip-network.ts";
import { sha256 } from "../../base/sha256.ts";
import type { ConsoleSessions } from "../../doors/rest/mod.ts";
import type { Recorder } from "../../fleet/audit/mod.ts";
import { builtInScopes } from "../../fleet/roles/mod.ts";
import { cookieName, isOwnHost, judgeSession, type SessionDeps } from "../../fleet/sessions/mod.ts";
import { beginCodeFlow, placeOfIssuer, redeemCode } from "../../identity/oidc/mod.ts";
import { adminRole } from "../../wire/operator-standing.ts";
import type { MasterSignIn } from "../sign-in/mod.ts";
import type { MasterDeps } from "./options.ts";
import type { Operators } from "./parts/operators.ts";
import type { Requests } from "./parts/requests.ts";
import type { Roles } from "./parts/roles.ts";

/** Sessions of the console on a master: what its listener judges by, and what the operations need. */
export interface MasterSessions {
  /** Absent where the console is turned off: then no cookie counts. */
  judge?: ConsoleSessions;
  operations: SessionDeps;
}

/** Wires sessions to what judges operators, tokens and persons of providers now. */
export function startSessions(
  { config, clock, random, log, signal, metrics }: MasterDeps,
  deps: {
    bucket: SessionDeps["bucket"];
    mac: SessionDeps["mac"];
    recorder: Pick<Recorder, "begin">;
    registry: Pick<Operators["registry"], "caughtUp">;
    rolesOfSigner: Requests["rolesOfSigner"];
    scopesOf: Roles["scopesOf"];
    signIn: MasterSignIn;
    urls(): readonly string[];
    /** Names and addresses of the certificate. */
    certificateNames(): readonly string[];
  },
): MasterSessions {
  const { bucket, mac, recorder, signIn } = deps;
  const enabled = config["console.enabled"];
  const providers = config["api.oidc"];
  const providerOf = (issuer: string) => {
    const found = providers.find((one) => one.issuer === issuer);
    if (found !== undefined) return found;
    throw new SvcError("not_found", "this master does not know the identity provider (api.oidc)");
  };
  const operations: SessionDeps = {
    ...{ bucket, mac, clock, random, log, metrics, urls: deps.urls },
    isServed: () => enabled === true || (enabled === "auto" && signIn.isOpen()),
    scopesOf: (roles) => (roles === undefined ? builtInScopes([adminRole]) : deps.scopesOf(roles)),
    async standingOf(who) {
      if (who.by !== "operator") return signIn.standingOf(who);
      // An operator that another master disabled is refused at once.
      await deps.registry.caughtUp();
      return deps.rolesOfSigner(who.name, who.key);
    },
    whoShows: (token) => signIn.whoShows(token),
    async whoBrings({ issuer, code, verifier, redirect_uri: redirectUri }) {
      const token = await redeemCode(providerOf(issuer), { code, verifier, redirectUri }, { clock, signal });
      return signIn.whoBrings(token, verifier);
    },
    providers: () => providers.map(({ issuer }) => ({ issuer, name: placeOfIssuer(issuer) })),
    beginAt: ({ issuer, redirect_uri: redirectUri }) =>
      beginCodeFlow(providerOf(issuer), { redirectUri, random, clock, signal }),
    sourceOf: sourceOfBrowser,
    isOwnHost(header) {
      const [urls, certificate] = [deps.urls(), deps.certificateNames()];
      return isOwnHost(header, { urls, certificate, address: config["enroll.addr"].host });
    },
    async begin({ action, who, session, requestId }) {
      const subjects = { session };
      const content = { operator: who, key: "", via: "console" as const, action, subjects, requestId };
      return recorder.begin({ ...content, requestDigest: sha256(encode(subjects)) });
    },
  };
  const judge: ConsoleSessions = {
    has: (headers) => operations.isServed() && (headers.get("cookie") ?? "").includes(`${cookieName}=`),
    async find({ method, headers, ip }) {
      if (!operations.isServed()) return undefined;
      return judgeSession(operations, { method, headers, source: sourceOfBrowser(ip) });
    },
  };
  return { operations, ...defined({ judge: enabled === false ? undefined : judge }) };
}

/** A browser on the host of the master reaches it by either loopback address. */
function sourceOfBrowser(ip: string): string {
  return ip === "::1" || ip === "127.0.0.1" ? "loopback" : sourceOf(ip);
}
