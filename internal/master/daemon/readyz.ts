import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { encodeFailure, encodeSuccess } from "../../bus/subjects/envelope.ts";
import { anyMaster, readyzOfMasterSubject, readyzSubject } from "../../bus/subjects/subjects.ts";
import { listenToOperators, type OperatorBudgets, signedOrNot } from "../../fleet/requests/mod.ts";
import { type Check, runChecks } from "../../program/health/mod.ts";
import type { SignedReads } from "./options.ts";

/** Of a message, and of a next step: the answer must fit into one message of the bus. */
const maxText = 500;

/** Answers operators and the other masters over the bus what /readyz says, for those who cannot reach that port. */
export const readyzOnBus = {
  start({
    bus,
    name,
    checks,
    nextSteps,
    clock,
    signedReads,
    budgets,
  }: {
    bus: Pick<Bus, "serve" | "log">;
    /** Of this master. */
    name: string;
    checks: () => Readonly<Record<string, Check>>;
    nextSteps: Readonly<Record<string, string>>;
    clock: Clock;
    /** Before this master knows the operators, it shows its state to everyone who may request it. */
    signedReads: SignedReads;
    budgets: OperatorBudgets;
  }): { stop(): void } {
    const answer = async () => {
      const { ready, checks: found } = await runChecks(checks(), clock, nextSteps);
      const reported = Object.entries(found).map(([check, { status, message, next }]) => [
        check,
        { status, ...defined({ message: message?.slice(0, maxText), next: next?.slice(0, maxText) }) },
      ]);
      return encodeSuccess({ name, ready, checks: Object.fromEntries(reported) });
    };
    const listen = (subject: string) =>
      listenToOperators(
        { bus, log: bus.log, requests: signedReads, budgets },
        subject,
        name,
        async (request) => {
          const { judge } = signedReads;
          try {
            if (judge !== undefined) await signedOrNot(request, false, judge);
          } catch (thrown) {
            return encodeFailure(thrown);
          }
          return answer();
        },
      );
    // Its own subjects, so there is nobody to share the requests with, and that of whichever master answers first.
    const serving = [
      ...[readyzSubject(name), readyzSubject(anyMaster)].map(listen),
      bus.serve(readyzOfMasterSubject(name), name, answer),
    ];
    return {
      stop() {
        for (const one of serving) one.stop();
      },
    };
  },
};
