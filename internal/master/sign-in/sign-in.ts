import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import { suggestion } from "../../base/nearest.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import {
  type Bearers,
  rolesByTokenFile,
  rolesOf,
  signIn,
  tokenFiles,
  warnOfTokenFiles,
} from "../../doors/rest/mod.ts";
import type { Shown, Standing, Who } from "../../fleet/sessions/mod.ts";
import {
  type CreatorRoles,
  createTokenSignIn,
  createTokenView,
  type EndedTokens,
  standingOf,
  type TokenDeps,
} from "../../fleet/tokens/mod.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";
import { assertOfSignIn, createOidc, endOfToken } from "../../identity/oidc/mod.ts";
import type { MasterConfig, OidcProvider } from "../../program/config/mod.ts";
import { adminRole } from "../../wire/operator-standing.ts";

/** What the tokens of a master need to know of operators and roles. */
export interface OperatorRoles {
  /** The roles that a registered operator has now; `undefined` for one who is no longer there, or is disabled. */
  rolesNow(name: string): readonly string[] | undefined;
  /** The names of all roles. */
  knownRoles(): readonly string[];
  /** Whether these roles allow everything that another role allows. */
  covers(has: readonly string[], role: string): boolean;
  /** Whether callers that are not registered may do everything: `operators.require_signed` is off. */
  admitsUnregistered(): boolean;
}

/** Who may use the REST interface of a master: tokens of files, of the bucket, and of identity providers. */
export interface MasterSignIn {
  /** Besides those of files. */
  bearers: readonly Bearers[];
  /**
   * The current roles of a bearer that requested or agreed before; `undefined` for one whose token has ended. A token
   * of an identity provider cannot be verified again.
   *
   * @param bearer `file`, `operator`, or the id of a token
   */
  rolesNow(name: string, bearer: string): readonly string[] | undefined;
  /** Whether someone can have a token now. */
  isOpen(): boolean;
  /** Whose token it is, for a session of the console. @throws SvcError as for a request with it */
  whoShows(token: string): Promise<Shown>;
  /** Whose ID token a sign-in got. @throws SvcError as for a request with it, or `unauthorized` for another sign-in */
  whoBrings(idToken: string, verifier: string): Promise<Shown>;
  /** What a caller may do now who signed in to the console by a token or without a registered key. */
  standingOf(who: Exclude<Who, { by: "operator" }>): Promise<Standing>;
  /** What the operations on tokens need. */
  operations: TokenDeps;
  stop(): void;
}

export interface SignInOptions {
  config: Pick<MasterConfig, "api.tokens" | "api.oidc" | "api.oidc_keys_dir">;
  tokens: Bucket;
  /** Those that are no longer valid, whatever the bus says. */
  ended: EndedTokens;
  mac: RecordMac;
  operators: OperatorRoles;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

export function startSignIn(options: SignInOptions): MasterSignIn {
  const { config, tokens, ended, mac, operators, clock, random, log, signal } = options;
  const { "api.tokens": files, "api.oidc": providers } = config;
  const { knownRoles, covers } = operators;
  warnOfTokenFiles(files, log, { clock, knownRoles: knownRoles() });
  warnOfRoles(providers, knownRoles(), log);
  const creatorRoles: CreatorRoles = (creator, name) => rolesOfCreator(options, creator, name);
  const view = createTokenView({ bucket: tokens, mac, ended, clock, log });
  const deps = { tokens, view, ended, mac, creatorRoles, clock, random, knownRoles, covers };
  const oidc = createOidc({ providers, keysDir: config["api.oidc_keys_dir"], clock, log, signal });
  // Nothing waits for them: a provider that is down delays no master.
  void oidc.renew();
  const federated: Bearers = {
    open: () => providers.length > 0,
    async find(token) {
      const found = providers.length === 0 ? undefined : await oidc.verify(token);
      if (found === undefined) return undefined;
      const { name, roles, issuer, subject } = found;
      return { name, roles, bearer: { kind: "oidc", issuer, subject } };
    },
  };
  const bearers = [createTokenSignIn({ ...deps, log }), federated];
  const kinds: readonly Bearers[] = [tokenFiles(files, clock), ...bearers];
  return {
    bearers,
    isOpen: () => kinds.some((kind) => kind.open()),
    whoShows: async (token) => shownBy(token, await signIn(kinds, `Bearer ${token}`), mac),
    async whoBrings(idToken, verifier) {
      const found = await oidc.verify(idToken);
      if (found === undefined) throw new SvcError("unauthorized", "the provider gave no valid token");
      assertOfSignIn(idToken, verifier);
      return { who: { by: "oidc", ...found } };
    },
    standingOf: (who) => judgeWho(options, deps, who),
    rolesNow(name, bearer) {
      if (bearer === "file") return creatorRoles("file", name);
      if (bearer === "operator") return operators.rolesNow(name);
      return rolesOfToken(deps, bearer);
    },
    operations: deps,
    stop: () => view.stop(),
  };
}

/** The roles that the creator of a token has now. */
function rolesOfCreator(
  { operators, config, clock }: SignInOptions,
  creator: Parameters<CreatorRoles>[0],
  name: string,
): readonly string[] | undefined {
  if (creator === "registered") return operators.rolesNow(name);
  if (creator === "unregistered") return operators.admitsUnregistered() ? [adminRole] : undefined;
  const live = config["api.tokens"].filter(({ username, expires = Number.POSITIVE_INFINITY }) => {
    return username === name && expires > clock.now();
  });
  return live.length === 0 ? undefined : live.flatMap(rolesOf);
}

const proofOf = (mac: RecordMac, token: string) => mac("session-bearer", token);

function shownBy(
  token: string,
  { name, roles = [], bearer }: Awaited<ReturnType<typeof signIn>>,
  mac: RecordMac,
): Shown {
  switch (bearer?.kind) {
    case "file":
      return { who: { by: "file", name, proof: proofOf(mac, token) } };
    case "token":
      return { who: { by: "token", name, token: bearer.id, creator: bearer.creator } };
    case "oidc": {
      const { issuer, subject } = bearer;
      const who = { by: "oidc", name, issuer, ...defined({ subject }), roles } as const;
      return { who, until: endOfToken(token) };
    }
    default:
      throw new SvcError("internal", "a bearer of an unknown kind");
  }
}

function rolesOfToken(deps: TokenDeps, id: string): readonly string[] | undefined {
  const token = deps.view.all().find((one) => one.id === id);
  const standing = token === undefined ? undefined : standingOf(token, deps, deps.clock.now());
  return standing?.state === "live" ? standing.roles : undefined;
}

/** What someone may do now who signed in to the console. */
async function judgeWho(
  { config, mac, operators, clock }: SignInOptions,
  deps: TokenDeps,
  who: Parameters<MasterSignIn["standingOf"]>[0],
): Promise<Standing> {
  const given = (roles: readonly string[] | undefined): Standing =>
    roles === undefined ? { refused: "the token has ended" } : { roles };
  switch (who.by) {
    case "unregistered":
      return operators.admitsUnregistered() ? {} : { refused: "this fleet takes signed requests only" };
    case "file": {
      const isToken = (token: string) => isEqualMac(proofOf(mac, token), who.proof);
      return given(rolesByTokenFile(config["api.tokens"], { username: who.name, isToken, now: clock.now() }));
    }
    case "token":
      await deps.view.caughtUp();
      return given(rolesOfToken(deps, who.token));
    case "oidc": {
      const provider = config["api.oidc"].find(({ issuer }) => issuer === who.issuer);
      if (provider === undefined) return { refused: "this master no longer knows the identity provider" };
      const claimed = provider.role_claims.map(({ role }) => role);
      return { roles: who.roles.filter((role) => claimed.includes(role)) };
    }
  }
}

/** Roles that do not exist give nothing. */
function warnOfRoles(providers: readonly OidcProvider[], known: readonly string[], log: Log): void {
  for (const { issuer, role_claims } of providers) {
    for (const { role } of role_claims.filter((one) => !known.includes(one.role))) {
      log.warn(`an identity provider gives a role that does not exist${suggestion(role, known)}`, {
        issuer,
        role,
      });
    }
  }
}
