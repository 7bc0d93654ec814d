import { SvcError } from "./errors.ts";

/** A request that waits until other operators agree: nothing has happened yet, and nothing has failed. */
export class WaitingRequest extends SvcError {
  /** Its id, `apr-…`. */
  readonly approval: string;
  /** How many others must agree. */
  readonly needs: number;

  constructor(approval: string, needs: number) {
    const others = needs === 1 ? "1 other operator" : `${needs} other operators`;
    // Where nobody knows this class, the request is refused.
    super("forbidden", `waits for ${others}: svc approval show ${approval}`);
    this.approval = approval;
    this.needs = needs;
  }
}
