/** What the browser sends and takes: parameters, results and events. */
export type Fields = Record<string, unknown>;

/** The Chrome DevTools Protocol of one browser. */
export interface Protocol {
  /** @param sessionId of an attached target; without it the browser itself is meant */
  send<T = Fields>(method: string, params?: Fields, sessionId?: string): Promise<T>;
  /** Every event of an attached target from now on. */
  onEvent(sessionId: string, run: (method: string, params: Fields) => void): void;
  close(): void;
}

/** @param address `ws://…`, as the browser prints it */
export async function connectTo(address: string): Promise<Protocol> {
  const socket = new WebSocket(address);
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const listeners = new Map<string, (method: string, params: Fields) => void>();
  let last = 0;
  const opened = Promise.withResolvers<void>();
  socket.onopen = () => opened.resolve();
  socket.onerror = () => opened.reject(new Error(`no connection to the browser at ${address}`));
  socket.onclose = () => {
    for (const { reject } of waiting.values()) reject(new Error("the browser has gone"));
  };
  socket.onmessage = ({ data }) => {
    const { id, method, params, result, error, sessionId } = JSON.parse(String(data));
    if (id === undefined) return listeners.get(sessionId)?.(method, params);
    const requested = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) requested?.resolve(result);
    else requested?.reject(new Error(`the browser refused: ${error.message}`));
  };
  await opened.promise;
  return {
    send<T>(method: string, params: Fields = {}, sessionId?: string) {
      const id = ++last;
      const answer = new Promise<T>((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      });
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      return answer;
    },
    onEvent: (sessionId, run) => void listeners.set(sessionId, run),
    close: () => socket.close(),
  };
}
