import { timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { suggestion } from "../../base/nearest.ts";
import { sha256 } from "../../base/sha256.ts";
import type { OperatorCaller } from "../../fleet/operation/mod.ts";

/** Who a bearer token, or a session of the console, is for. */
export type SignedIn = Pick<OperatorCaller, "name" | "roles" | "bearer" | "session"> & { door?: "console" };

/** Sessions of the console, as a further way to be signed in. */
export interface ConsoleSessions {
  /**
   * @returns `undefined` for a request without a cookie of the console
   * @throws SvcError `unauthorized`, `forbidden`, `unavailable` or `storage`
   */
  find(request: {
    method: string;
    headers: Pick<Headers, "get">;
    /** Address of the other end of the connection. */
    ip: string;
  }): Promise<SignedIn | undefined>;
  /** Whether a request has a cookie of the console. */
  has(headers: Pick<Headers, "get">): boolean;
}

/** A kind of bearer tokens. */
export interface Bearers {
  /** Whether a token of this kind can let anyone in now. */
  open(): boolean;
  /**
   * @returns `undefined` for what is not a token of this kind
   * @throws SvcError `unauthorized` for a token that has ended, and says who can give another; `forbidden` for one
   *   without a role; `unavailable` or `storage` when it cannot be judged now
   */
  find(token: string): Promise<SignedIn | undefined>;
}

/** One operator who may use the REST API. */
export interface TokenEntry {
  username: string;
  /** Path of the file that holds the token; read at each request, so that it rotates without a restart. */
  token_file: string;
  /** Absent means `[admin]`. */
  roles?: readonly string[];
  /** Milliseconds since the Unix epoch; absent means never. */
  expires?: number;
}

/** More than any token of an identity provider has, and less than the headers of a request may have. */
const maxToken = 8_192;
const bearerForm = new RegExp(`^Bearer ([\\x21-\\x7e]{1,${maxToken}})$`, "i");
const earlierRoles = ["admin"];

/** The token of a request, from its `Authorization` header; `undefined` when it has none. */
function bearerOf(authorization: string | null): string | undefined {
  return bearerForm.exec(authorization ?? "")?.[1];
}

/** The roles of an entry. */
export function rolesOf({ roles = earlierRoles }: Pick<TokenEntry, "roles">): readonly string[] {
  return roles;
}

/** The tokens that the configuration names. */
export function tokenFiles(
  entries: readonly TokenEntry[],
  clock: Pick<Clock, "now">,
  read: (path: string) => string | undefined = readToken,
): Bearers {
  return {
    open: () => entries.length > 0,
    async find(token) {
      const entry = findEntry(entries, token, read);
      if (entry === undefined) return undefined;
      const { username, expires } = entry;
      if (expires !== undefined && expires <= clock.now()) {
        throw new SvcError(
          "unauthorized",
          `the token of ${username} expired at ${rfc3339(expires)}: who configures this master can give another (api.tokens), or an operator with svc token create`,
        );
      }
      return { name: username, roles: rolesOf(entry), bearer: { kind: "file" } };
    },
  };
}

/**
 * The roles of an operator whose file has a certain token now.
 *
 * @param isToken whether it is that token
 * @returns `undefined` when no entry of this name has it, or the entry has expired
 * @throws SvcError `unavailable` when a file cannot be read now
 */
export function rolesByTokenFile(
  entries: readonly TokenEntry[],
  { username, isToken, now }: { username: string; isToken(token: string): boolean; now: number },
  read: (path: string) => string | undefined = readToken,
): readonly string[] | undefined {
  const live = entries.filter((entry) => entry.username === username && (entry.expires ?? now + 1) > now);
  for (const entry of live) {
    const token = attempt(() => read(entry.token_file));
    if (token instanceof SvcError) throw token;
    if (token !== undefined && isToken(token)) return rolesOf(entry);
  }
  return undefined;
}

/**
 * Finds whose token it is. All entries are compared, each in constant time.
 *
 * @throws SvcError `unavailable` when nobody is found while a file that exists could not be read: the token may
 *   be right
 */
function findEntry(
  entries: readonly TokenEntry[],
  presented: string,
  read: (path: string) => string | undefined,
): TokenEntry | undefined {
  // Digests are of equal lengths for the comparison, whatever the lengths of the tokens.
  const candidate = sha256(presented);
  let found: TokenEntry | undefined;
  let failure: SvcError | undefined;
  for (const entry of entries) {
    const token = attempt(() => read(entry.token_file));
    if (token instanceof SvcError) failure = token;
    if (token === undefined || token instanceof SvcError) continue;
    if (timingSafeEqual(sha256(token), candidate)) found ??= entry;
  }
  if (found === undefined && failure !== undefined) throw failure;
  return found;
}

/**
 * Finds who a request is from, by one of several kinds of tokens.
 *
 * @param authorization value of the `Authorization` header
 * @throws SvcError `unauthorized` when nobody is found; otherwise what a kind says of its token
 */
export async function signIn(kinds: readonly Bearers[], authorization: string | null): Promise<SignedIn> {
  const token = bearerOf(authorization);
  let away: unknown;
  for (const kind of token === undefined ? [] : kinds) {
    try {
      const found = await kind.find(token ?? "");
      if (found !== undefined) return found;
    } catch (thrown) {
      // Another kind may know the token.
      if (!(thrown instanceof SvcError) || thrown.kind !== "unavailable") throw thrown;
      away ??= thrown;
    }
  }
  throw away ?? new SvcError("unauthorized", "a valid bearer token is required");
}

/**
 * Warns of each token file that cannot be read or that group or others can access, of tokens that have ended, and
 * of roles that do not exist.
 */
export function warnOfTokenFiles(
  entries: readonly TokenEntry[],
  log: Log,
  { clock, knownRoles }: { clock?: Pick<Clock, "now">; knownRoles?: readonly string[] } = {},
): void {
  for (const { username, token_file: path, roles = [], expires } of entries) {
    try {
      if ((statSync(path).mode & 0o077) !== 0) {
        log.warn("token file is accessible by group or others; set its mode to 0600", { username, path });
      }
      if (readToken(path) === undefined) log.warn("token file is empty or unreadable", { username, path });
    } catch (cause) {
      log.warn("token file cannot be read", { username, path, reason: reasonOf(cause) });
    }
    if (expires !== undefined && clock !== undefined && expires <= clock.now()) {
      log.warn("token has expired", { username, path, expired: rfc3339(expires) });
    }
    for (const role of knownRoles === undefined ? [] : roles.filter((one) => !knownRoles.includes(one))) {
      const hint = suggestion(role, knownRoles ?? []);
      log.warn(`token has a role that does not exist${hint}`, { username, path, role });
    }
  }
}

/** @returns `undefined` when there is no token @throws the error of the system */
function readToken(path: string): string | undefined {
  return readFileSync(path, "utf8").trim() || undefined;
}

/** A file that is missing or not readable for this user has no token; other errors are temporary. */
const lasting: ReadonlySet<unknown> = new Set(["ENOENT", "EACCES", "EPERM", "ENOTDIR", "EISDIR"]);

function attempt(read: () => string | undefined): string | undefined | SvcError {
  try {
    return read();
  } catch (cause) {
    if (lasting.has((cause as NodeJS.ErrnoException).code)) return undefined;
    return new SvcError("unavailable", `the token files cannot be read now: ${reasonOf(cause)}`, { cause });
  }
}
