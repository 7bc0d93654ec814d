import * as v from "valibot";
import { duration, fields, refuse, text } from "../../base/document/schemas.ts";
import { listOfMaps } from "./list.ts";
import type { OptionType } from "./option.ts";
import { checked, requiredPath } from "./scalar.ts";
import { roleNameProblem } from "./tokens.ts";

/** A claim that gives a role. */
interface OidcRoleClaim {
  readonly claim: string;
  readonly value: string;
  readonly role: string;
}

/** An identity provider whose tokens the REST API accepts. */
export interface OidcProvider {
  /** Exactly as its tokens name it. */
  readonly issuer: string;
  readonly audience: string;
  /** Absent means `email`, or `sub` without one. */
  readonly username_claim?: string;
  readonly role_claims: readonly OidcRoleClaim[];
  /** CA file that verifies the provider; absent means the trust store of the host. */
  readonly ca_file?: string;
  /** For how long its tokens may be valid, milliseconds; absent means a day. */
  readonly max_age?: number;
  /** The public client that the console signs in as; absent means the audience. */
  readonly client_id?: string;
  /** What the console asks for; absent means `openid email profile`. */
  readonly scope?: string;
}

const maxProviders = 16;
const maxIssuer = 120;

function issuerProblem(value: string): string | undefined {
  const url = URL.parse(value);
  if (url?.protocol !== "https:" || !/^https:\/\/[\x21-\x7e]+$/.test(value)) {
    return "expected an issuer with https://, such as https://idp.example.com: keys are fetched from there";
  }
  const hasMore = [url.username, url.password, url.search, url.hash].some((part) => part !== "");
  if (hasMore || /[?#@\\]/.test(value)) return "an issuer has a host, a port and a path, and nothing else";
  return value.length > maxIssuer ? `expected at most ${maxIssuer} characters` : undefined;
}

const word = text(512);

const roleClaim = fields(
  { claim: word, value: word, role: checked(roleNameProblem) },
  { missing: () => "expected claim, value and role" },
);

const why: Readonly<Record<string, string>> = {
  audience: ": what its tokens have in aud",
  role_claims: ": without them nobody has a role",
};
const missing = (key: string) => `${key} is missing${why[key] ?? ""}`;

const provider = fields(
  {
    issuer: checked(issuerProblem),
    audience: word,
    username_claim: v.exactOptional(word),
    role_claims: v.pipe(
      listOfMaps("{claim, value, role}", roleClaim, JSON.stringify).schema,
      v.check((claims) => claims.length > 0, missing("role_claims")),
    ),
    ca_file: v.exactOptional(requiredPath.schema),
    max_age: v.exactOptional(duration(60_000, 366 * 24 * 3_600_000)),
    client_id: v.exactOptional(word),
    scope: v.exactOptional(
      v.pipe(
        v.string(),
        v.regex(
          /^openid( [\x21\x23-\x5b\x5d-\x7e]{1,64}){0,15}$/,
          "expected openid and further scopes, such as openid email groups",
        ),
      ),
    ),
  },
  { missing },
);

const providers = listOfMaps<OidcProvider>(
  "{issuer, audience, username_claim, role_claims, ca_file, max_age, client_id, scope}",
  provider,
  JSON.stringify,
);

/** The list under `api.oidc`. It has no flag. */
export const oidcProviders: OptionType<readonly OidcProvider[]> = {
  ...providers,
  schema: v.pipe(
    providers.schema,
    refuse((all) => {
      if (all.length > maxProviders) return `at most ${maxProviders} providers`;
      const issuers = all.map(({ issuer }) => issuer);
      const twice = issuers.find((issuer, at) => issuers.indexOf(issuer) < at);
      return twice === undefined ? undefined : `the issuer ${twice} appears twice`;
    }),
  ),
};
