// One command at a time between a bench or a test and the processes it starts, over Bun's channel.

type Reply<Result> = { result: Result } | { error: string };

/** A process that takes commands. */
export interface Worker<Command, Result> extends AsyncDisposable {
  readonly pid: number;
  /** @throws Error with the message of the process when it failed */
  request(command: Command): Promise<Result>;
}

/** Starts a script with the Bun of this process. @param before words before the command, such as those of a namespace */
export function startWorker<Command, Result>(
  script: string,
  before: readonly string[] = [],
): Worker<Command, Result> {
  let waiting: PromiseWithResolvers<Result> | undefined;
  const child = Bun.spawn([...before, process.execPath, script], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc(message: Reply<Result>) {
      if ("error" in message) waiting?.reject(new Error(message.error));
      else waiting?.resolve(message.result);
      waiting = undefined;
    },
  });
  void child.exited.then((code) => waiting?.reject(new Error(`${script} ended with ${code}`)));
  return {
    pid: child.pid,
    request(command) {
      waiting = Promise.withResolvers<Result>();
      child.send(command);
      return waiting.promise;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** In the process: answers each command with what `run` returns. It ends with whoever started it. */
export function answerCommands<Command, Result>(run: (command: Command) => Promise<Result>): void {
  process.once("disconnect", () => process.exit());
  process.on("message", (command: Command) => {
    run(command).then(
      (result) => process.send?.({ result }),
      (thrown) => process.send?.({ error: thrown instanceof Error ? thrown.message : String(thrown) }),
    );
  });
}
