import { cookieOf, type SessionView } from "../../fleet/sessions/mod.ts";
import { type Call, json } from "./route.ts";

/** A session as it is opened, with the secret that only its cookie has. */
type OpenedSession = SessionView & { secret: string };

/** The responses that are more than a status and a body, by the name of their operation. */
export const ownResponses: Readonly<Record<string, (output: never, call: Call) => Response>> = {
  getBootstrapDocument({ document, tag }: { document: unknown; tag: string }, { headers: requested }) {
    const headers = { "Cache-Control": "public, max-age=60", ETag: tag };
    return isNoneMatch(requested.get("if-none-match"), tag)
      ? new Response(null, { status: 304, headers })
      : json(200, document, headers);
  },
  sendPlan: (plan: { id: string }) => json(202, plan, { Location: `/api/v1/plans/${plan.id}` }),
  openSession: ({ secret, ...session }: OpenedSession) =>
    json(201, session, { "Set-Cookie": cookieOf(secret, secondsOf(session)) }),
  endSession: () => json(200, {}, { "Set-Cookie": cookieOf("", 0) }),
};

const secondsOf = ({ signed_in_at, expires_at }: Pick<SessionView, "signed_in_at" | "expires_at">): number =>
  Math.floor((Date.parse(expires_at) - Date.parse(signed_in_at)) / 1000);

const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;
const entityTags = new RegExp(
  `^[ \\t,]*${entityTag.source}(?:[ \\t]*,[ \\t]*(?:${entityTag.source})?)*[ \\t]*$`,
);

/**
 * Whether the client already has this representation: `*`, or a list of entity tags of which one is equal,
 * weak or not (RFC 9110 section 13.1.2). A malformed header counts as none.
 */
function isNoneMatch(header: string | null, tag: string): boolean {
  if (header === null) return false;
  const value = header.trim();
  if (value === "*") return true;
  if (!entityTags.test(value)) return false;
  return [...value.matchAll(entityTag)].some(([, opaque]) => opaque === tag);
}
