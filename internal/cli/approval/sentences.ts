import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { escapeInvisible } from "../../base/invisible.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { requestWords } from "../../wire/request-words.ts";
import { peelCount } from "../job/counts.ts";
import { describeOperator, operatorIn } from "./request.ts";
import { shown } from "./shown.ts";

/** What will happen when others agreed to it. */
export interface Requested {
  by: string;
  /** The operation: `enrollments.revoke`. */
  what: string;
  /** Name of the peel of an enrollment, as masters know it. */
  about?: string | undefined;
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
export function sentencesOf(requested: Requested): string[] {
  const { by, what, about, request, peels, more = "", signedAt, until } = requested;
  const { function: called, args, target, targets: _, ...fields } = request;
  const operator = operatorIn(request);
  const { record, ...others } = fields;
  const rest = operator === undefined ? fields : others;
  const matching = typeof target === "string" ? ` (target ${shown(target)})` : "";
  const named = operator?.name ?? (typeof rest.peel === "string" ? displayPeelId(rest.peel) : about);
  const does = requestWords(
    {
      operation: what,
      ...(typeof called === "string" ? { function: shown(called) } : {}),
      ...defined({ peels, about: named ?? (typeof rest.id === "string" ? rest.id : undefined) }),
      ...(operator === undefined || operator.disabled === true ? {} : { roles: operator.roles }),
    },
    peelCount,
  );
  const rows = [
    ...Object.entries(Object(args)).map(([name, value]) => [`argument ${name}`, value] as const),
    ...(operator === undefined ? [] : describeOperator(operator)).map(
      ([name, value]) => [name.toLowerCase(), value] as const,
    ),
    ...Object.entries(rest),
  ];
  const at = signedAt === undefined ? "" : `, signed at ${rfc3339(signedAt)}`;
  return [
    escapeInvisible(`${by} wants to ${does}${matching}${more}${at}; others can agree until ${until}`),
    ...rows.flatMap(([name, value]) =>
      value === undefined ? [] : [escapeInvisible(`  ${name}: ${shown(value)}`)],
    ),
  ];
}
