/** A claim of a token that gives a role. */
export interface RoleClaim {
  /** Name of the claim; `a.b` also finds `b` in the object `a`. */
  readonly claim: string;
  /** What it must be, or one of what it must list. */
  readonly value: string;
  readonly role: string;
}

/** An identity provider whose tokens count. */
export interface Provider {
  /** Exactly as its tokens name it; `https://…`. */
  readonly issuer: string;
  readonly audience: string;
  /** Absent means `email`, or `sub` without one. */
  readonly username_claim?: string;
  readonly role_claims: readonly RoleClaim[];
  /** CA file that verifies the provider; absent means the trust store of the host. */
  readonly ca_file?: string;
  /** For how long its tokens may be valid, milliseconds; absent means a day. */
  readonly max_age?: number;
  /** The public client of the code flow; absent means the audience. */
  readonly client_id?: string;
  /** What the code flow asks for; absent means `openid email profile`. */
  readonly scope?: string;
}

/** What follows the name of a person: so that nobody has the name of a registered operator. */
export function placeOfIssuer(issuer: string): string {
  const { host, pathname } = new URL(issuer);
  return `${host}${pathname.replace(/\/+$/, "")}`;
}
