import { rfc3339 } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import { peelCount } from "../job/counts.ts";

/** What will happen when others agreed to it. */
export interface Requested {
  by: string;
  /** The operation or the signed subject, for what runs no function: `enrollments.revoke`. */
  what: string;
  /** The fields of the request that say something. */
  request: Readonly<Record<string, unknown>>;
  /** How many peels it is about. */
  peels?: number | undefined;
  /** More that it is about, such as its state files. */
  more?: string | undefined;
  /** When it was signed, and until when others can agree; milliseconds since the Unix epoch, and RFC 3339. */
  signedAt?: number | undefined;
  until: string;
}

/**
 * What a request starts, as a sentence and a line for each of its fields: approvers must see all of it, and none of its
 * values may look like another line.
 */
export function sentencesOf({ by, what, request, peels, more = "", signedAt, until }: Requested): string[] {
  const { function: called, args, target, targets: _, ...rest } = request;
  const on = peels === undefined ? "" : ` on ${peelCount(peels)}`;
  const matching = typeof target === "string" ? ` (target ${shown(target)})` : "";
  const verb = /rollout/.test(what) ? "roll out" : "run";
  const does = typeof called === "string" ? `${verb} ${shown(called)}` : wordsOf(what);
  const rows = [
    ...Object.entries(Object(args)).map(([name, value]) => [`argument ${name}`, value] as const),
    ...Object.entries(rest),
  ];
  const at = signedAt === undefined ? "" : `, signed at ${rfc3339(signedAt)}`;
  return [
    escapeInvisible(`${by} wants to ${does}${on}${matching}${more}${at}; others can agree until ${until}`),
    ...rows.flatMap(([name, value]) =>
      value === undefined ? [] : [escapeInvisible(`  ${name}: ${shown(value)}`)],
    ),
  ];
}

/** A text as it is where nothing in it can be taken for something else. */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? "";
  const isPlain = typeof value === "string" && value !== "" && json === `"${value}"`;
  return isPlain && attempt(() => JSON.parse(value)) === undefined ? value : json;
}

/** A signed subject or the name of an operation as words: `enroll revoke`, `enrollments revoke`. */
const wordsOf = (what: string) => `do ${what.replace(/^svc\.(?:admin\.)?/, "").replaceAll(".", " ")}`;
