/** A program on a terminal of its own, as a person runs it. */
export interface OnTerminal {
  /** What the terminal shows so far; lines end with CR and LF. */
  readonly shown: string;
  /** Resolves when the terminal shows a text. */
  shows(text: string): Promise<void>;
  /** What a person types. */
  type(keys: string): void;
  /** The exit code, when everything that was written is in `shown`. */
  readonly exit: Promise<number>;
}

/** Starts a program as the only one of a new terminal. */
export function startOnTerminal(
  command: readonly string[],
  { env, rows = 10 }: { env: Readonly<Record<string, string>>; rows?: number },
): OnTerminal {
  let shown = "";
  const decoder = new TextDecoder();
  const waiting = new Set<() => void>();
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([...command], {
    env: { ...env },
    terminal: {
      ...{ cols: 80, rows },
      data(_, bytes) {
        shown += decoder.decode(bytes, { stream: true });
        for (const check of waiting) check();
      },
      exit: () => closed.resolve(),
    },
  });
  return {
    get shown() {
      return shown;
    },
    shows: (text) =>
      new Promise((resolve) => {
        const check = () => {
          if (!shown.includes(text)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    type: (keys) => void child.terminal?.write(keys),
    exit: Promise.all([child.exited, closed.promise]).then(([code]) => code),
  };
}
