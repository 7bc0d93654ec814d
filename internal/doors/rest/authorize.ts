import type { Clock } from "../../base/clock.ts";
import { liveSession } from "./live-session.ts";
import type { Call } from "./route.ts";
import { type Bearers, type ConsoleSessions, signIn } from "./tokens.ts";

/**
 * Finds who a request is from: by its token, or without one by its session of the console.
 *
 * @throws SvcError `unauthorized`, `forbidden`, `unavailable` or `storage`
 */
export async function authorize(
  call: Call,
  method: string,
  {
    kinds,
    sessions,
    clock,
  }: { kinds: readonly Bearers[]; sessions: ConsoleSessions | undefined; clock: Clock },
): Promise<void> {
  const { headers, ip } = call;
  const authorization = headers.get("authorization");
  const findSession = async () => sessions?.find({ method, headers, ip });
  const session = authorization === null ? await findSession() : undefined;
  call.operator = session ?? (await signIn(kinds, authorization));
  call.note({ auth_username: call.operator.name });
  if (session !== undefined) endWithSession(call, clock, findSession);
}

function endWithSession(call: Call, clock: Clock, judge: () => Promise<unknown>): void {
  const { signal, keepOpen } = call;
  const live = liveSession({ clock, signal, judge });
  call.signal = live.signal;
  call.keepOpen = () => {
    keepOpen();
    live.follow();
  };
}
