import * as v from "valibot";
import { decodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import type { Administrator } from "../../wire/administrators.ts";
import {
  decodeAdministrators,
  isSameList,
  isSignedStatement,
  type SignedAdministratorsStatement,
} from "../../wire/administrators-statement.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import type { AdministratorStatements } from "./statements.ts";

export interface AdministratorsDeps {
  /** Public key of the account of the peels. */
  fleet: string;
  /** Those of the file of this master. */
  administrators(): readonly Administrator[];
  statements: Pick<AdministratorStatements, "caughtUp" | "list" | "newest" | "add">;
  /** Whether this fleet succeeded another one, whose administrators its peels may still have. */
  succeeds: boolean;
  /** Lets the peels that are connected ask for what is new. */
  notifyPeels(): void;
}

const named = v.object({ name: v.string(), public_key: v.string() });
const standing = titled(
  "Administrators",
  v.object({
    fleet: described(
      v.string(),
      "Public key of the account of the peels, which a statement names so that it counts in no other fleet",
    ),
    masters: described(v.array(named), "Those of the file `auth/administrators` of the master that answers"),
    peels: described(
      v.array(named),
      "Those that peels have, or will have when they connect; none where masters do not know it: after a succession they have those of the fleet before",
    ),
    version: described(integer, "Of the newest statement; 0 before the first"),
    next_version: described(integer, "The version that the next statement must have"),
    signed_by: v.exactOptional(described(v.string(), "Key that signed the newest statement")),
    issued_at: v.exactOptional(timestamp),
    differ: described(v.boolean(), "Whether masters and peels know other administrators"),
  }),
);

export const showAdministrators = operation({
  name: "operators.administrators",
  kind: "read",
  summary: "Show the administrators that masters and peels know",
  scope: { kind: "operators", action: "list" },
  output: standing,
  async run(deps: AdministratorsDeps) {
    await deps.statements.caughtUp();
    return standingOf(deps);
  },
});

export const replaceAdministrators = operation({
  name: "operators.replace-administrators",
  kind: "change",
  summary: "Replace the administrators on peels",
  description:
    "The statement is signed by an administrator that the peels know now. Each peel verifies it; masters store it and hand it out. The file `auth/administrators` of the masters does not change.",
  scope: { kind: "operators", action: "administrators" },
  input: v.strictObject({
    statement: described(
      v.pipe(v.string(), v.minLength(1), v.maxLength(24 * 1024)),
      "The signed statement, base64 of its MessagePack",
    ),
  }),
  output: standing,
  async run(deps: AdministratorsDeps, { statement: text }, call) {
    const statement = read(text);
    await deps.statements.caughtUp();
    assertNext(deps, statement);
    await deps.statements.add(statement);
    call.log.info("administrators of peels replaced", {
      version: statement.version,
      administrators: statement.administrators.map(({ name }) => name).join(","),
      signed_by: statement.key,
      operator: operatorOf(call),
    });
    deps.notifyPeels();
    return standingOf(deps);
  },
});

/** @throws SvcError `bad_request` */
function read(text: string): SignedAdministratorsStatement {
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw new SvcError("bad_request", "statement must be base64 with padding");
  return decodeAdministrators(bytes);
}

/** Peels would refuse it without telling the person at the keyboard. @throws SvcError `forbidden`, `conflict` */
function assertNext(deps: AdministratorsDeps, statement: SignedAdministratorsStatement): void {
  const { fleet, next_version } = standingOf(deps);
  if (statement.fleet !== fleet) {
    throw new SvcError(
      "forbidden",
      `the statement is for the fleet ${statement.fleet}, and this is the fleet ${fleet}`,
    );
  }
  if (!isSignedStatement(statement)) {
    throw new SvcError("forbidden", "the signature of the statement about administrators is wrong");
  }
  const known = onPeels(deps);
  if (known !== undefined) assertSigner(known, statement);
  if (statement.version !== next_version) {
    throw new SvcError(
      "conflict",
      `the next version of the administrators is ${next_version}, and the statement has ${statement.version}: look at svc operator administrators, and sign again`,
    );
  }
  if (known !== undefined && isSameList(known, statement.administrators)) {
    throw new SvcError("conflict", "peels have these administrators already");
  }
}

/** @throws SvcError `forbidden` */
function assertSigner(known: readonly Administrator[], statement: SignedAdministratorsStatement): void {
  if (!known.some(({ publicKey }) => publicKey === statement.key)) {
    const names = known.map(({ name }) => name).join(", ");
    throw new SvcError(
      "forbidden",
      `peels know other administrators than the key ${statement.key}: ${names || "none"} can sign this statement`,
    );
  }
}

/** @returns `undefined` where masters cannot know it */
function onPeels({
  statements,
  administrators,
  succeeds,
}: AdministratorsDeps): readonly Administrator[] | undefined {
  return statements.newest()?.administrators ?? (succeeds ? undefined : administrators());
}

function standingOf(deps: AdministratorsDeps): v.InferOutput<typeof standing> {
  const newest = deps.statements.newest();
  const [own, peels = []] = [deps.administrators(), onPeels(deps)];
  const shown = (list: readonly Administrator[]) =>
    list.map(({ name, publicKey }) => ({ name, public_key: publicKey }));
  return {
    fleet: deps.fleet,
    masters: shown(own),
    peels: shown(peels),
    version: newest?.version ?? 0,
    next_version: (deps.statements.list().at(-1)?.version ?? 0) + 1,
    ...(newest === undefined ? {} : { signed_by: newest.key, issued_at: rfc3339(newest.issuedAt) }),
    differ: !isSameList(own, peels),
  };
}
