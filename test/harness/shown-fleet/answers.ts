import type { Plain } from "../../../internal/base/msgpack.ts";
import { displayPeelId } from "../../../internal/base/names/peel-id.ts";
import { decodeCall } from "../../../internal/wire/call.ts";
import type { JobReturn } from "../../../internal/wire/return.ts";
import type { ManualPeel } from "../manual-peel.ts";

type Answer = Partial<JobReturn> | "none";

const failed = (error: string, retcode = 1): Answer => ({ success: false, retcode, error });

/** What a host of the shown fleet answers to a call: the same in each run. */
function answerOf(peel: string, name: string, args: Readonly<Record<string, Plain>>): Answer {
  const number = Number(/\d+/.exec(peel)?.[0] ?? 1);
  const duration_ms = 40 + 37 * number + 11 * peel.length;
  switch (name) {
    case "test.ping":
      return { return: true, duration_ms: 2 + number };
    case "pkg.install":
      if (peel.startsWith("web-1")) return failed("E: Unable to locate package nginx", 100);
      return peel.startsWith("web-2") ? "none" : { return: { nginx: "1.26.2-1" }, duration_ms };
    case "pkg.upgrade":
      // It goes on for as long as somebody looks.
      return number === 1 ? { return: { openssl: "3.0.15-1~deb12u1" }, duration_ms: 8_400 } : "none";
    case "state.apply":
      return peel.startsWith("web-3")
        ? failed("1 of 24 states failed: nginx: service.running: nginx does not start: exit code 1")
        : { return: { ok: 22, changed: 2, failed: 0 }, duration_ms: 4_200 + 300 * number };
    case "cmd.run":
      return restarts(peel, duration_ms);
    default:
      return { return: args.text ?? true, duration_ms };
  }
}

/** One of each outcome. */
function restarts(peel: string, duration_ms: number): Answer {
  const [name = ""] = peel.split(".");
  const ends: Readonly<Record<string, Answer>> = {
    "web-2": failed("exited with 1"),
    "web-5": failed("exited with 127"),
    "api-2": { ...(failed("the queue is full: 8 jobs wait") as object), outcome: "busy" },
    "api-3": { ...(failed("stopped at the deadline") as object), outcome: "timeout", duration_ms: 30_000 },
    "db-2": { ...(failed("the peel restarted while it ran") as object), outcome: "lost" },
    "cache-1": "none",
  };
  const text = "nginx: configuration file /etc/nginx/nginx.conf test is successful";
  return ends[name] ?? { return: text, duration_ms };
}

/** Lets a peel take jobs until it is disconnected. @param now milliseconds since the Unix epoch */
export async function answerJobs(peel: ManualPeel, now: () => number): Promise<void> {
  const stop = async () => {
    const { jid } = await peel.next("stop");
    const ended = { success: false, retcode: 15, outcome: "cancelled", error: "cancelled" } as const;
    await peel.answer(jid, { started_at: new Date(now()).toISOString(), ...ended });
  };
  stop().catch(() => {});
  for (;;) {
    const { jid, body } = await peel.next("dispatch");
    const call = decodeCall(body);
    await peel.acknowledge(jid);
    const answer = answerOf(displayPeelId(peel.peelId), call.function, call.args);
    if (answer === "none") continue;
    await peel.answer(jid, { started_at: new Date(now()).toISOString(), ...answer });
  }
}
