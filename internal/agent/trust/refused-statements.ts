import { type Clock, rfc3339 } from "../../base/clock.ts";
import { beginningOf } from "../../base/cut.ts";

/** Signed statements of masters that a peel judges. */
export type StatementKind = "rotation" | "succession";

/** More of a reason says nothing: a statement that anyone may have sent can be part of it. */
const maxCharacters = 200;

/** A statement that this peel refuses. */
export interface RefusedStatement {
  kind: StatementKind;
  reason: string;
  /** Since when it refuses one of this kind for this reason, RFC 3339. */
  at: string;
}

/**
 * What this peel refuses since its start, at most one statement of each kind. It is a fact of the peel, so that
 * operators learn of it without a visit to the host.
 */
export interface RefusedStatements {
  current(): RefusedStatement[];
  /** A statement was refused. The same reason again changes nothing. */
  note(kind: StatementKind, reason: string): void;
  /** A statement of this kind was accepted, or there is none any more. */
  clear(kind: StatementKind): void;
  /** Calls `run` after each change. */
  onChange(run: () => void): void;
}

export function createRefusedStatements({ clock }: { clock: Pick<Clock, "now"> }): RefusedStatements {
  const refused = new Map<StatementKind, RefusedStatement>();
  const listeners: (() => void)[] = [];
  const announce = () => {
    for (const run of listeners) run();
  };
  return {
    current: () => [...refused.values()],
    note(kind, text) {
      const reason = beginningOf(text, maxCharacters);
      if (refused.get(kind)?.reason === reason) return;
      refused.set(kind, { kind, reason, at: rfc3339(clock.now()) });
      announce();
    },
    clear(kind) {
      if (refused.delete(kind)) announce();
    },
    onChange(run) {
      listeners.push(run);
    },
  };
}
