import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Content } from "../../wire/content.ts";
import type { Passenger, Touch } from "../operation/mod.ts";

type Subjects = Readonly<Record<string, Plain>>;

/** More peels of a job are counted only; the job names them. */
const maxPeels = 256;
const maxText = 500;
/** Arguments that take more are recorded as their digest. */
const maxArgumentBytes = 4_096;

/**
 * What a request is about, as its first entry says it.
 *
 * @param files the state files that it was accepted for
 */
export function describeSubjects(
  { touched, input, scope, agreement }: Pick<Passenger, "touched" | "input" | "scope" | "agreement">,
  isSafe: (functionName: string) => boolean,
  files?: { content: Content; released?: Content },
): Subjects {
  const fields = Object(input) as Record<string, unknown>;
  const called = fields.function;
  return {
    ...ofTouch(touched),
    ...texts({ approval: agreement?.approval }),
    ...(scope.kind === "settings" ? texts({ setting: fields.name }) : {}),
    ...(scope.kind === "approvals" ? texts({ reason: fields.reason }) : {}),
    // `versions.ts` reads them.
    ...(scope.kind === "operators" ? { ...texts({ operator: fields.name }), ...versionOf(touched) } : {}),
    ...(typeof called === "string"
      ? { function: short(called), ...ofArguments(fields.args, isSafe(called)) }
      : {}),
    ...ofFiles(files),
  };
}

/**
 * What the entry at its end says in addition.
 *
 * @param output what the operation answered
 */
export function describeEnd({ scope }: Pick<Passenger, "scope">, output: unknown): Subjects {
  const answer = Object(output) as Record<string, unknown>;
  const { jid, id, targets, rejected } = answer;
  const { peel_id } = Object(answer.enrollment) as Record<string, unknown>;
  const token = Object(answer.token) as Record<string, unknown>;
  return {
    ...texts({ job: jid, peel: peel_id }),
    // Other enrollments of the peel id, which an approval ends.
    ...(scope.kind === "enrollments" && isTexts(rejected) ? { rejected } : {}),
    ...(scope.kind === "rollouts" ? texts({ rollout: id }) : {}),
    ...(scope.kind === "join-tokens" ? texts({ join_token: id }) : {}),
    ...(isTexts(targets) ? ofPeels(targets) : {}),
    ...(scope.kind === "states" ? ofRelease(answer.release) : {}),
    // `revoked-tokens.ts` reads them.
    ...(scope.kind === "tokens" ? texts({ token_id: token.id, token_expires: token.expires_at }) : {}),
  };
}

/** Which files an environment was released with, and as which version. */
function ofRelease(release: unknown): Subjects {
  const { environment, version, snapshot } = Object(release) as Record<string, unknown>;
  return {
    ...texts({ environment }),
    ...(typeof version === "number" ? { version } : {}),
    ...(snapshot instanceof Uint8Array ? { snapshot: Buffer.from(snapshot).toString("hex") } : {}),
  };
}

/** What a job is about that no request names; its arguments as their digest. */
export function jobSubjects(called: { function: string; args: unknown }, peels: readonly string[]): Subjects {
  return { function: short(called.function), ...ofArguments(called.args, false), ...ofPeels(peels) };
}

/** The version of an operator's record. */
function versionOf(touched: Touch): Subjects {
  const version = "operator" in touched ? touched.version : undefined;
  return version !== undefined && Number.isSafeInteger(version) && version > 0 ? { version } : {};
}

function ofFiles(files: { content: Content; released?: Content } | undefined): Subjects {
  if (files === undefined) return {};
  const { environment, commit, snapshot } = files.content;
  const { released } = files;
  return {
    ...{ environment: short(environment), commit, snapshot },
    ...(released && { released: { commit: released.commit, snapshot: released.snapshot } }),
  };
}

function ofTouch(touched: Touch): Subjects {
  if ("fleet" in touched) return {};
  if ("peels" in touched) {
    const { peels } = touched;
    return "expression" in peels ? { target: short(peels.expression) } : ofPeels(peels.peels);
  }
  if ("joinToken" in touched) return texts({ join_token: touched.joinToken });
  return texts(touched);
}

function ofPeels(peels: readonly string[]): Subjects {
  return { peels: peels.slice(0, maxPeels).map(short), peel_count: peels.length };
}

/** Digests of arguments, and their values where they contain no secrets. */
function ofArguments(args: unknown, isSafe: boolean): Subjects {
  const bytes = encode(args ?? {});
  const digest = { args_digest: sha256Hex(bytes) };
  const shown = isSafe && bytes.length <= maxArgumentBytes ? readBack(bytes) : undefined;
  return shown === undefined ? digest : { ...digest, args: shown };
}

/** What a reader finds; `undefined` for what it does not find as it was written, such as a name like `__proto__`. */
function readBack(bytes: Uint8Array): Plain | undefined {
  try {
    const value = decode(bytes);
    return Buffer.from(encode(value)).equals(bytes) ? value : undefined;
  } catch {
    return undefined;
  }
}

function texts(fields: Readonly<Record<string, unknown>>): Subjects {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, short(value)]] : [],
    ),
  );
}

const short = (text: string): string => text.slice(0, maxText).toWellFormed();

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
