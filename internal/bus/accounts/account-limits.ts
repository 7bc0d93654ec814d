/**
 * The limits of an account, all explicit: an account encoded without limits may not subscribe at all, and
 * JetStream on the system account stops the server (NATS JWT library, `OperatorLimits`).
 *
 * @param jetStream whether the account may store anything
 * @param leafNodes maximum number of leaf nodes; -1 means unlimited
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
    // With a bearer token, a stolen JWT could connect without its key.
    disallow_bearer: true,
    conn: -1,
    leaf: leafNodes,
    mem_storage: storage,
    disk_storage: storage,
    streams: storage,
    consumer: storage,
  };
}
