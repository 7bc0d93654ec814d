import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { described, timestamp, titled } from "../../base/schema.ts";
import { type Call, type Caller, isOverHttps, operation } from "../operation/mod.ts";
import { assertConsole, type SessionJudging } from "./judge.ts";
import type { Who } from "./record.ts";
import { csrfOf, digestOfSecret, newSecret } from "./secret.ts";
import { findSession, keptOf, linkMs, maintainSession, removeKept, sessionMs } from "./store.ts";
import { sessionFields, sessionView, viewSession } from "./view.ts";
import { whoOfCaller } from "./who.ts";

/** What an identity provider gives a browser that signed in there. */
export interface ProviderCode {
  issuer: string;
  code: string;
  verifier: string;
  redirect_uri: string;
}

/** Who shows something, and until when that is valid, milliseconds since the Unix epoch. */
export interface Shown {
  who: Who;
  until?: number;
}

export interface SessionDeps extends SessionJudging {
  /** Whether this master serves the console now. */
  isServed(): boolean;
  /** @throws SvcError `unauthorized`, `forbidden`, `unavailable` or `storage` as for a request with it */
  whoShows(token: string): Promise<Shown>;
  /** @throws SvcError `unauthorized`, `forbidden` or `unavailable` */
  whoBrings(code: ProviderCode): Promise<Shown>;
  providers(): readonly { issuer: string; name: string }[];
  /** Begins a sign-in at a provider. @throws SvcError `not_found`, `unavailable` */
  beginAt(requested: {
    issuer: string;
    redirect_uri: string;
  }): Promise<{ url: string; state: string; verifier: string }>;
  /** As `sourceOf` tells it. */
  sourceOf(address: string): string;
  /** Base URLs of the masters. */
  urls(): readonly string[];
  /**
   * Writes to the audit that something begins; what it returns is called at its end. @throws SvcError `unavailable`
   */
  begin(what: {
    action: "sessions.open" | "sessions.end";
    who: string;
    session: string;
    requestId: string;
  }): Promise<(end: { outcome: "done" | "failed" }) => Promise<void>>;
  metrics: { consoleSignIn(way: Way, outcome: "ok" | "refused"): void };
}

type Way = "token" | "link" | "oidc";
const short = (max: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(max));
const redirectUri = described(
  v.pipe(
    v.string(),
    v.maxLength(512),
    v.regex(/^https:\/\/[^\s/?#@\\]+\/console\/oidc$/, "must be the address of /console/oidc on this master"),
  ),
  "Address of `/console/oidc`, as the browser reaches this master",
);

export const openSession = operation({
  name: "sessions.open",
  kind: "change",
  summary: "Sign in to the console",
  description:
    "With exactly one of `token`, `link` and `oidc`. The answer sets the cookie `__Host-svc`, which is valid for requests of the console itself.",
  admits: ["anonymous"],
  scope: "public",
  input: v.strictObject({
    token: v.optional(described(short(8_192), "A bearer token of this interface")),
    link: v.optional(described(short(64), "The code of a link, good once")),
    signed_in_as: v.optional(
      described(
        short(512),
        "Who is signed in in this browser: a link of another person is refused with 409, and stays good",
      ),
    ),
    oidc: v.optional(
      described(
        v.strictObject({
          issuer: short(120),
          code: short(2_048),
          verifier: short(128),
          redirect_uri: redirectUri,
        }),
        "What an identity provider gave the browser",
      ),
    ),
  }),
  output: v.object({ ...sessionFields, secret: v.string() }),
  async run(deps: SessionDeps, { token, link, oidc, signed_in_as: signedInAs }, call) {
    assertServed(deps);
    const given = [token, link, oidc].filter((one) => one !== undefined);
    if (given.length !== 1) throw new SvcError("bad_request", "expected one of token, link and oidc");
    const way: Way = token !== undefined ? "token" : link !== undefined ? "link" : "oidc";
    try {
      const opened =
        token !== undefined
          ? await deps.whoShows(token)
          : link !== undefined
            ? await takeLink(deps, link, signedInAs)
            : await deps.whoBrings(oidc as ProviderCode);
      const view = await open(deps, opened, call);
      deps.metrics.consoleSignIn(way, "ok");
      return view;
    } catch (thrown) {
      deps.metrics.consoleSignIn(way, "refused");
      throw thrown;
    }
  },
});

async function open(deps: SessionDeps, { who, until }: Shown, { caller, log, requestId = "" }: Call) {
  const standing = await deps.standingOf(who);
  if ("refused" in standing) throw new SvcError("unauthorized", standing.refused);
  assertConsole(deps, who.name, standing.roles);
  const secret = newSecret(deps.random);
  const digest = digestOfSecret(secret);
  const now = deps.clock.now();
  const lastsMs = Math.min(sessionMs, (until ?? Number.POSITIVE_INFINITY) - now);
  // A token may be a little older than its end, because clocks differ; a session may not.
  if (lastsMs <= 0) throw new SvcError("unauthorized", "the token has ended: sign in again");
  const source = sourceOf(deps, caller);
  if (digest === undefined) throw new SvcError("internal", "a new secret has another form");
  const session = await maintainSession(deps, { kind: "session", digest, who, source }, lastsMs);
  const recorded = { action: "sessions.open", who: who.name, session: session.id, requestId } as const;
  let end: Awaited<ReturnType<SessionDeps["begin"]>>;
  try {
    end = await deps.begin(recorded);
  } catch (thrown) {
    // Nobody has its secret.
    await endKept(deps, digest);
    throw thrown;
  }
  await end({ outcome: "done" });
  log.info("signed in to the console", { session: session.id, name: who.name, by: who.by, source });
  const { createdAt, expiresAt } = session;
  const seen = { csrf: csrfOf(secret), createdAt, expiresAt };
  return { ...viewSession({ name: who.name, ...standing }, seen, deps.scopesOf(standing.roles)), secret };
}

function sourceOf({ sourceOf }: Pick<SessionDeps, "sourceOf">, caller: Caller): string {
  if (caller.kind === "anonymous" && caller.address !== undefined) return sourceOf(caller.address);
  throw new SvcError("internal", "a sign-in without the address of its browser");
}

/**
 * Takes a link: it counts once, on whichever master.
 *
 * @param onlyFor the one person whose link is taken; absent means anyone's
 * @throws SvcError `unauthorized`; `conflict` for a link of another person, which is not used up
 */
async function takeLink(deps: SessionDeps, link: string, onlyFor: string | undefined): Promise<Shown> {
  const digest = digestOfSecret(link);
  const kept = digest === undefined ? undefined : await findSession(deps, "link", digest);
  if (kept !== undefined && onlyFor !== undefined && kept.session.who.name !== onlyFor) {
    throw new SvcError(
      "conflict",
      `the link signs in ${kept.session.who.name}, and ${onlyFor} is signed in here: confirm that, or sign out first`,
    );
  }
  if (kept === undefined || !(await removeKept(deps, kept))) {
    throw new SvcError(
      "unauthorized",
      "the link was used, or is older than 60 s: ask for another one with svc console",
    );
  }
  return { who: kept.session.who };
}

export const showSession = operation({
  name: "sessions.show",
  kind: "read",
  summary: "Show the session of the console",
  scope: "self",
  output: sessionView,
  async run(deps: SessionDeps, _, { caller }) {
    const { session, ...who } = ownSession(caller);
    return viewSession(who, session, deps.scopesOf(who.roles));
  },
});

export const endSession = operation({
  name: "sessions.end",
  kind: "change",
  summary: "Sign out of the console",
  description:
    "Every master refuses the session as soon as this is answered, or with `everywhere` all sessions and links of this person.",
  scope: "self",
  input: v.strictObject({
    everywhere: v.optional(
      described(v.picklist(["yes"]), "Sign out all browsers in which this person is signed in"),
    ),
  }),
  output: v.object({}),
  async run(deps: SessionDeps, { everywhere }, { caller, log, requestId = "" }) {
    const { name, session } = ownSession(caller);
    const own = await findSession(deps, "session", session.digest);
    const others = own !== undefined && everywhere !== undefined ? await keptOf(deps, own.session.who) : [];
    // The last holder: as long as another one exists, the request can be repeated.
    const all = [
      ...others.filter((one) => one.session.id !== session.id),
      ...(own === undefined ? [] : [own]),
    ];
    for (const kept of all) {
      const { id } = kept.session;
      const end = await deps.begin({ action: "sessions.end", who: name, session: id, requestId });
      try {
        await removeKept(deps, kept);
      } catch (thrown) {
        await end({ outcome: "failed" });
        throw thrown;
      }
      await end({ outcome: "done" });
    }
    log.info("signed out of the console", { session: session.id, name, ended: all.length });
    return {};
  },
});

async function endKept(deps: SessionDeps, digest: Uint8Array): Promise<void> {
  const kept = await findSession(deps, "session", digest);
  if (kept !== undefined) await removeKept(deps, kept);
}

/** @throws SvcError `not_found` for a request with a token, which has no session */
function ownSession(caller: Caller) {
  if (caller.kind === "operator" && caller.session !== undefined) {
    return { name: caller.name, ...defined({ roles: caller.roles }), session: caller.session };
  }
  throw new SvcError("not_found", "this request has no session: it is signed in by a token");
}

export const createSessionLink = operation({
  name: "sessions.link",
  kind: "change",
  summary: "Make a link that signs in to the console once",
  description:
    "It is good for 60 s. The page takes the code from the fragment of its address, which no server sees.",
  scope: { kind: "console", action: "use" },
  input: v.strictObject({
    digest: v.optional(
      described(
        v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal")),
        "SHA-256 of a code that the client made: 43 characters of base64url; the answer has no link then",
      ),
    ),
  }),
  output: titled(
    "SessionLink",
    v.object({
      link: v.exactOptional(described(v.string(), "The code, shown once")),
      urls: described(v.array(v.string()), "Consoles of this fleet: `#link=` and the code follow"),
      expires_at: timestamp,
    }),
  ),
  async run(deps: SessionDeps, { digest: given }, { caller }) {
    assertServed(deps);
    const who = whoOfCaller(caller);
    // A code in a reply could be read by someone who controls a server of the bus.
    if (given === undefined && !isOverHttps(caller)) {
      throw new SvcError(
        "bad_request",
        "digest is required: the client makes the code, and sends its SHA-256",
      );
    }
    const code = given === undefined ? newSecret(deps.random) : undefined;
    const digest =
      code === undefined ? Uint8Array.from(Buffer.from(given ?? "", "hex")) : digestOfSecret(code);
    if (digest === undefined) throw new SvcError("internal", "a new code has another form");
    const { expiresAt } = await maintainSession(deps, { kind: "link", digest, who, source: "" }, linkMs);
    return {
      urls: deps.urls().map((url) => `${url.replace(/\/+$/, "")}/console/`),
      expires_at: rfc3339(expiresAt),
      ...defined({ link: code }),
    };
  },
});

export const listSignInProviders = operation({
  name: "sessions.providers",
  kind: "read",
  summary: "List the identity providers that one can sign in at",
  admits: ["anonymous"],
  scope: "public",
  output: v.object({
    providers: v.array(
      v.object({ issuer: v.string(), name: described(v.string(), "Its host, for a button") }),
    ),
  }),
  async run(deps: SessionDeps) {
    assertServed(deps);
    return { providers: [...deps.providers()] };
  },
});

export const beginSignInAtProvider = operation({
  name: "sessions.begin-oidc",
  kind: "read",
  summary: "Begin to sign in at an identity provider",
  description:
    "Authorization code with PKCE. The browser keeps `state` and `verifier` for itself until it comes back, compares `state`, and brings `verifier` with the code.",
  admits: ["anonymous"],
  scope: "public",
  input: v.strictObject({ issuer: short(120), redirect_uri: redirectUri }),
  output: titled(
    "ProviderSignIn",
    v.object({
      url: described(v.string(), "Where the browser goes"),
      state: v.string(),
      verifier: described(v.string(), "The secret of this sign-in"),
    }),
  ),
  async run(deps: SessionDeps, requested) {
    assertServed(deps);
    return deps.beginAt(requested);
  },
});

/** @throws SvcError `not_found` */
function assertServed({ isServed }: Pick<SessionDeps, "isServed">): void {
  if (isServed()) return;
  throw new SvcError(
    "not_found",
    "this master does not serve the console: set console.enabled to true, or give it tokens (api.tokens, svc token create, api.oidc)",
  );
}
