/**
 * Limits of an account, all of them said: one encoded without limits may have no subscription at all,
 * and JetStream on the system account stops the server (NATS JWT library, `OperatorLimits`).
 *
 * @param jetStream whether the account may store anything
 * @param leafNodes how many leaf nodes may join it; -1 is any number
 */
export function accountLimits({ jetStream, leafNodes }: { jetStream: boolean; leafNodes: number }) {
  const storage = jetStream ? -1 : 0;
  return {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    // A bearer token would let a stolen JWT connect without its key.
    disallow_bearer: true,
    conn: -1,
    leaf: leafNodes,
    mem_storage: storage,
    disk_storage: storage,
    streams: storage,
    consumer: storage,
  };
}
